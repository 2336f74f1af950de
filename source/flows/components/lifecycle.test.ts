import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { flowOf } from '../../../test/contract/flows/registry.ts';
import { composeLabels } from '../../../test/doubles/container-facts.ts';
import { componentOf } from '../../../test/doubles/fleet-double.ts';
import { FlowFixture } from '../../../test/doubles/flow-fixture.ts';
import { Fault } from '../../faults/fault.ts';
import type { Flow, FlowOutcome } from '../flow.ts';

const start = flowOf('start');
const stop = flowOf('stop');
const restart = flowOf('restart');
const pause = flowOf('pause');
const unpause = flowOf('unpause');

// Flows wait for the requested state; in a test they check again at once.
vi.mock(import('../../faults/waits.ts'), async (original) => ({
  ...(await original()),
  pauseFor: async (_: number, signal: AbortSignal) => {
    signal.throwIfAborted();
    await new Promise((resolve) => setImmediate(resolve));
  },
}));

let fixture: FlowFixture;
beforeEach(async () => {
  fixture = await FlowFixture.open();
});
afterEach(() => fixture.close());

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
    fixture.engine.add('web', { state, labels: labels('web', 'api:service_started:false') }),
    fixture.engine.add('api', { state, labels: labels('api', `db:${apiCondition}:false`) }),
    fixture.engine.add('db', { state, labels: labels('db', '') }),
  ];
  return componentOf('web', details, state === 'running' ? 'running' : 'stopped');
}

describe('start', () => {
  test('what others depend on comes first, and it waits until all are seen running', async () => {
    const component = threeServices();
    const outcome = await fixture.run(start, component);
    expect(fixture.engine.requests).toEqual(['start db', 'start api', 'start web']);
    expect(outcome.message).toBe('web: db, api and web are running.');
    expect(fixture.fleet.refreshed).toEqual([component.key]);
  });

  test('one service alone with --service', async () => {
    const outcome = await fixture.run(start, threeServices(), { options: { service: 'api' } });
    expect(fixture.engine.requests).toEqual(['start api']);
    expect(outcome.message).toBe('web: api is running.');
  });

  test('what runs is left alone and said', async () => {
    const component = threeServices();
    fixture.engine.change('db', { state: 'running' });
    const outcome = await fixture.run(start, component);
    expect(fixture.engine.requests).toEqual(['start api', 'start web']);
    expect(outcome.message).toBe('web: api and web are running; already running: db.');
    expect((await fixture.run(start, component)).message).toBe('web is already running.');
    expect((await fixture.run(start, component, { options: { service: 'db' } })).message).toBe('db of web is already running.');
  });

  test('a container that ends at once is a failure with its exit code, not a success', async () => {
    const component = componentOf('box', [fixture.engine.add('box', { state: 'exited' })], 'failed');
    fixture.engine.afterStart = () => ({ state: 'exited', exitCode: 78 });
    const fault = await faultOf(fixture.run(start, component));
    expect(fault.code).toBe('failed.start');
    expect(fault.message).toBe('box ended with exit code 78 after it started.');
  });

  test('a container that restarts in a loop is a failure', async () => {
    const component = componentOf('box', [fixture.engine.add('box', { state: 'exited' })], 'failed');
    fixture.engine.afterStart = () => ({ state: 'restarting', exitCode: 1 });
    expect((await faultOf(fixture.run(start, component))).message).toContain('keeps exiting');
  });

  test('a job that ends well is no failure', async () => {
    const component = componentOf('job', [fixture.engine.add('job', { state: 'exited' })], 'completed');
    fixture.engine.afterStart = () => ({ state: 'exited', exitCode: 0 });
    expect((await fixture.run(start, component)).message).toBe('job finished with exit code 0.');
  });

  test('a dependency that must be healthy is waited for', async () => {
    const component = threeServices('exited', 'service_healthy');
    fixture.engine.afterStart = ({ name }) => ({ state: 'running', health: name === 'db' ? 'starting' : 'none' });
    let before: string[] = [];
    fixture.operator.progress = ({ label }) => {
      if (label !== 'Waiting for db to become healthy') return;
      before = [...fixture.engine.requests];
      fixture.engine.change('db', { health: 'healthy' });
    };
    await fixture.run(start, component);
    expect(before).toEqual(['start db']);
    expect(fixture.engine.requests).toEqual(['start db', 'start api', 'start web']);
  });

  test('a dependency that never becomes healthy ends it', async () => {
    const component = threeServices('exited', 'service_healthy');
    fixture.engine.afterStart = ({ name }) => ({ state: 'running', health: name === 'db' ? 'starting' : 'none' });
    expect((await faultOf(fixture.run(start, component))).message).toBe(
      'db did not become healthy within 120 seconds; current state: running.',
    );
    expect(fixture.engine.requests).toEqual(['start db']);
  });

  test('a dependency that dies ends it: what needs it is not started', async () => {
    const component = threeServices('exited', 'service_healthy');
    fixture.engine.afterStart = () => ({ state: 'exited', exitCode: 1 });
    expect((await faultOf(fixture.run(start, component))).message).toContain('db ended with exit code 1 after it started');
    expect(fixture.engine.requests).toEqual(['start db']);
  });

  test('a paused container is told how to go on', async () => {
    const component = componentOf('box', [fixture.engine.add('box', { state: 'paused' })], 'paused');
    expect((await faultOf(fixture.run(start, component))).remedy).toContain('quarterdeck unpause box');
  });

  test('a component without containers says so', async () => {
    const component = componentOf('box', [fixture.engine.add('box')], 'missing');
    fixture.engine.containers.clear();
    expect((await faultOf(fixture.run(start, component))).code).toBe('failed.noContainer');
  });

  test('an unknown service names those there are', async () => {
    const fault = await faultOf(fixture.run(start, threeServices(), { options: { service: 'cache' } }));
    expect(fault.code).toBe('usage.service');
    expect(fault.remedy).toContain('web, api, db');
  });

  test('a circle of dependencies ends', async () => {
    const labels = (service: string, on: string) => ({ ...composeLabels('stack', service, [on]) });
    const details = [
      fixture.engine.add('a', { state: 'exited', labels: labels('a', 'b') }),
      fixture.engine.add('b', { state: 'exited', labels: labels('b', 'a') }),
    ];
    await fixture.run(start, componentOf('a', details, 'stopped'));
    expect(fixture.engine.requests.toSorted()).toEqual(['start a', 'start b']);
  });
});

