import { execFile } from 'node:child_process';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { flowOf } from '../../../test/contract/flows/registry.ts';
import { listen } from '../../../test/contract/listening.ts';
import { composeLabels } from '../../../test/doubles/container-facts.ts';
import { componentView, serviceView } from '../../../test/doubles/fleet-double.ts';
import { FlowFixture } from '../../../test/doubles/flow-fixture.ts';
import type { Catalog, CatalogEntry } from '../../catalog/catalog.ts';
import type { ComponentField } from '../../catalog/schema.ts';
import { openLocalHost } from '../../hosts/local-host.ts';
import { createSecretsManager } from '../../products/vault/simulator/secrets-manager.ts';
import type { SecretName } from '../../secrets/secrets.ts';
import { UnhealthyFault } from '../components/wait-until-healthy.ts';
import type { Flow, FlowContext } from '../flow.ts';

const secretsList = flowOf('secrets-list');
const secretsRemove = flowOf('secrets-remove');
const secretsReveal = flowOf('secrets-reveal');
const secretsRotate = flowOf('secrets-rotate');
const secretsSet = flowOf('secrets-set');

const marked = 'marked-secret-9f3a';
const password: SecretName = 'local/rss-reader/DB_PASSWORD';

const field = (given: Partial<ComponentField>): ComponentField =>
  ({ name: 'x', type: 'secret-string', secret: true, required: true, excludes: [], target: 'environment', ...given }) as ComponentField;

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
        label: 'Database password',
        description: 'Opens the database.',
        rule: 'letters and digits',
        env: 'DB_PASSWORD',
        generator: 'alphanumeric:32',
        rotate: { service: 'db', argv: ['tell'] },
        verify: { service: 'db', argv: ['login'] },
      }),
      field({ name: 'ADMIN_PASSWORD', generator: 'alphanumeric:32', rotate: { never: 'it is read at the first start only' } }),
    ],
    {
      reader: { DATABASE_URL: `postgres://x:\${DB_PASSWORD:?kept}@db`, ADMIN: `\${ADMIN_PASSWORD}` },
      db: { POSTGRES_PASSWORD: `\${DB_PASSWORD:?kept}`, OTHER: `\${DB_PASSWORD_FILE}` },
      cache: { SIZE: '1' },
    },
  );

// The cost of a passphrase only changes a number, not the code.
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

let fixture: FlowFixture;
beforeEach(async () => {
  fixture = await FlowFixture.open();
  fixture.host = openLocalHost();
  know([reader()]);
});
afterEach(() => fixture.close());

function know(entries: CatalogEntry[]): void {
  fixture.catalog = { entries, get: (id) => entries.find((known) => known.id === id), problems: [] } satisfies Catalog;
}
const keep = (name: SecretName, value: string) => fixture.vault.write(undefined, name, value, 'generated');
const run = (flow: Flow | string, words: string[] = [], options: Record<string, string | boolean | string[]> = {}) =>
  fixture.run(flow, undefined, { words, options });
const newest = (name: SecretName) => fixture.vault.read(name);

/** Collects everything that may be read later: the output without secrets, and the audit. */
async function trail(): Promise<string> {
  const shown = fixture.operator.shown.filter(({ kind }) => kind !== 'secret');
  return JSON.stringify([shown, fixture.operator.steps, fixture.operator.reviews, await fixture.audited()]);
}

function deployed(): void {
  const components = [
    componentView('rss-reader', {
      project: 'rss-reader',
      services: ['reader', 'db', 'cache'].map((name) => serviceView(name, { containerName: `rss-reader-${name}-1` })),
    }),
  ];
  fixture.fleet.current = { ...fixture.fleet.current, components };
  for (const name of ['reader', 'db', 'cache'])
    fixture.engine.add(`rss-reader-${name}-1`, { state: 'running', labels: composeLabels('rss-reader', name) });
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
            { where: 'memory', readableBy: 'only users who have the passphrase or key file' },
            {
              where: 'configuration of the container rss-reader-reader-1',
              readableBy: "root, and users who can reach the engine's socket",
            },
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
    message: 'rss-reader@lab was not deployed by Quarterdeck, so its secrets are not stored.',
    remedy: 'Change the secret where the component was deployed. To list stored secrets: quarterdeck secrets list',
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
    expect(outcome.message).toBe('No secret of rss-reader@lab is stored in memory: Quarterdeck did not deploy it.');
    expect(outcome.data).toEqual({ secrets: [] });
  });

  test('a name that is kept can still be read', async () => {
    await keep(`local/${instance}/DB_PASSWORD`, marked);
    await run(secretsRemove, [instance, 'DB_PASSWORD']);
    expect(await newest(`local/${instance}/DB_PASSWORD`)).toBeUndefined();
  });
});

