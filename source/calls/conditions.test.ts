import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CatalogEntry } from '../catalog/catalog.ts';
import { type ConditionFacts, evaluate, fillTemplate, guardedTogether, holds, probedState, processorMs, runGuarded } from './conditions.ts';

const facts = (json: unknown, more: Partial<ConditionFacts> = {}): ConditionFacts => ({
  answer: { ok: true, status: 200, json, text: 'raw', headers: { 'x-version': '2.3' }, failure: '' },
  ageSeconds: 90,
  env: { ADMIN_TOKEN: 'short' },
  fields: {},
  ports: [{ name: 'web', exposure: 'lan', published: true }],
  calls: { config: { ok: true, status: 200, json: { open: false }, text: '', headers: {} } },
  services: { db: { state: 'running', health: 'healthy', uptime: 12 } },
  ...more,
});

describe('holds', () => {
  it.each([
    ['json.t > 2', { t: 3 }],
    ['json.t == 3', { t: 3 }],
    ['json.t == 3.0', { t: 3 }],
    ['json.t > 0.5 && json.f < 1', { t: 3, f: 0.25 }],
    ['json.t - json.p == 2 && json.t >= json.p', { t: 3, p: 1 }],
    ['json.big > 9007199254740990', { big: 9007199254740991 }],
    ['double(json.t) / 2.0 > 1.4', { t: 3 }],
    ['json.list[0].n == 7 && size(json.list) == 1', { list: [{ n: 7 }] }],
    ['json.list.exists(x, x.n == 7)', { list: [{ n: 1 }, { n: 7 }] }],
    ['!has(json.settings)', {}],
    ['json == null', null],
    ['json == "2026-01-01"', '2026-01-01'],
    ['status >= 200 && status < 300 && ok', {}],
    ['headers["x-version"].startsWith("2.")', {}],
    ['age < 120 && size(env.ADMIN_TOKEN) < 32', {}],
    ['ports.exists(p, p.name == "web" && p.exposure != "loopback")', {}],
    ['services.db.state == "running" && services.db.uptime < 60', {}],
    ['has(calls.config) && calls.config.ok && !calls.config.json.open', {}],
    ['json.?a.?b.orValue("none") == "none"', { a: {} }],
    ['count(json.n, "stream") == "1 stream" && count([1, 2], "query", "queries") == "2 queries"', { n: 1 }],
    ['count(json.n, "file") == "45,120 files"', { n: '45120' }],
    ['percent(json.part, 8) == "13 %" && percent(json.part, 40) == "2.5 %" && percent(0, json.none) == "0 %"', { part: 1, none: 0 }],
    ['dataSize(json.n) == "3.2 MB"', { n: 3_210_000 }],
  ])('%s', (source, json) => {
    expect(holds(source, facts(json))).toEqual({ holds: true });
  });

  it.each([
    ['json.missing == 1', {}, /No such key: missing/],
    ['json.a.b.c == 1', { a: 'text' }, /./],
    ['json.t > "x"', { t: 3 }, /overload/],
    ['json.constructor != null', {}, /No such key: constructor/],
    ['nope == 1', {}, /Unknown variable: nope/],
    ['count(json.n, "file") != ""', { n: null }, /not a number/],
    ['percent(json.n, 3) != ""', { n: 'some' }, /not a number/],
    ['json.a &&', {}, /./],
    ['1 + 1', {}, /does not evaluate to true or false/],
    ['json[99]', [1], /./],
  ])('%s does not hold, and says why', (source, json, reason) => {
    const verdict = holds(source, facts(json));
    expect(verdict.holds).toBe(false);
    expect(verdict.reason).toMatch(reason);
    expect(verdict.reason).not.toContain('\n');
  });

  it('gives checks no answer to look at', () => {
    const { answer: _, ...check } = facts({});
    expect(holds('ok', check).reason).toMatch(/Unknown variable: ok/);
    expect(holds('calls.config.ok', check)).toEqual({ holds: true });
  });

  it('is not frozen by a pattern that backtracks for ever', () => {
    const begin = processorMs();
    const verdict = holds(
      'text.matches("^(a+)+$")',
      facts({}, { answer: { ok: true, status: 200, json: null, text: `${'a'.repeat(60)}!`, headers: {}, failure: '' } }),
    );
    expect(verdict).toMatchObject({ holds: false, reason: expect.stringContaining('CPU time') });
    expect(processorMs() - begin).toBeLessThan(1000);
    expect(holds('text.matches("^ra")', facts({}))).toEqual({ holds: true });
  });

  it('is not frozen by one of several that are evaluated together, and the others have their values', () => {
    const hostile = facts({}, { answer: { ok: true, status: 200, json: null, text: `${'a'.repeat(60)}!`, headers: {}, failure: '' } });
    let seen: unknown[] = [];
    const begin = processorMs();
    guardedTogether(() => {
      seen = ['text.matches("^a")', 'text.matches("^(a+)+$")', 'text.matches("b")'].map((source) => evaluate(source, hostile).value);
    });
    expect(seen).toEqual([true, undefined, false]);
    expect(processorMs() - begin).toBeLessThan(1000);
    expect(() => guardedTogether(() => expect.unreachable('thrown by the work'))).toThrow('thrown by the work');
  });

  it('has the same answer on a machine that is too busy to run it at once', () => {
    const asleep = new Int32Array(new SharedArrayBuffer(4));
    // Waits without using the CPU, like a process that others preempt.
    const run = () => Atomics.wait(asleep, 0, 0, 150) === 'timed-out';
    expect(runGuarded({ slow: true, run }, {})).toBe(true);
  });

  it('measures CPU time on Node 22.14 too, which has no threadCpuUsage', () => {
    const { threadCpuUsage } = process;
    Object.assign(process, { threadCpuUsage: undefined });
    try {
      expect(processorMs()).toBeGreaterThan(0);
    } finally {
      Object.assign(process, { threadCpuUsage });
    }
  });

  it('is not frozen by loops over a huge answer', () => {
    const huge = Array.from({ length: 15_000 }, (_, index) => index);
    const begin = processorMs();
    expect(holds('json.all(a, json.all(b, json.all(c, a + b + c >= 0)))', facts(huge)).holds).toBe(false);
    expect(processorMs() - begin).toBeLessThan(1000);
  });

  it('is not upset by an answer nested a thousand deep or with half a million values', () => {
    expect(holds('has(json.x)', facts(JSON.parse(`${'['.repeat(1000)}${']'.repeat(1000)}`))).holds).toBe(false);
    expect(holds('size(json) >= 0', facts(Array.from({ length: 500_000 }, () => ({})))).holds).toBe(true);
  });

  it('never throws, whatever the answer', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.string(), (json, source) => {
        const made = facts(json);
        for (const one of [source, 'json.a.b == 1', 'json[0] > 1', 'json.exists(x, x > 1)', 'size(json) > 3']) {
          expect(typeof holds(one, made).holds).toBe('boolean');
        }
      }),
    );
  });

  it('compares any whole number of an answer with itself written out', () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), (number) => {
        expect(holds(`json.n == ${number}`, facts({ n: number }))).toEqual({ holds: true });
      }),
    );
  });
});

