import { Fault } from '../faults/fault.ts';
import { awaitsVerdict } from '../fleet/component-view.ts';
import type { ComponentView, Fleet, ServiceView } from '../fleet/model.ts';
import { isUpState } from '../fleet/service-state.ts';
import type { Session } from '../session/session.ts';
import { namesText } from '../text/words.ts';
import type { FlowWorld } from './flow.ts';

/** Images start fast or load for long; what loads says so. */
const healthyLimitMs = 180_000;
/** What fails for so long without a break does not heal by waiting; a database that is not up yet is worth a few restarts. */
const failingLimitMs = 30_000;
/** So long a program runs before its running counts. */
const settledMs = 3_000;
/** Where a probe is declared its word is waited for; asking what hangs takes as long as its call may. */
const unaskedMs = 60_000;
const refreshEveryMs = 2_000;
const shownLines = 15;

/** What is seen of a component, as far as waiting for it goes. */
type Seen = 'healthy' | 'waiting' | 'failing';

function seenOf(component: ComponentView, sinceMs: number, isProbed: boolean): Seen {
  const { services, probe } = component;
  if (services.some(({ state }) => state === 'failed' || state === 'killed' || state === 'restarting' || state === 'unhealthy'))
    return 'failing';
  // Podman starts again at once what ends: it is mostly seen running, for a moment.
  if (services.some((service) => service.restarts > 0 && hasJustBegun(service))) return 'failing';
  if (!services.every(({ state }) => isUpState(state) || state === 'finished')) return 'waiting';
  // The container's own health check outranks a probe.
  if (services.some((service) => awaitsVerdict(service, Date.now()))) return 'waiting';
  if (!probe) {
    const enoughMs = isProbed ? unaskedMs : settledMs;
    return services.some((service) => service.state === 'starting' || hasJustBegun(service, enoughMs)) ? 'waiting' : 'healthy';
  }
  if (probe.atMs < sinceMs) return 'waiting';
  if (probe.failure !== undefined || probe.word === 'starting') return 'waiting';
  // What is sealed, loads its feeds or wants its first admin has started as well as it can by itself.
  return probe.tone === 'bad' ? 'failing' : 'healthy';
}

/** Nothing vouches for it but that it runs: what ends at once is seen running too, between two restarts. */
function hasJustBegun({ state, sinceMs }: ServiceView, enoughMs = settledMs): boolean {
  return state === 'running' && sinceMs !== undefined && Date.now() - sinceMs < enoughMs;
}

/**
 * Waits until a component that was just applied is seen healthy: its health checks have answered, and its probe counts it as such. Throws `failed.unhealthy` with
 * the last lines of its log when it is not within three minutes, or the time that its health checks may need, or fails for half a minute without a break.
 * @param options.changed a change from here was applied just before, which `rollback` takes back
 */
