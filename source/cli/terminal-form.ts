import { findingsInOrder, reviewLines } from '../app/review-text.ts';
import { fieldProblem, formProblems, initialValues, labelAndId, mayStayEmpty } from '../session/form-checks.ts';
import type { Choice, Form, FormField, Question, Review } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { wrap } from '../text/width.ts';
import { wordsOf } from '../text/words.ts';
import type { Output } from './output.ts';
import { type PromptTerminal, readLine, readSecret } from './secret-entry.ts';
import { inTurn } from './terminal-turns.ts';

function introduce({ help, choices = [] }: { help?: string; choices?: readonly Choice[] }, output: Output): void {
  if (help) for (const line of wrap(cleanLine(help), output.proseColumns)) output.note(output.paintError('faint', line));
  for (const [index, { value, label, detail }] of choices.entries()) {
    const name = label.toLowerCase() === value ? label : `${label} (${value})`;
    const about = detail ? output.paintError('faint', `  ${cleanLine(detail)}`) : '';
    output.note(`  ${String(index + 1).padStart(2)}  ${cleanLine(name)}${about}`);
  }
}

// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: each kind of question has its prompt and its hint
export async function promptLines(question: Question, terminal: PromptTerminal, signal: AbortSignal): Promise<string | readonly string[]> {
  const { output } = terminal;
  introduce(question, output);
  const label = cleanLine(question.label);
  for (;;) {
    let answer: string | readonly string[] | undefined;
    if (question.kind === 'secret') answer = await readSecret(terminal, `${label}: `, signal);
    else {
      const initial = [question.initial ?? ''].flat().join(' ');
      const line = (await readLine(terminal, `${label}${initial === '' ? '' : ` [${initial}]`}: `, signal)).trim();
      const written = line === '' ? initial : line;
      if (question.kind === 'choice') answer = chosen(written, question.choices);
      else answer = question.kind === 'several' ? several(written, question.choices) : written;
    }
    const wanted = question.kind === 'several' ? 'each choice, or "all" or "none"' : 'a choice';
    let problem = answer === undefined ? `Enter the number or the name of ${wanted}.` : undefined;
    if (typeof answer === 'string') problem = question.check?.(answer);
    if (answer !== undefined && problem === undefined) return answer;
    output.note(output.paintError('warning', cleanLine(problem ?? '')));
  }
}

function chosen(written: string, choices: readonly Choice[]): string | undefined {
  return choices.find(({ value, label }) => [value, label].includes(written))?.value ?? choices[Number(written) - 1]?.value;
}

function several(written: string, choices: readonly Choice[]): readonly string[] | undefined {
  if (written === 'all') return choices.map(({ value }) => value);
  if (written === 'none') return [];
  const found = wordsOf(written).map((word) => chosen(word, choices));
  return found.length > 0 && found.every((value) => value !== undefined) ? [...new Set(found)] : undefined;
}

function emptyAnswer(field: FormField): string {
  if (field.kind === 'secret') {
    if (field.kept) return ' [Enter: keep the current value]';
    if (field.generated) return ' [Enter: generate a value]';
    return field.required ? '' : ' [Enter: none]';
  }
  if (field.value === '') return mayStayEmpty(field) ? ' [Enter: none]' : '';
  return ` [${cleanLine(field.value)}${mayStayEmpty(field) ? ', - for none' : ''}]`;
}

async function askField(field: FormField, terminal: PromptTerminal, signal: AbortSignal): Promise<string> {
  const { output } = terminal;
  const choices = field.kind === 'choice' ? field.choices : undefined;
  introduce({ help: field.help, choices }, output);
  const variable = field.label === field.id ? '' : ` ${output.paintError('faint', `(${cleanLine(field.id)})`)}`;
  const prompt = `${cleanLine(field.label)}${variable}${emptyAnswer(field)}: `;
  for (;;) {
    let answer: string;
    if (field.kind === 'secret') answer = await readSecret(terminal, prompt, signal);
    else {
      const written = (await readLine(terminal, prompt, signal)).trim();
      answer = written === '' ? field.value : written === '-' && mayStayEmpty(field) ? '' : written;
      answer = chosen(answer, choices ?? []) ?? answer;
    }
    const problem = fieldProblem(field, answer);
    if (problem === undefined) return answer;
    output.note(output.paintError('warning', cleanLine(problem)));
  }
}

