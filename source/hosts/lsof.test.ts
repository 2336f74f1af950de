import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseLsof } from './lsof.ts';

test('listeners of TCP and UDP, without connections and unbound sockets', () => {
  // Output of macOS.
  const text = [
    'p501',
    'cPython\\x20App',
    'f3',
    'tIPv4',
    'PTCP',
    'n*:8080',
    'f4',
    'tIPv6',
    'PTCP',
    'n*:8080',
    'f5',
    'tIPv6',
    'PTCP',
    'n[::1]:631',
    'p80',
    'cmDNSResponder',
    'f6',
    'tIPv4',
    'PUDP',
    'n*:5353',
    'f7',
    'tIPv4',
    'PUDP',
    'n*:*',
    'f8',
    'tIPv4',
    'PUDP',
    'n10.0.0.2:49152->8.8.8.8:53',
    'f9',
    'tIPv6',
    'PUDP',
    'n[fe80::1%lo0]:546',
    '',
  ].join('\n');
  const python = { pid: 501, name: 'Python App' };
  const mdns = { pid: 80, name: 'mDNSResponder' };
  expect(parseLsof(text)).toEqual([
    { address: '0.0.0.0', port: 8080, protocol: 'tcp', process: python },
    { address: '::', port: 8080, protocol: 'tcp', process: python },
    { address: '::1', port: 631, protocol: 'tcp', process: python },
    { address: '0.0.0.0', port: 5353, protocol: 'udp', process: mdns },
    { address: 'fe80::1', port: 546, protocol: 'udp', process: mdns },
  ]);
});

test('any text is read without harm', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.constantFrom('p', 'c', 'f', 't', 'P', 'n', 'x'), fc.string()).map(([field, value]) => field + value)),
      (lines) => {
        for (const { port } of parseLsof(lines.join('\n'))) expect(port).toBeGreaterThanOrEqual(0);
      },
    ),
  );
});
