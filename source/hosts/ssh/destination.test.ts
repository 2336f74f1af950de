import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseDestination } from './destination.ts';

describe('whom ssh is to reach', () => {
  test.each([
    ['nas', { target: 'nas' }],
    ['op@nas.example.org', { target: 'op@nas.example.org' }],
    ['op@192.168.1.20:2222', { target: 'op@192.168.1.20', port: 2222 }],
    ['ssh://op@nas:22/', { target: 'op@nas', port: 22 }],
    ['fe80::1%eth0', { target: 'fe80::1%eth0' }],
    ['op@[2001:db8::7]:2200', { target: 'op@2001:db8::7', port: 2200 }],
    // A user name may contain an @: the last one separates, as in ssh.
    ['me@example.org@jump', { target: 'me@example.org@jump' }],
  ])('%s', (text, expected) => {
    expect(parseDestination(text)).toEqual(expected);
  });

  test.each([
    ['', 'the host is missing'],
    ['op@', 'the host is missing'],
    ['@nas', 'the user name before the @ is missing'],
    ['-oProxyCommand=id', 'must not begin with a dash'],
    ['op@-oProxyCommand=id', 'must not begin with a dash'],
    ['-l@nas', 'the user name contains invalid characters'],
    ['my nas', 'the host name contains invalid characters'],
    ['nas;id', 'the host name contains invalid characters'],
    ['nas\nid', 'the host name contains invalid characters'],
    ['nas$(id)', 'the host name contains invalid characters'],
    ['nas:0', 'a number from 1 to 65535'],
    ['nas:99999', 'a number from 1 to 65535'],
    ['nas:', 'a number from 1 to 65535'],
    ['nas:0x16', 'a number from 1 to 65535'],
  ])('%j is refused with the reason', (text, reason) => {
    expect(() => parseDestination(text)).toThrow(
      expect.objectContaining({ code: 'usage.destination', message: expect.stringContaining(reason) }),
    );
  });

  test('never lets anything through that ssh could read as an option or as more than one word', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...'-@:[] .%aB7\n\t;$\0ü'), { maxLength: 12 }), (characters) => {
        let target: string;
        try {
          ({ target } = parseDestination(characters.join('')));
        } catch {
          return;
        }
        expect(target).toMatch(/^[A-Za-z0-9_:][\x21-\x7e]*$/);
        expect(target.slice(target.lastIndexOf('@') + 1)).not.toMatch(/^-/);
      }),
    );
  });
});
