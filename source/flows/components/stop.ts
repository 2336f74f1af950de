import type { ContainerDetail } from '../../engine/engine.ts';
import { namesText } from '../../text/words.ts';
import { onEngine } from '../engine-scope.ts';
import { cutOffSentence, graceOf, stopLimitMs, watchContainer } from './service.ts';
import { componentOf, sentenceAbout, serviceTargets, subjectOf } from './service-targets.ts';

const seenLimitMs = 20_000;

export function isStopped(detail: ContainerDetail | undefined): boolean {
  return detail === undefined || detail.state === 'exited' || detail.state === 'created' || detail.state === 'dead';
}

export const stop = onEngine(async (scope, input, session, context) => {
  const component = componentOf(input);
  const { engine, signal } = scope;
  const graceSeconds = graceOf(input);
  const targets = (await serviceTargets(scope, input)).reverse();
  const stopped: string[] = [];
  const killed: string[] = [];

  for (const [index, target] of targets.entries()) {
    const { id, name } = target;
    session.progress({ id: 'stop', label: `Stopping ${name}`, fraction: index / targets.length });
    const answer = await session.act({
      id: `stop ${name}`,
      right: 'operate',
      request: `POST /containers/${name}/stop${graceSeconds === undefined ? '' : `?t=${graceSeconds}`}`,
      target: { host: input.engineName, component: component.key },
      limitMs: stopLimitMs(graceSeconds, await engine.inspect(id, signal)),
      done: async () => isStopped(await engine.inspect(id, signal)),
      run: (grant) => context.fleet.whileStopping(id, () => engine.writer(grant).stop(id, { graceSeconds })),
    });
    if (answer === undefined) continue;
    const detail = await watchContainer(scope, target, isStopped, { limitMs: seenLimitMs, otherwise: 'did not stop' });
    stopped.push(name);
    if (detail?.exitCode === 137) killed.push(name);
  }

  session.progress({ id: 'stop', label: `Stopped ${component.id}`, fraction: 1, done: true });
  context.fleet.refresh(component.key);
  if (session.dryRun) return { message: 'Dry run: nothing was stopped.' };
  if (stopped.length === 0) return { message: `${subjectOf(input)} is already stopped.` };
  const note = killed.length > 0 ? ` ${namesText(killed)} did not stop in time and ${killed.length === 1 ? 'was' : 'were'} killed.` : '';
  const ids = targets.map(({ id }) => id);
  const sentence = sentenceAbout(component.id, stopped, 'Stopped');
  return { message: `${sentence}${note}${await cutOffSentence(scope, ids)}` };
});
