import type { ContainerDetail } from '../../engine/engine.ts';
import { Fault } from '../../faults/fault.ts';
import { pauseFor } from '../../faults/waits.ts';
import { namesText } from '../../text/words.ts';
import { EngineScope } from '../engine-scope.ts';
import type { Flow } from '../flow.ts';
import { awaitHealthChecks } from './await-health-checks.ts';
import { restartJoined } from './joined-containers.ts';
import { endedAtOnce, serviceFlag, settleMs } from './service.ts';
import { componentOf, isDown, type ServiceTarget, serviceTargets } from './service-targets.ts';
import { watchContainer } from './watch-container.ts';

const startLimitMs = 60_000;
const dependencyLimitMs = 120_000;

export const start: Flow = {
  id: 'start',
  verb: 'start',
  title: 'Start the component',
  summary:
    'Starts the containers of a component, what others depend on first, and waits until they are seen running and their health checks have answered.',
  right: 'operate',
  about: 'component',
  flags: serviceFlag,
  offered: (component) => component.services.some(isDown),
  async run(session, input, context) {
    const component = componentOf(input);
    const scope = new EngineScope(session, context, input.engineName);
    const { engine, signal } = scope;
    // Loaded on demand: the first frame does not need restores.
    const { throwIfRestoreOpen } = await import('../backup/recover-restore.ts');
    await throwIfRestoreOpen(scope, component);
    const targets = await serviceTargets(scope, input);
    const started: ServiceTarget[] = [];
    const already: ServiceTarget[] = [];

    for (const [index, target] of targets.entries()) {
      const { id, name } = target;
      session.progress({ id: 'start', label: `Starting ${name}`, fraction: index / targets.length });
      if (!session.dryRun) await awaitDependencies(scope, target, targets);
      const answer = await session.act({
        id: `start ${name}`,
        right: 'operate',
        request: `POST /containers/${name}/start`,
        target: { host: input.engineName, component: component.key },
        limitMs: startLimitMs,
        done: async () => {
          const state = (await engine.inspect(id, signal))?.state;
          if (state === 'paused')
            throw new Fault('failed.paused', `${name} is paused.`, `Let it go on: quarterdeck unpause ${component.id}`);
          return state === 'running';
        },
        run: (grant) => engine.writer(grant).start(id),
      });
      if (answer === undefined) {
        already.push(target);
        continue;
      }
      started.push(target);
      const hasStarted = (detail: ContainerDetail | undefined) => detail === undefined || detail.state !== 'created';
      await watchContainer(scope, target, hasStarted, { limitMs: startLimitMs, otherwise: 'was not seen to start' });
    }

    const finished = await settle(scope, started);
    session.progress({ id: 'start', label: `Started ${component.id}`, fraction: 1, done: true });
    const ids = started.map(({ id }) => id);
    const joined = await restartJoined(scope, ids);
    context.fleet.refresh(component.key);
    if (session.dryRun) return { message: `Dry run: nothing was started.` };
    const health = await awaitHealthChecks(scope, started);
    return { message: `${startSentence(component.id, started, already, finished)}${health}${joined}` };
  },
};

/** Checks again a moment later, and returns the containers that ended. One with another exit code than 0 has failed. */
export async function settle({ engine, signal }: EngineScope, started: readonly ServiceTarget[]): Promise<ServiceTarget[]> {
  if (started.length === 0) return [];
  await pauseFor(settleMs, signal);
  const finished: ServiceTarget[] = [];
  for (const target of started) {
    const detail = await engine.inspect(target.id, signal);
    if (detail?.state === 'exited' && detail.exitCode === 0) finished.push(target);
    else if (detail?.state !== 'running') throw endedAtOnce(target, detail);
  }
  return finished;
}

async function awaitDependencies(scope: EngineScope, target: ServiceTarget, targets: readonly ServiceTarget[]): Promise<void> {
  for (const { name, until } of target.dependsOn) {
    const dependency = targets.find(({ service }) => service.name === name);
    if (!dependency || until === 'started') continue;
    const label = `Waiting until ${dependency.name} ${until === 'healthy' ? 'is healthy' : 'has finished'}`;
    scope.session.progress({ id: 'start', label });
    const isMet = (detail: ContainerDetail | undefined) => {
      const ended = detail === undefined || detail.state === 'exited' || detail.state === 'dead';
      if (until === 'completed' && detail?.state === 'exited' && detail.exitCode === 0) return true;
      if (ended) throw endedAtOnce(dependency, detail);
      return until === 'healthy' && detail.state === 'running' && (detail.health === 'healthy' || detail.health === 'none');
    };
    const otherwise = until === 'healthy' ? 'did not become healthy' : 'did not finish';
    await watchContainer(scope, dependency, isMet, { limitMs: dependencyLimitMs, otherwise });
  }
}

function startSentence(
  component: string,
  started: readonly ServiceTarget[],
  already: readonly ServiceTarget[],
  finished: readonly ServiceTarget[],
): string {
  if (started.length === 0) return `${component} was running already.`;
  const running = started.filter((target) => !finished.includes(target)).map(({ name }) => name);
  const parts = [
    running.length > 0 && `${namesText(running)} ${running.length === 1 ? 'is' : 'are'} running`,
    finished.length > 0 && `${namesText(finished.map(({ name }) => name))} finished with exit code 0`,
    already.length > 0 && `${namesText(already.map(({ name }) => name))} ran already`,
  ];
  const all = parts.filter(Boolean).join('; ');
  // A component that is one container of the same name is named once.
  return all.startsWith(`${component} `) && started.length + already.length === 1 ? `${all}.` : `${component}: ${all}.`;
}
