import { stat } from 'node:fs/promises';
import { openbao } from '../../../source/products/vault/simulator/core.ts';
import type { SecretsManagerOptions } from '../../../source/products/vault/simulator/secrets-manager.ts';
import { Holders, VaultFixture, vaultId, vaultView } from '../../doubles/vault-fixture.ts';
import { DoubleFixture } from './double-fixture.ts';
import type { Family, FlowRow } from './flow.contract.ts';

/** A secrets manager of practice, and people around it. */
class Vault extends DoubleFixture {
  readonly server: VaultFixture;
  /** The token of another admin. */
  admin = '';

  private constructor(server: VaultFixture) {
    super(server.fixture);
    this.server = server;
  }
  static async open(options: SecretsManagerOptions & { sealed?: true } = {}): Promise<Vault> {
    const vault = new Vault(await VaultFixture.open(options));
    if (!options.sealed) await vault.server.unseal();
    return vault;
  }

  override async view() {
    const { sealed, initialized } = await this.server.ask('GET', 'sys/seal-status');
    return vaultView(initialized ? (sealed ? 'sealed 0/3' : 'healthy') : 'not initialised');
  }
  override close() {
    return this.server.close();
  }

  ask(...request: Parameters<VaultFixture['ask']>) {
    return this.server.ask(...request);
  }
  async isSealed(): Promise<unknown> {
    return (await this.ask('GET', 'sys/seal-status'))['sealed'];
  }
  async data(path: string, token?: string): Promise<Record<string, unknown>> {
    return ((await this.ask('GET', path, undefined, token))['data'] ?? {}) as Record<string, unknown>;
  }
  /** Names of the tokens that are valid. */
  async tokens(asking = this.server.token): Promise<string[]> {
    const { keys = [] } = (await this.data('auth/token/accessors?list=true', asking)) as { keys?: string[] };
    const names = keys.map(async (accessor) => {
      const { data } = await this.ask('POST', 'auth/token/lookup-accessor', { accessor }, asking);
      return (data as { display_name: string }).display_name;
    });
    return (await Promise.all(names)).sort();
  }
  /** State of each version, the oldest first. */
  async versions(): Promise<string[]> {
    const { versions = {} } = (await this.data('secret/metadata/apps/rss-reader')) as {
      versions?: Record<string, { deletion_time: string; destroyed: boolean }>;
    };
    return Object.values(versions).map(({ deletion_time, destroyed }) =>
      destroyed ? 'destroyed' : deletion_time === '' ? 'there' : 'deleted',
    );
  }
  async kept(): Promise<unknown> {
    return (await this.server.fixture.vault.list()).map(({ name, versions }) => [name, versions.length]);
  }
  async logIn(token: string): Promise<void> {
    await this.server.run('vault-login', new Holders({ method: 'token', token, keep: 'yes' }));
  }
  async makeToken(body: object): Promise<string> {
    const { auth } = await this.ask('POST', 'auth/token/create-orphan', body);
    return (auth as { client_token: string }).client_token;
  }
}

type Row = FlowRow<Vault>;
const path = 'secret/apps/rss-reader';
const token = ({ server }: Vault) => ({ token: server.token });
const value = 'a-password-of-the-database';
const mode = async (file: string) =>
  stat(file).then(
    (found) => found.mode & 0o777,
    () => 'missing',
  );
const reading = (flow: string, words: string[] = [], more: Partial<Row> = {}): Row => ({
  ...{ flow, words, answers: token, secrets: 1, acts: [] },
  ...more,
});
const threeVersions = async (vault: Vault) => {
  await vault.ask('PUT', 'secret/data/apps/rss-reader', { data: { database_password: 'the-third-password' } });
};
const ofVersions = (flow: string, act: string, more: Partial<Row> = {}): Row => ({
  ...{ flow, title: act, words: [path], answers: token, secrets: 1, acts: [act], first: threeVersions, end: (vault) => vault.versions() },
  // Which versions exist is read with the token.
  dryRunShows: { text: /Would prompt for a token and .* secret\/apps\/rss-reader/ },
  ...more,
});
const oneMoreToken = { says: /a new root token/, end: 'same' } as const;
const twoOfFour = { says: /2 of (?:the )?4/, end: 'same' } as const;

