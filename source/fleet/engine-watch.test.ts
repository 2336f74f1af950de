import { afterEach, describe, expect, test, vi } from 'vitest';
import { hostDouble, LiveEngine } from '../../test/doubles/live-engine.ts';
import type { ContainerDetail, ContainerFacts } from '../engine/engine.ts';
import { Fault } from '../faults/fault.ts';
import type { HostLink, HostLinkView } from '../hosts/host.ts';
import { EngineWatch, engineLimits } from './engine-watch.ts';
import { serviceState } from './service-state.ts';

const watches: EngineWatch[] = [];
afterEach(() => {
  for (const watch of watches.splice(0)) watch.close();
});

async function follow(engine: LiveEngine, limits: Partial<typeof engineLimits> = {}): Promise<EngineWatch> {
  const watch = new EngineWatch({ name: 'local', host: hostDouble(), open: async () => engine }, () => {}, {
    limits: { ...engineLimits, retryMs: [10, 40], ...limits },
  });
  watches.push(watch);
  void watch.run();
  await vi.waitFor(() => expect(watch.complete).toBe(true), { interval: 5 });
  return watch;
}

const names = (watch: EngineWatch) => [...watch.containers.values()].map(({ name }) => name).sort();
const idOf = (name: string) => `id-of-${name}`;

/** An engine whose inspect responses arrive when the test releases them. */
class SlowEngine extends LiveEngine {
  readonly held = new Map<string, () => void>();
  holding = false;
  override async inspect(id: string, signal: AbortSignal): Promise<ContainerDetail | undefined> {
    const answer = await super.inspect(id, signal);
    if (this.holding) await new Promise<void>((resolve) => this.held.set(id, resolve));
    return answer;
  }
}

