import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { meshVersionOf } from './headscale-version.ts';
import {
  apiKeyPrefix,
  apiKeyProblem,
  isListedAs,
  maskedKey,
  registrationKeyOf,
  registrationProblem,
  tagProblem,
  tagsOf,
} from './mesh-keys.ts';

const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const token = (length: number) => fc.string({ unit: fc.constantFrom(...letters), minLength: length, maxLength: length });
const apiKey = fc.tuple(token(12), token(64)).map(([prefix, secret]) => ({ prefix, secret, key: `hskey-api-${prefix}-${secret}` }));
const oldKey = fc.tuple(token(7), token(43)).map(([prefix, secret]) => ({ prefix, secret, key: `${prefix}.${secret}` }));

describe('API keys', () => {
  test('both kinds are told apart by their prefix, which is no secret, and found in lists', () => {
    fc.assert(
      fc.property(fc.oneof(apiKey, oldKey), ({ prefix, secret, key }) => {
        expect(apiKeyProblem(` ${key}\n`)).toBeUndefined();
        expect(apiKeyPrefix(key)).toBe(prefix);
        expect(apiKeyPrefix(key)).not.toContain(secret);
        expect(isListedAs(key, prefix)).toBe(true);
        expect(isListedAs(key, `hskey-api-${prefix}-***`)).toBe(true);
        expect(isListedAs(key, `hskey-api-${prefix.slice(1)}x-***`)).toBe(false);
      }),
    );
  });

  test.each([
    ['', /Type an API key/],
    ['hskey-auth-abcdefghijkl-x', /which only nodes use/],
    ['hskey-api-abcdefghijkl-***', /shown once/],
    ['hskey-api-abcdefghijkl-short', /incomplete/],
    ['what?', /API keys start with/],
  ])('%j is none', (text, why) => {
    expect(apiKeyProblem(text)).toMatch(why);
  });

  test('whatever is typed, nothing is thrown', () => {
    fc.assert(
      fc.property(fc.string(), (text) => [apiKeyProblem(text), registrationProblem(text), tagProblem(text), maskedKey(text)].length === 4),
    );
  });
});

describe('pre-auth keys in lists', () => {
  test('the secret part of no kind is seen', () => {
    fc.assert(
      fc.property(token(12), token(64), (prefix, secret) => {
        expect(maskedKey(`hskey-auth-${prefix}-${secret}`)).toBe(`hskey-auth-${prefix}-***`);
        expect(maskedKey(`hskey-auth-${prefix}-***`)).toBe(`hskey-auth-${prefix}-***`);
      }),
    );
    fc.assert(
      fc.property(fc.stringMatching(/^[0-9a-f]{48}$/), (key) => {
        expect(maskedKey(key)).toBe(`${key.slice(0, 6)}***`);
      }),
    );
  });
});

describe('keys under which nodes wait', () => {
  const keys = fc.oneof(
    token(24).map((end) => `hskey-authreq-${end}`),
    token(24),
    fc.stringMatching(/^[0-9a-f]{64}$/).map((end) => `mkey:${end}`),
  );
  test('are found in the key alone, the address and the command', () => {
    fc.assert(
      fc.property(keys, (key) => {
        for (const text of [
          key,
          `  ${key}\n`,
          `https://mesh.example.org/register/${key}`,
          `http://[fd7a::1]:8080/auth/${key}?x=1`,
          `headscale nodes register --user ann --key ${key}`,
          `headscale auth register --auth-id=${key} --user USERNAME`,
          `"${key}"`,
        ]) {
          expect(registrationKeyOf(text)).toBe(key);
          expect(registrationProblem(text)).toBeUndefined();
        }
      }),
    );
  });

  test.each([
    ['', /Paste the registration/],
    [`hskey-auth-abcdefghijkl-${'x'.repeat(64)}`, /pre-auth key/],
    ['https://mesh.example.org/register/', /No registration key/],
  ])('%j holds none', (text, why) => {
    expect(registrationProblem(text)).toMatch(why);
  });
});

test('tags are split at commas and blanks, and looked at one by one', () => {
  expect(tagsOf(' tag:a,tag:b  tag:a ')).toEqual(['tag:a', 'tag:b']);
  expect(tagProblem('tag:a')).toBeUndefined();
  expect(tagProblem('server')).toMatch(/must start with "tag:"/);
  expect(tagProblem('tag:Server')).toMatch(/lower case/);
  expect(tagProblem('tag:1')).toMatch(/must have a letter after/);
});

describe('versions', () => {
  test.each([
    ['v0.29.2', '0.29.2', 29, undefined],
    ['0.23.0', '0.23.0', 23, undefined],
    ['v0.26.0-beta.1', '0.26.0-beta.1', 26, undefined],
    ['v0.22.3', '0.22.3', 23, /older than supported/],
    ['v0.31.0', '0.31.0', 30, /newer than supported/],
    ['v1.2.0', '1.2.0', 30, /newer than supported/],
    ['dev', 'unknown', 29, /reports its version as "dev"/],
    ['', 'unknown', 29, /does not report its version/],
    [undefined, 'unknown', 29, /does not report its version/],
  ] as const)('%s is spoken to in a dialect that is known, and said where it is not', (reported, shown, minor, note) => {
    const version = meshVersionOf(reported);
    expect(version).toMatchObject({ shown, minor });
    if (note) expect(version.note).toMatch(note);
    else expect(version.note).toBeUndefined();
  });

  test('whatever is told, it is a dialect from 0.23 to 0.30', () => {
    fc.assert(
      fc.property(fc.string(), (reported) => {
        const { minor } = meshVersionOf(reported);
        expect(minor >= 23 && minor <= 30).toBe(true);
      }),
    );
  });
});
