import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { composeLabels } from '../../test/doubles/container-facts.ts';
import { componentOf } from '../../test/doubles/fleet-double.ts';
import { FlowStage } from '../../test/doubles/flow-stage.ts';
import { Fault } from '../faults/fault.ts';
import type { Flow, FlowOutcome } from './flow.ts';
import { pause, unpause } from './pause.ts';
import { restart } from './restart.ts';
import { start } from './start.ts';
import { stop } from './stop.ts';

// Flows wait to see what they asked for; in a test they look again at once.
vi.mock(import('../faults/waits.ts'), async (original) => ({
  ...(await original()),
  pauseFor: async (_: number, signal: AbortSignal) => {
    signal.throwIfAborted();
    await new Promise((resolve) => setImmediate(resolve));
  },
}));

let stage: FlowStage;
beforeEach(async () => {
  stage = await FlowStage.open();
});
afterEach(() => stage.close());

async function faultOf(running: Promise<FlowOutcome>): Promise<Fault> {
  const thrown = await running.catch((error: unknown) => error);
  if (!(thrown instanceof Fault)) throw new Error(`no fault but ${JSON.stringify(thrown)}`);
  return thrown;
}

/** web needs api, api needs db. */
function threeServices(state: 'running' | 'exited' = 'exited', apiCondition = 'service_started') {
  const labels = (service: string, dependsOn: string) => ({
    ...composeLabels('stack', service),
    'com.docker.compose.depends_on': dependsOn,
  });
  const details = [
    stage.engine.add('web', { state, labels: labels('web', 'api:service_started:false') }),
    stage.engine.add('api', { state, labels: labels('api', `db:${apiCondition}:false`) }),
    stage.engine.add('db', { state, labels: labels('db', '') }),
  ];
  return componentOf('web', details, state === 'running' ? 'running' : 'stopped');
}

describe('start', () => {
  test('what others depend on comes first, and it waits until all are seen running', async () => {
    const component = threeServices();
    const outcome = await stage.run(start, component);
    expect(stage.engine.requests).toEqual(['start db', 'start api', 'start web']);
    expect(outcome.message).toBe('web: db, api and web are running.');
    expect(stage.fleet.refreshed).toEqual([component.key]);
  });

  test('one service alone with --service', async () => {
    const outcome = await stage.run(start, threeServices(), { options: { service: 'api' } });
    expect(stage.engine.requests).toEqual(['start api']);
    expect(outcome.message).toBe('web: api is running.');
  });

  test('what runs is left alone and said', async () => {
    const component = threeServices();
    stage.engine.change('db', { state: 'running' });
    const outcome = await stage.run(start, component);
    expect(stage.engine.requests).toEqual(['start api', 'start web']);
    expect(outcome.message).toBe('web: api and web are running; db ran already.');
    expect((await stage.run(start, component)).message).toBe('web was running already.');
  });

  test('a container that ends at once is a failure with its exit code, not a success', async () => {
    const component = componentOf('box', [stage.engine.add('box', { state: 'exited' })], 'failed');
    stage.engine.afterStart = () => ({ state: 'exited', exitCode: 78 });
    const fault = await faultOf(stage.run(start, component));
    expect(fault.code).toBe('failed.start');
    expect(fault.message).toBe('box ended right after its start with exit code 78.');
  });

  test('a container that restarts in a loop is a failure', async () => {
    const component = componentOf('box', [stage.engine.add('box', { state: 'exited' })], 'failed');
    stage.engine.afterStart = () => ({ state: 'restarting', exitCode: 1 });
    expect((await faultOf(stage.run(start, component))).message).toContain('again and again');
  });

  test('a job that ends well is no failure', async () => {
    const component = componentOf('job', [stage.engine.add('job', { state: 'exited' })], 'finished');
    stage.engine.afterStart = () => ({ state: 'exited', exitCode: 0 });
    expect((await stage.run(start, component)).message).toBe('job finished with exit code 0.');
  });

  test('a dependency that must be healthy is waited for', async () => {
    const component = threeServices('exited', 'service_healthy');
    stage.engine.afterStart = ({ name }) => ({ state: 'running', health: name === 'db' ? 'starting' : 'none' });
    let before: string[] = [];
    stage.operator.progress = ({ label }) => {
      if (label !== 'Waiting until db is healthy') return;
      before = [...stage.engine.requests];
      stage.engine.change('db', { health: 'healthy' });
    };
    await stage.run(start, component);
    expect(before).toEqual(['start db']);
    expect(stage.engine.requests).toEqual(['start db', 'start api', 'start web']);
  });

  test('a dependency that never becomes healthy ends it', async () => {
    const component = threeServices('exited', 'service_healthy');
    stage.engine.afterStart = ({ name }) => ({ state: 'running', health: name === 'db' ? 'starting' : 'none' });
    expect((await faultOf(stage.run(start, component))).message).toBe('db did not become healthy within 120 seconds; it is running now.');
    expect(stage.engine.requests).toEqual(['start db']);
  });

  test('a dependency that dies ends it: what needs it is not started', async () => {
    const component = threeServices('exited', 'service_healthy');
    stage.engine.afterStart = () => ({ state: 'exited', exitCode: 1 });
    expect((await faultOf(stage.run(start, component))).message).toContain('db ended right after its start with exit code 1');
    expect(stage.engine.requests).toEqual(['start db']);
  });

  test('a paused container is told how to go on', async () => {
    const component = componentOf('box', [stage.engine.add('box', { state: 'paused' })], 'paused');
    expect((await faultOf(stage.run(start, component))).remedy).toContain('quarterdeck unpause box');
  });

  test('a component without containers says so', async () => {
    const component = componentOf('box', [stage.engine.add('box')], 'missing');
    stage.engine.containers.clear();
    expect((await faultOf(stage.run(start, component))).code).toBe('failed.noContainer');
  });

  test('an unknown service names those there are', async () => {
    const fault = await faultOf(stage.run(start, threeServices(), { options: { service: 'cache' } }));
    expect(fault.code).toBe('usage.service');
    expect(fault.remedy).toContain('web, api, db');
  });

  test('a circle of dependencies ends', async () => {
    const labels = (service: string, on: string) => ({ ...composeLabels('stack', service, [on]) });
    const details = [
      stage.engine.add('a', { state: 'exited', labels: labels('a', 'b') }),
      stage.engine.add('b', { state: 'exited', labels: labels('b', 'a') }),
    ];
    await stage.run(start, componentOf('a', details, 'stopped'));
    expect(stage.engine.requests.toSorted()).toEqual(['start a', 'start b']);
  });
});

