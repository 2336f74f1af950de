import { Fault } from '../faults/fault.ts';
import type { PlaceView } from '../fleet/model.ts';
import type { FlowOutcome } from '../flows/flow.ts';
import { shellWord } from '../hosts/ssh/shell-words.ts';
import type { Operator, Shown } from '../session/session.ts';

/** What the commands of a text are for. */
export interface CommandSubject {
  /** Undefined where a command without a host can mean only this. */
  host: string | undefined;
  /** Undefined in texts that are about none, or about several. */
  component: string | undefined;
}

/** These are about this installation, whatever host is meant. */
const command = /(?<![\w./-])quarterdeck (?=[a-z])(?!(?:catalog|completion|help|hosts) ?)/g;

/** Who writes a text about any component leaves its name open: `quarterdeck mesh keys COMPONENT`. */
const openName = /(?<=(?<![\w./-])quarterdeck [a-z][a-z -]* )COMPONENT(?![\w:|/])/g;

/** What commands are for in a session with these places. A machine with several engines is named too, since commands that change something have to say which. */
export function subjectIn(places: readonly Pick<PlaceView, 'name'>[], place: string, component?: string): CommandSubject {
  return { host: hostToName(places, place), component };
}

export function hostToName(places: readonly Pick<PlaceView, 'name'>[], place: string): string | undefined {
  if (place !== 'local' && place !== 'practice') return place;
  return places.filter(({ name }) => name === place || name.startsWith(`${place}/`)).length > 1 ? place : undefined;
}

/** The commands in a text with the component and the host that they are for: without them they could be about others. */
export function commandsFor({ host, component }: CommandSubject, text: string): string {
  const named = component === undefined ? text : text.replace(openName, () => shellWord(component));
  return host === undefined ? named : named.replace(command, () => `quarterdeck --host ${shellWord(host)} `);
}

export function outcomeFor(subject: CommandSubject, outcome: FlowOutcome): FlowOutcome {
  const complete = (text: string) => commandsFor(subject, text);
  const { message, todo } = outcome;
  const items = todo?.items.map((item) => ({ ...item, title: complete(item.title), detail: complete(item.detail) }));
  return { ...outcome, message: complete(message), ...(todo && items && { todo: { ...todo, items } }) };
}

/** Anything that was thrown, as it is or with its commands completed. */
export function thrownFor(subject: CommandSubject, thrown: unknown): unknown {
  if (!(thrown instanceof Fault)) return thrown;
  const { code, message, remedy, where, cause } = thrown;
  const texts = { message: commandsFor(subject, message), remedy: commandsFor(subject, remedy) };
  return texts.message === message && texts.remedy === remedy ? thrown : new Fault({ code, ...texts, ...(where && { where }), cause });
}

export function operatorFor(subject: CommandSubject, operator: Operator): Operator {
  if (subject.host === undefined && subject.component === undefined) return operator;
  const complete = (text: string) => commandsFor(subject, text);
  const completed = (shown: Shown): Shown => {
    if (shown.kind === 'text') return { ...shown, text: complete(shown.text) };
    if (shown.kind !== 'item') return shown;
    return { ...shown, title: complete(shown.title), ...(shown.evidence !== undefined && { evidence: complete(shown.evidence) }) };
  };
  return {
    kind: operator.kind,
    ask: (question, signal) => operator.ask({ ...question, ...(question.help !== undefined && { help: complete(question.help) }) }, signal),
    confirm: (confirmation, signal) => operator.confirm(confirmation, signal),
    fill: (form, signal) => operator.fill(form, signal),
    review: (review, signal) => {
      const findings = review.findings.map((finding) => ({
        ...finding,
        message: complete(finding.message),
        advice: complete(finding.advice),
      }));
      return operator.review({ ...review, findings }, signal);
    },
    show: (shown) => operator.show(completed(shown)),
    progress: (progress) => operator.progress(progress),
    lend: (use) => operator.lend(use),
  };
}
