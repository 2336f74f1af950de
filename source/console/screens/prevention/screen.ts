import { useEffect } from 'react';
import type { ComponentView } from '../../../fleet/model.ts';
import type { FlowInput } from '../../../flows/flow.ts';
import { cleanLine } from '../../../text/clean.ts';
import type { ConsoleParts } from '../../context.ts';
import { useReported } from '../../hooks/use-stores.ts';
import { flowOf } from '../../offers.ts';
import { toggled } from '../../panes.ts';
import { type Actions, createList, drawList, type ListCursor, type ListScreen, spokenRows } from '../../screen.ts';
import { tableHeading } from '../../widgets/table-rows.ts';
import * as lines from './lines.ts';
import { openPrevention, watchPrevention } from './watch.ts';

const keys = [
  { id: 'ban-row', keys: ['b'], title: 'Ban the address in this row, or another address', label: 'ban' },
  { id: 'unban-row', keys: ['x', 'delete'], title: 'Lift the ban', label: 'lift' },
  { id: 'show-alert', keys: ['enter'], title: 'Show the whole alert', label: 'alert' },
  { id: 'prevention-tab', keys: ['v', 'right', 'left'], title: 'Switch between decisions and alerts', label: 'other view' },
  { id: 'prevention-sort', keys: ['s'], title: 'Change the sort order', label: 'order' },
  { id: 'prevention-shared', keys: ['S'], title: 'Show or hide shared lists', label: 'shared lists' },
  { id: 'prevention-refresh', keys: ['R'], title: 'Query CrowdSec again' },
  { id: 'copy-row', keys: ['y'], title: 'Copy the address' },
  { id: 'prevention', keys: ['I'], context: 'everywhere', title: 'Show live CrowdSec alerts and decisions', find: true },
] as const;

type PreventionState = lines.PreventionLook & ListCursor & { engineName: string | undefined };

export const prevention: ListScreen<'prevention', (typeof keys)[number]['id'], PreventionState> = {
  id: 'prevention',
  heading: 'Alerts and decisions',
  keys,
  state: { engineName: undefined, tab: 'decisions', sort: 'newest', shared: false, selected: undefined, cursor: 0 },
  kind: 'body',
  filtered: true,
  open(parts) {
    const { store, app } = parts;
    const watch = watchPrevention(parts.sources.crowdsec ?? openPrevention(app));
    const rows = () => lines.preventionRows(watch.view(), store.get().filters.prevention, store.get().prevention);
    const change = (by: Partial<PreventionState>) => store.update((state) => ({ prevention: { ...state.prevention, ...by } }));
    const list = createList(rows, lines.rowId, () => store.get().prevention, change);

    return {
      useChanges({ state }) {
        const { engineName } = state.prevention;
        useReported(watch.subscribe, 'fact');
        useEffect(() => (engineName === undefined ? undefined : watch.look(engineName)), [engineName]);
      },
      draw(view) {
        const { state, height } = view;
        const seen = watch.view();
        const look = state.prevention;
        const context = { ...view, width: view.width - 2 };
        const all = rows();
        const at = list.at(all);
        const row = all[at];
        const trouble = row && seen?.state === 'failed' ? lines.troubleLines(seen, context) : [];
        return {
          title: [look.tab === 'alerts' ? 'Alerts' : 'Decisions', lines.countsText(seen, look)].filter(Boolean).join(' '),
          below: lines.orderText(look),
          ...drawList(view, {
            ...{ rows: all, at },
            line: (each, isSelected) => lines.preventionLine(each, look, isSelected, context),
            empty: () => lines.emptyLines(seen, state.filters.prevention, look, context),
            above: [tableHeading(lines.columnsFor(look, context), context), ...trouble],
            below: lines.preventionFoot(row, look, context, height - 2),
          }),
          shown() {
            // New rows must not move another row under the cursor just as a key is pressed.
            if (row && lines.rowId(row) !== look.selected) change({ selected: lines.rowId(row) });
          },
        };
      },
      speak(view) {
        const { state, nowMs } = view;
        const seen = watch.view();
        const look = state.prevention;
        const row = list.chosen();
        const total = rows().length;
        const trouble = seen?.state === 'failed' ? lines.troubleLines(seen, view) : [];
        const reported = row
          ? [...trouble, `${list.at() + 1} of ${total}: ${lines.rowSentence(row, nowMs)}`]
          : lines.emptyLines(seen, state.filters.prevention, look, view);
        const head = `${look.tab === 'alerts' ? 'Alerts' : 'Decisions'} ${lines.countsText(seen, look)}, ${lines.orderText(look)}.`;
        return { lines: [head, ...reported.map((line) => line.trim())], page: { height: spokenRows, total } };
      },
      move: list.move,
      actions: preventionActions(parts, watch, list.chosen, change),
    };
  },
};