describe('following an engine', () => {
  test('one container that cannot be inspected does not take the others with it', async () => {
    class BrokenEngine extends LiveEngine {
      override async inspect(id: string, signal: AbortSignal) {
        if (id === idOf('broken')) throw new Fault('engine.failed', 'The engine failed: layer not known.', 'Look.');
        return super.inspect(id, signal);
      }
    }
    const engine = new BrokenEngine();
    engine.add('broken');
    engine.add('sound');
    const watch = await follow(engine);
    expect(watch.link.state).toBe('connected');
    expect(names(watch)).toEqual(['broken', 'sound']);
    expect(watch.detail(idOf('sound'))).toBeDefined();

    engine.happen('broken', 'die');
    engine.happen('sound', 'die', { state: 'exited', exitCode: 1 });
    await vi.waitFor(() => expect(watch.detail(idOf('sound'))).toMatchObject({ state: 'exited' }), { interval: 5 });
  });

  test('one container whose inspect hangs does not take the others with it', async () => {
    class HangingEngine extends LiveEngine {
      override inspect(id: string, signal: AbortSignal): Promise<ContainerDetail | undefined> {
        return id === idOf('stuck') ? new Promise(() => {}) : super.inspect(id, signal);
      }
    }
    const engine = new HangingEngine();
    engine.add('stuck');
    engine.add('sound');
    const watch = await follow(engine, { requestMs: 50 });
    expect(watch.link.state).toBe('connected');
    expect(watch.detail(idOf('sound'))).toBeDefined();
  });

  test('an inspect that answers after its container was removed brings nothing back', async () => {
    const engine = new SlowEngine();
    engine.add('brief');
    engine.add('stays');
    const watch = await follow(engine);
    engine.holding = true;
    engine.happen('brief', 'kill');
    await vi.waitFor(() => expect(engine.held.has(idOf('brief'))).toBe(true), { interval: 5 });
    engine.happen('brief', 'remove');
    await vi.waitFor(() => expect(names(watch)).toEqual(['stays']), { interval: 5 });
    engine.holding = false;
    engine.held.get(idOf('brief'))?.();
    await new Promise(setImmediate);
    expect(names(watch)).toEqual(['stays']);
    expect(watch.detail(idOf('brief'))).toBeUndefined();
  });

  test('what an engine ends when it is stopped went down with it, and was stopped by no operator (R5)', async () => {
    let startedMs = Date.now() - 3_600_000;
    class Restarted extends LiveEngine {
      override async connect() {
        return { ...(await super.connect()), kind: 'docker' as const, startedMs };
      }
    }
    const engine = new Restarted();
    engine.add('box', { restartPolicy: 'no', startedMs });
    engine.add('before', { restartPolicy: 'no', startedMs });
    const watch = await follow(engine);
    const state = (name: string) => {
      const container = watch.detail(idOf(name));
      return container && serviceState(container, watch.history(container.id), Date.now());
    };
    const end = (name: string) => {
      engine.happen(name, 'kill', {}, { signal: '15' });
      engine.happen(name, 'die', { state: 'exited', exitCode: 0, finishedMs: Date.now() });
      engine.happen(name, 'stop');
    };
    end('before');
    await vi.waitFor(() => expect(state('before')).toMatchObject({ detail: 'stopped by an operator, just now' }), { interval: 5 });
    await new Promise((resolve) => setTimeout(resolve, 2));
    // It stops accepting requests, and then ends its containers.
    const asked = engine.asked.inspect;
    engine.reachable = false;
    end('box');
    await vi.waitFor(() => expect(engine.asked.inspect).toBeGreaterThan(asked), { interval: 5 });
    engine.crash();
    await vi.waitFor(() => expect(watch.link.state).toBe('away'), { interval: 5 });
    startedMs = Date.now();
    engine.reachable = true;
    await vi.waitFor(() => expect(watch.link.state).toBe('connected'), { interval: 5 });
    await vi.waitFor(() =>
      expect(state('box')).toMatchObject({ state: 'failed', detail: expect.stringMatching(/^went down with the engine/) }),
    );
    expect(state('before')).toMatchObject({ state: 'stopped', detail: 'stopped by an operator, just now' });
  });

  test('a removal that failed is noticed, though Docker does not report it', async () => {
    const engine = new LiveEngine();
    engine.add('box');
    const watch = await follow(engine);
    engine.happen('box', 'die', { state: 'removing' });
    await vi.waitFor(() => expect(watch.detail(idOf('box'))?.state).toBe('removing'), { interval: 5 });
    engine.change('box', { state: 'dead' });
    await vi.waitFor(() => expect(watch.detail(idOf('box'))?.state).toBe('dead'), { timeout: 3_000 });
  });

  test('a container that joins a network is looked at again: its address there is new', async () => {
    const engine = new LiveEngine();
    engine.add('box');
    const watch = await follow(engine);
    engine.happen(
      'box',
      'network',
      { networkAddresses: ['172.20.0.2'] },
      { kind: 'network', id: 'n1', attributes: { container: idOf('box'), type: 'bridge' } },
    );
    await vi.waitFor(() => expect(watch.detail(idOf('box'))?.networkAddresses).toEqual(['172.20.0.2']), { interval: 5 });
  });

  test('what came and went before we looked is not asked for', async () => {
    const engine = new LiveEngine();
    engine.add('box');
    const watch = await follow(engine);
    const before = engine.asked.inspect;
    for (let number = 0; number < 100; number++) {
      for (const action of ['create', 'start', 'die', 'remove'] as const)
        engine.say({ kind: 'container', action, id: `job-${number}`, timeMs: Date.now(), attributes: {} });
    }
    engine.happen('box', 'die', { state: 'exited', exitCode: 0 });
    await vi.waitFor(() => expect(watch.detail(idOf('box'))?.state).toBe('exited'), { interval: 5 });
    expect(engine.asked.inspect - before).toBe(1);
  });

  test('a container that appears while everything is listed anew stays', async () => {
    class SlowLists extends LiveEngine {
      release: (() => void) | undefined;
      override async list(): Promise<ContainerFacts[]> {
        const answer = await super.list();
        if (this.asked.list > 1) await new Promise<void>((resolve) => (this.release = resolve));
        return answer;
      }
    }
    const engine = new SlowLists();
    engine.add('old');
    const watch = await follow(engine, { reconcileMs: 20 });
    await vi.waitFor(() => expect(engine.release).toBeDefined(), { interval: 5 });
    engine.add('new');
    engine.happen('new', 'create');
    await vi.waitFor(() => expect(names(watch)).toEqual(['new', 'old']), { interval: 5 });
    engine.release?.();
    await new Promise(setImmediate);
    expect(names(watch)).toEqual(['new', 'old']);
  });

  test('what containers of one image have in common is in memory once, also on two hosts, and each keeps what is its own', async () => {
    const env = (): ContainerDetail['env'] => [
      ['PATH', '/bin'],
      ['HOME', '/root'],
    ];
    const [engine, other] = [new LiveEngine(), new LiveEngine()];
    engine.add('one', { imageId: 'sha256:shared', env: env(), networkAddresses: ['172.18.0.2'] });
    other.add('two', { imageId: 'sha256:shared', env: env(), networkAddresses: ['172.18.0.3'] });
    other.add('three', { imageId: 'sha256:shared', env: [['PATH', '/sbin']] });
    const [here, there] = [await follow(engine), await follow(other)];
    const [one, two, three] = [here.detail(idOf('one')), there.detail(idOf('two')), there.detail(idOf('three'))];
    expect(two?.env).toBe(one?.env);
    expect([one?.env, three?.env]).toEqual([env(), [['PATH', '/sbin']]]);
    expect([one?.networkAddresses, two?.networkAddresses, two?.name]).toEqual([['172.18.0.2'], ['172.18.0.3'], 'two']);
  });

  test('the addresses of the host are read again: one that came later, or that could not be told at first, counts too', async () => {
    const host = hostDouble();
    const facts = await host.facts(new AbortController().signal);
    let asked = 0;
    host.facts = async () => {
      if (++asked === 1) throw new Error('not yet');
      return { ...facts, addresses: asked === 2 ? ['192.168.1.5'] : ['192.168.1.5', '203.0.113.9'] };
    };
    const watch = new EngineWatch({ name: 'local', host, open: async () => new LiveEngine() }, () => {}, {
      limits: { ...engineLimits, listenersMs: 10 },
    });
    watches.push(watch);
    void watch.run();
    await vi.waitFor(() => expect(watch.hostAddresses).toEqual(['192.168.1.5', '203.0.113.9']), { interval: 5 });
  });

  test('an end that is told again after a reconnect counts once (R5)', async () => {
    const engine = new LiveEngine();
    engine.add('box');
    const watch = await follow(engine);
    const timeMs = Date.now();
    for (let time = 0; time < 3; time++) engine.happen('box', 'die', {}, { timeMs });
    await vi.waitFor(() => expect(watch.history(idOf('box')).diedMs).toEqual([timeMs]), { interval: 5 });
  });

  test('a restart is asked before it happens: the event at its end is no stop (R5)', async () => {
    const engine = new LiveEngine();
    engine.add('box');
    const watch = await follow(engine);
    const beginMs = Date.now() - 1_000;
    engine.happen('box', 'kill', {}, { timeMs: beginMs, signal: '15' });
    engine.happen('box', 'die', {}, { timeMs: beginMs + 100 });
    engine.happen('box', 'stop', {}, { timeMs: beginMs + 110 });
    engine.happen('box', 'start', { startedMs: beginMs + 200 }, { timeMs: beginMs + 210 });
    engine.happen('box', 'restart', {}, { timeMs: beginMs + 220 });
    await vi.waitFor(() => expect(watch.history(idOf('box')).diedMs).toHaveLength(1), { interval: 5 });
    expect(watch.history(idOf('box')).stopAskedMs).toBeLessThan(beginMs + 200);
  });

  test('Podman says "restart" before a restart that was asked for, and after the end that its restart policy answers (R5)', async () => {
    class Podman extends LiveEngine {
      override async connect() {
        return { ...(await super.connect()), kind: 'podman' as const };
      }
    }
    const engine = new Podman();
    engine.add('asked');
    engine.add('looping');
    const watch = await follow(engine);
    const beginMs = Date.now() - 10_000;
    engine.happen('asked', 'restart', {}, { timeMs: beginMs });
    engine.happen('asked', 'die', {}, { timeMs: beginMs + 100 });
    engine.happen('asked', 'start', {}, { timeMs: beginMs + 200 });
    for (const atMs of [1_000, 2_000, 3_000]) {
      engine.happen('looping', 'die', {}, { timeMs: beginMs + atMs });
      engine.happen('looping', 'restart', {}, { timeMs: beginMs + atMs });
      engine.happen('looping', 'start', {}, { timeMs: beginMs + atMs + 100 });
    }
    await vi.waitFor(() => expect(watch.history(idOf('looping')).diedMs).toHaveLength(3), { interval: 5 });
    expect(watch.history(idOf('looping')).stopAskedMs).toBeUndefined();
    expect(watch.history(idOf('asked')).stopAskedMs).toBe(beginMs);
  });

  test('an engine that comes and goes is asked less and less often', async () => {
    class FlappingEngine extends LiveEngine {
      // biome-ignore lint/correctness/useYield: it breaks before it tells anything
      override async *events(): AsyncGenerator<never> {
        throw new Fault('unreachable.engine', 'The engine closed its event stream.', 'Look.');
      }
    }
    const watch = await follow(new FlappingEngine(), { retryMs: [5, 80] });
    const waits = new Set<number>();
    await vi.waitFor(
      () => {
        if (watch.link.retryAtMs !== undefined) waits.add(Math.round((watch.link.retryAtMs - Date.now()) / 20));
        expect(Math.max(...waits)).toBeGreaterThanOrEqual(2);
      },
      { interval: 1, timeout: 2_000 },
    );
  });

  test('an engine whose machine cannot be reached says that, and is there again as soon as the way to it is', async () => {
    const reported = new Set<() => void>();
    let view: HostLinkView = { state: 'connected', sinceMs: 0 };
    const link: HostLink = {
      get view() {
        return view;
      },
      subscribe(changed) {
        reported.add(changed);
        return () => reported.delete(changed);
      },
      ready: async () => undefined,
      retry: () => undefined,
      trouble: async () => view.fault,
    };
    const say = (next: HostLinkView) => {
      view = next;
      for (const tell of [...reported]) tell();
    };
    const gone = Promise.withResolvers<never>();
    class BreakingEngine extends LiveEngine {
      // biome-ignore lint/correctness/useYield: it says nothing until it breaks
      override async *events(): AsyncGenerator<never> {
        await gone.promise;
      }
    }
    const open = vi.fn(async () => new BreakingEngine());
    const watch = new EngineWatch({ name: 'nas', host: { ...hostDouble(), link }, open }, () => {}, {
      limits: { ...engineLimits, retryMs: [60_000, 60_000] },
    });
    watches.push(watch);
    void watch.run();
    await vi.waitFor(() => expect(watch.complete).toBe(true), { interval: 5 });

    gone.reject(new Error('socket hang up'));
    await vi.waitFor(() => expect(watch.link.state).toBe('away'), { interval: 5 });
    const fault = new Fault('unreachable.link', 'nas no longer responds.', 'Check the cable.');
    say({ state: 'away', sinceMs: 0, fault, retryAtMs: 7 });
    expect(watch.link).toMatchObject({
      state: 'away',
      code: 'unreachable.link',
      message: fault.message,
      remedy: fault.remedy,
      retryAtMs: 7,
    });
    say({ state: 'connecting', sinceMs: 0 });
    expect(open).toHaveBeenCalledTimes(1);
    say({ state: 'connected', sinceMs: 0 });
    await vi.waitFor(() => expect(open).toHaveBeenCalledTimes(2), { interval: 5 });
  });

  test.each([
    ['ahead', 3_600_000],
    ['behind', -3_600_000],
  ])(
    'a machine whose clock is an hour %s is asked for events by its own clock, before anything of it is shown',
    async (_, clockAheadMs) => {
      const asked: number[] = [];
      class TellingEngine extends LiveEngine {
        override async *events(options?: { sinceMs?: number; signal: AbortSignal }) {
          asked.push((options?.sinceMs ?? 0) - Date.now());
          yield* super.events(options);
        }
      }
      const engine = new TellingEngine();
      engine.add('web');
      const double = hostDouble();
      const link: HostLink = {
        view: { state: 'connected', sinceMs: 0 },
        subscribe: () => () => {},
        ready: async () => undefined,
        retry: () => undefined,
        trouble: async () => undefined,
      };
      const host = { ...double, link, facts: async (signal: AbortSignal) => ({ ...(await double.facts(signal)), clockAheadMs }) };
      const first: number[] = [];
      const watch: EngineWatch = new EngineWatch(
        { name: 'nas', host, open: async () => engine },
        () => {
          if (watch.link.state === 'connected') first.push(watch.clockAheadMs);
        },
        { limits: { ...engineLimits, retryMs: [10, 40] } },
      );
      watches.push(watch);
      void watch.run();
      await vi.waitFor(() => expect(watch.complete).toBe(true), { interval: 5 });
      expect(first[0]).toBe(clockAheadMs);
      // An hour before we connected, by the clock there.
      expect(Math.abs((asked[0] ?? 0) - (clockAheadMs - 3_600_000))).toBeLessThan(20 * 60_000);

      // Its clock is corrected, and its last event is now in the future.
      engine.happen('web', 'die', {}, { timeMs: Date.now() + 7_200_000 });
      await vi.waitFor(() => expect(watch.history(idOf('web')).diedMs).toHaveLength(1), { interval: 5 });
      engine.crash();
      engine.reachable = true;
      await vi.waitFor(() => expect(asked.length).toBeGreaterThan(1), { interval: 5 });
      expect(asked.at(-1)).toBeLessThanOrEqual(clockAheadMs + 1);
    },
  );
});
