import { resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { openCatalog } from '../../source/catalog/open-catalog.ts';
import { openEngine } from '../../source/engine/dockerode-engine.ts';
import { openFleet } from '../../source/fleet/open-fleet.ts';
import { openLocalHost } from '../../source/hosts/local-host.ts';

// What the bench starts for each number of hosts: follows an engine on each, as the console does, and prints what that took.

/** Hosts that are reached at once, then those that never answer. */
interface Asked {
  urls: readonly string[];
  silentUrls: readonly string[];
  containers: number;
  idleMs: number;
}

const { urls, silentUrls, containers, idleMs } = JSON.parse(process.argv[2] ?? '') as Asked;
setFlagsFromString('--expose_gc');
const collect = runInNewContext('gc') as () => void;
const memoryMb = () => {
  collect();
  return process.memoryUsage().rss / 1e6;
};
const catalog = await openCatalog({ compiledFile: resolve(import.meta.dirname, '../../dist/catalog.json') });
const local = openLocalHost();
const engineAt = (url: string, name: string) => {
  // Each is a machine of its own; what listens on this one would be read for each.
  const host = { ...local, name, listeners: async () => [] };
  return { name, host, open: async () => openEngine({ url, origin: 'bench' }, host) };
};
const emptyMb = memoryMb();
const startedMs = performance.now();
const fleet = openFleet({
  engines: [...silentUrls.map((url, at) => engineAt(url, `silent-${at}`)), ...urls.map((url, at) => engineAt(url, `host-${at}`))],
  catalog,
  stackFolder: '/nonexistent',
  execAllowed: false,
  observationsKept: false,
});
const until = async (holds: () => boolean) => {
  const { promise, resolve: seen } = Promise.withResolvers<void>();
  const look = () => holds() && seen();
  const stop = fleet.subscribe(look);
  look();
  await promise;
  stop();
  return performance.now() - startedMs;
};
const firstMs = await until(() => fleet.snapshot().components.length > 0);
const allMs = await until(() => fleet.snapshot().components.length === urls.length * containers);
// Inspections follow the lists.
await until(() => fleet.snapshot().components.every(({ services }) => services.every(({ sinceMs }) => sinceMs !== undefined)));
await delay(3_000);
const usedMb = memoryMb();
const cpu = process.cpuUsage();
await delay(idleMs);
const { user, system } = process.cpuUsage(cpu);
console.log(JSON.stringify({ firstMs, allMs, emptyMb, usedMb, idlePercent: (user + system) / 10 / idleMs }));
process.exit(0);
