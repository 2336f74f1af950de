import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { inputStream, OutputStream } from '../../test/doubles/streams.ts';
import { readKnownEngines } from '../app/known-engines.ts';
import { seenComponents } from '../app/seen-components.ts';
import { writeHost } from '../config/hosts-file.ts';
import { ownPaths } from '../config/paths.ts';
import { loadSettings } from '../config/settings.ts';
import { openFilterHistory } from '../console/filter-history.ts';
import { Fault } from '../faults/fault.ts';
import { Observations } from '../fleet/observations.ts';
import { OverlayBook } from '../products/nebula/client/overlay-book.ts';
import { byUrgency } from '../products/vulnerabilities/client/triage.ts';
import { TriageBook } from '../products/vulnerabilities/client/triage-book.ts';
import { triageMs } from '../products/vulnerabilities/client/vulnerability.ts';
import { readBackendRecord } from '../secrets/migrate.ts';
import { readKeyFile } from '../secrets/sealed-backend.ts';
import { readSealed } from '../secrets/sealed-format.ts';
import { keyFile } from '../secrets/secret-store.ts';
import { storedChecklist } from '../session/checklist.ts';
import { readRunJournals } from '../session/journal.ts';
import type { VerbContext } from './command.ts';
import { runAuditVerb } from './commands/audit.ts';
import { Output } from './output.ts';

let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'quarterdeck-damaged-'));
});
afterEach(() => rm(home, { recursive: true }));
const paths = () => ownPaths({ QUARTERDECK_HOME: home }, home);
const grant = { signal: new AbortController().signal } as never;
const at = '2026-01-02T03:04:05.000Z';

interface OwnFile {
  file: () => string;
  /** The content that the program writes to the file. */
  whole: unknown;
  /** Every operation of the program that reads the file. */
  read: () => Promise<unknown>;
}

async function auditVerb(): Promise<void> {
  const [stdout, stderr] = [new OutputStream(), new OutputStream()];
  const surroundings = { stdin: inputStream({ terminal: false }), stdout, stderr, env: { QUARTERDECK_SECRETS: 'file' }, paths: paths() };
  const context = { ...surroundings, output: new Output(surroundings as never), options: { json: false } } as unknown as VerbContext;
  await runAuditVerb(context, undefined, true);
}

