import type { ContainerDetail, Engine } from '../engine/engine.ts';
import { Fault } from '../faults/fault.ts';
import { pauseFor } from '../faults/waits.ts';
import type { Session } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { namesText } from '../text/words.ts';
import { awaitHealthChecks } from './await-health-checks.ts';
import type { Flow } from './flow.ts';
import { restartJoined } from './joined-containers.ts';
import { componentOf, isDown, type ServiceTarget, serviceTargets } from './service-targets.ts';
import { exitText, watchContainer } from './watch-container.ts';

/** A program that cannot live (a bad option, a missing file) ends within this. */
export const settleMs = 1_000;
const startLimitMs = 60_000;
const dependencyLimitMs = 120_000;

export const serviceFlag = { service: { meaning: 'only this service of the component', value: 'NAME' } } as const;

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
  async run(session, input, world) {
    const component = componentOf(input);
    const engine = world.engineOf(input.place);
    // Loaded when used: the first frame needs nothing of restores.
    const { throwIfRestoreOpen } = await import('./recover-restore.ts');
    await throwIfRestoreOpen(session, world, component);
    const targets = await serviceTargets(input, engine, session.signal);
    const started: ServiceTarget[] = [];
    const already: ServiceTarget[] = [];

    for (const [index, target] of targets.entries()) {
      const { id, name } = target;
      session.progress({ id: 'start', label: `Starting ${name}`, fraction: index / targets.length });
      if (!session.rehearsing) await awaitDependencies(session, engine, target, targets);
      const answer = await session.act({
        id: `start ${name}`,
        right: 'operate',
        request: `POST /containers/${name}/start`,
        target: { host: input.place, component: component.key },
        limitMs: startLimitMs,
        done: async () => {
          const state = (await engine.inspect(id, session.signal))?.state;
          if (state === 'paused') {
            throw new Fault({
              code: 'failed.paused',
              message: `${name} is paused.`,
              remedy: `Let it go on: quarterdeck unpause ${component.id}`,
            });
          }
          return state === 'running';
        },
        run: (grant) => engine.writer(grant).start(id),
      });
      if (answer === undefined) {
        already.push(target);
        continue;
      }
      started.push(target);
      await watchContainer(engine, id, (detail) => detail === undefined || detail.state !== 'created', {
        signal: session.signal,
        limitMs: startLimitMs,
        otherwise: 'was not seen to start',
        name,
      });
    }

    const ends = started.length > 0 ? await settle(session, engine, started) : new Map<ServiceTarget, ContainerDetail>();
    session.progress({ id: 'start', label: `Started ${component.id}`, fraction: 1, done: true });
    const joined = await restartJoined(
      session,
      world,
      input.place,
      started.map(({ id }) => id),
    );
    world.fleet.refresh(component.key);
    if (session.rehearsing) return { message: `Rehearsed: nothing was started.` };
    const health = await awaitHealthChecks(session, engine, started);
    return { message: `${startSentence(component.id, started, already, ends)}${health}${joined}` };
  },
};

/** Looks again a moment later: what has ended by then is told, and is a failure unless it ended well. */
async function settle(session: Session, engine: Engine, started: readonly ServiceTarget[]): Promise<Map<ServiceTarget, ContainerDetail>> {
  await pauseFor(settleMs, session.signal);
  const finished = new Map<ServiceTarget, ContainerDetail>();
  for (const target of started) {
    const detail = await engine.inspect(target.id, session.signal);
    if (detail?.state === 'running') continue;
    if (detail?.state === 'exited' && detail.exitCode === 0) {
      finished.set(target, detail);
      continue;
    }
    throw endedAtOnce(target, detail);
  }
  return finished;
}

export function endedAtOnce({ name }: ServiceTarget, detail: ContainerDetail | undefined): Fault {
  const error = cleanLine(detail?.error ?? '');
  const how =
    detail === undefined
      ? 'was removed right after its start'
      : detail.state === 'restarting'
        ? `ends again and again, last with ${exitText(detail)}`
        : `ended right after its start with ${exitText(detail)}`;
  return new Fault({
    code: 'failed.start',
    message: `${name} ${how}${error ? `: ${error}` : '.'}`,
    remedy: `Its log says why: quarterdeck logs ${name}`,
  });
}

async function awaitDependencies(
  session: Session,
  engine: Engine,
  target: ServiceTarget,
  targets: readonly ServiceTarget[],
): Promise<void> {
  for (const { name, until } of target.dependsOn) {
    const dependency = targets.find(({ service }) => service.name === name);
    if (!dependency || until === 'started') continue;
    session.progress({ id: 'start', label: `Waiting until ${dependency.name} ${until === 'healthy' ? 'is healthy' : 'has finished'}` });
    await watchContainer(
      engine,
      dependency.id,
      (detail) => {
        const ended = detail === undefined || detail.state === 'exited' || detail.state === 'dead';
        if (until === 'completed' && detail?.state === 'exited' && detail.exitCode === 0) return true;
        if (ended) throw endedAtOnce(dependency, detail);
        return until === 'healthy' && detail.state === 'running' && (detail.health === 'healthy' || detail.health === 'none');
      },
      {
        signal: session.signal,
        limitMs: dependencyLimitMs,
        otherwise: until === 'healthy' ? 'did not become healthy' : 'did not finish',
        name: dependency.name,
      },
    );
  }
}

function startSentence(
  component: string,
  started: readonly ServiceTarget[],
  already: readonly ServiceTarget[],
  finished: ReadonlyMap<ServiceTarget, ContainerDetail>,
): string {
  if (started.length === 0) return `${component} was running already.`;
  const running = started.filter((target) => !finished.has(target)).map(({ name }) => name);
  const parts = [
    running.length > 0 && `${namesText(running)} ${running.length === 1 ? 'is' : 'are'} running`,
    finished.size > 0 && `${namesText([...finished.keys()].map(({ name }) => name))} finished with exit code 0`,
    already.length > 0 && `${namesText(already.map(({ name }) => name))} ran already`,
  ];
  const all = parts.filter(Boolean).join('; ');
  // A component that is one container of the same name is not named twice.
  return all.startsWith(`${component} `) && started.length + already.length === 1 ? `${all}.` : `${component}: ${all}.`;
}
