import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readPort } from './port-mapping.ts';

const one = (entry: unknown) => {
  const read = readPort(entry);
  if ('problem' in read) throw new Error(read.problem);
  return read.ports;
};

describe('readPort', () => {
  it.each([
    ['${WEB_BIND:-127.0.0.1}:${WEB_PORT:-8180}:80', { name: 'web', host: 8180, container: 80, protocol: 'tcp', address: '127.0.0.1' }],
    [
      '${SYNC_BIND:-0.0.0.0}:${SYNC_QUIC_PORT:-22000}:22000/udp',
      { name: 'sync-quic', host: 22000, container: 22000, protocol: 'udp', address: '0.0.0.0' },
    ],
    ['127.0.0.1:8080:80', { name: undefined, host: 8080, container: 80, protocol: 'tcp', address: '127.0.0.1' }],
    ['8080:80', { name: undefined, host: 8080, container: 80, protocol: 'tcp', address: '' }],
    ['80', { name: undefined, host: undefined, container: 80, protocol: 'tcp', address: '' }],
    [80, { name: undefined, host: undefined, container: 80, protocol: 'tcp', address: '' }],
    ['127.0.0.1::80', { name: undefined, host: undefined, container: 80, protocol: 'tcp', address: '127.0.0.1' }],
    ['[::1]:8080:80/udp', { name: undefined, host: 8080, container: 80, protocol: 'udp', address: '::1' }],
    ['${PORT:-1}:1', { name: 'port', host: 1, container: 1, protocol: 'tcp', address: '' }],
    [
      { target: 80, published: '${WEB_PORT:-8180}', host_ip: '${WEB_BIND:-127.0.0.1}' },
      { name: 'web', host: 8180, container: 80, protocol: 'tcp', address: '127.0.0.1' },
    ],
    [
      { target: '53', published: 53, protocol: 'udp' },
      { name: undefined, host: 53, container: 53, protocol: 'udp', address: '' },
    ],
  ])('%j', (entry, expected) => {
    expect(one(entry)).toMatchObject([expected]);
  });

  it('knows a range as the one entry that it is', () => {
    expect(one('127.0.0.1:50000-50002:60000-60002/udp').map(({ host, container, range }) => [host, container, range])).toEqual(
      [0, 1, 2].map((at) => [50000 + at, 60000 + at, { first: 60000, last: 60002 }]),
    );
  });

  it.each([
    '${WEB_BIND:-127.0.0.1}:${WEB_PORT:-8180}:${APP_PORT:-80}',
    { target: '${APP_PORT:-80}', published: '${WEB_PORT:-8180}', host_ip: '${WEB_BIND:-127.0.0.1}' },
  ])('tells whose variables are whose: %j', (entry) => {
    expect(one(entry)[0]?.variables).toEqual({ address: ['WEB_BIND'], host: ['WEB_PORT'], container: ['APP_PORT'] });
  });

  it('makes one mapping per port of a range', () => {
    expect(one('3000-3002:4000-4002').map(({ host, container }) => [host, container])).toEqual([
      [3000, 4000],
      [3001, 4001],
      [3002, 4002],
    ]);
  });

  it.each(['', 'web', '80:web', '70000:80', '0:80', '80/icmp', '1-3:1-2', '9:8-7', 'nas.lan:80:80', null, [], {}, '1-65535:1-65535'])(
    'says what is wrong with %j',
    (entry) => {
      expect(readPort(entry)).toMatchObject({ problem: expect.any(String) });
    },
  );

  it('never throws', () => {
    fc.assert(
      fc.property(fc.oneof(fc.anything(), fc.stringMatching(/^[\d:.${}A/[\]-]*$/)), (entry) => {
        readPort(entry);
      }),
    );
  });

  it('reads back any mapping', () => {
    const port = fc.integer({ min: 1, max: 65535 });
    fc.assert(
      fc.property(port, port, fc.ipV4(), fc.constantFrom('tcp' as const, 'udp' as const), (host, container, address, protocol) => {
        expect(one(`${address}:${host}:${container}/${protocol}`)).toMatchObject([{ name: undefined, host, container, protocol, address }]);
        expect(one(`\${A_BIND:-${address}}:\${A_B_PORT:-${host}}:${container}/${protocol}`)).toMatchObject([
          { name: 'a-b', host, container, protocol, address },
        ]);
      }),
    );
  });
});
