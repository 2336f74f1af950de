import { describe, expect, test } from 'vitest';
import { containerDetail } from '../../test/doubles/container-facts.ts';
import { isDecidedByList, serviceState } from './service-state.ts';

const nowMs = 1_000_000_000;
const quiet = { diedMs: [], stopAskedMs: undefined };
const ended = { state: 'exited' as const, finishedMs: nowMs - 120_000 };

function stateOf(
  container: Parameters<typeof containerDetail>[0],
  history: Partial<typeof quiet | { diedMs: number[]; stopAskedMs: number }> = {},
  oneShot = false,
) {
  return serviceState(containerDetail(container), { ...quiet, ...history }, nowMs, { oneShot });
}

test.each([
  [true, {}],
  [true, { health: 'healthy' }],
  [false, { health: 'unhealthy' }],
  [false, { health: 'starting' }],
  [false, { statusText: 'Up 40 seconds' }],
  [false, { statusText: '' }],
  [false, { state: 'exited', statusText: 'Exited (0) 3 hours ago' }],
  [false, { state: 'paused', statusText: 'Up 3 hours (Paused)' }],
  [false, { state: 'created', statusText: 'Created' }],
  [false, { networkMode: 'container:vpn' }],
] as const)('a list is enough (%s) only of what may be in no loop, is well and has a network of its own: %j (R5)', (isEnough, container) =>
  expect(isDecidedByList(containerDetail(container))).toBe(isEnough),
);

test('255, which Docker says of what it did not see end, is no exit code', () => {
  const history = { engineStartedMs: nowMs - 115_000 } as object;
  const at = (exitCode: number) => stateOf({ ...ended, exitCode, startedMs: nowMs - 900_000, restartPolicy: 'no' }, history);
  expect([at(255), at(137)]).toMatchObject([
    { state: 'failed', detail: 'went down with the engine, 2 minutes ago, and was not started again', exitCode: undefined },
    { state: 'stopped', exitCode: 137, detail: 'ended by SIGKILL (exit code 137), 2 minutes ago; no record of what sent it' },
  ]);
});

describe('after the host was restarted', () => {
  const kept = { ...ended, exitCode: 143, restartPolicy: 'unless-stopped' as const, startedMs: nowMs - 900_000 };
  const bootedMs = nowMs - 60_000;

  test('what Podman was to keep went down with it where a stop would be known, and may have where not (R5)', () => {
    const { state, detail } = stateOf(kept, { bootedMs, reportsStops: true } as object);
    expect([state, detail]).toEqual(['failed', 'went down with the host and was not started again']);
    expect(stateOf(kept, { bootedMs } as object)).toMatchObject({
      state: 'stopped',
      severity: 'warning',
      detail: 'ended with exit code 143, 2 minutes ago; no record of whether it was stopped or went down with the host',
      mayBeMissed: true,
    });
  });

  test('what an operator stopped, and what started since, is told as before (R5)', () => {
    expect(stateOf({ ...kept, stoppedByUser: true }, { bootedMs } as object)).toMatchObject({ state: 'stopped' });
    expect(stateOf({ ...kept, startedMs: nowMs - 30_000, finishedMs: nowMs - 10_000 }, { bootedMs } as object)).toMatchObject({
      state: 'stopped',
    });
  });
});

