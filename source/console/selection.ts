import type { QuarterdeckApp } from '../app/app.ts';
import type { ComponentView, ServiceView } from '../fleet/model.ts';
import type { InterfaceState } from './interface-store.ts';
import { rowsFor, selectedIn } from './screens/components/rows.ts';

export function serviceShown(state: InterfaceState, component: ComponentView): ServiceView | undefined {
  const { services, key } = component;
  return services.find(({ name }) => name === state.services[key]) ?? services.find(({ main }) => main) ?? services[0];
}

export function selectedComponent(app: QuarterdeckApp, state: InterfaceState): ComponentView | undefined {
  const rows = rowsFor(app.fleet.snapshot().components, state.filters.components, state.grouping);
  return selectedIn(rows, state.selected, state.selectedRow);
}

export function inLogs({ focus, tab }: Pick<InterfaceState, 'focus' | 'tab'>): boolean {
  return focus === 'logs' || (focus === 'detail' && tab === 'logs');
}

/** The highlighted component, the owner of the highlighted port, or the only component of the shown log. */
export interface KeyTarget {
  component?: ComponentView;
  host?: string;
  reason?: string;
}
