import { findingsInOrder, reviewLines } from '../app/review-text.ts';
import { fieldProblem, formProblems, initialValues, mayStayEmpty } from '../session/form-checks.ts';
import type { Choice, Form, FormField, Review } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { wrap } from '../text/width.ts';
import type { Output } from './output.ts';

export interface LineAsking {
  output: Output;
  /** Runs without other prompts in between. Between two fields a connection may prompt for its password. */
  turn<T>(ask: () => Promise<T>, signal: AbortSignal): Promise<T>;
  readLine(prompt: string, signal: AbortSignal): Promise<string>;
  readSecret(prompt: string, signal: AbortSignal): Promise<string>;
  listChoices(choices: readonly Choice[]): void;
}

function emptyAnswer(field: FormField): string {
  if (field.kind === 'secret') {
    if (field.kept) return ' [Enter: keep the one there is]';
    if (field.generated) return ' [Enter: make one up]';
    return field.required ? '' : ' [Enter: none]';
  }
  if (field.value === '') return mayStayEmpty(field) ? ' [Enter: none]' : '';
  return ` [${cleanLine(field.value)}${mayStayEmpty(field) ? ', - for none' : ''}]`;
}

// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: each kind of field has its own empty answer
async function askField(field: FormField, { output, readLine, readSecret, listChoices }: LineAsking, signal: AbortSignal): Promise<string> {
  const { choices } = field;
  if (field.help) for (const line of wrap(cleanLine(field.help), output.proseColumns)) output.note(output.paintError('faint', line));
  if (field.kind === 'choice' && choices) listChoices(choices);
  const prompt = `${cleanLine(field.label)}${emptyAnswer(field)}: `;
  for (;;) {
    let answer: string;
    if (field.kind === 'secret') answer = await readSecret(prompt, signal);
    else {
      const written = (await readLine(prompt, signal)).trim();
      answer = written === '' ? field.value : written === '-' && mayStayEmpty(field) ? '' : written;
      if (field.kind === 'choice') answer = choices?.[Number(answer) - 1]?.value ?? answer;
    }
    const problem = fieldProblem(field, answer);
    if (problem === undefined) return answer;
    output.note(output.paintError('warning', cleanLine(problem)));
  }
}

/** Prompts for the fields, then again for those that contradict each other. With `onlyWrong`, valid values are kept. */
export async function fillOnLines(
  form: Form,
  asking: LineAsking,
  { signal, onlyWrong }: { signal: AbortSignal; onlyWrong: boolean },
): Promise<Record<string, string>> {
  const { output } = asking;
  const values = initialValues(form);
  output.note(output.paintError('strong', cleanLine(form.title)));
  const wrong = () => {
    const problems = formProblems(form, values);
    return form.fields.filter(({ id }) => problems[id] !== undefined);
  };
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
      values[field.id] = await asking.turn(() => askField({ ...field, value }, asking, signal), signal);
    }
    const problems = formProblems(form, values);
    asked = wrong();
    for (const { id, label } of asked) output.note(output.paintError('warning', cleanLine(`${label}: ${problems[id]}`)));
  }
  return values;
}

/** Prints the whole review as text, then the options: actions by number, remedies by letter. */
// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: the review, its numbered actions and lettered remedies, then the prompt
export async function reviewOnLines(
  review: Review,
  { output, readLine }: Pick<LineAsking, 'output' | 'readLine'>,
  { signal, yes }: { signal: AbortSignal; yes: boolean },
): Promise<string> {
  for (const line of reviewLines(review, { paint: (paint, text) => output.paintError(paint, text), columns: output.proseColumns }))
    output.note(line);
  const [first] = review.actions;
  if (yes && first && first.blocked === undefined) return first.id;

  const remedies = findingsInOrder(review.findings).flatMap(({ id, remedy }) => (remedy === undefined ? [] : [{ id, remedy }]));
  // `c` cancels; no plan has enough remedies to reach `x`.
  const letters = 'abdefghijklmnopqrstuvw';
  const options = new Map<string, { answer: string; blocked: string | undefined }>();
  output.note();
  for (const [index, { id, label, blocked }] of review.actions.entries()) {
    options.set(String(index + 1), { answer: id, blocked });
    const why = blocked === undefined ? '' : output.paintError('warning', `  not now: ${cleanLine(blocked)}`);
    output.note(`  ${String(index + 1).padStart(2)}  ${cleanLine(label)}${why}`);
  }
  for (const [index, { id, remedy }] of remedies.entries()) {
    const letter = letters[index];
    if (letter === undefined) break;
    options.set(letter, { answer: `remedy:${id}`, blocked: undefined });
    output.note(`   ${letter}  ${cleanLine(remedy)}`);
  }
  options.set('c', { answer: 'cancel', blocked: undefined });
  if (!review.actions.some(({ id }) => id === 'cancel')) output.note('   c  Cancel, change nothing');
  for (;;) {
    const usual = first && first.blocked === undefined ? ' [1]' : '';
    const written = (await readLine(`How to go on?${usual} `, signal)).trim().toLowerCase();
    const option = options.get(written === '' && usual !== '' ? '1' : written);
    if (option && option.blocked === undefined) return option.answer;
    const problem = option ? `Not now: ${cleanLine(option.blocked ?? '')}` : `Write one of ${[...options.keys()].join(', ')}.`;
    output.note(output.paintError('warning', problem));
  }
}
