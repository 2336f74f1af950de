import { type ScannerState, scannerStates } from '../../../fleet/scanner-state.ts';
import type { FlowInput } from '../../../flows/flow.ts';
import type { Triaged } from '../../../products/vulnerabilities/client/triage.ts';
import { cleanLine } from '../../../text/clean.ts';
import { numberText } from '../../../text/quantities.ts';
import { cut } from '../../../text/width.ts';
import { useWatched } from '../../hooks/use-stores.ts';
import { flowOf } from '../../offers.ts';
import { toggled } from '../../panes.ts';
import { rememberedFor } from '../../remembered.ts';
import { createList, drawList, type ListCursor, type ListScreen, matchingWords, onChosen, spokenRows, type View } from '../../screen.ts';
import { paragraph, unstyled } from '../../styled-text.ts';
import { type Column, listRow, type RowSpace, tableHeading, tableRow, wholeRow } from '../../widgets/table-rows.ts';
import { openTriage, type TriageRow, type TriageView, watchTriage } from './watch.ts';

const keys = [
  { id: 'decide-row', keys: ['d', 'enter'], title: 'Record a decision for the package in this row', label: 'decide' },
  { id: 'undecide-row', keys: ['x', 'delete'], title: 'Withdraw the decision', label: 'withdraw' },
  { id: 'triage-shows', keys: ['v'], title: 'Show all, undecided or overdue findings', label: 'other view' },
  { id: 'import-report', keys: ['i'], title: 'Import a scan report', label: 'import' },
  { id: 'copy-vulnerability', keys: ['y'], title: 'Copy the ID' },
  { id: 'vulnerabilities', keys: ['F'], context: 'everywhere', title: 'Show scan findings, most urgent first', find: true },
] as const;

type TriageState = ListCursor & { shows: TriageShows };

export const triage: ListScreen<'triage', (typeof keys)[number]['id'], TriageState> = {
  id: 'triage',
  heading: 'Vulnerabilities',
  keys,
  state: { shows: 'all', selected: undefined, cursor: 0 },
  kind: 'body',
  filtered: true,
  open({ app, store, commands, keymap, sources }) {
    const watch = watchTriage(sources.triage ?? openTriage(app));
    const look = () => store.get().triage;
    const rows = () => triageRows(watch.view(), store.get().filters.triage, look().shows);
    const change = (by: Partial<TriageState>) => store.update((state) => ({ triage: { ...state.triage, ...by } }));
    const list = createList(rows, ({ id }) => id, look, change);
    const emptyLines = ({ state, ...space }: View) =>
      triageEmpty(watch.view(), state.filters.triage, look().shows, keymap.keyOf('import-report'), space);

    function run(id: string, words: readonly string[], options: FlowInput['options'] = {}): void {
      const flow = flowOf(app, id);
      if (flow) commands.startOn(flow, app.fleet.snapshot().engines[0]?.name ?? '', words, options);
    }

    const about = onChosen(list, commands);

    return {
      useChanges: () => useWatched(watch),
      draw(view) {
        const { snapshot, height } = view;
        const { shows } = look();
        const context = { ...view, width: view.width - 2 };
        const remarks = triageRemarks(watch.view(), scannerStates(snapshot.components), context).slice(0, Math.max(0, height - 8));
        const counts = triageCounts(watch.view());
        const at = list.at();
        return {
          title: `Vulnerabilities${counts === '' ? '' : ` ${counts}`}`,
          below: shows === 'all' ? '' : `only ${shows === 'late' ? 'overdue' : shows}`,
          ...drawList(view, {
            rows: rows(),
            at,
            line: (row, isSelected) => triageLine(row, isSelected, context),
            empty: () => emptyLines(context),
            above: [...remarks, tableHeading(columnsFor(context), context)],
            below: triageFoot(rows()[at], context, height - 2),
          }),
        };
      },
      speak(view) {
        const { snapshot, nowMs } = view;
        const { shows } = look();
        const row = list.chosen();
        const reported = [...scannerStates(snapshot.components).map(({ text }) => cleanLine(text)), ...watch.view().remarks];
        const only = shows === 'all' ? '' : `, only ${shows === 'late' ? 'overdue' : shows}`;
        const head = [`Vulnerabilities ${triageCounts(watch.view())}${only}.`, ...reported].join(' ');
        const total = rows().length;
        const lines = row ? [`${list.at() + 1} of ${total}: ${triageSentence(row, nowMs)}`] : emptyLines(view).map((line) => line.trim());
        return { lines: [head, ...lines], page: { height: spokenRows, total } };
      },
      move: list.move,
      actions: {
        vulnerabilities: () => store.update((state) => toggled(state, 'triage')),
        // Decides about the whole package: one update fixes all of its vulnerabilities.
        'decide-row': about(({ one: { package: name, subject } }) => run('vulnerabilities-decide', [name, subject])),
        'undecide-row': about(({ one: { id, package: name, subject, decision } }) => {
          if (!decision) commands.say('off', 'No decision has been recorded for this finding.');
          else run('vulnerabilities-decide', [id, name, subject], { as: 'open', ...(decision.subject === '*' && { everywhere: true }) });
        }),
        'import-report': () => run('vulnerabilities-import', []),
        'triage-shows': () =>
          change({
            shows: triageShows[(triageShows.indexOf(look().shows) + 1) % triageShows.length] ?? 'all',
            cursor: 0,
            selected: undefined,
          }),
        'copy-vulnerability': about(({ one: { id } }) => commands.copyShown(cleanLine(id))),
      },
    };
  },
};

const triageShows = ['all', 'undecided', 'late'] as const;
type TriageShows = (typeof triageShows)[number];

type Context = Pick<View, 'theme' | 'width' | 'nowMs'>;

