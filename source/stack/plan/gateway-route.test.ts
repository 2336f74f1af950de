import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { gatewayWith, gatewayWithout, routeDirectly, routesOf, routeThrough } from './gateway-route.ts';

const own = `# A download client.
services:
  client:
    image: example/client:1
    restart: unless-stopped
    ports:
      - "\${WEB_BIND:-127.0.0.1}:\${WEB_PORT:-8081}:8081/tcp" # the page
      - "\${PEER_BIND:-0.0.0.0}:\${PEER_PORT:-6881}:6881/udp"
    networks:
      default: {}
      quarterdeck-client:
        aliases: [client]
    volumes:
      - data:/data
volumes:
  data: {}
networks:
  default: {}
  quarterdeck-client:
    external: true
`;
const front = `services:
  gluetun:
    image: qmcgaw/gluetun:latest
    ports:
      - "\${CONTROL_BIND:-127.0.0.1}:\${CONTROL_PORT:-8000}:8000/tcp"
`;
const values = { WEB_PORT: '18081' };
const through = () => routeThrough(own, 'compose.yaml', 'client', 'vpn-client-gateway-gluetun-1', values);
interface Compose {
  services: Record<string, { ports?: string[]; network_mode?: string; networks?: Record<string, unknown> }>;
  networks?: Record<string, unknown>;
}
const read = (text: string) => parse(text) as Compose;

describe('through the gateway (R15)', () => {
  test("the dependant's ports are gone, and it is in the gateway's network", () => {
    const { text, ports, networks } = through();
    const client = read(text).services['client'];
    expect([client?.ports, client?.networks, client?.network_mode]).toEqual([
      undefined,
      undefined,
      'container:vpn-client-gateway-gluetun-1',
    ]);
    expect(ports).toEqual(['127.0.0.1:18081:8081/tcp', '0.0.0.0:6881:6881/udp']);
    expect(networks).toEqual({ 'quarterdeck-client': ['client'] });
    expect(text).toContain('# A download client.');
    expect(routesOf(text)).toEqual([{ service: 'client', container: 'vpn-client-gateway-gluetun-1', isOurs: true }]);
    expect(read(text).networks).toBeUndefined();
  });

  test('the gateway publishes the same ports, and is found by the same name', () => {
    const text = gatewayWith(front, 'compose.yaml', 'gluetun', through(), {});
    const gluetun = read(text).services['gluetun'];
    expect(gluetun?.ports).toEqual([
      '${CONTROL_BIND:-127.0.0.1}:${CONTROL_PORT:-8000}:8000/tcp',
      '127.0.0.1:18081:8081/tcp',
      '0.0.0.0:6881:6881/udp',
    ]);
    expect(gluetun?.networks).toEqual({ default: {}, 'quarterdeck-client': { aliases: ['client'] } });
    expect(read(text).networks).toEqual({ default: {}, 'quarterdeck-client': { external: true } });
    expect(gatewayWith(text, 'compose.yaml', 'gluetun', through(), {})).toBe(text);
  });

  test.each([
    ['the same port outside', '127.0.0.1:8000:80/tcp'],
    ['the same port inside', '127.0.0.1:9000:8000/tcp'],
  ])('%s is refused', (_, port) => {
    expect(() => gatewayWith(front, 'compose.yaml', 'gluetun', { ports: [port], networks: {} }, {})).toThrow(
      /already publishes 127\.0\.0\.1:8000:8000\/tcp/,
    );
  });

  test('another protocol is another port', () => {
    expect(() => gatewayWith(front, 'compose.yaml', 'gluetun', { ports: ['127.0.0.1:8000:8000/udp'], networks: {} }, {})).not.toThrow();
  });

  test('a network of another kind and ports in the long form are refused', () => {
    expect(() => routeThrough('services: {a: {network_mode: host}}', 'f', 'a', 'x', {})).toThrow(/network_mode: host/);
    expect(() => routeThrough('services: {a: {ports: [{target: 80}]}}', 'f', 'a', 'x', {})).toThrow(/long syntax/);
    expect(() => routeThrough('services: {a: [', 'f', 'a', 'x', {})).toThrow(/cannot be read/);
  });
});

describe('and back', () => {
  test('everything is as it was', () => {
    const back = routeDirectly(through().text, 'compose.yaml', 'client', values);
    expect(parse(back.text)).toEqual(parse(own));
    expect(routesOf(back.text)).toEqual([]);
    const gateway = gatewayWithout(gatewayWith(front, 'compose.yaml', 'gluetun', through(), {}), 'compose.yaml', 'gluetun', back);
    expect(read(gateway).services['gluetun']?.ports).toEqual(read(front).services['gluetun']?.ports);
    expect(Object.keys(read(gateway).services['gluetun']?.networks ?? {})).toEqual(['default']);
  });

  test('what somebody else routed is not guessed', () => {
    expect(() => routeDirectly('services: {client: {network_mode: "container:x"}}', 'f', 'client', {})).toThrow(
      /The configuration of client before/,
    );
  });
});
