import { nearestName } from '../../text/nearest-name.ts';
import type { TextPosition } from '../../text/position.ts';
import { type ConfigProblem, errorAt } from '../problem.ts';

/** The position is that of the value. */
export interface ConfigEntry extends TextPosition {
  name: string;
  value: string;
}

export interface ConfigSection {
  kind: 'Interface' | 'Peer';
  line: number;
  entries: readonly ConfigEntry[];
}

export type Findings = ReturnType<typeof reportTo>;

/** Adds problems with the fields of a section; without one, with the file. */
export function reportTo(problems: ConfigProblem[], kind?: ConfigSection['kind']) {
  const adder =
    (level: ConfigProblem['level']) =>
    (at: TextPosition, name: string, message: string, remedy: string, rule?: string): void => {
      const field = kind === undefined ? name : `[${kind}] ${name}`;
      problems.push({ ...errorAt(at, message, remedy, field), level, ...(rule !== undefined && { rule }) });
    };
  return { error: adder('error'), warning: adder('warning') };
}

/** wg(8), wg-quick(8). */
const interfaceNames = 'PrivateKey ListenPort FwMark Address DNS MTU Table PreUp PostUp PreDown PostDown SaveConfig'.split(' ');
const appNames = ['ExcludedApplications', 'IncludedApplications'];
const peerNames = ['PublicKey', 'PresharedKey', 'AllowedIPs', 'Endpoint', 'PersistentKeepalive'];
const commands: ReadonlySet<string> = new Set(['PreUp', 'PostUp', 'PreDown', 'PostDown']);
/** May occur several times; the values are combined. */
const lists: ReadonlySet<string> = new Set(['Address', 'DNS', 'AllowedIPs', ...appNames, ...commands]);

/** Parses a configuration as wg-quick does: sections and names are case-insensitive, `#` begins a comment. Never throws. */
export function readConfig(text: string): { sections: readonly ConfigSection[]; problems: ConfigProblem[] } {
  const sections: (ConfigSection & { entries: ConfigEntry[] })[] = [];
  const problems: ConfigProblem[] = [];
  const lines = text.replace(/^\ufeff/, '').split(/\r\n|\n|\r/);
  for (const [at, whole] of lines.entries()) {
    const line = at + 1;
    const written = whole.replace(/#.*$/, '').trimEnd();
    const column = written.length - written.trimStart().length + 1;
    const content = written.trim();
    const wrong = (message: string, remedy: string, field = '') => problems.push(errorAt({ line, column }, message, remedy, field));
    if (content === '') continue;
    if (content.startsWith('[')) {
      const kind = (['Interface', 'Peer'] as const).find((name) => content.toLowerCase() === `[${name.toLowerCase()}]`);
      if (kind) sections.push({ kind, line, entries: [] });
      else wrong('Unknown section.', 'Use one [Interface], and one [Peer] for each peer.');
      continue;
    }
    const section = sections.at(-1);
    const equals = written.indexOf('=');
    if (equals < 0) {
      wrong('Expected "Name = value".', 'Use one field per line, and put # in front of comments.');
      continue;
    }
    const name = written.slice(0, equals).trim();
    if (!section) {
      wrong('A field precedes the first section.', 'Begin with [Interface].', cut(name));
      continue;
    }
    const names = section.kind === 'Interface' ? [...interfaceNames, ...appNames] : peerNames;
    const known = names.find((one) => one.toLowerCase() === name.toLowerCase());
    if (!known) {
      wrong(`Unknown field "${cut(name)}" in [${section.kind}].`, unknownRemedy(name, section.kind, names), cut(name));
      continue;
    }
    const field = `[${section.kind}] ${known}`;
    const value = written.slice(equals + 1).trim();
    const from = written.length - written.slice(equals + 1).trimStart().length + 1;
    if (!lists.has(known) && section.entries.some((one) => one.name === known))
      wrong(`${known} is set twice in this section.`, 'Keep one of the two; otherwise the last one applies.', field);
    // In a command, "#" may be part of it, and wg-quick cuts it off all the same.
    section.entries.push({ name: known, value, line, column: value === '' ? equals + 2 : from });
  }
  return { sections, problems };
}

function unknownRemedy(name: string, kind: ConfigSection['kind'], names: readonly string[]): string {
  const other = (kind === 'Interface' ? peerNames : interfaceNames).find((one) => one.toLowerCase() === name.toLowerCase());
  if (other) return `Move the field to [${kind === 'Interface' ? 'Peer' : 'Interface'}].`;
  const near = nearestName(name, new Set(names));
  return near === undefined ? `Use one of: ${names.join(', ')}.` : `Did you mean "${near}"?`;
}

/** A key on the wrong side of the equals sign is not shown. */
const cut = (name: string): string => (/^[A-Za-z][A-Za-z0-9_ -]{0,30}$/.test(name) ? name : '...');

export const isCommand = (name: string): boolean => commands.has(name);

export function valuesOf(section: ConfigSection | undefined, name: string): ConfigEntry[] {
  return section?.entries.filter((one) => one.name === name) ?? [];
}

export function partsOf(entries: readonly ConfigEntry[]): ConfigEntry[] {
  return entries.flatMap((entry) => {
    let offset = 0;
    return entry.value.split(',').map((part) => {
      const column = entry.column + offset + (part.length - part.trimStart().length);
      offset += part.length + 1;
      return { ...entry, value: part.trim(), column };
    });
  });
}
