import { describe, expect, test } from 'vitest';
import { countryCodes, countryName, parseBanTarget, targetWords } from './ban-target.ts';
import { goDurationMs, goDurationText } from './go-duration.ts';

describe('what can be banned (R63)', () => {
  test.each([
    ['192.0.2.7', ['--ip', '192.0.2.7']],
    ['2001:DB8::7', ['--ip', '2001:db8::7']],
    ['192.0.2.99/24', ['--range', '192.0.2.0/24']],
    ['192.0.2.7/32', ['--ip', '192.0.2.7']],
    ['2001:db8::/32', ['--range', '2001:db8::/32']],
    ['fr', ['--scope', 'Country', '--value', 'FR']],
  ])('%s', (text, words) => {
    const target = parseBanTarget(text);
    expect(typeof target === 'string' ? target : targetWords(target)).toEqual(words);
  });

  test.each([
    ['', /Enter an address/],
    ['192.0.2', /must be an address, a range or a country/],
    ['010.0.0.1', /must be an address/],
    ['192.0.2.0/33', /must be an address/],
    ['--all', /must be an address/],
    ['fe80::1%eth0', /Remove the zone/],
    ['UK', /GB/],
    ['XX', /^Unknown country code/],
    ['EU', /^Unknown country code/],
    ['FRA', /must be an address/],
    ['evil\u001b[2J', /must be an address/],
  ])('%s is none of it', (text, why) => {
    const said = parseBanTarget(text);
    expect(said).toEqual(expect.stringMatching(why));
    expect(said).not.toContain('\u001b');
  });

  test('every code of a country has a name, and there are as many as ISO 3166-1 has', () => {
    expect(countryCodes.size).toBe(249);
    for (const code of countryCodes) expect(countryName(code), code).not.toBe(code);
    expect(countryName('DE')).toBe('Germany');
  });
});

describe("Go's durations", () => {
  test.each([
    ['3h59m59.63s', 14_399_630],
    ['-202.733ms', -202.733],
    ['0s', 0],
    ['1m0s', 60_000],
    ['12µs', 0.012],
    ['1ms12μs', 1.012],
    ['167h59m59s', 604_799_000],
  ])('%s', (text, ms) => expect(goDurationMs(text)).toBeCloseTo(ms, 6));
  test.each(['', '4', '7d', '4 h', 'h', '1h-2m'])('%s is none', (text) => expect(goDurationMs(text)).toBeUndefined());
  test.each([
    [604_800, '168h'],
    [5_400, '1h30m'],
    [90, '1m30s'],
    [45, '45s'],
    [0, '0s'],
  ])('%d seconds are %s, which every version reads', (seconds, text) => {
    expect(goDurationText(seconds)).toBe(text);
    expect(goDurationMs(text)).toBe(seconds * 1000);
  });
});
