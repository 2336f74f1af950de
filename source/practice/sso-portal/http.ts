import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { policyFor, type Subject } from './access.ts';
import type { PortalState } from './sso-portal.ts';
import { isPassword } from './users.ts';

const triesBeforeBan = 3;
const countedMs = 120_000;
const bannedMs = 300_000;
const sessionCookie = 'authelia_session';
const refusal = 'Authentication failed. Check your credentials.';

type Api = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** What the portal answers over HTTP: liveness, the first factor, and what proxies ask. */
export function portalApi(state: PortalState): Api {
  const sessions = new Map<string, string>();
  const failures = new Map<string, number[]>();

  const whoIs = (request: IncomingMessage): Subject => {
    const cookie = new RegExp(`${sessionCookie}=([^;]+)`).exec(request.headers.cookie ?? '')?.[1] ?? '';
    const user = state.users.get(sessions.get(cookie) ?? '');
    const ip =
      String(request.headers['x-forwarded-for'] ?? '127.0.0.1')
        .split(',')[0]
        ?.trim() ?? '';
    return user && !user.disabled ? { user: user.name, groups: user.groups, ip } : { user: '', groups: [], ip };
  };
  const isBanned = (name: string) =>
    state.bans.some(({ kind, whom, untilMs, revoked }) => kind === 'user' && whom === name && !revoked && untilMs > state.now());

  /** Sessions are of a cookie domain, and that is told by the name that a browser used. */
  const isKnown = (request: IncomingMessage, asked: URL): boolean => {
    const said = (name: string, otherwise: string) => String(request.headers[`x-forwarded-${name}`] ?? otherwise);
    const written = `${said('proto', 'http')}://${said('host', request.headers.host ?? '')}${said('uri', asked.pathname)}`;
    const { hostname = '' } = URL.canParse(written) ? new URL(written) : {};
    if (domainOf(state, hostname)) return true;
    const why = `unable to retrieve session cookie domain provider: no configured session cookie domain matches the url '${written}'`;
    state.log('error', 'Error occurred retrieving user session', ` error="${why}" method=${request.method} path=${asked.pathname}`);
    return false;
  };

  async function firstFactor(request: IncomingMessage, response: ServerResponse, asked: URL): Promise<void> {
    const body = Buffer.concat(await request.toArray()).toString('utf8');
    let given: { username?: unknown; password?: unknown };
    try {
      given = JSON.parse(body) as typeof given;
    } catch {
      return json(response, 200, { status: 'KO', message: refusal });
    }
    const name = String(given.username ?? '');
    const user = state.users.get(name);
    const right = user && !user.disabled && !isBanned(name) && (await isPassword(user.digest, String(given.password ?? '')));
    const where = ' method=POST path=/api/firstfactor';
    if (right && !isKnown(request, asked)) return json(response, 401, { status: 'KO', message: refusal });
    if (user && right) {
      const id = randomBytes(16).toString('base64url');
      sessions.set(id, name);
      failures.delete(name);
      state.log('debug', `Successful 1FA authentication attempt made by user '${name}'`, where);
      response.setHeader('Set-Cookie', `${sessionCookie}=${id}; path=/; HttpOnly; secure; SameSite=Lax`);
      return json(response, 200, { status: 'OK' });
    }
    state.log('error', `Unsuccessful 1FA authentication attempt by user '${name}'`, where);
    const since = state.now() - countedMs;
    const recent = [...(failures.get(name) ?? []).filter((ms) => ms > since), state.now()];
    failures.set(name, recent);
    if (user && recent.length >= triesBeforeBan && !isBanned(name))
      state.bans.push({ id: state.bans.length + 1, kind: 'user', whom: name, untilMs: state.now() + bannedMs, revoked: false });
    return json(response, 401, { status: 'KO', message: refusal });
  }

  function authorize(request: IncomingMessage, response: ServerResponse, legacy: boolean, asked: URL): void {
    const header = (name: string) => String(request.headers[name] ?? '');
    const method = header('x-forwarded-method') || (legacy ? (request.method ?? '') : '');
    const refuse = (message: string) => {
      state.log('error', message, ` method=${request.method} path=${asked.pathname}`);
      plain(response, 400, '400 Bad Request');
    };
    if (method === '') {
      refuse('Error getting Target URL and Request Method" error="header \'X-Forwarded-Method\' is empty');
      return;
    }
    const written = `${header('x-forwarded-proto')}://${header('x-forwarded-host')}${header('x-forwarded-uri')}`;
    if (header('x-forwarded-host') === '' || !URL.canParse(written)) {
      refuse('Error getting Target URL and Request Method');
      return;
    }
    const url = new URL(written);
    if (url.protocol !== 'https:' && url.protocol !== 'wss:') {
      refuse(
        `Target URL '${url.href}' has an insecure scheme '${url.protocol.replace(':', '')}', only the 'https' and 'wss' schemes are supported so session cookies can be transmitted securely`,
      );
      return;
    }
    const configuration = state.configuration();
    const cookie = domainOf(state, url.hostname);
    if (!cookie) {
      refuse('Target URL does not appear to have a relevant session cookies configuration');
      return;
    }
    const subject = whoIs(request);
    const policy = policyFor(configuration, subject, { url, method });
    if (policy === 'deny') {
      plain(response, 403, '403 Forbidden');
      return;
    }
    if (policy === 'bypass' || (policy === 'one_factor' && subject.user !== '')) {
      const user = state.users.get(subject.user);
      if (user) {
        response.setHeader('Remote-User', user.name);
        response.setHeader('Remote-Groups', user.groups.join(','));
        response.setHeader('Remote-Name', user.displayName);
        response.setHeader('Remote-Email', user.email);
      }
      plain(response, 200, '200 OK');
      return;
    }
    const portal = (legacy ? (asked.searchParams.get('rd') ?? '') : '') || cookie.portal;
    const isPage = /text\/html|\*\/\*/.test(header('accept')) && header('x-requested-with') !== 'XMLHttpRequest';
    if (!isPage || portal === '') {
      plain(response, 401, '401 Unauthorized');
      return;
    }
    const location = `${portal.replace(/\/$/, '')}/?rd=${encodeURIComponent(url.href)}&rm=${method}`;
    const status = method === 'GET' || method === 'HEAD' || method === 'OPTIONS' ? 302 : 303;
    response.setHeader('Location', location);
    state.log(
      'info',
      `Access to ${url.href} (method ${method}) is not authorized to user <anonymous>, responding with status code ${status} with location redirect to ${location}`,
      ` method=${request.method} path=${asked.pathname}`,
    );
    plain(response, status, `<a href="${location}">${status} ${status === 302 ? 'Found' : 'See Other'}</a>`);
  }

  return async (request, response) => {
    const asked = new URL(request.url ?? '/', 'http://portal');
    if (asked.pathname === '/api/firstfactor' && request.method === 'POST') return firstFactor(request, response, asked);
    request.resume();
    switch (asked.pathname) {
      case '/api/health':
        return json(response, 200, { status: 'OK' });
      case '/api/state': {
        if (!isKnown(request, asked)) return plain(response, 403, '403 Forbidden');
        const { user } = whoIs(request);
        return json(response, 200, {
          status: 'OK',
          data: { username: user, authentication_level: user === '' ? 0 : 1, default_redirection_url: '' },
        });
      }
      case '/api/authz/forward-auth':
        return authorize(request, response, false, asked);
      case '/api/verify':
        return authorize(request, response, true, asked);
      case '/':
        response.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8' });
        response.end('<!doctype html><html><head><title>Login - Authelia</title></head><body>Practice stack</body></html>');
        return;
      default:
        return plain(response, 404, '404 Not Found');
    }
  };
}

function domainOf(state: PortalState, hostname: string) {
  return state.configuration().domains.find(({ domain }) => hostname === domain || hostname.endsWith(`.${domain}`));
}

function json(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'Content-Type': 'application/json; charset=utf-8' });
  response.end(JSON.stringify(body));
}

function plain(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8' });
  response.end(text);
}
