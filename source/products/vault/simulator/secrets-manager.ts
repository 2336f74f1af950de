import { randomBytes } from 'node:crypto';
import { type ExecAnswer, failed, said } from '../../../practice/answers.ts';
import type { PracticeProduct, ProductSurroundings } from '../../../practice/practice.ts';
import type { Body } from './answers.ts';
import { Core, type Dialect, openbao, productName } from './core.ts';
import { Server } from './server.ts';

export interface SecretsManagerOptions {
  /** Default: OpenBao 2.6. */
  dialect?: Dialect;
  /** Default: 5. */
  shares?: number;
  /** Default: 3. */
  threshold?: number;
  /** The server unseals itself; its shares are for recovery. */
  autoUnseal?: boolean;
  /** Without keys, to practise `init`. */
  uninitialised?: boolean;
}

export interface SecretsManager {
  readonly product: PracticeProduct;
  /** In hex; empty if the server is not initialised. New in every practice stack. */
  readonly shares: readonly string[];
  readonly threshold: number;
  readonly rootToken: string;
  /** Returns the encrypted storage, for tests that search it for secrets. */
  storedBytes(): string;
}

/**
 * A secrets manager for practice: it splits and combines shares, encrypts its storage with the key that they combine to, and is sealed after
 * each start. Answers follow a running OpenBao 2.6.2, and reference/openbao-vault.md for everything else.
 */
export async function createSecretsManager(options: SecretsManagerOptions = {}): Promise<SecretsManager> {
  let surroundings: ProductSurroundings | undefined;
  const { dialect = openbao, shares: count = 5, threshold = 3 } = options;
  const core = new Core(dialect, options.autoUnseal);
  const server = new Server(core);
  const keys = options.uninitialised ? { shares: [], rootToken: '' } : await furnish(server, count, threshold);

  const log = (line: string, ms = Date.now()) => surroundings?.log(`${new Date(ms).toISOString()} [INFO]  ${line}`, 'stderr', ms);
  core.log = (line) => log(line);

  const product: PracticeProduct = {
    listeners: { 8200: server.listener },
    start(given) {
      surroundings = given;
      surroundings.log(`==> ${productName(dialect)} server started! Log data will stream in below:`, 'stdout', given.startedMs);
      log('core: Initializing version history cache for core', given.startedMs);
      core.openItself();
    },
    stop() {
      surroundings?.log('==> Vault shutdown triggered', 'stdout');
      core.seal();
      core.dropAttempt();
      surroundings = undefined;
    },
    exec: (argv) => (/(?:^|\/)(?:bao|vault)$/.test(argv[0] ?? '') ? Promise.resolve(runCommand(server, argv)) : undefined),
    play(incident) {
      if (incident === 'unseal-reset') core.dropAttempt();
      if (incident === 'wrong-share') void core.unseal({ key: randomBytes(33).toString('hex') }).catch(() => undefined);
    },
  };
  return { product, ...keys, threshold, storedBytes: () => core.storage.write() };
}

/** Initialises the server with the secrets of a household, and leaves it sealed. */
async function furnish(server: Server, shares: number, threshold: number): Promise<{ shares: string[]; rootToken: string }> {
  const [prefix, name] = server.core.opensItself ? ['recovery', 'recovery_keys'] : ['secret', 'keys'];
  const made = await server.initialise({ [`${prefix}_shares`]: shares, [`${prefix}_threshold`]: threshold });
  const keys = made[name] as string[];
  const rootToken = String(made['root_token']);
  for (const key of keys.slice(0, threshold)) await server.core.unseal({ key });
  const put = async (path: string, body: Body) => {
    const call = {
      method: 'PUT',
      path: `/v1/${path}`,
      query: new URLSearchParams(),
      token: rootToken,
      body: Buffer.from(JSON.stringify(body)),
    };
    const { status = 200, body: answer } = await server.answer(call);
    if (status >= 400) throw new Error(`${path}: ${JSON.stringify(answer)}`);
  };
  const password = () => randomBytes(12).toString('base64url');
  await put('sys/mounts/secret', { type: 'kv', options: { version: '2' }, description: 'secrets of the household' });
  await put('sys/mounts/legacy', { type: 'kv', options: { version: '1' }, description: 'from before the move' });
  await put('sys/auth/approle', { type: 'approle' });
  await put('sys/policies/acl/backup', { policy: 'path "secret/data/backup/*" { capabilities = ["read"] }\n' });
  await put('sys/policies/acl/apps', { policy: 'path "secret/data/apps/*" { capabilities = ["create", "read", "update"] }\n' });
  await put('auth/approle/role/backup', { token_policies: 'backup', token_ttl: '20m' });
  await put('secret/data/apps/rss-reader', { data: { database_password: password() } });
  await put('secret/data/apps/rss-reader', { data: { database_password: password() } });
  await put('secret/data/apps/file-sync', { data: { api_key: password(), gui_user: 'captain' } });
  await put('secret/data/backup/repository', { data: { passphrase: password() } });
  await put('legacy/router', { user: 'admin', password: password() });
  server.core.seal();
  return { shares: keys, rootToken };
}

/** The server's own client, as far as the catalog calls it: `status`. */
function runCommand(server: Server, argv: readonly string[]): ExecAnswer {
  const { core } = server;
  if (argv[1] !== 'status') return failed(127, `Usage: ${argv[0]} status\n`);
  const status = { ...core.status(), ha_enabled: true, ...(core.sealed ? {} : server.leader()) };
  const rows = Object.entries({ Initialized: core.storage.initialised, Sealed: core.sealed, Version: core.dialect.version });
  const text = rows.map(([name, value]) => `${name.padEnd(24)}${value}\n`).join('');
  const stdout = argv.includes('-format=json') ? `${JSON.stringify(status, undefined, 2)}\n` : text;
  return { ...said(stdout), exitCode: core.sealed ? 2 : 0 };
}
