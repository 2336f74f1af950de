import type { ConditionFacts } from '../calls/conditions.ts';
import type { CatalogEntry } from '../catalog/catalog.ts';
import { agoText } from '../text/quantities.ts';
import type { ProbeView } from './model.ts';
import { isUnanswered } from './probe-login.ts';

const statusColumns = 48;

/** `missed`: a call that it uses did not respond. */
interface Reported {
  line: string | undefined;
  missed: boolean;
}

export function statusFrom(
  entry: CatalogEntry,
  facts: ConditionFacts,
  { statusLine, statusCalls }: typeof import('../calls/conditions.ts'),
  { unanswered }: { unanswered: ReadonlySet<string> },
): Reported {
  const line = statusLine(entry, facts);
  if (line !== undefined || !entry.probe?.status.length) return { line, missed: false };
  const answers = new Map(Object.entries(facts.calls));
  const isMissed = (name: string) => {
    const answer = answers.get(name);
    return unanswered.has(name) || (answer !== undefined && isUnanswered(answer));
  };
  return { line, missed: [...statusCalls(entry)].some(isMissed) };
}

/** Keeps the value of the previous probe, with its time, if it could not be renewed. */
export function renewedStatus(
  before: ProbeView | undefined,
  { line, missed }: Reported,
  say: (text: string, columns: number) => string,
): ProbeView['status'] {
  if (line !== undefined) return { text: say(line, statusColumns) };
  return before?.status && missed ? { text: before.status.text, staleMs: before.status.staleMs ?? before.atMs } : undefined;
}

/** Returns `3 streams`, or `3 streams (5 minutes ago)` for a value that could not be renewed. */
export function statusText({ probe }: { probe: ProbeView | undefined }, nowMs: number): string {
  const { text = '', staleMs } = probe?.status ?? {};
  return staleMs === undefined ? text : `${text} (${agoText(nowMs - staleMs)})`;
}
