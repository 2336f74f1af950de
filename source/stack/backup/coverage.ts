import { posix } from 'node:path';
import { volumeNameOf } from '../../catalog/backup-rules.ts';
import type { CatalogEntry } from '../../catalog/catalog.ts';
import type { BackupItem } from '../../catalog/schema.ts';
import type { ContainerDetail } from '../../engine/engine.ts';
import { Fault } from '../../faults/fault.ts';
import { cleanLine } from '../../text/clean.ts';
import { countText } from '../../text/quantities.ts';
import type { BackupManifest } from './manifest.ts';
import type { BackupChoices, BackupContainer, BackupPlan, PlannedItem, SkippedMount } from './model.ts';

export interface SeenContainer {
  container: BackupContainer;
  detail: ContainerDetail;
}

/** A current mount of one of the component's containers. */
export interface SeenMount extends SeenContainer {
  mount: ContainerDetail['mounts'][number];
  /** The type of a bind mount's source on the host: a single file, or a socket or device. */
  isFile: boolean;
  isSpecial: boolean;
}

export const noChoices: BackupChoices = { include: [], exclude: [] };

/** For operators and manifests: `service:/path`. */
export const mountName = ({ container, mount }: SeenMount): string => `${container.service}:${posix.resolve('/', mount.target)}`;

/** Returns the catalog's name of a service; if its image is not in the entry, the name in its compose file. */
export const serviceOf = ({ declared, service }: BackupContainer): string => declared ?? service;

/**
 * Returns the mounts of an item of the entry: by service and target as in its compose file. By target alone only in containers that the
 * entry does not know, and if that identifies one volume: several services may have a `/data` each.
 */
export function mountsOf(entry: CatalogEntry, { volume }: Pick<BackupItem, 'volume'>, mounts: readonly SeenMount[]): readonly SeenMount[] {
  const targetsIn = (services: CatalogEntry['services']) =>
    services.flatMap((service) => service.mounts.filter((mount) => volumeNameOf(mount) === volume).map(targetOf));
  const named = mounts.filter(({ container, mount }) =>
    targetsIn(entry.services.filter(({ name }) => name === serviceOf(container))).includes(targetOf(mount)),
  );
  if (named.length > 0) return named;
  const services = new Set(entry.services.map(({ name }) => name));
  const targets = targetsIn(entry.services);
  const unknown = mounts.filter(({ container, mount }) => !services.has(serviceOf(container)) && targets.includes(targetOf(mount)));
  return new Set(unknown.map(({ mount }) => mount.source)).size === 1 ? unknown : [];
}

const targetOf = ({ target }: { target: string }): string => posix.resolve('/', target);

/** The item may belong to an optional service of the entry that has no container here. */
export function isOfMissingOptional(entry: CatalogEntry, { volume }: Pick<BackupItem, 'volume'>, seen: readonly SeenContainer[]): boolean {
  const services = entry.services.filter(({ mounts }) => mounts.some((mount) => volumeNameOf(mount) === volume));
  return (
    services.length > 0 && services.every(({ name, optional }) => optional && !seen.some(({ container }) => serviceOf(container) === name))
  );
}

/** Paths that belong to the host's system, not to the component. */
const hostPaths =
  /^\/(?:dev|proc|sys|lib\/modules|usr\/(?:src|share\/zoneinfo)|run\/(?:udev|dbus|systemd|secrets)|var\/run\/dbus)(?:\/|$)|^\/etc\/(?:localtime|timezone|resolv\.conf|hosts|hostname|machine-id|os-release|passwd|group|ssl\/certs)(?:\/|$)/;
const socket = /\.sock$/;

/** Undefined if a bind mount may contain data. `folder` is the component's own, which is saved with its files. */
export function reasonWithoutData({ mount, isSpecial }: SeenMount, folder: string | undefined): string | undefined {
  if (mount.kind !== 'bind') return undefined;
  const source = posix.resolve('/', mount.source);
  const isIn = (parent: string) => source === parent || source.startsWith(`${parent}/`);
  if (isSpecial || socket.test(source)) return 'a socket or device';
  if (hostPaths.test(source)) return 'belongs to the host system';
  if (folder !== undefined && (isIn(posix.join(folder, 'files')) || source === posix.join(folder, '.env')))
    return "saved with the component's files";
  return undefined;
}

