import { entryLines } from '../../../app/entry-text.ts';
import type { CatalogEntry } from '../../../catalog/catalog.ts';
import { searchCatalog } from '../../../catalog/catalog-search.ts';
import { groupTitles } from '../../../catalog/groups.ts';
import { hasOwnForm, runLocation } from '../../../catalog/run-location.ts';
import type { Severity } from '../../../fleet/model.ts';
import { cleanLine } from '../../../text/clean.ts';
import { countText } from '../../../text/quantities.ts';
import { cut } from '../../../text/width.ts';
import { engineFor, flowOf } from '../../offers.ts';
import { toggled } from '../../panes.ts';
import { rememberedFor } from '../../remembered.ts';
import type { Drawn, ListScreen, View } from '../../screen.ts';
import { createList, drawList, onChosen, scrolledText, scrolledTo, spokenRows } from '../../screen.ts';
import { type Column, listRow, type RowSpace, tableHeading, tableRow } from '../../widgets/table-rows.ts';

const keys = [
  { id: 'read-entry', keys: ['enter', 'right'], title: 'Show the catalog entry of the component', label: 'read' },
  { id: 'close-entry', keys: ['left'], title: 'Back to the list' },
  { id: 'deploy-entry', keys: ['d'], title: 'Deploy or reconfigure the component', label: 'deploy' },
  { id: 'copy-entry', keys: ['y'], title: 'Copy the name of the component' },
  { id: 'catalog', keys: ['C'], context: 'everywhere', title: 'Show the component catalog', find: true },
] as const;

interface CatalogState {
  selected: string | undefined;
  reading: number | undefined;
}

const proseColumns = 100;

