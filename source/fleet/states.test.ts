import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { containerDetail } from '../../test/doubles/container-facts.ts';
import { hostDouble, LiveEngine } from '../../test/doubles/live-engine.ts';
import type { ContainerDetail, EngineEvent, EngineFacts } from '../engine/engine.ts';
import { EngineWatch, engineLimits } from './engine-watch.ts';
import { Observations } from './observations.ts';
import { type ServiceState, serviceState } from './service-state.ts';

type Event = [action: EngineEvent['action'], secondsAgo: number, more?: Partial<EngineEvent>];

/**
 * The truth table of states (R5): the state of a container at once, two minutes later, in another process, and after the engine's events
 * were lost. `Seen` is the result where a console or command saw the event, `lost` where none did and the engine's events have been
 * overwritten.
 */
interface Row {
  name: string;
  /** As in an inspect; it started 10 minutes before and ended a second ago, unless set otherwise. */
  container: Partial<ContainerDetail>;
  /** Events of the engine, by seconds before now. */
  events?: readonly Event[];
  /** Stopped by Quarterdeck: seconds before now. */
  ownStop?: number;
  oneShot?: boolean;
  engine?: Partial<EngineFacts>;
  bootedSecondsAgo?: number;
  seen: readonly [state: string, severity: string, detail: string];
  /** The same as `seen` if missing. */
  lost?: readonly [state: string, severity: string, detail: string];
}

const nowMs = Date.now();
const ago = (seconds: number) => nowMs - seconds * 1_000;
const exited = (exitCode: number, more: Partial<ContainerDetail> = {}): Partial<ContainerDetail> => ({
  state: 'exited',
  exitCode,
  finishedMs: ago(60),
  restartPolicy: 'no',
  ...more,
});
const kept = { restartPolicy: 'unless-stopped' as const };
const docker: Partial<EngineFacts> = { kind: 'docker', version: '28.5.1', startedMs: ago(3_600) };
const podman: Partial<EngineFacts> = { kind: 'podman', version: '4.3.1' };
const die: Event = ['die', 60];
const noRecord = 'no record of whether it was stopped or finished its work';

