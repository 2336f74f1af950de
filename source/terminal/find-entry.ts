import type { Catalog, CatalogEntry } from '../catalog/catalog.ts';
import { Fault } from '../faults/fault.ts';
import type { ComponentView, FleetSnapshot } from '../fleet/model.ts';
import { cleanLine } from '../text/clean.ts';
import { nameRemedy } from '../text/nearest-name.ts';

/**
 * An entry of the catalog: by its id, by the name of its product, or by a beginning of its id that no other has. Throws `usage.component` with the nearest
 * names, `usage.ambiguous` with the candidates.
 */
export function findEntry(written: string, catalog: Catalog): CatalogEntry {
  const exact = catalog.get(written);
  if (exact) return exact;
  const wanted = written.toLowerCase();
  const named = catalog.entries.filter(({ product }) => product.name.toLowerCase() === wanted);
  const begun = wanted === '' ? [] : catalog.entries.filter(({ id }) => id.startsWith(wanted));
  const [first, second] = named.length > 0 ? named : begun;
  if (first && !second) return first;
  if (first) {
    throw new Fault({
      code: 'usage.ambiguous',
      message: `"${cleanLine(written)}" could be ${[...named, ...begun].map(({ id }) => id).join(', ')}.`,
      remedy: 'Write the whole name.',
    });
  }
  throw new Fault({
    code: 'usage.component',
    message: `The catalog has no component "${cleanLine(written)}".`,
    remedy: nameRemedy(
      written,
      catalog.entries.map((known) => known.id),
      'Install Quarterdeck again.',
    ),
  });
}

/** The component of this entry at that place, where there is one: ours, in the project of that name, before one that somebody else made. */
export function deployedAs(entry: CatalogEntry, place: string, { components }: FleetSnapshot): ComponentView | undefined {
  const there = components.filter(
    (component) => component.known && (component.entry ?? component.id) === entry.id && component.host === place,
  );
  return there.find(({ project }) => project === entry.id) ?? there[0];
}
