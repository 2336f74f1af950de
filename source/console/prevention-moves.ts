import type { LogEntry } from '../fleet/log-store.ts';
import type { ComponentView } from '../fleet/model.ts';
import type { Flow, FlowInput } from '../flows/flow.ts';
import type { Deck } from '../terminal/deck.ts';
import { cleanLine } from '../text/clean.ts';
import type { InterfaceStore } from './interface-store.ts';
import type { CommandId } from './keymap.ts';
import { flowOf } from './offers.ts';
import { type PreventionRow, preventionRows, preventionTabs, rowId, sortFor, sortOrders, sortTitles } from './prevention-rows.ts';
import type { PreventionWatch } from './prevention-watch.ts';

interface Options {
  deck: Deck;
  store: InterfaceStore;
  prevention: PreventionWatch;
  selected: () => ComponentView | undefined;
  /** The line of the log that the keys are about. */
  logLine: () => LogEntry | undefined;
  say: (tone: 'good' | 'idle' | 'warn', text: string) => void;
  copy: (text: string) => void;
  start: (flow: Flow, place: string, words: readonly string[], options?: FlowInput['options']) => void;
}

export interface PreventionMoves {
  actions: Partial<Record<CommandId, () => void>>;
  move(amount: number | 'top' | 'bottom'): void;
}

/** What keys do about alerts and bans. */
export function createPreventionMoves({ deck, store, prevention, selected, logLine, say, copy, start }: Options): PreventionMoves {
  const look = () => store.get().prevention;
  const rows = () => preventionRows(prevention.view(), store.get().filters.prevention, look());
  const change = (by: Partial<ReturnType<typeof look>>) => store.update((state) => ({ prevention: { ...state.prevention, ...by } }));

  function chosen(): PreventionRow | undefined {
    const all = rows();
    return all.find((row) => rowId(row) === look().selected) ?? all[Math.min(look().cursor, all.length - 1)];
  }

  /** The host that is looked at where it has a CrowdSec, otherwise the first one that has. */
  function placeOf(component: ComponentView | undefined): string | undefined {
    const { places, components, ports } = deck.fleet.snapshot();
    const flow = flowOf(deck, 'ban');
    const has = (place: string) => {
      const here = ({ host }: { host: string }) => host === place;
      return flow?.offeredOn?.(components.filter(here), ports.filter(here)) === true;
    };
    if (component && has(component.host)) return component.host;
    return places.map(({ name }) => name).find(has);
  }

  function open(): void {
    if (store.get().screen === 'prevention') {
      store.update(() => ({ screen: 'panes' }));
      return;
    }
    const place = placeOf(selected());
    if (place === undefined) say('idle', 'There is no CrowdSec on these hosts: deploy intrusion-prevention.');
    else {
      change({ place });
      store.update(() => ({ screen: 'prevention' }));
    }
  }

  function startBan(words: readonly string[], options: FlowInput['options'], place: string | undefined): void {
    const flow = flowOf(deck, 'ban');
    if (place === undefined || !flow) say('warn', 'There is no CrowdSec on this host.');
    else start(flow, place, words, options);
  }

  async function banFromLine(): Promise<void> {
    const entry = logLine();
    if (!entry) {
      say('idle', 'There is no line.');
      return;
    }
    const { addressesIn } = await import('../text/address-span.ts');
    const found = addressesIn(entry.text).map(({ text }) => text);
    const component = deck.fleet.snapshot().components.find(({ key }) => key === entry.component);
    const place = placeOf(component);
    const because = `seen in the log of ${component?.id ?? 'a component'}`;
    if (found.length === 0) say('idle', 'No address stands in this line.');
    else if (component && place !== component.host) say('warn', `There is no CrowdSec on ${cleanLine(component.host)}.`);
    else if (found.length === 1) startBan(found, { because }, place);
    else startBan([], { among: found.join(' '), because }, place);
  }

  function ban(): void {
    const row = chosen();
    const { place } = look();
    if (!row) startBan([], {}, place);
    else if (row.kind === 'alert') startBan([row.alert.value], { because: row.alert.reason }, place);
    else startBan([row.decision.value], { because: row.decision.reason }, place);
  }

  function unban(): void {
    const row = chosen();
    const flow = flowOf(deck, 'unban');
    const { place } = look();
    if (!row || !flow || place === undefined) say('idle', 'Nothing is selected.');
    else start(flow, place, [row.kind === 'alert' ? row.alert.value : row.decision.value]);
  }

  function details(): void {
    const row = chosen();
    const flow = flowOf(deck, 'alerts');
    const { place } = look();
    if (!row || !flow || place === undefined) say('idle', 'Nothing is selected.');
    else start(flow, place, [String(row.kind === 'alert' ? row.alert.id : row.decision.alert)]);
  }

  function sort(): void {
    const { tab, sort: before } = look();
    const orders = sortOrders.filter((order) => sortFor({ tab, sort: order, shared: false }) === order);
    const next = orders[(orders.indexOf(sortFor({ tab, sort: before, shared: false })) + 1) % orders.length] ?? 'newest';
    change({ sort: next });
    say('idle', `In order: ${sortTitles[next]}`);
  }

  return {
    actions: {
      prevention: open,
      'ban-line': () => void banFromLine(),
      'ban-row': ban,
      'unban-row': unban,
      'show-alert': details,
      'prevention-tab': () =>
        change({ tab: look().tab === 'alerts' ? preventionTabs[0] : preventionTabs[1], selected: undefined, cursor: 0 }),
      'prevention-sort': sort,
      'prevention-shared': () => {
        const shared = !look().shared;
        change({ shared });
        if (shared) prevention.wantShared();
      },
      'prevention-refresh': () => {
        prevention.refresh();
        say('idle', 'Asking CrowdSec again');
      },
      'copy-row': () => {
        const row = chosen();
        if (!row) return;
        const value = cleanLine(row.kind === 'alert' ? row.alert.value : row.decision.value);
        copy(value);
        say('good', `Copied ${value}`);
      },
    },
    move(amount) {
      const all = rows();
      if (all.length === 0) return;
      const row = chosen();
      const at = row ? all.indexOf(row) : 0;
      const next = amount === 'top' ? 0 : amount === 'bottom' ? all.length - 1 : Math.min(all.length - 1, Math.max(0, at + amount));
      const target = all[next];
      if (target) change({ selected: rowId(target), cursor: next });
    },
  };
}
