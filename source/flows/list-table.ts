import type { Session } from '../session/session.ts';

export type Columns<T> = Readonly<Record<Uppercase<string>, (item: T) => string>>;

/** Shows a list as a table. An empty list shows no table, since the message reports it. */
export function showList<T>(
  session: Session,
  items: readonly T[],
  columns: Columns<T>,
  { title, right = [] }: { title?: string; right?: readonly Uppercase<string>[] } = {},
): void {
  if (items.length === 0) return;
  const headings = Object.keys(columns) as Uppercase<string>[];
  session.show({
    kind: 'table',
    ...(title !== undefined && { title }),
    columns: headings,
    ...(right.length > 0 && { align: headings.map((heading) => (right.includes(heading) ? 'right' : 'left')) }),
    rows: items.map((item) => Object.values(columns).map((cell) => cell(item))),
  });
}

/** Returns a time as JSON has it; null if it is unknown, or never happened. */
export const jsonTime = (ms: number | undefined): string | null => (ms === undefined ? null : new Date(ms).toISOString());
