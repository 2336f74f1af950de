import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { flowOf } from '../../../test/contract/flows/registry.ts';
import { componentView, stateOf } from '../../../test/doubles/fleet-double.ts';
import { FlowFixture } from '../../../test/doubles/flow-fixture.ts';
import { OperatorDouble } from '../../../test/doubles/operator-double.ts';
import { Fault } from '../../faults/fault.ts';
import type { ComponentView } from '../../fleet/model.ts';
import type { FlowInput } from '../../flows/flow.ts';
import type { Question, Shown } from '../../session/session.ts';

const vulnerabilitiesDecide = flowOf('vulnerabilities-decide');
const vulnerabilitiesImport = flowOf('vulnerabilities-import');
const vulnerabilitiesList = flowOf('vulnerabilities-list');
const vulnerabilitiesReport = flowOf('vulnerabilities-report');

let fixture: FlowFixture;
beforeEach(async () => {
  fixture = await FlowFixture.open();
});
afterEach(() => fixture.close());

const dayMs = 86_400_000;
const daysAgo = (days: number) => new Date(Date.now() - days * dayMs).toISOString();
const inDays = (days: number) => new Date(Date.now() + days * dayMs).toISOString().slice(0, 10);
const one = (id: string, name: string, score: number) => ({
  VulnerabilityID: id,
  PkgName: name,
  InstalledVersion: '1',
  FixedVersion: '2',
  Severity: 'LOW',
  CVSS: { nvd: { V3Score: score } },
});
const nginx = [one('CVE-2026-1', 'openssl', 9.8), one('CVE-2026-2', 'openssl', 7.5), one('CVE-2026-3', 'zlib', 5)];

/** Returns the path of a Trivy report of that age in days. */
async function reported(vulnerabilities: unknown, days = 2, image = 'nginx:1.27'): Promise<string> {
  const file = join(fixture.folder, 'scan.json');
  await writeFile(
    file,
    JSON.stringify({
      SchemaVersion: 2,
      CreatedAt: daysAgo(days),
      ArtifactName: image,
      ArtifactType: 'container_image',
      Results: [{ Vulnerabilities: vulnerabilities }],
    }),
  );
  return file;
}
const run = (
  flow: typeof vulnerabilitiesList,
  words: readonly string[] = [],
  options: FlowInput['options'] = {},
  operator = new OperatorDouble('unattended'),
) => {
  fixture.operator = operator;
  return fixture.run(flow, undefined, { words, options });
};
const imported = async (vulnerabilities: unknown = nginx, days = 2, image?: string) =>
  run(vulnerabilitiesImport, [await reported(vulnerabilities, days, image)]);
const rowsOf = (shown: readonly Shown[]) => shown.flatMap((each) => (each.kind === 'table' ? each.rows : []));
const decisions = async () =>
  (JSON.parse(await readFile(join(fixture.folder, 'data/vulnerabilities/decisions.json'), 'utf8')) as { decisions: object[] }).decisions;
const standings = async () => {
  const { data } = await run(vulnerabilitiesList);
  return Object.fromEntries(
    (data as { vulnerabilities: { id: string; standing: string }[] }).vulnerabilities.map(({ id, standing }) => [id, standing]),
  );
};

