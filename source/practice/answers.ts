import type { RequestListener } from 'node:http';

/** Response of a simulator, 200 by default. Text and bytes are sent as they are, anything else as JSON. */
export interface Answer {
  status?: number;
  body?: unknown;
  headers?: Readonly<Record<string, string>>;
}

export interface Asked {
  method: string;
  path: string;
  query: URLSearchParams;
  body: Buffer;
  /** Returns an empty text for a header that was not sent. */
  header(name: string): string;
}

const largestBodyBytes = 32 * 1024 * 1024;

/** A client that hangs up and a bug in a simulator end their connection alone: the process may be the console's. */
export function listenerOf(answer: (asked: Asked) => Answer | Promise<Answer>): RequestListener {
  return async (request, response) => {
    try {
      const pieces: Buffer[] = [];
      let sizeBytes = 0;
      for await (const piece of request as AsyncIterable<Buffer>) {
        sizeBytes += piece.length;
        if (sizeBytes <= largestBodyBytes) pieces.push(piece);
      }
      const { pathname: path, searchParams: query } = new URL(request.url ?? '/', 'http://practice');
      const header = (name: string) => String(request.headers[name] ?? '');
      const asked = { method: request.method ?? 'GET', path, query, header, body: Buffer.concat(pieces) };
      const { status = 200, body, headers }: Answer = sizeBytes > largestBodyBytes ? { status: 413 } : await answer(asked);
      const isText = typeof body === 'string';
      const sent = isText || Buffer.isBuffer(body) ? body : JSON.stringify(body);
      const type = isText ? 'text/plain; charset=utf-8' : 'application/json';
      response.writeHead(status, { ...(sent !== undefined && { 'Content-Type': type }), ...headers }).end(sent);
    } catch {
      response.destroy();
    }
  };
}

export function htmlPage(title: string): Answer {
  return {
    body: `<!doctype html><html><head><title>${title}</title></head><body><h1>${title}</h1><p>Practice stack</p></body></html>`,
    headers: { 'Content-Type': 'text/html; charset=utf-8' },
  };
}

/** What a program printed in a container or on a node. */
export interface ExecAnswer {
  exitCode: number;
  stdout: string;
  stderr: string;
}

export const said = (stdout: string, stderr = ''): ExecAnswer => ({ exitCode: 0, stdout, stderr });
export const failed = (exitCode: number, stderr: string, stdout = ''): ExecAnswer => ({ exitCode, stdout, stderr });
