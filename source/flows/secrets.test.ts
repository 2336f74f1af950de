import { execFile } from 'node:child_process';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { listen } from '../../test/contract/listening.ts';
import { composeLabels } from '../../test/doubles/container-facts.ts';
import { componentView, serviceView } from '../../test/doubles/fleet-double.ts';
import { FlowStage } from '../../test/doubles/flow-stage.ts';
import type { Catalog, CatalogEntry } from '../catalog/catalog.ts';
import type { ComponentField } from '../catalog/schema.ts';
import { openLocalHost } from '../hosts/local-host.ts';
import { createSecretsManager } from '../practice/secrets-manager/secrets-manager.ts';
import type { SecretName } from '../secrets/vault.ts';
import type { Flow, FlowWorld } from './flow.ts';
import { secretsExport } from './secrets-export.ts';
import { secretsImport } from './secrets-import.ts';
import { secretsList } from './secrets-list.ts';
import { secretsRemove } from './secrets-remove.ts';
import { secretsReveal } from './secrets-reveal.ts';
import { secretsRotate } from './secrets-rotate.ts';
import { secretsSet } from './secrets-set.ts';

const marked = 'marked-secret-9f3a';
const password: SecretName = 'local/rss-reader/DB_PASSWORD';

const field = (given: Partial<ComponentField>): ComponentField =>
  ({ name: 'x', type: 'secret-string', secret: true, required: true, excludes: [], goes: 'environment', ...given }) as ComponentField;

function entry(id: string, fields: ComponentField[], environment: Record<string, Record<string, string>>): CatalogEntry {
  const services = Object.entries(environment).map(([name, given]) => ({ name, repositories: [], environment: given, command: [] }));
  return { id, fields, services, calls: {}, ports: [], deploy: 'compose' } as unknown as CatalogEntry;
}

const reader = () =>
  entry(
    'rss-reader',
    [
      field({
        name: 'database password',
        env: 'DB_PASSWORD',
        generator: 'alphanumeric:32',
        rotate: { service: 'db', argv: ['tell'] },
        proves: { service: 'db', argv: ['login'] },
      }),
      field({ name: 'ADMIN_PASSWORD', generator: 'alphanumeric:32', rotate: { never: 'it is read at the first start only' } }),
    ],
    {
      reader: { DATABASE_URL: `postgres://x:\${DB_PASSWORD:?kept}@db`, ADMIN: `\${ADMIN_PASSWORD}` },
      db: { POSTGRES_PASSWORD: `\${DB_PASSWORD:?kept}`, OTHER: `\${DB_PASSWORD_FILE}` },
      cache: { SIZE: '1' },
    },
  );

// What a passphrase costs is the same code with another number.
vi.mock(import('age-encryption'), async (original) => {
  const age = await original();
  class Quick extends age.Encrypter {
    constructor() {
      super();
      this.setScryptWorkFactor(10);
    }
  }
  return { ...age, Encrypter: Quick };
});

let stage: FlowStage;
beforeEach(async () => {
  stage = await FlowStage.open();
  stage.host = openLocalHost();
  know([reader()]);
});
afterEach(() => stage.close());

function know(entries: CatalogEntry[]): void {
  stage.catalog = { entries, get: (id) => entries.find((known) => known.id === id), problems: [] } satisfies Catalog;
}
const keep = (name: SecretName, value: string) => stage.vault.write(undefined, name, value, 'generated');
const run = (flow: Flow, words: string[] = [], options: Record<string, string | boolean | string[]> = {}) =>
  stage.run(flow, undefined, { words, options });
const newest = (name: SecretName) => stage.vault.read(name);

/** Everything that anybody may read later: what was shown but for secrets, and the audit. */
async function trail(): Promise<string> {
  const shown = stage.operator.shown.filter(({ kind }) => kind !== 'secret');
  return JSON.stringify([shown, stage.operator.steps, stage.operator.reviews, await stage.audited()]);
}

function deployed(): void {
  const components = [
    componentView('rss-reader', {
      project: 'rss-reader',
      services: ['reader', 'db', 'cache'].map((name) => serviceView(name, { containerName: `rss-reader-${name}-1` })),
    }),
  ];
  stage.fleet.current = { ...stage.fleet.current, components };
  for (const name of ['reader', 'db', 'cache'])
    stage.engine.add(`rss-reader-${name}-1`, { state: 'running', labels: composeLabels('rss-reader', name) });
}