export async function waitUntilHealthy(
  session: Session,
  world: FlowWorld,
  place: string,
  id: string,
  { sinceMs = Date.now(), limitMs = healthyLimitMs, changed = false }: { sinceMs?: number; limitMs?: number; changed?: boolean } = {},
): Promise<ComponentView> {
  const { fleet } = world;
  const { signal } = session;
  const isProbed = world.catalog.get(id)?.probe !== undefined;
  const find = () =>
    fleet.snapshot().components.find((component) => component.host === place && component.id === id && component.project === id);
  const waiting = { kind: 'item', id: `wait ${id}`, title: `Waiting until ${id} is healthy` } as const;
  session.show({ ...waiting, state: 'running' });
  let last: ComponentView | undefined;
  let failingSinceMs: number | undefined;
  const startedMs = Date.now();
  // Of the first start alone: what starts again and again would put it off for ever.
  let verdictMs: number | undefined;
  const outcome = await untilSeen(fleet, signal, (): ComponentView | 'failing' | 'late' | undefined => {
    last = find();
    session.progress({ id: `healthy ${id}`, label: last ? `${id}: ${last.word}${countdown(last)}` : `${id}: waiting for its containers` });
    const seen = last && seenOf(last, sinceMs, isProbed);
    if (seen === 'healthy') return last;
    failingSinceMs = seen === 'failing' ? (failingSinceMs ?? performance.now()) : undefined;
    if (failingSinceMs !== undefined && performance.now() - failingSinceMs >= failingLimitMs) return 'failing';
    verdictMs ??= lastVerdictMs(last);
    // What fails meanwhile will not get that far.
    const untilMs = seen === 'waiting' ? Math.max(startedMs + limitMs, verdictMs ?? 0) : startedMs + limitMs;
    return Date.now() >= untilMs ? 'late' : undefined;
  });
  const found = typeof outcome === 'string' ? undefined : outcome;
  session.progress({ id: `healthy ${id}`, label: `${id}: ${found?.word ?? 'not healthy'}`, done: true });
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
  await showEvidence(session, world, place, last);
  throw new Fault({
    code: 'failed.unhealthy',
    message: last
      ? `${id} ${outcome === 'failing' ? 'does not become healthy' : `was not healthy within ${Math.round((Date.now() - startedMs) / 1000)} s`}: ${last.word}. ${last.detail}`
      : `${id} was started, and none of its containers is there.`,
    remedy: `Its log says why: quarterdeck logs ${id}.${changed ? ` What was there before can be put back: quarterdeck rollback ${id}.` : ''}`,
  });
}

/** Containers whose health check has not answered, of a component that {@link waitUntilHealthy} returned: their engine runs no health checks. */
export function namesWithoutVerdict({ services }: ComponentView): string[] {
  return services.filter(({ state }) => state === 'starting').map(({ containerName }) => containerName);
}

/** When the last of its health checks has answered; undefined where none is awaited. */
function lastVerdictMs(component: ComponentView | undefined): number | undefined {
  const nowMs = Date.now();
  const dues = (component?.services ?? []).flatMap((service) => (awaitsVerdict(service, nowMs) ? (service.verdictMs ?? []) : []));
  return dues.length === 0 ? undefined : Math.max(...dues);
}

/** `, its health check answers within 42 s` */
function countdown(component: ComponentView): string {
  const verdictMs = lastVerdictMs(component);
  return verdictMs === undefined ? '' : `, its health check answers within ${Math.ceil((verdictMs - Date.now()) / 1000)} s`;
}

/** Resolves with what `look` answers. */
function untilSeen<T>(fleet: Fleet, signal: AbortSignal, look: () => T | undefined): Promise<T> {
  return new Promise((resolve, reject) => {
    let ended = false;
    const end = (settle: () => void) => {
      ended = true;
      clearInterval(again);
      stop();
      signal.removeEventListener('abort', aborted);
      settle();
    };
    const once = () => {
      if (ended) return;
      const seen = look();
      if (seen !== undefined) end(() => resolve(seen));
    };
    const aborted = () => end(() => reject(signal.reason as Error));
    // A probe is asked as often as it says; somebody is waiting here.
    const again = setInterval(() => {
      fleet.refresh();
      once();
    }, refreshEveryMs);
    const stop = fleet.subscribe(once);
    signal.addEventListener('abort', aborted, { once: true });
    if (signal.aborted) return aborted();
    fleet.refresh();
    once();
  });
}

/** The end of the log of what does not run as it should. */
export async function showEvidence(session: Session, world: FlowWorld, place: string, component: ComponentView | undefined): Promise<void> {
  const engine = world.engineOf(place);
  for (const service of component?.services ?? []) {
    if (service.containerId === undefined || (service.state === 'healthy' && component?.probe?.tone !== 'bad')) continue;
    const lines: string[] = [];
    const limit = AbortSignal.any([session.signal, AbortSignal.timeout(5_000)]);
    try {
      for await (const batch of engine.logs(service.containerId, { signal: limit, follow: false, tail: shownLines, tty: service.tty }))
        for (const { text } of batch) lines.push(text);
    } catch {
      // A log that cannot be read is no reason to hide why the rest failed.
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
