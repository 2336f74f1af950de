import { randomBytes } from 'node:crypto';
import type { RequestListener } from 'node:http';
import { type Answer, type Asked, htmlPage, listenerOf } from '../../../practice/answers.ts';
import { isPassword } from '../../../practice/argon2.ts';
import { policyFor, type Subject } from './access.ts';
import type { PortalState } from './sso-portal.ts';

const triesBeforeBan = 3;
const countedMs = 120_000;
const bannedMs = 300_000;
const sessionCookie = 'authelia_session';

const texts: Readonly<Record<number, string>> = { 200: 'OK', 400: 'Bad Request', 401: 'Unauthorized', 403: 'Forbidden', 404: 'Not Found' };
const plain = (status: number, headers = {}): Answer => ({ status, body: `${status} ${texts[status]}`, headers });
const refused: Answer = { status: 401, body: { status: 'KO', message: 'Authentication failed. Check your credentials.' } };

/** The portal's HTTP API: liveness, the first factor, and the endpoints for proxies. */
export function portalApi(state: PortalState): RequestListener {
  const portal = new PortalApi(state);
  return listenerOf((asked) => portal.answer(asked));
}

class PortalApi {
  readonly #state: PortalState;
  /** User names, by session. */
  readonly #sessions = new Map<string, string>();
  /** Times of failed logins, by user name. */
  readonly #failures = new Map<string, number[]>();

  constructor(state: PortalState) {
    this.#state = state;
  }

  answer(asked: Asked): Answer | Promise<Answer> {
    switch (asked.path) {
      case '/api/firstfactor':
        return asked.method === 'POST' ? this.#firstFactor(asked) : plain(404);
      case '/api/health':
        return { body: { status: 'OK' } };
      case '/api/state': {
        if (!this.#isKnown(asked)) return plain(403);
        const username = this.#subjectOf(asked).user;
        return { body: { status: 'OK', data: { username, authentication_level: username === '' ? 0 : 1, default_redirection_url: '' } } };
      }
      case '/api/authz/forward-auth':
        return this.#authorize(asked);
      case '/api/verify':
        return this.#authorize(asked, { method: asked.method, portal: asked.query.get('rd') ?? '' });
      case '/':
        return htmlPage('Login - Authelia');
      default:
        return plain(404);
    }
  }

  #subjectOf({ header }: Asked): Subject {
    const cookie = new RegExp(`${sessionCookie}=([^;]+)`).exec(header('cookie'))?.[1] ?? '';
    const user = this.#state.users.get(this.#sessions.get(cookie) ?? '');
    const ip = (header('x-forwarded-for') || '127.0.0.1').replace(/,.*/, '');
    return user && !user.disabled ? { user: user.name, groups: user.groups, ip } : { user: '', groups: [], ip };
  }

