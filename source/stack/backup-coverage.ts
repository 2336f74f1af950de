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

/** Where an item of the entry is mounted: by service and target as in its compose file, else by target alone, where the services have other names. */
export function mountsOf(entry: CatalogEntry, { volume }: Pick<BackupItem, 'volume'>, mounts: readonly SeenMount[]): readonly SeenMount[] {
  const declared = entry.services.flatMap((service) =>
    service.mounts
      .filter((mount) => volumeNameOf(mount) === volume)
      .map(({ target }) => ({ service: service.name, target: posix.resolve('/', target) })),
  );
  const there = mounts.filter(({ mount }) => declared.some(({ target }) => target === posix.resolve('/', mount.target)));
  const named = there.filter(({ container, mount }) =>
    declared.some(({ service, target }) => service === container.service && target === posix.resolve('/', mount.target)),
  );
  return named.length > 0 ? named : there;
}

/** Is this item of a service that the entry calls optional, and that has no container here? */
export function isOfMissingOptional(entry: CatalogEntry, { volume }: Pick<BackupItem, 'volume'>, seen: readonly SeenContainer[]): boolean {
  const services = entry.services.filter(({ mounts }) => mounts.some((mount) => volumeNameOf(mount) === volume));
  return (
    services.length > 0 && services.every(({ name, optional }) => optional && !seen.some(({ container }) => container.service === name))
  );
}

/** What belongs to the host's system, not to the component. */
const hostPaths =
  /^\/(?:dev|proc|sys|lib\/modules|usr\/(?:src|share\/zoneinfo)|run\/(?:udev|dbus|systemd|secrets)|var\/run\/dbus)(?:\/|$)|^\/etc\/(?:localtime|timezone|resolv\.conf|hosts|hostname|machine-id|os-release|passwd|group|ssl\/certs)(?:\/|$)/;
const socket = /\.sock$/;

/** Why a bind mount holds no data of the component; undefined where it may. `folder` is the component's own, which is saved with its files. */
export function reasonWithoutData(
  { mount, isSpecial }: SeenMount,
  { folder, stackFolder }: { folder: string | undefined; stackFolder: string },
): string | undefined {
  if (mount.kind !== 'bind') return undefined;
  const source = posix.resolve('/', mount.source);
  const isIn = (parent: string) => source === parent || source.startsWith(`${parent}/`);
  if (isSpecial || socket.test(source)) return 'a socket or device';
  if (hostPaths.test(source)) return "belongs to the host's system";
  if (folder !== undefined && (isIn(posix.join(folder, 'files')) || source === posix.join(folder, '.env')))
    return "saved with the component's files";
  if (isIn(stackFolder) && !isIn(folder ?? stackFolder)) return 'belongs to the folder of another component';
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
    id: `mount-${name.replaceAll(/[^A-Za-z0-9]+/g, '-').replace(/-$/, '')}`,
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
  return names.some((name) => name === mountName(seen) || name === seen.mount.target || name === seen.mount.source);
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

/** What is mounted now, and neither in this backup nor excluded from it. A backup that was written before this was recorded names what no container had. */
export function notCoveredBy(manifest: BackupManifest, now: BackupPlan): string[] {
  const known = new Set([...manifest.items.map(({ volume }) => volume), ...manifest.skipped.map(({ volume }) => volume)]);
  return [
    ...incompleteText(manifest),
    ...now.items.flatMap(({ volume, target, container }) => (known.has(volume) ? [] : [`${volume} (${container.service}:${target})`])),
    ...now.uncovered.flatMap(({ name }) => (known.has(name) ? [] : [name])),
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
