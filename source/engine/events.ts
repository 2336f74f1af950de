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

/** Undefined for an event without a change. An unknown type of event is ignored, whatever its fields (R58). */
export function engineEvent(raw: unknown): EngineEvent | undefined {
  if (typeof raw !== 'object' || raw === null) return undefined;
  const { Type, Action, status, id, Actor, time, timeNano } = raw as RawEvent;
  const said = typeof Action === 'string' ? Action : status;
  if (typeof said !== 'string') return undefined;
  const [word = ''] = said.split(':', 1).map((part) => part.trim());
  // `prune` of containers refers to no single container: each has had its own event.
  if (noise.test(word) || word === 'prune') return undefined;
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

/** The furthest moment from 1970 that a Date can hold (ECMA-262): it would throw when it formats a further one. */
const furthestMs = 8.64e15;

function momentMs(value: unknown, toMs: (value: number) => number): number | undefined {
  if (typeof value !== 'number') return undefined;
  const ms = Math.floor(toMs(value));
  return ms !== 0 && Math.abs(ms) <= furthestMs ? ms : undefined;
}
