import { Fault } from '../../faults/fault.ts';
import type { Session } from '../../session/session.ts';
import { EngineScope } from '../engine-scope.ts';
import type { FlowContext, FlowInput, FlowOutcome, Procedure } from '../flow.ts';
import { watchContainer } from './service.ts';
import { componentOf, sentenceAbout, serviceTargets, subjectOf } from './service-targets.ts';

const seenLimitMs = 20_000;

/** Dependencies resume first and pause last. Only running programs can be paused, so the others are skipped. */
// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: the two verbs differ in words only
async function freeze(session: Session, input: FlowInput, context: FlowContext, verb: 'pause' | 'unpause'): Promise<FlowOutcome> {
  const component = componentOf(input);
  const scope = new EngineScope(session, context, input.engineName);
  const { engine, signal } = scope;
  const isPause = verb === 'pause';
  const [from, to] = isPause ? (['running', 'paused'] as const) : (['paused', 'running'] as const);
  const ordered = await serviceTargets(scope, input);
  const targets = isPause ? ordered.reverse() : ordered;
  const changed: string[] = [];
  let already = 0;
  for (const [index, target] of targets.entries()) {
    const { id, name } = target;
    const state = (await engine.inspect(id, signal))?.state;
    if (state === to) already += 1;
    if (state !== from) continue;
    session.progress({ id: verb, label: isPause ? `Pausing ${name}` : `Unpausing ${name}`, fraction: index / targets.length });
    await session.act({
      id: `${verb} ${name}`,
      right: 'operate',
      request: `POST /containers/${name}/${verb}`,
      run: (grant) => engine.writer(grant)[verb](id),
    });
    if (session.dryRun) continue;
    const otherwise = isPause ? 'did not pause' : 'did not resume';
    await watchContainer(scope, target, (detail) => detail?.state === to, { limitMs: seenLimitMs, otherwise });
    changed.push(name);
  }
  session.progress({ id: verb, label: component.id, fraction: 1, done: true });
  context.fleet.refresh(component.key);
  if (session.dryRun) return { message: `Dry run: nothing was ${isPause ? 'paused' : 'unpaused'}.` };
  if (changed.length > 0) return { message: sentenceAbout(component.id, changed, isPause ? 'Paused' : 'Unpaused') };
  if (already > 0) return { message: `${subjectOf(input)} is already ${isPause ? 'paused' : 'running'}.` };
  const remedy = isPause ? `Start the component: quarterdeck start ${component.id}` : `Check the state: quarterdeck status ${component.id}`;
  throw new Fault('failed.notRunning', `${subjectOf(input)} is not ${from}.`, remedy);
}

export const pause: Procedure = (session, input, context) => freeze(session, input, context, 'pause');
export const unpause: Procedure = (session, input, context) => freeze(session, input, context, 'unpause');
