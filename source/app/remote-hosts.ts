import type { HostSettings } from '../config/settings.ts';
import type { SshHost } from '../hosts/ssh/ssh-host.ts';
import type { RemoteEnginesOptions } from './remote-engines.ts';

/** Each host is opened once: the fleet and flows about hosts share the connection and the answers to its prompts. */
export function createRemoteHosts(options: RemoteEnginesOptions) {
  const hosts = new Map<string, Promise<SshHost>>();
  return {
    /** Opens the host without a query. ssh is loaded with the first host. */
    open(name: string, settings: HostSettings): Promise<SshHost> {
      const key = keyOf(name, settings);
      const host = hosts.get(key) ?? import('./remote-engines.ts').then(({ openRemoteHost }) => openRemoteHost(name, settings, options));
      hosts.set(key, host);
      return host;
    },
    async close(name: string, settings: HostSettings): Promise<void> {
      const key = keyOf(name, settings);
      const host = hosts.get(key);
      hosts.delete(key);
      await (await host)?.close();
    },
    async closeAll(): Promise<void> {
      await Promise.all([...hosts.values()].map(async (host) => (await host).close()));
    },
  };
}

export type RemoteHosts = ReturnType<typeof createRemoteHosts>;

/** Returns the settings that identify a connection: when they change, it is another one. */
const keyOf = (name: string, { ssh, sudo = false }: HostSettings): string => JSON.stringify([name, ssh, sudo]);
