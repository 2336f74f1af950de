import type { CatalogEntry } from '../catalog/catalog.ts';
import type { ComponentView } from '../fleet/model.ts';
import { cleanLine } from '../text/clean.ts';
import type { Todo } from './flow.ts';

/** What is left to do after the first start, in the catalog's order. */
export function dutiesToDo(entry: CatalogEntry, component: ComponentView | undefined): readonly Todo[] {
  if (component === undefined) return [];
  const done = new Set(component.duties.filter((duty) => duty.done).map(({ id }) => id));
  return entry.firstRun
    .filter(({ id }) => !done.has(id))
    .map(({ id, title, detail, done: condition }) => ({
      id,
      title: cleanLine(title).replace(/\.$/, ''),
      detail: cleanLine(detail),
      byHand: condition === undefined,
    }));
}