describe('secrets list', () => {
  test('names every place where a secret rests and who can read it there, and no value', async () => {
    deployed();
    await keep(password, marked);
    const outcome = await run(secretsList);
    expect(outcome.data).toMatchObject({
      secrets: [
        {
          name: password,
          rests: [
            { where: 'memory', readableBy: 'nobody without its passphrase or key file' },
            { where: 'configuration of the container rss-reader-reader-1', readableBy: "root, and whoever can reach the engine's socket" },
            { where: 'configuration of the container rss-reader-db-1' },
            { where: 'environment of the compose process, while it runs', readableBy: 'root and you' },
          ],
        },
      ],
    });
    expect(outcome.message).toBe('1 secret in memory.');
    expect(await trail()).not.toContain(marked);
  });
});

describe('an instance that Quarterdeck did not deploy', () => {
  const instance = 'rss-reader@lab';
  const refusal = {
    code: 'usage.component',
    message: 'rss-reader@lab was not deployed by Quarterdeck, which keeps no secrets of it.',
    remedy: 'Change the secret where it was deployed. "quarterdeck secrets list" lists those that are kept.',
  };

  test.each([
    ['secrets set', secretsSet],
    ['secrets rotate', secretsRotate],
    ['secrets reveal', secretsReveal],
    ['secrets remove', secretsRemove],
  ])('%s does not confuse it with the one that was deployed from here', async (_, flow) => {
    await keep(password, marked);
    for (const words of [[instance, 'DB_PASSWORD'], [`${instance}/DB_PASSWORD`], [`local/${instance}/DB_PASSWORD`]])
      await expect(run(flow, words)).rejects.toMatchObject(refusal);
    expect(await newest(password)).toBe(marked);
  });

  test('secrets list says that none of it are kept, and why', async () => {
    await keep(password, marked);
    const outcome = await run(secretsList, [instance]);
    expect(outcome.message).toBe('No secret of rss-reader@lab is kept in memory: Quarterdeck did not deploy it.');
    expect(outcome.data).toEqual({ secrets: [] });
  });

  test('a name that is kept can still be read', async () => {
    await keep(`local/${instance}/DB_PASSWORD`, marked);
    await run(secretsRemove, [instance, 'DB_PASSWORD']);
    expect(await newest(`local/${instance}/DB_PASSWORD`)).toBeUndefined();
  });
});

describe('secrets set', () => {
  test('keeps what is typed twice, and shows it nowhere', async () => {
    stage.operator.answers = { value: [marked], again: [marked] };
    const outcome = await run(secretsSet, ['rss-reader', 'DB_PASSWORD']);
    expect(await newest(password)).toBe(marked);
    expect(outcome.message).toBe('Version v1 of local/rss-reader/DB_PASSWORD is kept. It is in force with the next deploy of rss-reader.');
    expect(await trail()).not.toContain(marked);
    expect(stage.operator.asked.map(({ kind }) => kind)).toEqual(['secret', 'secret']);
  });

  test('takes none from the command line, and none that was mistyped', async () => {
    await expect(run(secretsSet, ['rss-reader', 'DB_PASSWORD', marked])).rejects.toMatchObject({ code: 'usage.words' });
    stage.operator.answers = { value: [marked], again: ['another one'] };
    await expect(run(secretsSet, ['rss-reader', 'DB_PASSWORD'])).rejects.toMatchObject({ code: 'usage.answer' });
    await expect(run(secretsSet, ['rss-reader', 'DB_PASWORD'])).rejects.toMatchObject({ remedy: 'Did you mean "DB_PASSWORD"?' });
    expect(await stage.vault.list()).toEqual([]);
    expect(await trail()).not.toContain(marked);
  });
});

describe('secrets reveal', () => {
  test('shows it for fifteen seconds, and the audit says that it was', async () => {
    await keep(password, marked);
    await run(secretsReveal, ['rss-reader/DB_PASSWORD']);
    expect(stage.operator.shown).toEqual([{ kind: 'secret', label: password, value: marked, secondsLeft: 15 }]);
    expect(await stage.audited()).toEqual(
      expect.arrayContaining([expect.objectContaining({ right: 'reveal', request: `reveal version v1 of ${password}`, outcome: 'done' })]),
    );
    expect(await trail()).not.toContain(marked);
  });

  test('is refused in read-only mode, without a look', async () => {
    await keep(password, marked);
    stage.policy = { ...stage.policy, readOnly: true };
    await expect(run(secretsReveal, ['rss-reader', 'DB_PASSWORD'])).rejects.toMatchObject({ code: 'refused.readOnly' });
    expect(stage.operator.shown).toEqual([]);
  });

  test('an old version by its id, and no other', async () => {
    await keep(password, 'old one');
    await keep(password, marked);
    await run(secretsReveal, ['rss-reader', 'DB_PASSWORD'], { version: 'v1' });
    expect(stage.operator.shown).toMatchObject([{ value: 'old one' }]);
    await expect(run(secretsReveal, ['rss-reader', 'DB_PASSWORD'], { version: 'v9' })).rejects.toMatchObject({ code: 'usage.version' });
  });
});

