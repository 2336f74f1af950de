import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { breakOffs, type Ground, type Killed, traces } from '../../test/doubles/break-offs.ts';
import type { OperatorDouble } from '../../test/doubles/operator-double.ts';
import { Holders, VaultStage } from '../../test/doubles/vault-stage.ts';
import { openbao } from '../practice/secrets-manager/dialect.ts';
import type { SecretsManagerOptions } from '../practice/secrets-manager/secrets-manager.ts';
import type { Flow, FlowInput } from './flow.ts';
import { initialise } from './initialise.ts';
import { seal } from './seal.ts';
import { unseal } from './unseal.ts';
import { vaultAdmin } from './vault-admin.ts';
import { vaultApprole } from './vault-approle.ts';
import { vaultLogin, vaultLogout } from './vault-login.ts';
import { vaultPolicy } from './vault-policy.ts';
import { vaultRevokeRoot } from './vault-revoke-root.ts';
import { vaultRoot } from './vault-root.ts';
import { vaultRotate } from './vault-rotate.ts';
import { vaultSnapshot } from './vault-snapshot.ts';
import { vaultWrite } from './vault-write.ts';

vi.setConfig({ testTimeout: 120_000 });

interface Played {
  words?: readonly string[];
  options?: FlowInput['options'];
  answers: (stage: VaultStage, killed: Killed | undefined) => ConstructorParameters<typeof Holders>[0];
  end: (stage: VaultStage) => Promise<unknown>;
  server?: SecretsManagerOptions;
  sealed?: true;
  /** Before the run. */
  first?: (stage: VaultStage) => Promise<unknown>;
  /** Gets what was revealed to somebody. */
  seen?: string[];
  /** Gets the token of another admin, made for each try. */
  admin?: (token: string) => void;
}

let otherAdmin = '';

/** Whose tokens are in force; those of tests of a login and of the one who asks left out. */
async function tokenNames(stage: VaultStage, asking = stage.token): Promise<string[]> {
  const { keys } = (await stage.ask('GET', 'auth/token/accessors?list=true', undefined, asking))['data'] as { keys: string[] };
  const names = keys.map(async (accessor) => {
    const { data } = await stage.ask('POST', 'auth/token/lookup-accessor', { accessor }, asking);
    return (data as { display_name: string }).display_name;
  });
  return (await Promise.all(names)).sort();
}

async function countOfVersions(stage: VaultStage): Promise<number> {
  const { versions } = (await stage.ask('GET', 'secret/metadata/apps/rss-reader'))['data'] as { versions: object };
  return Object.keys(versions).length;
}

/** A new server of practice, open unless said otherwise, with this flow about it. */
const ground =
  (flow: Flow, { words = [], options = {}, ...played }: Played) =>
  async (): Promise<Ground> => {
    const stage = await VaultStage.open(played.server);
    if (!played.sealed) await stage.unseal();
    await played.first?.(stage);
    if (played.admin) {
      const made = await stage.ask('POST', 'auth/token/create-orphan', { policies: ['root'], display_name: 'ada' });
      played.admin((made['auth'] as { client_token: string }).client_token);
    }
    return {
      flow,
      operator: (killed) => {
        const holders = new Holders(played.answers(stage, killed));
        const { seen } = played;
        if (!seen) return holders;
        const ask = holders.ask.bind(holders);
        holders.ask = async (question) => {
          if (question.reveals) seen.push(question.reveals.value);
          return ask(question);
        };
        return holders;
      },
      run: (watched, operator, left) => {
        stage.stage.resume = left?.run;
        const input = { words: left?.words ?? words, options: left?.options ?? options };
        return stage.run(watched, operator as OperatorDouble, input, played.sealed ? 'sealed' : 'healthy');
      },
      journal: stage.stage.journal,
      end: () => played.end(stage),
      folders: [stage.stage.folder],
      close: () => stage.close(),
    };
  };

const problems = (tries: Awaited<ReturnType<typeof breakOffs>>['tries']) => tries.filter(({ problem }) => problem !== undefined);

test('unsealing, killed at each share: the others go on with what was given', async () => {
  const played = ground(unseal, {
    sealed: true,
    answers: (stage, killed) => ({ attempt: 'continue', share: stage.shares.slice(killed?.done ?? 0) }),
    end: async (stage) => (await stage.ask('GET', 'sys/seal-status')).sealed,
  });
  const { acts, tries } = await breakOffs(played);
  expect(acts).toEqual(['share-1', 'share-2', 'share-3']);
  expect(problems(tries)).toEqual([]);
  expect(await traces(played)).toMatchObject({ secrets: 3, crashes: 6, found: [] });
});

