import type { ComponentView } from '../fleet/model.ts';
import type { Deck } from '../terminal/deck.ts';
import { matchingPorts, portKey, rowsFor } from './component-rows.ts';
import { type DetailTab, detailTabs, type InterfaceStore, type PaneId, paneIds } from './interface-store.ts';
import type { LogMoves } from './log-moves.ts';
import type { Measured } from './measured.ts';

interface Options {
  deck: Deck;
  store: InterfaceStore;
  logs: LogMoves;
  measured: Measured;
  selected: () => ComponentView | undefined;
}

/** Everything that changes where the operator looks: selection, focus, tabs, scrolling. */
export interface Moves {
  select(componentKey: string): void;
  focus(pane: PaneId): void;
  /** Moves in the pane with the focus. `by` gets the rows of a page. */
  move(by: (page: number) => number | 'top' | 'bottom'): void;
  /** Scrolls the detail pane to the row that `target` chooses. */
  moveDetail(target: (top: number, last: number) => number): void;
  turnPane(step: number): void;
  turnTab(step: number): void;
  showTab(tab: DetailTab): void;
  /** To the next or previous match of a search. */
  toMatch(step: 1 | -1): void;
}

export function createMoves({ deck, store, logs, measured, selected }: Options): Moves {
  const listed = (filter: string) =>
    rowsFor(deck.fleet.snapshot().components, filter, store.get().grouping).flatMap((row) =>
      row.kind === 'component' ? [row.component] : [],
    );

  function select(componentKey: string): void {
    store.update((state) => {
      if (state.selected === componentKey) return {};
      const hidden = !listed(state.filters.components).some((component) => component.key === componentKey);
      const filters = hidden ? { ...state.filters, components: '' } : state.filters;
      return {
        filters,
        selected: componentKey,
        selectedPlace: Math.max(
          0,
          listed(filters.components).findIndex((component) => component.key === componentKey),
        ),
        scroll: { overview: 0, logs: 0, ports: 0, fields: 0, inspect: 0 },
      };
    });
  }

  function focus(pane: PaneId): void {
    store.update(() => ({ focus: pane, screen: 'panes' }));
  }

  function moveComponent(target: (index: number, last: number) => number): void {
    const components = listed(store.get().filters.components);
    const current = selected();
    const index = components.findIndex((component) => component.key === current?.key);
    const last = components.length - 1;
    const next = components[Math.min(last, Math.max(0, target(index, last)))];
    if (next) select(next.key);
  }

  function movePort(target: (index: number, last: number) => number): void {
    store.update((state) => {
      const ports = matchingPorts(deck.fleet.snapshot().ports, state.filters.ports);
      const index = Math.max(
        0,
        ports.findIndex((port) => portKey(port) === state.selectedPort),
      );
      const next = ports[Math.min(ports.length - 1, Math.max(0, target(index, ports.length - 1)))];
      return next ? { selectedPort: portKey(next) } : {};
    });
  }

  function moveDetail(target: (top: number, last: number) => number): void {
    store.update((state) => {
      const last = Math.max(0, measured.detail.total - measured.detail.height);
      const top = Math.min(last, state.scroll[state.tab]);
      return { scroll: { ...state.scroll, [state.tab]: Math.min(last, Math.max(0, target(top, last))) } };
    });
  }

  function move(by: (page: number) => number | 'top' | 'bottom'): void {
    const state = store.get();
    if (state.screen === 'help' || state.screen === 'chain') {
      const { height, total } = measured[state.screen];
      const amount = by(height);
      const last = Math.max(0, total - height);
      const top = Math.min(last, state.screen === 'help' ? state.helpScroll : state.chainScroll);
      const next = Math.min(last, Math.max(0, amount === 'top' ? 0 : amount === 'bottom' ? last : top + amount));
      store.update(() => (state.screen === 'help' ? { helpScroll: next } : { chainScroll: next }));
      return;
    }
    if (state.screen === 'hosts') {
      const amount = by(measured.hosts.height);
      const last = Math.max(0, measured.hosts.total - 1);
      const next = amount === 'top' ? 0 : amount === 'bottom' ? last : Math.min(last, state.hostsCursor) + amount;
      store.update(() => ({ hostsCursor: Math.min(last, Math.max(0, next)) }));
      return;
    }
    const apply = (page: number) => (index: number, last: number) => {
      const amount = by(page);
      return amount === 'top' ? 0 : amount === 'bottom' ? last : index + amount;
    };
    const inLogs = () => logs.move(by);
    const inPane: Record<PaneId, () => void> = {
      components: () => moveComponent(apply(measured.list)),
      detail: () => (state.tab === 'logs' ? inLogs() : moveDetail(apply(measured.detail.height))),
      ports: () => movePort(apply(measured.ports)),
      logs: inLogs,
    };
    inPane[state.focus]();
  }

  function turnPane(step: number): void {
    store.update((state) => ({ focus: paneIds[(paneIds.indexOf(state.focus) + step + paneIds.length) % paneIds.length] ?? 'components' }));
  }

  function showTab(tab: DetailTab): void {
    store.update(() => ({ tab, focus: 'detail' }));
  }

  function turnTab(step: number): void {
    store.update((state) => ({
      tab: detailTabs[(detailTabs.indexOf(state.tab) + step + detailTabs.length) % detailTabs.length] ?? 'overview',
    }));
  }

  function toMatch(step: 1 | -1): void {
    const { matches } = measured.detail;
    if (matches.length === 0) return;
    moveDetail(
      (top) =>
        (step > 0 ? (matches.find((row) => row > top) ?? matches[0]) : (matches.findLast((row) => row < top) ?? matches.at(-1))) ?? top,
    );
  }

  return { select, focus, move, moveDetail, turnPane, turnTab, showTab, toMatch };
}
