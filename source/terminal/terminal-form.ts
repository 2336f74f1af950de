import { fieldProblem, formProblems, initialValues, mayStayEmpty } from '../session/form-checks.ts';
import type { Choice, Form, FormField, Review } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { wrap } from '../text/width.ts';
import type { Output } from './output.ts';
import { findingsInOrder, reviewLines } from './review-text.ts';

/** How a plain terminal asks. */
export interface LineAsking {
  output: Output;
  /** Nothing else is asked in the meantime. Between two fields a connection may ask for its password. */
  turn<T>(ask: () => Promise<T>, signal: AbortSignal): Promise<T>;
  readLine(prompt: string, signal: AbortSignal): Promise<string>;
  readSecret(prompt: string, signal: AbortSignal): Promise<string>;
  listChoices(choices: readonly Choice[]): void;
}

/** What Enter alone says, in square brackets behind the label. */
function emptyAnswer(field: FormField): string {
  if (field.kind === 'secret') {
    if (field.kept) return ' [Enter: keep the one there is]';
    if (field.generated) return ' [Enter: make one up]';
    return field.required ? '' : ' [Enter: none]';
  }
  if (field.value === '') return mayStayEmpty(field) ? ' [Enter: none]' : '';
  return ` [${cleanLine(field.value)}${mayStayEmpty(field) ? ', - for none' : ''}]`;
}

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
    output.note(output.paintError('warn', cleanLine(problem)));
  }
}

/** One field after the other; then again those that do not go with each other. With `onlyWrong` what stands in the fields counts where it can. */
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
    for (const { id, label } of asked) output.note(output.paintError('warn', cleanLine(`${label}: ${problems[id]}`)));
  }
  return values;
}

/** All of it as text, then the ways on: actions by number, remedies by letter. */
export async function reviewOnLines(
  review: Review,
  { output, readLine }: Pick<LineAsking, 'output' | 'readLine'>,
  { signal, yes }: { signal: AbortSignal; yes: boolean },
): Promise<string> {
  const style = { paint: (paint: Parameters<Output['paintError']>[0], text: string) => output.paintError(paint, text) };
  for (const line of reviewLines(review, { ...style, columns: output.proseColumns })) output.note(line);
  const [first] = review.actions;
  if (yes && first && first.blocked === undefined) return first.id;

  const remedies = findingsInOrder(review.findings).flatMap(({ id, remedy }) => (remedy === undefined ? [] : [{ id, remedy }]));
  // `c` cancels, `x` and what follows is not reached by any plan.
  const letters = 'abdefghijklmnopqrstuvw';
  const ways = new Map<string, { answer: string; blocked: string | undefined }>();
  output.note();
  for (const [index, { id, label, blocked }] of review.actions.entries()) {
    ways.set(String(index + 1), { answer: id, blocked });
    const why = blocked === undefined ? '' : output.paintError('warn', `  not now: ${cleanLine(blocked)}`);
    output.note(`  ${String(index + 1).padStart(2)}  ${cleanLine(label)}${why}`);
  }
  for (const [index, { id, remedy }] of remedies.entries()) {
    const letter = letters[index];
    if (letter === undefined) break;
    ways.set(letter, { answer: `remedy:${id}`, blocked: undefined });
    output.note(`   ${letter}  ${cleanLine(remedy)}`);
  }
  ways.set('c', { answer: 'cancel', blocked: undefined });
  if (!review.actions.some(({ id }) => id === 'cancel')) output.note('   c  Cancel, change nothing');
  for (;;) {
    const usual = first && first.blocked === undefined ? ' [1]' : '';
    const written = (await readLine(`How to go on?${usual} `, signal)).trim().toLowerCase();
    const way = ways.get(written === '' && usual !== '' ? '1' : written);
    if (way && way.blocked === undefined) return way.answer;
    const problem = way ? `Not now: ${cleanLine(way.blocked ?? '')}` : `Write one of ${[...ways.keys()].join(', ')}.`;
    output.note(output.paintError('warn', problem));
  }
}
