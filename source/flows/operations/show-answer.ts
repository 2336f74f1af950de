import { stringify } from 'yaml';
import type { WholeCallAnswer } from '../../calls/call.ts';
import type { Session } from '../../session/session.ts';
import { numberText } from '../../text/quantities.ts';
import { type Columns, showList } from '../list-table.ts';

type Row = Readonly<Record<string, unknown>>;

const mostColumns = 8;
const mostLines = 2_000;

/** Shows a list of records as a table, other JSON as a tree, and anything else as it is. */
export function showAnswer(session: Session, { json, body }: Pick<WholeCallAnswer, 'json' | 'body'>): void {
  const rows = rowsIn(json);
  if (rows) {
    showRows(session, rows);
    return;
  }
  if (typeof json !== 'object' || json === null) {
    if (body.length > 0) session.show({ kind: 'output', stream: 'stdout', bytes: body });
    return;
  }
  const lines = stringify(json, { lineWidth: 0 }).trimEnd().split('\n');
  const rest = lines.length - mostLines;
  const more = rest > 0 ? `\n... ${numberText(rest)} more lines; use --json or --out FILE to get all of them` : '';
  session.show({ kind: 'text', text: `${lines.slice(0, mostLines).join('\n')}${more}` });
}

/** Returns a list of records, also one inside an object with nothing else but single values: `{"total": 2, "items": [...]}`. */
function rowsIn(json: unknown): readonly Row[] | undefined {
  if (Array.isArray(json)) return json.length > 0 && json.every(isRow) ? json : undefined;
  if (!isRow(json)) return undefined;
  const nested = Object.values(json).filter((value) => typeof value === 'object' && value !== null);
  return nested.length === 1 && Array.isArray(nested[0]) ? rowsIn(nested[0]) : undefined;
}

const isRow = (value: unknown): value is Row => typeof value === 'object' && value !== null && !Array.isArray(value);
const isSingle = (value: unknown) => value === null || value === undefined || typeof value !== 'object';

/** Columns are the keys with single values, those of most rows first, then in the order of the response. */
function showRows(session: Session, rows: readonly Row[]): void {
  const counts = new Map<string, number>();
  for (const row of rows)
    for (const [key, value] of Object.entries(row)) {
      const filled = isSingle(value) ? Number(value !== null && value !== undefined && value !== '') : Number.NEGATIVE_INFINITY;
      counts.set(key, (counts.get(key) ?? 0) + filled);
    }
  const keys = [...counts].filter(([, count]) => count > 0);
  const best = new Set([...keys].sort(([, a], [, b]) => b - a).slice(0, mostColumns));
  const shown = keys.filter((key) => best.has(key)).map(([key]) => key);
  const columns = shown.map((key) => [
    headingOf(key),
    ({ [key]: value }: Row) => (value === null || value === undefined ? '' : String(value)),
  ]);
  showList(session, rows, Object.fromEntries(columns) as Columns<Row>);
  const hidden = counts.size - shown.length;
  if (hidden > 0)
    session.show({ kind: 'text', text: `${hidden === 1 ? '1 more property is' : `${hidden} more properties are`} shown with --json.` });
}

/** `lastActive` and `last_active` become `LAST ACTIVE`. */
function headingOf(key: string): string {
  return key
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .replace(/[_-]+/g, ' ')
    .toUpperCase();
}
