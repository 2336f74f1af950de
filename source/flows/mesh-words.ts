import { Fault } from '../faults/fault.ts';
import { type MeshApiKey, type MeshKey, type MeshNode, waitingRoutes } from '../products/headscale-things.ts';
import { durationProblem, parseDuration } from '../session/answer-checks.ts';
import type { Session } from '../session/session.ts';
import { countText, durationText } from '../text/quantities.ts';
import type { FlowInput } from './flow.ts';

/* How things of the mesh are told, in lists, questions and sentences alike. */

export type Standing = 'valid' | 'used' | 'expired';

const tenYearsSeconds = 10 * 365 * 86_400;

const daysToTheMinute = 3;

/** The day, in UTC; of what is near the minute too. */
export function dateText(ms: number | undefined): string {
  if (ms === undefined) return 'never';
  const text = new Date(ms).toISOString();
  const isNear = Math.abs(ms - Date.now()) < daysToTheMinute * 86_400_000;
  return isNear ? `${text.slice(0, 10)} ${text.slice(11, 16)} UTC` : text.slice(0, 10);
}

/** `online`, `offline 3d`, `expired 14d`: what somebody looks for first. */
export function nodeState(node: MeshNode, nowMs: number): string {
  if (isPast(node.expiryMs, nowMs)) return `expired ${durationText(nowMs - (node.expiryMs ?? nowMs))}`;
  if (node.online) return 'online';
  return node.lastSeenMs === undefined ? 'offline' : `offline ${durationText(nowMs - node.lastSeenMs)}`;
}

/** `in 12d`, `never`, `14d ago`. */
export function untilText(ms: number | undefined, nowMs: number): string {
  if (ms === undefined) return 'never';
  return ms > nowMs ? `in ${durationText(ms - nowMs)}` : `${durationText(nowMs - ms)} ago`;
}

/** `ann`, or the tags that it belongs to. */
export function ownerText({ owner, tags }: Pick<MeshNode, 'owner' | 'tags'>): string {
  return [owner, ...tags].filter(Boolean).join(' ') || '-';
}

/** `2 routes, 1 waits`; empty where it leads nowhere. */
export function routesText(node: MeshNode): string {
  const count = node.routes?.approved.length ?? 0;
  const waiting = waitingRoutes(node).length;
  const parts = [...(count > 0 ? [countText(count, 'route')] : []), ...(waiting > 0 ? [`${waiting} to approve`] : [])];
  return parts.join(', ');
}

export function keyStanding({ used, reusable, expiryMs }: MeshKey, nowMs: number): Standing {
  if (isPast(expiryMs, nowMs)) return 'expired';
  return used && !reusable ? 'used' : 'valid';
}

/** `once`, `reusable, ephemeral`. */
export function keyKind({ reusable, ephemeral }: Pick<MeshKey, 'reusable' | 'ephemeral'>): string {
  return [reusable ? 'reusable' : 'once', ...(ephemeral ? ['ephemeral'] : [])].join(', ');
}

export function isPast(ms: number | undefined, nowMs: number): boolean {
  return ms !== undefined && ms <= nowMs;
}

/** Whether something ends at one of these times: so a key is known again that a run made before it broke off. To the millisecond: others are made in the same second. */
export function isOneOf(ms: number | undefined, times: readonly number[]): boolean {
  return ms !== undefined && times.some((time) => Math.abs(time - ms) < 2);
}

export function apiKeyStanding({ expiryMs }: MeshApiKey, nowMs: number): Standing {
  return isPast(expiryMs, nowMs) ? 'expired' : 'valid';
}

/** A duration as it is written for a key: from a minute to ten years. */
export function expirationProblem(text: string): string | undefined {
  const seconds = parseDuration(text);
  if (seconds === undefined) return durationProblem(text);
  if (seconds < 60) return 'That is less than a minute: write 12h or 30d.';
  return seconds > tenYearsSeconds ? 'That is more than ten years: whoever finds the key later comes in with it.' : undefined;
}

/** Of `--expiration`, in seconds. Throws `usage.expiration`. */
export function expirationOf({ options }: FlowInput, usual: string): { written: string; seconds: number } {
  const written = typeof options.expiration === 'string' ? options.expiration : usual;
  const problem = expirationProblem(written);
  if (problem !== undefined)
    throw new Fault({ code: 'usage.expiration', message: `--expiration: ${problem}`, remedy: 'For example: --expiration 30d' });
  return { written, seconds: parseDuration(written) ?? 0 };
}

/** Runs a part with questions. Whoever walks away from them reads what that leaves. */
export async function leavingSays<T>(
  session: Session,
  sentence: string,
  part: () => Promise<T>,
  remedy = 'Start it again whenever you like.',
): Promise<T> {
  try {
    return await part();
  } catch (thrown) {
    if (session.signal.aborted || !(thrown instanceof Fault) || thrown.code !== 'interrupted.cancelled') throw thrown;
    throw new Fault({ code: 'interrupted.cancelled', message: sentence, remedy, cause: thrown });
  }
}

/** Says something beside the answer: what is piped on stays what was asked for. */
export function tellAside(session: Session, text: string): void {
  session.show({ kind: 'output', stream: 'stderr', bytes: new TextEncoder().encode(`${text}\n`) });
}

/** The words behind the component, none of them empty. */
export function wordsOf({ words }: FlowInput): readonly string[] {
  return words.map((word) => word.trim()).filter(Boolean);
}
