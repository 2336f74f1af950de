import type { CatalogEntry } from '../../catalog/catalog.ts';
import { Fault } from '../../faults/fault.ts';
import { orAborted } from '../../faults/waits.ts';
import { awaitsVerdict } from '../../fleet/component-view.ts';
import type { ComponentView, Fleet, ServiceView } from '../../fleet/model.ts';
import { isUpState } from '../../fleet/service-state.ts';
import { namesText } from '../../text/words.ts';
import type { EngineScope } from '../engine-scope.ts';

/** Images start fast or load for a long time; those that load report it. */
const healthyLimitMs = 180_000;
/** Continuous failure for this long does not recover by waiting; a few restarts while a database starts are normal. */
const failingLimitMs = 30_000;
/** A program must run for this long before it counts as running. */
const settledMs = 3_000;
/** If a probe is declared, its result is awaited; the query of a program that hangs may take until the limit of the call. */
const unaskedMs = 60_000;
const refreshEveryMs = 2_000;
const shownLines = 15;

/** `check` is the remedy without the rollback, for a caller that rolls back by itself. */
export class UnhealthyFault extends Fault {
  constructor(
    message: string,
    readonly check: string,
    rollback: string,
  ) {
    super('failed.unhealthy', message, `${check}${rollback}`);
  }
}

function seenOf(component: ComponentView, sinceMs: number, entry: Pick<CatalogEntry, 'probe' | 'calls'> | undefined) {
  const { services, probe } = component;
  if (services.some(({ state }) => state === 'failed' || state === 'killed' || state === 'restarting' || state === 'unhealthy'))
    return 'failing';
  // Podman restarts a program that ends at once: it is mostly seen as running, for a moment.
  if (services.some((service) => service.restarts > 0 && hasJustBegun(service))) return 'failing';
  if (!services.every(({ state }) => isUpState(state) || state === 'completed')) return 'waiting';
  // The container's own health check has priority over a probe.
  if (services.some((service) => awaitsVerdict(service, Date.now()))) return 'waiting';
  if (!probe) {
    const enoughMs = entry?.probe ? unaskedMs : settledMs;
    return services.some((service) => service.state === 'starting' || hasJustBegun(service, enoughMs)) ? 'waiting' : 'healthy';
  }
  if (probe.atMs < sinceMs) return 'waiting';
  if (probe.failure !== undefined || probe.state?.id === 'starting') return 'waiting';
  // An exec also succeeds in a container whose program is about to end.
  if (entry?.calls[entry.probe?.call ?? '']?.exec && services.some((service) => hasJustBegun(service))) return 'waiting';
  // A program that is sealed, loads its feeds or requires its first admin has started as far as it can by itself.
  return probe.state?.severity === 'error' ? 'failing' : 'healthy';
}

/** Returns whether the only evidence is a short time of running: a program that ends at once also shows as running between two restarts. */
function hasJustBegun({ state, sinceMs }: ServiceView, enoughMs = settledMs): boolean {
  return state === 'running' && sinceMs !== undefined && Date.now() - sinceMs < enoughMs;
}

/**
 * Waits until a component that was just applied is seen healthy. Throws `failed.unhealthy` with the last lines of its log.
 * @param options.changed whether Quarterdeck applied a change just before, which `rollback` undoes; `new` for a first deploy
 */