describe('stop', () => {
  test('(R5) what depends on others comes first; already stopped ones are left alone', async () => {
    const component = threeServices('running');
    stage.engine.change('api', { state: 'exited' });
    const outcome = await stage.run(stop, component);
    expect(stage.engine.requests).toEqual(['stop web', 'stop db']);
    expect(outcome.message).toBe('web: web and db are stopped.');
  });

  test('the grace period is passed on, and checked', async () => {
    await stage.run(stop, threeServices('running'), { options: { grace: '30', service: 'web' } });
    expect(stage.engine.requests).toEqual(['stop web 30']);
    expect((await faultOf(stage.run(stop, threeServices('running'), { options: { grace: 'soon' } }))).code).toBe('usage.grace');
  });

  test.for([
    [undefined, {}, 40],
    [600, {}, 630],
    [-1, {}, 3630],
    [600, { grace: '5' }, 35],
  ] as const)(
    'an engine that never stops it is given up after the grace period and 30 s: %s, %o',
    async ([stopTimeoutSeconds, options, limit]) => {
      const component = componentOf('box', [stage.engine.add('box', stopTimeoutSeconds === undefined ? {} : { stopTimeoutSeconds })]);
      const { writer } = stage.engine;
      const never = () => new Promise<never>(() => {});
      for (const [flow, verb] of [
        [stop, 'stop'],
        [restart, 'restart'],
      ] as const) {
        vi.spyOn(stage.engine, 'writer').mockImplementation((grant) => ({ ...writer.call(stage.engine, grant), [verb]: never }));
        const over = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(AbortSignal.abort(new DOMException('over', 'TimeoutError')));
        const fault = await faultOf(stage.run(flow, component, { options })).finally(() => over.mockRestore());
        expect(fault.message).toMatch(`Not finished within ${limit} seconds: POST /containers/box/${verb}`);
      }
    },
  );

  test('a program that had to be killed is told', async () => {
    const component = componentOf('box', [stage.engine.add('box')]);
    const { writer } = stage.engine;
    vi.spyOn(stage.engine, 'writer').mockImplementation((grant) => ({
      ...writer.call(stage.engine, grant),
      stop: async () => {
        stage.engine.change('box', { state: 'exited', exitCode: 137 });
        return 'done';
      },
    }));
    expect((await stage.run(stop, component)).message).toBe('box is stopped. box did not end in time and had to be killed.');
  });

  test('an engine that says done and does nothing is found out', async () => {
    const component = componentOf('box', [stage.engine.add('box')]);
    const { writer } = stage.engine;
    vi.spyOn(stage.engine, 'writer').mockImplementation((grant) => ({ ...writer.call(stage.engine, grant), stop: async () => 'done' }));
    const fault = await faultOf(stage.run(stop, component));
    expect(fault.code).toBe('failed.notSeen');
    expect(fault.message).toContain('it is running now');
  });
});

