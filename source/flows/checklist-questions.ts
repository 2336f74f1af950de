import { resolve } from 'node:path';
import { writeOwnFile } from '../config/own-files.ts';
import { Fault } from '../faults/fault.ts';
import { type Checklist, type ChecklistItem, checklistReport } from '../session/checklist.ts';
import type { Choice, Session } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { countText } from '../text/quantities.ts';
import { splitAssignment } from '../text/words.ts';
import type { FlowInput, FlowOutcome } from './flow.ts';
import { optionOf, optionsOf } from './flow-options.ts';

/** Skips the items of `--skip`. Throws `usage.skip` for an item that is neither known nor was skipped in an earlier run. */
export async function skipItems(list: Checklist, input: FlowInput, known: readonly string[]): Promise<void> {
  const skips = skipsOf(input);
  for (const item of skips.keys())
    if (!known.includes(item) && list.note(item)?.kind !== 'skipped')
      throw new Fault('usage.skip', `Unknown item "${cleanLine(item)}" in --skip.`, `Items: ${known.map(cleanLine).join(', ')}.`);
  for (const [item, reason] of skips) await list.skip(item, reason);
}

/** Parses the values of `--skip`: item to reason. Throws `usage.skip`. */
function skipsOf(input: FlowInput): ReadonlyMap<string, string> {
  return new Map(
    (optionsOf(input, 'skip') ?? []).map((text) => {
      const [item, reason = ''] = splitAssignment(text);
      if (item.trim() === '' || reason.trim() === '') {
        const remedy = 'For example: --skip webhooks="switched off for the upgrade"';
        throw new Fault('usage.skip', `--skip must be ITEM=REASON, not "${cleanLine(text)}".`, remedy);
      }
      return [item.trim(), reason.trim()];
    }),
  );
}

export interface ChecklistAction extends Choice {
  /** Available even while an item blocks. */
  first?: boolean;
}

/** Prompts for the next action, and does skips itself. Returns `go` only if nothing blocks. Without a user, no item is skipped. */
export async function runChecklist(
  session: Session,
  list: Checklist,
  { id, label, go, actions = [] }: { id: string; label: string; go: string; actions?: readonly ChecklistAction[] },
): Promise<string> {
  const { blocked } = list;
  if (session.dryRun) return 'go';
  const skips = blocked.map((item) => ({
    value: `skip:${item.id}`,
    label: `Skip "${item.title}"`,
    detail: 'requires a reason, which is recorded',
  }));
  const leading = actions.filter(({ first }) => first);
  const choices: Choice[] = [
    ...leading,
    ...(blocked.length === 0 ? [{ value: 'go', label: go }] : []),
    ...actions.filter(({ first }) => !first),
    { value: 'again', label: 'Check again' },
    ...skips,
    { value: 'leave', label: 'Pause', detail: 'progress is saved' },
  ];
  let answer: string;
  try {
    answer = await session.ask.choice({
      id,
      label,
      help: blocked.length === 0 ? 'No blocking items.' : inTheWay(blocked),
      choices,
      initial: choices[0]?.value ?? 'leave',
      fresh: true,
      checklist: { title: list.title, items: list.items },
    });
  } catch (thrown) {
    if (!(thrown instanceof Fault) || thrown.code !== 'usage.unanswered') throw thrown;
    const [first] = leading;
    if (first) return first.value;
    if (blocked.length === 0) return 'go';
    throw refusedBy(blocked);
  }
  if (answer === 'leave') throw pausedFault();
  if (!answer.startsWith('skip:')) return answer;
  const item = answer.slice(5);
  await skipItem(session, list, item, `Reason for skipping "${list.item(item)?.title ?? item}"`);
  return 'skipped';
}

/** Prompts for the reason, and skips the item. */
export async function skipItem(session: Session, list: Checklist, item: string, label: string): Promise<void> {
  const reason = await session.ask.text({
    id: `reason ${item}`,
    label,
    help: 'Recorded with your name, and included in the report.',
    fresh: true,
    check: (text) => (text.trim().length < 3 ? 'A reason is required.' : undefined),
  });
  await list.skip(item, reason.trim());
}

export const pausedFault = () => new Fault('interrupted.cancelled', 'Paused; progress is saved.', 'Run the command again to resume.');

export function inTheWay(blocked: readonly ChecklistItem[]): string {
  return `${countText(blocked.length, 'blocking item')}: ${blocked.map(({ id, title }) => `${title} (${id})`).join(', ')}.`;
}

function refusedBy(blocked: readonly ChecklistItem[]): Fault {
  const summaries = blocked.map(({ id, title, summary }) => `${title} (${id}): ${summary.replace(/\.?$/, '.')}`);
  const advice = blocked.flatMap((item) => item.advice || []).slice(0, 3);
  const skip = `${blocked[0]?.id}=REASON`;
  const message = `${countText(blocked.length, 'blocking item')}. ${summaries.join(' ')}`;
  const skipping = `${advice.length > 0 ? 'Or skip' : 'Skip'} an item: --skip ${skip.includes(' ') ? `"${skip}"` : skip}.`;
  return new Fault('refused.blocked', message, [...advice, skipping].join(' '));
}

/** Writes the report to the path of `--report`. An existing file at that path is replaced: it is a report of an earlier run. */
export async function writeReport(session: Session, input: FlowInput, list: Checklist, outcome: string): Promise<string | undefined> {
  const report = optionOf(input, 'report');
  if (report === undefined || session.dryRun) return undefined;
  const path = resolve(report);
  await writeOwnFile(path, session.withoutSecrets(checklistReport(list, { outcome })), { chosen: true });
  return path;
}

/** Returns the outcome of a checklist, with its report. `message` is for the user alone. An incomplete one ends with 1. */
export async function checklistOutcome(
  session: Session,
  input: FlowInput,
  list: Checklist,
  { outcome, message = outcome, complete = true }: { outcome: string; message?: string; complete?: boolean },
): Promise<FlowOutcome> {
  const report = await writeReport(session, input, list, outcome);
  return {
    message: `${message}${report ? ` Report: ${report}` : ''}`,
    data: { title: list.title, started: list.started, ...list.facts, items: list.items },
    ...(!complete && { exitCode: 1 }),
  };
}
