import { generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import type { PracticeProduct, ProductSurroundings } from '../../../practice/practice.ts';

export const tunnelUiPort = 51_821;

interface Answer {
  status: number;
  /** Text is sent as it is, anything else as JSON. */
  body: unknown;
  cookie?: string;
}

/** wg-easy 13 as far as a console asks it: the login, and the devices with their configurations (reference/http-apis.md). */
export function createTunnelUi(): PracticeProduct {
  let surroundings: ProductSurroundings | undefined;
  let clients: ReturnType<typeof createClient>[] = [];
  let serverKey = makeKeys().publicKey;
  const sessions = new Set<string>();
  const variable = (name: string, otherwise = '') => surroundings?.environment?.[name] || otherwise;
  const stamp = () => new Date(surroundings?.now() ?? Date.now()).toISOString();

  function createClient(name: string, address: string) {
    const preSharedKey = randomBytes(32).toString('base64');
    return { id: randomUUID(), name, enabled: true, address, ...makeKeys(), preSharedKey, createdAt: stamp(), updatedAt: stamp() };
  }

  /** The server has the first address. */
  function freeAddress(): string | undefined {
    const pattern = variable('WG_DEFAULT_ADDRESS', '10.8.0.x');
    const all = Array.from({ length: 253 }, (_, index) => pattern.replace('x', String(index + 2)));
    return all.find((address) => clients.every((one) => one.address !== address));
  }

  /** As Server and WireGuard of wg-easy write it, empty lines where a setting is empty included. */
  function configurationOf({ privateKey, address, preSharedKey }: (typeof clients)[number]): string {
    const dns = variable('WG_DEFAULT_DNS', '1.1.1.1');
    const mtu = variable('WG_MTU');
    return `
[Interface]
PrivateKey = ${privateKey}
Address = ${address}/24
DNS = ${dns}
${mtu === '' ? '' : `MTU = ${mtu}\n`}

[Peer]
PublicKey = ${serverKey}
PresharedKey = ${preSharedKey}
AllowedIPs = ${variable('WG_ALLOWED_IPS', '0.0.0.0/0, ::/0')}
PersistentKeepalive = ${variable('WG_PERSISTENT_KEEPALIVE', '0')}
Endpoint = ${variable('WG_HOST', 'vpn.example.org')}:${variable('WG_PORT', '51820')}`;
  }

  async function sessionAnswer(request: IncomingMessage, cookie: string | undefined): Promise<Answer> {
    const password = variable('PASSWORD');
    switch (request.method) {
      case 'GET':
        return {
          status: 200,
          body: { requiresPassword: password !== '', authenticated: password === '' || (cookie !== undefined && sessions.has(cookie)) },
        };
      case 'POST': {
        const given = ((await json(request)) as { password?: unknown }).password;
        if (typeof given !== 'string') return refusal(401, 'Missing: Password');
        if (given !== password) return refusal(401, 'Incorrect Password');
        const session = `s%3A${randomBytes(24).toString('base64url')}`;
        sessions.add(session);
        return { status: 200, body: { success: true }, cookie: session };
      }
      case 'DELETE':
        if (cookie !== undefined) sessions.delete(cookie);
        return { status: 200, body: { success: true } };
      default:
        return refusal(405, 'HTTP method is not allowed.');
    }
  }

  async function clientsAnswer(request: IncomingMessage, path: string): Promise<Answer> {
    const [, id, what = ''] = /^\/api\/wireguard\/client(?:\/([^/]+))?(?:\/(\w+))?$/.exec(path) ?? [];
    if (id === undefined && request.method === 'GET') return { status: 200, body: clients.map(listed) };
    if (id === undefined) {
      const { name } = (await json(request)) as { name?: unknown };
      if (typeof name !== 'string' || name === '') return refusal(500, 'Missing: Name');
      const address = freeAddress();
      if (address === undefined) return refusal(500, 'Maximum number of clients reached.');
      const created = createClient(name, address);
      clients.push(created);
      return { status: 200, body: created };
    }
    const client = clients.find((one) => one.id === id);
    if (!client) return refusal(404, `Client Not Found: ${id}`);
    switch (`${request.method} ${what}`) {
      case 'GET configuration':
        return { status: 200, body: configurationOf(client) };
      case 'DELETE ':
        clients = clients.filter((one) => one !== client);
        break;
      case 'POST enable':
      case 'POST disable':
        Object.assign(client, { enabled: what === 'enable', updatedAt: stamp() });
        break;
      default:
        return refusal(404, 'Cannot find any path matching it.');
    }
    return { status: 200, body: { success: true } };
  }

  async function answer(request: IncomingMessage): Promise<Answer> {
    const { pathname } = new URL(request.url ?? '/', 'http://tunnel');
    const cookie = /(?:^|;\s*)connect\.sid=([^;]+)/.exec(request.headers.cookie ?? '')?.[1];
    if (pathname === '/') return { status: 200, body: '<!doctype html><html><head><title>WireGuard</title></head></html>' };
    if (pathname === '/api/release') return { status: 200, body: 13 };
    if (pathname === '/api/session') return sessionAnswer(request, cookie);
    if (!pathname.startsWith('/api/wireguard/client')) return refusal(404, 'Cannot find any path matching it.');
    if (variable('PASSWORD') !== '' && (cookie === undefined || !sessions.has(cookie)))
      return { status: 401, body: { error: 'Not Logged In' } };
    return clientsAnswer(request, pathname);
  }

  return {
    listeners: {
      [tunnelUiPort]: (request, response) =>
        void answer(request).then(
          (said) => send(response, said),
          () => response.destroy(),
        ),
    },
    start(given) {
      surroundings = given;
      // Sessions live in memory, devices on the disk.
      sessions.clear();
      given.log(`Listening on http://0.0.0.0:${tunnelUiPort}`);
      given.log(`WireGuard ${clients.length === 0 ? 'Configuration generated.' : 'Configuration loaded.'}`);
      if (clients.length === 0) serverKey = makeKeys().publicKey;
    },
    stop() {
      surroundings = undefined;
    },
  };
}

function listed({ privateKey: _, preSharedKey: __, ...client }: { privateKey: string; preSharedKey: string }): object {
  return { ...client, persistentKeepalive: 'off', latestHandshakeAt: null, transferRx: 0, transferTx: 0 };
}

function makeKeys(): { privateKey: string; publicKey: string } {
  const pair = generateKeyPairSync('x25519');
  return {
    privateKey: pair.privateKey.export({ format: 'der', type: 'pkcs8' }).subarray(-32).toString('base64'),
    publicKey: pair.publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('base64'),
  };
}

const refusal = (status: number, message: string): Answer => ({ status, body: { statusCode: status, message, stack: [] } });

function send(response: ServerResponse, { status, body, cookie }: Answer): void {
  const isText = typeof body === 'string';
  response.writeHead(status, {
    'Content-Type': isText ? 'text/plain; charset=utf-8' : 'application/json',
    ...(cookie !== undefined && { 'Set-Cookie': `connect.sid=${cookie}; Path=/; HttpOnly` }),
  });
  response.end(isText ? body : JSON.stringify(body));
}