test('initialising, killed behind the request: nobody has the keys, and that is said with the way on', async () => {
  const played = ground(initialise, {
    server: { uninitialised: true },
    sealed: true,
    answers: () => ({}),
    end: async (stage) => (await stage.ask('GET', 'sys/seal-status')).sealed,
  });
  const { acts, tries } = await breakOffs(played, {
    'initialise/after': {
      says: /broke off while vault was initialised: nobody has Key share 1 of 5.*Root token.*remove vault --data/,
      end: 'another',
    },
  });
  expect(acts).toEqual(['initialise']);
  expect(problems(tries)).toEqual([]);
  expect(await traces(played)).toMatchObject({ secrets: 6, crashes: 2, found: [] });
});

test('new shares, killed at each act: gone on with, put in force by their holders, or begun anew; never half of it', async () => {
  const inHand: string[] = [];
  const played = ground(vaultRotate, {
    answers: (stage, killed) => ({
      token: stage.token,
      shares: '4',
      threshold: '2',
      // Those that were given are with the server, until the last of them has made the new ones.
      share: killed && killed.act !== 'start' && killed.done < 4 ? stage.shares.slice(killed.done - 1) : stage.shares,
      'new-share': inHand.slice(-4),
    }),
    end: async (stage) => {
      const { t, n } = await stage.ask('GET', 'sys/seal-status');
      return [t, n, (await stage.ask('GET', 'sys/rotate/root/init'))['data']];
    },
    seen: inHand,
  });
  const { acts, tries } = await breakOffs(played, {
    'share-3/after': { says: /2 of 4 open it/, end: 'same' },
    'prove-1/before': { says: /2 of 4 open it/, end: 'same' },
    'prove-1/after': { says: /2 of 4 open it/, end: 'same' },
    'prove-2/before': { says: /2 of 4 open it/, end: 'same' },
    'prove-2/after': { says: /2 of 4 key shares open it.*keep those of before until then/, end: 'same' },
  });
  expect(acts).toEqual(['start', 'share-1', 'share-2', 'share-3', 'prove-1', 'prove-2']);
  expect(problems(tries)).toEqual([]);
  expect(await traces(played)).toMatchObject({ crashes: 12, found: [] });
});

test('a root token, killed at each act: the attempt of its own is dropped, and what may have been made is named', async () => {
  const played = ground(vaultRoot, {
    answers: (stage) => ({ token: stage.token, share: [...stage.shares] }),
    end: async (stage) => (await stage.ask('GET', 'sys/generate-root-token/attempt'))['data'],
  });
  const anew = { says: /one more root token/, end: 'same' } as const;
  const { acts, tries } = await breakOffs(played, {
    'start/after': anew,
    ...Object.fromEntries(
      [1, 2, 3].flatMap((number) => [
        [`share-${number}/before`, anew],
        [`share-${number}/after`, anew],
      ]),
    ),
  });
  expect(acts).toEqual(['start', 'share-1', 'share-2', 'share-3']);
  expect(problems(tries)).toEqual([]);
  expect(await traces(played)).toMatchObject({ crashes: 8, found: [] });
});

test('an admin token, killed behind its making: the one that nobody has is revoked', async () => {
  const played = ground(vaultAdmin, {
    answers: (stage) => ({ token: stage.token, name: 'ada' }),
    end: async (stage) => tokenNames(stage),
  });
  const { acts, tries } = await breakOffs(played, { 'token/after': { says: /ada has an admin token/, end: 'same' } });
  expect(acts).toEqual(['policy', 'token']);
  expect(problems(tries)).toEqual([]);
  expect(await traces(played)).toMatchObject({ crashes: 4, found: [] });
});

test('revoking root with the kept token, killed at each act: revoked once, and forgotten', async () => {
  const played = ground(vaultRevokeRoot, {
    first: (stage) => stage.run(vaultLogin, new Holders({ method: 'token', token: stage.token, keep: 'yes' })),
    answers: () => ({ root: '', other: () => otherAdmin }),
    end: async (stage) => [await tokenNames(stage, otherAdmin), await stage.stage.vault.list()],
    server: { dialect: openbao },
    admin: (token) => {
      otherAdmin = token;
    },
  });
  const { acts, tries } = await breakOffs(played);
  expect(acts).toEqual(['revoke', 'forget']);
  expect(problems(tries)).toEqual([]);
  expect(await traces(played)).toMatchObject({ crashes: 4, found: [] });
});

