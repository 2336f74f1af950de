import { isAbsolute, join, resolve } from 'node:path';

/** The console's own folders. They are created when first written to, with mode 0700. */
export interface OwnPaths {
  config: string;
  /** Files that outlive a run: audit, journal. */
  state: string;
  /** Files that cannot be recreated: sealed secrets. */
  data: string;
  cache: string;
  run: string;
}

const name = 'quarterdeck';

/** The XDG base folders, or all below `QUARTERDECK_HOME`. Relative values in the XDG variables are ignored, as the specification asks. */
export function ownPaths(env: Readonly<Record<string, string | undefined>>, home: string): OwnPaths {
  const own = env['QUARTERDECK_HOME'];
  if (own) {
    const inside = (folder: string) => resolve(own, folder);
    return { config: inside('config'), state: inside('state'), data: inside('data'), cache: inside('cache'), run: inside('run') };
  }
  const xdg = (variable: string, otherwise: string) => {
    const value = env[variable];
    return join(value && isAbsolute(value) ? value : otherwise, name);
  };
  const state = xdg('XDG_STATE_HOME', join(home, '.local', 'state'));
  const runtime = env['XDG_RUNTIME_DIR'];
  return {
    config: xdg('XDG_CONFIG_HOME', join(home, '.config')),
    state,
    data: xdg('XDG_DATA_HOME', join(home, '.local', 'share')),
    cache: xdg('XDG_CACHE_HOME', join(home, '.cache')),
    run: runtime && isAbsolute(runtime) ? join(runtime, name) : join(state, 'run'),
  };
}

export function expandHome(path: string, home: string): string {
  if (path === '~') return home;
  return path.startsWith('~/') ? join(home, path.slice(2)) : path;
}
