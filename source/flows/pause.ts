import { Fault } from '../faults/fault.ts';
import type { Session } from '../session/session.ts';
import type { Flow, FlowInput, FlowOutcome, FlowWorld } from './flow.ts';
import { componentOf, isPaused, isUp, sentenceAbout, serviceTargets } from './service-targets.ts';
import { serviceFlag } from './start.ts';
import { watchContainer } from './watch-container.ts';

const seenLimitMs = 20_000;

export const pause: Flow = {
  id: 'pause',
  verb: 'pause',
  title: 'Pause the component',
  summary: 'Freezes the programs of a component where they stand. They keep their memory, and answer nobody until they go on.',
  right: 'operate',
  about: 'component',
  flags: serviceFlag,
  interrupts: 'It answers nothing until it is unpaused.',
  offered: (component) => component.services.some(isUp),
  run: (session, input, world) => freeze(session, input, world, 'pause'),
};

export const unpause: Flow = {
  id: 'unpause',
  verb: 'unpause',
  title: 'Let the paused component go on',
  summary: 'Lets frozen programs go on where they stood.',
  right: 'operate',
  about: 'component',
  flags: serviceFlag,
  offered: (component) => component.services.some(isPaused),
  run: (session, input, world) => freeze(session, input, world, 'unpause'),
};

/** What others depend on goes on first and freezes last. Only a running program can freeze, so the rest is left alone. */
async function freeze(session: Session, input: FlowInput, world: FlowWorld, verb: 'pause' | 'unpause'): Promise<FlowOutcome> {
  const component = componentOf(input);
  const engine = world.engineOf(input.place);
  const [from, to] = verb === 'pause' ? (['running', 'paused'] as const) : (['paused', 'running'] as const);
  const ordered = await serviceTargets(input, engine, session.signal);
  const targets = verb === 'pause' ? ordered.reverse() : ordered;
  const changed: string[] = [];
  let already = 0;
  for (const [index, { id, name }] of targets.entries()) {
    const state = (await engine.inspect(id, session.signal))?.state;
    if (state === to) already += 1;
    if (state !== from) continue;
    session.progress({ id: verb, label: verb === 'pause' ? `Pausing ${name}` : `Letting ${name} go on`, fraction: index / targets.length });
    await session.act({
      id: `${verb} ${name}`,
      right: 'operate',
      request: `POST /containers/${name}/${verb}`,
      target: { host: input.place, component: component.key },
      run: (grant) => (verb === 'pause' ? engine.writer(grant).pause(id) : engine.writer(grant).unpause(id)),
    });
    if (session.rehearsing) continue;
    await watchContainer(engine, id, (detail) => detail?.state === to, {
      signal: session.signal,
      limitMs: seenLimitMs,
      otherwise: verb === 'pause' ? 'was not seen to pause' : 'was not seen to go on',
      name,
    });
    changed.push(name);
  }
  session.progress({ id: verb, label: component.id, fraction: 1, done: true });
  world.fleet.refresh(component.key);
  if (session.rehearsing) return { message: `Rehearsed: nothing was ${verb === 'pause' ? 'paused' : 'let go on'}.` };
  if (changed.length > 0) {
    const plural = changed.length === 1 ? ['is', 'goes'] : ['are', 'go'];
    return { message: sentenceAbout(component.id, changed, `${verb === 'pause' ? `${plural[0]} paused` : `${plural[1]} on`}.`) };
  }
  if (already > 0) return { message: `${component.id} was ${verb === 'pause' ? 'paused' : 'running'} already.` };
  throw new Fault({
    code: 'failed.notRunning',
    message: `${component.id} is not ${from}, so there is nothing to ${verb}.`,
    remedy: verb === 'pause' ? `Start it first: quarterdeck start ${component.id}` : `Look at it: quarterdeck status ${component.id}`,
  });
}
