import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { LogDouble, type LoggingContainer, loggingFleet } from '../../test/doubles/log-double.ts';
import { Fault } from '../faults/fault.ts';
import type { ComponentRuntime, OpenFleet } from '../fleet/open-fleet.ts';
import { lineLimitCharacters } from './entry.ts';
import { logLimits, openLogs } from './rings.ts';
import type { LogSource } from './store.ts';

const second = (number: number) => `2026-11-20T10:00:${String(number).padStart(2, '0')}Z`;
const texts = (source: LogSource) => source.entries().map((entry) => entry.text);

describe('the log of a component', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  /** Lets streams deliver and frames pass. */
  const settle = async () => {
    await vi.advanceTimersByTimeAsync(logLimits.frameMs + logLimits.holdMs);
    // On a busy machine, following a log waits for its turn of the event loop.
    for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
    await vi.advanceTimersByTimeAsync(logLimits.frameMs);
  };

  function one(): { box: LoggingContainer; open: ReturnType<typeof loggingFleet>; source: LogSource } {
    const box = { log: new LogDouble(), running: true, startedMs: 1 };
    const open = loggingFleet({ box });
    return { box, open, source: openLogs(open.fleet).open('key').source };
  }

  test('follows: what was there and what comes, cleaned', async () => {
    const box = { log: new LogDouble(), running: true, startedMs: 1 };
    box.log.write(second(1), 'first');
    const { source } = openLogs(loggingFleet({ box }).fleet).open('key');
    await settle();
    box.log.write(second(2), '\x1b]0;owned\x07second\x1b[2J', 'stderr');
    await settle();
    expect(source.entries().map(({ text, stream, index }) => [index, stream, text])).toEqual([
      [0, 'stdout', 'first'],
      [1, 'stderr', 'second'],
    ]);
    expect(source.state().following).toBe(true);
  });

  test('after the engine was away every numbered line is there exactly once, also with timestamps of whole seconds', async () => {
    const { box, open, source } = one();
    for (let number = 1; number <= 7; number++) box.log.write(second(Math.ceil(number / 3)), `line ${number}`);
    await settle();
    open.link.state = 'away';
    box.log.end();
    open.commit();
    for (let number = 8; number <= 12; number++) box.log.write(second(Math.ceil(number / 3)), `line ${number}`);
    open.link.state = 'connected';
    open.link.sinceMs = 2;
    open.commit();
    await settle();
    expect(texts(source)).toEqual(Array.from({ length: 12 }, (_, index) => `line ${index + 1}`));
  });

  test('a container that starts again before the engine has answered is followed on', async () => {
    const box = { log: new LogDouble(), running: true, startedMs: 1 };
    box.log.write(second(1), 'of its first life');
    let answer = () => {};
    box.log.silent = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const open = loggingFleet({ box });
    const { source } = openLogs(open.fleet).open('key');
    await settle();
    box.startedMs = 2;
    open.commit();
    await settle();
    answer();
    box.log.write(second(2), 'of its second');
    await settle();
    expect(texts(source)).toEqual(['of its first life', 'of its second']);
  });

  test('a stream that breaks off while its container runs is taken up again, without loss or doubles', async () => {
    const { box, source } = one();
    for (let number = 1; number <= 4; number++) box.log.write(second(1), `line ${number}`);
    await settle();
    // A proxy before the engine closes idle connections; the engine is reachable all the same.
    box.log.end();
    box.log.write(second(1), 'line 5');
    await settle();
    await vi.advanceTimersByTimeAsync(logLimits.retryMs);
    await settle();
    expect(texts(source)).toEqual(Array.from({ length: 5 }, (_, index) => `line ${index + 1}`));
    expect(source.state()).toEqual({ following: true, message: undefined });
  });

  test('a log that the engine refuses to read is not asked for again and again', async () => {
    const box = { log: new LogDouble(), running: true, startedMs: 1 };
    box.log.failure = new Fault('engine.logDriver', 'The log driver "none" keeps no log.', 'Use another one.');
    const boxes: Record<string, LoggingContainer> = { box };
    const open = loggingFleet(boxes);
    const { source } = openLogs(open.fleet).open('key');
    await vi.advanceTimersByTimeAsync(logLimits.retryMs * 20);
    expect(box.log.asked).toHaveLength(1);
    expect(source.state().message).toContain('keeps no log');
    // Its successor has a log.
    delete boxes['box'];
    boxes['other'] = { log: new LogDouble(), running: true, startedMs: 2 };
    open.commit();
    await settle();
    expect(source.state().message).toBeUndefined();
  });

  test('two streams of one program that the engine wrote down out of order are there exactly once', async () => {
    const { box, open, source } = one();
    const stamps = ['10:00:01.000000002', '10:00:01.000000001', '10:00:01.000000003', '10:00:01.000000003'];
    const write = (time: string, text: string) => box.log.write(`2026-11-20T${time}Z`, text);
    write(stamps[0] as string, 'a');
    write(stamps[2] as string, 'b');
    write(stamps[1] as string, 'c');
    await settle();
    open.link.state = 'away';
    box.log.end();
    open.commit();
    write(stamps[3] as string, 'd');
    write('10:00:01.000000000', 'e');
    open.link.state = 'connected';
    open.link.sinceMs = 2;
    open.commit();
    await settle();
    expect(texts(source)).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  test('goes on when a stopped container is started again', async () => {
    const { box, open, source } = one();
    box.log.write(second(1), 'before');
    await settle();
    box.running = false;
    box.log.end();
    open.commit();
    await settle();
    expect(source.state().following).toBe(false);
    box.running = true;
    box.startedMs = 2;
    box.log.write(second(5), 'after');
    open.commit();
    await settle();
    expect(texts(source)).toEqual(['before', 'after']);
    expect(source.state().following).toBe(true);
  });

  test('merges services in order of time', async () => {
    const web = { log: new LogDouble(), running: true, startedMs: 1 };
    const db = { log: new LogDouble(), running: true, startedMs: 1 };
    web.log.write(second(1), 'web 1');
    web.log.write(second(3), 'web 3');
    db.log.write(second(2), 'db 2');
    const { source } = openLogs(loggingFleet({ web, db }).fleet).open('key');
    await settle();
    expect(source.entries().map((entry) => `${entry.service}: ${entry.text}`)).toEqual(['web: web 1', 'db: db 2', 'web: web 3']);
  });

  test('keeps a bounded number of lines and counts all', async () => {
    const { box, source } = one();
    await settle();
    for (let number = 0; number < logLimits.lines + 500; number++) box.log.write(second(1), `n${number}`);
    await settle();
    expect(source.entries()).toHaveLength(logLimits.lines);
    expect(source.total()).toBe(logLimits.lines + 500);
    expect(texts(source).at(-1)).toBe(`n${logLimits.lines + 499}`);
  });

  test('keeps bounded memory when lines are long, and cuts one that is longer than any screen', async () => {
    const { box, source } = one();
    for (let number = 0; number < 600; number++) box.log.write(second(1), 'x'.repeat(90_000));
    await settle();
    const characters = texts(source).reduce((sum, text) => sum + text.length, 0);
    expect(characters).toBeLessThanOrEqual(logLimits.sizeBytes);
    expect(texts(source)[0]).toHaveLength(lineLimitCharacters + 1);
  });

  test('is not called ended before it was opened', async () => {
    const box = { log: new LogDouble(), running: true, startedMs: 1 };
    box.log.write(second(1), 'first');
    const containers: Record<string, LoggingContainer> = { box };
    const open = loggingFleet(containers);
    const known = open.fleet.runtime('key') as ComponentRuntime;
    const uninspected = { ...known, watch: { ...known.watch, detail: () => undefined } } as unknown as ComponentRuntime;
    let inspected = false;
    const fleet = { ...open.fleet, runtime: () => (inspected ? known : uninspected) } as unknown as OpenFleet;
    const { source } = openLogs(fleet).open('key');
    expect(source.state()).toEqual({ following: false, message: 'querying the engine' });
    inspected = true;
    open.commit();
    await settle();
    expect(source.state()).toEqual({ following: true, message: undefined });
    expect(texts(source)).toEqual(['first']);
  });

  test('says why a log cannot be read', async () => {
    const box = { log: new LogDouble(), running: true, startedMs: 1 };
    box.log.failure = new Fault('engine.logDriver', 'The log driver "none" keeps no log.', 'Use another one.');
    const { source } = openLogs(loggingFleet({ box }).fleet).open('key');
    await settle();
    expect(source.state()).toEqual({ following: false, message: 'The log driver "none" keeps no log.' });
  });

  test('two who look share one stream, which ends with the last', async () => {
    const box = { log: new LogDouble(), running: true, startedMs: 1 };
    const logs = openLogs(loggingFleet({ box }).fleet);
    const first = logs.open('key');
    const other = logs.open('key');
    await settle();
    expect(box.log.asked).toHaveLength(1);
    first.close();
    expect(box.log.asked[0]?.signal.aborted).toBe(false);
    other.close();
    expect(box.log.asked[0]?.signal.aborted).toBe(true);
  });
});
