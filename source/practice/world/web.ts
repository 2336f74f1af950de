import type { IncomingMessage, ServerResponse } from 'node:http';

/** What a component's page answers to a request. */
export interface Reply {
  status?: number;
  /** An object is sent as JSON. */
  body?: string | object;
  type?: string;
  headers?: Readonly<Record<string, string>>;
}

/** By path without query, `GET /alive` or `/alive` for every method; `*` answers what has no answer of its own. */
export type Pages = Readonly<Record<string, Reply | ((request: IncomingMessage, environment: Readonly<Record<string, string>>) => Reply)>>;

export function answerFrom(
  pages: Pages,
  request: IncomingMessage,
  response: ServerResponse,
  /** Of the container, with the secrets that it was started with. */
  environment: Readonly<Record<string, string>>,
): void {
  request.resume();
  const path = new URL(request.url ?? '/', 'http://practice').pathname;
  const found = pages[`${request.method} ${path}`] ?? pages[path] ?? pages['*'] ?? { status: 404, body: 'Not found' };
  const { status = 200, body = '', type, headers = {} } = typeof found === 'function' ? found(request, environment) : found;
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const kind = type ?? (typeof body === 'string' ? 'text/plain; charset=utf-8' : 'application/json');
  response.writeHead(status, { 'Content-Type': kind, ...headers });
  response.end(request.method === 'HEAD' ? undefined : text);
}

export function htmlPage(title: string): Reply {
  return {
    body: `<!doctype html><html><head><title>${title}</title></head><body><h1>${title}</h1><p>Practice stack</p></body></html>`,
    type: 'text/html; charset=utf-8',
  };
}