const files: Readonly<Record<string, OwnFile>> = {
  'the configuration': {
    file: () => join(paths().config, 'config.yaml'),
    whole: { theme: 'dark', hosts: { nas: { ssh: 'nas' } }, productionHosts: ['nas'] },
    read: () => loadSettings(paths(), home),
  },
  'the configuration, to add a host': {
    file: () => join(paths().config, 'config.yaml'),
    whole: { theme: 'dark', hosts: { nas: { ssh: 'nas' } }, productionHosts: ['nas'] },
    read: () => writeHost(grant, join(paths().config, 'config.yaml'), 'new', { ssh: 'new' } as never),
  },
  'the audit log': {
    file: () => join(paths().state, 'audit.jsonl'),
    whole: {
      ...{ run: 'r', flow: 'stop', act: 'stop', phase: 'after', outcome: 'done', right: 'operate', request: 'x', host: 'local' },
      ...{ component: 'vault', containers: ['a'], n: 1, at, who: { user: 'ada', machine: 'desk' }, key: '01234567', mac: 'a'.repeat(64) },
    },
    read: auditVerb,
  },
  "the audit log's key file": {
    file: () => join(paths().data, 'audit.key'),
    whole: { 'audit-key': 'eA==', 'audit-head': '{}' },
    read: () => keyFile(join(paths().data, 'audit.key'), 'audit').get('audit-key'),
  },
  'a run journal': {
    file: () => join(paths().state, 'journal', '20260102T030405000-abcdef.jsonl'),
    whole: { kind: 'run', at, flow: 'upgrade', engineName: 'local', words: ['x'], options: { for: ['x'] } },
    read: () => readRunJournals(join(paths().state, 'journal')),
  },
  'a checklist': {
    file: () => join(paths().state, 'checklist.json'),
    whole: {
      ...{ schema: 1, title: 'x', startedAt: at, startedBy: 'ada', facts: { to: '1.34' } },
      notes: { node: { kind: 'skipped', by: 'ada', at, reason: 'x', evidence: ['x'], data: { a: 'x' } } },
    },
    read: async () => {
      const stored = await storedChecklist(join(paths().state, 'checklist.json'));
      for (const { kind, by, evidence = [] } of Object.values(stored?.notes ?? {}))
        [kind.length, by.length, evidence.map((line) => line.trim())];
      for (const fact of Object.values(stored?.facts ?? {})) fact.trim();
    },
  },
  'the record of where secrets are': {
    file: () => join(paths().data, 'secrets-place.json'),
    whole: { schema: 1, kind: 'file', movingTo: 'keychain', leaving: { kind: 'keychain', atMs: 1 } },
    read: async () => {
      const record = await readBackendRecord(join(paths().data, 'secrets-place.json'));
      if (record?.leaving)
        expect([typeof record.leaving.atMs, record.leaving.kind]).toEqual(['number', expect.stringMatching(/^(keychain|file)$/)]);
      if (record?.movingTo !== undefined) expect(record.movingTo).toMatch(/^(keychain|file)$/);
    },
  },
  'the sealed secrets': {
    file: () => join(paths().data, 'secrets.sealed'),
    whole: { opens: 'key-file' },
    read: async () => {
      const file = join(paths().data, 'secrets.sealed');
      readSealed(await readFile(file, 'utf8').catch(() => ''), file);
    },
  },
  'a key file': {
    file: () => join(paths().data, 'key'),
    whole: 'a key that is long enough',
    read: () => readKeyFile(join(paths().data, 'key')),
  },
  'certificates of an overlay mesh': {
    file: () => join(paths().data, 'overlay-mesh', 'local.json'),
    whole: {
      ...{ schema: 1, authority: { name: 'x', certificate: 'x', untilMs: 1 } },
      nodes: [{ name: 'a', certificate: 'x', signedAt: at, untilMs: 1, network: '10.0.0.1/8', groups: ['x'], subnets: ['x'] }],
    },
    read: async () => {
      const mesh = await new OverlayBook(paths().data, 'local').read();
      for (const { name, certificate, groups, subnets } of mesh?.nodes ?? [])
        [name.length, certificate.length, groups.join(), subnets.join()];
      mesh?.authority.name.trim();
    },
  },
  'vulnerabilities that were found': {
    file: () => join(paths().data, 'vulnerabilities', 'found.json'),
    whole: {
      ...{ schema: 1, scans: { subject: { file: 'x', format: 'x', importedAt: at } } },
      found: [
        {
          id: 'CVE-1',
          package: 'x',
          version: '1',
          subject: 'subject',
          band: 'high',
          firstMs: 1,
          fixedIn: '',
          aliases: ['x'],
          score: 7,
          severity: 'x',
          title: 'x',
          url: 'x',
          count: 1,
        },
      ],
    },
    read: async () => {
      const { all, scans } = await new TriageBook(join(paths().data, 'vulnerabilities')).read(1);
      all.sort(byUrgency);
      for (const { band, subject, aliases } of all) [triageMs[band], subject.trim(), aliases.map((alias) => alias.trim())];
      for (const { importedAt } of Object.values(scans)) importedAt.slice(0, 10);
    },
  },
  'decisions about vulnerabilities': {
    file: () => join(paths().data, 'vulnerabilities', 'decisions.json'),
    whole: {
      schema: 1,
      decisions: [{ id: 'CVE-1', package: 'x', subject: 's', reason: 'x', by: 'ada', at, what: 'accept', until: '2026-01-02' }],
    },
    read: () => new TriageBook(join(paths().data, 'vulnerabilities')).read(1),
  },
  'names of components': {
    file: () => join(paths().state, 'components.json'),
    whole: { local: ['vault'] },
    read: () => seenComponents(paths()),
  },
  'engines of a host': {
    file: () => join(paths().state, 'engines', 'nas.json'),
    whole: ['unix:///run/docker.sock'],
    read: () => readKnownEngines(join(paths().state, 'engines', 'nas.json')),
  },
  'what was seen of containers': {
    file: () => join(paths().state, 'observations.json'),
    whole: {
      schema: 1,
      hosts: {
        nas: {
          outages: [{ kind: 'away', fromMs: 1, untilMs: 2 }],
          containers: { abc: { ownStop: { notedMs: 1, atMs: 1 }, diedMs: 2 } },
          removed: { 'project/app': 3 },
        },
      },
    },
    read: async () => {
      const observations = new Observations(join(paths().state, 'observations.json'));
      await observations.ready();
      return observations.host('nas').of('abc');
    },
  },
  filters: {
    file: () => join(paths().state, 'filters.json'),
    whole: { schema: 1, filters: { logs: { typed: 'x', hides: true } } },
    read: () => openFilterHistory(join(paths().state, 'filters.json'), { readOnly: true }).load(),
  },
};

