import type { IncomingMessage, ServerResponse } from 'node:http';

export interface Page {
  status?: number;
  /** An object is sent as JSON. */
  body?: string | object;
  type?: string;
  headers?: Readonly<Record<string, string>>;
}

/** By path without query; `*` is for every other path. The environment is that of the container. */
export type Pages = Readonly<Record<string, Page | ((request: IncomingMessage, environment: Readonly<Record<string, string>>) => Page)>>;

export function sendPage(
  pages: Pages,
  request: IncomingMessage,
  response: ServerResponse,
  environment: Readonly<Record<string, string>>,
): void {
  request.resume();
  const found = pages[new URL(request.url ?? '/', 'http://practice').pathname] ?? pages['*'] ?? { status: 404, body: 'Not found' };
  const { status = 200, body = '', type, headers = {} } = typeof found === 'function' ? found(request, environment) : found;
  const isText = typeof body === 'string';
  response.writeHead(status, { 'Content-Type': type ?? (isText ? 'text/plain; charset=utf-8' : 'application/json'), ...headers });
  response.end(request.method === 'HEAD' ? undefined : isText ? body : JSON.stringify(body));
}

export function htmlPage(title: string): Page {
  return {
    body: `<!doctype html><html><head><title>${title}</title></head><body><h1>${title}</h1><p>Practice stack</p></body></html>`,
    type: 'text/html; charset=utf-8',
  };
}