describe('a running container', () => {
  test.each([
    ['healthy', 'healthy', 'ok'],
    ['unhealthy', 'unhealthy', 'error'],
    ['starting', 'starting', 'busy'],
    ['none', 'running', 'ok'],
  ] as const)('with health %s is %s', (health, state, severity) => {
    expect(stateOf({ health })).toMatchObject({ state, severity });
  });

  test('says what its health check printed last, cleaned', () => {
    const healthOutputs = ['curl: \x1b[31m(7) refused\n'];
    expect(stateOf({ health: 'unhealthy', healthOutputs }).detail).toBe('its health check fails: curl: (7) refused');
  });

  test('is in a loop while it keeps dying young, with the count', () => {
    const looping = stateOf({ restartCount: 7, startedMs: nowMs - 2_000 }, { diedMs: [nowMs - 9_000, nowMs - 6_000, nowMs - 3_000] });
    expect(looping).toMatchObject({ state: 'restarting', severity: 'error', restarts: 7 });
    expect(looping.detail).toContain('restarted 7 times');
    expect(looping.reconsiderMs).toBeGreaterThan(nowMs);
  });

  test('is out of the loop once it has stayed up', () => {
    expect(
      stateOf({ restartCount: 7, startedMs: nowMs - 60_000 }, { diedMs: [nowMs - 70_000, nowMs - 66_000, nowMs - 62_000] }).state,
    ).toBe('running');
  });

  test('that an operator restarted three times is in no loop', () => {
    const history = { diedMs: [nowMs - 90_000, nowMs - 50_000, nowMs - 5_000], stopAskedMs: nowMs - 6_000 };
    expect(stateOf({ startedMs: nowMs - 4_000 }, history).state).toBe('running');
  });
});

