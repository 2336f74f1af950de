import type { HostSettings, Settings } from '../config/settings.ts';
import { Fault } from '../faults/fault.ts';
import type { OpenFleet } from '../fleet/open-fleet.ts';
import type { PlaceSource } from '../fleet/place-watch.ts';
import type { Tunnels } from '../hosts/tunnel.ts';
import { cleanLine } from '../text/clean.ts';
import type { FarHosts } from './far-hosts.ts';
import type { FarPlacesOptions } from './far-places.ts';
import type { LiveHosts, LiveHostsOptions } from './live-hosts.ts';

interface FarFleetOptions {
  fleet: OpenFleet;
  hosts: FarHosts;
  tunnels: Tunnels;
  places: FarPlacesOptions;
  /** Before a place is followed. */
  prepare: (place: PlaceSource, settings: Settings) => PlaceSource;
  /** Followed when nothing else is left: from a console that shows no place at all no host could be added. */
  otherwise: readonly PlaceSource[];
}

/** Hosts over ssh that come and go while the console runs. */
export class FarFleet {
  readonly #options: FarFleetOptions;
  /** Places that went: what still runs for one of them must not go on with another machine. */
  readonly #gone = new Set<string>();
  #live: LiveHosts | undefined;
  #isClosed = false;

  constructor(options: FarFleetOptions) {
    this.#options = options;
  }

  /** Keeps to what the configuration says from now on. */
  async follow(options: Pick<LiveHostsOptions, 'file' | 'read' | 'shown'>): Promise<void> {
    const { LiveHosts: Live } = await import('./live-hosts.ts');
    if (this.#isClosed || this.#live) return;
    this.#live = new Live({
      ...options,
      add: (name, host, settings) => this.#add(name, host, settings),
      drop: (name, host) => this.#drop(name, host),
    });
    // It may have changed while the console started.
    await this.#live.look();
  }

  /** Resolves when the fleet is as the configuration says, where it is followed. */
  async changed(): Promise<void> {
    await this.#live?.look();
  }

  /** Other engines than before were found on a host: those that are new are followed too. */
  async grow(name: string): Promise<void> {
    const host = this.#live?.shown(name);
    if (host) await this.#add(name, ...host).catch(() => undefined);
  }

  /** @throws Fault `unreachable.hostGone` for a place that was taken out while something still wanted it */
  throwIfGone(place: string): void {
    if (!this.#gone.has(place)) return;
    throw new Fault({
      code: 'unreachable.hostGone',
      message: `${cleanLine(place)} was taken out of the configuration in the meantime.`,
      remedy: 'Add it again: quarterdeck hosts add NAME [user@]host',
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#live?.close();
  }

  async #add(name: string, settings: HostSettings, all: Settings): Promise<void> {
    const { fleet, hosts, places, prepare } = this.#options;
    const { openFarPlaces } = await import('./far-places.ts');
    const sources = await openFarPlaces(await hosts.open(name, settings), settings, places);
    if (this.#isClosed) return;
    const further = sources.filter((place) => !fleet.place(place.name));
    for (const place of further) this.#gone.delete(place.name);
    fleet.add(further.map((place) => prepare(place, all)));
  }

  async #drop(name: string, settings: HostSettings): Promise<void> {
    const { fleet, hosts, tunnels, otherwise } = this.#options;
    const host = await hosts.open(name, settings);
    for (const tunnel of [...tunnels.all]) if (tunnel.wanted.host === host) tunnel.close();
    for (const place of fleet.drop(host)) this.#gone.add(place);
    if (fleet.isEmpty()) fleet.add(otherwise);
    await hosts.close(name, settings);
  }
}
