import { Fault } from '../../faults/fault.ts';
import type { FlowInput } from '../../flows/flow.ts';
import { durationProblem, parseDuration } from '../../session/answer-checks.ts';
import type { Session } from '../../session/session.ts';
import { cleanLine } from '../../text/clean.ts';
import { nameRemedy } from '../../text/nearest-name.ts';
import { countText, durationText } from '../../text/quantities.ts';
import { type MeshApiKey, type MeshKey, type MeshNode, waitingRoutes } from './client/headscale-records.ts';

type KeyStatus = 'valid' | 'used' | 'expired';

const tenYearsSeconds = 10 * 365 * 86_400;

/** Returns `online`, `offline 3d` or `expired 14d`: the first thing that operators look for. */
export function nodeState(node: MeshNode, nowMs: number): string {
  if (isPast(node.expiryMs, nowMs)) return `expired ${durationText(nowMs - (node.expiryMs ?? nowMs))}`;
  if (node.online) return 'online';
  return node.lastSeenMs === undefined ? 'offline' : `offline ${durationText(nowMs - node.lastSeenMs)}`;
}

export function untilText(ms: number | undefined, nowMs: number): string {
  if (ms === undefined) return 'never';
  return ms > nowMs ? `in ${durationText(ms - nowMs)}` : `${durationText(nowMs - ms)} ago`;
}

export function ownerText({ owner, tags }: Pick<MeshNode, 'owner' | 'tags'>): string {
  return [owner, ...tags].filter(Boolean).join(' ') || '-';
}

export function routesText(node: MeshNode): string {
  const count = node.routes?.approved.length ?? 0;
  const waiting = waitingRoutes(node).length;
  const parts = [...(count > 0 ? [countText(count, 'route')] : []), ...(waiting > 0 ? [`${waiting} to approve`] : [])];
  return parts.join(', ');
}

export function keyStatus({ used, reusable, expiryMs }: MeshKey, nowMs: number): KeyStatus {
  if (isPast(expiryMs, nowMs)) return 'expired';
  return used && !reusable ? 'used' : 'valid';
}

export function keyKind({ reusable, ephemeral }: Pick<MeshKey, 'reusable' | 'ephemeral'>): string {
  return [reusable ? 'reusable' : 'once', ...(ephemeral ? ['ephemeral'] : [])].join(', ');
}

export const isPast = (ms: number | undefined, nowMs: number): boolean => ms !== undefined && ms <= nowMs;

/** Its exact expiry time identifies a key that an interrupted run created: other keys can be created in the same second. */
export function isOneOf(ms: number | undefined, times: readonly number[]): boolean {
  return ms !== undefined && times.some((time) => Math.abs(time - ms) < 2);
}

export function apiKeyStatus({ expiryMs }: MeshApiKey, nowMs: number): KeyStatus {
  return isPast(expiryMs, nowMs) ? 'expired' : 'valid';
}

export function expirationProblem(text: string): string | undefined {
  const seconds = parseDuration(text);
  if (seconds === undefined) return durationProblem(text);
  if (seconds < 60) return 'Enter a duration of at least one minute, such as 12h or 30d.';
  return seconds > tenYearsSeconds ? 'Use at most ten years.' : undefined;
}

export function expirationOf({ options }: FlowInput, usual: string): number {
  const written = typeof options.expiration === 'string' ? options.expiration : usual;
  const problem = expirationProblem(written);
  if (problem !== undefined) throw new Fault('usage.expiration', `--expiration: ${problem}`, 'For example: --expiration 30d');
  return parseDuration(written) ?? 0;
}

/** Shows a message on stderr, so that piped output contains only the result. */
export function showNote(session: Session, text: string): void {
  session.show({ kind: 'output', stream: 'stderr', bytes: new TextEncoder().encode(`${text}\n`) });
}

export function unknownAction(written: string, what: string, known: readonly string[]): Fault {
  const remedy = `Use one of: ${known.join(', ')}.`;
  return new Fault('usage.action', `Unknown action "${cleanLine(written)}" for ${what}.`, remedy);
}

export const wordsOf = ({ words }: FlowInput): readonly string[] => words.map((word) => word.trim()).filter(Boolean);

/** Returns the item with this unique name, this id or this other name. Throws `usage.node` and `usage.user`. */
export function itemNamed<T extends { id: string; name: string }>(
  items: readonly T[],
  written: string,
  { noun, none }: { noun: 'node' | 'user'; none: string },
  otherNamesOf: (item: T) => readonly string[],
): T {
  const called = items.filter(({ name }) => name === written);
  const byId = called.length === 1 ? undefined : items.find(({ id }) => id === written);
  const matches = called.length > 0 ? called : items.filter((item) => otherNamesOf(item).includes(written));
  const [only, another] = byId ? [byId] : matches;
  if (only && !another) return only;
  if (another) {
    const remedy = `Specify one by ID: ${matches.map(({ id }) => cleanLine(id)).join(', ')}.`;
    throw new Fault(`usage.${noun}`, `Several ${noun}s are named ${cleanLine(written)}.`, remedy);
  }
  const names = items.map(({ name }) => name);
  throw new Fault(`usage.${noun}`, `No ${noun} is named "${cleanLine(written)}".`, nameRemedy(written, names, none));
}

/** Returns the value of a choice: the name, or the id if the name is not unique. */
export function keyOf<T extends { id: string; name: string }>(items: readonly T[], { id, name }: T): string {
  return items.some((other) => other.name === name && other.id !== id) ? id : name;
}
