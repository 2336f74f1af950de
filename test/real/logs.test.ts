import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, inject, onTestFinished, test, vi } from 'vitest';
import { openEngine } from '../../source/engine/dockerode-engine.ts';
import { type OpenFleet, openFleet } from '../../source/fleet/open-fleet.ts';
import { openLocalHost } from '../../source/hosts/local-host.ts';
import { logLimits, openLogs } from '../../source/logs/rings.ts';
import type { LogEntry, LogReading, LogStreamOptions } from '../../source/logs/store.ts';
import { linesOf, type StreamedLine } from '../doubles/log-double.ts';
import { ask } from './ask.ts';
import {
  describeBeside,
  describePrivate,
  type PrivateEngine,
  type RealEngine,
  type RealEngineKind,
  realEngine,
  startPrivateEngine,
} from './real-engines.ts';

const tag = `qd-logs-${randomBytes(4).toString('hex')}`;
const soon = (limitMs = 60_000) => AbortSignal.timeout(limitMs);
const numbered = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => `line ${from + index}`);
const texts = (lines: Iterable<{ text: string }>) => Array.from(lines, ({ text }) => text);
const count = (from: number, to: number, more = '') => `awk 'BEGIN{for(i=${from};i<=${to};i++) print "line " i}'${more}`;
/** Ten lines a second, for as long as it runs. */
const ticking = 'i=0; trap "exit 0" TERM; while true; do i=$((i+1)); echo line $i; sleep 0.1; done';

async function api(real: RealEngine, method: string, path: string, body?: object): Promise<{ status: number; body: string }> {
  const headers = { 'Content-Type': 'application/json' };
  return ask(real, path, body ? { method, headers, body: JSON.stringify(body) } : { method });
}

async function make(real: RealEngine, name: string, script: string, config: object = {}): Promise<string> {
  const answer = await api(real, 'POST', `/containers/create?name=${tag}-${name}`, {
    Image: 'busybox:latest',
    Cmd: ['sh', '-c', script],
    HostConfig: { NetworkMode: 'none' },
    ...config,
  });
  expect(answer.status, answer.body).toBe(201);
  const { Id } = JSON.parse(answer.body) as { Id: string };
  const started = await api(real, 'POST', `/containers/${Id}/start`);
  expect(started.status, started.body).toBe(204);
  return Id;
}

async function ended(real: RealEngine, id: string): Promise<void> {
  const answer = await ask(real, `/containers/${id}/wait`, { method: 'POST', limitMs: 60_000 });
  expect(answer.status, answer.body).toBe(200);
}

const host = openLocalHost();

function openStores(real: RealEngine) {
  const engineName = { name: 'local', host, open: async () => openEngine({ url: real.url, origin: 'test' }, host) };
  const fleet = openFleet({
    engines: [engineName],
    catalog: { entries: [], get: () => undefined, problems: [] },
    stackFolder: '/nonexistent',
    execAllowed: false,
  });
  const logs = openLogs(fleet);
  const close = () => {
    logs.close();
    fleet.close();
  };
  return { fleet, logs, close };
}

/** Key of a lone container, when the fleet knows all about it. */
async function keyOf(fleet: OpenFleet, name: string): Promise<string> {
  const key = `local//${tag}-${name}`;
  const isKnown = () => {
    const runtime = fleet.runtime(key);
    return runtime?.group.members.every(({ container }) => runtime.watch.detail(container.id) !== undefined) ?? false;
  };
  await vi.waitUntil(isKnown, { timeout: 20_000, interval: 20 });
  return key;
}

async function loadAll(reading: LogReading, direction: 'back' | 'forth', size: number): Promise<void> {
  await expect
    .poll(
      () => {
        const { state } = reading.edges()[direction];
        if (state === 'more') reading.more(direction, size);
        return state === 'failed' ? JSON.stringify(reading.edges()) : state;
      },
      { timeout: 60_000, interval: 1 },
    )
    .toMatch(/reached|failed/);
  expect(reading.edges()[direction].state).toBe('reached');
}

const kinds = ['docker', 'podman'] satisfies RealEngineKind[];

/** Engines that are killed; they come up while other tests run. */
const mortal = new Map<RealEngineKind, Promise<PrivateEngine>>();