describe('restart', () => {
  test('is over when the containers are seen running anew', async () => {
    const outcome = await stage.run(restart, threeServices('running'));
    expect(stage.engine.requests).toEqual(['restart db', 'restart api', 'restart web']);
    expect(outcome.message).toBe('web: db, api and web were restarted.');
  });

  test.each([
    { flow: restart, from: 'running', passes: 'web: db, api and web were restarted. The health check of db passes.' },
    { flow: start, from: 'exited', passes: 'web: db, api and web are running. The health check of db passes.' },
  ] as const)('$flow.verb waits for the verdict of health checks before it reports how they are', async ({ flow, from, passes }) => {
    const healthOf = (health: 'healthy' | 'unhealthy') => {
      let looks = 0;
      stage.engine.afterStart = () => ({ state: 'running', health: 'starting', verdictWithinMs: 90_000 });
      const inspect = stage.engine.inspect.bind(stage.engine);
      return vi.spyOn(stage.engine, 'inspect').mockImplementation(async (...args) => {
        const detail = await inspect(...args);
        return detail?.health === 'starting' && detail.name === 'db' && ++looks > 3
          ? { ...detail, health, healthLog: [{ atMs: 0, exitCode: 1, output: 'no such table\n' }] }
          : detail && { ...detail, health: detail.name === 'db' ? detail.health : 'none' };
      });
    };
    const passing = healthOf('healthy');
    expect((await stage.run(flow, threeServices(from))).message).toBe(passes);
    passing.mockRestore();
    const failing = healthOf('unhealthy');
    expect(await faultOf(stage.run(flow, threeServices(from)))).toMatchObject({
      code: 'failed.unhealthy',
      message: 'The health check of db fails: no such table',
    });
    failing.mockRestore();
  });

  test('a container that does not come back is a failure', async () => {
    stage.engine.afterStart = () => ({ state: 'exited', exitCode: 2 });
    const component = componentOf('box', [stage.engine.add('box')]);
    expect((await faultOf(stage.run(restart, component))).message).toContain('exit code 2');
  });
});

describe('pause and unpause', () => {
  test('there and back', async () => {
    const component = threeServices('running');
    expect((await stage.run(pause, component)).message).toBe('web: web, api and db are paused.');
    expect((await stage.run(unpause, component)).message).toBe('web: db, api and web go on.');
    expect(stage.engine.requests).toEqual(['pause web', 'pause api', 'pause db', 'unpause db', 'unpause api', 'unpause web']);
  });

  test('a stopped component cannot pause', async () => {
    expect((await faultOf(stage.run(pause, threeServices('exited')))).code).toBe('failed.notRunning');
  });
});

describe('every one of them', () => {
  const all: readonly Flow[] = [start, stop, restart, pause];

  test.each(all.map((flow) => [flow.id, flow] as const))('%s is refused in read-only mode and sends nothing', async (_, flow) => {
    stage.policy = { ...stage.policy, readOnly: true };
    const component = threeServices(flow === start ? 'exited' : 'running');
    expect((await faultOf(stage.run(flow, component))).code).toBe('refused.readOnly');
    expect(stage.engine.requests).toEqual([]);
  });

  test.each(all.map((flow) => [flow.id, flow] as const))(
    '%s can be rehearsed: every request shown, none sent, nothing waited for',
    async (_, flow) => {
      stage.policy = { ...stage.policy, rehearsing: true };
      const outcome = await stage.run(flow, threeServices(flow === start ? 'exited' : 'running'));
      expect(stage.engine.requests).toEqual([]);
      expect(stage.operator.texts()).toHaveLength(3);
      for (const text of stage.operator.texts()) expect(text).toMatch(new RegExp(`^Would do: POST /containers/(web|api|db)/${flow.id}$`));
      expect(outcome.message).toMatch(/^Rehearsed/);
    },
  );

  test('is offered where it makes sense', () => {
    const offered = (flow: Flow, state: Parameters<typeof componentOf>[2]) =>
      flow.offered?.(componentOf('box', [stage.engine.add('box')], state));
    expect(['stopped', 'failed', 'finished', 'created'].map((state) => offered(start, state as never))).toEqual([true, true, true, true]);
    expect(['running', 'healthy', 'paused', 'unknown'].map((state) => offered(start, state as never))).toEqual([
      false,
      false,
      false,
      false,
    ]);
    expect(['running', 'unhealthy', 'restarting', 'paused'].map((state) => offered(stop, state as never))).toEqual([
      true,
      true,
      true,
      true,
    ]);
    expect(['stopped', 'missing', 'unknown'].map((state) => offered(stop, state as never))).toEqual([false, false, false]);
    expect([offered(pause, 'running'), offered(pause, 'stopped'), offered(unpause, 'paused'), offered(unpause, 'running')]).toEqual([
      true,
      false,
      true,
      false,
    ]);
  });

  test('a hostile container name cannot reach the terminal', async () => {
    const detail = stage.engine.add('evil\x1b[2J\u202ename', { state: 'running' });
    const component = componentOf('evil', [detail]);
    const outcome = await stage.run(stop, component);
    for (const text of [outcome.message, ...(await stage.audited()).map(({ request }) => request)])
      expect(text).not.toMatch(/[\x00-\x1f\u202e]/);
  });
});
