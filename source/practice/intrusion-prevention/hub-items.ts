import { csvRow, goJson } from './go-words.ts';
import type { Dialect } from './queries.ts';

export type HubKind = 'parsers' | 'postoverflows' | 'scenarios' | 'contexts' | 'appsec-configs' | 'appsec-rules' | 'collections';

export interface HubItem {
  kind: HubKind;
  name: string;
  description: string;
  installed?: string;
  newest: string;
  tainted?: true;
}

const item = (kind: HubKind, name: string, description: string, newest: string, rest: Partial<HubItem> = {}): HubItem => ({
  kind,
  name: `crowdsecurity/${name}`,
  description,
  newest,
  ...rest,
});

/** What a fresh hub holds for the practice: one item lags behind, one was changed by hand. */
export const freshHub = (): HubItem[] => [
  item('parsers', 'dateparse-enrich', 'dateparse enrichment', '0.2', { installed: '0.2' }),
  item('parsers', 'geoip-enrich', 'Populate event with geoloc info : as, country, coords, source range.', '0.5', { installed: '0.5' }),
  item('parsers', 'sshd-logs', 'Parse openSSH logs', '3.1', { installed: '3.0' }),
  item('parsers', 'syslog-logs', 'Parse syslog', '0.8', { installed: '0.8' }),
  item('parsers', 'whitelists', 'Whitelist events from private ipv4 addresses', '0.3', { installed: '0.3', tainted: true }),
  item('parsers', 'caddy-logs', 'Parse caddy logs', '1.0'),
  item('postoverflows', 'rdns', 'Lookup the DNS associated to the source IP only for overflows', '0.3'),
  item('scenarios', 'ssh-bf', 'Detect ssh bruteforce', '0.3', { installed: '0.3' }),
  item('scenarios', 'ssh-slow-bf', 'Detect slow ssh bruteforce', '0.4', { installed: '0.4' }),
  item('scenarios', 'http-probing', 'Detect site scanning/probing from a single ip', '0.4'),
  item('collections', 'linux', 'core linux support : syslog+geoip+ssh', '0.3', { installed: '0.3' }),
  item('collections', 'sshd', 'sshd support : parser and brute-force detection', '0.7', { installed: '0.6' }),
  item('collections', 'caddy', 'caddy support : parser and generic http scenarios', '0.2'),
  item('collections', 'base-http-scenarios', 'http common : scanners detection', '1.1'),
];

export const kindsOf = (dialect: Dialect): HubKind[] =>
  dialect === '1.4.6'
    ? ['collections', 'parsers', 'postoverflows', 'scenarios']
    : ['parsers', 'postoverflows', 'scenarios', 'contexts', 'appsec-configs', 'appsec-rules', 'collections'];

export const isBehind = (entry: HubItem): boolean => entry.installed !== undefined && entry.installed !== entry.newest;

/** `enabled`, `enabled,tainted`, `enabled,update-available`, `disabled`. */
export function hubStatus(entry: HubItem): string {
  if (entry.installed === undefined) return 'disabled';
  return `enabled${entry.tainted ? ',tainted' : isBehind(entry) ? ',update-available' : ''}`;
}

const mark = (entry: HubItem): string => (entry.installed === undefined ? '🚫' : entry.tainted || isBehind(entry) ? '⚠️' : '✔️');

export const hubShape = (entry: HubItem) => ({
  name: entry.name,
  local_version: entry.tainted ? '?' : (entry.installed ?? ''),
  local_path: entry.installed === undefined ? '' : `/etc/crowdsec/${folderOf(entry)}/${entry.name.split('/')[1]}.yaml`,
  description: entry.description,
  utf8_status: `${mark(entry)}  ${hubStatus(entry)}`,
  status: hubStatus(entry),
});

const folderOf = (entry: HubItem): string =>
  entry.kind === 'parsers' ? `parsers/${/enrich|whitelists/.test(entry.name) ? 's02-enrich' : 's01-parse'}` : entry.kind;

/** `cscli hub list` and `cscli <kind> list`. */
export function hubListing(items: readonly HubItem[], kinds: readonly HubKind[], all: boolean, output: string): string {
  const shown = kinds.map((kind) => ({
    kind,
    items: items.filter((entry) => entry.kind === kind && (all || entry.installed !== undefined)),
  }));
  if (output === 'json') {
    return goJson(
      Object.fromEntries([...shown].sort((a, b) => (a.kind < b.kind ? -1 : 1)).map(({ kind, items: own }) => [kind, own.map(hubShape)])),
      ' ',
    );
  }
  if (output === 'raw') {
    const several = kinds.length > 1;
    const rows = shown.flatMap(({ kind, items: own }) =>
      own.map((entry) => [entry.name, hubStatus(entry), hubShape(entry).local_version, entry.description, ...(several ? [kind] : [])]),
    );
    return [['name', 'status', 'version', 'description', ...(several ? ['type'] : [])], ...rows].map(csvRow).join('');
  }
  return shown
    .filter(({ items: own }) => own.length > 0)
    .map(({ kind, items: own }) => {
      const rows = own.map((entry) => [
        ` ${entry.name}`,
        `${mark(entry)}  ${hubStatus(entry)}`,
        hubShape(entry).local_version,
        hubShape(entry).local_path,
      ]);
      return lightTable([' Name', '📦 Status', 'Version', 'Local Path'], rows, kind.toUpperCase());
    })
    .join('');
}

/** A table with lines only around and below the head, as cscli draws most of its. */
export function lightTable(head: readonly string[], rows: readonly (readonly string[])[], title?: string): string {
  const widths = head.map((name, column) => Math.max(name.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = '-'.repeat(widths.reduce((sum, width) => sum + width + 3, 0));
  const draw = (cells: readonly string[]) => ` ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('   ')} \n`;
  return `${title === undefined ? '' : `${title}\n`}${line}\n${draw(head)}${line}\n${rows.map(draw).join('')}${line}\n`;
}

/** A table with lines around every cell: decisions and alerts. `centred` heads, as 1.4 had them. */
export function boxTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((name, column) => Math.max(name.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = `+${widths.map((width) => '-'.repeat(width + 2)).join('+')}+\n`;
  const centre = (text: string, width: number) => text.padStart(text.length + Math.floor((width - text.length) / 2)).padEnd(width);
  const heads = `| ${head.map((name, column) => centre(name, widths[column] ?? 0)).join(' | ')} |\n`;
  const body = rows.map((row) => `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |\n`).join('');
  return `${line}${heads}${line}${body}${line}`;
}
