import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { inspectConfig } from '../../../config-files/wireguard/inspect-config.ts';
import { endpointProblem } from '../../../config-files/wireguard/inspect-peers.ts';
import { keyProblem, makeKeyPair, makePresharedKey, publicKeyOf } from '../../../config-files/wireguard/wireguard-keys.ts';
import { type ClientSettings, clientConfig, serverPeer } from './client-config.ts';

const own = makeKeyPair();
const other = makeKeyPair();
const good = `[Interface]
PrivateKey = ${own.privateKey}
Address = 10.8.0.2/32
DNS = 10.8.0.1
MTU = 1420

[Peer]
PublicKey = ${other.publicKey}
AllowedIPs = 0.0.0.0/0, ::/0
Endpoint = vpn.example.net:51820
`;
/** Returns `3:8 [Interface] MTU` and the message for each problem. */
const problems = (text: string) =>
  inspectConfig(text).problems.map(({ level, line, column, field, message }) => [`${line}:${column} ${field}`, level, message] as const);
const replaced = (line: RegExp | string, by: string) => problems(good.replace(line, by));

describe('keys', () => {
  test('made here, and of the kind that WireGuard takes', () => {
    const raw = Buffer.from(own.privateKey, 'base64');
    expect(raw).toHaveLength(32);
    expect([(raw[0] ?? 0) & 7, (raw[31] ?? 0) & 192]).toEqual([0, 64]);
    expect(publicKeyOf(own.privateKey)).toBe(own.publicKey);
    expect([own.privateKey, own.publicKey, makePresharedKey()].map(keyProblem)).toEqual([undefined, undefined, undefined]);
  });

  test.each([
    ['', /empty/],
    ['abc', /44 characters, not 3/],
    [`${'A'.repeat(42)}B=`, /not 32 bytes in base64/],
    [`${'A'.repeat(43)}=`, /zero/],
    ['!'.repeat(44), /not base64/],
  ])('%j is none', (text, problem) => {
    expect(keyProblem(text)).toMatch(problem);
  });
});

describe('a configuration that is in order', () => {
  test('has no problems, and says what it does', () => {
    const { problems: none, facts, publicKey } = inspectConfig(good);
    expect(none).toEqual([]);
    expect(publicKey).toBe(own.publicKey);
    const half = inspectConfig(good.replace(', ::/0', '')).facts.join(' ');
    expect(half).toContain('Traffic through the tunnel: 0.0.0.0/0.');
    expect(facts.join(' ')).toMatch(/All traffic goes through the tunnel\..*DNS: 10\.8\.0\.1.*Kill switch: none.*vpn\.example\.net:51820/);
  });
});

