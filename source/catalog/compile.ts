import type { CatalogEntry, CatalogProblem } from './catalog.ts';
import { loadFolder } from './load-folder.ts';

/** Checks and joins the whole built-in catalog. `widePorts`: see `readWidePorts`. */
export async function compileCatalog(
  folder: string,
  widePorts?: ReadonlySet<string>,
): Promise<{ entries: CatalogEntry[]; problems: CatalogProblem[] }> {
  return loadFolder(folder, { own: false, widePorts });
}

/**
 * The ports that the specification allows beyond loopback, out of the annex of its port list: rows
 * `| 53/tcp | \`dns-filter\` | all | rule-2 (DNS on 53) |` become `dns-filter 53/tcp` (R7).
 */
export function readWidePorts(markdown: string): Set<string> {
  const annex = markdown.slice(markdown.indexOf('## Annex'));
  return new Set(
    [...annex.matchAll(/^\| (\d+\/(?:tcp|udp)) \| `([a-z0-9-]+)` \| (?:all|host-network) \|/gm)].map(([, port, id]) => `${id} ${port}`),
  );
}

/** `file:line:column field: message remedy`, the way compilers say it and editors understand it. */
export function problemText({ file, line, column, field, message, remedy, rule }: CatalogProblem): string {
  return `${file}:${line}:${column}: ${field === '' ? '' : `${field}: `}${message} ${remedy}${rule?.startsWith('R') ? ` (${rule})` : ''}`;
}