/** Plans to save a mount as it is, with every container that uses it stopped meanwhile: it is unknown how its program writes. */
export function plannedMount(seen: SeenMount, all: readonly SeenMount[], why: string): PlannedItem {
  const name = mountName(seen);
  const users = all.filter(({ mount }) => mount.source === seen.mount.source).map(({ container }) => [container.id, container] as const);
  return {
    id: `mount-${name.replaceAll(/[^A-Za-z0-9]+/g, '-').replaceAll(/^-|-$/g, '')}`,
    volume: name,
    method: 'stop',
    ...mountedAt(seen, []),
    dump: undefined,
    restore: undefined,
    still: [...new Map(users).values()],
    why,
  };
}

/** `exclude` is omitted in addition to further mounts below the mount. */
export function mountedAt({ container, detail, mount, isFile }: SeenMount, exclude: readonly string[]) {
  const target = targetOf(mount);
  const others = detail.mounts.map((other) => posix.relative(target, targetOf(other)));
  const mountedBelow = others.filter((path) => path !== '' && !path.startsWith('..'));
  return { container, target, source: mount.source, exclude: [...exclude, ...mountedBelow], mountedBelow, isFile };
}

/** A name selects the mount as `service:/path`, `/path`, or the name of its volume. */
export function isNamed(names: readonly string[], seen: SeenMount): boolean {
  const own = [mountName(seen), targetOf(seen.mount), seen.mount.source];
  return names.some((name) => own.includes(name.replace(/(.)\/$/, '$1')));
}

/** @throws Fault `refused.backupIncomplete` if a mount would be neither saved nor excluded. Nothing has been stopped then. */
export function throwIfUncovered({ component, uncovered }: Pick<BackupPlan, 'component' | 'uncovered'>): void {
  if (uncovered.length === 0) return;
  const omitted = uncovered.map(({ name, why }) => `${cleanLine(name)} (${why})`).join('; ');
  const flags = uncovered.map(({ name, mounted }) => `--${mounted ? 'include' : 'exclude'} ${cleanLine(name)}`).join(' ');
  const command = `quarterdeck backup ${component} ${flags}`;
  // What is not mounted cannot be included.
  const remedy = uncovered.every(({ mounted }) => mounted)
    ? `Save ${uncovered.length === 1 ? 'the mount' : 'each mount'} with --include, or omit it with --exclude: ${command}`
    : `Create the missing containers or mounts, then back up again. To back up without them: ${command}`;
  throw new Fault('refused.backupIncomplete', `The backup of ${component} would omit data: ${omitted}.`, remedy);
}

/** @throws Fault `usage.mount` if `--include` or `--exclude` name something that is not mounted. */
export function throwIfUnmatched({ component, containers, unmatched }: Pick<BackupPlan, 'component' | 'containers' | 'unmatched'>): void {
  if (unmatched.length === 0) return;
  const message = `${component} has no volume or mount named ${unmatched.map((name) => `"${cleanLine(name)}"`).join(', ')}.`;
  const example = `${containers[0]?.service ?? 'app'}:/data`;
  const remedy = `Use SERVICE:PATH, for example ${example}. "quarterdeck backup ${component} --dry-run" lists what is not covered.`;
  throw new Fault('usage.mount', message, remedy);
}

/** Neither in this backup nor excluded. For a backup from before this was recorded: the volumes that no container had. */
export function notCoveredBy(manifest: BackupManifest, now: BackupPlan): string[] {
  const known = new Set([...manifest.items.map(({ volume }) => volume), ...manifest.skipped.map(({ volume }) => volume)]);
  return [
    ...incompleteText(manifest),
    ...now.items.flatMap(({ volume, target, container }) => (known.has(volume) ? [] : [`${volume} (${container.service}:${target})`])),
    // A mount of a service whose container no longer exists is in the backup under that service's name.
    ...now.uncovered.flatMap(({ name }) => (known.has(name) || [...known].some((volume) => volume.startsWith(`${name}:`)) ? [] : [name])),
  ];
}

/** Earlier backups omitted this without failing. */
export function incompleteText({ skipped }: { skipped: readonly SkippedMount[] }): string[] {
  return skipped
    .filter(({ why }) => why === 'not mounted by any container')
    .map(({ volume }) => `${volume} (not mounted by any container)`);
}

/** Formats `2 mounts: app:/data, db:/var/lib/x`. */
export function coverageText(names: readonly string[]): string {
  return `${countText(names.length, 'mount')}: ${names.map((name) => cleanLine(name)).join(', ')}`;
}