beforeAll(() => {
  for (const kind of kinds) {
    if (!('url' in inject('engineOffers')[kind])) continue;
    const starting = startPrivateEngine(kind, { busybox: true });
    starting.catch(() => undefined);
    mortal.set(kind, starting);
  }
});
afterAll(async () => {
  const started = await Promise.allSettled(mortal.values());
  await Promise.all(started.map(async (one) => one.status === 'fulfilled' && (await one.value.down())));
});

for (const kind of kinds) {
  describeBeside(kind, 'logs', (real) => {
    let stores: ReturnType<typeof openStores>;
    const made: string[] = [];
    /** Container and key of it. Of each name there is one: the second try of a test finds nothing of the first. */
    const run = async (title: string, script: string, config?: object) => {
      const name = `${title}-${made.length}`;
      const id = await make(real, name, script, config);
      made.push(id);
      return { id, key: await keyOf(stores.fleet, name) };
    };
    const finished = async (title: string, script: string, config?: object) => {
      const { id, key } = await run(title, script, config);
      await ended(real, id);
      return key;
    };
    const all = async (options: Partial<LogStreamOptions> & { componentKeys: readonly string[] }): Promise<StreamedLine[]> => {
      const lines: StreamedLine[] = [];
      for await (const run of stores.logs.stream({ follow: false, signal: soon(), ...options })) lines.push(...linesOf(run));
      return lines;
    };
    const follow = (keys: string | readonly string[]) => stores.logs.open(keys).source;

    beforeAll(() => {
      stores = openStores(real);
    });
    afterAll(async () => {
      stores.close();
      for (const id of made) await api(real, 'DELETE', `/containers/${id}?force=1&v=1`).catch(() => undefined);
    });

    // Podman reads a log from its start for each page.
    const half = kind === 'docker' ? 100_000 : 30_000;
    const total = half * 2;
    test(`a log of ${total} lines: all of it in a pipe; paged back to its first line, searched, jumped in`, async () => {
      const key = await finished('long', count(1, half, '; sleep 2.2; ') + count(half + 1, total));
      const lines = await all({ componentKeys: [key] });
      expect(texts(lines)).toEqual(numbered(1, total));

      const source = follow(key);
      await expect.poll(() => source.entries().at(-1)?.text, { timeout: 30_000, interval: 20 }).toBe(`line ${total}`);
      const reading = source.read();
      reading.pause();
      if (kind === 'docker') {
        expect(texts(reading.entries())).toEqual(numbered(total - 1_999, total));
        reading.more('back', 500);
        await expect.poll(() => reading.entries().at(0)?.text, { timeout: 30_000, interval: 5 }).toBe(`line ${total - 2_499}`);
      } else {
        // Podman 4.3 glues the first piece of a line in pieces to the line before it, but only from the end of a log.
        expect(numbered(1, total).join('').endsWith(texts(reading.entries()).join(''))).toBe(true);
        expect(reading.entries()).toHaveLength(2_000);
      }
      await loadAll(reading, 'back', 20_000);
      // What is far from the edge was let go, and comes again.
      expect(texts(reading.entries())).toEqual(numbered(1, 50_000));
      reading.more('forth', 5_000);
      await expect.poll(() => reading.entries().at(-1)?.text, { timeout: 20_000, interval: 5 }).toBe('line 55000');
      expect(texts(reading.entries())).toEqual(numbered(5_001, 55_000));

      const search = source.read(({ text }) => text === 'line 777' || text === `line ${half + 3_456}`);
      search.more('back', 2);
      await expect.poll(() => texts(search.entries()), { timeout: 30_000, interval: 10 }).toEqual(['line 777', `line ${half + 3_456}`]);
      const around = await reading.around(search.entries().at(1) as LogEntry, soon());
      const at = reading.entries().findIndex(({ index }) => index === around);
      expect(texts(reading.entries().slice(at - 3, at + 4))).toEqual(numbered(half + 3_453, half + 3_459));

      const pauseMs = (lines[half]?.timeMs ?? 0) - 500;
      const jumped = await reading.jump(pauseMs, soon());
      expect(reading.entries().find(({ index }) => index === jumped)?.text).toBe(`line ${half + 1}`);
      reading.more('back', 3);
      await expect.poll(() => texts(reading.entries()).includes(`line ${half - 1}`), { timeout: 20_000, interval: 5 }).toBe(true);
      const engineName = texts(reading.entries()).indexOf(`line ${half + 1}`);
      expect(texts(reading.entries()).slice(engineName - 2, engineName + 1)).toEqual(numbered(half - 1, half + 1));
    });

    test.concurrent('tail, since and until', async ({ expect }) => {
      const key = await finished('times', `${count(1, 5)}; sleep 2.2; ${count(6, 10)}; sleep 2.2; ${count(11, 15)}`);
      const lines = await all({ componentKeys: [key] });
      const betweenMs = (lines[5]?.timeMs ?? 0) - 600;
      const laterMs = (lines[10]?.timeMs ?? 0) - 600;
      expect(texts(await all({ componentKeys: [key], tail: 3 }))).toEqual(numbered(13, 15));
      expect(texts(await all({ componentKeys: [key], sinceMs: betweenMs }))).toEqual(numbered(6, 15));
      expect(texts(await all({ componentKeys: [key], untilMs: laterMs }))).toEqual(numbered(1, 10));
      expect(texts(await all({ componentKeys: [key], sinceMs: betweenMs, untilMs: laterMs }))).toEqual(numbered(6, 10));
    });

    test.concurrent('a log that cannot be read is said in a sentence, and keeps nobody from the others', async ({ expect }) => {
      const mute = await finished('mute', 'echo unheard', { HostConfig: { NetworkMode: 'none', LogConfig: { Type: 'none' } } });
      const other = await finished('loud', count(1, 3));
      await expect(all({ componentKeys: [mute] })).rejects.toMatchObject({ code: 'engine.logDriver' });
      const notices: string[] = [];
      expect(texts(await all({ componentKeys: [mute, other], onNotice: (message) => notices.push(message) }))).toEqual(numbered(1, 3));
      expect(notices).toEqual([expect.stringMatching(/mute-\d+: .*log/)]);
      const source = follow([mute, other]);
      await expect.poll(() => texts(source.entries()), { timeout: 30_000 }).toEqual(numbered(1, 3));
      await expect.poll(() => source.state().message).toMatch(/mute-\d+: .*log/);
    });

    test.concurrent('a terminal, rubbish, and a line of a megabyte', async ({ expect }) => {
      const script = `printf 'a \\377\\376 b\\n'; head -c 1000000 /dev/zero | tr '\\0' x; echo; printf '\\033[31mred\\033[0m \\033]0;owned\\007title\\n'`;
      const framed = follow(await finished('rubbish', script));
      const raw = follow(await finished('terminal', script, { Tty: true }));
      for (const source of [framed, raw]) {
        await expect.poll(() => source.entries().at(-1)?.text, { timeout: 20_000 }).toBe('red title');
        const [first, long] = source.entries();
        // Podman 4.3 glues the first piece of a line in pieces to the line before it.
        if (kind === 'docker') {
          expect(source.entries()).toHaveLength(3);
          expect(first?.text).toBe('a \ufffd\ufffd b');
          expect(long?.text).toMatch(/^x{16384}>$/);
        }
        expect(first?.text).toMatch(/^a \ufffd\ufffd b/);
        for (const { text } of source.entries()) expect(text.length).toBeLessThan(16_400);
        expect(source.entries().at(-1)?.styled).toBe('\x1b[31mred\x1b[0m title\x1b[0m');
      }
    });

    test.concurrent('a container that is removed while it is followed: what it wrote stays, and the end is an end', async ({ expect }) => {
      const { id, key } = await run('removed', ticking);
      const source = follow(key);
      await expect.poll(() => source.entries().length, { timeout: 30_000 }).toBeGreaterThan(5);
      expect((await api(real, 'DELETE', `/containers/${id}?force=1`)).status).toBe(204);
      await expect.poll(() => source.state(), { timeout: 30_000 }).toEqual({ following: false, message: 'the component no longer exists' });
      const last = texts(source.entries());
      expect(last).toEqual(numbered(1, last.length));
    });

    test.concurrent('rotation while it is followed: each line once', async ({ expect }) => {
      const LogConfig =
        kind === 'docker'
          ? { Type: 'json-file', Config: { 'max-size': '100k', 'max-file': '3' } }
          : { Type: 'k8s-file', Config: { 'max-size': '100k' } };
      const { key } = await run(
        'rotated',
        `sleep 1; for k in 0 1 2 3 4 5 6 7 8 9; do ${count(1, 500)} | sed "s/line /line $k/"; sleep 0.2; done; sleep 30`,
        {
          HostConfig: { NetworkMode: 'none', LogConfig },
        },
      );
      const source = follow(key);
      await expect.poll(() => source.entries().at(-1)?.text, { timeout: 20_000 }).toBe('line 9500');
      const wanted = Array.from({ length: 10 }, (_, k) => Array.from({ length: 500 }, (_, index) => `line ${k}${index + 1}`)).flat();
      const got = texts(source.entries());
      if (kind === 'docker') expect(got).toEqual(wanted);
      else {
        // Podman 4.3 empties the file under its own reader: what that had not read is lost in the engine, and nobody can have it.
        const engines = got.map((text) => wanted.indexOf(text)).filter((at) => at >= 0);
        expect(engines).toEqual([...new Set(engines)].toSorted((one, other) => one - other));
        expect(engines.length).toBeGreaterThan(2_000);
      }
    });

    test.concurrent('a container that is started again goes on, and a stack of several is in order of time', async ({
      expect,
      onTestFinished,
    }) => {
      const again = await run('again', `${count(1, 3)}; sleep 0.5`);
      const beside = await run('beside', ticking);
      // On a machine with much else to do an engine may answer late: the order holds for those who can wait.
      const patient = openLogs(stores.fleet, { ...logLimits, openingMs: 20_000, holdMs: 3_000 });
      onTestFinished(() => patient.close());
      const { source } = patient.open([again.key, beside.key]);
      await ended(real, again.id);
      expect((await api(real, 'POST', `/containers/${again.id}/start`)).status).toBe(204);
      const of = (key: string) => texts(source.entries().filter(({ component }) => component === key));
      await expect.poll(() => of(again.key), { timeout: 30_000 }).toEqual([...numbered(1, 3), ...numbered(1, 3)]);
      expect(of(beside.key)).toEqual(numbered(1, of(beside.key).length));
      const times = source.entries().map(({ timeMs }) => timeMs as number);
      expect(times).toEqual(times.toSorted((one, other) => one - other));
    });
  });

  describePrivate(kind, 'logs while the engine dies and comes back', () => {
    test('numbered lines of two containers are there exactly once, in the ring and in a pipe', async () => {
      realEngine(kind);
      const engine = await mortal.get(kind);
      if (!engine) throw new Error('it was not started');
      // Docker gives the containers of a dead daemon up unless they live on by themselves: they are brought back.
      const config = { HostConfig: { NetworkMode: 'none', RestartPolicy: { Name: 'always' } } };
      // It counts by a file's length: a number in the file would be gone for whoever is killed between emptying and writing, on a busy disk often.
      const persistent = ': >> /n; n=$(wc -c < /n); while true; do n=$((n+1)); echo >> /n; echo line $n; sleep 0.05; done';
      const names = ['one', 'two'].map((name) => `${name}-${randomBytes(2).toString('hex')}`);
      const ids: string[] = [];
      for (const name of names) ids.push(await make(engine, name, persistent, config));
      const { fleet, logs, close } = openStores(engine);
      onTestFinished(close);
      const keys = await Promise.all(names.map((name) => keyOf(fleet, name)));
      const { source } = logs.open(keys);
      const stop = new AbortController();
      const piped: StreamedLine[] = [];
      const piping = (async () => {
        for await (const run of logs.stream({ componentKeys: keys, follow: true, signal: stop.signal })) piped.push(...linesOf(run));
      })();
      await expect.poll(() => source.entries().length, { timeout: 30_000 }).toBeGreaterThan(40);
      await engine.kill();
      await expect.poll(() => source.state().following, { timeout: 30_000 }).toBe(false);
      // A stream is known to have ended a moment before it is known why.
      await expect.poll(() => String(source.state().message), { timeout: 30_000 }).toMatch(/engine|connection/i);
      await engine.start();
      await expect.poll(() => source.state().following, { timeout: 30_000 }).toBe(true);
      const before = source.entries().length;
      await expect.poll(() => source.entries().length, { timeout: 30_000 }).toBeGreaterThan(before + 100);
      stop.abort();
      await piping;
      // What was on its way to the engine when that was killed is in no log.
      const reader = openEngine({ url: engine.url, origin: 'test' }, host);
      for (const [at, key] of keys.entries()) {
        const kept: string[] = [];
        for await (const batch of reader.logs(ids[at] ?? '', { follow: false, tty: false, signal: soon() })) kept.push(...texts(batch));
        for (const lines of [source.entries(), piped]) {
          const mine = texts(lines.filter(({ component }) => component === key));
          expect(mine.length).toBeGreaterThan(50);
          expect(mine).toEqual(kept.slice(0, mine.length));
        }
        expect(kept).toEqual([...new Set(kept)]);
      }
    });
  });
}