/** Prompts for the fields, then again for those that contradict each other. With `onlyWrong`, valid values are kept. */
export async function fillOnLines(
  form: Form,
  terminal: PromptTerminal,
  { signal, onlyWrong }: { signal: AbortSignal; onlyWrong: boolean },
): Promise<Record<string, string>> {
  const { output } = terminal;
  const values = initialValues(form);
  output.note(output.paintError('strong', cleanLine(form.title)));
  let problems = formProblems(form, values);
  const wrong = () => form.fields.filter(({ id }) => problems[id] !== undefined);
  let asked = onlyWrong ? wrong() : form.fields;
  while (asked.length > 0) {
    let section: string | undefined;
    for (const field of asked) {
      if (field.section !== section) {
        section = field.section;
        output.note();
        output.note(output.paintError('strong', cleanLine(section)));
      }
      const value = values[field.id] ?? '';
      // Between two fields a connection may prompt for its password.
      values[field.id] = await inTurn(terminal.stdin, signal, () => askField({ ...field, value }, terminal, signal));
    }
    problems = formProblems(form, values);
    asked = wrong();
    for (const field of asked) output.note(output.paintError('warning', cleanLine(`${labelAndId(field)}: ${problems[field.id]}`)));
  }
  return values;
}

/** Prints the whole review as text, then the options: actions by number, remedies by letter. */
export async function reviewOnLines(
  review: Review,
  terminal: PromptTerminal,
  { signal, yes }: { signal: AbortSignal; yes: boolean },
): Promise<string> {
  const { output } = terminal;
  for (const line of reviewLines(review, { paint: (paint, text) => output.paintError(paint, text), columns: output.proseColumns }))
    output.note(line);
  const [first] = review.actions;
  if (yes && first && first.blocked === undefined) return first.id;

  const remedies = findingsInOrder(review.findings).flatMap(({ id, remedy: label }) => (label === undefined ? [] : [{ id, label }]));
  // `c` cancels; no plan has enough remedies to reach `x`.
  const letters = 'abdefghijklmnopqrstuvw';
  const options: { key: string; answer: string; label: string; blocked?: string }[] = [
    ...review.actions.map(({ id, ...action }, index) => ({ ...action, key: String(index + 1), answer: id })),
    ...remedies.slice(0, letters.length).map(({ id, label }, index) => ({ key: letters.charAt(index), answer: `remedy:${id}`, label })),
  ];
  output.note();
  for (const { key, label, blocked } of options) {
    const why = blocked === undefined ? '' : output.paintError('warning', `  blocked: ${cleanLine(blocked)}`);
    output.note(`  ${key.padStart(2)}  ${cleanLine(label)}${why}`);
  }
  options.push({ key: 'c', answer: 'cancel', label: '' });
  if (!review.actions.some(({ id }) => id === 'cancel')) output.note('   c  Cancel');
  for (;;) {
    const usual = first && first.blocked === undefined ? ' [1]' : '';
    const written = (await readLine(terminal, `Action${usual} `, signal)).trim().toLowerCase();
    const option = options.find(({ key }) => key === (written === '' && usual !== '' ? '1' : written));
    if (option && option.blocked === undefined) return option.answer;
    const problem = option ? `Blocked: ${cleanLine(option.blocked ?? '')}` : `Enter one of ${options.map(({ key }) => key).join(', ')}.`;
    output.note(output.paintError('warning', problem));
  }
}
