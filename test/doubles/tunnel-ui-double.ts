import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { makeKeyPair, makePresharedKey } from '../../source/config-files/wireguard/wireguard-keys.ts';

interface Client {
  id: string;
  name: string;
  enabled: boolean;
  address: string;
  publicKey: string;
  privateKey: string;
  preSharedKey: string;
}

/** Answers as wg-easy does, in the dialects of release 13 and 15 (its src/lib/Server.js, reference/http-apis.md). */
export class TunnelUiDouble {
  readonly requests: string[] = [];
  clients: Client[] = [];
  password = 'geheim-4711';
  release: 13 | 15 = 13;
  mtu = 'MTU = 1420\n';
  readonly #server: Server;
  readonly #serverKey = makeKeyPair().publicKey;
  #session: string | undefined;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async open(): Promise<TunnelUiDouble> {
    const server = createServer();
    const double = new TunnelUiDouble(server);
    server.on('request', async (request, response) => {
      const { status, json, headers = {} } = double.#answer(request, await body(request));
      const text = typeof json === 'string' ? json : json === undefined ? '' : JSON.stringify(json);
      response.writeHead(status, { 'content-type': typeof json === 'string' ? 'text/plain' : 'application/json', ...headers });
      response.end(text);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return double;
  }
  close(): Promise<void> {
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }
  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  add(name: string): Client {
    const client = {
      id: randomUUID(),
      name,
      enabled: true,
      address: `10.8.0.${this.clients.length + 2}`,
      ...makeKeyPair(),
      preSharedKey: makePresharedKey(),
    };
    this.clients.push(client);
    return client;
  }

  #answer(
    { method = '', url = '', headers }: IncomingMessage,
    sent: Record<string, unknown>,
  ): { status: number; json?: unknown; headers?: Record<string, string> } {
    this.requests.push(`${method} ${url}`);
    const base = this.release === 13 ? '/api/wireguard/client' : '/api/client';
    const isIn =
      this.release === 13
        ? this.#session !== undefined && headers.cookie === `connect.sid=${this.#session}`
        : headers.authorization === `Basic ${Buffer.from(`admin:${this.password}`).toString('base64')}`;
    if (url === '/api/session') {
      if (this.release === 15) return { status: 401, json: { statusCode: 401, statusMessage: 'Not authenticated' } };
      if (method === 'GET') return { status: 200, json: { requiresPassword: true, authenticated: isIn } };
      if (method === 'DELETE') {
        this.#session = undefined;
        return { status: 200, json: { success: true } };
      }
      if (sent['password'] !== this.password) return { status: 401, json: { statusCode: 401, stack: [] } };
      this.#session = `s%3A${randomUUID()}`;
      return { status: 200, json: { success: true }, headers: { 'set-cookie': `connect.sid=${this.#session}; Path=/; HttpOnly` } };
    }
    if (!isIn) return { status: 401, json: { error: 'Not Logged In' } };
    const [, id, what] = new RegExp(`^${base}(?:/([^/]+))?(?:/(\\w+))?$`).exec(url) ?? [];
    const client = this.clients.find((one) => one.id === id);
    if (id === undefined && method === 'GET')
      return {
        status: 200,
        json: this.clients.map(({ privateKey: _, preSharedKey: __, ...one }) => ({
          ...one,
          latestHandshakeAt: null,
          transferRx: 1000,
          transferTx: 2000,
        })),
      };
    if (id === undefined && method === 'POST') return { status: 200, json: this.add(String(sent['name'])) };
    if (!client) return { status: 404, json: { error: `Client Not Found: ${id}` } };
    if (what === 'configuration')
      return {
        status: 200,
        json: `\n[Interface]\nPrivateKey = ${client.privateKey}\nAddress = ${client.address}/24\nDNS = 1.1.1.1\n${this.mtu}\n\n[Peer]\nPublicKey = ${this.#serverKey}\nPresharedKey = ${client.preSharedKey}\nAllowedIPs = 0.0.0.0/0, ::/0\nEndpoint = vpn.example.net:51820`,
      };
    if (method === 'DELETE') this.clients = this.clients.filter((one) => one !== client);
    else client.enabled = what === 'enable';
    return { status: 200, json: { success: true } };
  }
}

async function body(request: IncomingMessage): Promise<Record<string, unknown>> {
  const text = Buffer.concat(await request.toArray()).toString();
  return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
}
