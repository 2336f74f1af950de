import type { ComponentView, ServiceView } from '../fleet/model.ts';
import type { Deck } from '../terminal/deck.ts';
import { rowsFor, selectedIn } from './component-rows.ts';
import type { FilterTarget, InterfaceState, PaneId } from './interface-store.ts';
import type { KeyContext } from './keymap.ts';

/** Which service of the component is looked at. */
export function serviceShown(state: InterfaceState, component: ComponentView): ServiceView | undefined {
  const chosen = state.services[component.key];
  return (
    component.services.find((service) => service.name === chosen) ??
    component.services.find((service) => service.main) ??
    component.services[0]
  );
}

export function selectedComponent(deck: Deck, state: InterfaceState): ComponentView | undefined {
  return selectedIn(
    rowsFor(deck.fleet.snapshot().components, state.filters.components, state.grouping),
    state.selected,
    state.selectedPlace,
  );
}

/** Screens before the panes that are a list with keys and a filter of its own. */
export function isListScreen(screen: InterfaceState['screen']): screen is 'prevention' | 'triage' | 'catalog' {
  return screen === 'prevention' || screen === 'triage' || screen === 'catalog';
}

/** What `/` is about in the pane with the focus; undefined where there is nothing to filter. */
export function filterTarget(state: InterfaceState): FilterTarget | undefined {
  if (isListScreen(state.screen)) return state.screen;
  if (state.focus !== 'detail') return state.focus;
  return state.tab === 'overview' ? undefined : state.tab;
}

/** Panes about the selected component. In the others none stands under the cursor: a key must not act on one that is elsewhere. */
const showsSelected: Readonly<Record<PaneId, boolean>> = { components: true, detail: true, ports: false, logs: true };

/** The context whose keys count first. */
export function contextsOf(state: InterfaceState): KeyContext[] {
  const own: KeyContext = state.focus === 'detail' && state.tab === 'logs' ? 'logs' : state.focus;
  // Under merged logs no single component stands: a key for one would hit one that is not looked at.
  const merged = own === 'logs' && (state.marked.size > 0 || state.logScope !== 'component');
  const acts: KeyContext[] = showsSelected[state.focus] && !merged ? ['component'] : [];
  return [...new Set<KeyContext>([own, state.focus, 'list', ...acts, 'host', 'everywhere'])];
}
