import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { engineNameOf, hostDouble, LiveEngine } from '../../test/doubles/live-engine.ts';
import { writeOwnFile } from '../config/own-files.ts';
import { ownPaths } from '../config/paths.ts';
import { defaultSettings, type HostSettings, type Settings } from '../config/settings.ts';
import { type OpenFleet, openFleet } from '../fleet/open-fleet.ts';
import type { Host } from '../hosts/host.ts';
import { Tunnels } from '../hosts/tunnel.ts';
import { knownEnginesFile } from './known-engines.ts';
import { createRemoteFleet } from './remote-fleet.ts';
import type { RemoteHosts } from './remote-hosts.ts';

let folder: string;
let fleet: OpenFleet;
let remote: ReturnType<typeof createRemoteFleet>;
let hosts: Record<string, HostSettings>;
let closed: string[];
const opened = new Map<string, Host>();
const paths = () => ownPaths({ QUARTERDECK_HOME: folder }, folder);

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'qd-far-'));
  hosts = {};
  closed = [];
  opened.clear();
  const here = engineNameOf(new LiveEngine());
  fleet = openFleet({
    engines: [here],
    catalog: { entries: [], get: () => undefined, problems: [] },
    stackFolder: '~/stack',
    execAllowed: true,
  });
  const open = async (name: string) => {
    const host = opened.get(name) ?? Object.assign(hostDouble(), { name, expect: () => undefined });
    opened.set(name, host);
    return host;
  };
  remote = createRemoteFleet({
    fleet,
    tunnels: new Tunnels(),
    hosts: { open, close: async (name: string) => void closed.push(name) } as unknown as RemoteHosts,
    engines: { paths: paths(), env: {}, questions: {} as never, openAt: async () => new LiveEngine() as never },
    prepare: (engineName) => ({ ...engineName, open: async () => new LiveEngine() as never }),
    otherwise: [here],
  });
  const read = async (): Promise<Settings> => ({ ...defaultSettings, hosts });
  await remote.follow({ file: join(folder, 'config.yaml'), read, shown: {} });
});
afterEach(async () => {
  remote.close();
  fleet.close();
  await rm(folder, { recursive: true, force: true });
});

const shows = (...expected: string[]) =>
  vi.waitFor(() => expect(fleet.snapshot().engines.map(({ name }) => name)).toEqual(expected), { timeout: 5_000 });

test('follows a host that was added, and further engines of it when they are found', async () => {
  hosts = { nas: { ssh: 'nas' } };
  await remote.changed();
  await shows('local', 'nas');
  await writeOwnFile(knownEnginesFile(paths(), 'nas'), '["unix:///var/run/docker.sock", "unix:///run/podman/podman.sock"]');
  await remote.grow('nas');
  await shows('local', 'nas', 'nas/podman');
  await remote.grow('nas');
  await shows('local', 'nas', 'nas/podman');
});

test('drops a host that was taken out with all its places, closes it, and lets nothing that was meant for it go on elsewhere', async () => {
  hosts = { nas: { ssh: 'nas' }, vps: { ssh: 'vps' } };
  await remote.changed();
  await shows('local', 'nas', 'vps');
  hosts = { vps: { ssh: 'vps' } };
  await remote.changed();
  await shows('local', 'vps');
  expect(closed).toEqual(['nas']);
  expect(() => remote.throwIfGone('nas')).toThrow('removed from the configuration');
  expect(() => remote.throwIfGone('vps')).not.toThrow();
  hosts = { nas: { ssh: 'op@nas' }, vps: { ssh: 'vps' } };
  await remote.changed();
  await shows('local', 'vps', 'nas');
  expect(() => remote.throwIfGone('nas')).not.toThrow();
});

test('makes a host anew that is somewhere else now', async () => {
  hosts = { nas: { ssh: 'nas' } };
  await remote.changed();
  hosts = { nas: { ssh: 'op@nas.example.org' } };
  await remote.changed();
  await shows('local', 'nas');
  expect(closed).toEqual(['nas']);
});
