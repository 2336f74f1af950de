import { healthOf } from './container-facts.ts';
import type { EngineEvent, EngineEventAction } from './engine.ts';

/** One line of `GET /events`. `status`, `id` and `from` are gone from API 1.52 on, and were all there was before 1.22. */
interface RawEvent {
  Type?: string;
  Action?: string;
  status?: string;
  id?: string;
  Actor?: { ID?: string; Attributes?: Record<string, string> | null };
  time?: number;
  timeNano?: number;
  /** Podman, instead of Docker's `health_status: healthy`. */
  HealthStatus?: string;
}

const actions: ReadonlyMap<string, EngineEventAction> = new Map(
  Object.entries<EngineEventAction>({
    create: 'create',
    start: 'start',
    die: 'die',
    kill: 'kill',
    stop: 'stop',
    pause: 'pause',
    unpause: 'unpause',
    restart: 'restart',
    destroy: 'remove',
    remove: 'remove',
    rename: 'rename',
    oom: 'oom',
    health_status: 'health',
    update: 'update',
    // Podman before 4.0.
    died: 'die',
  }),
);

/**
 * Said without anything having changed. Execs come with every health check; Podman adds `sync`, once for every container whenever
 * somebody lists them: whoever lists because of it never stops.
 */
const noise = /^(exec(_.*)?|sync|top|attach|detach|resize|export|copy|archive-path|extract-to-dir|mount|unmount|init)$/;

const kinds: ReadonlySet<unknown> = new Set<EngineEvent['kind']>(['container', 'image', 'network', 'volume']);

/** The event in our words, undefined for what is no news. What no engine has said yet is an event of another kind, whatever it looks like (R58). */
export function engineEvent(raw: unknown): EngineEvent | undefined {
  if (typeof raw !== 'object' || raw === null) return undefined;
  const { Type, Action, status, id, Actor, time, timeNano, HealthStatus } = raw as RawEvent;
  const said = typeof Action === 'string' ? Action : status;
  if (typeof said !== 'string') return undefined;
  // `health_status: healthy`, `exec_create: sh -c true`.
  const colon = said.indexOf(':');
  const word = (colon < 0 ? said : said.slice(0, colon)).trim();
  // `prune` of containers is about none of them: each has had its own event.
  if (noise.test(word) || word === 'prune') return undefined;
  const named: unknown = Type ?? 'container';
  const kind = kinds.has(named) ? (named as EngineEvent['kind']) : 'other';
  const attributes = typeof Actor?.Attributes === 'object' ? (Actor.Attributes ?? {}) : {};
  const event: EngineEvent = {
    kind,
    action: kind === 'container' ? (actions.get(word) ?? 'other') : kind === 'network' || kind === 'image' ? kind : 'other',
    // Podman gives volumes no id but a name.
    id: [Actor?.ID, id, attributes.name].find((one) => typeof one === 'string' && one !== '') ?? '',
    timeMs: momentMs(timeNano, (ns) => ns / 1e6) ?? momentMs(time, (s) => s * 1000) ?? 0,
    attributes,
  };
  if (event.action === 'die') {
    const exitCode = Number(attributes.exitCode ?? attributes.containerExitCode);
    if (Number.isInteger(exitCode)) event.exitCode = exitCode;
  }
  if (event.action === 'kill' && attributes.signal) event.signal = attributes.signal;
  if (event.action === 'health')
    event.health = healthOf(colon < 0 ? (HealthStatus ?? attributes.health_status) : said.slice(colon + 1).trim());
  return event;
}

/** The furthest moment from 1970 that a Date can hold, in milliseconds (ECMA-262, time values). */
const furthestMs = 8.64e15;

/** Milliseconds since 1970, undefined for no time, or for one that no Date can hold: what is shown of it would throw. */
function momentMs(value: unknown, toMs: (value: number) => number): number | undefined {
  if (typeof value !== 'number') return undefined;
  const ms = Math.floor(toMs(value));
  return ms !== 0 && Math.abs(ms) <= furthestMs ? ms : undefined;
}