describe('a container that ended (R5)', () => {
  test('was stopped by an operator when the engine would otherwise have restarted it', () => {
    const kept = { ...ended, exitCode: 137, restartPolicy: 'unless-stopped' as const };
    const engineStartedMs = nowMs - 3_600_000;
    expect(stateOf(kept, { engineStartedMs } as object)).toMatchObject({ state: 'stopped', severity: 'off', exitCode: 137 });
    // A container that ended before the engine started may have gone down with the previous engine process.
    expect(stateOf(kept, { engineStartedMs: nowMs - 60_000 } as object).detail).toMatch(/no record/);
  });

  test('was stopped when the engine says so, or was seen to be asked', () => {
    expect(stateOf({ ...ended, exitCode: 1, restartPolicy: 'no', stoppedByUser: true }).state).toBe('stopped');
    expect(stateOf({ ...ended, exitCode: 137, restartPolicy: 'no' }, { stopAskedMs: nowMs - 130_000 }).state).toBe('stopped');
  });

  test('is in a loop where the engine has no word for the moment before it starts again (Podman)', () => {
    const between = { state: 'exited' as const, finishedMs: nowMs - 100, exitCode: 5, restartPolicy: 'always' as const, restartCount: 12 };
    expect(stateOf(between)).toMatchObject({
      state: 'restarting',
      detail: 'restarted 12 times, last exit code 5',
      reconsiderMs: nowMs + 1_900,
    });
    expect(stateOf(between, { stopAskedMs: nowMs - 200 }).state).toBe('stopped');
    expect(stateOf({ ...between, finishedMs: nowMs - 5_000 }).state).toBe('stopped');
  });

  test('failed when it was restarted by hand and then ended by itself', () => {
    const crashed = { ...ended, startedMs: nowMs - 150_000, exitCode: 1, restartPolicy: 'no' as const };
    expect(stateOf(crashed, { stopAskedMs: nowMs - 151_000 }).state).toBe('failed');
    expect(stateOf(crashed, { stopAskedMs: nowMs - 121_000 }).state).toBe('stopped');
  });

  test('failed when it ended badly by itself, with its exit code and when', () => {
    const failed = stateOf({ ...ended, exitCode: 3, restartPolicy: 'no' });
    expect(failed).toMatchObject({ state: 'failed', severity: 'error', exitCode: 3, sinceMs: nowMs - 120_000 });
    expect(failed.detail).toBe('failed with exit code 3, 2 minutes ago');
  });

  test('went down with the engine when it ended while that was away: Docker 20.10 does not start it again after a crash', () => {
    const history = { ...quiet, outages: [{ fromMs: nowMs - 130_000, untilMs: nowMs - 121_000 }] };
    expect(serviceState(containerDetail({ ...ended, exitCode: 0 }), history, nowMs)).toMatchObject({
      state: 'failed',
      detail: 'went down with the engine, 2 minutes ago, and was not started again',
    });
    // The engine's own SIGTERM to leftover containers, sent before it accepts requests again.
    expect(serviceState(containerDetail({ ...ended, exitCode: 0 }), { ...history, stopAskedMs: nowMs - 122_000 }, nowMs).state).toBe(
      'failed',
    );
    expect(serviceState(containerDetail({ ...ended, exitCode: 0 }), { ...history, stopAskedMs: nowMs - 120_500 }, nowMs).state).toBe(
      'stopped',
    );
  });

  test('failed for good after the restarts that its policy allows', () => {
    const failed = stateOf({ ...ended, exitCode: 1, restartPolicy: 'on-failure', restartCount: 5 });
    expect(failed.detail).toBe('failed with exit code 1, after 5 restarts, 2 minutes ago');
  });

  test('failed when a stop long ago has nothing to do with it', () => {
    expect(stateOf({ ...ended, exitCode: 1, restartPolicy: 'no' }, { stopAskedMs: nowMs - 3_600_000 }).state).toBe('failed');
  });

  test('failed when memory ran out, whatever its policy', () => {
    expect(stateOf({ ...ended, exitCode: 137, outOfMemory: true }).detail).toContain('memory ran out');
  });

  test('was stopped when a signal ended it and memory had not run out, and there is no record of what sent it', () => {
    expect(stateOf({ ...ended, exitCode: 137, restartPolicy: 'no' })).toMatchObject({
      state: 'stopped',
      detail: 'ended by SIGKILL (exit code 137), 2 minutes ago; no record of what sent it',
    });
  });

  const endpoint =
    'driver failed programming external connectivity on endpoint reader-1 (a53b8bc391252487ffec4922d7c560b744e1d08d68333428e97d2d1e5648cc55)';
  test.each([
    [
      'Docker before 28',
      `${endpoint}: Error starting userland proxy: listen tcp4 127.0.0.1:8090: bind: address already in use`,
      'port 127.0.0.1:8090/tcp is already in use',
    ],
    [
      'Docker 28.0',
      `failed to set up container networking: ${endpoint}: failed to bind host port for 127.0.0.1:8090:172.17.0.2:80/tcp: address already in use`,
      'port 127.0.0.1:8090/tcp is already in use',
    ],
    [
      'Docker since, IPv6',
      `failed to set up container networking: ${endpoint}: failed to bind host port [::1]:53/udp: address already in use`,
      'port [::1]:53/udp is already in use',
    ],
    [
      'Docker, of its own containers',
      `${endpoint}: Bind for 0.0.0.0:80 failed: port is already allocated`,
      'port 0.0.0.0:80 is already in use',
    ],
    ['Podman', 'rootlessport listen tcp 0.0.0.0:8090: bind: address already in use', 'port 0.0.0.0:8090/tcp is already in use'],
    ['anything else', 'OCI runtime: no\x1b[31m such file\nor directory', 'OCI runtime: no such file or directory'],
  ])('failed when it could not be started, with the cause first: %s', (_engine, error, said) => {
    expect(stateOf({ ...ended, exitCode: 128, error })).toMatchObject({ state: 'failed', detail: `could not be started: ${said}` });
    expect(stateOf({ state: 'created', error })).toMatchObject({ state: 'failed', detail: `could not be started: ${said}` });
  });

  test('finished when it was a job: success is no failure', () => {
    const job = { ...ended, exitCode: 0, restartPolicy: 'no' as const };
    const seen = { diedMs: [nowMs - 120_000], reportsStops: true };
    expect(stateOf(job, seen as object)).toMatchObject({ state: 'completed', severity: 'off' });
    expect(stateOf({ ...ended, exitCode: 0, restartPolicy: 'unless-stopped' }, {}, true).state).toBe('completed');
  });

  test('is told from the list alone, before an inspect has answered', () => {
    const { exitCode, restartCount, ...detail } = containerDetail({ state: 'exited', statusText: 'Exited (9) 2 seconds ago' });
    void exitCode;
    void restartCount;
    expect(serviceState(detail, quiet, nowMs)).toMatchObject({ state: 'failed', exitCode: 9 });
  });
});

test.each([
  ['paused', 'paused'],
  ['restarting', 'restarting'],
  ['removing', 'removing'],
  ['dead', 'failed'],
  ['created', 'created'],
] as const)('engine state %s is %s', (state, expected) => {
  expect(stateOf({ state }).state).toBe(expected);
});
