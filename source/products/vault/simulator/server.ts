import { randomUUID } from 'node:crypto';
import type { RequestListener } from 'node:http';
import { type Answer, type Asked, listenerOf } from '../../../practice/answers.ts';
import type { Body, Handled, Request } from './answers.ts';
import { done, namesOf, oneError, Refusal, unsupportedOperation, unsupportedPath } from './answers.ts';
import { Ceremonies, keysOf, sealConfigOf } from './ceremonies.ts';
import { type Core, isOpenbaoFrom } from './core.ts';
import { answerKv1, answerKv2 } from './kv.ts';
import { answerMounts, answerUiMounts, defaultMounts, findMount } from './mounts.ts';
import { answerPolicies } from './policies.ts';
import { restoreSnapshot, takeSnapshot } from './snapshot.ts';
import { answerRoles, answerTokens, capabilitiesOf, createRoot, findToken, logIn, type Token } from './tokens.ts';

export type Call = Pick<Asked, 'method' | 'path' | 'query' | 'body'> & { token: string };

export class Server {
  readonly core: Core;
  readonly ceremonies: Ceremonies;
  /** One request after the other, like the lock of the real server: shares that arrive at once are counted one by one. */
  #queue: Promise<unknown> = Promise.resolve();

  constructor(core: Core) {
    this.core = core;
    this.ceremonies = new Ceremonies(core);
    core.whenSealed = () => this.ceremonies.forget();
  }

  /** A snapshot is gzip, all else is JSON. */
  get listener(): RequestListener {
    return listenerOf(async (asked) => {
      const { status, body } = await this.answer({ ...asked, token: asked.header('x-vault-token') });
      const type = Buffer.isBuffer(body) ? 'application/gzip' : 'application/json';
      return { status, body, headers: { 'Cache-Control': 'no-store', 'Content-Type': type } };
    });
  }

