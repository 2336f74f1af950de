import type { ComponentView, FleetSnapshot, PortView, ServiceView } from '../fleet/model.ts';
import type { Deck } from '../terminal/deck.ts';
import { cleanLine } from '../text/clean.ts';
import { matchingPorts, portKey, rowsFor, selectedIn } from './component-rows.ts';
import { hostItems } from './hosts-lines.ts';
import type { FilterTarget, InterfaceState } from './interface-store.ts';
import type { KeyContext } from './keymap.ts';
import { logWhose } from './log-look.ts';

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

/** The pane with the focus shows a log. */
export function inLogs({ focus, tab }: Pick<InterfaceState, 'focus' | 'tab'>): boolean {
  return focus === 'logs' || (focus === 'detail' && tab === 'logs');
}

/** Contexts of the keys that count in the pane with the focus, the first one first. */
export function contextsOf(state: InterfaceState): KeyContext[] {
  const own: KeyContext = inLogs(state) ? 'logs' : state.focus;
  return [...new Set<KeyContext>([own, state.focus, 'list', 'component', 'host', 'everywhere'])];
}

/** The port under the cursor. */
export function selectedPort(snapshot: FleetSnapshot, state: InterfaceState): PortView | undefined {
  const ports = matchingPorts(snapshot.ports, state.filters.ports);
  return ports.find((port) => portKey(port) === state.selectedPort) ?? ports[0];
}

/** What the keys of the pane with the focus act on. */
export interface KeyTarget {
  component?: ComponentView;
  host?: string;
  /** Why there is no component. */
  reason?: string;
}

/** The highlighted component, the owner of the highlighted port, or the one component whose log is shown: nothing that another pane selects. */
export function keyTarget(deck: Deck, state: InterfaceState): KeyTarget {
  const snapshot = deck.fleet.snapshot();
  const selected = selectedComponent(deck, state);
  if ((state.screen === 'palette' ? state.under : state.screen) === 'hosts') {
    const items = hostItems(snapshot, deck.tunnels?.all ?? []);
    const item = items[Math.min(state.hostsCursor, items.length - 1)];
    return { ...(selected && { component: selected }), ...(item?.kind === 'place' && { host: item.place.name }) };
  }
  if (state.focus === 'ports') {
    const port = selectedPort(snapshot, state);
    if (!port) return { reason: 'No port is selected.' };
    const component = snapshot.components.find(({ key }) => key === port.component);
    return component
      ? { component, host: component.host }
      : { host: port.host, reason: `The port belongs to ${cleanLine(port.owner)}, which is not a component.` };
  }
  if (inLogs(state)) {
    const keys = new Set(logWhose(snapshot, state, selected)?.componentKeys);
    const shown = snapshot.components.filter(({ key }) => keys.has(key));
    const hosts = new Set(shown.map(({ host }) => host));
    const [first] = shown;
    if (!first) return { reason: 'No component is selected.' };
    if (shown.length === 1) return { component: first, host: first.host };
    return {
      ...(hosts.size === 1 && { host: first.host }),
      reason: `The logs of ${shown.length} components are shown. Select one of them in Components first.`,
    };
  }
  return selected ? { component: selected, host: selected.host } : { reason: 'No component is selected.' };
}
