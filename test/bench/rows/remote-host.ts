import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mintGrant } from '../../../source/grants/mint.ts';
import type { Host } from '../../../source/hosts/host.ts';
import { openLocalHost } from '../../../source/hosts/local-host.ts';
import { openRelay, type Relay } from '../../real/relay.ts';
import { openRemote } from '../../real/remote-host.ts';
import { runOrThrow } from '../../real/scripts.ts';
import { type Sshd, startSshd } from '../../real/sshd.ts';
import type { Bench, BenchRow } from '../bench-row.ts';
import { launcher } from '../programs.ts';
import { type Measure, ownCell } from '../result-table.ts';
import { inTurns, median } from '../statistics.ts';

/** Of the network, there and back. */
const latenciesMs = [0, 25, 100];
const timesOf = (quick: boolean) => (quick ? 20 : 100);
const startsOf = (quick: boolean) => (quick ? 3 : 10);
const patience = () => AbortSignal.timeout(60_000);

/** A question to the engine over a connection of its own, as the console asks. */
async function ping(host: Host, socket: string): Promise<void> {
  const through = await host.dial({ socket }, patience());
  await new Promise<void>((resolve, reject) => {
    const asked = request({ path: '/_ping', headers: { host: 'engine' }, createConnection: () => through as never }, (answer) => {
      answer.resume().once('end', resolve);
    });
    asked.once('error', reject).end();
  });
  through.destroy();
}

async function run(host: Host): Promise<void> {
  await host.run(mintGrant('bench', 'operate', patience()), ['true'], { signal: patience(), limitMs: 30_000 });
}

/** What a byte takes to somebody who sends it back, over such a line. */
async function openEcho(): Promise<{ relay: Relay; ask: () => Promise<void>; close: () => Promise<void> }> {
  const server = createServer({ noDelay: true }, (socket) => socket.pipe(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const relay = await openRelay({ port: (server.address() as AddressInfo).port });
  const socket = connect({ port: relay.port, host: '127.0.0.1', noDelay: true });
  return {
    relay,
    ask: async () => {
      socket.write('.');
      await once(socket, 'data');
    },
    close: async () => {
      socket.destroy();
      await relay.close();
      server.close();
    },
  };
}

const over = (latencyMs: number) => (latencyMs === 0 ? 'over ssh' : `over ssh with ${latencyMs} ms`);

async function questions(bench: Bench, sshd: Sshd, relay: Relay): Promise<Measure[]> {
  const socket = bench.engine.url.replace(/^unix:\/\//, '');
  const here = openLocalHost();
  const echo = await openEcho();
  const measures: Measure[] = [];
  try {
    for (const latencyMs of latenciesMs) {
      for (const line of [relay, echo.relay]) line.delay(latencyMs / 2);
      const { host, leave } = await openRemote(sshd, { port: relay.port });
      try {
        await host.link.ready(patience());
        const took = await inTurns(
          {
            network: echo.ask,
            pingHere: () => ping(here, socket),
            ping: () => ping(host, socket),
            runHere: () => run(here),
            run: () => run(host),
          },
          timesOf(bench.quick),
        );
        bench.say(
          `  ${latencyMs} ms: ${JSON.stringify(took, (_, value) => (typeof value === 'number' ? Math.round(value * 100) / 100 : value))}`,
        );
        if (latencyMs === 0) {
          measures.push({ what: 'engine ping on the local socket', unit: 'ms', cells: ownCell(took.pingHere) });
          measures.push({ what: '`true` here', unit: 'ms', cells: ownCell(took.runHere) });
        }
        measures.push(
          {
            what: `engine ping ${over(latencyMs)}`,
            unit: 'ms',
            cells: ownCell(took.ping),
            aim: {
              text: 'at most 2 times the local socket and the network together',
              met: (own) => own <= 2 * (took.pingHere + took.network),
            },
          },
          {
            what: `\`true\` ${over(latencyMs)}`,
            unit: 'ms',
            cells: ownCell(took.run),
            aim: {
              text: 'at most 1.5 times the same here and the network together',
              met: (own) => own <= 1.5 * (took.runHere + took.network),
            },
          },
        );
      } finally {
        await leave();
      }
    }
  } finally {
    await echo.close();
  }
  return measures;
}

/** From exec to rows of a machine that is reached over ssh, and what ssh alone takes to run nothing there. */
async function firstRows(bench: Bench, sshd: Sshd, relay: Relay): Promise<Measure[]> {
  const folder = await mkdtemp(join(tmpdir(), 'qd-bench-far-'));
  const measures: Measure[] = [];
  try {
    const { program } = await sshd.client({ remote: { port: relay.port } });
    await mkdir(join(folder, 'config'));
    await writeFile(join(folder, 'config', 'config.yaml'), 'hosts:\n  remote: {ssh: remote}\n', { mode: 0o600 });
    await bench.engine.sleepers(20);
    for (const latencyMs of latenciesMs) {
      relay.delay(latencyMs / 2);
      const took = { console: [] as number[], ssh: [] as number[] };
      for (let turn = -1; turn < startsOf(bench.quick); turn++) {
        const sinceMs = performance.now();
        await runOrThrow([program, 'remote', 'true']);
        const sshMs = performance.now() - sinceMs;
        const started = bench.start(['env', `QUARTERDECK_SSH=${program}`, `QUARTERDECK_HOME=${folder}`, launcher, '--host', 'remote']);
        const rowsMs = await started.sees((lines) => lines.some((line) => /bench-\d\d/.test(line)), 'the row of a container', 30_000);
        await bench.close(started);
        // The first one finds out where the engine is.
        if (turn < 0) continue;
        took.console.push(rowsMs - started.startedMs);
        took.ssh.push(sshMs);
      }
      const [consoleMs, sshMs] = [median(took.console), median(took.ssh)];
      bench.say(`  ${latencyMs} ms: rows after ${Math.round(consoleMs)} ms, ssh alone ${Math.round(sshMs)} ms`);
      measures.push(
        { what: `exec to first frame with rows of a machine ${over(latencyMs)}`, unit: 'ms', cells: ownCell(consoleMs) },
        { what: `\`ssh far true\` ${over(latencyMs)}, exec to exit`, unit: 'ms', cells: { 'hand-written': { value: sshMs } } },
      );
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return measures;
}

export const remoteHost: BenchRow = {
  id: 'far-host',
  title: 'A machine over ssh',
  limitMs: 420_000,
  method: (quick) =>
    `A real sshd on this machine, behind a relay that holds back what it is given for half of the time each way. A ping asks the engine over a connection of its own, as every question of the console does; \`true\` is run as every program that flows run. The network's own time is that of a byte that is sent back through a second such relay, in turns with what it is compared with; medians of ${timesOf(quick)} after two that are not counted, so the connection stands. The first frame with rows is that of a console which was there before, through \`bin/quarterdeck\`: median of ${startsOf(quick)} starts, beside ssh's own login.`,
  async run(bench) {
    const sshd = await startSshd({ env: { DOCKER_HOST: bench.engine.url } });
    const relay = await openRelay(sshd);
    try {
      return { measures: [...(await questions(bench, sshd, relay)), ...(await firstRows(bench, sshd, relay))] };
    } finally {
      await relay.close();
      await sshd.leave();
    }
  },
};
