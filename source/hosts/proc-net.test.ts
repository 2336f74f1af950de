import { endianness } from 'node:os';
import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { describe, expect, test } from 'vitest';
import { type KernelSocket, type ProcNetFile, parseProcNet } from './proc-net.ts';

// Recorded on Linux 6.18, shortened.
const tcp = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 12345 1 0000000000000000 100 0 0 10 0
   1: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 23456 1 0000000000000000 100 0 0 10 0
   2: 0100007F:1F90 0100007F:D431 01 00000000:00000000 02:00000A1D 00000000  1000        0 34567 2 0000000000000000 20 4 30 10 -1
`;
const udp = `   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops
  514: 3500007F:0035 00000000:0000 07 00000000:00000000 00:00000000 00000000   101        0 111 2 0000000000000000 0
  600: 0F02000A:A3D2 08080808:0035 01 00000000:00000000 00:00000000 00000000  1000        0 222 2 0000000000000000 0
`;
const tcp6 = `  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000000000000000000000000000:0050 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 777 1 0000000000000000 100 0 0 10 0
   1: 00000000000000000000000001000000:0277 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 778 1 0000000000000000 100 0 0 10 0
   2: 0000000000000000FFFF00000100007F:2328 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 779 1 0000000000000000 100 0 0 10 0
   3: B80D01200000000067452301EFCDAB89:01BB 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 780 1 0000000000000000 100 0 0 10 0
`;
const engines = (sockets: readonly KernelSocket[]) =>
  sockets.map(({ address, port, protocol, inode }) => `${address} ${port}/${protocol} ${inode}`);

describe.runIf(endianness() === 'LE')('as Linux writes it', () => {
  test('TCP: who listens, not who is connected', () => {
    expect(engines(parseProcNet(tcp, 'tcp'))).toEqual(['127.0.0.1 8080/tcp 12345', '0.0.0.0 22/tcp 23456']);
  });

  test('UDP: a port of its own and nobody at the other end', () =>
    expect(engines(parseProcNet(udp, 'udp'))).toEqual(['127.0.0.53 53/udp 111']));

  test('IPv6, and IPv4 in its clothes', () => {
    expect(engines(parseProcNet(tcp6, 'tcp6'))).toEqual([
      ':: 80/tcp 777',
      '::1 631/tcp 778',
      '127.0.0.1 9000/tcp 779',
      '2001:db8::123:4567:89ab:cdef 443/tcp 780',
    ]);
  });
});

test('every address and port comes back', () => {
  const bytes = fc.oneof(fc.uint8Array({ minLength: 4, maxLength: 4 }), fc.uint8Array({ minLength: 16, maxLength: 16 }));
  fc.assert(
    fc.property(bytes, fc.integer({ min: 1, max: 65_535 }), fc.constantFrom('tcp' as const, 'udp' as const), (address, port, protocol) => {
      const words = Buffer.from(address);
      if (endianness() === 'LE') words.swap32();
      const zero = '0'.repeat(words.length * 2);
      const line = `  1: ${words.toString('hex').toUpperCase()}:${port.toString(16).toUpperCase().padStart(4, '0')} ${zero}:0000 ${protocol === 'tcp' ? '0A' : '07'} 00000000:00000000 00:00000000 00000000     0        0 42 1 0 100`;
      const file: ProcNetFile = address.length === 16 ? `${protocol}6` : protocol;
      const [read] = parseProcNet(`header\n${line}\n`, file);
      expect(read).toMatchObject({ port, protocol, inode: '42' });
      expect(ipaddr.process(read?.address ?? '').toString()).toBe(ipaddr.process(ipaddr.fromByteArray([...address]).toString()).toString());
    }),
  );
});

test('whatever stands there, nothing is thrown and nothing nameless comes out', () => {
  const word = fc.oneof(fc.string(), fc.constantFrom('0:', '0100007F:1F90', '00000000:0000', '0A', '07', '1', ':', 'ZZZZZZZZ:0050'));
  fc.assert(
    fc.property(
      fc.array(fc.array(word).map((words) => words.join(' '))),
      fc.constantFrom<ProcNetFile>('tcp', 'tcp6', 'udp', 'udp6'),
      (lines, file) => {
        for (const { address, port, inode } of parseProcNet(lines.join('\n'), file)) {
          expect(ipaddr.isValid(address)).toBe(true);
          expect(port).toBeGreaterThan(0);
          expect(inode).not.toBe('');
        }
      },
    ),
  );
});
