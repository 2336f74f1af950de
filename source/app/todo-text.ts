import type { FlowOutcome } from '../flows/flow.ts';
import { wrap } from '../text/width.ts';

interface Style {
  columns: number;
  strong: (text: string) => string;
  faint: (text: string) => string;
  confirm: string;
}

export function todoLines({ items }: NonNullable<FlowOutcome['todo']>, { columns, strong, faint, confirm }: Style): string[] {
  const indented = (text: string, first: string) => wrap(text, columns - 4).map((line, row) => `${row === 0 ? first : '    '}${line}`);
  return [
    strong('To do:'),
    ...items.flatMap(({ title, detail }) => [...indented(title, '  - '), ...(detail === '' ? [] : indented(detail, '    ').map(faint))]),
    ...(items.some(({ byHand }) => byHand) ? [faint(`Once done, confirm it: ${confirm}`)] : []),
  ];
}
