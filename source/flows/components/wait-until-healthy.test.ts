import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { componentView, FleetDouble, serviceView, stateOf } from '../../../test/doubles/fleet-double.ts';
import type { ComponentView } from '../../fleet/model.ts';
import type { Session } from '../../session/session.ts';
import { EngineScope } from '../engine-scope.ts';
import type { FlowContext } from '../flow.ts';
import { waitUntilHealthy } from './wait-until-healthy.ts';

const session = { signal: new AbortController().signal, show: () => {}, progress: () => {} } as unknown as Session;
let look: (elapsedMs: number) => Partial<ComponentView>;
let context: FlowContext;
/** Whether the catalog declares a probe for it, and how that asks. */
let probed: boolean;
let call: object;

beforeEach(() => {
  vi.useFakeTimers();
  const beganMs = Date.now();
  const fleet = new FleetDouble();
  const listeners = new Set<() => void>();
  Object.assign(fleet, {
    subscribe(listener: () => void) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  });
  fleet.refresh = () => {
    for (const listener of [...listeners]) listener();
  };
  fleet.snapshot = () => ({
    ...fleet.current,
    components: [componentView('box', { project: 'box', ...look(Date.now() - beganMs) })],
  });
  probed = false;
  call = { http: {} };
  const catalog = { get: () => (probed ? { probe: { call: 'front' }, calls: { front: call } } : undefined) };
  context = { fleet, catalog, engineOf: () => ({ async *logs() {} }) } as unknown as FlowContext;
});
afterEach(() => vi.useRealTimers());

/** Time until it reported that; -1 while it has not. */
async function reported(promise: Promise<unknown>, stepMs: number, limitMs: number): Promise<{ afterMs: number; says: string }> {
  let says = '';
  promise.then(
    () => {
      says = 'healthy';
    },
    (thrown: { code?: string }) => {
      says = thrown.code ?? 'bug';
    },
  );
  for (let afterMs = 0; afterMs <= limitMs; afterMs += stepMs) {
    if (says !== '') return { afterMs, says };
    await vi.advanceTimersByTimeAsync(stepMs);
  }
  return { afterMs: -1, says };
}

it.each([
  ['without a probe it counts after three seconds', false, 3_000],
  ['with one its word is waited for, though asking takes long', true, 12_000],
])('what runs is not healthy by that alone: %s', async (_, isProbed, expectedMs) => {
  probed = isProbed;
  const beganMs = Date.now();
  const good = { state: stateOf('healthy'), atMs: beganMs + 12_000, detail: '', failure: undefined, version: undefined } as const;
  look = (elapsedMs) => ({
    services: [serviceView('box', { state: 'running', sinceMs: beganMs, main: true })],
    probe: isProbed && elapsedMs >= 12_000 ? good : undefined,
  });
  const { afterMs, says } = await reported(waitUntilHealthy(new EngineScope(session, context, 'local'), 'box'), 1_000, 60_000);
  expect(says).toBe('healthy');
  expect(afterMs).toBeGreaterThanOrEqual(expectedMs);
});

it.each([
  ['a program runs in its container: it counts once that has run for three seconds', { exec: {} }, 3_000],
  ['its own port answers: it counts at once', { http: {} }, 0],
])('what its probe says where %s', async (_, how, expectedMs) => {
  [probed, call] = [true, how];
  const beganMs = Date.now();
  look = () => ({
    services: [serviceView('box', { state: 'running', sinceMs: beganMs, main: true })],
    probe: { state: stateOf('healthy'), atMs: Date.now(), detail: '', failure: undefined, version: undefined },
  });
  const { afterMs, says } = await reported(waitUntilHealthy(new EngineScope(session, context, 'local'), 'box'), 1_000, 60_000);
  expect(says).toBe('healthy');
  expect(Math.max(0, afterMs - 1_000)).toBeGreaterThanOrEqual(expectedMs);
  expect(afterMs).toBeLessThanOrEqual(expectedMs + 3_000);
});

it('what ends and is started again at once fails after half a minute, though it is mostly seen running', async () => {
  const restarted = () => serviceView('box', { state: 'running', restarts: 7, sinceMs: Date.now() - 200, main: true });
  look = (elapsedMs) => ({
    services: [elapsedMs % 4_000 < 2_000 ? restarted() : serviceView('box', { state: 'restarting', restarts: 8, main: true })],
  });
  const { afterMs, says } = await reported(waitUntilHealthy(new EngineScope(session, context, 'local'), 'box'), 1_000, 170_000);
  expect(says).toBe('failed.unhealthy');
  expect(afterMs).toBeLessThan(60_000);
});

