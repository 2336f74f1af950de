import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createIntrusionPrevention, type IntrusionPreventionOptions } from './intrusion-prevention.ts';

const opened: (() => void)[] = [];

function start(options: IntrusionPreventionOptions = {}) {
  const played = createIntrusionPrevention(options);
  const lines: string[] = [];
  const ended = new AbortController();
  played.product.start({ log: (line) => lines.push(line), now: Date.now, signal: ended.signal });
  opened.push(() => {
    ended.abort();
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

  it('plays an attack: a burst of alerts from a few addresses, all banned', async () => {
    const { product, store, cscli } = start({ living: false });
    product.incidents?.find(({ name }) => name === 'attack')?.play();
    vi.advanceTimersByTime(20_000);
    expect(store.alerts.length).toBeGreaterThan(15);
    const banned = new Set([...store.decisions()].map(({ value }) => value));
    expect(banned.size).toBeGreaterThan(3);
    expect(banned.size).toBeLessThan(10);
    expect((await cscli('decisions', 'list')).stdout).toContain('duplicated entries skipped');
  });

  it('stands still when its container does', () => {
    const { product, store } = start();
    product.stop();
    const before = store.alerts.length;
    vi.advanceTimersByTime(60 * 60_000);
    expect(store.alerts.length).toBe(before);
  });

  it('holds a block list of 50,000 addresses, hidden until it is asked for', async () => {
    const { cscli, store } = start({ living: false, blocklist: 50_000 });
    expect((await cscli('decisions', 'list', '-o', 'json')).stdout).toBe('[]\n');
    const all = await cscli('decisions', 'list', '-a', '-o', 'json');
    expect((JSON.parse(all.stdout) as { decisions: unknown[] }[]).flatMap(({ decisions }) => decisions)).toHaveLength(50_000);
    expect((await cscli('decisions', 'list', '-a', '-i', '198.18.7.7', '-o', 'raw')).stdout.split('\n')[1]).toMatch(
      /,CAPI,Ip:198\.18\.0\.0,/,
    );
    expect((await cscli('decisions', 'delete', '-i', '198.18.7.7')).stderr).toContain('1 decision(s) deleted');
    expect([...store.decisions()].filter(({ untilMs }) => untilMs > Date.now())).toHaveLength(49_999);
  });

  it('upgrades what lags behind, rehearses it, and leaves what was changed by hand', async () => {
    const { cscli } = start({ living: false });
    const status = async () => {
      const { parsers } = JSON.parse((await cscli('hub', 'list', '-o', 'json')).stdout) as { parsers: { name: string; status: string }[] };
      return Object.fromEntries(parsers.map((item) => [item.name.split('/')[1], item.status]));
    };
    expect(await status()).toMatchObject({
      'sshd-logs': 'enabled,update-available',
      whitelists: 'enabled,tainted',
      'syslog-logs': 'enabled',
    });
    const rehearsal = await cscli('hub', 'upgrade', '--dry-run');
    expect(rehearsal.stdout).toMatch(
      /^Action plan:\n(?:.*\n)* .*crowdsecurity\/sshd-logs \(3\.0 -> 3\.1\)\n(?:.*\n)*Dry run, no action taken\.\n$/,
    );
    expect(await status()).toMatchObject({ 'sshd-logs': 'enabled,update-available' });
    expect((await cscli('hub', 'upgrade')).exitCode).toBe(0);
    expect(await status()).toMatchObject({ 'sshd-logs': 'enabled', whitelists: 'enabled,tainted' });
    await cscli('hub', 'upgrade', '--force');
    expect(await status()).toMatchObject({ whitelists: 'enabled' });
    expect((await cscli('hub', 'upgrade')).stdout).toBe('Nothing to install or remove.\n');
  });

  it('imports what is piped in, but not what is allowed', async () => {
    const { product, store, cscli } = start({ living: false });
    await cscli('allowlists', 'create', 'own', '-d', 'own');
    await cscli('allowlists', 'add', 'own', '192.0.2.9');
    const text = 'value,reason,duration\n192.0.2.7,"a, b",24h\n192.0.2.8,,\n192.0.2.9,,\n';
    const answer = await product.exec?.(['cscli', 'decisions', 'import', '-i', '-', '--format', 'csv'], text);
    expect(answer).toMatchObject({
      exitCode: 0,
      stdout: 'Parsing csv\nValue 192.0.2.9 is allowlisted by [192.0.2.9 from own]\nImported 2 decisions',
    });
    expect([...store.decisions()]).toMatchObject([
      { value: '192.0.2.7', scenario: 'a, b', origin: 'cscli-import' },
      { value: '192.0.2.8', scenario: 'manual', type: 'ban' },
    ]);
  });

  it('answers nothing but its own client', () => {
    expect(start({ living: false }).product.exec?.(['sh', '-c', 'true'], '')).toBeUndefined();
  });
});
