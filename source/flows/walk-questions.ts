import { resolve } from 'node:path';
import { writeOwnFile } from '../config/own-files.ts';
import { Fault } from '../faults/fault.ts';
import type { Checklist, ChecklistItem } from '../session/checklist.ts';
import { checklistReport } from '../session/checklist-report.ts';
import type { Choice, Session } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { countText } from '../text/quantities.ts';
import type { FlowInput } from './flow.ts';

/** What somebody typed behind `--skip`: item to reason. Throws `usage.skip`. */
export function skipsOf({ options }: FlowInput): ReadonlyMap<string, string> {
  const given = Array.isArray(options.skip) ? (options.skip as readonly string[]) : [];
  return new Map(
    given.map((text) => {
      const [, item = '', reason = ''] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
      if (item.trim() === '' || reason.trim() === '') {
        throw new Fault({
          code: 'usage.skip',
          message: `--skip ${cleanLine(text)} says no reason.`,
          remedy: 'Write the item and why: --skip webhooks="switched off for the upgrade".',
        });
      }
      return [item.trim(), reason.trim()];
    }),
  );
}

/** A further way on, besides those that every checklist has. */
export interface WalkAction extends Choice {
  /** Can be chosen although something blocks. */
  first?: boolean;
}

/**
 * Shows the checklist and asks how to go on: `go`, `again`, an action of the walk, or that something is skipped, which is done here. Where nobody is there, nothing
 * that blocks is skipped. @returns what to do, `go` only where nothing blocks
 */
export async function askWalk(
  session: Session,
  list: Checklist,
  { id, label, go, actions = [] }: { id: string; label: string; go: string; actions?: readonly WalkAction[] },
): Promise<string> {
  const { blocked } = list;
  if (session.rehearsing) return 'go';
  const skips = blocked.map((item) => ({
    value: `skip:${item.id}`,
    label: `Skip "${item.title}"`,
    detail: 'with a reason, which is kept',
  }));
  const leading = actions.filter(({ first }) => first);
  const choices: Choice[] = [
    ...leading,
    ...(blocked.length === 0 ? [{ value: 'go', label: go }] : []),
    ...actions.filter(({ first }) => !first),
    { value: 'again', label: 'Look again' },
    ...skips,
    { value: 'leave', label: 'Leave it here', detail: 'everything is kept' },
  ];
  let answer: string;
  try {
    answer = await session.ask.choice({
      id,
      label,
      help: blocked.length === 0 ? 'Nothing is in the way.' : inTheWay(blocked),
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
  if (answer === 'leave') throw new Fault({ code: 'interrupted.cancelled', message: 'Left here.', remedy: 'Go on whenever you like.' });
  if (!answer.startsWith('skip:')) return answer;
  const item = answer.slice(5);
  const reason = await session.ask.text({
    id: `reason ${item}`,
    label: `Why is "${list.item(item)?.title ?? item}" skipped?`,
    help: 'Kept with your name, and in the report.',
    fresh: true,
    check: (text) => (text.trim().length < 3 ? 'Whoever reads it tomorrow wants a reason.' : undefined),
  });
  await list.skip(item, reason.trim());
  return 'skipped';
}

/** For who only looks: the list says the rest. */
export function inTheWay(blocked: readonly ChecklistItem[]): string {
  return `${countText(blocked.length, 'item')} in the way: ${blocked.map(({ id, title }) => `${title} (${id})`).join(', ')}.`;
}

export function refusedBy(blocked: readonly ChecklistItem[]): Fault {
  return new Fault({
    code: 'refused.blocked',
    message: `${countText(blocked.length, 'item')} in the way. ${blocked.map(({ id, title, summary }) => `${title} (${id}): ${summary.replace(/\.?$/, '.')}`).join(' ')}`,
    remedy: `${blocked
      .map(({ advice }) => advice)
      .filter(Boolean)
      .slice(0, 3)
      .join(' ')} Or skip one: --skip ${blocked[0]?.id.includes(' ') ? `"${blocked[0]?.id}=REASON"` : `${blocked[0]?.id}=REASON`}.`.trim(),
  });
}

/** Writes the report where `--report` says; an older one at the same place is of the same walk, and replaced. */
export async function writeReport(session: Session, input: FlowInput, list: Checklist, outcome: string): Promise<string | undefined> {
  const { report } = input.options;
  if (typeof report !== 'string' || session.rehearsing) return undefined;
  const path = resolve(report);
  await writeOwnFile(path, session.withoutSecrets(checklistReport(list, { outcome })), { chosen: true });
  return path;
}

/** The checklist as `--json` has it. */
export function checklistData(list: Checklist): object {
  return {
    title: list.title,
    begun: list.begun,
    ...list.facts,
    items: list.items.map(({ id, section, title, state, summary, evidence, advice, reason, by, at }) => ({
      id,
      section,
      title,
      state,
      summary,
      evidence,
      ...(advice !== undefined && { advice }),
      ...(reason !== undefined && { reason }),
      by,
      at,
    })),
  };
}
