import { generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto';
import { type Answer, type Asked, htmlPage, listenerOf } from '../../../practice/answers.ts';
import type { PracticeProduct, ProductSurroundings } from '../../../practice/practice.ts';
import { mapOf, parsedJson } from '../../../text/json-value.ts';

export const tunnelUiPort = 51_821;

/** wg-easy 13 as far as a console asks it: the login, and the devices with their configurations (reference/http-apis.md). */
export function createTunnelUi(): PracticeProduct {
  let surroundings: ProductSurroundings | undefined;
  let clients: ReturnType<typeof createClient>[] = [];
  let serverKey = makeKeys().publicKey;
  const sessions = new Set<string>();
  const variable = (name: string, otherwise = '') => surroundings?.environment?.[name] || otherwise;
  const stamp = () => new Date().toISOString();

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

  const isIn = (cookie: string) => variable('PASSWORD') === '' || sessions.has(cookie);

  function sessionAnswer({ method, body }: Asked, cookie: string): Answer {
    const password = variable('PASSWORD');
    switch (method) {
      case 'GET':
        return { body: { requiresPassword: password !== '', authenticated: isIn(cookie) } };
      case 'POST': {
        const given = mapOf(parsedJson(body.toString()))['password'];
        if (typeof given !== 'string') return refusal(401, 'Missing: Password');
        if (given !== password) return refusal(401, 'Incorrect Password');
        const session = `s%3A${randomBytes(24).toString('base64url')}`;
        sessions.add(session);
        return { body: { success: true }, headers: { 'Set-Cookie': `connect.sid=${session}; Path=/; HttpOnly` } };
      }
      case 'DELETE':
        sessions.delete(cookie);
        return { body: { success: true } };
      default:
        return refusal(405, 'HTTP method is not allowed.');
    }
  }

  function clientsAnswer({ method, path, body }: Asked): Answer {
    const [, id, what = ''] = /^\/api\/wireguard\/client(?:\/([^/]+))?(?:\/(\w+))?$/.exec(path) ?? [];
    if (id === undefined && method === 'GET') return { body: clients.map(listed) };
    if (id === undefined) {
      const { name } = mapOf(parsedJson(body.toString()));
      if (typeof name !== 'string' || name === '') return refusal(500, 'Missing: Name');
      const address = freeAddress();
      if (address === undefined) return refusal(500, 'Maximum number of clients reached.');
      const created = createClient(name, address);
      clients.push(created);
      return { body: created };
    }
    const client = clients.find((one) => one.id === id);
    if (!client) return refusal(404, `Client Not Found: ${id}`);
    switch (`${method} ${what}`) {
      case 'GET configuration':
        return { body: configurationOf(client) };
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
    return { body: { success: true } };
  }

  function answer(asked: Asked): Answer {
    const { path } = asked;
    const cookie = /(?:^|;\s*)connect\.sid=([^;]+)/.exec(asked.header('cookie'))?.[1] ?? '';
    if (path === '/') return htmlPage('WireGuard');
    if (path === '/api/release') return { body: 13 };
    if (path === '/api/session') return sessionAnswer(asked, cookie);
    if (!path.startsWith('/api/wireguard/client')) return refusal(404, 'Cannot find any path matching it.');
    return isIn(cookie) ? clientsAnswer(asked) : { status: 401, body: { error: 'Not Logged In' } };
  }

  return {
    listeners: { [tunnelUiPort]: listenerOf(answer) },
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