/** Yields the value with one part after another replaced, at every depth. */
function* changed(value: unknown): Generator<unknown> {
  for (const other of [null, 7, 'x', true, [], {}, [null], { x: null }, ['x'], [[]]]) yield other;
  if (typeof value !== 'object' || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    const put = (one: unknown) => (Array.isArray(value) ? value.with(Number(key), one) : { ...value, [key]: one });
    for (const one of changed(inner)) yield put(one);
    if (Array.isArray(value)) continue;
    const { [key]: _, ...rest } = value as Record<string, unknown>;
    yield rest;
  }
}

const damages: [string, (text: string) => string | Buffer][] = [
  ['empty', () => ''],
  ['blank lines', () => '\n\n'],
  ['truncated', (text) => text.slice(0, text.length / 2)],
  ['without its last byte', (text) => text.slice(0, -1)],
  ['garbage', () => Buffer.from([0xff, 0xfe, 0x00, 0x80, 0x0a, 0x1b, 0x5b])],
  ['NUL bytes', () => '\0'.repeat(300)],
  ['NUL bytes at the end', (text) => `${text}${'\0'.repeat(300)}\n`],
  ['a byte order mark', (text) => `\ufeff${text}`],
  ['UTF-16', (text) => Buffer.from(`\ufeff${text}`, 'utf16le')],
  ['deep nesting', () => '['.repeat(300_000)],
  ['deep nesting that ends', () => `${'['.repeat(300_000)}${']'.repeat(300_000)}\n`],
  ['twice the same', (text) => `${text}${text}`],
];

/** Returns undefined for a value or for a Fault that names the file, and otherwise a description of the bug. */
async function outcomeOf({ file, read }: OwnFile, content: string | Buffer): Promise<string | undefined> {
  await writeFile(file(), content, { mode: 0o600 });
  return faultless(read, file());
}

async function faultless(read: () => Promise<unknown>, file: string): Promise<string | undefined> {
  try {
    await read();
    return undefined;
  } catch (thrown) {
    if (!(thrown instanceof Fault)) return `${thrown}`;
    return thrown.message.includes(file) || thrown.where?.file === file ? undefined : `names no file: ${thrown.message}`;
  }
}

describe.each(Object.entries(files))('%s, damaged', (_, own) => {
  beforeEach(() => mkdir(dirname(own.file()), { recursive: true, mode: 0o700 }));
  const text = () => (typeof own.whole === 'string' ? own.whole : `${JSON.stringify(own.whole)}\n`);

  test.each(damages)('%s: a default, or an error that names the file', async (_name, damage) => {
    expect(await outcomeOf(own, damage(text()))).toBeUndefined();
  });

  test('values of the wrong type, at every depth', async () => {
    const wrong: string[] = [];
    for (const value of changed(own.whole)) {
      const content = `${JSON.stringify(value)}\n`;
      const outcome = await outcomeOf(own, content);
      if (outcome !== undefined) wrong.push(`${content.trim()} -> ${outcome}`);
    }
    expect(wrong).toEqual([]);
  });

  test('a folder in its place', async () => {
    await mkdir(own.file());
    expect(await faultless(own.read, own.file())).toBeUndefined();
  });
});
