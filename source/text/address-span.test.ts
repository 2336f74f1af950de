import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { describe, expect, test } from 'vitest';
import { addressesIn, isPrivate, overlap, spanOf, withNeighbours } from './address-span.ts';

const v4Address = fc.ipV4();
const v6Address = fc.ipV6();
const range = fc.oneof(
  fc.tuple(v4Address, fc.integer({ min: 0, max: 32 })).map(([address, prefix]) => `${address}/${prefix}`),
  fc.tuple(v6Address, fc.integer({ min: 0, max: 128 })).map(([address, prefix]) => `${address}/${prefix}`),
);
const written = fc.oneof(v4Address, v6Address, range);

/** Returns the library's result for an address in a range, for comparison: computed bit by bit, not by numbers. */
function inRange(address: string, within: string): boolean {
  const parsed = ipaddr.process(address);
  const [base, prefix] = ipaddr.parseCIDR(within);
  return parsed.kind() === base.kind() && parsed.match(base, prefix);
}

function must(text: string) {
  const span = spanOf(text);
  if (!span) throw new Error(`${text} is an address or a range`);
  return span;
}

describe('addresses and ranges (R63)', () => {
  test('what is written is read, and reads the same again in its own words', () => {
    fc.assert(
      fc.property(written, (text) => {
        const span = must(text);
        expect(must(span.text)).toEqual(span);
        expect(span.first <= span.last).toBe(true);
      }),
    );
  });

  test('an address overlaps with a range exactly if it is in it', () => {
    fc.assert(
      fc.property(fc.oneof(v4Address, v6Address), range, (address, within) => {
        if (/^::ffff:/i.test(ipaddr.parse(address).toString()) || ipaddr.parse(within.split('/')[0] ?? '').range() === 'ipv4Mapped') return;
        expect(overlap(must(address), must(within))).toBe(inRange(address, within));
      }),
    );
  });

  test('overlap goes both ways, holds for a range with itself, and for every range with what is inside of it', () => {
    fc.assert(
      fc.property(written, written, (one, other) => {
        expect(overlap(must(one), must(other))).toBe(overlap(must(other), must(one)));
        expect(overlap(must(one), must(one))).toBe(true);
      }),
    );
    fc.assert(
      fc.property(v4Address, fc.integer({ min: 0, max: 32 }), fc.integer({ min: 0, max: 32 }), (address, one, other) => {
        expect(overlap(must(`${address}/${one}`), must(`${address}/${other}`))).toBe(true);
      }),
    );
  });

  test('neighbours of an IPv6 address are its /64; nobody else is one', () => {
    fc.assert(
      fc.property(v6Address, v6Address, (one, other) => {
        const wide = withNeighbours(must(one));
        expect(overlap(wide, must(one))).toBe(true);
        if (wide.text.endsWith('/64')) {
          const same = ipaddr.parse(one).toByteArray().slice(0, 8).join() === ipaddr.parse(other).toByteArray().slice(0, 8).join();
          const plain = must(other);
          if (plain.family === 6) expect(overlap(wide, plain)).toBe(same);
        }
      }),
    );
    expect(withNeighbours(must('2001:db8:1:2:3::4')).text).toBe('2001:db8:1:2::/64');
    for (const text of ['::1', 'fe80::7', '192.0.2.7', '2001:db8::/48']) expect(withNeighbours(must(text)).text).toBe(text);
  });

  test.each([
    ['192.0.2.77/24', '192.0.2.0/24'],
    ['192.0.2.7/32', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.0/120', '192.0.2.0/24'],
    ['2001:DB8:0:0::7', '2001:db8::7'],
    [' 10.0.0.0/8 ', '10.0.0.0/8'],
    ['0.0.0.0/0', '0.0.0.0/0'],
    ['::/0', '::/0'],
  ])('%s is %s', (text, plain) => expect(must(text).text).toBe(plain));

  test.each([
    '',
    '192.0.2',
    '010.0.0.1',
    '192.0.2.256',
    '192.0.2.0/33',
    '2001:db8::/129',
    '1.2.3.4/',
    '1.2.3.4/2/2',
    'fe80::1%eth0',
    'localhost',
    '0x7f.1',
  ])('%s is none', (text) => expect(spanOf(text)).toBeUndefined());

  test('private is what the internet does not route', () => {
    for (const text of ['10.1.2.3', '192.168.0.0/16', '172.31.255.255', '127.0.0.1', '100.100.1.1', '::1', 'fd00::7', 'fe80::1'])
      expect(isPrivate(must(text)), text).toBe(true);
    for (const text of ['8.8.8.8', '203.0.113.7', '192.0.0.0/8', '2001:db8::1', '172.32.0.1', '0.0.0.0/0'])
      expect(isPrivate(must(text)), text).toBe(false);
  });
});

describe('addresses in a log line', () => {
  const texts = (line: string) => addressesIn(line).map(({ text }) => text);
  test.each([
    ['Failed password for root from 203.0.113.7 port 4711 ssh2', ['203.0.113.7']],
    ['203.0.113.7:51234 -> 198.51.100.1:443', ['203.0.113.7', '198.51.100.1']],
    ['client [2001:db8::bad]:51234 and 2001:db8:0:0:0:0:0:bad again', ['2001:db8::bad']],
    ['{"remote_ip":"2001:db8::7","ts":"2026-11-22T09:01:02Z"}', ['2001:db8::7']],
    ['at 09:01:02 version 1.2.3.4.5 of 12:34:56:78:9a:bc', []],
    ['::ffff:203.0.113.9 GET /', ['203.0.113.9']],
    ['banned 198.51.100.0/24 for 4h', ['198.51.100.0/24']],
    ['300.1.2.3 and 1.2.3', []],
  ])('%s', (line, found) => expect(texts(line)).toEqual(found));

  test('one that is written into any line is found there', () => {
    fc.assert(
      fc.property(
        fc.oneof(v4Address, v6Address),
        fc.constantFrom('from ', '[', '"', '=', ' '),
        fc.constantFrom(' ', ']', '"', ',', ''),
        (address, before, after) => {
          if (must(address).text === '::') return;
          expect(texts(`${before}${address}${after}`)).toContain(must(address).text);
        },
      ),
    );
  });
});
