import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Asked {
  method: string;
  url: string;
  headers: IncomingMessage['headers'];
  body: Buffer;
}

export interface Given {
  status?: number;
  headers?: Record<string, string>;
  /** JSON, unless it is text or bytes. */
  body?: unknown;
}

/** A server on loopback that answers as a test says, and remembers what it was asked. */
export class JsonServer {
  readonly asked: Asked[] = [];

  private constructor(private readonly server: Server) {}

  static async open(answer: (asked: Asked) => Given): Promise<JsonServer> {
    const server = createServer();
    const opened = new JsonServer(server);
    server.on('request', async (request, response) => {
      const body = Buffer.concat(await request.toArray());
      const asked = { method: request.method ?? '', url: request.url ?? '', headers: request.headers, body };
      opened.asked.push(asked);
      const { status = 200, headers = {}, body: given } = answer(asked);
      const isPlain = typeof given === 'string' || given instanceof Uint8Array;
      response.writeHead(status, { 'content-type': isPlain ? 'text/plain' : 'application/json', ...headers });
      response.end(given === undefined ? '' : isPlain ? given : JSON.stringify(given));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return opened;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  get requests(): readonly string[] {
    return this.asked.map(({ method, url }) => `${method} ${url}`);
  }

  close(): Promise<void> {
    this.server.closeAllConnections();
    return new Promise((resolve) => this.server.close(() => resolve()));
  }
}
