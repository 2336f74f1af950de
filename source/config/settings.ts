import { join } from 'node:path';
import { Fault } from '../faults/fault.ts';
import type { TextPosition } from '../text/position.ts';
import type { NotificationTarget } from './notification-settings.ts';
import { readOwnText } from './own-files.ts';
import { expandHome, type OwnPaths } from './paths.ts';

/** The operator's settings in `config.yaml`, defaults filled in. */
export interface Settings {
  theme: 'auto' | 'dark' | 'light' | 'mono';
  /** Plain ASCII instead of glyphs and lines; undefined lets the terminal decide. */
  ascii: boolean | undefined;
  /** Whether the console prompts before it stops, restarts or pauses a component. */
  confirm: boolean;
  /** Custom keys: name of the action to its keys. Replaces the built-in keys of that action. */
  keys: Readonly<Record<string, readonly string[]>>;
  /** The operator's own catalog folder, absolute. Its entries replace built-in ones. */
  catalogFolder: string | undefined;
  /** Probe interval of components whose catalog entry sets none (R81). */
  probeIntervalMs: number;
  /** Stack folder on a host, as written: `~` is that host's home, not ours. */
  stackFolder: string;
  /** Backup destination by host: a folder there, or `restic:REPOSITORY`. */
  backups: Readonly<Record<string, string>>;
  hosts: Readonly<Record<string, HostSettings>>;
  /** Hosts whose name must be typed before anything is destroyed on them. */
  productionHosts: readonly string[];
  notifications: NotificationSettings;
}

export type Condition =
  | { kind: 'state'; ids: readonly string[] }
  | { kind: 'doctor'; level: 'error' | 'warning' | 'notice' }
  | { kind: 'backup'; ageMs: number }
  | { kind: 'disk'; least: { share: number } | { bytes: number } }
  | { kind: 'certificate'; leftMs: number }
  | { kind: 'log'; filter: string }
  | { kind: 'unreachable' };

export interface NotificationRule {
  name: string;
  condition: Condition;
  /** How long the condition must hold. */
  forMs: number;
  /** Ids; undefined for all. */
  components: readonly string[] | undefined;
  /** Hosts or engines; undefined for all. */
  hosts: readonly string[] | undefined;
  /** TLS servers, for certificates. */
  addresses: readonly string[];
  targets: readonly string[];
  /** Also sent in quiet hours. */
  urgent: boolean;
}

export interface NotificationSettings {
  targets: Readonly<Record<string, NotificationTarget>>;
  rules: readonly NotificationRule[];
  /** Minutes of the day, in the time zone of the machine; the end may be on the next day. */
  quietMinutes: { from: number; until: number } | undefined;
}

export interface HostSettings {
  /** The argument of `ssh`: `nas`, `op@nas.example.org`, `op@192.168.1.20:2222`. */
  ssh: string;
  /** Its stack folder, instead of `stackFolder`. */
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
  notifications: { targets: {}, rules: [], quietMinutes: undefined },
};

export const settingsFile = (paths: OwnPaths): string => join(paths.config, 'config.yaml');

/** A missing file means the defaults, and loads no parser. Throws `config.*` with line, column and field. */
export async function loadSettings(paths: OwnPaths, home: string): Promise<Settings> {
  const file = settingsFile(paths);
  const text = await readOwnText(file);
  if (text === undefined || text.trim() === '') return defaultSettings;
  const { checkSettings } = await import('./settings-file.ts');
  const { settings, problems } = checkSettings(text);
  const [first] = problems;
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : '';
  if (first !== undefined) throw settingsFault(file, first, `The configuration is invalid: ${first.message}${more}`);
  const { catalogFolder } = settings;
  return { ...settings, catalogFolder: catalogFolder && expandHome(catalogFolder, home) };
}

export interface SettingsProblem extends TextPosition {
  code: 'config.unknownKey' | 'config.invalid' | 'config.syntax';
  field: string;
  message: string;
  remedy: string;
}

export function settingsFault(file: string, { code, remedy, line, column, field }: SettingsProblem, message: string): Fault {
  return new Fault(code, message, remedy, { where: { file, line, column, field: field || undefined } });
}
