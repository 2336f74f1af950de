import { posix } from 'node:path';
import { volumeNameOf } from '../catalog/backup-rules.ts';
import type { CatalogEntry } from '../catalog/catalog.ts';
import type { BackupItem } from '../catalog/schema.ts';
import type { ContainerDetail } from '../engine/engine.ts';
import { Fault } from '../faults/fault.ts';
import { cleanLine } from '../text/clean.ts';
import { countText } from '../text/quantities.ts';
import type { BackupChoices, BackupContainer, BackupManifest, BackupPlan, PlannedItem, SkippedMount } from './backup-model.ts';

export type Mount = ContainerDetail['mounts'][number];

export interface SeenContainer {
  container: BackupContainer;
  detail: ContainerDetail;
}

/** A mount of one of the component's containers, as it is mounted now. */
export interface SeenMount extends SeenContainer {
  mount: Mount;
  /** What a bind mount is on the host: a single file, or a socket or device. */
  isFile: boolean;
  isSpecial: boolean;
}

export const noChoices: BackupChoices = { include: [], exclude: [] };

/** How people and manifests name a mount: `service:/path`. */
export function mountName({ container, mount }: SeenMount): string {
  return `${container.service}:${posix.resolve('/', mount.target)}`;
}

/** The catalog's name of a service; where its image is not in the entry, the one that its compose file has. */
export const serviceOf = ({ declared, service }: BackupContainer): string => declared ?? service;

/**
 * Where an item of the entry is mounted: by service and target as in its compose file. By target alone only in containers that the entry does not know, and where that
 * means one volume: several services may have a `/data` each.
 */
export function mountsOf(entry: CatalogEntry, { volume }: Pick<BackupItem, 'volume'>, mounts: readonly SeenMount[]): readonly SeenMount[] {
  const declared = entry.services.flatMap((service) =>
    service.mounts
      .filter((mount) => volumeNameOf(mount) === volume)
      .map(({ target }) => ({ service: service.name, target: posix.resolve('/', target) })),
  );
  const there = mounts.filter(({ mount }) => declared.some(({ target }) => target === posix.resolve('/', mount.target)));
  const named = there.filter(({ container, mount }) =>
    declared.some(({ service, target }) => service === serviceOf(container) && target === posix.resolve('/', mount.target)),
  );
  if (named.length > 0) return named;
  const services = new Set(entry.services.map(({ name }) => name));
  const unknown = there.filter(({ container }) => !services.has(serviceOf(container)));
  return new Set(unknown.map(({ mount }) => mount.source)).size === 1 ? unknown : [];
}

/** Is this item of a service that the entry calls optional, and that has no container here? */
export function isOfMissingOptional(entry: CatalogEntry, { volume }: Pick<BackupItem, 'volume'>, seen: readonly SeenContainer[]): boolean {
  const services = entry.services.filter(({ mounts }) => mounts.some((mount) => volumeNameOf(mount) === volume));
  return (
    services.length > 0 && services.every(({ name, optional }) => optional && !seen.some(({ container }) => serviceOf(container) === name))
  );
}

/** What belongs to the host's system, not to the component. */
const hostPaths =
  /^\/(?:dev|proc|sys|lib\/modules|usr\/(?:src|share\/zoneinfo)|run\/(?:udev|dbus|systemd|secrets)|var\/run\/dbus)(?:\/|$)|^\/etc\/(?:localtime|timezone|resolv\.conf|hosts|hostname|machine-id|os-release|passwd|group|ssl\/certs)(?:\/|$)/;
const socket = /\.sock$/;

/** Why a bind mount holds no data of the component; undefined where it may. `folder` is the component's own, which is saved with its files. */
export function reasonWithoutData({ mount, isSpecial }: SeenMount, folder: string | undefined): string | undefined {
  if (mount.kind !== 'bind') return undefined;
  const source = posix.resolve('/', mount.source);
  const isIn = (parent: string) => source === parent || source.startsWith(`${parent}/`);
  if (isSpecial || socket.test(source)) return 'a socket or device';
  if (hostPaths.test(source)) return "belongs to the host's system";
  if (folder !== undefined && (isIn(posix.join(folder, 'files')) || source === posix.join(folder, '.env')))
    return "saved with the component's files";
  return undefined;
}