test('secrets remove says what is lost, and asks', async () => {
  deployed();
  await keep(password, marked);
  stage.operator.confirms = false;
  await expect(run(secretsRemove, ['rss-reader', 'DB_PASSWORD'])).rejects.toMatchObject({ code: 'refused.notConfirmed' });
  expect(stage.operator.confirmations[0]?.consequences.join(' ')).toContain('It is in use');
  stage.operator.confirms = true;
  await run(secretsRemove, ['rss-reader', 'DB_PASSWORD']);
  expect(await newest(password)).toBeUndefined();
});

describe('secrets rotate', () => {
  let applied: unknown[];
  let accepts: (program: string, value: string) => number;
  /** The stage's world with a deploy that works, and programs that answer by the value on their stdin. */
  const staged = (apply?: FlowWorld['applySecrets']) => {
    applied = [];
    const { engine } = stage;
    const writer = engine.writer.bind(engine);
    engine.writer = ((grant: never) => ({
      ...writer(grant),
      exec: async (_: string, argv: readonly string[], { stdin }: { stdin?: Uint8Array } = {}) => ({
        exitCode: accepts(
          argv.join(' '),
          Buffer.from(stdin ?? [])
            .toString()
            .replace(/\n$/, ''),
        ),
        stdout: new Uint8Array(),
        stderr: Buffer.from('FATAL: no\n'),
        cut: false,
      }),
    })) as never;
    const world = Object.getOwnPropertyDescriptor(FlowStage.prototype, 'world')?.get?.call(stage) as FlowWorld;
    Object.defineProperty(stage, 'world', {
      value: {
        ...world,
        applySecrets:
          apply ??
          (async (_session, place, changes) => {
            applied.push([place, ...changes]);
            return { restarted: ['reader', 'db'] };
          }),
      } satisfies FlowWorld,
    });
  };

  test('makes a new one, tells the database, restarts what uses it, and proves it (R26)', async () => {
    deployed();
    await keep(password, marked);
    const told: string[] = [];
    let inForce = marked;
    accepts = (program, value) => {
      told.push(`${program} ${value === marked ? 'old' : 'new'}`);
      if (program === 'tell') inForce = value;
      return value === inForce ? 0 : 2;
    };
    staged();
    const outcome = await run(secretsRotate, ['rss-reader', 'DB_PASSWORD']);
    const value = await newest(password);
    expect(value).toMatch(/^[A-Za-z0-9]{32}$/);
    expect(told).toEqual(['tell new', 'login new', 'login old']);
    expect(applied).toEqual([['local', { component: 'rss-reader', variable: 'DB_PASSWORD', version: 'v2' }]]);
    expect(outcome.message).toBe(
      `${password} has a new value. Restarted: reader, db. Proved: the new one works, and the old one does not.`,
    );
    const seen = await trail();
    expect([seen.includes(marked), seen.includes(value ?? '')]).toEqual([false, false]);
  });

  test('is a failure when the old one still works', async () => {
    deployed();
    await keep(password, marked);
    accepts = () => 0;
    staged();
    await expect(run(secretsRotate, ['rss-reader', 'DB_PASSWORD'])).rejects.toMatchObject({
      code: 'failed.rotate',
      message: 'rss-reader still accepts the old value of database password.',
    });
  });

  test('a deploy that fails is taken back: the old one is the newest again, in the database too', async () => {
    deployed();
    await keep(password, marked);
    let inForce = marked;
    accepts = (program, value) => {
      if (program === 'tell') inForce = value;
      return 0;
    };
    staged(async () => {
      throw new Error('the disk is full');
    });
    await expect(run(secretsRotate, ['rss-reader', 'DB_PASSWORD'])).rejects.toMatchObject({
      message: expect.stringMatching(/the disk is full.*The old value is in force again/),
    });
    expect([inForce, await newest(password)]).toEqual([marked, marked]);
  });

  test('one that cannot simply be replaced stays, with the reason', async () => {
    await keep('local/rss-reader/ADMIN_PASSWORD', marked);
    await expect(run(secretsRotate, ['rss-reader', 'ADMIN_PASSWORD'])).rejects.toMatchObject({
      code: 'refused.rotate',
      message: expect.stringContaining('it is read at the first start only'),
    });
    expect(await newest('local/rss-reader/ADMIN_PASSWORD')).toBe(marked);
  });

  test('every component that must agree gets the same value, whichever was named (R26)', async () => {
    know([
      entry('archiver', [field({ name: 'ELASTIC_PASSWORD', generator: 'hex:16', sameAs: ['index/ELASTIC_PASSWORD'] })], {}),
      entry('index', [field({ name: 'ELASTIC_PASSWORD', generator: 'hex:16' })], {}),
    ]);
    for (const name of ['local/archiver/ELASTIC_PASSWORD', 'local/index/ELASTIC_PASSWORD'] as const) {
      await keep('local/archiver/ELASTIC_PASSWORD', marked);
      await keep('local/index/ELASTIC_PASSWORD', marked);
      await run(secretsRotate, [name]);
      const value = await newest('local/index/ELASTIC_PASSWORD');
      expect(value).toMatch(/^[0-9a-f]{32}$/);
      expect(await newest('local/archiver/ELASTIC_PASSWORD')).toBe(value);
    }
  });

  test('in use and with nothing that could deploy it, nothing is changed', async () => {
    deployed();
    await keep(password, marked);
    await expect(run(secretsRotate, ['rss-reader', 'DB_PASSWORD'])).rejects.toMatchObject({ code: 'failed.rotate' });
    expect(await newest(password)).toBe(marked);
  });
});