describe('stop', () => {
  test('(R5) what depends on others comes first; already stopped ones are left alone', async () => {
    const component = threeServices('running');
    fixture.engine.change('api', { state: 'exited' });
    const outcome = await fixture.run(stop, component);
    expect(fixture.engine.requests).toEqual(['stop web', 'stop db']);
    expect(outcome.message).toBe('Stopped web: web and db.');
  });

  test('the grace period is passed on, and checked', async () => {
    await fixture.run(stop, threeServices('running'), { options: { grace: '30', service: 'web' } });
    expect(fixture.engine.requests).toEqual(['stop web 30']);
    expect((await faultOf(fixture.run(stop, threeServices('running'), { options: { grace: 'soon' } }))).code).toBe('usage.grace');
  });

  test.for([
    [undefined, {}, 40],
    [600, {}, 630],
    [-1, {}, 3630],
    [600, { grace: '5' }, 35],
  ] as const)(
    'an engine that never stops it is given up after the grace period and 30 s: %s, %o',
    async ([stopTimeoutSeconds, options, limit]) => {
      const component = componentOf('box', [fixture.engine.add('box', stopTimeoutSeconds === undefined ? {} : { stopTimeoutSeconds })]);
      const { writer } = fixture.engine;
      const never = () => new Promise<never>(() => {});
      for (const [flow, verb] of [
        [stop, 'stop'],
        [restart, 'restart'],
      ] as const) {
        vi.spyOn(fixture.engine, 'writer').mockImplementation((grant) => ({ ...writer.call(fixture.engine, grant), [verb]: never }));
        const over = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(AbortSignal.abort(new DOMException('over', 'TimeoutError')));
        const fault = await faultOf(fixture.run(flow, component, { options })).finally(() => over.mockRestore());
        expect(fault.message).toMatch(`Not finished within ${limit} seconds: POST /containers/box/${verb}`);
      }
    },
  );

  test('a program that had to be killed is told', async () => {
    const component = componentOf('box', [fixture.engine.add('box')]);
    const { writer } = fixture.engine;
    vi.spyOn(fixture.engine, 'writer').mockImplementation((grant) => ({
      ...writer.call(fixture.engine, grant),
      stop: async () => {
        fixture.engine.change('box', { state: 'exited', exitCode: 137 });
        return 'done';
      },
    }));
    expect((await fixture.run(stop, component)).message).toBe('Stopped box. box did not stop in time and was killed.');
  });

  test('an engine that says done and does nothing is found out', async () => {
    const component = componentOf('box', [fixture.engine.add('box')]);
    const { writer } = fixture.engine;
    vi.spyOn(fixture.engine, 'writer').mockImplementation((grant) => ({ ...writer.call(fixture.engine, grant), stop: async () => 'done' }));
    const fault = await faultOf(fixture.run(stop, component));
    expect(fault.code).toBe('failed.notSeen');
    expect(fault.message).toContain('current state: running');
  });
});

