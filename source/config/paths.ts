import { isAbsolute, join } from 'node:path';

/** Where the console keeps what is its own. Folders are made when first written to, with mode 0700. */
export interface OwnPaths {
  /** What the operator writes: `config.yaml`. */
  config: string;
  /** What outlives a run: audit, journal. */
  state: string;
  /** What cannot be made again: sealed secrets. */
  data: string;
  /** What can be thrown away at any time. */
  cache: string;
  /** Sockets and locks of running processes. */
  run: string;
}

const name = 'quarterdeck';

/**
 * The XDG base folders; `QUARTERDECK_HOME` puts all of them under one folder. Relative values in the XDG variables are ignored,
 * as the XDG specification asks.
 */
export function ownPaths(env: Readonly<Record<string, string | undefined>>, home: string): OwnPaths {
  const own = env['QUARTERDECK_HOME'];
  if (own) {
    const base = isAbsolute(own) ? own : join(process.cwd(), own);
    return {
      config: join(base, 'config'),
      state: join(base, 'state'),
      data: join(base, 'data'),
      cache: join(base, 'cache'),
      run: join(base, 'run'),
    };
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

/** `~` and `~/x` as the operator's home; everything else unchanged. */
export function expandHome(path: string, home: string): string {
  if (path === '~') return home;
  return path.startsWith('~/') ? join(home, path.slice(2)) : path;
}
