import { Fault } from '../faults/fault.ts';
import type { EngineView } from '../fleet/model.ts';
import type { FlowOutcome } from '../flows/flow.ts';
import { shellWord } from '../hosts/ssh/shell-words.ts';
import type { Operator, Shown } from '../session/session.ts';

export interface CommandSubject {
  /** Undefined where a command without `--host` can only mean this host. */
  host: string | undefined;
  /** Undefined in texts about no component or about several. */
  component: string | undefined;
}

/** Matches commands that take a host. The excluded ones are about this installation, whatever host is meant. */
const command = /(?<![\w./-])quarterdeck (?=[a-z])(?!(?:catalog|completion|help|hosts) ?)/g;

/** Matches a component name left open in a text about any component: `quarterdeck mesh keys COMPONENT`. */
const openName = /(?<=(?<![\w./-])quarterdeck [a-z][a-z -]* )COMPONENT(?![\w:|/])/g;

/** On a machine with several engines, the engine is named too, because commands that change something require it. */
export function subjectIn(engines: readonly Pick<EngineView, 'name'>[], engineName: string, component?: string): CommandSubject {
  return { host: hostToName(engines, engineName), component };
}

export function hostToName(engines: readonly Pick<EngineView, 'name'>[], engineName: string): string | undefined {
  if (engineName !== 'local' && engineName !== 'practice') return engineName;
  return engines.filter(({ name }) => name === engineName || name.startsWith(`${engineName}/`)).length > 1 ? engineName : undefined;
}

/** Adds the component and the host to the commands in a text. Without them the commands could be about others. */
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

export function thrownFor(subject: CommandSubject, thrown: unknown): unknown {
  if (!(thrown instanceof Fault)) return thrown;
  const { code, message, remedy, where, cause } = thrown;
  const [reported, advice] = [commandsFor(subject, message), commandsFor(subject, remedy)];
  return reported === message && advice === remedy ? thrown : new Fault(code, reported, advice, { where, cause });
}

export function operatorFor(subject: CommandSubject, operator: Operator): Operator {
  if (subject.host === undefined && subject.component === undefined) return operator;
  const complete = (text: string) => commandsFor(subject, text);
  const completed = (shown: Shown): Shown => {
    if (shown.kind === 'text') return { ...shown, text: complete(shown.text) };
    if (shown.kind !== 'item') return shown;
    return { ...shown, title: complete(shown.title), ...(shown.evidence !== undefined && { evidence: complete(shown.evidence) }) };
  };
  return forwarding(operator, {
    ask: (question, signal) => operator.ask({ ...question, ...(question.help !== undefined && { help: complete(question.help) }) }, signal),
    review: (review, signal) => {
      const findings = review.findings.map((one) => ({ ...one, message: complete(one.message), advice: complete(one.advice) }));
      return operator.review({ ...review, findings }, signal);
    },
    show: (shown) => operator.show(completed(shown)),
  });
}

export function forwarding(operator: Operator, own: Partial<Operator>): Operator {
  return {
    kind: operator.kind,
    ask: (question, signal) => operator.ask(question, signal),
    confirm: (confirmation, signal) => operator.confirm(confirmation, signal),
    fill: (form, signal) => operator.fill(form, signal),
    review: (review, signal) => operator.review(review, signal),
    show: (shown) => operator.show(shown),
    progress: (progress) => operator.progress(progress),
    lend: (use) => operator.lend(use),
    ...own,
  };
}
