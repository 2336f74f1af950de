import { expect, it } from 'vitest';
import { clientConfig, wantedOf } from './client/client-config.ts';
import { clientForm } from './wireguard-form.ts';

const good = {
  name: 'phone',
  device: 'linux',
  addresses: '10.8.0.2/32',
  serverPublicKey: 'xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=',
  endpoint: 'vpn.example.org:51820',
  networks: '10.8.0.0/24',
  dns: '10.8.0.1',
  domains: 'lan',
  killSwitch: 'no',
  mtu: '1420',
  keepalive: '25',
  presharedKey: 'yes',
};
const problem = (id: string, value: string) =>
  clientForm('phone')
    .fields.find((field) => field.id === id)
    ?.check?.(value);

it.each([
  ['addresses', ['fd00::2%eth0', 'fe80::1%eth0/64', '10.8.0.2/0', '::/0', '10.8.0.2/33', 'a', '10.8.0.2\nPostUp = id']],
  ['endpoint', ['vpn.example.org', 'a b:51820', 'a:1\nPostUp = id', '[::1', 'a:70000', '$(id):1']],
  ['serverPublicKey', ['a', 'xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg', 'a\nb']],
  ['networks', ['10.8.0.2', '$(id)/24', '10.0.0.0/24; id']],
  ['dns', ['$(id)', 'a', '1.1.1.1;id']],
  ['domains', ['$(id)', 'a;id', '`id`', 'a|b', '-x', '*.lan', 'ü.lan']],
  ['name', ['a\nPostUp = id', '', 'a'.repeat(255), '$(id)']],
  ['mtu', ['1e3', '0x500', '65535', '', '14 20']],
  ['keepalive', ['off', '-1', '65536']],
])('%s takes nothing that wg or wg-quick would refuse, or run', (id, values) => {
  for (const value of values) expect([value, problem(id, value)]).toEqual([value, expect.any(String)]);
});

it('a name for split DNS may be written with the ~ that resolvectl shows, and gets one in the file', () => {
  expect(problem('domains', '~home.arpa, lan')).toBeUndefined();
  const keys = { privateKey: 'x', presharedKey: undefined };
  const written = (device: string) => clientConfig(wantedOf({ ...good, device, domains: '~home.arpa, lan' }), keys);
  expect(written('linux')).toContain('resolvectl domain %i ~home.arpa ~lan\n');
  expect(written('phone')).toContain('DNS = 10.8.0.1, home.arpa, lan\n');
});