export const catalog: ListScreen<'catalog', (typeof keys)[number]['id'], CatalogState> = {
  id: 'catalog',
  heading: 'Catalog',
  keys,
  state: { selected: undefined, reading: undefined },
  kind: 'body',
  filtered: true,
  open({ app, store, commands, keymap }) {
    const { entries } = app.catalog;
    const look = () => store.get().catalog;
    const rows = () => catalogRows(entries, store.get().filters.catalog);
    const change = (by: Partial<CatalogState>) => store.update((state) => ({ catalog: { ...state.catalog, ...by } }));
    // No position is kept: without the selected entry the first one is selected, the best match of a filter.
    const select = ({ selected }: { selected: string }) => change({ selected });
    const list = createList(rows, ({ id }) => id, look, select);

    function drawEntries(view: View): Drawn {
      const { theme, state, snapshot } = view;
      const width = view.width - 2;
      const present = new Map(snapshot.components.flatMap(({ known, entry, id, state }) => (known ? [[entry ?? id, state] as const] : [])));
      const where = cut(whereText(list.chosen(), present), Math.max(1, width - 4), theme.glyphs.ellipsis);
      return {
        title: `Catalog ${countText(entries.length, 'component')}`,
        ...drawList(view, {
          rows: rows(),
          at: list.at(),
          line: (row, isSelected) => catalogLine(row, isSelected, present.get(row.id)?.severity, { theme, width }),
          empty: () => [`  ${cut(`No component matches "${state.filters.catalog}".`, width - 4)}`],
          above: [tableHeading(columnsFor(width), { theme, width })],
          below: [` ${theme.paint('faint', where)}`],
        }),
      };
    }

    function whereText(entry: CatalogEntry | undefined, present: ReadonlyMap<string, unknown>): string {
      if (!entry) return '';
      return cleanLine(runLocation(entry, entries) ?? (present.has(entry.id) ? 'Already deployed.' : `Not deployed. Image ${entry.image}`));
    }

    function drawEntry(entry: CatalogEntry, wanted: number, { theme, width, height }: View): Drawn {
      const paint = theme.paint;
      const lines = entryLines(entry, entries, { proseColumns: Math.min(proseColumns, width - 4), paint });
      const { rows: shown, ...text } = scrolledText(theme, lines, wanted, Math.max(1, height - 2));
      return { title: `Catalog ${cleanLine(entry.id)}`, aside: '', rows: shown.map((line) => ` ${line}`), ...text };
    }

    function deploy(entry: CatalogEntry): void {
      const flow = flowOf(app, 'deploy');
      const engineView = engineFor(app, commands.target().component);
      if (hasOwnForm(entry))
        commands.say('off', `${entry.id} is a configuration file. Create it with "config make" (${keymap.keyOf('palette')}).`);
      else if (entry.deploy !== 'compose')
        commands.say('off', `${entry.id} is not deployed by Quarterdeck. ${keymap.keyOf('read-entry')} shows where it runs.`);
      else if (!engineView) commands.say('warning', 'No engine is connected.');
      else if (flow) commands.startWith(flow, entry, engineView);
      else commands.say('warning', 'This session is read-only, so components cannot be deployed.');
    }

    const about = onChosen(list, commands);

    function close(): boolean {
      if (look().reading === undefined) return false;
      change({ reading: undefined });
      return true;
    }

    return {
      draw(view) {
        const entry = list.chosen();
        const { reading } = look();
        return entry && reading !== undefined ? drawEntry(entry, reading, view) : drawEntries(view);
      },
      speak({ width }) {
        const entry = list.chosen();
        const { reading } = look();
        const { length } = rows();
        const page = { height: spokenRows, total: length };
        const head = `Catalog, ${countText(length, 'component')}.`;
        if (!entry) return { lines: [head], page };
        if (reading === undefined) {
          const reported = cleanLine(`${entry.kind}, ${entry.product.name}, ${entry.id}`);
          return { lines: [head, `${list.at() + 1} of ${length}: ${reported}.`], page };
        }
        const lines = entryLines(entry, entries, { proseColumns: width, paint: (_, text) => text }).filter(Boolean);
        return {
          lines: lines.slice(reading, reading + spokenRows).map((line) => line.trim()),
          page: { height: spokenRows, total: lines.length },
        };
      },
      footer({ of }) {
        if (look().reading === undefined) return undefined;
        return {
          items: [of('page-down', 'page'), of('deploy-entry'), of('copy-entry', 'copy name')],
          always: [of('palette'), of('back', 'back to the list')],
        };
      },
      move(amount, page) {
        const { reading } = look();
        if (reading !== undefined) change({ reading: scrolledTo(reading, page, amount) });
        else list.move(amount);
      },
      back: close,
      actions: {
        catalog: () => store.update((state) => toggled(state, 'catalog')),
        'read-entry': about(({ id }) => change({ selected: id, reading: look().reading ?? 0 })),
        'close-entry': () => void close(),
        'deploy-entry': about(deploy),
        'copy-entry': about(({ id }) => commands.copyShown(id)),
      },
    };
  },
};

const catalogRows = rememberedFor((entries: readonly CatalogEntry[], filter: string) => searchCatalog(entries, filter));

function columnsFor(width: number): Column<CatalogEntry>[] {
  const room = width - 2 - 2 * 2;
  const product = Math.min(26, Math.max(14, Math.floor(room * 0.24)));
  const name = Math.min(30, Math.max(16, Math.floor(room * 0.28)));
  const group = width >= 120 ? 16 : 0;
  return [
    { title: 'Description', columns: room - product - name - (group === 0 ? 0 : group + 2), cell: ({ kind }: CatalogEntry) => kind },
    { title: 'Product', columns: product, cell: (entry: CatalogEntry) => entry.product.name },
    { title: 'Component', columns: name, cell: ({ id, own }: CatalogEntry) => `${id}${own ? ' *' : ''}` },
    { title: 'Group', columns: group, cell: (entry: CatalogEntry) => groupTitles[entry.group] },
  ].filter(({ columns }) => columns > 0);
}

/** `deployed`: the state on a connected host. Undefined when it is deployed on none. */
function catalogLine(entry: CatalogEntry, isSelected: boolean, deployed: Severity | undefined, space: RowSpace): string {
  const { theme, width } = space;
  const text = tableRow(columnsFor(width), entry, theme);
  const shown = entry.deploy === 'compose' ? text : theme.paint('faint', text);
  return listRow(shown, isSelected, space, deployed && theme.paint(deployed, theme.glyphs.severity[deployed]));
}
