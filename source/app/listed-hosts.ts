import { removeOwnFile } from '../config/own-files.ts';
import { loadSettings, type Settings, settingsFile } from '../config/settings.ts';
import { Fault } from '../faults/fault.ts';
import { limited } from '../faults/waits.ts';
import type { HostBook, RemoteEngine } from '../flows/hosts/host-book.ts';
import { engineNames, knownEnginesFile } from './known-engines.ts';
import type { RemoteEnginesOptions } from './remote-engines.ts';
import type { RemoteHosts } from './remote-hosts.ts';
import { forgetSeenComponents } from './seen-components.ts';

/** Longer than the engine's own limit, whose error names the slow part. */
const engineLimitMs = 12_000;

interface OwnHostsOptions extends Pick<RemoteEnginesOptions, 'paths' | 'env' | 'openAt'> {
  home: string;
  settings: Settings;
  readOnly: boolean;
  hosts: RemoteHosts;
  /** Resolves when every view of the hosts follows the current configuration. */
  changed: () => Promise<void>;
}

/** A read-only console may be handed to other people: it opens no further connection and starts no ssh with this operator's keys. */
export function readOnlyHere(wanted: string): Fault {
  const message = `--read-only is limited to this machine, and ${wanted} is a remote host.`;
  return new Fault('refused.readOnly', message, 'Run the command without --read-only, or on that host.');
}

export function ownHosts({ paths, home, env, settings, readOnly, hosts, openAt, changed }: OwnHostsOptions): HostBook {
  return {
    file: settingsFile(paths),
    env,
    home,
    program: env.QUARTERDECK_SSH || 'ssh',
    // Read again each time, because a console runs for a long time.
    list: async () => (await loadSettings(paths, home)).hosts,
    stackFolderOf: ({ stackFolder }) => stackFolder ?? settings.stackFolder,
    changed,
    async open(name, one) {
      if (readOnly) throw readOnlyHere(name);
      return hosts.open(name, one);
    },
    async engines(name, host, signal) {
      const { findEngines } = await import('../engine/find-engines.ts');
      await host.openSockets(signal);
      const found = await findEngines(host, signal);
      const names = engineNames(name, found);
      return Promise.all(
        found.map(async (address, position): Promise<RemoteEngine> => {
          const one = { engineName: names[position] ?? name, url: address.url };
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
