import type { CatalogEntry } from './catalog.ts';
import { parseImage } from './images.ts';

/** Components that bring a service of this entry's image: of what is a part of others, by id. */
export function bringersOf(entry: CatalogEntry, entries: readonly CatalogEntry[]): string[] {
  const repository = entry.deploy === 'embedded' ? parseImage(entry.image)?.repository : undefined;
  if (repository === undefined) return [];
  return entries.filter(({ services }) => services.some(({ repositories }) => repositories.includes(repository))).map(({ id }) => id);
}

/** Why nobody deploys it from here, in a sentence; undefined for what is deployed. */
export function whereItRuns(entry: CatalogEntry, entries: readonly CatalogEntry[]): string | undefined {
  switch (entry.deploy) {
    case 'compose':
      return undefined;
    case 'embedded': {
      const bringers = bringersOf(entry, entries);
      return `It is a service inside other components${bringers.length > 0 ? `: ${bringers.join(', ')}` : ''}.`;
    }
    case 'host':
      return 'It is installed on the hosts themselves.';
    case 'config':
      return 'It is a file or an object of another program.';
    case 'cluster':
      return 'It runs in a cluster, and is set up by the means of that.';
    case 'external':
      return 'Somebody else runs it.';
  }
}

/** Is it a file that "config make" makes? What is deployed from here gets its file from its own form. */
export function isMadeHere({ deploy, configFile }: CatalogEntry): boolean {
  return deploy !== 'compose' && configFile?.path.startsWith('files/') === true;
}
