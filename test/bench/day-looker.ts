import { request } from 'node:http';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { CatalogEntry } from '../../source/catalog/catalog.ts';
import { catalogOf, openCatalog } from '../../source/catalog/open-catalog.ts';
import { openEngine } from '../../source/engine/dockerode-engine.ts';
import { openFleet } from '../../source/fleet/open-fleet.ts';
import { isServing } from '../../source/fleet/service-state.ts';
import { openPracticeHost } from '../../source/hosts/practice-host.ts';
import { openLogs } from '../../source/logs/rings.ts';
import { durationMs } from '../../source/text/quantities.ts';
import { type DayLook, type DayTally, dayEngine, dayRates, probedEntry, writerName } from './day.ts';

// What the row `day` starts: follows fleet, events, probes and a log as the console does, through a day of `serve-day.ts`, and prints what it
// saw of it.

const [, , folder = '', seconds = '60'] = process.argv;
const dayMs = Number(seconds) * 1_000;
/** For what is under way when the day ends. */
const lateMs = 10_000;

setFlagsFromString('--expose_gc');
const collect = runInNewContext('gc') as () => void;
const memoryMb = () => {
  collect();
  return process.memoryUsage().rss / 1e6;
};

const socketPath = join(folder, 'engine.sock');
async function ask(method: 'GET' | 'POST'): Promise<string> {
  const { promise, resolve: answered, reject } = Promise.withResolvers<string>();
  request({ socketPath, method, path: '/day' }, (response) => answered(text(response)))
    .on('error', reject)
    .end();
  return await promise;
}

const builtIn = await openCatalog({ compiledFile: resolve(import.meta.dirname, '../../dist/catalog.json') });
/** With that many times as many probes. Of the entry that has them alone: a compiled entry is decoded when it is read. */
const catalog = catalogOf(
  builtIn.entries.map((entry) => (entry.id === probedEntry ? probedMoreOften(entry) : entry)),
  [],
);

function probedMoreOften(entry: CatalogEntry): CatalogEntry {
  const { probe } = entry;
  if (!probe?.every) throw new Error(`${entry.id} has no interval of its probe`);
  const every = `${durationMs(probe.every) / dayRates.faster}ms`;
  const copy: Record<string, unknown> = {};
  // Its fields are inherited getters, which a spread would leave out.
  for (const key in entry) copy[key] = entry[key as keyof CatalogEntry];
  return { ...(copy as unknown as CatalogEntry), probe: { ...probe, every } };
}

const seen = { events: 0, streams: 0 };
// Listeners of the machine would be read from a route that this engine does not have.
const host = { ...openPracticeHost(folder), listeners: async () => [] };
const open = async () => {
  const engine = openEngine({ url: `unix://${socketPath}`, origin: 'bench' }, host);
  const events = engine.events.bind(engine);
  engine.events = async function* (options) {
    seen.streams++;
    for await (const event of events(options)) {
      seen.events++;
      yield event;
    }
  };
  return engine;
};
const fleet = openFleet({
  engines: [{ name: dayEngine, host, open }],
  catalog,
  stackFolder: join(folder, 'home/stack'),
  execAllowed: false,
  observationsKept: false,
});
const { components } = await fleet.settle(AbortSignal.timeout(30_000), 'complete');
const writer = components.find(({ services }) => services.some(({ containerName }) => containerName === writerName));
if (!writer) throw new Error('the container that writes is not in the fleet');
const { source } = openLogs(fleet).open(writer.key);
const reading = source.read();
// A screen reads both whenever they change.
fleet.subscribe(() => fleet.snapshot());
reading.subscribe(() => reading.entries());
await delay(1_000);
seen.events = 0;

await ask('POST');
const sinceMs = performance.now();
const cpu = process.cpuUsage();
await delay(dayMs / 10);
const tenthMb = memoryMb();
await delay(sinceMs + dayMs - performance.now());
const { user, system } = process.cpuUsage(cpu);
const cpuPercent = (user + system) / 10 / (performance.now() - sinceMs);
const endMb = memoryMb();

const differingFrom = (tally: DayTally): string[] => {
  const services = new Map(fleet.snapshot().components.flatMap((component) => component.services.map((one) => [one.containerId, one])));
  const differing = tally.containers.filter(({ id, running, health }) => {
    const service = services.get(id);
    services.delete(id);
    return !service || isServing(service.state) !== running || (running && service.health !== health);
  });
  return [...differing.map(({ name }) => name), ...[...services.values()].map(({ containerName }) => containerName)];
};

const untilMs = performance.now() + lateMs;
let tally: DayTally;
let differing: string[];
do {
  await delay(250);
  tally = JSON.parse(await ask('GET')) as DayTally;
  differing = differingFrom(tally);
} while (
  performance.now() < untilMs &&
  (!tally.over || differing.length > 0 || seen.events < tally.events || source.total() < tally.lines)
);
if (!tally.over) throw new Error('the day did not end');
const { events, lines, probes, unprobed } = tally;
const look: DayLook = {
  ...{ events, lines, probes, unprobed, tenthMb, endMb, differing, cpuPercent },
  ...{ eventsSeen: seen.events, linesSeen: source.total(), streams: seen.streams },
};
console.log(JSON.stringify(look));
process.exit(0);
