import type { IncomingMessage, ServerResponse } from 'node:http';
import { fits, routes } from './api-routes.ts';
import { MeshFault } from './mesh-fault.ts';
import { checkAuthId, type MeshState } from './mesh-state.ts';
import { Told } from './told.ts';
import { protoJson } from './wire.ts';

const largestBodyBytes = 4 * 1024 * 1024;

export interface VersionInfo {
  version: string;
  commit: string;
  buildTime: string;
  go: { version: string; os: string; arch: string };
  dirty: boolean;
}

type Body = Record<string, unknown>;

interface Sent {
  status: number;
  type?: string;
  text: string;
  headers?: Record<string, string>;
}

/** The HTTP side of the control server: health, version and key for everybody, the API for who has a key. */
export class Rest {
  readonly #state: MeshState;
  readonly #told: Told;
  readonly #version: VersionInfo;
  readonly #publicKey: string;
  /** Set while the database is away. */
  unwell = false;

  constructor(state: MeshState, version: VersionInfo, publicKey: string) {
    this.#state = state;
    this.#told = new Told(state);
    this.#version = version;
    this.#publicKey = publicKey;
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const began = performance.now();
    const pieces: Buffer[] = [];
    let sizeBytes = 0;
    for await (const piece of request) {
      sizeBytes += (piece as Buffer).length;
      if (sizeBytes <= largestBodyBytes) pieces.push(piece as Buffer);
    }
    const method = request.method ?? 'GET';
    const url = new URL(request.url ?? '/', 'http://practice');
    const remote = request.socket.remotePort === undefined ? '' : `${request.socket.remoteAddress}:${request.socket.remotePort}`;
    const sent = this.#answer(method, url, { authorization: request.headers.authorization ?? '', remote, body: Buffer.concat(pieces) });
    response.statusCode = sent.status;
    if (sent.type) response.setHeader('Content-Type', sent.type);
    response.setHeader('Content-Security-Policy', "frame-ancestors 'none'");
    response.setHeader('Referrer-Policy', 'no-referrer');
    response.setHeader('X-Content-Type-Options', 'nosniff');
    response.setHeader('X-Frame-Options', 'DENY');
    for (const [name, value] of Object.entries(sent.headers ?? {})) response.setHeader(name, value);
    response.end(sent.text);
    const facts = `method=${method} path=${url.pathname} proto=HTTP/1.1 remote=${remote} status=${sent.status}`;
    const elapsed = (performance.now() - began).toFixed(6);
    this.#state.log('INF', `http request bytes=${Buffer.byteLength(sent.text)} elapsed=${elapsed} ${facts}`);
  }

  #answer(method: string, url: URL, { authorization, remote, body }: { authorization: string; remote: string; body: Buffer }): Sent {
    if (/^\/api(?:\/|$)/.test(url.pathname)) return this.#guarded(method, url, authorization, remote, body);
    const known = openPaths[url.pathname];
    if (known && !known.includes(method)) return { status: 405, text: '', headers: { Allow: known.join(', ') } };
    switch (url.pathname) {
      case '/health':
        return {
          status: this.unwell ? 500 : 200,
          type: 'application/health+json; charset=utf-8',
          text: `{"status":"${this.unwell ? 'fail' : 'pass'}"}\n`,
        };
      case '/version':
        if (this.#state.minor < 26) break;
        return { status: 200, type: 'application/json', text: `${JSON.stringify(this.#version)}\n` };
      case '/ts2021':
        // What clients speak after an upgrade, which is not played here.
        return { status: 500, type: 'text/plain; charset=utf-8', text: 'Internal error\n' };
      case '/robots.txt':
        return { status: 200, type: 'text/plain', text: 'User-agent: *\nDisallow: /' };
      case '/key':
        return this.#key(url.searchParams.get('v') ?? '');
      case '/':
        return { status: 200, type: 'text/html; charset=utf-8', text: '<!DOCTYPE html><html lang="en"><head></head><body></body></html>' };
      default:
    }
    const page = /^\/(register|auth)\/([^/]+)$/.exec(url.pathname);
    if (page) return this.#logInPage(page[2] ?? '', page[1] === 'register');
    return notThere;
  }

