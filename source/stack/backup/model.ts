import type { BackupItem } from '../../catalog/schema.ts';
import type { BackupManifest } from './manifest.ts';

/** As the host names it. `staging` is the folder where a backup is prepared for restic. */
export type BackupTarget =
  | { kind: 'folder'; folder: string }
  | { kind: 'restic'; repository: string; staging: string; password: { value: string } | { file: string } };

/** Its name as `status` prints it, also if it is one of several (`photo-library@lab`). */
export const componentName = /^[a-z][a-z0-9-]*(?:@[A-Za-z0-9][A-Za-z0-9_.@-]*)?$/;

export interface BackupContainer {
  id: string;
  name: string;
  service: string;
  /** The catalog's name of this service, if its entry knows it. */
  declared?: string | undefined;
  imageId: string;
  image: string;
  running: boolean;
}

export interface PlannedItem {
  id: string;
  volume: string;
  method: Exclude<BackupItem['method'], 'skip'>;
  container: BackupContainer;
  /** Mount point inside the container, and the mounted volume or folder. */
  target: string;
  source: string;
  /** Relative to `target`: omitted, as are further mounts below it. */
  exclude: readonly string[];
  /** The further mounts among these: a restore leaves them as they are. */
  mountedBelow: readonly string[];
  isFile: boolean;
  dump: readonly string[] | undefined;
  restore: readonly string[] | undefined;
  still: readonly BackupContainer[];
  why: string | undefined;
}

export interface BackupPlan {
  component: string;
  engineName: string;
  project: string;
  /** The component's folder on the host; undefined if Quarterdeck did not deploy it. */
  folder: string | undefined;
  record: string | undefined;
  containers: readonly BackupContainer[];
  items: readonly PlannedItem[];
  skipped: readonly SkippedMount[];
  /** Mounts that are neither saved nor skipped: they make a backup fail. */
  uncovered: readonly UncoveredMount[];
  choices: BackupChoices;
  unmatched: readonly string[];
}

export type SkippedMount = BackupManifest['skipped'][number];

/** `name` is for `--include` and `--exclude`. One that is not mounted is a volume of the entry, or a service, that has no container. */
export interface UncoveredMount {
  name: string;
  why: string;
  mounted: boolean;
}

/** The operator's choices beyond the entry: names of mounts or volumes. Kept in the manifest, for the next backup and for a restore. */
export type BackupChoices = NonNullable<BackupManifest['choices']>;

export interface ReadManifest {
  /** Undefined if it is missing, damaged, or differs from the signed one. */
  manifest: BackupManifest | undefined;
  /** Why its author is unknown, as the end of a sentence; undefined if the operator's key signed it. */
  unauthenticated?: string | undefined;
  /** Signed with a key of this account, even if that proves little. */
  own?: boolean | undefined;
}

export interface BackupFacts extends ReadManifest {
  component: string;
  stamp: string;
  atMs: number;
  sizeBytes: number;
  /** Folder on the host, or id of the snapshot. */
  where: string;
}

export const stampOf = (date: Date): string => `${date.toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z`;

export const clockToleranceMs = 3_600_000;

export function msOfStamp(stamp: string): number | undefined {
  const found = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(stamp);
  const [year = 0, month = 0, day, hours, minutes, seconds] = found?.slice(1).map(Number) ?? [];
  return found ? Date.UTC(year, month - 1, day, hours, minutes, seconds) : undefined;
}