describe('secrets set', () => {
  test('a component alone lacks the name of its secret', async () => {
    for (const word of ['rss-reader', 'rss-reader/'])
      await expect(run(secretsSet, [word])).rejects.toMatchObject({
        message: 'Specify a secret of rss-reader.',
        remedy: expect.stringMatching(/^Use one of: .*DB_PASSWORD/),
      });
  });

  test('a secret of backups takes effect with the next backup', async () => {
    await keep('local/backup/RESTIC_PASSWORD', 'the old one');
    fixture.operator.answers = { value: [marked], again: [marked] };
    const { message } = await run(secretsSet, ['backup', 'RESTIC_PASSWORD']);
    expect(message).toBe('Stored version v2 of local/backup/RESTIC_PASSWORD. It takes effect with the next backup.');
    await expect(run(secretsRotate, ['backup', 'RESTIC_PASSWORD'])).rejects.toMatchObject({
      remedy: expect.stringContaining('restic key passwd'),
    });
  });

  test('keeps what is typed twice, and shows it nowhere', async () => {
    fixture.operator.answers = { value: [marked], again: [marked] };
    const outcome = await run(secretsSet, ['rss-reader', 'DB_PASSWORD']);
    expect(await newest(password)).toBe(marked);
    expect(outcome.message).toBe('Stored version v1 of local/rss-reader/DB_PASSWORD. It takes effect with the next deploy of rss-reader.');
    expect(await trail()).not.toContain(marked);
    expect(fixture.operator.asked.map(({ kind }) => kind)).toEqual(['secret', 'secret']);
    expect(fixture.operator.asked[0]).toMatchObject({
      label: 'New value of Database password (local/rss-reader/DB_PASSWORD)',
      help: 'Opens the database; letters and digits',
    });
  });

  test('takes none from the command line, and none that was mistyped', async () => {
    await expect(run(secretsSet, ['rss-reader', 'DB_PASSWORD', marked])).rejects.toMatchObject({ code: 'usage.words' });
    fixture.operator.answers = { value: [marked], again: ['another one'] };
    await expect(run(secretsSet, ['rss-reader', 'DB_PASSWORD'])).rejects.toMatchObject({ code: 'usage.answer' });
    await expect(run(secretsSet, ['rss-reader', 'DB_PASWORD'])).rejects.toMatchObject({ remedy: 'Did you mean "DB_PASSWORD"?' });
    expect(await fixture.vault.list()).toEqual([]);
    expect(await trail()).not.toContain(marked);
  });
});

describe('secrets reveal', () => {
  test('shows it for fifteen seconds, and the audit says that it was', async () => {
    await keep(password, marked);
    await run(secretsReveal, ['rss-reader/DB_PASSWORD']);
    expect(fixture.operator.shown).toEqual([{ kind: 'secret', label: password, value: marked, secondsLeft: 15 }]);
    expect(await fixture.audited()).toEqual(
      expect.arrayContaining([expect.objectContaining({ right: 'reveal', request: `reveal version v1 of ${password}`, outcome: 'done' })]),
    );
    expect(await trail()).not.toContain(marked);
  });

  test('an old version by its id, and no other', async () => {
    await keep(password, 'old one');
    await keep(password, marked);
    await run(secretsReveal, ['rss-reader', 'DB_PASSWORD'], { version: 'v1' });
    expect(fixture.operator.shown).toMatchObject([{ value: 'old one' }]);
    await expect(run(secretsReveal, ['rss-reader', 'DB_PASSWORD'], { version: 'v9' })).rejects.toMatchObject({ code: 'usage.version' });
  });
});

test('secrets remove says what is lost, and asks', async () => {
  deployed();
  await keep(password, marked);
  fixture.operator.confirms = false;
  await expect(run(secretsRemove, ['rss-reader', 'DB_PASSWORD'])).rejects.toMatchObject({ code: 'refused.notConfirmed' });
  expect(fixture.operator.confirmations[0]?.consequences.join(' ')).toContain('The secret is in use');
  fixture.operator.confirms = true;
  await run(secretsRemove, ['rss-reader', 'DB_PASSWORD']);
  expect(await newest(password)).toBeUndefined();
});