const table: readonly Row[] = [
  { name: 'created', container: { state: 'created', startedMs: undefined }, seen: ['created', 'off', 'created, never started'] },
  { name: 'starting', container: { health: 'starting' }, seen: ['starting', 'busy', 'up, but its health check has not passed yet'] },
  { name: 'healthy', container: { health: 'healthy' }, seen: ['healthy', 'ok', 'its health check passes'] },
  { name: 'unhealthy', container: { health: 'unhealthy' }, seen: ['unhealthy', 'error', 'its health check fails'] },
  { name: 'running', container: {}, seen: ['running', 'ok', 'up; it declares no health check'] },
  { name: 'paused', container: { state: 'paused' }, seen: ['paused', 'warning', 'paused: its processes are frozen'] },
  {
    name: 'restart loop',
    container: { state: 'restarting', restartCount: 7, exitCode: 1 },
    seen: ['restarting', 'error', 'restarted 7 times, last exit code 1'],
  },
  { name: 'dead', container: { state: 'dead' }, seen: ['failed', 'error', 'dead: the engine could not remove it'] },
  {
    name: 'OOM-killed, Docker',
    container: exited(137, { outOfMemory: true }),
    events: [['oom', 60], die],
    seen: ['killed', 'error', 'killed because memory ran out (exit code 137, SIGKILL), AGO'],
  },
  {
    name: 'OOM-killed, an engine that reports it in events alone',
    container: exited(137),
    events: [['oom', 60], die],
    seen: ['killed', 'error', 'killed because memory ran out (exit code 137, SIGKILL), AGO'],
    lost: ['stopped', 'warning', 'ended by SIGKILL (exit code 137), AGO; no record of what sent it'],
  },
  {
    name: 'killed from outside, Docker',
    container: exited(137),
    events: [die],
    seen: ['killed', 'error', 'killed by SIGKILL from outside the engine (exit code 137), AGO'],
    lost: ['stopped', 'warning', 'ended by SIGKILL (exit code 137), AGO; no record of what sent it'],
  },
  {
    name: 'killed from outside, Podman before 5, which does not report stops',
    engine: podman,
    container: exited(137),
    events: [die],
    seen: ['stopped', 'warning', 'ended by SIGKILL (exit code 137), AGO; no record of what sent it'],
  },
  {
    name: 'killed from outside, Podman 5',
    engine: { ...podman, version: '5.8.0' },
    container: exited(137),
    events: [die],
    seen: ['killed', 'error', 'killed by SIGKILL from outside the engine (exit code 137), AGO'],
    lost: ['stopped', 'warning', 'ended by SIGKILL (exit code 137), AGO; no record of what sent it'],
  },
  {
    name: 'stopped through the engine, and exited with 0',
    container: exited(0),
    events: [['kill', 61, { signal: '15' }], die, ['stop', 59]],
    seen: ['stopped', 'off', 'stopped by an operator, AGO'],
    lost: ['stopped', 'off', `ended with exit code 0, AGO; ${noRecord}`],
  },
  {
    name: 'stopped through the engine, which had to kill it',
    container: exited(137),
    events: [['kill', 70, { signal: '15' }], ['kill', 61, { signal: '9' }], die, ['stop', 59]],
    seen: ['stopped', 'off', 'stopped by an operator, AGO'],
    lost: ['stopped', 'warning', 'ended by SIGKILL (exit code 137), AGO; no record of what sent it'],
  },
  {
    name: 'stopped, and to be kept running otherwise, Docker',
    container: exited(137, kept),
    events: [['kill', 61, { signal: '15' }], die, ['stop', 59]],
    seen: ['stopped', 'off', 'stopped by an operator, AGO'],
    lost: ['stopped', 'off', 'stopped on request (exit code 137, SIGKILL), AGO; otherwise its restart policy would have started it again'],
  },
  {
    name: 'stopped by Quarterdeck, Podman before 5',
    engine: podman,
    container: exited(0),
    events: [die],
    ownStop: 62,
    seen: ['stopped', 'off', 'stopped by an operator, AGO'],
    lost: ['stopped', 'off', `ended with exit code 0, AGO; ${noRecord}`],
  },
  {
    name: 'stopped by others, Podman 5',
    engine: { ...podman, version: '5.8.0' },
    container: exited(0, { stoppedByUser: true }),
    seen: ['stopped', 'off', 'stopped by an operator, AGO'],
  },
  {
    name: 'started again after a stop by Quarterdeck, and failed by itself',
    container: exited(3, { startedMs: ago(61) }),
    events: [die],
    ownStop: 62,
    seen: ['failed', 'error', 'failed with exit code 3, AGO'],
  },
  {
    name: 'completed, Docker',
    container: exited(0),
    events: [die],
    seen: ['completed', 'off', 'finished its work, AGO'],
    lost: ['stopped', 'off', `ended with exit code 0, AGO; ${noRecord}`],
  },
  {
    name: 'completed, a job of the catalog',
    container: exited(0),
    oneShot: true,
    events: [die],
    seen: ['completed', 'off', 'finished its work, AGO'],
  },
  { name: 'failed', container: exited(3), events: [die], seen: ['failed', 'error', 'failed with exit code 3, AGO'] },
  {
    name: 'could not be started',
    container: exited(127, { error: 'exec: "nope": not found' }),
    seen: ['failed', 'error', 'could not be started: exec: "nope": not found'],
  },
  {
    name: 'engine crashed and back: it ended what was left running, as if on request',
    engine: { ...docker, startedMs: ago(59) },
    container: exited(137, kept),
    events: [['kill', 68, { signal: '15' }], ['kill', 60, { signal: '9' }], die, ['stop', 60]],
    seen: ['failed', 'error', 'went down with the engine, AGO, and was not started again'],
    lost: ['stopped', 'warning', 'ended by SIGKILL (exit code 137), AGO; no record of what sent it'],
  },
  {
    name: 'engine crashed and back, of one that was stopped before',
    engine: { ...docker, startedMs: ago(30) },
    container: exited(0, kept),
    ownStop: 62,
    seen: ['stopped', 'off', 'stopped by an operator, AGO'],
    lost: ['stopped', 'off', `ended with exit code 0, AGO; ${noRecord}`],
  },
  {
    name: 'host rebooted by a power cut, Podman',
    engine: podman,
    container: exited(0, { ...kept, finishedMs: undefined }),
    bootedSecondsAgo: 300,
    seen: ['failed', 'error', 'went down with the host and was not started again'],
  },
  {
    name: 'host rebooted, Podman 5: its services ended it before',
    engine: { ...podman, version: '5.8.0' },
    container: exited(143, kept),
    bootedSecondsAgo: 30,
    seen: ['failed', 'error', 'went down with the host and was not started again'],
  },
  {
    name: 'host rebooted, Podman before 5: its services ended it before, or an operator did',
    engine: podman,
    container: exited(143, kept),
    bootedSecondsAgo: 30,
    seen: ['stopped', 'warning', 'ended with exit code 143, AGO; no record of whether it was stopped or went down with the host'],
  },
  {
    name: 'host rebooted, Podman: stopped long before',
    engine: podman,
    container: exited(143, { ...kept, finishedMs: ago(500) }),
    bootedSecondsAgo: 30,
    seen: ['stopped', 'off', 'ended by SIGTERM (exit code 143), AGO; no record of what sent it'],
  },
];

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'quarterdeck-states-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

