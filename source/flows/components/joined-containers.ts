import type { ContainerDetail, ContainerFacts } from '../../engine/engine.ts';
import type { ActTarget } from '../../session/session.ts';
import { cleanLine } from '../../text/clean.ts';
import { namesText } from '../../text/words.ts';
import type { EngineScope } from '../engine-scope.ts';
import { stopLimitMs } from './service.ts';
import { watchContainer } from './watch-container.ts';

const seenLimitMs = 60_000;

async function runningIn({ engine, signal }: EngineScope, ids: readonly string[]): Promise<ContainerFacts[]> {
  const all = await engine.list(signal);
  const owners = all.filter(({ id }) => ids.includes(id));
  return all.filter(({ networkMode, state }) => {
    const [, owner] = /^container:(.+)$/.exec(networkMode) ?? [];
    return owner !== undefined && state === 'running' && owners.some(({ id, name }) => owner === id || owner === name);
  });
}

/** The previous network of these containers no longer exists. Returns a sentence, empty if there are none. */
export async function restartJoined(scope: EngineScope, ids: readonly string[]): Promise<string> {
  const { session, engineName } = scope;
  if (ids.length === 0) return '';
  const joined = await runningIn(scope, ids);
  const names = joined.map(({ name }) => cleanLine(name));
  for (const [index, name] of names.entries()) {
    session.progress({ id: 'joined', label: `Restarting ${name}, which is in its network` });
    await restartContainer(scope, { id: joined[index]?.id ?? '', name }, { host: engineName }, { leastLimitMs: 120_000 });
  }
  if (joined.length > 0) session.progress({ id: 'joined', label: 'Restarted what is in its network', done: true });
  if (session.dryRun || names.length === 0) return '';
  return ` Restarted too, since ${names.length === 1 ? 'it is' : 'they are'} in its network: ${namesText(names)}.`;
}

export async function restartContainer(
  scope: EngineScope,
  container: { id: string; name: string },
  target: ActTarget,
  { graceSeconds, leastLimitMs = 0 }: { graceSeconds?: number | undefined; leastLimitMs?: number } = {},
): Promise<void> {
  const { session, context, engine, signal } = scope;
  const { id, name } = container;
  const before = await engine.inspect(id, signal);
  await session.act({
    id: `restart ${name}`,
    right: 'operate',
    request: `POST /containers/${name}/restart${graceSeconds === undefined ? '' : `?t=${graceSeconds}`}`,
    target,
    limitMs: Math.max(leastLimitMs, stopLimitMs(graceSeconds, before)),
    run: (grant) => context.fleet.whileStopping(id, () => engine.writer(grant).restart(id, { graceSeconds })),
  });
  if (session.dryRun) return;
  const hasRestarted = (detail: ContainerDetail | undefined) => detail === undefined || detail.startedMs !== before?.startedMs;
  await watchContainer(scope, container, hasRestarted, { limitMs: seenLimitMs, otherwise: 'was not seen to start anew' });
}

/** Names the containers that have no network while these do not run; empty if there are none. */
export async function cutOffSentence(scope: EngineScope, ids: readonly string[]): Promise<string> {
  const names = (await runningIn(scope, ids)).map(({ name }) => cleanLine(name));
  return names.length === 0 ? '' : ` Without a network until it runs again: ${namesText(names)}.`;
}