export const vaultFlows: Family<Vault> = {
  name: 'the secrets manager',
  component: vaultId,
  open: () => Vault.open(),
  rows: [
    {
      flow: 'initialise',
      cancelled: 'failed.handout',
      unattended: 'refused.unattended',
      open: () => Vault.open({ uninitialised: true, sealed: true }),
      end: (vault) => vault.isSealed(),
      acts: ['initialise'],
      secrets: 6,
      // Nobody has the keys, and that is reported with the way on.
      otherwise: {
        'initialise/after': {
          says: /initialisation of vault was interrupted. Not delivered and lost: Key share 1 of 5.*Root token.*remove vault --data/,
          end: 'another',
        },
      },
    },
    {
      flow: 'unseal',
      open: () => Vault.open({ sealed: true }),
      answers: ({ server }, killed) => ({ attempt: 'continue', share: server.shares.slice(killed?.done ?? 0) }),
      end: (vault) => vault.isSealed(),
      dryRunShows: { text: /3 of the 5 key shares \(0 of 3 entered\) and send each: PUT \/v1\/sys\/unseal/ },
      acts: ['share-1', 'share-2', 'share-3'],
      secrets: 3,
    },
    { flow: 'seal', answers: token, end: (vault) => vault.isSealed(), acts: ['seal'], secrets: 1 },
    {
      flow: 'vault-login',
      answers: ({ server }) => ({ method: 'token', token: server.token, keep: 'yes' }),
      end: (vault) => vault.kept(),
      dryRunShows: { text: /Would log in \(token\), look up the token, and offer to store it/ },
      acts: ['keep'],
      secrets: 1,
    },
    {
      flow: 'vault-logout',
      first: async (vault) => vault.logIn(await vault.makeToken({ policies: ['apps'], display_name: 'ada' })),
      end: async (vault) => [await vault.kept(), await vault.tokens()],
      acts: ['revoke', 'forget'],
      secrets: 1,
    },
    reading('vault-token'),
    reading('vault-list', ['secret/apps/']),
    reading('vault-read', [path], { options: { field: 'database_password' }, secrets: 2, acts: ['reveal'] }),
    {
      flow: 'vault-write',
      words: [path, 'database_password'],
      answers: ({ server }) => ({ token: server.token, 'value-database_password': value, 'again-database_password': value }),
      end: (vault) => vault.versions(),
      dryRunShows: { text: /the values of database_password, and write them to secret\/apps\/rss-reader/ },
      acts: ['write'],
      secrets: 2,
    },
    reading('vault-versions', [path]),
    ofVersions('vault-delete', 'delete'),
    ofVersions('vault-undelete', 'undelete', {
      // The run that is resumed must not bring back the other one.
      first: async (vault) => {
        await threeVersions(vault);
        for (const version of [1, 3]) await vault.ask('POST', 'secret/delete/apps/rss-reader', { versions: [version] });
      },
    }),
    ofVersions('vault-destroy', 'destroy', { answers: (vault) => ({ ...token(vault), versions: ['2'] }) }),
    ofVersions('vault-destroy', 'remove', { options: { all: true } }),
    reading('vault-policies'),
    {
      flow: 'vault-policy',
      words: ['apps'],
      answers: (vault) => ({ ...token(vault), allows: 'read', below: 'secret/data/more' }),
      end: async (vault) => (await vault.data('sys/policies/acl/apps'))['policy'],
      dryRunShows: { text: /send PUT \/v1\/sys\/policies\/acl\/apps/ },
      acts: ['write'],
      secrets: 1,
    },
    {
      flow: 'vault-approle',
      words: ['rss-reader'],
      options: { policy: ['apps'], plain: true },
      first: (vault) => vault.ask('DELETE', 'sys/auth/approle'),
      answers: (vault) => ({ ...token(vault), ttl: '20m' }),
      end: async (vault) => {
        const { keys } = (await vault.data('auth/approle/role/rss-reader/secret-id?list=true')) as { keys?: string[] };
        return [keys?.length, await vault.data('auth/approle/role/rss-reader'), await vault.tokens()];
      },
      dryRunShows: { text: /enable AppRole if needed, write the role rss-reader, and create a secret ID/ },
      acts: ['mount', 'role', 'secret-id'],
      secrets: 2,
      otherwise: { 'secret-id/after': { says: /a new secret ID, which was tested/, end: 'same' } },
    },
    {
      flow: 'vault-admin',
      undoes: ['revoke'],
      unattended: 'refused.unattended',
      answers: (vault) => ({ ...token(vault), name: 'ada' }),
      end: (vault) => vault.tokens(),
      acts: ['policy', 'token'],
      secrets: 2,
      // The first one was seen by nobody, and is revoked.
      otherwise: { 'token/after': { says: /an admin token for ada/, end: 'same' } },
    },
    {
      flow: 'vault-snapshot',
      words: (vault) => [vault.file('taken.snap')],
      answers: token,
      end: (vault) => mode(vault.file('taken.snap')),
      acts: ['snapshot'],
      secrets: 1,
      otherwise: { 'snapshot/after': { says: /complete, as of index/, end: 'same' } },
    },
    {
      flow: 'vault-rotate',
      undoes: ['cancel'],
      unattended: 'refused.unattended',
      answers: ({ server }, killed) => ({
        token: server.token,
        shares: '4',
        threshold: '2',
        // Those that were given are with the server, until the last of them has made the new ones.
        share: killed && killed.act !== 'start' && killed.done < 4 ? server.shares.slice(killed.done - 1) : server.shares,
        'new-share': killed?.revealed.slice(-4) ?? [],
      }),
      end: async (vault) => {
        const { t, n } = await vault.ask('GET', 'sys/seal-status');
        return [t, n, await vault.data('sys/rotate/root/init')];
      },
      dryRunShows: { text: /PUT \/v1\/sys\/rotate\/root\/init, update, verify/ },
      acts: ['start', 'share-1', 'share-2', 'share-3', 'prove-1', 'prove-2'],
      otherwise: {
        'share-3/after': twoOfFour,
        'prove-1/before': twoOfFour,
        'prove-1/after': twoOfFour,
        'prove-2/before': twoOfFour,
        'prove-2/after': twoOfFour,
      },
    },
    {
      flow: 'vault-root',
      undoes: ['cancel', 'revoke'],
      unattended: 'refused.unattended',
      answers: ({ server }) => ({ token: server.token, share: [...server.shares] }),
      end: (vault) => vault.data('sys/generate-root-token/attempt'),
      dryRunShows: { text: /PUT \/v1\/sys\/generate-root-token\/attempt, update/ },
      acts: ['start', 'share-1', 'share-2', 'share-3'],
      secrets: 5,
      // The attempt of the killed run is dropped, and what it may have made is named.
      otherwise: {
        'start/after': oneMoreToken,
        ...Object.fromEntries(
          [1, 2, 3].flatMap((number) => ['before', 'after'].map((moment) => [`share-${number}/${moment}`, oneMoreToken])),
        ),
      },
    },
    {
      flow: 'vault-revoke-root',
      open: async () => {
        const vault = await Vault.open({ dialect: openbao });
        vault.admin = await vault.makeToken({ policies: ['root'], display_name: 'ada' });
        await vault.logIn(vault.server.token);
        return vault;
      },
      answers: ({ admin }) => ({ root: '', other: admin }),
      end: async (vault) => [await vault.tokens(vault.admin), await vault.kept()],
      dryRunShows: { text: /only then send PUT \/v1\/auth\/token\/revoke-self/ },
      acts: ['revoke', 'forget'],
      secrets: 2,
    },
    {
      flow: 'vault-restore',
      words: (vault) => [vault.file('taken.snap')],
      options: (vault) => ({ before: vault.file('before.snap') }),
      answers: token,
      first: async (vault) => {
        await vault.ask('PUT', 'legacy/router', { password: 'of-the-snapshot' });
        await vault.server.run('vault-snapshot', new Holders(token(vault)), { words: [vault.file('taken.snap')] });
        await vault.ask('PUT', 'legacy/router', { password: 'written-since-then' });
      },
      end: async (vault) => [(await vault.data('legacy/router'))['password'], await mode(vault.file('before.snap'))],
      dryRunShows: { text: /save the current state, and send POST \/v1\/sys\/storage\/raft\/snapshot/ },
      acts: ['save-before', 'restore'],
      secrets: 1,
    },
  ],
};
