import type { ContainerDetail } from '../engine/engine.ts';
import { Fault } from '../faults/fault.ts';
import { namesText } from '../text/words.ts';
import type { Flow, FlowInput } from './flow.ts';
import { cutOffSentence } from './joined-containers.ts';
import { componentOf, isPaused, isUp, sentenceAbout, serviceTargets } from './service-targets.ts';
import { serviceFlag } from './start.ts';
import { watchContainer } from './watch-container.ts';

export const graceFlag = {
  grace: {
    meaning: 'how long a program may take to end before it is killed (default: as the container says, mostly 10)',
    value: 'SECONDS',
  },
} as const;

/** What engines give a program that says nothing else. */
const defaultGraceSeconds = 10;
/** For one that is never killed. */
const longestGraceSeconds = 3600;
/** Behind the grace period: killing, unmounting, and whatever else the engine has to do. */
const stopMarginMs = 30_000;
const seenLimitMs = 20_000;

export function graceOf(input: FlowInput): number | undefined {
  const { grace } = input.options;
  if (grace === undefined) return undefined;
  if (typeof grace === 'string' && /^\d{1,5}$/.test(grace)) return Number(grace);
  throw new Fault({
    code: 'usage.grace',
    message: `--grace takes a number of seconds, not "${grace}".`,
    remedy: 'For example: --grace 30',
  });
}

/** How long an engine may take to stop a container. */
export function stopLimitMs(graceSeconds: number | undefined, container: ContainerDetail | undefined): number {
  const seconds = graceSeconds ?? container?.stopTimeoutSeconds ?? defaultGraceSeconds;
  return (seconds < 0 ? longestGraceSeconds : seconds) * 1000 + stopMarginMs;
}

export function isStopped(detail: ContainerDetail | undefined): boolean {
  return detail === undefined || detail.state === 'exited' || detail.state === 'created' || detail.state === 'dead';
}

export const stop: Flow = {
  id: 'stop',
  verb: 'stop',
  title: 'Stop the component',
  summary: 'Stops the containers of a component, what depends on others first, and waits until they are seen to have ended. Data stays.',
  right: 'operate',
  about: 'component',
  flags: { ...serviceFlag, ...graceFlag },
  interrupts: 'It is not available until it is started again.',
  offered: (component) => component.services.some((service) => isUp(service) || isPaused(service)),
  async run(session, input, world) {
    const component = componentOf(input);
    const engine = world.engineOf(input.place);
    const graceSeconds = graceOf(input);
    const targets = (await serviceTargets(input, engine, session.signal)).reverse();
    const stopped: string[] = [];
    const killed: string[] = [];

    for (const [index, { id, name }] of targets.entries()) {
      session.progress({ id: 'stop', label: `Stopping ${name}`, fraction: index / targets.length });
      const answer = await session.act({
        id: `stop ${name}`,
        right: 'operate',
        request: `POST /containers/${name}/stop${graceSeconds === undefined ? '' : `?t=${graceSeconds}`}`,
        target: { host: input.place, component: component.key },
        limitMs: stopLimitMs(graceSeconds, await engine.inspect(id, session.signal)),
        done: async () => isStopped(await engine.inspect(id, session.signal)),
        run: (grant) => world.fleet.whileStopping(id, () => engine.writer(grant).stop(id, { graceSeconds })),
      });
      if (answer === undefined) continue;
      const detail = await watchContainer(engine, id, isStopped, {
        signal: session.signal,
        limitMs: seenLimitMs,
        otherwise: 'was not seen to stop',
        name,
      });
      stopped.push(name);
      if (detail?.exitCode === 137) killed.push(name);
    }

    session.progress({ id: 'stop', label: `Stopped ${component.id}`, fraction: 1, done: true });
    world.fleet.refresh(component.key);
    if (session.rehearsing) return { message: 'Rehearsed: nothing was stopped.' };
    if (stopped.length === 0) return { message: `${component.id} was stopped already.` };
    const note = killed.length > 0 ? ` ${namesText(killed)} did not end in time and had to be killed.` : '';
    const joined = await cutOffSentence(
      engine,
      targets.map(({ id }) => id),
      session.signal,
    );
    return { message: `${sentenceAbout(component.id, stopped, `${stopped.length === 1 ? 'is' : 'are'} stopped.${note}`)}${joined}` };
  },
};
