import type { BackupItem } from '../catalog/schema.ts';
import type { ImagePin } from './model.ts';

/** Where backups go: a folder of the host, or a restic repository, as that host names it. `staging` is where a backup is put together for restic. */
export type BackupTarget =
  | { kind: 'folder'; folder: string }
  | { kind: 'restic'; repository: string; staging: string; password: { value: string } | { file: string } };

/** What backups of a component can be filed under: its name as `status` prints it, also where it is one of several (`photo-library@lab`). */
export const componentName = /^[a-z][a-z0-9-]*(?:@[A-Za-z0-9][A-Za-z0-9_.@-]*)?$/;

/** A container of the component, as it was when the backup was planned. */
export interface BackupContainer {
  id: string;
  /** Cleaned. */
  name: string;
  service: string;
  /** The catalog's name of this service, where its entry knows it. */
  declared?: string | undefined;
  imageId: string;
  image: string;
  running: boolean;
}

/** One volume, and how it is saved here. */
export interface PlannedItem {
  id: string;
  volume: string;
  way: Exclude<BackupItem['way'], 'skip'>;
  container: BackupContainer;
  /** Mount inside the container, and what is mounted there. */
  target: string;
  source: string;
  /** Relative to `target`: left out. Further mounts below it are, too. */
  exclude: readonly string[];
  /** Of these, the further mounts: a restore leaves them as they are. */
  mountedBelow: readonly string[];
  /** A single file of the host, not a folder. */
  isFile: boolean;
  dump: readonly string[] | undefined;
  restore: readonly string[] | undefined;
  /** Containers that stand still meanwhile. */
  still: readonly BackupContainer[];
  why: string | undefined;
}

export interface BackupPlan {
  /** Its name, as `status` prints it. */
  component: string;
  place: string;
  project: string;
  /** The component's folder on the host; undefined where somebody else deployed it. */
  folder: string | undefined;
  /** `STACK/.quarterdeck/components/<id>.json`, where there is one. */
  record: string | undefined;
  containers: readonly BackupContainer[];
  items: readonly PlannedItem[];
  /** What is not in it, a volume or mount each, with the reason. */
  skipped: readonly SkippedMount[];
  /** What is neither saved nor skipped: a backup is refused with it. */
  uncovered: readonly UncoveredMount[];
  choices: BackupChoices;
  /** Of the choices, names that match nothing. */
  unmatched: readonly string[];
}

export interface SkippedMount {
  volume: string;
  why: string;
}

/** `name` is what `--include` and `--exclude` call it. One that is not mounted is a volume of the entry, or a service, that has no container. */
export interface UncoveredMount {
  name: string;
  why: string;
  mounted: boolean;
}

/** What the operator chose beyond the entry: names of mounts or volumes. Kept in the manifest, for the next backup and for a restore. */
export interface BackupChoices {
  include: readonly string[];
  exclude: readonly string[];
}

/** A file of a backup. Sizes and sums are of the file as it lies there. */
export interface BackupFile {
  file: string;
  sizeBytes: number;
  sha256: string;
}

export interface BackedUpItem extends BackupFile {
  id: string;
  volume: string;
  way: PlannedItem['way'];
  service: string;
  target: string;
  /** Before it was packed. */
  contentBytes: number;
  packed: 'gzip' | 'none';
  exclude: readonly string[];
}

/** `manifest.json` of a backup. No secret: those are in `secrets.age`, or nowhere. */
export interface BackupManifest {
  schema: 1;
  component: string;
  place: string;
  project: string;
  /** `20261121T031500Z`: name of the backup. */
  stamp: string;
  startedAt: string;
  endedAt: string;
  /** `user@host` */
  by: string;
  items: readonly BackedUpItem[];
  /** `project.tar`, `record.json`, `secrets.age`. */
  files: readonly BackupFile[];
  skipped: readonly SkippedMount[];
  /** Missing in backups that were written before there was a choice. */
  choices?: BackupChoices | undefined;
  images: Readonly<Record<string, ImagePin>>;
  /** Names of the variables. `sealed`: their values are in `secrets.age`. Otherwise a restore needs them from elsewhere. */
  secrets: { names: readonly string[]; sealed: boolean };
  /** Over everything else in the manifest. Missing in backups of releases that did not sign. */
  signature?: { key: string; mac: string } | undefined;
}

/** A backup as a list tells it. */
export interface BackupFacts {
  component: string;
  stamp: string;
  atMs: number;
  sizeBytes: number;
  /** Undefined where the manifest is missing, damaged, or not what was signed. */
  manifest: BackupManifest | undefined;
  /** Why its author is not known, as the end of a sentence; undefined where the operator's key signed it. */
  unauthenticated?: string | undefined;
  /** Signed with a key of this account, also where that proves little. */
  own?: boolean | undefined;
  /** Folder on the host, or id of the snapshot. */
  where: string;
}

/** What a backup or a restore tells while it runs. */
export interface BackupProgress {
  label: string;
  /** Bytes of the item so far. */
  bytes?: number;
  done?: boolean;
}

export function stampOf(date: Date): string {
  return `${date.toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z`;
}

/** Clocks differ, by less than this. */
export const clockToleranceMs = 3_600_000;

/** Undefined for what is no stamp. */
export function msOfStamp(stamp: string): number | undefined {
  const [, year, month, day, hours, minutes, seconds] = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(stamp) ?? [];
  if (seconds === undefined) return undefined;
  return Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hours), Number(minutes), Number(seconds));
}

/** The sentence that goes with every backup without its secrets; empty where they are in it. */
export function missingSecretsText({ secrets }: Pick<BackupManifest, 'secrets'>): string {
  if (secrets.sealed || secrets.names.length === 0) return '';
  return `Restore is impossible without these: ${secrets.names.join(', ')}. Keep them elsewhere.`;
}
