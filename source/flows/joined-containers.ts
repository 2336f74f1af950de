import type { ContainerFacts, Engine } from '../engine/engine.ts';
import type { Session } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { namesText } from '../text/words.ts';
import type { FlowWorld } from './flow.ts';
import { watchContainer } from './watch-container.ts';

const seenLimitMs = 60_000;

/** Running containers in the network of one of these (R15), whoever made them. */
export async function runningIn(engine: Engine, ids: readonly string[], signal: AbortSignal): Promise<ContainerFacts[]> {
  const all = await engine.list(signal);
  const owners = all.filter(({ id }) => ids.includes(id));
  return all.filter(({ networkMode, state }) => {
    const [, said] = /^container:(.+)$/.exec(networkMode) ?? [];
    return said !== undefined && state === 'running' && owners.some(({ id, name }) => said === id || said === name);
  });
}

/** Restarts what is in the network of containers that were started anew: the one that it had is gone. Answers a sentence, empty where nobody is. */
export async function restartJoined(session: Session, world: FlowWorld, place: string, ids: readonly string[]): Promise<string> {
  if (ids.length === 0) return '';
  const engine = world.engineOf(place);
  const joined = await runningIn(engine, ids, session.signal);
  const names: string[] = [];
  for (const { id, name: raw } of joined) {
    const name = cleanLine(raw);
    session.progress({ id: 'joined', label: `Restarting ${name}, which is in its network` });
    const before = (await engine.inspect(id, session.signal))?.startedMs;
    await session.act({
      id: `restart ${name}`,
      right: 'operate',
      request: `POST /containers/${name}/restart`,
      target: { host: place },
      run: (grant) => world.fleet.whileStopping(id, () => engine.writer(grant).restart(id, {})),
    });
    if (session.rehearsing) continue;
    await watchContainer(engine, id, (detail) => detail === undefined || detail.startedMs !== before, {
      signal: session.signal,
      limitMs: seenLimitMs,
      otherwise: 'was not seen to start anew',
      name,
    });
    names.push(name);
  }
  if (joined.length > 0) session.progress({ id: 'joined', label: 'Restarted what is in its network', done: true });
  return names.length === 0
    ? ''
    : ` Restarted too, since ${names.length === 1 ? 'it is' : 'they are'} in its network: ${namesText(names)}.`;
}

/** Who has no network while these do not run; empty where nobody is. */
export async function cutOffSentence(engine: Engine, ids: readonly string[], signal: AbortSignal): Promise<string> {
  const names = (await runningIn(engine, ids, signal)).map(({ name }) => cleanLine(name));
  return names.length === 0 ? '' : ` Without a network until it runs again: ${namesText(names)}.`;
}