describe('an age file', () => {
  const hasAge = promisify(execFile)('age', ['--version']).then(
    () => true,
    () => false,
  );

  test('is sealed, for its owner alone, and comes back with its versions; what differs is shown first', async () => {
    await keep(password, 'old one');
    await keep(password, marked);
    const file = join(stage.folder, 'out.age');
    stage.operator.answers = { 'passphrase-of-file': ['a long passphrase'], 'passphrase-again': ['a long passphrase'] };
    const outcome = await run(secretsExport, [file]);
    expect(outcome.message).toContain('1 secret in');
    const text = await readFile(file, 'utf8');
    expect(text).toMatch(/^-----BEGIN AGE ENCRYPTED FILE-----/);
    expect([text.includes(marked), (await stat(file)).mode & 0o777]).toEqual([false, 0o600]);

    await stage.vault.write(undefined, password, 'changed meanwhile', 'given');
    await keep('local/rss-reader/ADMIN_PASSWORD', 'stays');
    stage.operator.answers = { 'passphrase-of-file': ['a long passphrase'] };
    await run(secretsImport, [file]);
    expect(stage.operator.reviews[0]?.sections).toEqual([
      { title: 'Kept here with another value: this one becomes the newest', lines: [{ mark: 'warning', text: password }] },
    ]);
    expect(await newest(password)).toBe(marked);
    expect(await newest('local/rss-reader/ADMIN_PASSWORD')).toBe('stays');
    expect(await trail()).not.toContain(marked);
  }, 60_000);

  test('a wrong passphrase and what is no age file are told', async () => {
    await keep(password, marked);
    const file = join(stage.folder, 'out.age');
    stage.operator.answers = {
      'passphrase-of-file': ['a long passphrase', 'another passphrase'],
      'passphrase-again': ['a long passphrase'],
    };
    await run(secretsExport, [file]);
    await expect(run(secretsImport, [file])).rejects.toMatchObject({ code: 'refused.age' });
    await writeFile(file, 'no age file');
    await expect(run(secretsImport, [file])).rejects.toMatchObject({ code: 'usage.path' });
  }, 60_000);

  test('a secret key is no recipient', async () => {
    await keep(password, marked);
    await expect(run(secretsExport, [join(stage.folder, 'x')], { to: ['AGE-SECRET-KEY-1ABC'] })).rejects.toMatchObject({
      message: 'That is a secret key: --to takes the public one.',
    });
  });

  test('for a public key: age itself reads it, and what age wrote is read here', async ({ skip }) => {
    if (!(await hasAge)) skip('age is not installed');
    await keep(password, marked);
    const { generateIdentity, identityToRecipient } = await import('age-encryption');
    const identity = await generateIdentity();
    const [key, file, other] = ['key.txt', 'out.age', 'other.age'].map((name) => join(stage.folder, name)) as [string, string, string];
    await writeFile(key, `# created: today\n${identity}\n`, { mode: 0o600 });
    const recipient = await identityToRecipient(identity);
    await run(secretsExport, [file], { to: [recipient] });
    const { stdout } = await promisify(execFile)('age', ['-d', '-i', key, file]);
    expect(JSON.parse(stdout)).toMatchObject({ secrets: [{ name: password, versions: [{ value: marked }] }] });
    await writeFile(join(stage.folder, 'plain'), stdout.replace(marked, 'from outside'));
    await promisify(execFile)('age', ['-r', recipient, '-o', other, join(stage.folder, 'plain')]);
    await run(secretsImport, [other], { identity: key });
    expect(await newest(password)).toBe('from outside');
  }, 60_000);

  test('an export is refused in read-only mode, and leaves no file', async () => {
    await keep(password, marked);
    stage.policy = { ...stage.policy, readOnly: true };
    stage.operator.answers = { 'passphrase-of-file': ['a long passphrase'], 'passphrase-again': ['a long passphrase'] };
    await expect(run(secretsExport, [join(stage.folder, 'x')])).rejects.toMatchObject({ code: 'refused.readOnly' });
    await expect(stat(join(stage.folder, 'x'))).rejects.toThrow();
  });
});

