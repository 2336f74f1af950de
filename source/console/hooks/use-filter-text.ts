import { useParts } from '../context.ts';
import { filterText } from '../filter-text.ts';
import type { FilterTarget } from '../interface-store.ts';
import { useInterface } from './use-interface.ts';

/** What a pane's edge says about its filter. What is typed into those of other panes is not told. */
export function useFilterText(target: FilterTarget): string {
  const { theme } = useParts();
  return useInterface((state) => filterText(theme, state, target));
}
