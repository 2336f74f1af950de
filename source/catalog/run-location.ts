import type { CatalogEntry } from './catalog.ts';
import { parseImage } from './images.ts';

/** For entries that are part of others: the components with a service of this entry's image. */
export function bringersOf(entry: CatalogEntry, entries: readonly CatalogEntry[]): string[] {
  const repository = entry.deploy === 'embedded' ? parseImage(entry.image)?.repository : undefined;
  if (repository === undefined) return [];
  return entries.filter(({ services }) => services.some(({ repositories }) => repositories.includes(repository))).map(({ id }) => id);
}

const placesOfOthers: Partial<Record<CatalogEntry['deploy'], string>> = {
  host: 'The component is installed directly on the hosts.',
  config: 'The component is a configuration file or object that another program uses.',
  cluster: 'The component runs in a cluster and is set up with the cluster tools.',
  external: 'The component is operated by an external provider.',
};

/** Undefined for deployable entries. */
export function runLocation(entry: CatalogEntry, entries: readonly CatalogEntry[]): string | undefined {
  if (entry.deploy !== 'embedded') return placesOfOthers[entry.deploy];
  const bringers = bringersOf(entry, entries);
  return `The component is a service inside other components${bringers.length > 0 ? `: ${bringers.join(', ')}` : ''}.`;
}

/** Deployed components get their file from their own form. */
export function hasOwnForm({ deploy, configFile }: CatalogEntry): boolean {
  return deploy !== 'compose' && configFile?.path.startsWith('files/') === true;
}
