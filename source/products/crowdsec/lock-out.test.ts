import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { overlap, spanOf } from '../../text/address-span.ts';
import { type BanTarget, parseBanTarget } from './client/ban-target.ts';
import { type Guarded, guarded, lockOutReason, publicAddresses, refuseLockOut } from './lock-out.ts';

const target = (text: string): BanTarget => {
  const parsed = parseBanTarget(text);
  if (typeof parsed === 'string') throw new Error(parsed);
  return parsed;
};
const guards = (...all: [string, string][]): Guarded[] => all.flatMap(([text, what]) => guarded(text, what, { operator: true }));

const v4 = fc.ipV4();
const v6 = fc.ipV6();
const anything = fc.oneof(
  v4,
  v6,
  fc.tuple(v4, fc.integer({ min: 0, max: 32 })).map(([address, prefix]) => `${address}/${prefix}`),
  fc.tuple(v6, fc.integer({ min: 0, max: 128 })).map(([address, prefix]) => `${address}/${prefix}`),
);

describe('a ban that would lock the operator out', () => {
  test('is seen from both sides: a range that holds an address of ours, and an address in a network of ours', () => {
    const ours = guards(['203.0.113.7', 'the address you come from'], ['172.18.0.0/16', 'the network of containers']);
    expect(lockOutReason(target('203.0.113.7'), ours)).toBe('203.0.113.7 is the address you come from.');
    expect(lockOutReason(target('203.0.113.0/24'), ours)).toBe('203.0.113.0/24 includes 203.0.113.7 (the address you come from).');
    expect(lockOutReason(target('172.18.0.5'), ours)).toBe('172.18.0.5 belongs to 172.18.0.0/16 (the network of containers).');
    expect(lockOutReason(target('0.0.0.0/0'), ours)).toMatch(/includes 203\.0\.113\.7/);
    expect(lockOutReason(target('203.0.113.8'), ours)).toBeUndefined();
    expect(() => refuseLockOut(target('172.16.0.0/12'), ours)).toThrow(
      expect.objectContaining({ code: 'refused.lockOut', kind: 'refused' }),
    );
  });

  test('of IPv6 is one of anything in the same /64, whatever address is taken there next', () => {
    const ours = guards(['2001:db8:1:2::7', 'the address you come from']);
    for (const text of ['2001:db8:1:2::7', '2001:db8:1:2:ffff::1', '2001:db8:1:2::/64', '2001:db8::/32', '2001:db8:1:2:8000::/65'])
      expect(lockOutReason(target(text), ours), text).toBeDefined();
    for (const text of ['2001:db8:1:3::7', '2001:db8:2::/48']) expect(lockOutReason(target(text), ours), text).toBeUndefined();
  });

  test('in the clothes of another family is the same one', () => {
    const ours = guards(['::ffff:203.0.113.7', 'the address you come from']);
    expect(lockOutReason(target('203.0.113.7'), ours)).toBeDefined();
    expect(lockOutReason(target('::ffff:203.0.113.7'), guards(['203.0.113.7', 'x']))).toBeDefined();
  });

  test('is refused exactly if it has an address in common with somebody guarded', () => {
    fc.assert(
      fc.property(anything, fc.array(anything, { maxLength: 6 }), (banned, ours) => {
        const all = guards(...ours.map((text): [string, string] => [text, 'ours']));
        const span = spanOf(banned);
        const common = all.some((guard) => span !== undefined && overlap(guard.span, span));
        expect(lockOutReason(target(banned), all) !== undefined).toBe(common);
      }),
    );
  });

  test('whoever is guarded can never be banned, nor anything around them', () => {
    fc.assert(
      fc.property(fc.oneof(v4, v6), fc.nat(), (address, wide) => {
        const all = guards([address, 'ours']);
        const bits = spanOf(address)?.family === 4 ? 32 : 128;
        const plain = spanOf(address)?.text ?? '';
        expect(lockOutReason(target(plain), all)).toBeDefined();
        expect(lockOutReason(target(`${plain}/${wide % (bits + 1)}`), all)).toBeDefined();
      }),
    );
  });

  test('of a country cannot be told, and where the operator comes from the internet that is said', () => {
    const ours = guards(['203.0.113.7', 'the address you come from'], ['192.168.1.7', 'a session']);
    expect(lockOutReason(target('FR'), ours)).toBeUndefined();
    expect(publicAddresses(ours)).toEqual(['203.0.113.7']);
  });
});
