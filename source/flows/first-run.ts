import type { CatalogEntry } from '../catalog/catalog.ts';
import type { ComponentView } from '../fleet/model.ts';
import { cleanLine } from '../text/clean.ts';

/** What is left to do after the first start, as one sentence; empty where there is nothing. */
export function dutiesText(entry: CatalogEntry, component: ComponentView | undefined): string {
  if (component === undefined) return '';
  const done = new Set(component.duties.filter((duty) => duty.done).map(({ id }) => id));
  const left = entry.firstRun.filter(({ id }) => !done.has(id)).map(({ title }) => title);
  if (left.length === 0) return '';
  return cleanLine(`To do: ${left.map((title) => title.replace(/\.$/, '')).join('; ')}.`);
}
