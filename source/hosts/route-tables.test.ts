import { endianness } from 'node:os';
import { describe, expect, test } from 'vitest';
import { parseIpv6Routes, parseRoutes } from './route-tables.ts';

const head = 'Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT';
/** Words as the kernel of this machine writes them. */
const word = (address: string) => {
  const bytes = address.split('.').map(Number);
  const ordered = endianness() === 'LE' ? bytes.reverse() : bytes;
  return ordered.map((byte) => byte.toString(16).padStart(2, '0').toUpperCase()).join('');
};
const line = (card: string, destination: string, gateway: string, mask: string) =>
  `${card}\t${word(destination)}\t${word(gateway)}\t0003\t0\t0\t0\t${word(mask)}\t0\t0\t0`;

describe('routing tables of the kernel', () => {
  test('IPv4: what is reached directly, and through whom the rest', () => {
    const text = [
      head,
      line('eth0', '0.0.0.0', '192.168.1.254', '0.0.0.0'),
      line('eth0', '192.168.1.0', '0.0.0.0', '255.255.255.0'),
      line('wg0', '10.8.0.0', '0.0.0.0', '255.255.240.0'),
      'half a line',
      '',
    ].join('\n');
    expect(parseRoutes(text)).toEqual([
      { network: '0.0.0.0/0', gateway: '192.168.1.254', interface: 'eth0' },
      { network: '192.168.1.0/24', interface: 'eth0' },
      { network: '10.8.0.0/20', interface: 'wg0' },
    ]);
  });

  test('IPv6: without loopback and without what goes to many', () => {
    const zero = '0'.repeat(32);
    const text = [
      `fd00000000000000000000000000abcd 40 ${zero} 00 ${zero} 00000100 00000001 00000000 00000001     eth0`,
      `${zero} 00 ${zero} 00 fe800000000000000000000000000001 00000400 00000001 00000000 00000003     eth0`,
      `00000000000000000000000000000001 80 ${zero} 00 ${zero} 00000000 00000002 00000000 80200001       lo`,
      `ff000000000000000000000000000000 08 ${zero} 00 ${zero} 00000100 00000001 00000000 00000001     eth0`,
      'rubbish',
    ].join('\n');
    expect(parseIpv6Routes(text)).toEqual([
      { network: 'fd00::abcd/64', interface: 'eth0' },
      { network: '::/0', gateway: 'fe80::1', interface: 'eth0' },
    ]);
  });

  test.each(['', 'nothing like it', `${head}\n`])('of %j nothing is made up', (text) => {
    expect([...parseRoutes(text), ...parseIpv6Routes(text)]).toEqual([]);
  });
});
