import { removeOwnFile } from '../config/own-files.ts';
import type { OwnPaths } from '../config/paths.ts';
import { loadSettings, type Settings, settingsFile } from '../config/settings.ts';
import { Fault } from '../faults/fault.ts';
import { limited } from '../faults/waits.ts';
import type { FarEngine, FarHost, HostBook } from '../flows/host-book.ts';
import type { FarPlacesOptions } from './far-places.ts';
import { placeNames } from './place-names.ts';

/** Longer than the engine's own limit, which names what is slow. */
const engineLimitMs = 12_000;

interface OwnHostsOptions extends FarPlacesOptions {
  paths: OwnPaths;
  home: string;
  settings: Settings;
  readOnly: boolean;
  /** Those that this process has already. */
  open: ReadonlyMap<string, FarHost>;
}

/** The hosts of the configuration, for the flows about them. What it opens is closed with it; ssh is loaded when one is opened. */
export function ownHosts(options: OwnHostsOptions): HostBook & { close(): Promise<void> } {
  const { paths, home, env, settings, readOnly, open, openAt } = options;
  const opened = new Map<string, FarHost>();
  return {
    file: settingsFile(paths),
    env,
    home,
    program: env.QUARTERDECK_SSH || 'ssh',
    // Not as they were when the process started: a console lives long.
    list: async () => (await loadSettings(paths, home)).hosts,
    stackFolderOf: ({ stackFolder }) => stackFolder ?? settings.stackFolder,
    async open(name, one) {
      if (readOnly) {
        throw new Fault({
          code: 'refused.readOnly',
          message: `--read-only shows this machine alone, and ${name} is another one.`,
          remedy: 'Run it without --read-only, or run it on that machine.',
        });
      }
      const { openFarHost } = await import('./far-places.ts');
      const isSame = settings.hosts[name]?.ssh === one.ssh && settings.hosts[name]?.sudo === one.sudo;
      const known = (isSame ? open.get(name) : undefined) ?? opened.get(`${name} ${one.ssh}`);
      const host = known ?? openFarHost(name, one, options);
      if (!known) opened.set(`${name} ${one.ssh}`, host);
      return host;
    },
    async engines(name, host, signal) {
      const { findEngines } = await import('../engine/find-engines.ts');
      await host.openSockets(signal);
      const found = await findEngines(host, signal);
      const names = placeNames(
        name,
        found.map(({ url }) => url),
      );
      return Promise.all(
        found.map(async (address, position): Promise<FarEngine> => {
          const one = { place: names[position] ?? name, url: address.url };
          const engine = await openAt(address, host);
          try {
            return { ...one, facts: await limited(signal, engineLimitMs, (limit) => engine.connect(limit)) };
          } catch (thrown) {
            signal.throwIfAborted();
            if (thrown instanceof Fault) return { ...one, fault: thrown };
            throw thrown;
          } finally {
            engine.close();
          }
        }),
      );
    },
    async forget(name) {
      const { knownEnginesFile } = await import('./far-places.ts');
      await removeOwnFile(knownEnginesFile(paths, name));
    },
    async close() {
      await Promise.all([...opened.values()].map((host) => host.close()));
    },
  };
}
