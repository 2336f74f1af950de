import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createIntrusionPrevention, type IntrusionPreventionOptions } from './intrusion-prevention.ts';

const opened: (() => void)[] = [];

function start(options: IntrusionPreventionOptions = {}) {
  const played = createIntrusionPrevention(options);
  const lines: string[] = [];
  played.product.start({ log: (line) => lines.push(line) });
  opened.push(() => {
    played.product.stop();
  });
  const cscli = async (...argv: string[]) => {
    const answer = await played.product.exec?.(['cscli', ...argv], '');
    if (answer === undefined) throw new Error('cscli is not known');
    return answer;
  };
  return { ...played, lines, cscli };
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  for (const close of opened.splice(0)) close();
  vi.useRealTimers();
});

describe('the practice CrowdSec', () => {
  it('has a history at its start, of which the newest bans still hold', async () => {
    const { cscli } = start();
    expect((await cscli('alerts', 'list', '-o', 'json', '-l', '0')).stdout.match(/"machine_id"/g)?.length).toBe(14);
    const active = JSON.parse((await cscli('decisions', 'list', '-o', 'json')).stdout) as { source: object }[];
    expect(active.length).toBeGreaterThan(0);
    expect(active.length).toBeLessThan(14);
    expect(active[0]?.source).toMatchObject({
      scope: 'Ip',
      cn: expect.any(String),
      as_name: expect.any(String),
      range: expect.any(String),
    });
  });

  it('goes on raising alerts, and says so as the program does', () => {
    const { store, lines } = start();
    const before = store.alerts.length;
    vi.advanceTimersByTime(10 * 60_000);
    expect(store.alerts.length).toBeGreaterThan(before + 3);
    expect(lines).toContainEqual(
      expect.stringMatching(
        /^time="\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ" level=info msg="Ip \S+ performed 'crowdsecurity\/\S+' \(\d+ events over [\d.]+s\) at \S+"$/,
      ),
    );
    expect(lines).toContainEqual(
      expect.stringMatching(/level=info msg="\(localhost\/crowdsec\) crowdsecurity\/\S+ by ip \S+ \(\S+\) : 4h ban on Ip \S+"$/),
    );
  });

  it('plays an attack: a burst of alerts from a few addresses, all banned', () => {
    const { product, store } = start({ living: false });
    product.play?.('attack');
    vi.advanceTimersByTime(20_000);
    expect(store.alerts.length).toBeGreaterThan(15);
    const banned = new Set(store.decisions().map(({ value }) => value));
    expect(banned.size).toBeGreaterThan(3);
    expect(banned.size).toBeLessThan(10);
  });

  it('stands still when its container does', () => {
    const { product, store } = start();
    product.stop();
    const before = store.alerts.length;
    vi.advanceTimersByTime(60 * 60_000);
    expect(store.alerts.length).toBe(before);
  });

  it('answers nothing but its own client', () => {
    expect(start({ living: false }).product.exec?.(['sh', '-c', 'true'], '')).toBeUndefined();
  });
});