describe('what is wrong, with line, column and field', () => {
  test.each([
    ['no MTU (R77)', /MTU.*\n/, '', ['1:1 [Interface] MTU', 'warning', /MTU is not set/]],
    ['an MTU of 1500 (R77)', '1420', '1500', ['5:7 [Interface] MTU', 'warning', /1500 leaves too little space/]],
    ['an MTU that fits over IPv4 alone (R77)', '1420', '1430', ['5:7 [Interface] MTU', 'warning', /1430 .* over IPv6 \(80 bytes\)/]],
    ['an MTU that is none', '1420', 'big', ['5:7 [Interface] MTU', 'error', /not a valid MTU/]],
    [
      'too small for IPv6',
      'Address = 10.8.0.2/32\nDNS = 10.8.0.1\nMTU = 1420',
      'Address = fd00::2/128\nDNS = 10.8.0.1\nMTU = 1200',
      ['5:7 [Interface] MTU', 'error', /at least 1280/],
    ],
    ['no private key', /PrivateKey.*\n/, '', ['1:1 [Interface] PrivateKey', 'error', /missing/]],
    ['no address', /Address.*\n/, '', ['1:1 [Interface] Address', 'error', /address of this machine is missing/]],
    ['an address that is none', '10.8.0.2/32', '10.8.0.2/33', ['3:11 [Interface] Address', 'error', /"10\.8\.0\.2\/33" is not an address/]],
    ['a second of several', '10.8.0.2/32', '10.8.0.2/32, fd00::x/64', ['3:24 [Interface] Address', 'error', /"fd00::x\/64"/]],
    ['names asked outside', /DNS.*\n/, '', ['1:1 [Interface] DNS', 'warning', /resolved outside of it/]],
    [
      'a server that is none',
      'DNS = 10.8.0.1',
      'DNS = 10.8.0.1, 10.8.0.300',
      ['4:17 [Interface] DNS', 'error', /neither an address nor a domain/],
    ],
    ['names without a server', 'DNS = 10.8.0.1', 'DNS = lan', ['4:7 [Interface] DNS', 'error', /without the address of a DNS server/]],
    ['a public key that is none', other.publicKey, 'short', ['8:13 [Peer] PublicKey', 'error', /44 characters/]],
    ['its own public key', other.publicKey, own.publicKey, ['8:13 [Peer] PublicKey', 'error', /public key of this machine/]],
    ['nothing is sent (R24)', /AllowedIPs.*\n/, '', ['7:1 [Peer] AllowedIPs', 'error', /AllowedIPs is missing or empty/]],
    [
      'no network (R24)',
      '0.0.0.0/0, ::/0',
      '0.0.0.0/0, ::/0, everything',
      ['9:31 [Peer] AllowedIPs', 'error', /"everything" is not a network/],
    ],
    ['IPv6 past the tunnel', '0.0.0.0/0, ::/0', '0.0.0.0/0', ['9:14 [Peer] AllowedIPs', 'warning', /IPv6 traffic can bypass/]],
    ['bits of a host', '0.0.0.0/0, ::/0', '10.8.0.5/24', ['9:14 [Peer] AllowedIPs', 'warning', /is read as 10\.8\.0\.0\/24/]],
    ['no port', 'vpn.example.net:51820', 'vpn.example.net', ['10:12 [Peer] Endpoint', 'error', /port/]],
    ['IPv6 without brackets', 'vpn.example.net:51820', '2001:db8::1:51820', ['10:12 [Peer] Endpoint', 'error', /brackets/]],
    ['an unknown field', 'MTU = 1420', 'MUT = 1420', ['5:1 MUT', 'error', /Unknown field "MUT"/]],
    ['a field of the other section', 'MTU = 1420', 'AllowedIPs = ::/0', ['5:1 AllowedIPs', 'error', /Unknown field/]],
    ['no equals sign', 'MTU = 1420', '  MTU 1420', ['5:3 ', 'error', /Expected "Name = value"/]],
    ['an unknown section', '[Peer]', '[Pear]', ['7:1 ', 'error', /Unknown section/]],
    ['a field twice', 'MTU = 1420', 'MTU = 1420\nMTU = 1300', ['6:1 [Interface] MTU', 'error', /twice/]],
    ['set up and never undone', 'MTU = 1420', 'MTU = 1420\nPostUp = ip rule add x', ['6:10 [Interface] PostUp', 'error', /never undone/]],
    [
      'undone and never set up',
      'MTU = 1420',
      'MTU = 1420\nPreDown = ip rule del x',
      ['6:11 [Interface] PreDown', 'error', /no matching PostUp/],
    ],
  ] as const)('%s', (_, what, by, [engineName, level, message]) => {
    expect(replaced(what, by)).toContainEqual([engineName, level, expect.stringMatching(message)]);
  });

  test('a private key may be set in PostUp, and a network be named twice for one peer', () => {
    const later = 'PostUp = wg set %i private-key /etc/wireguard/key\nPreDown = true';
    expect(replaced(`PrivateKey = ${own.privateKey}`, later)).toEqual([]);
    expect(replaced('0.0.0.0/0, ::/0', '0.0.0.0/0, ::/0, 0.0.0.0/0')).toEqual([]);
  });

  test('a larger MTU is fine where the MSS is clamped (R77)', () => {
    const clamped =
      'MTU = 1500\nPostUp = iptables -t mangle -A FORWARD -j TCPMSS --clamp-mss-to-pmtu\nPreDown = iptables -t mangle -D FORWARD -j TCPMSS --clamp-mss-to-pmtu';
    expect(replaced('MTU = 1420', clamped)).toEqual([]);
  });

  test('the private key is never repeated, wherever it stands', () => {
    for (const text of [
      `${own.privateKey}\n${good}`,
      good.replace('PrivateKey = ', 'PrivteKey = '),
      good.replace('Address = ', `${own.privateKey} = `),
      good.replace('10.8.0.2/32', own.privateKey),
      good.replace(own.privateKey, `${own.privateKey}x`),
    ])
      expect(JSON.stringify(inspectConfig(text).problems) + inspectConfig(text).facts.join()).not.toContain(own.privateKey.slice(0, 20));
  });
});

const wanted: ClientSettings = {
  name: 'alice',
  device: 'linux',
  addresses: ['10.8.0.7/32'],
  serverPublicKey: other.publicKey,
  endpoint: '[2001:db8::1]:51820',
  networks: ['0.0.0.0/0', '::/0'],
  dns: ['10.8.0.1'],
  domains: [],
  killSwitch: true,
  mtu: 1420,
  keepalive: 25,
  presharedKey: true,
};