describe('import', () => {
  test('says what is new and what is overdue, and keeps it for nobody else to read', async () => {
    const { message, data } = await imported();
    expect(message).toMatch(/^Imported: 3 new, 0 known, 0 no longer reported\. 1 is overdue\./);
    expect(data).toMatchObject({ format: 'Trivy JSON', subjects: ['nginx'], added: 3 });
    expect(rowsOf(fixture.operator.shown)).toEqual([
      ['critical', '1'],
      ['high', '1'],
      ['medium', '1'],
    ]);
    expect((await stat(join(fixture.folder, 'data/vulnerabilities/found.json'))).mode & 0o777).toBe(0o600);
  });

  test('the next report replaces what was found, and touches neither decisions nor since when one is known (R79)', async () => {
    await imported();
    await run(vulnerabilitiesDecide, ['CVE-2026-2'], { as: 'accept', reason: 'not reachable', until: inDays(30) });
    const { data } = await imported(
      [one('CVE-2026-1', 'openssl', 9.8), one('CVE-2026-2', 'openssl', 7.5), one('CVE-2026-4', 'curl', 9)],
      0,
      'nginx:1.28',
    );
    expect(data).toMatchObject({ added: 1, stayed: 2, gone: 1 });
    expect(await standings()).toEqual({ 'CVE-2026-1': 'overdue', 'CVE-2026-2': 'accepted', 'CVE-2026-4': 'due' });
  });

  test('a report about something else leaves the rest alone', async () => {
    await imported();
    await imported([one('CVE-2026-9', 'musl', 9)], 0, 'redis:7');
    expect(Object.keys(await standings())).toHaveLength(4);
  });

  test('broken entries: refused with the place, unless the rest is asked for', async () => {
    const file = await reported([...nginx, { VulnerabilityID: 'CVE-5' }]);
    await expect(run(vulnerabilitiesImport, [file])).rejects.toMatchObject({ code: 'config.report', where: { file, line: 1 } });
    const attended = new OperatorDouble();
    attended.answers = { partial: ['no'] };
    await expect(run(vulnerabilitiesImport, [file], {}, attended)).rejects.toMatchObject({ code: 'config.report' });
    expect((await run(vulnerabilitiesImport, [file], { partial: true })).data).toMatchObject({ added: 3, skipped: 1 });
  });

  test('in a dry run, nothing is kept', async () => {
    const file = await reported(nginx);
    fixture.policy = { ...fixture.policy, dryRun: true };
    expect((await run(vulnerabilitiesImport, [file])).message).toMatch(/^Dry run: nothing was stored \(3 new/);
    await expect(run(vulnerabilitiesList)).rejects.toMatchObject({ code: 'failed.noReport' });
  });

  test('no such file, two files, a folder', async () => {
    await expect(run(vulnerabilitiesImport, ['/nowhere/scan.json'])).rejects.toMatchObject({ code: 'usage.file' });
    await expect(run(vulnerabilitiesImport, ['a', 'b'])).rejects.toMatchObject({ code: 'usage.words' });
    await expect(run(vulnerabilitiesImport, [fixture.folder])).rejects.toMatchObject({ code: 'failed.file' });
  });
});

describe('list', () => {
  test('late ones first, narrowed down by words and bands', async () => {
    await imported();
    await run(vulnerabilitiesList);
    expect(rowsOf(fixture.operator.shown).map(([band, score, id, , where]) => [band, score, id, where])).toEqual([
      ['critical', '9.8', 'CVE-2026-1', 'nginx'],
      ['high', '7.5', 'CVE-2026-2', 'nginx'],
      ['medium', '5.0', 'CVE-2026-3', 'nginx'],
    ]);
    expect((await run(vulnerabilitiesList, ['zlib'])).message).toMatch(/^1 vulnerability: 0 overdue, 1 undecided/);
    expect((await run(vulnerabilitiesList, [], { band: ['high', 'medium'] })).message).toMatch(/^2 vuln/);
    expect((await run(vulnerabilitiesList, [], { late: true })).message).toMatch(/^1 vuln/);
    expect((await run(vulnerabilitiesList, [], { limit: '1' })).message).toMatch(/2 more are not shown/);
    await expect(run(vulnerabilitiesList, [], { band: 'severe' })).rejects.toMatchObject({ code: 'usage.band' });
  });
});

/** Returns prepared answers, then cancels as Esc does, or fails as an unattended session does. */
class Triager extends OperatorDouble {
  override async ask(question: Question): Promise<string | readonly string[]> {
    if ((this.answers[question.id] ?? []).length > 0) return super.ask(question);
    this.asked.push(question);
    const code = this.kind === 'unattended' ? 'usage.unanswered' : 'interrupted.cancelled';
    throw new Fault(code, 'Left.', 'Come back.');
  }
}

test('how the feeds of the scanner are is said with the list, once somebody has seen it (R60)', async () => {
  await imported(nginx, 9);
  const probe = { state: stateOf('loading 12/30 min', 'busy'), detail: '', atMs: 0, version: undefined, failure: undefined } as const;
  const scanner = (more: Partial<ComponentView>) =>
    componentView('vulnerability-scanner', {
      known: true,
      state: stateOf('loading 12/30 min', 'busy'),
      detail: 'It takes half an hour.',
      ...more,
    });
  const titles = () => fixture.operator.shown.flatMap((shown) => (shown.kind === 'item' ? [`${shown.state}: ${shown.title}`] : []));
  fixture.fleet.current = { ...fixture.fleet.current, components: [scanner({ probe })] };
  const { data } = await run(vulnerabilitiesList);
  expect(titles()).toEqual([
    'warning: vulnerability-scanner: loading 12/30 min. It takes half an hour.',
    'warning: Scanned over a week ago: nginx, 9 days ago.',
  ]);
  expect(data).toMatchObject({ scanners: [{ name: 'vulnerability-scanner', severity: 'busy' }], remarks: [expect.any(String)] });
  fixture.fleet.current = { ...fixture.fleet.current, components: [scanner({ probe: undefined })] };
  await run(vulnerabilitiesList);
  expect(titles()).toHaveLength(1);
});

describe('decide', () => {
  test('package by package, the urgent ones first; left with Esc it is kept, and gone on with', async () => {
    await imported();
    const first = new Triager();
    first.answers = { decide: ['accept'], reason: ['only on loopback'], until: [inDays(10)] };
    await expect(run(vulnerabilitiesDecide, [], {}, first)).rejects.toMatchObject({
      code: 'interrupted.cancelled',
      message: '2 decisions saved; 1 left to decide.',
      remedy: expect.stringContaining('quarterdeck vulnerabilities decide'),
    });
    expect(first.asked.map(({ id }) => id)).toEqual(['decide', 'reason', 'until', 'decide']);
    expect(first.asked[0]?.label).toBe('openssl in nginx: 2 vulnerabilities, up to critical, overdue');
    const second = new Triager();
    second.answers = { decide: ['fix'], until: [inDays(3)] };
    expect(await run(vulnerabilitiesDecide, [], {}, second)).toMatchObject({ message: '1 decision saved; none left to decide.' });
    expect(second.asked[0]?.label).toMatch(/^zlib in nginx/);
    expect(await standings()).toEqual({ 'CVE-2026-1': 'accepted', 'CVE-2026-2': 'accepted', 'CVE-2026-3': 'fixing' });
    expect((await run(vulnerabilitiesDecide)).message).toBe('No matching vulnerability requires a decision.');
  });

  test('unattended answers are taken in turn, and what they do not reach is left', async () => {
    await imported();
    const operator = new Triager('unattended');
    operator.answers = { decide: ['false-positive'], reason: ['not compiled in'] };
    expect(await run(vulnerabilitiesDecide, [], {}, operator)).toMatchObject({ data: { decided: 2, left: 1 } });
  });

  test('skipped is not decided', async () => {
    await imported();
    const operator = new Triager();
    operator.answers = { decide: ['skip', 'stop'] };
    expect(await run(vulnerabilitiesDecide, [], {}, operator)).toMatchObject({ data: { decided: 0, left: 3 } });
  });

  test('as a command: for what the words name, here or everywhere, and back', async () => {
    await imported();
    await imported(nginx, 2, 'caddy:2');
    await run(vulnerabilitiesDecide, ['zlib'], { as: 'accept', reason: 'a test only', until: inDays(1), everywhere: true });
    expect(await decisions()).toMatchObject([
      { id: 'CVE-2026-3', package: 'zlib', subject: '*', what: 'accept', reason: 'a test only', until: inDays(1) },
    ]);
    const { data } = await run(vulnerabilitiesList, ['zlib']);
    expect((data as { vulnerabilities: { standing: string }[] }).vulnerabilities.map(({ standing }) => standing)).toEqual([
      'accepted',
      'accepted',
    ]);
    expect((await run(vulnerabilitiesDecide, ['zlib'], { as: 'open' })).message).toBe(
      '2 vulnerabilities: reopened. 2 of these still have a decision for all subjects; to change it, add --everywhere.',
    );
    expect((await run(vulnerabilitiesDecide, ['zlib'], { as: 'open', everywhere: true })).message).toBe('2 vulnerabilities: reopened.');
    expect(await decisions()).toEqual([]);
    expect((await fixture.audited()).map(({ request }) => request)).toContain(
      `accept until ${inDays(1)} (a test only): CVE-2026-3 in zlib (all subjects)`,
    );
  });

  test.each([
    [['zlib'], { as: 'ignore' }, 'usage.decision'],
    [['zlib'], { as: 'accept', until: '2999-01-01' }, 'usage.reason'],
    [['zlib'], { as: 'accept', reason: 'because' }, 'usage.until'],
    [['zlib'], { as: 'fix' }, 'usage.until'],
    [['zlib'], { as: 'fix', until: '2020-01-01' }, 'usage.until'],
    [['nothing'], { as: 'fix', until: '2999-01-01' }, 'usage.vulnerability'],
    [[], { as: 'fix', until: '2999-01-01' }, 'usage.words'],
  ] as const)('%j %j is refused', async (words, options, code) => {
    await imported();
    await expect(run(vulnerabilitiesDecide, words, options)).rejects.toMatchObject({ code });
  });

  test('an id means that one alone, not those that begin with it', async () => {
    await imported([one('CVE-2026-1', 'zlib', 9), one('CVE-2026-10', 'zlib', 9)]);
    expect(await run(vulnerabilitiesDecide, ['CVE-2026-1'], { as: 'fix', until: inDays(1) })).toMatchObject({ data: { decided: 1 } });
    expect((await run(vulnerabilitiesList, ['cve-2026'])).message).toMatch(/^2 vuln/);
  });

  test('a file of decisions that somebody broke is named, and not written over', async () => {
    await imported();
    const file = join(fixture.folder, 'data/vulnerabilities/decisions.json');
    await writeFile(file, '{"decisions": [{"id": 1}]}');
    await expect(run(vulnerabilitiesDecide, ['zlib'], { as: 'fix', until: inDays(1) })).rejects.toMatchObject({
      code: 'config.unreadable',
      where: { file },
    });
    expect(await readFile(file, 'utf8')).toBe('{"decisions": [{"id": 1}]}');
  });
});

describe('report', () => {
  test('Markdown for people, in which nothing from a scanner is markup; JSON for programs', async () => {
    await imported([{ ...one('CVE-2026-1', 'open|ssl<b>', 9.8), Title: 'a [link](x) | `code`' }, ...nginx.slice(1)]);
    await run(vulnerabilitiesDecide, ['CVE-2026-3'], { as: 'accept', reason: 'a | b', until: inDays(5) });
    const file = join(fixture.folder, 'report.md');
    await run(vulnerabilitiesReport, [file]);
    const text = await readFile(file, 'utf8');
    expect(text).toMatch(/^# Vulnerabilities\n/);
    expect(text).toContain('| critical | 1 | 1 | 1 | 0 | 0 | 0 |');
    expect(text).toContain('### open\\|ssl\\<b\\> 1 in nginx');
    expect(text).toContain('a \\[link\\]\\(x\\) \\| \\`code\\`');
    expect(text).toContain('| accepted | ');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const json = join(fixture.folder, 'report.json');
    await run(vulnerabilitiesReport, [json]);
    expect(JSON.parse(await readFile(json, 'utf8'))).toMatchObject({
      schema: 1,
      vulnerabilities: [{ standing: 'overdue', band: 'critical' }, {}, {}],
    });
  });

  test('a file that is there is replaced only when that is confirmed', async () => {
    await imported();
    const file = join(fixture.folder, 'report.md');
    await writeFile(file, 'mine');
    const operator = new OperatorDouble();
    operator.confirms = false;
    await expect(run(vulnerabilitiesReport, [file], {}, operator)).rejects.toMatchObject({ kind: 'refused' });
    expect(await readFile(file, 'utf8')).toBe('mine');
  });
});
