import type { CatalogProblem } from './catalog.ts';

/** The specification lists them in the annex of its port list: `| 53/tcp | \`dns-filter\` | all |` becomes `dns-filter 53/tcp` (R7). */
export function readWidePorts(markdown: string): Set<string> {
  const annex = markdown.slice(markdown.indexOf('## Annex'));
  return new Set(
    [...annex.matchAll(/^\| (\d+\/(?:tcp|udp)) \| `([a-z0-9-]+)` \| (?:all|host-network) \|/gm)].map(([, port, id]) => `${id} ${port}`),
  );
}

/** The compiler format that editors understand. */
export function problemText({ file, line, column, field, message, remedy, rule }: CatalogProblem): string {
  return `${file}:${line}:${column}: ${field === '' ? '' : `${field}: `}${message} ${remedy}${rule?.startsWith('R') ? ` (${rule})` : ''}`;
}
