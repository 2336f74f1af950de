import type { CatalogEntry } from './catalog.ts';

/** Returns the description of a field and its rule, for one line of help. */
export const fieldHelp = ({ description, rule }: Pick<CatalogEntry['fields'][number], 'description' | 'rule'>): string =>
  [description, rule].filter(Boolean).join('; ').replace('.;', ';');