describe('a condition that refers to a call', () => {
  const seen = { ok: true, status: 200, json: { open: true }, text: '', headers: {} };
  const failed = { ok: false, status: 503, json: { open: true }, text: 'busy', headers: {} };

  it.each([
    ['calls.config.status == 200', true, false, false],
    ['calls.config.status != 200', false, false, false],
    ['!(calls.config.status == 200)', false, false, false],
    ['has(calls.config.json.open) && calls.config.json.open == true', true, false, false],
    ['calls.config.text == "busy" || calls.config.status == 503', false, false, false],
    ['calls.config.status == 503 || age == 90', true, true, true],
    ['age == 90 && calls.config.ok', true, false, false],
    ['age == 90 && !calls.config.ok', false, true, false],
  ])('%s: %s, when it failed %s, and when it was not made %s', (when, made, whenFailed, whenMissing) => {
    expect(holds(when, facts({}, { calls: { config: seen } })).holds).toBe(made);
    expect(holds(when, facts({}, { calls: { config: failed } })).holds).toBe(whenFailed);
    expect(holds(when, facts({}, { calls: {} })).holds).toBe(whenMissing);
  });

  it('may say why it failed', () => {
    const why = { ...failed, failure: 'No answer.' };
    expect(fillTemplate('{calls.config.failure} {calls.config.text}', facts({}, { calls: { config: why } }))).toBe('No answer. ?');
  });
});

describe('evaluate', () => {
  it('gives plain data back', () => {
    expect(evaluate('json.n + 1', facts({ n: 41 }))).toEqual({ value: 42 });
    expect(evaluate('json.l.map(x, x * 2)', facts({ l: [1, 2] }))).toEqual({ value: [2, 4] });
    expect(evaluate('json', facts({ a: { b: 1 } }))).toEqual({ value: { a: { b: 1 } } });
  });
});

describe('fillTemplate', () => {
  it.each([
    ['sealed {json.progress}/{json.t}', 'sealed 1/3'],
    ['{{braces}} {json.t}', '{braces} 3'],
    ['{json.share}', '0.33'],
    ['{json.missing} of {json.t}', '? of 3'],
    ['{json.open ? "open" : "closed"}', 'open'],
    ['{"a}b"} {json.o}', 'a}b {"x":1}'],
    ['plain', 'plain'],
    ['never {closed', 'never {closed'],
  ])('%s', (text, expected) => {
    expect(fillTemplate(text, facts({ progress: 1, t: 3, share: 1 / 3, open: true, o: { x: 1 } }))).toBe(expected);
  });

  it('does not let an answer flood the screen', () => {
    expect(fillTemplate('{json}', facts('x'.repeat(60_000))).length).toBeLessThanOrEqual(500);
  });
});

describe('probedState', () => {
  it('takes the first that holds', () => {
    const entry = {
      probe: {
        call: 'status',
        every: '15s',
        states: [
          { when: 'json.missing', state: 'never', severity: 'error', detail: '' },
          { when: 'json.sealed', state: 'sealed {json.progress}/{json.t}', severity: 'warning', detail: 'x' },
          { when: 'true', state: 'ready', severity: 'ok', detail: '' },
        ],
      },
    } as unknown as CatalogEntry;
    expect(probedState(entry, facts({ sealed: true, progress: 0, t: 3 }))).toEqual({
      id: 'sealed',
      label: 'sealed 0/3',
      severity: 'warning',
      detail: 'x',
    });
    expect(probedState(entry, facts({ sealed: false }))).toMatchObject({ id: 'ready', label: 'ready' });
    expect(probedState({} as CatalogEntry, facts({}))).toBeUndefined();
  });
});
