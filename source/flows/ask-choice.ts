import type { Fault } from '../faults/fault.ts';
import type { Choice, ChoiceQuestion, Session } from '../session/session.ts';

/** Choices by their values: a label each, or label and detail. */
export type Labels<Value extends string> = Readonly<Record<Value, string | readonly [label: string, detail: string]>>;

export type LabelledQuestion<Value extends string> = Omit<ChoiceQuestion, 'kind' | 'choices' | 'initial'> & {
  choices: Labels<Value>;
  initial?: NoInfer<Value>;
};

/** Prompts for one of a few choices, unless the command line has one: then an unknown one is the fault `unknown`. */
export async function askChoice<Value extends string>(
  { ask }: Pick<Session, 'ask'>,
  { choices, ...question }: LabelledQuestion<Value>,
  written?: { given: string | undefined; unknown: (given: string) => Fault },
): Promise<Value> {
  const answer = written?.given ?? (await ask.choice({ ...question, choices: choicesOf(choices) }));
  if (written && !Object.hasOwn(choices, answer)) throw written.unknown(answer);
  return answer as Value;
}

export function choicesOf(labels: Labels<string>): Choice[] {
  return Object.entries(labels).map(([value, words]) =>
    typeof words === 'string' ? { value, label: words } : { value, label: words[0], detail: words[1] },
  );
}