function preventionActions(
  { app, store, commands }: ConsoleParts,
  watch: ReturnType<typeof watchPrevention>,
  chosen: () => lines.PreventionRow | undefined,
  change: (by: Partial<PreventionState>) => void,
): Actions {
  const { say, startOn } = commands;
  const look = () => store.get().prevention;

  /** Returns the selected host if it has a CrowdSec, otherwise the first host that has one. */
  function engineNameFor(component: ComponentView | undefined): string | undefined {
    const { engines, components, ports } = app.fleet.snapshot();
    const flow = flowOf(app, 'ban');
    const has = (engineName: string) => {
      const here = ({ host }: { host: string }) => host === engineName;
      return flow?.offeredOn?.(components.filter(here), ports.filter(here)) === true;
    };
    return component && has(component.host) ? component.host : engines.map(({ name }) => name).find(has);
  }

  function open(): void {
    const next = toggled(store.get(), 'prevention');
    const engineName = engineNameFor(commands.target().component);
    if (next.screen === 'panes') store.update(() => next);
    else if (engineName === undefined) say('off', 'No CrowdSec on these hosts. Deploy intrusion-prevention.');
    else store.update((state) => ({ ...next, prevention: { ...state.prevention, engineName } }));
  }

  function startBan(words: readonly string[], options: FlowInput['options'], engineName: string | undefined): void {
    const flow = flowOf(app, 'ban');
    if (engineName === undefined || !flow) say('warning', 'No CrowdSec on this host.');
    else startOn(flow, engineName, words, options);
  }

  async function banFromLine(): Promise<void> {
    const entry = commands.logActions.held();
    if (!entry) return say('off', 'No line is selected.');
    const { addressesIn } = await import('../../../text/address-span.ts');
    const found = addressesIn(entry.text).map(({ text }) => text);
    const component = app.fleet.snapshot().components.find(({ key }) => key === entry.component);
    const engineName = engineNameFor(component);
    const because = `seen in the log of ${component?.id ?? 'a component'}`;
    if (found.length === 0) say('off', 'This line contains no address.');
    else if (component && engineName !== component.host) say('warning', `No CrowdSec on ${cleanLine(component.host)}.`);
    else if (found.length === 1) startBan(found, { because }, engineName);
    else startBan([], { among: found.join(' '), because }, engineName);
  }

  function startOnRow(id: string, wordOf: (row: lines.PreventionRow) => string): void {
    const row = chosen();
    const flow = flowOf(app, id);
    const { engineName } = look();
    if (!row || !flow || engineName === undefined) say('off', 'No row is selected.');
    else startOn(flow, engineName, [wordOf(row)]);
  }

  return {
    prevention: open,
    'ban-line': () => void banFromLine(),
    'ban-row'() {
      const row = chosen();
      startBan(row ? [row.value] : [], row ? { because: row.reason } : {}, look().engineName);
    },
    'unban-row': () => startOnRow('unban', ({ value }) => value),
    'show-alert': () => startOnRow('alerts', (row) => String(lines.isAlert(row) ? row.id : row.alert)),
    'prevention-tab': () => change({ tab: look().tab === 'alerts' ? 'decisions' : 'alerts', selected: undefined, cursor: 0 }),
    'prevention-sort'() {
      const sort = lines.nextSort(look());
      change({ sort });
      say('off', `Sorted ${lines.orderText({ ...look(), sort })}`);
    },
    'prevention-shared'() {
      const shared = !look().shared;
      change({ shared });
      if (shared) watch.wantShared();
    },
    'prevention-refresh'() {
      watch.refresh();
      say('off', 'Querying CrowdSec again');
    },
    'copy-row'() {
      const row = chosen();
      if (row) commands.copyShown(cleanLine(row.value));
    },
  };
}
