import type { ComponentView } from '../../fleet/model.ts';
import { rowsFor, selectedIn } from '../component-rows.ts';
import { useFleet } from './use-fleet.ts';
import { useInterface } from './use-interface.ts';

/** The component that the panes are about. */
export function useSelected(): ComponentView | undefined {
  const { components } = useFleet();
  const filter = useInterface((state) => state.filters.components);
  const key = useInterface((state) => state.selected);
  const place = useInterface((state) => state.selectedPlace);
  return selectedIn(rowsFor(components, filter), key, place);
}
