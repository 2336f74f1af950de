import { removeOwnFile } from '../config/own-files.ts';
import { loadSettings, type Settings, settingsFile } from '../config/settings.ts';
import { Fault } from '../faults/fault.ts';
import { limited } from '../faults/waits.ts';
import type { FarEngine, HostBook } from '../flows/host-book.ts';
import type { FarHosts } from './far-hosts.ts';
import type { FarPlacesOptions } from './far-places.ts';
import { knownEnginesFile } from './known-engines.ts';
import { placeNames } from './place-names.ts';
import { forgetSeenComponents } from './seen-components.ts';

/** Longer than the engine's own limit, which names what is slow. */
const engineLimitMs = 12_000;

interface OwnHostsOptions extends Pick<FarPlacesOptions, 'paths' | 'env' | 'openAt'> {
  home: string;
  settings: Settings;
  readOnly: boolean;
  /** Those that this process has, and opens. */
  hosts: FarHosts;
  /** Resolves when all that shows hosts has taken over what the configuration says now. */
  changed: () => Promise<void>;
}

/** The hosts of the configuration, for the flows about them. */
export function ownHosts({ paths, home, env, settings, readOnly, hosts, openAt, changed }: OwnHostsOptions): HostBook {
  return {
    file: settingsFile(paths),
    env,
    home,
    program: env.QUARTERDECK_SSH || 'ssh',
    // Not as they were when the process started: a console lives long.
    list: async () => (await loadSettings(paths, home)).hosts,
    stackFolderOf: ({ stackFolder }) => stackFolder ?? settings.stackFolder,
    changed,
    async open(name, one) {
      if (readOnly) {
        throw new Fault({
          code: 'refused.readOnly',
          message: `--read-only shows this machine alone, and ${name} is another one.`,
          remedy: 'Run it without --read-only, or run it on that machine.',
        });
      }
      return hosts.open(name, one);
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
      await removeOwnFile(knownEnginesFile(paths, name));
      await forgetSeenComponents(paths, name);
    },
  };
}
