import { Fault } from '../faults/fault.ts';
import type { FlowOutcome } from '../flows/flow.ts';
import { shellWord } from '../hosts/ssh/shell-words.ts';
import type { Operator, Shown } from '../session/session.ts';

/** These are about this installation, whatever host is meant. */
const command = /(?<![\w./-])quarterdeck (?=[a-z])(?!(?:catalog|completion|help|hosts) ?)/g;

const isThisMachine = (place: string) => place === 'local' || place === 'practice';

/** The commands in a text with the host that they are for: without it they would go to this machine. */
export function commandsThere(place: string, text: string): string {
  return isThisMachine(place) ? text : text.replace(command, () => `quarterdeck --host ${shellWord(place)} `);
}

export function outcomeThere(place: string, outcome: FlowOutcome): FlowOutcome {
  const there = (text: string) => commandsThere(place, text);
  const { message, todo } = outcome;
  const items = todo?.items.map((item) => ({ ...item, title: there(item.title), detail: there(item.detail) }));
  return { ...outcome, message: there(message), ...(todo && items && { todo: { ...todo, items } }) };
}

/** Anything that was thrown, as it is or with its commands led there. */
export function thrownThere(place: string, thrown: unknown): unknown {
  if (!(thrown instanceof Fault)) return thrown;
  const { code, message, remedy, where, cause } = thrown;
  const there = { message: commandsThere(place, message), remedy: commandsThere(place, remedy) };
  return there.message === message && there.remedy === remedy ? thrown : new Fault({ code, ...there, ...(where && { where }), cause });
}

export function operatorThere(place: string, operator: Operator): Operator {
  if (isThisMachine(place)) return operator;
  const there = (text: string) => commandsThere(place, text);
  const shownThere = (shown: Shown): Shown => {
    if (shown.kind === 'text') return { ...shown, text: there(shown.text) };
    if (shown.kind !== 'item') return shown;
    return { ...shown, title: there(shown.title), ...(shown.evidence !== undefined && { evidence: there(shown.evidence) }) };
  };
  return {
    kind: operator.kind,
    ask: (question, signal) => operator.ask({ ...question, ...(question.help !== undefined && { help: there(question.help) }) }, signal),
    confirm: (confirmation, signal) => operator.confirm(confirmation, signal),
    fill: (form, signal) => operator.fill(form, signal),
    review: (review, signal) => {
      const findings = review.findings.map((finding) => ({ ...finding, message: there(finding.message), advice: there(finding.advice) }));
      return operator.review({ ...review, findings }, signal);
    },
    show: (shown) => operator.show(shownThere(shown)),
    progress: (progress) => operator.progress(progress),
    lend: (use) => operator.lend(use),
  };
}