class Played extends LiveEngine {
  readonly #facts: Partial<EngineFacts>;
  readonly #past: readonly EngineEvent[];
  constructor(facts: Partial<EngineFacts>, past: readonly EngineEvent[]) {
    super();
    this.#facts = facts;
    this.#past = past;
  }
  override async connect() {
    return { ...(await super.connect()), ...this.#facts };
  }
  override async *events(options?: { sinceMs?: number; signal: AbortSignal }): AsyncGenerator<EngineEvent> {
    yield* this.#past;
    yield* super.events(options);
  }
}

describe.each(table)('$name', (row) => {
  const { container, events = [], engine = docker, ownStop, bootedSecondsAgo, oneShot = false, seen, lost = seen } = row;
  const detail = containerDetail({ name: 'box', startedMs: ago(600), ...container });
  const past = events.map(
    ([action, seconds, more]): EngineEvent => ({ kind: 'container', action, id: detail.id, timeMs: ago(seconds), attributes: {}, ...more }),
  );

  /** As seen by a separate process. */
  async function look(observations: Observations, reported: readonly EngineEvent[]): Promise<(laterMs?: number) => ServiceState> {
    const played = new Played(engine, reported);
    played.containers.set(detail.id, detail);
    const host = hostDouble();
    const facts = await host.facts(new AbortController().signal);
    if (bootedSecondsAgo !== undefined) host.facts = async () => ({ ...facts, bootedMs: ago(bootedSecondsAgo) });
    const watch = new EngineWatch({ name: 'local', host, open: async () => played }, () => undefined, {
      observations,
      limits: engineLimits,
    });
    void watch.run();
    await expect.poll(() => watch.complete, { interval: 5, timeout: 5_000 }).toBe(true);
    if (ownStop !== undefined && reported === past)
      observations
        .host('local unix:///run/double.sock')
        .noteOwnStop(detail.id, { notedMs: ago(ownStop), atMs: ago(ownStop), startedMs: ago(600) });
    const history = watch.history(detail.id);
    watch.close();
    return (laterMs = 0) => serviceState(detail, history, nowMs + laterMs, { oneShot });
  }
  const said = ({ state, severity, detail: text }: ServiceState) => [state, severity, text.replace(/(just now|\d+ \w+ ago)/, 'AGO')];

  test('where it was seen: at once, two minutes later and in another process (R5)', async () => {
    const path = join(folder, `${row.name.replaceAll(/\W+/g, '-')}.json`);
    const observations = new Observations(path);
    const at = await look(observations, past);
    expect(said(at())).toEqual(seen);
    expect(said(at(120_000))).toEqual(seen);
    await observations.flush();
    const other = new Observations(path);
    await other.ready();
    // The engine has dropped its events by then.
    expect(said((await look(other, []))(120_000))).toEqual(seen);
  });

  test('where nothing saw it, and the events of the engine are gone (R5)', async () => {
    expect(said((await look(new Observations(), []))(120_000))).toEqual(lost);
  });
});