const searchText = rememberedFor(({ one }: TriageRow) =>
  `${one.id} ${one.aliases.join(' ')} ${one.package} ${one.subject} ${one.band} ${one.standing} ${one.title}`.toLowerCase(),
);

/** Returns the rows by urgency. A hundred thousand rows are filtered after a change, not for each frame. */
const triageRows = rememberedFor(({ all }: TriageView, filter: string, shows: TriageShows): readonly TriageRow[] => {
  const wanted = shows === 'all' ? all : all.filter(({ isLate, isUndecided }) => (shows === 'late' ? isLate : isUndecided));
  return matchingWords(wanted, filter, searchText);
});

function dueText({ dueMs, standing }: Triaged, nowMs: number): string {
  if (dueMs === undefined) return standing;
  const hours = Math.round(Math.abs(dueMs - nowMs) / 3_600_000);
  const length = hours < 48 ? `${hours}h` : `${Math.round(hours / 24)}d`;
  return dueMs < nowMs ? `${length} late` : `${standing} ${length}`;
}

/** On narrow screens the deadline is more useful than the location of the vulnerability. */
function columnsFor({ width, nowMs }: Pick<Context, 'width' | 'nowMs'>): Column<Triaged>[] {
  const wide = width >= 110;
  const begin: Column<Triaged>[] = [
    { title: 'Band', columns: 8, cell: ({ band }) => band },
    { title: 'CVSS', columns: 4, align: 'right', cell: ({ score }) => score?.toFixed(1) ?? '' },
    { title: 'Vulnerability', columns: wide ? 20 : 16, cell: ({ id }) => id },
  ];
  const named = (columns: number): Column<Triaged> => ({ title: 'Package', columns, cell: (one) => one.package });
  const end: Column<Triaged> = { title: 'Deadline', columns: wide ? 16 : 13, cell: (one) => dueText(one, nowMs) };
  const taken = (columns: readonly Column<Triaged>[]) => columns.reduce((sum, each) => sum + each.columns + 2, 0);
  const room = width - 2 - taken([...begin, end]);
  if (room < 26) return [...begin, named(Math.max(6, room)), end];
  const middle = [named(wide ? 24 : 14)];
  if (wide) middle.push({ title: 'Fixed in', columns: 16, cell: ({ fixedIn }) => fixedIn });
  return [...begin, ...middle, { title: 'Where', columns: room - taken(middle), cell: ({ subject }) => subject }, end];
}

function triageLine({ one, isLate, isUndecided }: TriageRow, isSelected: boolean, context: Context): string {
  const { theme } = context;
  const text = tableRow(columnsFor(context), one, theme);
  return listRow(isLate ? theme.paint('error', text) : isUndecided ? text : theme.paint('faint', text), isSelected, context);
}

/** Returns the notes above the list: the state of the scanner's feeds (R60), and other reasons why the list may be incomplete. */
function triageRemarks(view: TriageView, scanners: readonly ScannerState[], { theme, width }: RowSpace): string[] {
  const lines = (severity: ScannerState['severity'], text: string) => {
    const role = severity === 'ok' ? 'faint' : severity;
    return paragraph(theme, role, text, width - 4, ` ${theme.paint(role, theme.glyphs.severity[severity])} `);
  };
  return [...scanners.flatMap(({ severity, text }) => lines(severity, text)), ...view.remarks.flatMap((text) => lines('warning', text))];
}

/** The whole row when the list cuts it, otherwise the fields without a column. */
function triageFoot(row: TriageRow | undefined, { theme, width, nowMs }: Context, height: number): string[] {
  if (!row) return [''];
  const { one } = row;
  const { decision } = one;
  const said = decision ? `${decision.reason === '' ? '' : `${decision.reason}, `}${decision.by}` : one.title;
  const isCut = unstyled(triageLine(row, false, { theme, width, nowMs })).includes(theme.glyphs.ellipsis);
  const sentence = isCut ? `${triageSentence(row, nowMs)}${decision ? ` ${said}.` : ''}` : said;
  const lines = wholeRow(true, sentence, { theme, width, height });
  return lines.length === 0 ? [''] : lines;
}

function triageSentence({ one }: TriageRow, nowMs: number): string {
  const parts = [
    one.band,
    one.score === undefined ? '' : `CVSS ${one.score.toFixed(1)}`,
    one.id,
    `in ${one.package} (${one.subject})`,
    one.fixedIn === '' ? 'no fix yet' : `fixed in ${one.fixedIn}`,
    dueText(one, nowMs),
    one.title,
  ];
  return `${parts.map(cleanLine).filter(Boolean).join(', ')}.`;
}

function triageCounts({ all, state }: TriageView): string {
  if (state === 'reading' || (state === 'failed' && all.length === 0)) return '';
  return `${numberText(all.length)}, ${numberText(all.filter((row) => row.isLate).length)} overdue, ${numberText(all.filter((row) => row.isUndecided).length)} undecided`;
}

function triageEmpty(view: TriageView, filter: string, shows: TriageShows, importKey: string, { theme, width }: RowSpace): string[] {
  if (view.state === 'reading') return [`  ${theme.paint('busy', 'Reading ...')}`];
  if (view.trouble) return paragraph(theme, 'error', `${view.trouble.message} ${view.trouble.remedy}`, width - 4, '  ');
  if (!view.hasScans) {
    const advice = `No reports yet. Press ${importKey} to import a Trivy, Grype, OpenVAS or SARIF report.`;
    return paragraph(theme, undefined, advice, width - 4, '  ');
  }
  if (filter !== '') return [`  ${cut(`No matches for "${filter}".`, width - 4)}`];
  return [shows === 'late' ? '  No overdue findings.' : shows === 'undecided' ? '  No undecided findings.' : '  No findings.'];
}