describe('secrets rotate', () => {
  let applied: unknown[];
  let accepts: (program: string, value: string) => number;
  /** The fixture's context with a deploy that works, and programs that answer by the value on their stdin. */
  const staged = (apply?: FlowContext['applySecrets']) => {
    applied = [];
    const { engine } = fixture;
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
    const context = Object.getOwnPropertyDescriptor(FlowFixture.prototype, 'context')?.get?.call(fixture) as FlowContext;
    Object.defineProperty(fixture, 'context', {
      value: {
        ...context,
        applySecrets:
          apply ??
          (async (_session, engineName, changes) => {
            applied.push([engineName, ...changes]);
            return { restarted: ['reader', 'db'] };
          }),
      } satisfies FlowContext,
    });
  };

  test('makes a new one, tells the database, restarts what uses it, and proves it (R26)', async () => {
    deployed();
    await keep(password, marked);
    const reported: string[] = [];
    let inForce = marked;
    accepts = (program, value) => {
      reported.push(`${program} ${value === marked ? 'old' : 'new'}`);
      if (program === 'tell') inForce = value;
      return value === inForce ? 0 : 2;
    };
    staged();
    const outcome = await run(secretsRotate, ['rss-reader', 'DB_PASSWORD']);
    const value = await newest(password);
    expect(value).toMatch(/^[A-Za-z0-9]{32}$/);
    expect(reported).toEqual(['tell new', 'login new', 'login old']);
    expect(applied).toEqual([['local', { component: 'rss-reader', variable: 'DB_PASSWORD', version: 'v2' }]]);
    expect(outcome.message).toBe(`Rotated ${password}. Restarted: reader, db. Verified: the new value works, and the old one does not.`);
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
      message: expect.stringMatching(/the disk is full.*The old value is in effect again/),
    });
    expect([inForce, await newest(password)]).toEqual([marked, marked]);
  });

  test.each([' To restore the previous version: quarterdeck rollback x.', ' To undo the deployment: quarterdeck rollback x.', ' Or: x.'])(
    'a component that does not become healthy: the rollback is done, so it is not advised, however it is worded:%s',
    async (rollback) => {
      deployed();
      await keep(password, marked);
      accepts = () => 0;
      staged(async () => {
        throw new UnhealthyFault('x did not become healthy.', 'Check the log: quarterdeck logs x.', rollback);
      });
      await expect(run(secretsRotate, ['rss-reader', 'DB_PASSWORD'])).rejects.toMatchObject({
        code: 'failed.rotate',
        remedy: 'Check the log: quarterdeck logs x.',
      });
    },
  );

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

  test('is sealed, readable only by its owner, and comes back with its versions; what differs is shown first', async () => {
    await keep(password, 'old one');
    await keep(password, marked);
    const file = join(fixture.folder, 'out.age');
    fixture.operator.answers = { 'passphrase-of-file': ['a long passphrase'], 'passphrase-again': ['a long passphrase'] };
    const outcome = await run('secrets-export', [file]);
    expect(outcome.message).toContain('1 secret to');
    const text = await readFile(file, 'utf8');
    expect(text).toMatch(/^-----BEGIN AGE ENCRYPTED FILE-----/);
    expect([text.includes(marked), (await stat(file)).mode & 0o777]).toEqual([false, 0o600]);

    await fixture.vault.write(undefined, password, 'changed in the meantime', 'given');
    await keep('local/rss-reader/ADMIN_PASSWORD', 'stays');
    fixture.operator.answers = { 'passphrase-of-file': ['a long passphrase'] };
    await run('secrets-import', [file]);
    expect(fixture.operator.reviews[0]?.sections).toEqual([
      { title: 'Stored with a different value; the imported value becomes the newest', lines: [{ mark: 'warning', text: password }] },
    ]);
    expect(await newest(password)).toBe(marked);
    expect(await newest('local/rss-reader/ADMIN_PASSWORD')).toBe('stays');
    expect(await trail()).not.toContain(marked);
  }, 60_000);

  test('a wrong passphrase and what is no age file are told', async () => {
    await keep(password, marked);
    const file = join(fixture.folder, 'out.age');
    fixture.operator.answers = {
      'passphrase-of-file': ['a long passphrase', 'another passphrase'],
      'passphrase-again': ['a long passphrase'],
    };
    await run('secrets-export', [file]);
    await expect(run('secrets-import', [file])).rejects.toMatchObject({ code: 'refused.age' });
    await writeFile(file, 'ot an age file');
    await expect(run('secrets-import', [file])).rejects.toMatchObject({ code: 'usage.path' });
  }, 60_000);

  test('of a component without secrets is not written', async () => {
    await keep(password, marked);
    const file = join(fixture.folder, 'none.age');
    expect((await run('secrets-export', [file], { component: 'nothing' })).message).toMatch(/^No secrets of nothing are stored in /);
    await expect(stat(file)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  test('a secret key is no recipient', async () => {
    await keep(password, marked);
    await expect(run('secrets-export', [join(fixture.folder, 'x')], { to: ['AGE-SECRET-KEY-1ABC'] })).rejects.toMatchObject({
      message: 'The value of --to is a secret key. Pass the public key.',
    });
  });

  test('for a public key: age itself reads it, and what age wrote is read here', async ({ skip }) => {
    if (!(await hasAge)) skip('age is not installed');
    await keep(password, marked);
    const { generateIdentity, identityToRecipient } = await import('age-encryption');
    const identity = await generateIdentity();
    const [key, file, other] = ['key.txt', 'out.age', 'other.age'].map((name) => join(fixture.folder, name)) as [string, string, string];
    await writeFile(key, `# created: today\n${identity}\n`, { mode: 0o600 });
    const recipient = await identityToRecipient(identity);
    await run('secrets-export', [file], { to: [recipient] });
    const { stdout } = await promisify(execFile)('age', ['-d', '-i', key, file]);
    expect(JSON.parse(stdout)).toMatchObject({ secrets: [{ name: password, versions: [{ value: marked }] }] });
    await writeFile(join(fixture.folder, 'plain'), stdout.replace(marked, 'from outside'));
    await promisify(execFile)('age', ['-r', recipient, '-o', other, join(fixture.folder, 'plain')]);
    await run('secrets-import', [other], { identity: key });
    expect(await newest(password)).toBe('from outside');
  }, 60_000);
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
    fixture.operator.answers = { token: Array(9).fill(token) };
  });
  afterEach(() => close());

  test('gets the newest versions, keeps what else lies there, and gives them back', async () => {
    await ask('PUT', 'secret/data/quarterdeck/local/rss-reader', { data: { by_hand: 'stays', port: 8080 } });
    await keep(password, 'old one');
    await keep(password, marked);
    const outcome = await run('secrets-export', [], { manager: url });
    expect(outcome.message).toContain('1 secret to 1 path');
    const there = (await (await ask('GET', 'secret/data/quarterdeck/local/rss-reader')).json()) as { data: { data: unknown } };
    expect(there.data.data).toEqual({ by_hand: 'stays', port: 8080, DB_PASSWORD: marked });
    expect((await run('secrets-export', [], { manager: url })).message).toContain('up to date');

    await fixture.vault.remove(undefined, password);
    await run('secrets-import', [], { manager: url });
    expect(fixture.operator.reviews[0]?.sections[0]).toMatchObject({
      title: 'New',
      lines: [{ text: 'local/rss-reader/by_hand' }, { text: password }],
    });
    expect(await newest(password)).toBe(marked);
    const seen = await trail();
    expect([seen.includes(marked), seen.includes(token)]).toEqual([false, false]);
  });

  test('sealed, refusing, of another version, or away, it is told in a sentence', async () => {
    await keep(password, marked);
    await expect(run('secrets-export', [], { manager: url, mount: 'legacy' })).rejects.toMatchObject({
      message: '"legacy" is not a version 2 key-value engine.',
    });
    fixture.operator.answers = { token: ['s.wrong'] };
    await expect(run('secrets-export', [], { manager: url })).rejects.toMatchObject({
      code: 'failed.vault',
      message: 'The token is not permitted to read secret, or is not valid.',
    });
    await ask('PUT', 'sys/seal');
    fixture.operator.answers = { token: [token, token] };
    await expect(run('secrets-export', [], { manager: url })).rejects.toMatchObject({
      message: 'The server cannot read secret: it is sealed.',
    });
    await expect(run('secrets-export', [], { manager: 'http://127.0.0.1:1' })).rejects.toMatchObject({ code: 'unreachable.store' });
  });

  test('is never told a token over plain HTTP to another machine, and nobody is asked for one', async () => {
    await keep(password, marked);
    await expect(run('secrets-export', [], { manager: 'http://vault.lan:8200' })).rejects.toMatchObject({ code: 'refused.clear' });
    expect(fixture.operator.asked).toEqual([]);
  });
});