it('one that was restarted once and then runs is healthy', async () => {
  const beganMs = Date.now();
  look = () => ({ services: [serviceView('box', { state: 'running', restarts: 1, sinceMs: beganMs, main: true })] });
  expect((await reported(waitUntilHealthy(new EngineScope(session, context, 'local'), 'box'), 1_000, 60_000)).says).toBe('healthy');
});

it('what its probe said before counts for nothing', async () => {
  const sinceMs = Date.now();
  look = (elapsedMs) => ({
    services: [serviceView('box', { main: true })],
    probe: {
      state: stateOf('ready'),
      detail: '',
      atMs: elapsedMs < 10_000 ? sinceMs - 1 : Date.now(),
      version: undefined,
      failure: undefined,
    },
  });
  const { afterMs, says } = await reported(waitUntilHealthy(new EngineScope(session, context, 'local'), 'box', { sinceMs }), 1_000, 60_000);
  expect([says, afterMs >= 10_000]).toEqual(['healthy', true]);
});

describe('a health check that has not answered outranks a good probe', () => {
  const good = { state: stateOf('ready'), atMs: Number.MAX_SAFE_INTEGER, detail: '', failure: undefined, version: undefined } as const;
  const shown: string[] = [];
  const labels: string[] = [];
  const watched = {
    ...session,
    show: (one: { kind: string; text?: string }) => shown.push(one.text ?? ''),
    progress: ({ label = '' }: { label?: string }) => labels.push(label),
  } as unknown as Session;

  it.each([
    ['that passes after 20 s', 20_000, 'healthy' as const, 'healthy'],
    ['that fails after 20 s', 20_000, 'unhealthy' as const, 'failed.unhealthy'],
    ['whose start period is longer than the usual limit', 400_000, 'healthy' as const, 'healthy'],
  ])('one %s', async (_, answersMs, state, expected) => {
    probed = true;
    labels.length = 0;
    const beganMs = Date.now();
    look = (elapsedMs) => ({
      probe: good,
      services: [
        elapsedMs < answersMs
          ? serviceView('box', { state: 'starting', sinceMs: beganMs, verdictMs: beganMs + answersMs + 5_000, main: true })
          : serviceView('box', { state, sinceMs: beganMs, main: true }),
      ],
    });
    const { afterMs, says } = await reported(waitUntilHealthy(new EngineScope(watched, context, 'local'), 'box'), 1_000, 500_000);
    expect(says).toBe(expected);
    expect(afterMs).toBeGreaterThanOrEqual(answersMs);
    expect(labels[0]).toMatch(new RegExp(`, health check result within ${(answersMs + 5_000) / 1000} s$`));
  });

  it('one of what ends and starts again every minute does not put the end off for ever', async () => {
    probed = true;
    const beganMs = Date.now();
    look = (elapsedMs) => {
      const startedMs = beganMs + elapsedMs - (elapsedMs % 60_000);
      return {
        probe: good,
        services: [serviceView('box', { state: 'starting', sinceMs: startedMs, verdictMs: startedMs + 95_000, main: true })],
      };
    };
    expect(await reported(waitUntilHealthy(new EngineScope(watched, context, 'local'), 'box'), 1_000, 400_000)).toMatchObject({
      says: 'failed.unhealthy',
    });
  });

  it('one that the engine never runs: the probe counts once its time is over, and that is said', async () => {
    probed = true;
    shown.length = 0;
    const beganMs = Date.now();
    look = () => ({
      probe: good,
      services: [serviceView('box', { state: 'starting', sinceMs: beganMs, verdictMs: beganMs + 65_000, main: true })],
    });
    const { afterMs, says } = await reported(waitUntilHealthy(new EngineScope(watched, context, 'local'), 'box'), 1_000, 170_000);
    expect(says).toBe('healthy');
    expect(afterMs).toBeGreaterThanOrEqual(65_000);
    expect(shown.join(' ')).toContain('Not checked: the engine did not run the health check of ');
  });
});

it.each([
  [true, 'Check the log: quarterdeck logs box. To restore the previous version: quarterdeck rollback box.'],
  ['new' as const, 'Check the log: quarterdeck logs box. To undo the deployment: quarterdeck rollback box.'],
  [false, 'Check the log: quarterdeck logs box.'],
])('rollback is named only where there is a change that it takes back: %s', async (changed, remedy) => {
  look = () => ({ services: [serviceView('box', { state: 'unhealthy', severity: 'error' })] });
  const fault = waitUntilHealthy(new EngineScope(session, context, 'local'), 'box', { changed }).catch((thrown: unknown) => thrown);
  await vi.advanceTimersByTimeAsync(40_000);
  expect(await fault).toMatchObject({ code: 'failed.unhealthy', remedy });
});
