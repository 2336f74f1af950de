import { mkdirSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { serveApi } from '../../source/practice/engine/api-server.ts';
import type { Container } from '../../source/practice/engine/container.ts';
import { createContainer } from '../../source/practice/engine/create-container.ts';
import { Machine } from '../../source/practice/engine/machine.ts';
import type { Program, Run } from '../../source/practice/engine/program.ts';
import { sendJson } from '../../source/practice/engine/request.ts';
import { type DayTally, dayRates, probedImage, writerName } from './day.ts';

// Started by the row `day`: serves an engine whose containers change, log and answer probes as in a day, in less time. `POST /day` begins
// it, and is answered when the log that is followed is as long as it stays. `GET /day` counts what happened since.

const [, , folder = '', seconds = '60'] = process.argv;
const { faster, containers, probed, changeEveryMs, restartEveryMs, linesPerSecond, linesBefore } = dayRates;
const startedMs = Date.now() - 86_400_000;
const firstPort = 20_000;
/** A probe has to come within so much of the end, a hundred intervals at least. */
const probedWithinMs = 5_000;

const home = join(folder, 'home');
mkdirSync(home);
const machine = new Machine({ portsFolder: join(folder, 'ports'), bootMs: startedMs, mountable: home });
for (const [image, sizeBytes] of [['busybox:latest', 4_260_000] as const, [probedImage, 700_000_000] as const])
  machine.images.add(image, { createdMs: startedMs, sizeBytes });

const count = { events: 0, lines: 0, probes: 0 };
const probedMs = new Map<string, number>();
const runs = new Map<string, Run>();
let over = false;
let endedMs = 0;

const nameOf = (number: number) => `bench-${String(number).padStart(2, '0')}`;

function sleeperOf(name: string): Program {
  const answer: RequestListener = (_, response) => {
    count.probes++;
    probedMs.set(name, Date.now());
    response.setHeader('Content-Type', 'application/json');
    response.end('{"status": "UP", "version": "1.0.0"}');
  };
  return {
    listeners: { 8080: answer },
    start(run) {
      runs.set(name, run);
      // A container that was recreated meanwhile has another run.
      void delay(20).then(() => run.health('healthy', 'ok'));
    },
    onTerminate: () => ({ exitCode: 0, afterMs: 20 }),
  };
}

async function create(number: number, createdMs?: number): Promise<void> {
  const name = nameOf(number);
  const isProbed = number < probed;
  const container = createContainer(
    machine,
    {
      name,
      image: isProbed ? probedImage : 'busybox:latest',
      labels: { 'com.docker.compose.project': name, 'com.docker.compose.service': isProbed ? 'pdf' : 'sleeper' },
      ports: isProbed ? [{ containerPort: 8080, protocol: 'tcp', hostIp: '127.0.0.1', hostPort: firstPort + number }] : [],
      healthcheck: { test: ['CMD', 'true'], intervalMs: 30_000 },
      restartPolicy: { name: 'unless-stopped', maximum: 0 },
    },
    { program: sleeperOf(name), ...(createdMs !== undefined && { createdMs }) },
  );
  await machine.start(container, createdMs);
}

function writeLines(howMany: number): void {
  const run = runs.get(writerName);
  for (let line = 0; run && !run.signal.aborted && line < howMany; line++) {
    count.lines++;
    run.write(`${String(count.lines).padStart(9, '0')} bench: a request took ${count.lines % 97} ms and was answered with 200\n`);
  }
}

const recreate = async (container: Container, number: number) => {
  await machine.remove(container, { force: true, volumes: false });
  await create(number);
};

/** One change in the life of a container. One that is down is started instead, an unhealthy one becomes healthy. */
async function change(index: number): Promise<void> {
  const number = index % containers;
  const container = machine.container(nameOf(number));
  const run = runs.get(container.name);
  if (container.state.status === 'restarting') return;
  if (!container.isUp) return void (await machine.start(container));
  if (container.state.health !== 'healthy') return run?.health('healthy', 'ok');
  const kinds = [
    () => machine.restart(container),
    () => machine.crash(container, 1),
    async () => run?.health('unhealthy', 'it does not answer'),
    () => recreate(container, number),
    () => machine.stop(container),
  ];
  // Another kind in every round, whatever the number of containers.
  await kinds[(index + Math.floor(index / containers)) % kinds.length]?.();
}

async function live(): Promise<void> {
  const sinceMs = performance.now();
  const untilMs = sinceMs + Number(seconds) * 1_000;
  const at = { change: 0, restart: 1, lines: 0 };
  const due = (everyMs: number) => (performance.now() - sinceMs) / (everyMs / faster);
  while (performance.now() < untilMs) {
    const lines = Math.floor(due(1_000 / linesPerSecond));
    // While its container is down it writes nothing, and does not catch up.
    writeLines(lines - at.lines);
    at.lines = lines;
    for (; at.change < due(changeEveryMs); at.change++) void change(at.change);
    for (; at.restart <= due(restartEveryMs); at.restart++) void machine.restart(machine.container(writerName));
    await delay(10);
  }
  endedMs = Date.now();
  while (machine.containers().some(({ state }) => state.status === 'restarting')) await delay(100);
  await delay(1_000);
  over = true;
}

function tally(): DayTally {
  const unprobed = Array.from({ length: probed }, (_, number) => machine.container(nameOf(number))).filter(
    ({ isUp, name, state }) =>
      isUp && (state.startedMs ?? 0) < endedMs - probedWithinMs && (probedMs.get(name) ?? 0) < endedMs - probedWithinMs,
  );
  return {
    ...count,
    over,
    unprobed: unprobed.map(({ name }) => name),
    containers: machine.containers().map(({ id, name, isUp, state }) => ({ id, name, running: isUp, health: state.health ?? 'none' })),
  };
}

for (let number = 0; number < containers; number++) await create(number, startedMs);
const writer = createContainer(
  machine,
  {
    ...{ name: writerName, image: 'busybox:latest' },
    labels: { 'com.docker.compose.project': writerName, 'com.docker.compose.service': 'writer' },
  },
  {
    createdMs: startedMs,
    program: { start: (run) => void runs.set(writerName, run), onTerminate: () => ({ exitCode: 0, afterMs: 20 }) },
  },
);
await machine.start(writer, startedMs);
await serveApi(machine, {
  socket: join(folder, 'engine.sock'),
  more: {
    'POST /day': async ({ raw }) => {
      raw.resume();
      machine.events.on('event', () => {
        count.events++;
      });
      while (count.lines < linesBefore) {
        writeLines(100);
        await delay(10);
      }
      void live();
    },
    'GET /day': (request) => sendJson(request, tally()),
  },
});
console.log('serving');