/** Saved as it is, with every container that has it stopped meanwhile: how its program writes is not known. */
export function plannedMount(seen: SeenMount, all: readonly SeenMount[], why: string): PlannedItem {
  const name = mountName(seen);
  const target = posix.resolve('/', seen.mount.target);
  const still = new Map(
    all.filter(({ mount }) => mount.source === seen.mount.source).map(({ container }) => [container.id, container] as const),
  );
  return {
    id: `mount-${name.replaceAll(/[^A-Za-z0-9]+/g, '-').replaceAll(/^-|-$/g, '')}`,
    volume: name,
    way: 'stop',
    container: seen.container,
    target,
    source: seen.mount.source,
    exclude: mountsBelow(seen.detail, target),
    mountedBelow: mountsBelow(seen.detail, target),
    isFile: seen.isFile,
    dump: undefined,
    restore: undefined,
    still: [...still.values()],
    why,
  };
}

/** Further mounts below one, relative to it. */
export function mountsBelow({ mounts }: ContainerDetail, target: string): string[] {
  return mounts
    .map((mount) => posix.relative(target, posix.resolve('/', mount.target)))
    .filter((path) => path !== '' && !path.startsWith('..'));
}

/** Is a mount meant by one of these names: `service:/path`, `/path`, or the name of its volume? */
export function isNamed(names: readonly string[], seen: SeenMount): boolean {
  const target = posix.resolve('/', seen.mount.target);
  return names.some((name) => {
    const typed = name.replace(/(.)\/$/, '$1');
    return typed === mountName(seen) || typed === target || typed === seen.mount.source;
  });
}

/** @throws Fault `refused.backupIncomplete` where something would be neither saved nor excluded. Nothing was stopped then. */
export function throwIfUncovered({ component, uncovered }: Pick<BackupPlan, 'component' | 'uncovered'>): void {
  if (uncovered.length === 0) return;
  throw new Fault({
    code: 'refused.backupIncomplete',
    message: `The backup of ${component} would omit data: ${uncovered.map(({ name, why }) => `${cleanLine(name)} (${why})`).join('; ')}.`,
    remedy: `Save ${uncovered.length === 1 ? 'it' : 'each'} with --include, or leave it out with --exclude: quarterdeck backup ${component} ${uncovered
      .map(({ name, mounted }) => `--${mounted ? 'include' : 'exclude'} ${cleanLine(name)}`)
      .join(' ')}`,
  });
}

/** @throws Fault `usage.mount` where `--include` or `--exclude` name nothing that is mounted. */
export function throwIfUnmatched({ component, containers, unmatched }: Pick<BackupPlan, 'component' | 'containers' | 'unmatched'>): void {
  if (unmatched.length === 0) return;
  throw new Fault({
    code: 'usage.mount',
    message: `${component} has no volume or mount called ${unmatched.map((name) => `"${cleanLine(name)}"`).join(', ')}.`,
    remedy: `Write SERVICE:PATH, as in ${containers[0]?.service ?? 'app'}:/data. "quarterdeck backup ${component} --dry-run" lists what is not covered.`,
  });
}

/** What is mounted now, and neither in this backup nor excluded from it. A backup that was written before this was recorded names what no container had. */
export function notCoveredBy(manifest: BackupManifest, now: BackupPlan): string[] {
  const known = new Set([...manifest.items.map(({ volume }) => volume), ...manifest.skipped.map(({ volume }) => volume)]);
  return [
    ...incompleteText(manifest),
    ...now.items.flatMap(({ volume, target, container }) => (known.has(volume) ? [] : [`${volume} (${container.service}:${target})`])),
    // What a service mounted whose container is gone since is in the backup under that service's name.
    ...now.uncovered.flatMap(({ name }) => (known.has(name) || [...known].some((volume) => volume.startsWith(`${name}:`)) ? [] : [name])),
  ];
}

const noContainer = 'no container has it';

/** What backups used to omit without failing. */
export function incompleteText({ skipped }: { skipped: readonly SkippedMount[] }): string[] {
  return skipped.filter(({ why }) => why === noContainer).map(({ volume }) => `${volume} (no container had it)`);
}

/** `2 mounts: app:/data, db:/var/lib/x` */
export function coverageText(names: readonly string[]): string {
  return `${countText(names.length, 'mount')}: ${names.map((name) => cleanLine(name)).join(', ')}`;
}
