import { expect, test } from 'vitest';
import type { ComponentView } from '../fleet/model.ts';
import { byUrgency, type Decision, type Known, type Triaged, triaged } from '../products/vulnerabilities/triage.ts';
import { createFakeDeck } from './rig/fake-deck.ts';
import { asciiTheme, misfits, openRig, type RigOptions } from './rig/rig.tsx';
import { hour, sampleNowMs, sampleSnapshot } from './rig/sample-fleet.ts';
import type { TriageSource } from './triage-watch.ts';

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

const open = (played: Played, options: Partial<RigOptions> = {}) =>
  openRig({ size: { columns: 120, rows: 36 }, ...options, deck: createFakeDeck({ snapshot: sampleSnapshot() }), triage: played });

test('F shows what was found, late ones first and marked so (R79); Esc goes back', async () => {
  for (const size of [
    { columns: 60, rows: 15 },
    { columns: 80, rows: 24 },
    { columns: 120, rows: 36 },
  ]) {
    const rig = await open(new Played(), { size });
    await rig.press('F');
    await rig.sees('CVE-2026-1', '1 of 4');
    expect(rig.row('CVE-2026-1')).toMatch(/critical +9\.8 .*6h late/);
    expect(rig.row('CVE-2026-2')).toMatch(/high +7\.5 .*due 6d/);
    expect(misfits(rig.raw(), size)).toEqual([]);
    await rig.press('esc');
    await rig.sees('Components');
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
    ...{ tone: 'busy' as const, word: 'loading 12/30 min', detail: 'The first synchronisation takes 15 to 30 minutes.' },
    probe: { word: 'loading 12/30 min', tone: 'busy' as const, detail: '', atMs: 0, version: undefined, failure: undefined },
  };
  const others = snapshot.components.filter(({ id }) => id !== 'vulnerability-scanner');
  const deck = createFakeDeck({ snapshot: { ...snapshot, components: [...others, loading] } });
  for (const size of [
    { columns: 80, rows: 24 },
    { columns: 120, rows: 36 },
  ]) {
    const rig = await openRig({ size, deck, triage: played });
    await rig.press('F');
    await rig.sees('vulnerability-scanner: loading 12/30 min. The first', 'Scanned over a week ago: nginx, 9 days ago.', '1 of 4');
    expect(misfits(rig.raw(), size)).toEqual([]);
  }
});

test('late ones, undecided ones, and words', async () => {
  const rig = await open(new Played());
  await rig.press('F');
  await rig.sees('4, 1 late, 3 undecided', 'CVE-2026-4');
  await rig.press('v');
  await rig.sees('1 of 3', 'undecided alone');
  await rig.press('v');
  await rig.sees('1 of 1', 'late alone');
  await rig.press('v', '/');
  await rig.type('zlib');
  await rig.press('enter');
  await rig.sees('1 of 1', 'CVE-2026-2');
  await rig.press('esc');
  await rig.sees('1 of 4');
});

test('d decides about the whole package, x takes a decision back', async () => {
  const rig = await open(new Played());
  await rig.press('F');
  await rig.sees('1 of 4');
  await rig.press('d');
  await rig.until(() => rig.deck.started.length === 1, 'the flow');
  expect(rig.deck.started).toMatchObject([{ flow: 'vulnerabilities-decide', input: { words: ['openssl', 'nginx'] } }]);
});

test('what a decision says stands below; without one there is nothing to take back', async () => {
  const rig = await open(new Played());
  await rig.press('F');
  await rig.sees('about CVE-2026-1');
  await rig.press('x');
  await rig.sees('Nobody has decided about it.');
  await rig.press('j');
  await rig.sees('only on loopback, ada@nas');
});

test('fifty thousand: the end is one key away, and only what is seen is drawn', async () => {
  const played = new Played();
  played.all = Array.from({ length: 50_000 }, (_, at) => found(`CVE-2026-${at}`, `package-${at % 300}`, (at % 100) / 10, 1)).sort(
    byUrgency,
  );
  const rig = await open(played);
  await rig.press('F');
  await rig.sees('1 of 50,000');
  await rig.press('G');
  await rig.sees('50,000 of 50,000');
  expect(
    rig
      .raw()
      .split('\n')
      .filter((line) => /CVE-2026-/.test(line)).length,
  ).toBeLessThan(36);
});

test('a decision that is made elsewhere is seen, and the cursor stays on its row', async () => {
  const played = new Played();
  const rig = await open(played);
  await rig.press('F', 'j', 'j');
  await rig.sees('3 of 4');
  played.now(played.all.slice(1));
  await rig.sees('2 of 3');
});

test('before the first report it says how to import one; ASCII is ASCII', async () => {
  const played = new Played();
  played.all = [];
  played.hasScans = false;
  const rig = await open(played, { theme: asciiTheme, size: { columns: 80, rows: 24 } });
  await rig.press('F');
  await rig.sees('No report was imported yet: i imports one');
  expect(rig.raw()).toMatch(/^[\x20-\x7e\n]*$/);
});

test('nothing is read while nobody looks', async () => {
  const played = new Played();
  const rig = await open(played);
  await rig.press('j');
  expect(played.reads).toBe(0);
});
