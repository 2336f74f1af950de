import type { InterfaceState } from './interface-store.ts';
import type { ScreenId } from './screens/list.ts';

export const paneIds = ['components', 'detail', 'ports', 'logs'] as const satisfies readonly ScreenId[];
export type PaneId = (typeof paneIds)[number];

export const detailTabs = ['overview', 'logs', 'ports', 'fields', 'operations', 'inspect'] as const;
export type DetailTab = (typeof detailTabs)[number];

export function paneCommand(pane: PaneId): `pane-${number}` {
  return `pane-${paneIds.indexOf(pane) + 1}`;
}

export function toggled({ screen }: InterfaceState, id: ScreenId): Pick<InterfaceState, 'screen'> {
  return { screen: screen === id ? 'panes' : id };
}

const overlays: readonly InterfaceState['screen'][] = ['help', 'palette'];

/** Returns whether the screen is an overlay: closing it restores the screen below. */
export const isOverlay = (screen: InterfaceState['screen']) => overlays.includes(screen);

export function overlaid({ screen, under }: InterfaceState, lid: 'help' | 'palette'): Pick<InterfaceState, 'screen' | 'under'> {
  return { screen: lid, under: isOverlay(screen) ? under : screen };
}