describe('what is made here', () => {
  test('kill switch for IPv4 and IPv6, taken away again to the letter; MTU 1420 (R77)', () => {
    const config = clientConfig(wanted, { ...own, presharedKey: makePresharedKey() });
    expect(config).toMatch(/^MTU = 1420$/m);
    const [, up = ''] = /^PostUp = (.*)$/m.exec(config) ?? [];
    const [, down = ''] = /^PreDown = (.*)$/m.exec(config) ?? [];
    expect(up).toMatch(/iptables -I OUTPUT .*fwmark.*REJECT && ip6tables -I OUTPUT/);
    expect(up.replaceAll(' -I ', ' -D ')).toBe(down);
    expect(inspectConfig(config).problems).toEqual([]);
    expect(inspectConfig(config).facts).toContain('Kill switch: yes.');
  });

  test('a kill switch that forgets IPv6, is not undone, or has nothing to mark', () => {
    const config = clientConfig(wanted, { ...own, presharedKey: undefined });
    const of = (text: string) =>
      inspectConfig(text)
        .problems.map(({ message }) => message)
        .join(' ');
    expect(of(config.replaceAll(/ && ip6tables.*$/gm, ''))).toMatch(/only IPv4/);
    expect(of(config.replace(/^PreDown.*$/m, 'PreDown = true'))).toMatch(/IPv4 and IPv6 are never removed/);
    expect(of(config.replace('0.0.0.0/0, ::/0', '10.0.0.0/8'))).toMatch(/matches the firewall mark/);
  });

  test('split DNS asks one server for some names, where not everything goes through the tunnel', () => {
    const config = clientConfig(
      { ...wanted, killSwitch: false, networks: ['10.8.0.0/24'], domains: ['lan', 'home.arpa'] },
      { ...own, presharedKey: undefined },
    );
    expect(config).toContain('PostUp = resolvectl dns %i 10.8.0.1; resolvectl domain %i ~lan ~home.arpa\nPreDown = resolvectl revert %i');
    expect(config).not.toMatch(/^DNS/m);
    expect(inspectConfig(config).problems).toEqual([]);
  });

  test('a phone refuses commands, so it gets none', () => {
    const config = clientConfig({ ...wanted, device: 'phone', domains: ['lan'] }, { ...own, presharedKey: undefined });
    expect(config).not.toMatch(/PostUp|PreDown/);
    expect(config).toContain('DNS = 10.8.0.1, lan');
  });

  test('the server gets the public half, and one address', () => {
    const peer = serverPeer({ name: 'alice', addresses: ['10.8.0.7/24', 'fd00::7'] }, { ...own, presharedKey: undefined });
    expect(peer).toContain(`PublicKey = ${own.publicKey}\nAllowedIPs = 10.8.0.7/32, fd00::7/128`);
    expect(peer).not.toContain(own.privateKey);
  });

  test('whatever is wished for is in order by the same inspector', () => {
    const network = fc.tuple(fc.ipV4(), fc.constantFrom(8, 16, 24, 32)).map(([address, prefix]) => {
      const bits = address.split('.').map(Number);
      const keep = prefix / 8;
      return `${bits.map((part, at) => (at < keep ? part : 0)).join('.')}/${prefix}`;
    });
    fc.assert(
      fc.property(
        fc.record({
          device: fc.constantFrom('linux' as const, 'phone' as const, 'desktop' as const),
          networks: fc.oneof(fc.constant(['0.0.0.0/0', '::/0']), fc.uniqueArray(network, { minLength: 1, maxLength: 5 })),
          dns: fc.array(fc.ipV4(), { minLength: 1, maxLength: 2 }),
          domains: fc.array(fc.constantFrom('lan', 'home.arpa', 'corp.example.net'), { maxLength: 2 }),
          mtu: fc.integer({ min: 1280, max: 1420 }),
        }),
        (one) => {
          const config = clientConfig(
            { ...wanted, ...one, killSwitch: one.device === 'linux' && one.networks.includes('::/0') },
            { ...own, presharedKey: makePresharedKey() },
          );
          expect(inspectConfig(config).problems).toEqual([]);
        },
      ),
    );
  });
});

test('any text is inspected, and every place is in it', () => {
  const piece = fc.oneof(
    fc.constantFrom(
      '[Interface]\n',
      '[Peer]\n',
      'PrivateKey = ',
      'AllowedIPs = ',
      '10.0.0.0/8',
      ', ',
      '\n',
      '#',
      '=',
      'PostUp = iptables -I x -j REJECT\n',
      'MTU = ',
    ),
    fc.string({ maxLength: 8 }),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
      const text = pieces.join('');
      const lines = text.split(/\r\n|\n|\r/);
      for (const { line, column } of inspectConfig(text).problems) {
        expect(line).toBeGreaterThanOrEqual(1);
        expect(line).toBeLessThanOrEqual(lines.length);
        expect(column).toBeGreaterThanOrEqual(1);
      }
    }),
  );
});

test.each([
  ['vpn.example.net:51820', undefined],
  ['192.0.2.1:1', undefined],
  ['[::1]:65535', undefined],
  ['[192.0.2.1]:80', /IPv6/],
  ['vpn:0', /1 to 65535/],
  ['vpn:70000', /1 to 65535/],
  [':51820', /name or address/],
])('the endpoint %s', (text, problem) => {
  if (problem) expect(endpointProblem(text)).toMatch(problem);
  else expect(endpointProblem(text)).toBeUndefined();
});