test('AppRole for a new program, killed at each act: one secret id in the end', async () => {
  const played = ground(vaultApprole, {
    words: ['rss-reader'],
    options: { policy: ['apps'], plain: true },
    first: (stage) => stage.ask('DELETE', 'sys/auth/approle'),
    answers: (stage) => ({ token: stage.token, ttl: '20m' }),
    end: async (stage) => {
      const ids = await stage.ask('GET', 'auth/approle/role/rss-reader/secret-id?list=true');
      const role = await stage.ask('GET', 'auth/approle/role/rss-reader');
      return [(ids['data'] as { keys: string[] }).keys.length, role['data'], await tokenNames(stage)];
    },
  });
  const { acts, tries } = await breakOffs(played, { 'secret-id/after': { says: /a new secret id, tried here/, end: 'same' } });
  expect(acts).toEqual(['mount', 'role', 'secret-id']);
  expect(problems(tries)).toEqual([]);
  expect(await traces(played)).toMatchObject({ crashes: 6, found: [] });
});

test('logging in and out, killed at each act: a token is kept once, and revoked before it is forgotten', async () => {
  const kept = async (stage: VaultStage) => (await stage.stage.vault.list()).map(({ name, versions }) => [name, versions.length]);
  const login = ground(vaultLogin, {
    answers: (stage) => ({ method: 'token', token: stage.token, keep: 'yes' }),
    end: kept,
  });
  const { acts, tries } = await breakOffs(login);
  expect([acts, problems(tries)]).toEqual([['keep'], []]);
  expect(await traces(login)).toMatchObject({ secrets: 1, crashes: 2, found: [] });
  const logout = ground(vaultLogout, {
    first: async (stage) => {
      const made = await stage.ask('POST', 'auth/token/create', { policies: ['apps'], display_name: 'ada' });
      const { client_token: token } = made['auth'] as { client_token: string };
      await stage.run(vaultLogin, new Holders({ method: 'token', token, keep: 'yes' }));
    },
    answers: () => ({}),
    end: async (stage) => [await kept(stage), await tokenNames(stage)],
  });
  const out = await breakOffs(logout);
  expect([out.acts, problems(out.tries)]).toEqual([['revoke', 'forget'], []]);
  expect(await traces(logout)).toMatchObject({ secrets: 1, crashes: 4, found: [] });
});

test('writing a path and a policy, and sealing, killed at each act: one version, the rule once, sealed', async () => {
  const value = 'a-password-of-the-database';
  const write = ground(vaultWrite, {
    words: ['secret/apps/rss-reader', 'database_password'],
    answers: (stage) => ({ token: stage.token, 'value-database_password': value, 'again-database_password': value }),
    end: async (stage) => countOfVersions(stage),
  });
  const policy = ground(vaultPolicy, {
    words: ['apps'],
    answers: (stage) => ({ token: stage.token, allows: 'read', below: 'secret/data/more' }),
    end: async (stage) => ((await stage.ask('GET', 'sys/policies/acl/apps'))['data'] as { policy: string }).policy,
  });
  const sealing = ground(seal, {
    answers: (stage) => ({ token: stage.token }),
    end: async (stage) => (await stage.ask('GET', 'sys/seal-status'))['sealed'],
  });
  for (const [played, act] of [
    [write, 'write'],
    [policy, 'write'],
    [sealing, 'seal'],
  ] as const) {
    const { acts, tries } = await breakOffs(played);
    expect([acts, problems(tries)]).toEqual([[act], []]);
    expect(await traces(played)).toMatchObject({ crashes: 2, found: [] });
  }
});

test('a snapshot, killed at its act: taken again where it was written, and whole', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'quarterdeck-snapshot-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'taken.snap');
  const played = ground(vaultSnapshot, {
    words: [file],
    first: () => rm(file, { force: true }),
    answers: (stage) => ({ token: stage.token }),
    end: async () => (await stat(file)).mode & 0o777,
  });
  const { acts, tries } = await breakOffs(played, { 'snapshot/after': { says: /whole, as of index/, end: 'same' } });
  expect([acts, problems(tries)]).toEqual([['snapshot'], []]);
  expect(await traces(played)).toMatchObject({ secrets: 1, crashes: 2, found: [] });
});
