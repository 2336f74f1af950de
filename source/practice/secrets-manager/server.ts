import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Answer, enveloped, oneError, Refusal } from './answers.ts';
import { answerRoles, answerTokens, login } from './auth.ts';
import { type Ceremonies, sealConfigOf } from './ceremonies.ts';
import type { Core } from './core.ts';
import { answerKv1, answerKv2 } from './kv.ts';
import type { Mounts } from './mounts.ts';
import type { Handled, Request } from './route.ts';
import { restoreSnapshot } from './snapshot.ts';
import { answerOpenCeremony, answerSystem, needsSudo } from './system.ts';
import type { Token, Tokens } from './tokens.ts';

const largestBodyBytes = 32 * 1024 * 1024;

export interface Call {
  method: string;
  /** With its query. */
  url: string;
  token: string;
  namespace: string;
  body: Buffer;
}

/** The HTTP API, without a socket: what comes in, and what goes out. */
export class Server {
  readonly core: Core;
  readonly tokens: Tokens;
  readonly mounts: Mounts;
  readonly ceremonies: Ceremonies;
  /** One request after the other: shares that arrive at once are counted one by one, as the real server's lock sees to. */
  #queue: Promise<unknown> = Promise.resolve();

  constructor(core: Core, tokens: Tokens, mounts: Mounts, ceremonies: Ceremonies) {
    this.core = core;
    this.tokens = tokens;
    this.mounts = mounts;
    this.ceremonies = ceremonies;
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    let sizeBytes = 0;
    for await (const piece of request) {
      sizeBytes += (piece as Buffer).length;
      if (sizeBytes <= largestBodyBytes) pieces.push(piece as Buffer);
    }
    const bearer = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1];
    const header = (name: string) => [request.headers[name]].flat()[0];
    const answer =
      sizeBytes > largestBodyBytes
        ? { status: 413, body: { errors: ['http: request body too large'] } }
        : await this.answer({
            method: request.method ?? 'GET',
            url: request.url ?? '/',
            token: header('x-vault-token') ?? bearer ?? '',
            namespace: header('x-vault-namespace') ?? '',
            body: Buffer.concat(pieces),
          });
    const text = answer.bytes ?? (answer.body === undefined ? '' : `${JSON.stringify(answer.body)}\n`);
    response.statusCode = answer.status;
    response.setHeader('Cache-Control', 'no-store');
    response.setHeader('Content-Type', answer.contentType ?? 'application/json');
    response.setHeader('Strict-Transport-Security', 'max-age=31536000; includeSubDomains');
    response.end(answer.status === 204 ? undefined : text);
  }

  answer(call: Call): Promise<Answer> {
    const result = this.#queue.then(() => this.#guarded(call));
    this.#queue = result;
    return result;
  }

  async #guarded(call: Call): Promise<Answer> {
    try {
      return await this.#route(call);
    } catch (error) {
      if (error instanceof Refusal) return { status: error.status, body: { errors: error.errors } };
      // A path that is no text, or no path.
      if (error instanceof URIError || (error as { code?: string }).code === 'ERR_INVALID_URL')
        return { status: 400, bytes: Buffer.from('400 Bad Request'), contentType: 'text/plain' };
      return { status: 500, body: { errors: ['internal error'] } };
    }
  }

  async #route(call: Call): Promise<Answer> {
    const url = new URL(call.url, 'http://practice');
    if (!url.pathname.startsWith('/v1/')) {
      const page = '<!DOCTYPE html><html><head><title>OpenBao</title></head><body></body></html>';
      return url.pathname.startsWith('/ui') ? { status: 200, bytes: Buffer.from(page), contentType: 'text/html' } : { status: 404 };
    }
    const path = decodeURIComponent(url.pathname.slice('/v1/'.length));
    const open = await this.#openCall(path, url, call);
    if (open) return open;
    if (this.core.sealed) {
      // Sealing what is sealed is done.
      if (path === 'sys/seal' && isWrite(call.method)) return { status: 204 };
      throw new Refusal(503, 'Vault is sealed');
    }
    if (call.namespace !== '' && call.namespace !== 'root') {
      throw new Refusal(404, this.core.dialect.product === 'openbao' ? 'namespace not found' : noRoute(`${call.namespace}/${path}`));
    }
    return this.#behindSeal(path, url, call);
  }

  /** What everybody may ask, sealed or not. */
  async #openCall(path: string, url: URL, call: Call): Promise<Answer | undefined> {
    const { core } = this;
    switch (path) {
      case 'sys/seal-status':
        return { status: 200, body: core.status() };
      case 'sys/health':
        return this.#health(url.searchParams);
      case 'sys/init':
        if (!isWrite(call.method)) return { status: 200, body: { initialized: core.barrier.initialised } };
        return { status: 200, body: await this.initialise(bodyOf(call.body, 'decode')) };
      case 'sys/unseal':
        if (!isWrite(call.method)) throw new Refusal(405);
        return { status: 200, body: await core.unseal(lowerKeys(bodyOf(call.body, 'decode'))) };
      case 'sys/leader':
        if (core.sealed) throw new Refusal(503, 'Vault is sealed');
        return { status: 200, body: this.leader() };
      default:
        return undefined;
    }
  }

  leader(): Record<string, unknown> {
    return {
      ha_enabled: true,
      is_self: true,
      active_time: this.core.activeSince,
      leader_address: 'http://openbao:8200',
      leader_cluster_address: 'https://openbao:8201',
      ...(this.core.dialect.product === 'vault' ? { performance_standby: false, performance_standby_last_remote_wal: 0 } : {}),
      raft_committed_index: 86,
      raft_applied_index: 86,
    };
  }

  #health(query: URLSearchParams): Answer {
    const { core } = this;
    const code = (name: string, usual: number) => {
      const wanted = query.get(name);
      if (wanted === null) return usual;
      if (!/^\d{3}$/.test(wanted)) throw new Refusal(400);
      return Number(wanted);
    };
    const codes = {
      active: code('activecode', 200),
      standby: code('standbycode', 429),
      sealed: code('sealedcode', 503),
      uninit: code('uninitcode', 501),
    };
    const { initialised, sealed } = core.barrier;
    return {
      status: initialised ? (sealed ? codes.sealed : codes.active) : codes.uninit,
      body: {
        initialized: initialised,
        sealed,
        standby: sealed,
        ...(core.dialect.product === 'vault' ? { performance_standby: false } : {}),
        replication_performance_mode: sealed ? 'unknown' : core.dialect.product === 'vault' ? 'disabled' : 'primary',
        replication_dr_mode: sealed ? 'unknown' : 'disabled',
        server_time_utc: Math.floor(core.nowMs() / 1000),
        version: core.dialect.version,
        ...(core.dialect.product === 'vault' ? { enterprise: false } : {}),
        ...(sealed ? {} : { cluster_name: core.clusterName, cluster_id: core.clusterId }),
        ...(core.dialect.product === 'vault' ? { echo_duration_ms: 0, clock_skew_ms: 0 } : {}),
      },
    };
  }

  /** Shares and root token, once. */
  async initialise(body: Record<string, unknown>): Promise<Record<string, unknown>> {
    const { core } = this;
    if (core.barrier.initialised) throw new Refusal(400, 'Vault is already initialized');
    for (const name of ['secret_shares', 'secret_threshold']) {
      if (body[name] === undefined || typeof body[name] === 'number') continue;
      const text = `json: cannot unmarshal ${typeof body[name]} into Go struct field InitRequest.${name} of type int`;
      throw new Refusal(400, `failed to decode JSON input: ${text}`);
    }
    const { opensItself } = core;
    const kinds = opensItself
      ? ['secret_shares', 'secret_threshold', 'pgp_keys']
      : ['recovery_shares', 'recovery_threshold', 'recovery_pgp_keys'];
    const foreign = kinds.filter((name) => body[name]);
    if (foreign.length > 0)
      throw new Refusal(400, `parameters ${foreign.join(',')} not applicable to seal type ${opensItself ? 'static' : 'shamir'}`);
    const prefix = 'invalid seal configuration';
    const counts = opensItself ? { secret_shares: body['recovery_shares'], secret_threshold: body['recovery_threshold'] } : body;
    const config = sealConfigOf(counts, prefix);
    const pgpKeys = body['pgp_keys'];
    if (Array.isArray(pgpKeys) && pgpKeys.length > 0) {
      if (pgpKeys.length !== config.shares) {
        throw new Refusal(400, `${prefix}: count mismatch between number of provided PGP keys and number of shares`);
      }
      // A practice server has no OpenPGP: it takes no key for one.
      throw new Refusal(400, `${prefix}: error decoding given PGP key: illegal base64 data at input byte 0`);
    }
    const { shares } = await core.initialise(config);
    this.mounts.addDefaults();
    const root = this.tokens.root();
    core.log('INFO', 'core: root token generated');
    const made = { keys: shares.map((share) => share.toString('hex')), keys_base64: shares.map((share) => share.toString('base64')) };
    if (opensItself)
      return { keys: [], keys_base64: [], recovery_keys: made.keys, recovery_keys_base64: made.keys_base64, root_token: root.id };
    core.seal();
    return { ...made, root_token: root.id };
  }

  async #behindSeal(path: string, url: URL, call: Call): Promise<Answer> {
    const restore = /^sys\/storage\/raft\/snapshot(-force)?$/.exec(path);
    const isRestore = restore !== null && isWrite(call.method);
    const body = isRestore ? {} : bodyOf(call.body, 'parse');
    const request: Request = { kind: kindOf(call.method, url.searchParams), path, query: url.searchParams, body };
    if (/^sys\/(?:rekey|generate-root)\//.test(path)) {
      if (!this.core.dialect.openCeremonies) throw new Refusal(405, 'unsupported operation');
      const handled = await answerOpenCeremony(this.ceremonies, path, request);
      return { status: handled.status ?? 200, body: handled.data };
    }
    const mount = this.mounts.find('auth', path.replace(/^auth\//, ''));
    if (path.startsWith('auth/') && path.endsWith('/login') && mount?.mount.type === 'approle') {
      return this.#sent(login(this.core, this.tokens, mount.at, `logical/${mount.mount.uuid}`, body));
    }
    const own = call.token === '' ? undefined : this.tokens.find(call.token);
    if (!own) throw new Refusal(403, 'permission denied');
    this.#allow(own, request);
    if (isRestore) {
      await restoreSnapshot(this.core.barrier, call.body, restore[1] !== undefined);
      return { status: 204 };
    }
    return this.#sent(await this.#logical(own, request));
  }

  #allow(own: Token, request: Request): void {
    // Which version an engine has is told to everybody who may do something below it.
    if (request.path.startsWith('sys/internal/ui/mounts')) return;
    const wanted = { read: ['read'], list: ['list'], write: ['create', 'update'], delete: ['delete'] }[request.kind];
    this.tokens.allow(own, request.path, wanted, needsSudo(request.path));
  }

  async #logical(own: Token, request: Request): Promise<Handled> {
    const { path } = request;
    if (path.startsWith('sys/')) return answerSystem(this, own, request);
    if (path.startsWith('auth/token/')) return answerTokens(this.tokens, own, request);
    if (path.startsWith('auth/')) {
      const found = this.mounts.find('auth', path.slice('auth/'.length));
      if (!found) throw new Refusal(404, noRoute(path));
      return answerRoles(this.core, `logical/${found.mount.uuid}`, path.slice('auth/'.length + found.at.length), request);
    }
    const found = this.mounts.find('secret', path);
    if (!found) throw new Refusal(404, noRoute(path));
    const { at, mount } = found;
    const inside = path.slice(at.length);
    if (mount.type === 'cubbyhole') return answerKv1(this.core, `logical/${mount.uuid}/${own.accessor}`, inside, request);
    if (mount.type !== 'kv') throw new Refusal(405, oneError('unsupported operation'));
    const answerKv = mount.options?.['version'] === '2' ? answerKv2 : answerKv1;
    return answerKv(this.core, `logical/${mount.uuid}`, inside, request);
  }

  #sent(handled: Handled): Answer {
    if (handled.bytes) return { status: 200, bytes: handled.bytes, contentType: 'application/gzip' };
    const status = handled.status ?? 200;
    return status === 204 ? { status } : { status, body: enveloped(randomUUID(), handled) };
  }
}

function noRoute(path: string): string {
  return `no handler for route "${path}". route entry not found.`;
}

function isWrite(method: string): boolean {
  return method === 'PUT' || method === 'POST';
}

function kindOf(method: string, query: URLSearchParams): Request['kind'] {
  if (method === 'DELETE') return 'delete';
  if (isWrite(method) || method === 'PATCH') return 'write';
  return method === 'LIST' || query.get('list') === 'true' ? 'list' : 'read';
}

function bodyOf(bytes: Buffer, verb: 'decode' | 'parse'): Record<string, unknown> {
  const text = bytes.toString('utf8').trim();
  if (text === '') return {};
  try {
    const value = JSON.parse(text) as unknown;
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // Told below.
  }
  throw new Refusal(400, `failed to ${verb} JSON input: unexpected EOF`);
}

/** Field names of this call are taken whatever their case. */
function lowerKeys(body: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(body).map(([key, value]) => [key.toLowerCase(), value]));
}
