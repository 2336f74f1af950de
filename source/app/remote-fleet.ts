import { watchOwnFile } from '../config/own-files.ts';
import type { HostSettings, Settings } from '../config/settings.ts';
import { Fault } from '../faults/fault.ts';
import { ignoreFault } from '../faults/unless-fault.ts';
import type { EngineSource } from '../fleet/engine-watch.ts';
import type { OpenFleet } from '../fleet/open-fleet.ts';
import type { Tunnels } from '../hosts/tunnel.ts';
import { cleanLine } from '../text/clean.ts';
import type { RemoteEnginesOptions } from './remote-engines.ts';
import type { RemoteHosts } from './remote-hosts.ts';

interface RemoteFleetOptions {
  fleet: OpenFleet;
  hosts: RemoteHosts;
  tunnels: Tunnels;
  engines: RemoteEnginesOptions;
  prepare: (engineView: EngineSource, settings: Settings) => EngineSource;
  /** Followed when no host is left: a console without an engine could not add a host. */
  otherwise: readonly EngineSource[];
}

/** Checks the modification time of the settings this often: enough for a host that was added in another terminal. */
const lookEveryMs = 2_000;

interface Followed {
  /** Reads the current settings. Throws a Fault while they are invalid. */
  read(): Promise<Settings>;
  settings?: Settings;
  shown: Map<string, HostSettings>;
  unwatch: () => void;
}

/** Adds and removes hosts as the configuration changes while the console runs, whichever process changes it. */
export function createRemoteFleet({ fleet, hosts, tunnels, engines, prepare, otherwise }: RemoteFleetOptions) {
  /** Removed engines. Work still in progress for one of them must not continue on another machine. */
  const gone = new Set<string>();
  let followed: Followed | undefined;
  let looking: Promise<void> = Promise.resolve();
  let isClosed = false;

  async function add(name: string, settings: HostSettings, all: Settings): Promise<void> {
    const { openRemoteEngines } = await import('./remote-engines.ts');
    const sources = await openRemoteEngines(await hosts.open(name, settings), settings, engines);
    if (isClosed) return;
    const further = sources.filter((engineView) => !fleet.watchOf(engineView.name));
    for (const engineView of further) gone.delete(engineView.name);
    fleet.add(further.map((engineName) => prepare(engineName, all)));
  }

  async function drop(name: string, settings: HostSettings): Promise<void> {
    const host = await hosts.open(name, settings);
    for (const tunnel of [...tunnels.all]) if (tunnel.wanted.host === host) tunnel.close();
    for (const engineName of fleet.drop(host)) gone.add(engineName);
    if (fleet.isEmpty()) fleet.add(otherwise);
    await hosts.close(name, settings);
  }

  /** Applies the current settings. Never rejects: while they are invalid, nothing changes. */
  function look(): Promise<void> {
    // Checks run one after the other: two at once would add the same host twice.
    looking = looking.then(apply);
    return looking;
  }

  async function apply(): Promise<void> {
    const settings = await followed?.read().catch(ignoreFault);
    if (!followed || !settings) return;
    followed.settings = settings;
    const { shown } = followed;
    for (const [name, host] of [...shown]) {
      if (isClosed) return;
      if (isSame(host, settings.hosts[name])) continue;
      shown.delete(name);
      await drop(name, host);
    }
    for (const [name, host] of Object.entries(settings.hosts)) {
      if (isClosed) return;
      if (shown.has(name)) continue;
      shown.set(name, host);
      // With a fault the address is invalid, which is reported at the next start.
      await add(name, host, settings).catch(ignoreFault);
    }
  }

  return {
    /** `shown`: the hosts that the fleet has already. */
    async follow({ file, read, shown }: Pick<Followed, 'read'> & { file: string; shown: Settings['hosts'] }): Promise<void> {
      if (isClosed || followed) return;
      followed = { read, shown: new Map(Object.entries(shown)), unwatch: watchOwnFile(file, lookEveryMs, () => void look()) };
      // The file may have changed while the console started.
      await look();
    },
    changed: look,
    async grow(name: string): Promise<void> {
      const host = followed?.shown.get(name);
      if (host && followed?.settings) await add(name, host, followed.settings).catch(() => undefined);
    },
    /** @throws Fault `unreachable.hostGone` for an engine that was removed while it was still in use */
    throwIfGone(engineName: string): void {
      if (!gone.has(engineName)) return;
      const message = `${cleanLine(engineName)} was removed from the configuration in the meantime.`;
      throw new Fault('unreachable.hostGone', message, 'Add the host again: quarterdeck hosts add NAME [user@]host');
    },
    close(): void {
      isClosed = true;
      followed?.unwatch();
    },
  };
}

function isSame(one: HostSettings, other: HostSettings | undefined): boolean {
  return other !== undefined && one.ssh === other.ssh && one.sudo === other.sudo && one.stackFolder === other.stackFolder;
}
