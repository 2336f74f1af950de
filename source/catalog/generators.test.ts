import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { generate, generatorPattern } from './generators.ts';

describe('generate', () => {
  it.each([
    ['ADMIN_TOKEN', 'base64:48', 48],
    ["the identity provider's secret key", 'base64:60', 60],
    ['AUTH_SECRET', 'base64:32', 32],
  ])('%s decodes to %s bytes (R19)', (_, generator, bytes) => {
    const value = generate(generator);
    expect(Buffer.from(value, 'base64')).toHaveLength(bytes);
    expect(Buffer.from(value, 'base64').toString('base64')).toBe(value);
  });

  it('ENCRYPTION_KEY is 16 bytes in hex (R19)', () => {
    expect(generate('hex:16')).toMatch(/^[0-9a-f]{32}$/);
  });

  it('a master key is exactly 32 characters that need no quoting (R19)', () => {
    expect(generate('alphanumeric:32')).toMatch(/^[A-Za-z0-9]{32}$/);
  });

  it('begins with what a product asks for', () => {
    expect(generate('alphanumeric:32:sk-')).toMatch(/^sk-[A-Za-z0-9]{32}$/);
  });

  it('has every size, and never the same twice', () => {
    fc.assert(
      fc.property(fc.integer({ min: 8, max: 200 }), (size) => {
        expect(Buffer.from(generate(`base64:${size}`), 'base64')).toHaveLength(size);
        expect(generate(`hex:${size}`)).toHaveLength(size * 2);
        expect(generate(`alphanumeric:${size}`)).toHaveLength(size);
        expect(generate(`hex:${size}`)).not.toBe(generate(`hex:${size}`));
      }),
    );
    expect(generate('uuid')).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  });

  it("knows every generator of the specification's inventory, its string:N as characters (R19)", () => {
    const inventory = parse(readFileSync('test/spec/components.yaml', 'utf8')) as { fields?: { generator?: string }[] }[];
    const named = new Set(inventory.flatMap(({ fields }) => (fields ?? []).flatMap(({ generator }) => generator ?? [])));
    expect(named.size).toBeGreaterThan(5);
    for (const generator of named) expect(generator.replace('string:', 'alphanumeric:')).toMatch(generatorPattern);
  });

  it('refuses what it does not know', () => {
    for (const generator of ['base64', 'base64:0', 'hex:-1', 'md5:3', 'uuid:4', '']) expect(() => generate(generator)).toThrow(RangeError);
  });
});