export async function waitUntilHealthy(
  scope: EngineScope,
  id: string,
  { sinceMs = Date.now(), limitMs = healthyLimitMs, changed }: { sinceMs?: number; limitMs?: number; changed?: boolean | 'new' } = {},
): Promise<ComponentView> {
  const { session, context, signal } = scope;
  const { fleet } = context;
  const entry = context.catalog.get(id);
  const waiting = { kind: 'item', id: `wait ${id}`, title: `Waiting for ${id} to become healthy` } as const;
  session.show({ ...waiting, state: 'running' });
  let last: ComponentView | undefined;
  let failingSinceMs: number | undefined;
  const startedMs = Date.now();
  // Set by the first start alone: a program in a restart loop would postpone it for ever.
  let verdictMs: number | undefined;
  const outcome = await untilSeen(fleet, signal, (): ComponentView | 'failing' | 'late' | undefined => {
    last = scope.component(id);
    session.progress({
      id: `healthy ${id}`,
      label: last ? `${id}: ${last.state.label}${countdown(last)}` : `${id}: waiting for its containers`,
    });
    const seen = last && seenOf(last, sinceMs, entry);
    if (seen === 'healthy') return last;
    failingSinceMs = seen === 'failing' ? (failingSinceMs ?? performance.now()) : undefined;
    if (failingSinceMs !== undefined && performance.now() - failingSinceMs >= failingLimitMs) return 'failing';
    verdictMs ??= lastVerdictMs(last);
    // A program that fails in the meantime will not reach that result.
    const untilMs = seen === 'waiting' ? Math.max(startedMs + limitMs, verdictMs ?? 0) : startedMs + limitMs;
    return Date.now() >= untilMs ? 'late' : undefined;
  });
  const found = typeof outcome === 'string' ? undefined : outcome;
  session.progress({ id: `healthy ${id}`, label: `${id}: ${found?.state.label ?? 'not healthy'}`, done: true });
  session.show({ ...waiting, state: found ? 'ok' : 'blocked' });
  if (found) {
    const silent = namesWithoutVerdict(found);
    if (silent.length > 0)
      session.show({
        kind: 'text',
        text: `Not checked: the engine did not run the health check of ${namesText(silent)}. Podman needs systemd to run health checks.`,
      });
    return found;
  }
  await showEvidence(scope, last);
  const seconds = Math.round((Date.now() - startedMs) / 1000);
  const problem = outcome === 'failing' ? 'did not become healthy' : `did not become healthy within ${seconds} s`;
  const undo = changed === 'new' ? 'undo the deployment' : 'restore the previous version';
  const back = changed ? ` To ${undo}: quarterdeck rollback ${id}.` : '';
  const message = last ? `${id} ${problem}: ${last.state.label}. ${last.detail}` : `${id} was started, but it has no containers.`;
  throw new UnhealthyFault(message, `Check the log: quarterdeck logs ${id}.`, back);
}

/** Returns the containers whose health check has not answered: their engine runs no health checks. */
export function namesWithoutVerdict({ services }: ComponentView): string[] {
  return services.filter(({ state }) => state === 'starting').map(({ containerName }) => containerName);
}

function lastVerdictMs(component: ComponentView | undefined): number | undefined {
  const nowMs = Date.now();
  const dues = (component?.services ?? []).flatMap((service) => (awaitsVerdict(service, nowMs) ? (service.verdictMs ?? []) : []));
  return dues.length === 0 ? undefined : Math.max(...dues);
}

function countdown(component: ComponentView): string {
  const verdictMs = lastVerdictMs(component);
  return verdictMs === undefined ? '' : `, health check result within ${Math.ceil((verdictMs - Date.now()) / 1000)} s`;
}

function untilSeen<T>(fleet: Fleet, signal: AbortSignal, look: () => T | undefined): Promise<T> {
  const { promise, resolve } = Promise.withResolvers<T>();
  let ended = false;
  const once = () => {
    const seen = ended ? undefined : look();
    if (seen === undefined) return;
    ended = true;
    resolve(seen);
  };
  const refresh = () => {
    fleet.refresh();
    once();
  };
  // A probe runs at its own interval, which is too slow while the operator waits.
  const again = setInterval(refresh, refreshEveryMs);
  const stop = fleet.subscribe(once);
  if (!signal.aborted) refresh();
  return orAborted(promise, signal).finally(() => {
    ended = true;
    clearInterval(again);
    stop();
  });
}

export async function showEvidence(scope: EngineScope, component: ComponentView | undefined): Promise<void> {
  const { session, engine } = scope;
  for (const service of component?.services ?? []) {
    if (service.containerId === undefined || (service.state === 'healthy' && component?.probe?.state?.severity !== 'error')) continue;
    const lines: string[] = [];
    const limit = AbortSignal.any([session.signal, AbortSignal.timeout(5_000)]);
    try {
      for await (const batch of engine.logs(service.containerId, { signal: limit, follow: false, tail: shownLines, tty: service.tty }))
        for (const { text } of batch) lines.push(text);
    } catch {
      // An unreadable log must not hide why the start failed.
    }
    if (lines.length > 0)
      session.show({
        kind: 'table',
        title: `Last lines of ${service.containerName}`,
        columns: [''],
        rows: lines.slice(-shownLines).map((line) => [line]),
      });
  }
}