  #key(version: string): Sent {
    const refused = (text: string): Sent => {
      this.#state.log('ERR', `user msg: ${text} code=400`);
      return { status: 400, type: 'text/plain; charset=utf-8', text: `${text}\n` };
    };
    if (version === '') return refused('capability version must be set');
    if (!/^[+-]?\d+$/.test(version)) return refused('invalid capability version');
    if (Number(version) < 39) return { status: 200, text: '' };
    const keys = { legacyPublicKey: `mkey:${'0'.repeat(64)}`, publicKey: this.#publicKey };
    return { status: 200, type: 'application/json', text: `${JSON.stringify(keys)}\n` };
  }

  /** What a browser shows to whom a node was told to log in. */
  #logInPage(authId: string, isNew: boolean): Sent {
    try {
      checkAuthId(authId);
    } catch {
      return { status: 400, type: 'text/plain; charset=utf-8', text: 'invalid auth id\n' };
    }
    const command = isNew ? `headscale auth register --auth-id ${authId} --user USERNAME` : `headscale auth approve --auth-id ${authId}`;
    return { status: 200, type: 'text/html; charset=utf-8', text: `<!DOCTYPE html><html><body><code>${command}</code></body></html>` };
  }

  #guarded(method: string, url: URL, authorization: string, remote: string, body: Buffer): Sent {
    const unauthorised = (): Sent =>
      this.#state.minor >= 30 ? problem(401, 'Unauthorized') : { status: 401, type: 'text/plain; charset=utf-8', text: 'Unauthorized' };
    if (!authorization.startsWith('Bearer ')) {
      this.#state.log('ERR', `missing "Bearer " prefix in "Authorization" header client_address=${remote}`);
      return unauthorised();
    }
    const refusal = this.#state.refusalOf(authorization.slice('Bearer '.length));
    if (refusal !== undefined) {
      this.#state.log('INF', `failed to validate token error=${JSON.stringify(refusal)} client_address=${remote}`);
      return unauthorised();
    }
    if (!url.pathname.startsWith('/api/v1/')) return notThere;
    try {
      const answer = this.#api(method, url.pathname.slice('/api/v1/'.length), url.searchParams, bodyOf(body));
      const text = this.#state.minor >= 30 ? JSON.stringify(answer) : protoJson(answer);
      const headers = this.#state.minor >= 30 ? undefined : { 'Grpc-Metadata-Content-Type': 'application/grpc' };
      return { status: 200, type: 'application/json', text, ...(headers ? { headers } : {}) };
    } catch (error) {
      if (error instanceof URIError) return { status: 400, type: 'text/plain', text: '400 Bad Request' };
      const fault = error instanceof MeshFault ? error : new MeshFault(13, 'internal error');
      if (this.#state.minor >= 30) return problem(fault.meaning, fault.message);
      return { status: fault.status, type: 'application/json', text: protoJson({ code: fault.code, message: fault.message, details: [] }) };
    }
  }

  #api(method: string, path: string, query: URLSearchParams, body: Body): Body {
    const parts = path.split('/').map(decodeURIComponent);
    const [what = ''] = parts;
    const found = routes.find((route) => route.method === method && fits(route.path, parts, this.#state.minor, route));
    if (!found) {
      const known = routes.some((route) => fits(route.path, parts, this.#state.minor, route));
      // A path of one more part under a name that takes ids answers as a wrong method does.
      const near = known || (parts.length === 2 && ['user', 'node', 'apikey'].includes(what));
      throw near ? new MeshFault(12, 'Method Not Allowed') : new MeshFault(5, 'Not Found');
    }
    return found.run({ state: this.#state, told: this.#told, parts, query, body });
  }
}

const openPaths: Record<string, string[]> = {
  '/health': ['GET'],
  '/version': ['GET'],
  '/key': ['GET'],
  '/robots.txt': ['GET'],
  '/verify': ['POST'],
};

const notThere: Sent = { status: 404, type: 'text/plain; charset=utf-8', text: '404 page not found\n' };

function problem(status: number, detail: string): Sent {
  const titles: Record<number, string> = {
    400: 'Bad Request',
    401: 'Unauthorized',
    404: 'Not Found',
    409: 'Conflict',
    500: 'Internal Server Error',
    501: 'Not Implemented',
  };
  const body = { title: titles[status] ?? '', status, detail, errors: [{ message: detail }] };
  return { status, type: 'application/problem+json', text: `${JSON.stringify(body)}\n` };
}

function bodyOf(bytes: Buffer): Body {
  const text = bytes.toString().trim();
  if (text === '') return {};
  try {
    const value = JSON.parse(text) as unknown;
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Body;
  } catch {
    // Told below.
  }
  throw new MeshFault(3, 'unexpected EOF');
}
