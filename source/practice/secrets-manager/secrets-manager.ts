import { randomBytes } from 'node:crypto';
import type { PracticeProduct, ProductSurroundings } from '../practice.ts';
import { Ceremonies } from './ceremonies.ts';
import { runCommand } from './command.ts';
import { Core } from './core.ts';
import { type Dialect, openbao } from './dialect.ts';
import { Mounts } from './mounts.ts';
import { Server } from './server.ts';
import { banner, logLine, sealLines, unsealLines } from './server-log.ts';
import { Tokens } from './tokens.ts';

export interface SecretsManagerOptions {
  /** OpenBao 2.6 where nothing is said. */
  dialect?: Dialect;
  /** 5 where nothing is said. */
  shares?: number;
  /** 3 where nothing is said. */
  threshold?: number;
  /** It opens itself, with a key that it has at hand; the shares are for recovery. */
  autoUnseal?: boolean;
  /** No keys exist yet: for practising `init`. */
  uninitialised?: boolean;
}

export interface SecretsManager {
  readonly product: PracticeProduct;
  /** Hex, as they were handed out; empty when there are none yet. Made anew with every practice stack. */
  readonly shares: readonly string[];
  readonly threshold: number;
  readonly rootToken: string;
  /** Storage as it lies on the disk: for tests that look for secrets in it. */
  storedBytes(): string;
}

const housekeepingMs = 45_000;

/**
 * A secrets manager to practise on: it splits and combines shares, encrypts what it stores with the key that they make, and is sealed after
 * each start. Answers follow a running OpenBao 2.6.2, and reference/openbao-vault.md where that could not be asked.
 */
export async function createSecretsManager(options: SecretsManagerOptions = {}): Promise<SecretsManager> {
  let surroundings: ProductSurroundings | undefined;
  let housekeeping: NodeJS.Timeout | undefined;
  const now = () => surroundings?.now() ?? Date.now();
  const { dialect = openbao, shares: count = 5, threshold = 3 } = options;
  const core = new Core(dialect, now, options.autoUnseal);
  const tokens = new Tokens(core);
  const mounts = new Mounts(core);
  const ceremonies = new Ceremonies(core, tokens);
  const server = new Server(core, tokens, mounts, ceremonies);
  const made = options.uninitialised ? undefined : await furnish(server, count, threshold);

  core.log = (level, text) => surroundings?.log(logLine(now(), level, text), 'stderr');
  const say = (lines: readonly string[]) => {
    for (const line of lines) core.log('INFO', line);
  };
  core.whenUnsealed = () => say(unsealLines(core, mounts.table('secret')));
  core.whenSealed = () => {
    ceremonies.forget();
    say(sealLines);
  };

  const startServing = (ms = now()) => {
    for (const line of banner(core)) surroundings?.log(line, 'stdout', ms);
    const first = [
      'proxy environment: http_proxy="" https_proxy="" no_proxy=""',
      'core: Initializing version history cache for core',
      ...(core.barrier.initialised ? [] : ['core: security barrier not initialized', 'core: seal configuration missing, not initialized']),
    ];
    for (const line of first) surroundings?.log(logLine(ms, 'INFO', line), 'stderr', ms);
  };

  const product: PracticeProduct = {
    // Whoever hangs up in the middle is not answered.
    listeners: { 8200: (request, response) => void server.handle(request, response).catch(() => response.destroy()) },
    start(given) {
      surroundings = given;
      core.dropAttempt();
      startServing(given.startedMs);
      core.openItself();
      housekeeping = setInterval(() => {
        if (!core.sealed) core.log('INFO', `expiration: revoked lease: lease_id=auth/approle/login/h${randomBytes(32).toString('hex')}`);
      }, housekeepingMs);
      housekeeping.unref();
    },
    stop() {
      clearInterval(housekeeping);
      surroundings?.log('==> Vault shutdown triggered', 'stdout');
      core.seal();
      core.dropAttempt();
      ceremonies.forget();
      surroundings = undefined;
    },
    exec: (argv) => (/(?:^|\/)(?:bao|vault)$/.test(argv[0] ?? '') ? runCommand(server, argv) : undefined),
    incidents: [
      {
        name: 'sealed',
        title: 'The secrets manager is sealed',
        summary: 'It was restarted in the night. Nobody can read a secret until enough holders have given their key shares.',
        play() {
          core.seal();
          core.dropAttempt();
          startServing();
        },
      },
      {
        name: 'unseal-reset',
        title: 'Somebody drops the shares given so far',
        summary: 'Another operator resets the attempt to unseal: progress is back at zero, and the nonce is another one.',
        play: () => core.dropAttempt(),
      },
      {
        name: 'wrong-share',
        title: 'Somebody gives a wrong share',
        summary:
          'A share that belongs to another server is accepted; at the threshold all shares are dropped, and nobody can tell whose was wrong.',
        play() {
          if (core.sealed) void core.unseal({ key: randomBytes(33).toString('hex') }).catch(() => {});
        },
      },
    ],
  };
  return {
    product,
    shares: made?.shares ?? [],
    threshold,
    rootToken: made?.rootToken ?? '',
    storedBytes: () => core.barrier.bytes,
  };
}

/** Initialises it, puts in what a household keeps there, and leaves it sealed. */
async function furnish(server: Server, secret_shares: number, secret_threshold: number): Promise<{ shares: string[]; rootToken: string }> {
  const isOwn = server.core.opensItself;
  const made = await server.initialise(
    isOwn ? { recovery_shares: secret_shares, recovery_threshold: secret_threshold } : { secret_shares, secret_threshold },
  );
  const shares = made[isOwn ? 'recovery_keys' : 'keys'] as string[];
  const rootToken = made['root_token'] as string;
  for (const key of shares.slice(0, secret_threshold)) await server.core.unseal({ key });
  const put = async (path: string, body: unknown) => {
    const answer = await server.answer({
      method: 'PUT',
      url: `/v1/${path}`,
      token: rootToken,
      namespace: '',
      body: Buffer.from(JSON.stringify(body)),
    });
    if (answer.status >= 400) throw new Error(`${path}: ${JSON.stringify(answer.body)}`);
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
  return { shares, rootToken };
}
