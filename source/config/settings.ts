import { join } from 'node:path';
import { Fault } from '../faults/fault.ts';
import { readOwnText } from './own-files.ts';
import { expandHome, type OwnPaths } from './paths.ts';

/** What the operator can set in `config.yaml`, defaults filled in. */
export interface Settings {
  theme: 'auto' | 'dark' | 'light' | 'mono';
  /** Plain ASCII instead of glyphs and lines; undefined lets the terminal decide. */
  ascii: boolean | undefined;
  /** Whether the console asks before it stops, restarts or pauses a component. */
  confirm: boolean;
  /** Own keys: name of the action to the keys that do it. Replaces the built-in keys of that action. */
  keys: Readonly<Record<string, readonly string[]>>;
  /** The operator's own catalog folder, absolute. Its entries win over built-in ones. */
  catalogFolder: string | undefined;
  /** How often a component's probe is asked where its catalog entry does not say (R81). */
  probeIntervalMs: number;
  /** Where a stack lives on a host, as written: `~` is that host's home, not ours. */
  stackFolder: string;
  /** Where backups go, by host: a folder there, or `restic:REPOSITORY`. */
  backups: Readonly<Record<string, string>>;
  /** Hosts beside this machine, by the operator's name for them. */
  hosts: Readonly<Record<string, HostSettings>>;
  /** Hosts whose name must be typed before anything is destroyed there. */
  productionHosts: readonly string[];
}

/** A host that is reached over ssh. */
export interface HostSettings {
  /** Behind `ssh`: `nas`, `op@nas.example.org`, `op@192.168.1.20:2222`. */
  ssh: string;
  /** Where its stack lives, instead of `stackFolder`. */
  stackFolder?: string | undefined;
  /** The engine's socket there is reached through sudo. */
  sudo?: boolean | undefined;
}

export const defaultSettings: Settings = {
  theme: 'auto',
  ascii: undefined,
  confirm: true,
  keys: {},
  catalogFolder: undefined,
  probeIntervalMs: 15_000,
  stackFolder: '~/stack',
  backups: {},
  hosts: {},
  productionHosts: [],
};

export function settingsFile(paths: OwnPaths): string {
  return join(paths.config, 'config.yaml');
}

/**
 * Reads `config.yaml`. No file means the defaults, and costs no parser. Throws `config.unknownKey`, `config.invalid` or
 * `config.syntax` with line, column and field, `config.unreadable` when it cannot be read.
 */
export async function loadSettings(paths: OwnPaths, home: string): Promise<Settings> {
  const file = settingsFile(paths);
  const text = await readOwnText(file);
  if (text === undefined || text.trim() === '') return defaultSettings;
  const { checkSettings } = await import('./settings-file.ts');
  const { settings, problems } = checkSettings(text);
  const [first] = problems;
  if (first !== undefined) {
    const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : '';
    throw new Fault({
      code: first.code,
      message: `The configuration is wrong: ${first.message}${more}`,
      remedy: first.remedy,
      where: { file, line: first.line, column: first.column, field: first.field || undefined },
    });
  }
  const { catalogFolder } = settings;
  return { ...settings, catalogFolder: catalogFolder && expandHome(catalogFolder, home) };
}
