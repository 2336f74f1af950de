import type { IncomingMessage, ServerResponse } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import { isPassword } from '../../../practice/argon2.ts';
import type { PracticeProduct, ProductSurroundings } from '../../../practice/practice.ts';

const pagePort = 80;
/** Logins to the admin page that are allowed within `triesMs`. */
const tries = 3;
const triesMs = 300_000;

/** Vaultwarden as far as a console asks it: liveness, public settings, and the login to its admin page (reference/http-apis.md). */
export function createPasswordVault(): PracticeProduct {
  let surroundings: ProductSurroundings | undefined;
  let asked: number[] = [];
  const variable = (name: string) => surroundings?.environment?.[name] ?? '';

  async function logIn(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const form = new URLSearchParams(await readText(request));
    const now = surroundings?.now() ?? Date.now();
    asked = [...asked.filter((ms) => ms > now - triesMs), now];
    if (asked.length > tries) return page(response, 429, 'Too many admin requests, try again later.');
    const token = variable('ADMIN_TOKEN');
    if (token === '') return page(response, 404, "The admin panel is disabled, please configure the 'ADMIN_TOKEN' variable to enable it");
    const given = form.get('token') ?? '';
    const right = token.startsWith('$argon2') ? await isPassword(token, given) : token.trim() === given.trim();
    if (!right) {
      surroundings?.log('[vaultwarden::api::admin][ERROR] Invalid admin token. IP: 172.18.0.1');
      return page(response, 401, 'Invalid admin token, please try again.');
    }
    response.setHeader('Set-Cookie', 'VW_ADMIN=practice; HttpOnly; SameSite=Strict; Path=/admin; Max-Age=1200');
    response.setHeader('Location', '/admin');
    page(response, 303, '');
  }

  return {
    listeners: {
      [pagePort]: (request, response) => {
        const { pathname } = new URL(request.url ?? '/', 'http://vault');
        if (request.method === 'POST' && pathname === '/admin') return void logIn(request, response).catch(() => response.destroy());
        request.resume();
        switch (pathname) {
          case '/alive':
            return json(response, new Date(surroundings?.now() ?? Date.now()).toISOString());
          case '/api/version':
            return json(response, '1.34.3');
          case '/api/config':
            return json(response, {
              version: '2025.7.0',
              settings: { disableUserRegistration: variable('SIGNUPS_ALLOWED') === 'false' },
              environment: { vault: 'http://localhost' },
            });
          case '/':
          case '/admin':
            return page(response, 200, 'Vaultwarden Web');
          default:
            return page(response, 404, 'Not found');
        }
      },
    },
    start(given) {
      surroundings = given;
      asked = [];
    },
    stop() {
      surroundings = undefined;
    },
  };
}

function json(response: ServerResponse, body: unknown): void {
  response.writeHead(200, { 'Content-Type': 'application/json' });
  response.end(JSON.stringify(body));
}

function page(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'Content-Type': 'text/html; charset=utf-8' });
  response.end(`<!doctype html><html><head><title>Vaultwarden</title></head><body>${text}</body></html>`);
}
