import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cleanLine, jsonText } from '../../../text/clean.ts';
import { decisionsOf, parseAlerts } from './crowdsec-records.ts';

const nowMs = Date.parse('2026-11-22T16:00:00Z');
const known = {
  id: 7,
  scenario: 'crowdsecurity/ssh-bf',
  created_at: '2026-11-22T15:59:00Z',
  source: { scope: 'Ip', value: '203.0.113.9', cn: 'DE' },
  decisions: [
    { id: 9, scope: 'Ip', value: '203.0.113.9', type: 'ban', origin: 'crowdsec', duration: '3h59m', scenario: 'crowdsecurity/ssh-bf' },
  ],
};

describe('alerts as they arrive', () => {
  it('of no known kind, with anything in any place, are told and never thrown (R58)', () => {
    const anything = fc.anything({ withNullPrototype: true, maxDepth: 4 });
    const record = fc.record(
      { id: anything, scenario: anything, message: anything, created_at: anything, source: anything, decisions: anything, kind: anything },
      { requiredKeys: [] },
    );
    const decision = fc.record({ duration: fc.constantFrom('1h', '4h2m', 'x', ''), value: anything, type: anything }, { requiredKeys: [] });
    fc.assert(
      fc.property(
        fc.array(fc.oneof(anything, record, fc.record({ source: anything, decisions: fc.array(fc.oneof(decision, anything)) }))),
        (list) => {
          const alerts = parseAlerts([...list, known], nowMs) ?? [];
          // An unusual alert does not affect the others.
          expect(alerts.at(-1)).toMatchObject({ id: 7, value: '203.0.113.9', country: 'DE', decisions: [{ id: 9, type: 'ban' }] });
          for (const { reason, value, scope, message, machine, decisions } of alerts)
            for (const text of [reason, value, scope, message, machine, ...decisions.flatMap((one) => [one.value, one.type, one.reason])])
              expect(cleanLine(text)).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202e]/);
          decisionsOf(alerts);
        },
      ),
      { numRuns: 300 },
    );
  });

  it('huge and deeply nested ones too (R58)', () => {
    let deep: unknown = 'end';
    for (let depth = 0; depth < 20_000; depth++) deep = depth % 2 === 0 ? [deep] : { source: deep };
    const huge = 'x\u001b[2J'.repeat(200_000);
    const alerts = parseAlerts(
      [{ source: deep, decisions: deep }, { id: 1, scenario: huge, source: { value: huge }, decisions: [deep, null, 3] }, known],
      nowMs,
    );
    expect(alerts).toHaveLength(3);
    expect(alerts?.[1]?.decisions).toEqual([]);
    expect(cleanLine(alerts?.[1]?.reason ?? '')).not.toContain('\u001b');
    expect(jsonText(alerts?.[2])).toContain('crowdsecurity/ssh-bf');
  });
});
