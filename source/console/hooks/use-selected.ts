import type { ComponentView } from '../../fleet/model.ts';
import { rowsFor, selectedIn } from '../component-rows.ts';
import { useFleet } from './use-fleet.ts';
import { useInterface } from './use-interface.ts';

/** The component that the panes are about. */
export function useSelected(): ComponentView | undefined {
  const { components } = useFleet();
  return useInterface((state) =>
    selectedIn(rowsFor(components, state.filters.components, state.grouping), state.selected, state.selectedPlace),
  );
}