  answer(call: Call): Promise<Answer> {
    const result = this.#queue.then(() =>
      this.#route(call).catch((error: unknown): Answer => {
        if (error instanceof Refusal) return { status: error.status, body: { errors: error.errors } };
        return { status: 500, body: { errors: ['internal error'] } };
      }),
    );
    this.#queue = result;
    return result;
  }

  async #route(call: Call): Promise<Answer> {
    if (!call.path.startsWith('/v1/')) return { status: 404 };
    const path = decodeURIComponent(call.path.slice('/v1/'.length));
    const isWrite = call.method === 'PUT' || call.method === 'POST';
    const open = await this.#openCall(path, call.query, isWrite, call.body);
    if (open) return open;
    if (this.core.sealed) {
      if (path === 'sys/seal' && isWrite) return { status: 204 };
      throw new Refusal(503, 'Vault is sealed');
    }
    return this.#unsealedCall(path, isWrite, call);
  }

  async #unsealedCall(path: string, isWrite: boolean, call: Call): Promise<Answer> {
    const { query } = call;
    const restore = isWrite ? /^sys\/storage\/raft\/snapshot(-force)?$/.exec(path) : null;
    const kind = call.method === 'DELETE' ? 'delete' : isWrite ? 'write' : query.get('list') === 'true' ? 'list' : 'read';
    const request: Request = { kind, path, query, body: restore ? {} : bodyOf(call.body, 'parse') };
    const old = /^sys\/(rekey|generate-root)\/(.+)$/.exec(path);
    if (old) {
      if (!this.core.dialect.openCeremonies) throw new Refusal(405, 'unsupported operation');
      const [, ceremony, step = ''] = old;
      const { status, data } =
        ceremony === 'rekey'
          ? await this.ceremonies.answerRotation(step, request, true)
          : await this.ceremonies.answerGeneration(step, request);
      return { status, body: data };
    }
    const method = findMount(this.core, 'auth', path.replace(/^auth\//, ''));
    if (method && path === `auth/${method.at}login`) return sent(logIn(this.core, path, method.mount, request.body));
    const own = findToken(this.core, call.token);
    if (!own) throw new Refusal(403, 'permission denied');
    this.#allow(own, request);
    if (restore) {
      await restoreSnapshot(this.core, call.body, restore[1] !== undefined);
      return { status: 204 };
    }
    return sent(await this.#logical(own, request));
  }

  /** The calls that require no login, sealed or not. */
  async #openCall(path: string, query: URLSearchParams, isWrite: boolean, body: Buffer): Promise<Answer | undefined> {
    const { core } = this;
    switch (path) {
      case 'sys/seal-status':
        return { body: core.status() };
      case 'sys/health':
        return this.#health(query);
      case 'sys/init':
        return { body: isWrite ? await this.initialise(bodyOf(body, 'decode')) : { initialized: core.storage.initialised } };
      case 'sys/unseal':
        if (!isWrite) throw new Refusal(405);
        return { body: await core.unseal(bodyOf(body, 'decode')) };
      case 'sys/leader':
        if (core.sealed) throw new Refusal(503, 'Vault is sealed');
        return { body: this.leader() };
      default:
        return undefined;
    }
  }

  leader(): Body {
    return { ha_enabled: true, is_self: true, active_time: this.core.activeSince, leader_address: 'http://openbao:8200' };
  }

  #health(query: URLSearchParams): Answer {
    const { storage, sealed, dialect, cluster } = this.core;
    const { initialised } = storage;
    const [name, usual] = !initialised ? ['uninitcode', 501] : sealed ? ['sealedcode', 503] : ['activecode', 200];
    const code = query.get(String(name)) ?? String(usual);
    if (!/^\d{3}$/.test(code)) throw new Refusal(400);
    return {
      status: Number(code),
      body: {
        initialized: initialised,
        sealed,
        standby: sealed,
        ...(dialect.product === 'vault' && { performance_standby: false }),
        server_time_utc: Math.floor(Date.now() / 1000),
        version: dialect.version,
        ...cluster,
      },
    };
  }

  /** Creates shares and root token, and leaves a server without auto-unseal sealed. */
  async initialise(body: Body): Promise<Body> {
    const { core } = this;
    if (core.storage.initialised) throw new Refusal(400, 'Vault is already initialized');
    const { opensItself } = core;
    const foreign = opensItself
      ? ['secret_shares', 'secret_threshold', 'pgp_keys']
      : ['recovery_shares', 'recovery_threshold', 'recovery_pgp_keys'];
    const wrong = foreign.filter((name) => body[name]);
    if (wrong.length > 0)
      throw new Refusal(400, `parameters ${wrong.join(',')} not applicable to seal type ${opensItself ? 'static' : 'shamir'}`);
    const counts = opensItself ? { secret_shares: body['recovery_shares'], secret_threshold: body['recovery_threshold'] } : body;
    const prefix = 'invalid seal configuration';
    const config = sealConfigOf(counts, prefix);
    const pgpKeys = body['pgp_keys'];
    if (Array.isArray(pgpKeys)) {
      // A practice server has no OpenPGP: every key is an invalid one.
      const reason =
        pgpKeys.length === config.shares
          ? 'error decoding given PGP key: illegal base64 data at input byte 0'
          : 'count mismatch between number of provided PGP keys and number of shares';
      throw new Refusal(400, `${prefix}: ${reason}`);
    }
    const shares = await core.initialise(config, { mounts: defaultMounts(), policies: {}, tokens: {} });
    const { keys, keys_base64 } = keysOf(shares);
    const { id: root_token } = createRoot(core);
    core.log('core: root token generated');
    if (opensItself) return { keys: [], keys_base64: [], recovery_keys: keys, recovery_keys_base64: keys_base64, root_token };
    core.seal();
    return { keys, keys_base64, root_token };
  }

  #allow(own: Token, { path, kind }: Request): void {
    // The version of an engine is reported to every token.
    if (path.startsWith('sys/internal/ui/mounts')) return;
    const capabilities = capabilitiesOf(this.core, own, path);
    const wanted = { read: ['read'], list: ['list'], write: ['create', 'update'], delete: ['delete'] }[kind];
    const isAllowed = wanted.some((one) => capabilities.includes(one)) && (!needsSudo.test(path) || capabilities.includes('sudo'));
    if (!isAllowed && !capabilities.includes('root')) throw new Refusal(403, oneError('permission denied'));
  }

  async #logical(own: Token, request: Request): Promise<Handled> {
    const { core } = this;
    const { path } = request;
    if (path.startsWith('sys/')) return this.#system(own, request);
    if (path.startsWith('auth/token/')) return answerTokens(core, own, request);
    const isAuth = path.startsWith('auth/');
    const inside = isAuth ? path.slice('auth/'.length) : path;
    const found = findMount(core, isAuth ? 'auth' : 'secret', inside);
    if (!found) throw new Refusal(404, `no handler for route "${path}". route entry not found.`);
    const { at, mount } = found;
    const rest = inside.slice(at.length);
    if (mount.type === 'approle') return answerRoles(mount, rest, request);
    if (mount.type !== 'kv') throw unsupportedOperation();
    return mount.options?.['version'] === '2' ? answerKv2(core, mount, rest, request) : answerKv1(mount, rest, request);
  }

  /** `sys/...` behind the login. */
  async #system(own: Token, request: Request): Promise<Handled> {
    const { core, ceremonies } = this;
    const [, first = '', ...rest] = request.path.replace(/\/$/, '').split('/');
    const below = (parts: number) => rest.slice(parts).join('/');
    switch (first) {
      case 'mounts':
        return answerMounts(core, 'secret', below(0), request);
      case 'auth':
        return answerMounts(core, 'auth', below(0), request);
      case 'policies':
        return answerPolicies(core, below(1), request);
      case 'internal':
        return answerUiMounts(core, below(2));
      case 'capabilities-self':
        return { data: Object.fromEntries(namesOf(request.body['paths']).map((path) => [path, capabilitiesOf(core, own, path)])) };
      case 'seal':
        core.seal();
        return done;
      case 'storage':
        return { bytes: await takeSnapshot(core) };
      case 'rotate':
        if (!isOpenbaoFrom(core.dialect, 4)) throw unsupportedPath();
        if (rest[0] === 'recovery' && !core.opensItself) throw new Refusal(400, 'recovery keys are not supported by this seal');
        return ceremonies.answerRotation(below(1), request);
      case 'generate-root-token':
        if (!isOpenbaoFrom(core.dialect, 6)) throw unsupportedPath();
        return ceremonies.answerGeneration(below(0), request);
      default:
        throw unsupportedPath();
    }
  }
}

/** Paths that require `sudo` in addition to the capability of the method. */
const needsSudo = /^(?:sys\/(?:seal|rotate|auth\/|generate-root-token|storage\/raft\/snapshot)|auth\/token\/accessors)/;

function sent({ status = 200, data = null, auth = null, warnings, leaseSeconds = 0, spread, bytes }: Handled): Answer {
  if (bytes) return { status, body: bytes };
  if (status === 204) return { status };
  const envelope = {
    ...(spread ? (data as object) : {}),
    ...{ request_id: randomUUID(), lease_id: '', renewable: false, lease_duration: leaseSeconds },
    ...{ data, wrap_info: null, warnings: warnings ?? null, auth },
  };
  return { status, body: envelope };
}

function bodyOf(bytes: Buffer, verb: 'decode' | 'parse'): Body {
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8').trim() || '{}');
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Body;
  } catch {
    // Reported below.
  }
  throw new Refusal(400, `failed to ${verb} JSON input: unexpected EOF`);
}
