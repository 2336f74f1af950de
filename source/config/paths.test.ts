import { describe, expect, it } from 'vitest';
import { expandHome, ownPaths } from './paths.ts';

describe('ownPaths', () => {
  it('follows the XDG defaults', () => {
    expect(ownPaths({}, '/home/ann')).toEqual({
      config: '/home/ann/.config/quarterdeck',
      state: '/home/ann/.local/state/quarterdeck',
      data: '/home/ann/.local/share/quarterdeck',
      cache: '/home/ann/.cache/quarterdeck',
      run: '/home/ann/.local/state/quarterdeck/run',
    });
  });

  it('follows the XDG variables and ignores relative ones', () => {
    const paths = ownPaths({ XDG_CONFIG_HOME: '/c', XDG_STATE_HOME: 'relative', XDG_RUNTIME_DIR: '/run/user/7' }, '/home/ann');
    expect(paths.config).toBe('/c/quarterdeck');
    expect(paths.state).toBe('/home/ann/.local/state/quarterdeck');
    expect(paths.run).toBe('/run/user/7/quarterdeck');
  });

  it('puts everything under QUARTERDECK_HOME', () => {
    const paths = ownPaths({ QUARTERDECK_HOME: '/q', XDG_CONFIG_HOME: '/c' }, '/home/ann');
    expect(Object.values(paths)).toEqual(['/q/config', '/q/state', '/q/data', '/q/cache', '/q/run']);
  });
});

describe('expandHome', () => {
  it('knows the tilde alone and before a slash', () => {
    expect(expandHome('~', '/home/ann')).toBe('/home/ann');
    expect(expandHome('~/stack', '/home/ann')).toBe('/home/ann/stack');
    expect(expandHome('~bob/stack', '/home/ann')).toBe('~bob/stack');
    expect(expandHome('/srv/~', '/home/ann')).toBe('/srv/~');
  });
});