describe('the secrets manager', () => {
  let url: string;
  let token: string;
  let close: () => Promise<void>;
  const ask = (method: string, path: string, body?: unknown) =>
    fetch(`${url}/v1/${path}`, { method, headers: { 'X-Vault-Token': token }, ...(body !== undefined && { body: JSON.stringify(body) }) });

  beforeEach(async () => {
    const manager = await createSecretsManager();
    const listening = await listen(manager.product, 8200);
    ({ url, close } = listening);
    token = manager.rootToken;
    for (const key of manager.shares.slice(0, manager.threshold)) await ask('PUT', 'sys/unseal', { key });
    stage.operator.answers = { token: Array(9).fill(token) };
  });
  afterEach(() => close());

  test('gets the newest versions, keeps what else lies there, and gives them back', async () => {
    await ask('PUT', 'secret/data/quarterdeck/local/rss-reader', { data: { by_hand: 'stays' } });
    await keep(password, 'old one');
    await keep(password, marked);
    const outcome = await run(secretsExport, [], { manager: url });
    expect(outcome.message).toContain('1 secret in 1 path');
    const there = (await (await ask('GET', 'secret/data/quarterdeck/local/rss-reader')).json()) as { data: { data: unknown } };
    expect(there.data.data).toEqual({ by_hand: 'stays', DB_PASSWORD: marked });
    expect((await run(secretsExport, [], { manager: url })).message).toContain('all were there already');

    await stage.vault.remove(undefined, password);
    await run(secretsImport, [], { manager: url });
    expect(stage.operator.reviews[0]?.sections[0]).toMatchObject({
      title: 'New here',
      lines: [{ text: 'local/rss-reader/by_hand' }, { text: password }],
    });
    expect(await newest(password)).toBe(marked);
    const seen = await trail();
    expect([seen.includes(marked), seen.includes(token)]).toEqual([false, false]);
  });

  test('sealed, refusing, of another version, or away, it is told in a sentence', async () => {
    await keep(password, marked);
    await expect(run(secretsExport, [], { manager: url, mount: 'legacy' })).rejects.toMatchObject({
      message: '"legacy" is no key-value engine of version 2.',
    });
    stage.operator.answers = { token: ['s.wrong'] };
    await expect(run(secretsExport, [], { manager: url })).rejects.toMatchObject({
      code: 'failed.store',
      message: 'The token may not look at "secret".',
    });
    await ask('PUT', 'sys/seal');
    stage.operator.answers = { token: [token, token] };
    await expect(run(secretsExport, [], { manager: url })).rejects.toMatchObject({
      message: 'The secrets manager cannot look at "secret": it is sealed.',
    });
    await expect(run(secretsExport, [], { manager: 'http://127.0.0.1:1' })).rejects.toMatchObject({ code: 'unreachable.store' });
  });

  test('is never told a token over plain HTTP to another machine, and nobody is asked for one', async () => {
    await keep(password, marked);
    await expect(run(secretsExport, [], { manager: 'http://vault.lan:8200' })).rejects.toMatchObject({ code: 'refused.clear' });
    expect(stage.operator.asked).toEqual([]);
  });
});
