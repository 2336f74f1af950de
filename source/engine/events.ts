import type { EngineEvent, EngineEventAction } from './engine.ts';

/** One line of `GET /events`. `status`, `id` and `from` are gone from API 1.52 on, and were the only fields before 1.22. */
interface RawEvent {
  Type?: string;
  Action?: string;
  status?: string;
  id?: string;
  Actor?: { ID?: string; Attributes?: Record<string, string> | null };
  time?: number;
  timeNano?: number;
}

export const containerActions = [
  'create',
  'start',
  'die',
  'kill',
  'stop',
  'pause',
  'unpause',
  'restart',
  'remove',
  'rename',
  'oom',
  'update',
] as const;

const actions: ReadonlyMap<string, EngineEventAction> = new Map<string, EngineEventAction>([
  ...containerActions.map((action) => [action, action] as const),
  ['destroy', 'remove'],
  ['health_status', 'health'],
  // Podman before 4.0.
  ['died', 'die'],
]);

/** Execs come with every health check; Podman adds `sync` whenever containers are listed: listing in response to it would never stop. */
const noise = /^(exec(_.*)?|sync|top|attach|detach|resize|export|copy|archive-path|extract-to-dir|mount|unmount|init)$/;

const kinds: ReadonlySet<unknown> = new Set<EngineEvent['kind']>(['container', 'image', 'network', 'volume']);

/** Undefined for an event without a change. An unknown type of event is ignored, whatever its fields (R58). `checked`: see `wordOf`. */
export function engineEvent(raw: unknown, checked?: Set<string | undefined>): EngineEvent | undefined {
  if (typeof raw !== 'object' || raw === null) return undefined;
  const { Type, id, Actor, time, timeNano } = raw as RawEvent;
  const word = wordOf(raw, checked);
  // `prune` of containers refers to no single container: each has had its own event.
  if (word === undefined || noise.test(word) || word === 'prune') return undefined;
  const named: unknown = Type ?? 'container';
  const kind = kinds.has(named) ? (named as EngineEvent['kind']) : 'other';
  const attributes = typeof Actor?.Attributes === 'object' ? (Actor.Attributes ?? {}) : {};
  const action = kind === 'container' ? (actions.get(word) ?? 'other') : kind === 'network' || kind === 'image' ? kind : 'other';
  return {
    kind,
    action,
    // Podman sends only a name for volumes, no id.
    id: [Actor?.ID, id, attributes.name].find((one) => typeof one === 'string' && one !== '') ?? '',
    timeMs: momentMs(timeNano, (ns) => ns / 1e6) ?? momentMs(time, (s) => s * 1000) ?? 0,
    attributes,
    ...(action === 'kill' && attributes.signal && { signal: attributes.signal }),
  };
}

/**
 * Podman 4.3 reports a health check when it begins, and its end as that of any exec. `checked` keeps the containers of Podman's stream that
 * have health checks: there, the end of an exec may be a change of health.
 */
function wordOf({ Action, status, id, Actor }: RawEvent, checked?: Set<string | undefined>): string | undefined {
  const reported = typeof Action === 'string' ? Action : status;
  if (typeof reported !== 'string') return undefined;
  const word = reported.split(':', 1)[0]?.trim();
  const subject = Actor?.ID || id;
  if (word === 'health_status') checked?.add(subject);
  if (word === 'remove') checked?.delete(subject);
  return word === 'exec_died' && checked?.has(subject) ? 'health_status' : word;
}

/** The furthest moment from 1970 that a Date can hold (ECMA-262): it would throw when it formats a further one. */
const furthestMs = 8.64e15;

function momentMs(value: unknown, toMs: (value: number) => number): number | undefined {
  if (typeof value !== 'number') return undefined;
  const ms = Math.floor(toMs(value));
  return ms !== 0 && Math.abs(ms) <= furthestMs ? ms : undefined;
}
