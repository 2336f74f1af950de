import type { FlowOutcome } from '../flows/flow.ts';
import { wrap } from '../text/width.ts';

/** `confirm`: the command that confirms a task. */
export function todoLines(
  { items }: NonNullable<FlowOutcome['todo']>,
  { columns, paint, confirm }: { columns: number; paint: (role: 'strong' | 'faint', text: string) => string; confirm: string },
): string[] {
  const faint = (text: string) => paint('faint', text);
  const indented = (text: string, first: string) => wrap(text, columns - 4).map((line, row) => `${row === 0 ? first : '    '}${line}`);
  return [
    paint('strong', 'To do:'),
    ...items.flatMap(({ title, detail }) => [...indented(title, '  - '), ...(detail === '' ? [] : indented(detail, '    ').map(faint))]),
    ...(items.some(({ byHand }) => byHand) ? [faint(`Confirm completed tasks: ${confirm}`)] : []),
  ];
}
