import { expect, test } from 'vitest';
import { createFakeApp } from '../../test/doubles/console/fake-app.ts';
import { asciiTheme, type HarnessOptions, misfits, openHarness } from '../../test/doubles/console/harness.tsx';
import { hour, sampleNowMs, sampleSnapshot } from '../../test/doubles/console/sample-fleet.ts';
import { stateOf } from '../../test/doubles/fleet-double.ts';
import type { ComponentView } from '../fleet/model.ts';
import { byUrgency, type Decision, type Known, type Triaged, triaged } from '../products/vulnerabilities/client/triage.ts';
import type { TriageSource } from './screens/triage/watch.ts';

function found(id: string, name: string, score: number, hoursAgo: number, decision?: Partial<Decision>): Triaged {
  const known: Known = {
    ...{
      subject: 'nginx',
      package: name,
      id,
      aliases: [],
      version: '1',
      fixedIn: '2',
      score,
      severity: '',
      title: `about ${id}`,
      url: '',
      count: 1,
    },
    band: score >= 9 ? 'critical' : score >= 7 ? 'high' : score >= 4 ? 'medium' : 'low',
    firstMs: sampleNowMs - hoursAgo * hour,
  };
  const decided =
    decision &&
    ({
      id,
      package: name,
      subject: 'nginx',
      what: 'accept',
      reason: 'only on loopback',
      until: '2999-01-01',
      by: 'ada@nas',
      at: '',
      ...decision,
    } as Decision);
  return triaged(known, decided, sampleNowMs);
}

class Played implements TriageSource {
  all: Triaged[] = [
    found('CVE-2026-1', 'openssl', 9.8, 30),
    found('CVE-2026-2', 'zlib', 7.5, 24),
    found('CVE-2026-3', 'curl', 5, 24),
    found('CVE-2026-4', 'bash', 9, 90, {}),
  ].sort(byUrgency);
  hasScans = true;
  remarks: string[] = [];
  reads = 0;
  #changed = () => {};
  async read() {
    this.reads++;
    return { all: this.all, hasScans: this.hasScans, remarks: this.remarks };
  }
  watch(changed: () => void) {
    this.#changed = changed;
    return () => {};
  }
  now(all: Triaged[]) {
    this.all = all;
    this.#changed();
  }
}

const open = (played: Played, options: Partial<HarnessOptions> = {}) =>
  openHarness({ size: { columns: 120, rows: 36 }, ...options, app: createFakeApp({ snapshot: sampleSnapshot() }), triage: played });

test('F shows what was found, late ones first and marked so (R79); Esc goes back', async () => {
  for (const size of [
    { columns: 60, rows: 15 },
    { columns: 80, rows: 24 },
    { columns: 120, rows: 36 },
  ]) {
    const harness = await open(new Played(), { size });
    await harness.press('F');
    await harness.sees('CVE-2026-1', '1 of 4');
    expect(harness.row('CVE-2026-1')).toMatch(/critical +9\.8 .*6h late/);
    expect(harness.row('CVE-2026-2')).toMatch(/high +7\.5 .*due 6d/);
    expect(misfits(harness.raw(), size)).toEqual([]);
    await harness.press('esc');
    await harness.sees('Components');
  }
});

test('how the feeds of the scanner are stands above, and old scans (R60)', async () => {
  const played = new Played();
  played.remarks = ['Scanned over a week ago: nginx, 9 days ago.'];
  const snapshot = sampleSnapshot();
  const scanner = {
    ...(snapshot.components.find(({ id }) => id === 'vulnerability-scanner') ?? (snapshot.components[0] as ComponentView)),
  };
  const loading = {
    ...scanner,
    ...{ key: 'local/vulnerability-scanner/vulnerability-scanner', id: 'vulnerability-scanner', known: true, host: 'local' },
    ...{ state: stateOf('loading 12/30 min', 'busy'), detail: 'The first synchronisation takes 15 to 30 minutes.' },
    probe: { state: stateOf('loading 12/30 min', 'busy'), detail: '', atMs: 0, version: undefined, failure: undefined },
  };
  const others = snapshot.components.filter(({ id }) => id !== 'vulnerability-scanner');
  const app = createFakeApp({ snapshot: { ...snapshot, components: [...others, loading] } });
  for (const size of [
    { columns: 80, rows: 24 },
    { columns: 120, rows: 36 },
  ]) {
    const harness = await openHarness({ size, app, triage: played });
    await harness.press('F');
    await harness.sees('vulnerability-scanner: loading 12/30 min. The first', 'Scanned over a week ago: nginx, 9 days ago.', '1 of 4');
    expect(misfits(harness.raw(), size)).toEqual([]);
  }
});

test('late ones, undecided ones, and words', async () => {
  const harness = await open(new Played());
  await harness.press('F');
  await harness.sees('4, 1 overdue, 3 undecided', 'CVE-2026-4');
  await harness.press('v');
  await harness.sees('1 of 3', 'only undecided');
  await harness.press('v');
  await harness.sees('1 of 1', 'only overdue');
  await harness.press('v', '/');
  await harness.type('zlib');
  await harness.press('enter');
  await harness.sees('1 of 1', 'CVE-2026-2');
  await harness.press('esc');
  await harness.sees('1 of 4');
});

test('d decides about the whole package, x takes a decision back', async () => {
  const harness = await open(new Played());
  await harness.press('F');
  await harness.sees('1 of 4');
  await harness.press('d');
  await harness.until(() => harness.app.started.length === 1, 'the flow');
  expect(harness.app.started).toMatchObject([{ flow: 'vulnerabilities-decide', input: { words: ['openssl', 'nginx'] } }]);
});

test('what a decision says stands below; without one there is nothing to take back', async () => {
  const harness = await open(new Played());
  await harness.press('F');
  await harness.sees('about CVE-2026-1');
  await harness.press('x');
  await harness.sees('No decision has been recorded for this finding.');
  await harness.press('j');
  await harness.sees('only on loopback, ada@nas');
});

test('fifty thousand: the end is one key away, and only what is seen is drawn', async () => {
  const played = new Played();
  played.all = Array.from({ length: 50_000 }, (_, at) => found(`CVE-2026-${at}`, `package-${at % 300}`, (at % 100) / 10, 1)).sort(
    byUrgency,
  );
  const harness = await open(played);
  await harness.press('F');
  await harness.sees('1 of 50,000');
  await harness.press('G');
  await harness.sees('50,000 of 50,000');
  expect(
    harness
      .raw()
      .split('\n')
      .filter((line) => /CVE-2026-/.test(line)).length,
  ).toBeLessThan(36);
});

test('a decision that is made elsewhere is seen, and the cursor stays on its row', async () => {
  const played = new Played();
  const harness = await open(played);
  await harness.press('F', 'j', 'j');
  await harness.sees('3 of 4');
  played.now(played.all.slice(1));
  await harness.sees('2 of 3');
});

test('before the first report it says how to import one; ASCII is ASCII', async () => {
  const played = new Played();
  played.all = [];
  played.hasScans = false;
  const harness = await open(played, { theme: asciiTheme, size: { columns: 80, rows: 24 } });
  await harness.press('F');
  await harness.sees('No reports yet. Press i to import a');
  expect(harness.raw()).toMatch(/^[\x20-\x7e\n]*$/);
});

test('nothing is read while nobody looks', async () => {
  const played = new Played();
  const harness = await open(played);
  await harness.press('j');
  expect(played.reads).toBe(0);
});
