import { type Answer, type Asked, htmlPage, listenerOf } from '../../../practice/answers.ts';
import { isPassword } from '../../../practice/argon2.ts';
import type { PracticeProduct, ProductSurroundings } from '../../../practice/practice.ts';

const pagePort = 80;
/** Logins to the admin page that are allowed within `triesMs`. */
const tries = 3;
const triesMs = 300_000;

/** Vaultwarden as far as a console asks it: liveness, public settings, and the login to its admin page (reference/http-apis.md). */
export function createPasswordVault(): PracticeProduct {
  let surroundings: ProductSurroundings | undefined;
  let tried: number[] = [];
  const variable = (name: string) => surroundings?.environment?.[name] ?? '';

  async function logIn({ body }: Asked): Promise<Answer> {
    tried = [...tried.filter((ms) => ms > Date.now() - triesMs), Date.now()];
    if (tried.length > tries) return { ...htmlPage('Too many admin requests, try again later.'), status: 429 };
    const token = variable('ADMIN_TOKEN');
    if (token === '')
      return { ...htmlPage("The admin panel is disabled, please configure the 'ADMIN_TOKEN' variable to enable it"), status: 404 };
    const given = new URLSearchParams(body.toString()).get('token') ?? '';
    const right = token.startsWith('$argon2') ? await isPassword(token, given) : token.trim() === given.trim();
    if (right) {
      const cookie = 'VW_ADMIN=practice; HttpOnly; SameSite=Strict; Path=/admin; Max-Age=1200';
      return { status: 303, headers: { 'Set-Cookie': cookie, Location: '/admin' } };
    }
    surroundings?.log('[vaultwarden::api::admin][ERROR] Invalid admin token. IP: 172.18.0.1');
    return { ...htmlPage('Invalid admin token, please try again.'), status: 401 };
  }

  function answer(asked: Asked): Answer | Promise<Answer> {
    switch (asked.path) {
      case '/alive':
        return json(new Date().toISOString());
      case '/api/version':
        return json('1.34.3');
      case '/api/config':
        return json({
          version: '2025.7.0',
          settings: { disableUserRegistration: variable('SIGNUPS_ALLOWED') === 'false' },
          environment: { vault: 'http://localhost' },
        });
      case '/admin':
        return asked.method === 'POST' ? logIn(asked) : htmlPage('Vaultwarden Web');
      case '/':
        return htmlPage('Vaultwarden Web');
      default:
        return { ...htmlPage('Not found'), status: 404 };
    }
  }

  return {
    listeners: { [pagePort]: listenerOf(answer) },
    start(given) {
      surroundings = given;
      tried = [];
    },
    stop() {
      surroundings = undefined;
    },
  };
}

/** Also a text is JSON. */
const json = (body: string | object): Answer => ({ body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } });
