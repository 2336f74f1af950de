import { posix } from 'node:path';
import type { CatalogEntry } from '../catalog/catalog.ts';
import type { ContainerDetail } from '../engine/engine.ts';
import { isLoopback } from '../text/loopback.ts';
import { namesText } from '../text/words.ts';
import type { ComponentView, FindingView } from './model.ts';
import { isServing } from './service-state.ts';

export interface Reached {
  id: string;
  component: ComponentView;
  entry: CatalogEntry;
  detail: ContainerDetail;
  machine: string;
  /** The container whose network it uses (R15). */
  front: { component: ComponentView; detail: ContainerDetail | undefined } | undefined;
}

export type Between = Pick<FindingView, 'level' | 'message' | 'remedy'>;

export const found = (level: Between['level'], message: string, remedy: string): Between => ({ level, message, remedy });

/** With `both`, also the reverse. A port that is published on loopback cannot be reached from a container (R14). */
export function connectionsBetween(earlier: readonly Reached[], later: readonly Reached[], both: boolean): Between[] {
  return later.flatMap((to) => {
    const apart = earlier.filter((from) => from.component.key !== to.component.key && !canMeet(from, to, both)).map(({ id }) => id);
    if (apart.length === 0) return [];
    const what = both ? 'exchange requests with' : 'reach';
    const message = `${namesText(apart)} cannot ${what} ${to.id}, because they share no network and containers cannot reach ports that are published on loopback.`;
    const remedy = to.front
      ? `Add a network of ${to.front.component.id} as external: ${apart.map((id) => `quarterdeck edit ${id}`).join(', ')}`
      : `Redeploy these components to connect them to one network: ${[to.id, ...apart].map((id) => `quarterdeck deploy ${id}`).join(', ')}`;
    return found('warning', message, remedy);
  });
}

/** The gateways that these components use (R15). */
export function gatewayFindings(members: readonly Reached[]): Between[] {
  const fronts = new Map(members.flatMap(({ front }) => (front ? [[front.component.key, front.component]] : [])));
  return [...fronts.values()].flatMap((gateway) => {
    const behind = members.filter(({ front }) => front?.component.key === gateway.key).map(({ id }) => id);
    const who = `${namesText(behind)} ${behind.length === 1 ? 'connects' : 'connect'} through ${gateway.id}`;
    if (!isServing(gateway.serviceState))
      return found('error', `${who}, which is not running (${gateway.state.label}).`, `Start it: quarterdeck start ${gateway.id}`);
    if (gateway.state.severity !== 'error') return [];
    const message = `${who}, which reports: ${gateway.detail || gateway.state.label}`;
    return found('error', message, `Check the tunnel: quarterdeck logs ${gateway.id}`);
  });
}

/** If it is unknown, a connection is assumed. */
function canMeet(one: Reached, other: Reached, both: boolean): boolean {
  // Between machines, traffic uses published ports; between a host network and another network, the host's own address.
  if (one.component.host !== other.component.host) return true;
  const [from, to] = [networksOf(one), networksOf(other)];
  if (from === undefined || to === undefined) return true;
  return from.some((name) => to.includes(name)) || (publishes(other) && (!both || publishes(one)));
}

/** Returns undefined if the networks are unknown: in the host's network, or in that of a container which could not be inspected. */
function networksOf({ detail, front }: Reached): readonly string[] | undefined {
  const from = detail.networkMode.startsWith('container:') ? front?.detail : detail;
  if (!from || from.networkMode === 'host' || from.networks.length === 0) return undefined;
  return from.networks;
}

function publishes({ detail, front }: Reached): boolean {
  return (front?.detail ?? detail).ports.some(
    ({ hostPort, address, protocol }) => hostPort !== undefined && protocol === 'tcp' && address !== undefined && !isLoopback(address),
  );
}

/** At the path that is reported to the later ones (R27). */
export function foldersBetween(clients: readonly Reached[], importers: readonly Reached[]): Between[] {
  const all: Between[] = [];
  for (const client of clients) {
    const paths = downloadPaths(client);
    all.push(...readOnlyFindings(client.id, 'its downloads', paths));
    const apart = importers.filter(({ machine }) => machine !== client.machine).map(({ id }) => id);
    if (apart.length > 0) {
      const message = `${client.id} and ${namesText(apart)} are on different machines, so it is unknown whether they share the same folder.`;
      all.push(found('notice', message, 'Mount the download folder at the same path on both machines.'));
    }
    for (const importer of importers) if (importer.machine === client.machine) all.push(...folderOf(client, importer, paths));
  }
  for (const { id, entry, component } of importers)
    for (const finding of component.findings.filter(({ check }) => check === 'two-filesystems'))
      if (entry.checks.some((check) => check.id === finding.check)) all.push({ ...finding, message: `${id}: ${finding.message}` });
  return all;
}

function readOnlyFindings(id: string, what: string, paths: readonly Mount[]): Between[] {
  return paths.flatMap(({ target, readOnly }) =>
    readOnly ? found('error', `${id} cannot write ${what}, because ${target} is mounted read-only.`, `Fix: quarterdeck edit ${id}`) : [],
  );
}

function folderOf(client: Reached, importer: Reached, paths: readonly Mount[]): Between[] {
  const edit = `quarterdeck edit ${importer.id}`;
  // One path that both share is enough: the programs are configured to use it.
  const shared = paths.filter(({ target, source }) => sourceAt(importer.detail, target)?.source === source);
  const [first] = paths;
  if (shared.length > 0 || !first)
    return shared
      .filter(({ target }) => sourceAt(importer.detail, target)?.readOnly)
      .map(({ target }) => {
        const message = `${importer.id} can only read the downloads of ${client.id}, so it can copy them, but not hard-link or move them.`;
        return found('warning', message, `Mount ${target} as writable: ${edit}`);
      });
  const { target, source } = first;
  const elsewhere = seenAt(importer.detail, source);
  if (elsewhere !== undefined) {
    const message = `${importer.id} mounts the download folder of ${client.id} at ${elsewhere}, but ${client.id} reports the path ${target}.`;
    const remedy = `Mount the folder at ${target} too (${edit}), or set a remote path mapping from ${target} to ${elsewhere} in the settings of ${importer.id}.`;
    return [found('warning', message, remedy)];
  }
  const here = sourceAt(importer.detail, target);
  const there = `but ${here ? shown(here.source) : 'not mounted'} in ${importer.id}`;
  const message = `${importer.id} cannot access the downloads of ${client.id}: ${target} is ${shown(source)} in ${client.id}, ${there}.`;
  return [found('error', message, `Mount the same host folder in both: ${edit}`)];
}

export function libraryBetween(importers: readonly Reached[], scanners: readonly Reached[]): Between[] {
  if (scanners.length === 0) return [];
  return importers.flatMap((importer) => {
    const libraries = libraryPaths(importer);
    const closed = readOnlyFindings(importer.id, 'to the library', libraries);
    if (libraries.length === 0) return closed;
    const local = scanners.filter(({ machine }) => machine === importer.machine);
    if (local.length === 0) {
      const apart = namesText(scanners.map(({ id }) => id));
      const message = `${importer.id} and ${apart} are on different machines, so it is unknown whether they share the same library.`;
      return [...closed, found('notice', message, '')];
    }
    const sees = local.some(({ detail }) =>
      libraries.some(({ source }) => mountsOf(detail).some((mount) => within(source, mount.source) || within(mount.source, source))),
    );
    if (sees) return closed;
    const folders = [...new Set(libraries.map(({ source }) => shown(source)))].join(', ');
    const has = local.map((one) => `${one.id} has ${mediaOf(one)}`).join(', ');
    const message = `No media server scans ${folders}, where ${importer.id} imports files: ${has}.`;
    return [...closed, found('error', message, `Mount the same host folder in both: quarterdeck edit ${local[0]?.id}`)];
  });
}

interface Mount {
  target: string;
  /** Folder of the host; `volume NAME`, with the subpath, for a volume of the engine. */
  source: string;
  readOnly: boolean;
}

function mountsOf({ mounts }: ContainerDetail): Mount[] {
  return mounts
    .filter(({ kind, source }) => source !== '' && (kind === 'bind' || kind === 'volume'))
    .map(({ kind, source, target, readOnly }) => ({
      target: trimmed(target),
      source: kind === 'volume' ? `volume ${source}` : trimmed(source),
      readOnly,
    }));
}

const trimmed = (path: string) => (path.length > 1 ? path.replace(/\/+$/, '') : path);

function within(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === '/' ? '/' : `${folder}/`);
}

function sourceAt(detail: ContainerDetail, path: string): Pick<Mount, 'source' | 'readOnly'> | undefined {
  const [mount] = mountsOf(detail)
    .filter(({ target }) => within(path, target))
    .sort((a, b) => b.target.length - a.target.length);
  if (!mount) return undefined;
  const below = posix.relative(mount.target, path);
  return { source: below === '' ? mount.source : posix.join(mount.source, below), readOnly: mount.readOnly };
}

function seenAt(detail: ContainerDetail, source: string): string | undefined {
  const [mount] = mountsOf(detail)
    .filter((one) => within(source, one.source))
    .sort((a, b) => b.source.length - a.source.length);
  return mount && posix.join(mount.target, posix.relative(mount.source, source));
}

function mountsHolding({ entry, detail }: Reached, what: 'downloads' | 'library'): Mount[] {
  return mountsOf(detail).filter(({ target }) =>
    Object.entries(entry.volumes).some(([volume, { content }]) => content === what && trimmed(volume) === target),
  );
}

/** Returns the folders for downloads: the mounts that the catalog names, as this container has them; then the mount for everything. */
function downloadPaths(client: Reached): Mount[] {
  const downloads = mountsHolding(client, 'downloads');
  return downloads.length > 0 ? downloads : mountsHolding(client, 'library');
}

/** A mount that also contains downloads allows hard links, and counts as a library only if there is no other. */
function libraryPaths(importer: Reached): Mount[] {
  const libraries = mountsHolding(importer, 'library');
  const downloads = mountsHolding(importer, 'downloads');
  const own = libraries.filter(({ source }) => !downloads.some((other) => within(other.source, source)));
  return own.length > 0 ? own : libraries;
}

function mediaOf(component: Reached): string {
  const libraries = mountsHolding(component, 'library');
  return libraries.length === 0 ? 'no library' : libraries.map(({ source }) => shown(source)).join(', ');
}

const shown = (source: string) => source.replace(/^volume /, 'the volume ');