describe('restart', () => {
  test('is over when the containers are seen running anew', async () => {
    const outcome = await fixture.run(restart, threeServices('running'));
    expect(fixture.engine.requests).toEqual(['restart db', 'restart api', 'restart web']);
    expect(outcome.message).toBe('Restarted web: db, api and web.');
  });

  test.each([
    { flow: restart, from: 'running', passes: 'Restarted web: db, api and web. The health check of db passes.' },
    { flow: start, from: 'exited', passes: 'web: db, api and web are running. The health check of db passes.' },
  ] as const)('$flow.verb waits for the verdict of health checks before it reports how they are', async ({ flow, from, passes }) => {
    const healthOf = (health: 'healthy' | 'unhealthy') => {
      let looks = 0;
      fixture.engine.afterStart = () => ({ state: 'running', health: 'starting', verdictWithinMs: 90_000 });
      const inspect = fixture.engine.inspect.bind(fixture.engine);
      return vi.spyOn(fixture.engine, 'inspect').mockImplementation(async (...args) => {
        const detail = await inspect(...args);
        return detail?.health === 'starting' && detail.name === 'db' && ++looks > 3
          ? { ...detail, health, healthOutputs: ['no such table\n'] }
          : detail && { ...detail, health: detail.name === 'db' ? detail.health : 'none' };
      });
    };
    const passing = healthOf('healthy');
    expect((await fixture.run(flow, threeServices(from))).message).toBe(passes);
    passing.mockRestore();
    const failing = healthOf('unhealthy');
    expect(await faultOf(fixture.run(flow, threeServices(from)))).toMatchObject({
      code: 'failed.unhealthy',
      message: 'The health check of db fails: no such table',
    });
    failing.mockRestore();
  });

  test('a container that does not come back is a failure', async () => {
    fixture.engine.afterStart = () => ({ state: 'exited', exitCode: 2 });
    const component = componentOf('box', [fixture.engine.add('box')]);
    expect((await faultOf(fixture.run(restart, component))).message).toContain('exit code 2');
  });
});

describe('pause and unpause', () => {
  test('there and back', async () => {
    const component = threeServices('running');
    expect((await fixture.run(pause, component)).message).toBe('Paused web: web, api and db.');
    expect((await fixture.run(unpause, component)).message).toBe('Unpaused web: db, api and web.');
    expect(fixture.engine.requests).toEqual(['pause web', 'pause api', 'pause db', 'unpause db', 'unpause api', 'unpause web']);
  });

  test('a stopped component cannot pause', async () => {
    expect((await faultOf(fixture.run(pause, threeServices('exited')))).code).toBe('failed.notRunning');
  });
});

describe('every one of them', () => {
  const all: readonly Flow[] = [start, stop, restart, pause];

  test.each(all.map((flow) => [flow.id, flow] as const))('%s is refused in read-only mode and sends nothing', async (_, flow) => {
    fixture.policy = { ...fixture.policy, readOnly: true };
    const component = threeServices(flow === start ? 'exited' : 'running');
    expect((await faultOf(fixture.run(flow, component))).code).toBe('refused.readOnly');
    expect(fixture.engine.requests).toEqual([]);
  });

  test.each(all.map((flow) => [flow.id, flow] as const))(
    '%s can be dry-run: every request shown, none sent, nothing waited for',
    async (_, flow) => {
      fixture.policy = { ...fixture.policy, dryRun: true };
      const outcome = await fixture.run(flow, threeServices(flow === start ? 'exited' : 'running'));
      expect(fixture.engine.requests).toEqual([]);
      expect(fixture.operator.texts()).toHaveLength(3);
      for (const text of fixture.operator.texts()) expect(text).toMatch(new RegExp(`^Would do: POST /containers/(web|api|db)/${flow.id}$`));
      expect(outcome.message).toMatch(/^Dry run/);
    },
  );

  test('is offered where it makes sense', () => {
    const offered = (flow: Flow, state: Parameters<typeof componentOf>[2]) =>
      flow.offered?.(componentOf('box', [fixture.engine.add('box')], state));
    expect(['stopped', 'failed', 'completed', 'created'].map((state) => offered(start, state as never))).toEqual([true, true, true, true]);
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
    const detail = fixture.engine.add('evil\x1b[2J\u202ename', { state: 'running' });
    const component = componentOf('evil', [detail]);
    const outcome = await fixture.run(stop, component);
    for (const text of [outcome.message, ...(await fixture.audited()).map(({ request }) => request)])
      expect(text).not.toMatch(/[\x00-\x1f\u202e]/);
  });
});
