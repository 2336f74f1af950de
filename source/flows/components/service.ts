import type { ContainerDetail, ContainerFacts, Engine } from '../../engine/engine.ts';
import { Fault } from '../../faults/fault.ts';
import { pauseFor } from '../../faults/waits.ts';
import type { ActTarget } from '../../session/session.ts';
import { cleanLine } from '../../text/clean.ts';
import { namesText } from '../../text/words.ts';
import type { EngineScope } from '../engine-scope.ts';
import type { FlowInput } from '../flow.ts';
import type { ServiceTarget } from './service-targets.ts';

/** A program that cannot run (a bad option, a missing file) ends within this time. */
export const settleMs = 1_000;

export const serviceFlag = { service: { meaning: 'only this service of the component', value: 'NAME' } } as const;

export const graceFlag = {
  grace: {
    meaning: 'seconds to wait for a program to end before it is killed (default: set by the container, usually 10)',
    value: 'SECONDS',
  },
} as const;

const defaultGraceSeconds = 10;
/** For a container that is never killed. */
const longestGraceSeconds = 3600;
/** Time after the grace period: killing, unmounting, and other work of the engine. */
const stopMarginMs = 30_000;

export function graceOf({ options: { grace } }: FlowInput): number | undefined {
  if (grace === undefined) return undefined;
  if (typeof grace === 'string' && /^\d{1,5}$/.test(grace)) return Number(grace);
  throw new Fault('usage.grace', `--grace must be a number of seconds, not "${grace}".`, 'For example: --grace 30');
}

/** Returns the time that an engine may need to stop a container. */
export function stopLimitMs(graceSeconds: number | undefined, container: ContainerDetail | undefined): number {
  const seconds = graceSeconds ?? container?.stopTimeoutSeconds ?? defaultGraceSeconds;
  return (seconds < 0 ? longestGraceSeconds : seconds) * 1000 + stopMarginMs;
}

export function endedAtOnce({ name }: ServiceTarget, detail: ContainerDetail | undefined): Fault {
  const error = cleanLine(detail?.error ?? '');
  const how =
    detail === undefined
      ? 'was removed after it started'
      : detail.state === 'restarting'
        ? `keeps exiting, last with ${exitText(detail)}`
        : `ended with ${exitText(detail)} after it started`;
  return new Fault('failed.start', `${name} ${how}${error ? `: ${error}` : '.'}`, `Check the log: quarterdeck logs ${name}`);
}

/**
 * Polls a container until the requested state is seen: an engine that answers "done" has only accepted the request. Throws `failed.notSeen`
 * at the limit.
 * @param otherwise end of the fault's sentence, after the container's name: `was not seen to stop`
 */
export async function watchContainer(
  { engine, signal }: { engine: Engine; signal: AbortSignal },
  { id, name }: { id: string; name: string },
  seen: (detail: ContainerDetail | undefined) => boolean,
  { limitMs, otherwise }: { limitMs: number; otherwise: string },
): Promise<ContainerDetail | undefined> {
  let waitedMs = 0;
  for (let pauseMs = 100; ; pauseMs = Math.min(1_000, pauseMs * 1.5)) {
    const detail = await engine.inspect(id, signal);
    if (seen(detail)) return detail;
    waitedMs += pauseMs;
    if (waitedMs > limitMs) {
      const message = `${name} ${otherwise} within ${Math.round(limitMs / 1000)} seconds; ${detail ? `current state: ${detail.state}` : 'it no longer exists'}.`;
      throw new Fault('failed.notSeen', message, 'Check the log and the state of the container.');
    }
    await pauseFor(pauseMs, signal);
  }
}

export function exitText(detail: ContainerDetail | undefined): string {
  return detail?.exitCode === undefined ? 'an unknown exit code' : `exit code ${detail.exitCode}`;
}

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
    session.progress({ id: 'joined', label: `Restarting ${name}, which uses the same network` });
    await restartContainer(scope, { id: joined[index]?.id ?? '', name }, { host: engineName }, { leastLimitMs: 120_000 });
  }
  if (joined.length > 0) session.progress({ id: 'joined', label: 'Restarted the containers that use its network', done: true });
  if (session.dryRun || names.length === 0) return '';
  return ` Also restarted because of the shared network: ${namesText(names)}.`;
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
  await watchContainer(scope, container, hasRestarted, { limitMs: seenLimitMs, otherwise: 'did not restart' });
}

/** Names the containers that have no network while these do not run; empty if there are none. */
export async function cutOffSentence(scope: EngineScope, ids: readonly string[]): Promise<string> {
  const names = (await runningIn(scope, ids)).map(({ name }) => cleanLine(name));
  return names.length === 0 ? '' : ` Until the next start, these containers have no network access: ${namesText(names)}.`;
}
