import { describe, expect, onTestFinished, test } from 'vitest';
import { LogDouble, type LoggingContainer, linesOf, loggingFleet } from '../../test/doubles/log-double.ts';
import { Fault } from '../faults/fault.ts';
import type { LogRun } from './merge.ts';
import { logLimits, openLogs } from './rings.ts';
import type { LogStreamOptions } from './store.ts';
import type { LogOrigin } from './targets.ts';

const startMs = Date.parse('2026-11-20T10:00:00Z');
const limits = { ...logLimits, holdMs: 1, retryMs: 5, frameMs: 1 };
const refusal = () => new Fault('engine.logDriver', 'The log driver "none" keeps no log.', 'Use another one.');

function box(lines: readonly (readonly [ms: number, text: string])[] = [], more: Partial<LoggingContainer> = {}): LoggingContainer {
  const log = new LogDouble();
  for (const [ms, text] of lines) log.writeAt(startMs + ms, text);
  return { log, running: true, startedMs: 1, ...more };
}

async function until(reached: () => boolean): Promise<void> {
  for (let turn = 0; !reached(); turn++) {
    if (turn > 1_500) throw new Error('it never came');
    await new Promise((resolve) => setTimeout(resolve, turn < 100 ? 0 : 1));
  }
}

function streamOf(containers: Record<string, LoggingContainer>, options: Partial<LogStreamOptions> = {}) {
  const open = loggingFleet(containers);
  const logs = openLogs(open.fleet, limits);
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  return { ...open, stop, lines: logs.stream({ componentKeys: ['key'], follow: false, signal: stop.signal, ...options }) };
}

async function all(stream: AsyncIterable<LogRun<LogOrigin>>): Promise<string[]> {
  const out: string[] = [];
  for await (const run of stream) for (const { service, text } of linesOf(run)) out.push(`${service}: ${text}`);
  return out;
}

