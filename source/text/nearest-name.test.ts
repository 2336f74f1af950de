import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nameRemedy, nearestName } from './nearest-name.ts';

describe('nearestName', () => {
  it('finds what was misspelt, whatever the case', () => {
    expect(nearestName('exposuer', ['role', 'exposure', 'basis'])).toBe('exposure');
    expect(nearestName('LOOPBACK', ['loopback', 'all'])).toBe('loopback');
  });

  it('finds a long name by a part of it', () => {
    const names = ['media-server', 'password-vault', 'secrets-manager-path'];
    expect(nearestName('vault', names)).toBe('password-vault');
    expect(nearestName('pasword', names)).toBe('password-vault');
    expect(nearestName('secrets', names)).toBe('secrets-manager-path');
    expect(nearestName('banana', names)).toBeUndefined();
  });

  it('suggests nothing when nothing is near', () => {
    expect(nearestName('banana', ['role', 'exposure'])).toBeUndefined();
    expect(nearestName('x', [])).toBeUndefined();
  });

  it('finds a name with one letter lost', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[a-z]{4,12}$/), fc.nat(), (name, at) => {
        const index = at % name.length;
        const written = name.slice(0, index) + name.slice(index + 1);
        expect(nearestName(written, ['0000000000000000', name])).toBe(name);
      }),
    );
  });
});

describe('nameRemedy', () => {
  it('lists what there is when nothing is near', () => {
    expect(nameRemedy('banana', ['web', 'hub'], 'Declare one.')).toBe('Use one of: web, hub.');
    expect(nameRemedy('banana', [], 'Declare one.')).toBe('Declare one.');
  });
});
