import http from 'node:http';
import type { PracticeFixture } from './practice-fixture.ts';

export interface ProductAnswer {
  status: number;
  headers: http.IncomingHttpHeaders;
  text: string;
}

/** Sends a request to a product of the practice stack, as a browser would. */
export function askProduct(
  fixture: PracticeFixture,
  id: string,
  { method, path, headers = {}, body = '' }: { method: string; path: string; headers?: Record<string, string>; body?: string },
): Promise<ProductAnswer> {
  const { address = '' } = fixture.access.facts.products[id] ?? {};
  return new Promise((resolve, reject) => {
    const sending = http.request({ socketPath: address.replace('unix://', ''), method, path, headers }, async (response) => {
      const text = Buffer.concat(await response.toArray()).toString('utf8');
      resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
    });
    sending.on('error', reject);
    sending.end(body);
  });
}

/** Logs in at the practice portal, as a browser does behind the reverse proxy. Answers the status. */
export async function logInAtPortal(fixture: PracticeFixture, username: string, password: string): Promise<number> {
  const headers = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'auth.home.example.org' };
  const body = JSON.stringify({ username, password });
  return (await askProduct(fixture, 'sso-portal', { method: 'POST', path: '/api/firstfactor', headers, body })).status;
}
