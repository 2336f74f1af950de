import type { HostSettings } from '../config/settings.ts';
import type { SshHost } from '../hosts/ssh/ssh-host.ts';
import type { FarPlacesOptions } from './far-places.ts';

/** Hosts over ssh that this process has, each opened once: the fleet and flows about hosts share the connection, and what was answered for it. */
export class FarHosts {
  readonly #options: FarPlacesOptions;
  readonly #hosts = new Map<string, Promise<SshHost>>();

  constructor(options: FarPlacesOptions) {
    this.#options = options;
  }

  /** Nothing is asked of it yet. ssh is loaded with the first. */
  open(name: string, settings: HostSettings): Promise<SshHost> {
    const key = keyOf(name, settings);
    const host = this.#hosts.get(key) ?? import('./far-places.ts').then(({ openFarHost }) => openFarHost(name, settings, this.#options));
    this.#hosts.set(key, host);
    return host;
  }

  /** Ends its connection, and what goes through it. */
  async close(name: string, settings: HostSettings): Promise<void> {
    const key = keyOf(name, settings);
    const host = this.#hosts.get(key);
    this.#hosts.delete(key);
    await (await host)?.close();
  }

  async closeAll(): Promise<void> {
    await Promise.all([...this.#hosts.values()].map(async (host) => (await host).close()));
  }
}

/** What makes it another way to another machine. */
function keyOf(name: string, { ssh, sudo = false }: HostSettings): string {
  return JSON.stringify([name, ssh, sudo]);
}