describe('logs for a pipe', () => {
  test('several containers in order of time, and the end is the end of all', async () => {
    const web = box([
      [1, 'a'],
      [4, 'b'],
    ]);
    const db = box([
      [2, 'c'],
      [9, 'd'],
    ]);
    expect(await all(streamOf({ web, db, idle: box() }).lines)).toEqual(['web: a', 'db: c', 'web: b', 'db: d']);
  });

  test('tail, since, until and services are the engine’s to leave out', async () => {
    const web = box([[1, 'a']]);
    const db = box([[2, 'c']]);
    await all(streamOf({ web, db }, { tail: 7, sinceMs: startMs, untilMs: startMs + 5, services: ['db'] }).lines);
    expect(web.log.asked).toEqual([]);
    expect(db.log.asked).toMatchObject([{ tail: 7, sinceMs: startMs, untilMs: startMs + 5, follow: false }]);
  });

  test('times are omitted where nothing is merged or followed', async () => {
    const read = async (count: number, options: Partial<LogStreamOptions>) => {
      const boxes = Array.from({ length: count }, () => box([[1, 'a']]));
      const { lines, stop } = streamOf(Object.fromEntries(boxes.map((each, at) => [`box-${at}`, each])), options);
      for await (const run of lines) if (run.lines.length > 0) stop.abort();
      return boxes.map(({ log }) => log.asked[0]?.untimed === true);
    };
    expect(await read(1, { untimed: true })).toEqual([true]);
    expect(await read(1, {})).toEqual([false]);
    expect(await read(1, { untimed: true, follow: true })).toEqual([false]);
    expect(await read(2, { untimed: true })).toEqual([false, false]);
  });

  test('one that cannot be read is a notice; all of them a fault', async () => {
    const mute = box();
    mute.log.failure = refusal();
    const notices: string[] = [];
    const onNotice = (message: string) => notices.push(message);
    expect(await all(streamOf({ mute, web: box([[1, 'a']]) }, { onNotice }).lines)).toEqual(['web: a']);
    expect(notices).toEqual(['mute: The log driver "none" keeps no log.']);
    await expect(all(streamOf({ mute }).lines)).rejects.toMatchObject({ code: 'engine.logDriver' });
    await expect(all(streamOf({ mute }, { follow: true }).lines)).rejects.toMatchObject({ code: 'engine.logDriver' });
  });

  test('an engine that is away: a fault at once, or, following, a notice and patience', async () => {
    const web = box([[1, 'a']]);
    const once = streamOf({ web });
    once.link.state = 'away';
    await expect(all(once.lines)).rejects.toMatchObject({ code: 'unreachable.engine', message: 'Nobody listens on the socket.' });
    const notices: string[] = [];
    const following = streamOf({ web }, { follow: true, onNotice: (message) => notices.push(message) });
    following.link.state = 'away';
    const first = following.lines[Symbol.asyncIterator]().next();
    await until(() => notices.length === 1);
    expect(notices).toEqual(['Nobody listens on the socket.']);
    following.link.state = 'connected';
    following.commit();
    expect(linesOf((await first).value as LogRun<LogOrigin>)).toMatchObject([{ text: 'a' }]);
  });

  test('a container that is made later is read whole, one that is there from its end', async () => {
    const lines = Array.from({ length: 50 }, (_, index) => [index, String(index)] as const);
    const containers: Record<string, LoggingContainer> = { old: box(lines) };
    const { lines: stream, commit, stop } = streamOf(containers, { follow: true, tail: 2 });
    const got: string[] = [];
    const reading = (async () => {
      for await (const run of stream) for (const { service, text } of linesOf(run)) got.push(`${service}: ${text}`);
    })();
    await until(() => got.length === 2);
    containers.late = box(lines.slice(0, 5));
    commit();
    await until(() => got.length === 7);
    expect(got).toEqual(['old: 48', 'old: 49', 'late: 0', 'late: 1', 'late: 2', 'late: 3', 'late: 4']);
    stop.abort();
    await reading;
  });

  test('whoever takes slowly slows the engine down', async () => {
    const busy = box(Array.from({ length: 100_000 }, (_, index) => [index, 'x'] as const));
    busy.log.batchLines = 100;
    const { lines } = streamOf({ busy });
    await lines[Symbol.asyncIterator]().next();
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(busy.log.given).toBeLessThan(70_000);
  });

  test('what Docker sends again when it rotates a log is dropped; on Podman equal lines are ordinary', async () => {
    const again = (kind: 'docker' | 'podman') => {
      const log = new LogDouble(kind);
      for (const number of [1, 2, 3, 2, 3, 4]) log.writeAt(startMs + number, `line ${number}`);
      return { log, running: true, startedMs: 1 };
    };
    for (const [kind, wanted] of [
      ['docker', ['line 1', 'line 2', 'line 3', 'line 4']],
      ['podman', ['line 1', 'line 2', 'line 3', 'line 2', 'line 3', 'line 4']],
    ] as const) {
      const logs = openLogs(loggingFleet({ box: again(kind) }).fleet, limits);
      onTestFinished(() => logs.close());
      const { source } = logs.open('key');
      await until(() => source.entries().at(-1)?.text === 'line 4');
      expect(source.entries().map(({ text }) => text)).toEqual(wanted);
    }
  });
});

describe('rings', () => {
  test('three hundred containers: few are opened at once, little is asked of each, and all lines are there in order', async () => {
    const containers: Record<string, LoggingContainer> = {};
    for (let number = 0; number < 300; number++)
      containers[`c${number}`] = box(Array.from({ length: 20 }, (_, index) => [index * 1_000 + number, `${number}/${index}`] as const));
    // Held for as long as in production: a busy machine needs more than a moment to open them all.
    const logs = openLogs(loggingFleet(containers).fleet, { ...limits, holdMs: logLimits.holdMs });
    onTestFinished(() => logs.close());
    const { source } = logs.open('key');
    await until(() => source.entries().length === 6_000);
    const times = source.entries().map(({ timeMs }) => timeMs as number);
    expect(times).toEqual(times.toSorted((one, other) => one - other));
    expect(containers.c7?.log.asked).toMatchObject([{ tail: 60, follow: true }]);
  });

  test('a budget over all: the ring that nobody reads gives first', async () => {
    const lines = (count: number) => Array.from({ length: count }, (_, index) => [index, `${index}`] as const);
    const one = box(lines(100), { component: 'one' });
    const other = box(lines(100), { component: 'other' });
    const logs = openLogs(loggingFleet({ one, other }).fleet, { ...limits, allLines: 120 });
    onTestFinished(() => logs.close());
    const read = logs.open('one').source;
    read.read();
    await until(() => read.entries().length === 100);
    const unread = logs.open('other').source;
    await until(() => unread.total() === 100 && unread.entries().length > 0);
    expect(read.entries()).toHaveLength(100);
    expect(unread.entries()).toHaveLength(20);
    expect(unread.entries().at(-1)?.text).toBe('99');
  });
});