  #isBanned(name: string): boolean {
    return this.#state.bans.some(({ whom, untilMs, revoked }) => whom === name && !revoked && untilMs > Date.now());
  }

  #domainOf(hostname: string) {
    const { domains } = this.#state.configuration();
    return domains.find(({ domain }) => hostname === domain || hostname.endsWith(`.${domain}`));
  }

  /** Sessions belong to a cookie domain, which follows from the host name that the browser used. */
  #isKnown({ header, method, path }: Asked): boolean {
    const forwarded = (name: string, otherwise: string) => header(`x-forwarded-${name}`) || otherwise;
    const written = `${forwarded('proto', 'http')}://${forwarded('host', header('host'))}${forwarded('uri', path)}`;
    if (URL.canParse(written) && this.#domainOf(new URL(written).hostname)) return true;
    const why = `unable to retrieve session cookie domain provider: no configured session cookie domain matches the url '${written}'`;
    this.#state.log('error', 'Error occurred retrieving user session', ` error="${why}" method=${method} path=${path}`);
    return false;
  }

  async #firstFactor(asked: Asked): Promise<Answer> {
    const { users, bans, log } = this.#state;
    let given: { username?: unknown; password?: unknown };
    try {
      given = JSON.parse(asked.body.toString()) as typeof given;
    } catch {
      return { ...refused, status: 200 };
    }
    const name = String(given.username ?? '');
    const user = users.get(name);
    const isRight = user && !user.disabled && !this.#isBanned(name) && (await isPassword(user.digest, String(given.password ?? '')));
    const where = ' method=POST path=/api/firstfactor';
    if (isRight) {
      if (!this.#isKnown(asked)) return refused;
      const id = randomBytes(16).toString('base64url');
      this.#sessions.set(id, name);
      this.#failures.delete(name);
      log('debug', `Successful 1FA authentication attempt made by user '${name}'`, where);
      const headers = { 'Set-Cookie': `${sessionCookie}=${id}; path=/; HttpOnly; secure; SameSite=Lax` };
      return { body: { status: 'OK' }, headers };
    }
    log('error', `Unsuccessful 1FA authentication attempt by user '${name}'`, where);
    const recent = [...(this.#failures.get(name) ?? []).filter((ms) => ms > Date.now() - countedMs), Date.now()];
    this.#failures.set(name, recent);
    if (user && recent.length >= triesBeforeBan && !this.#isBanned(name))
      bans.push({ id: bans.length + 1, whom: name, untilMs: Date.now() + bannedMs, revoked: false });
    return refused;
  }

  /** `legacy` has what the legacy endpoint accepts in place of headers and configuration. */
  #authorize(asked: Asked, legacy = { method: '', portal: '' }): Answer {
    const { header, method: via, path } = asked;
    const log = (level: string, message: string) => this.#state.log(level, message, ` method=${via} path=${path}`);
    const refuse = (message: string) => {
      log('error', message);
      return plain(400);
    };
    const method = header('x-forwarded-method') || legacy.method;
    if (method === '') return refuse('Error getting Target URL and Request Method" error="header \'X-Forwarded-Method\' is empty');
    const written = `${header('x-forwarded-proto')}://${header('x-forwarded-host')}${header('x-forwarded-uri')}`;
    if (header('x-forwarded-host') === '' || !URL.canParse(written)) return refuse('Error getting Target URL and Request Method');
    const url = new URL(written);
    if (url.protocol !== 'https:' && url.protocol !== 'wss:')
      return refuse(
        `Target URL '${url.href}' has an insecure scheme '${url.protocol.replace(':', '')}', only the 'https' and 'wss' schemes are supported so session cookies can be transmitted securely`,
      );
    const cookie = this.#domainOf(url.hostname);
    if (!cookie) return refuse('Target URL does not appear to have a relevant session cookies configuration');
    const subject = this.#subjectOf(asked);
    const policy = policyFor(this.#state.configuration(), subject, { url, method });
    if (policy === 'deny') return plain(403);
    if (policy === 'bypass' || (policy === 'one_factor' && subject.user !== '')) {
      const { name, groups = [], displayName, email } = this.#state.users.get(subject.user) ?? {};
      const remote = { 'Remote-User': name, 'Remote-Groups': groups.join(','), 'Remote-Name': displayName, 'Remote-Email': email };
      return plain(200, name === undefined ? {} : remote);
    }
    const portal = legacy.portal || cookie.portal;
    const isPage = /text\/html|\*\/\*/.test(header('accept')) && header('x-requested-with') !== 'XMLHttpRequest';
    if (!isPage || portal === '') return plain(401);
    const location = `${portal.replace(/\/$/, '')}/?rd=${encodeURIComponent(url.href)}&rm=${method}`;
    const status = ['GET', 'HEAD', 'OPTIONS'].includes(method) ? 302 : 303;
    log(
      'info',
      `Access to ${url.href} (method ${method}) is not authorized to user <anonymous>, responding with status code ${status} with location redirect to ${location}`,
    );
    return { status, body: `<a href="${location}">${status} Found</a>`, headers: { Location: location } };
  }
}
