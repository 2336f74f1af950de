import { posix } from 'node:path';
import type { CatalogEntry } from '../catalog/catalog.ts';
import type { ContainerDetail } from '../engine/engine.ts';
import { namesText } from '../text/words.ts';
import type { ComponentView, StateName } from './model.ts';

/** A component at a stage of the chain, with what the engine tells of its main container. */
export interface Reached {
  id: string;
  component: ComponentView;
  entry: CatalogEntry;
  detail: ContainerDetail;
  /** The machine that its folders are on. */
  machine: string;
  /** In whose network it is (R15). */
  front: { component: ComponentView; detail: ContainerDetail | undefined } | undefined;
}

/** What stands between two stages. */
export interface Between {
  level: 'error' | 'warning' | 'notice';
  message: string;
  remedy: string;
  rule: string | undefined;
}

const upStates: ReadonlySet<StateName> = new Set(['running', 'healthy', 'unhealthy', 'starting']);

export const isUp = (state: StateName): boolean => upStates.has(state);

const loopback = /^(127\.|::1$|\[::1\]$)/;

/** Can the earlier ones speak to the later ones, and where `both` is said the other way too? A port that is published on loopback is not reached from a container (R14). */
export function waysBetween(earlier: readonly Reached[], later: readonly Reached[], both: boolean): Between[] {
  return later.flatMap((to): Between[] => {
    const apart = earlier.filter((from) => from.component.key !== to.component.key && !canMeet(from, to, both)).map(({ id }) => id);
    if (apart.length === 0) return [];
    return [
      {
        level: 'warning',
        message: `${namesText(apart)} cannot reach ${to.id}: they share no network, and a port that is published on loopback is not reached from a container.`,
        remedy: to.front
          ? `Put them into one network: quarterdeck edit ${apart[0]}, and name there, as external, one that ${to.front.component.id} is in.`
          : `Deploy both again, which puts them into one: quarterdeck deploy ${to.id}, then quarterdeck deploy ${apart[0]}.`,
        rule: 'R14',
      },
    ];
  });
}

/** What is wrong with the gateways that these go through (R15). */
export function gatewaysOf(members: readonly Reached[]): Between[] {
  const fronts = new Map(members.flatMap(({ front }) => (front ? [[front.component.key, front.component]] : [])));
  return [...fronts.values()].flatMap((gateway): Between[] => {
    const behind = members.filter(({ front }) => front?.component.key === gateway.key).map(({ id }) => id);
    const who = `${namesText(behind)} ${behind.length === 1 ? 'goes' : 'go'} through ${gateway.id}`;
    if (!isUp(gateway.state))
      return [
        {
          level: 'error',
          message: `${who}, which is not running (${gateway.word}).`,
          remedy: `quarterdeck start ${gateway.id}`,
          rule: 'R15',
        },
      ];
    if (gateway.tone !== 'bad') return [];
    return [
      {
        level: 'error',
        message: `${who}, which says: ${gateway.detail || gateway.word}`,
        remedy: `Look at its tunnel: quarterdeck logs ${gateway.id}`,
        rule: 'R15',
      },
    ];
  });
}

/** Is there a way from one to the other? Where nobody can tell there is taken to be one. */
function canMeet(one: Reached, other: Reached, both: boolean): boolean {
  // Between machines published ports are the way, and between a host network and another the host's own address.
  if (one.component.host !== other.component.host) return true;
  const [mine, theirs] = [networksOf(one), networksOf(other)];
  if (mine === undefined || theirs === undefined) return true;
  return mine.some((name) => theirs.includes(name)) || (publishes(other) && (!both || publishes(one)));
}

/** Undefined where they cannot be told: in the host's network, or in that of a container which could not be looked at. */
function networksOf({ detail, front }: Reached): readonly string[] | undefined {
  const from = detail.networkMode.startsWith('container:') ? front?.detail : detail;
  if (!from || from.networkMode === 'host' || from.networks.length === 0) return undefined;
  return from.networks;
}

function publishes({ detail, front }: Reached): boolean {
  return (front?.detail ?? detail).ports.some(
    ({ hostPort, address, protocol }) => hostPort !== undefined && protocol === 'tcp' && address !== undefined && !loopback.test(address),
  );
}

/** Do the later ones find what the earlier ones downloaded, under the path that they are told (R27)? */
export function foldersBetween(clients: readonly Reached[], importers: readonly Reached[]): Between[] {
  const found: Between[] = [];
  for (const client of clients) {
    const paths = downloadPaths(client);
    for (const { target } of paths.filter(({ readOnly }) => readOnly))
      found.push({
        level: 'error',
        message: `${client.id} cannot write what it downloads: ${target} is mounted read-only.`,
        remedy: `quarterdeck edit ${client.id}`,
        rule: 'R27',
      });
    const apart = importers.filter(({ machine }) => machine !== client.machine).map(({ id }) => id);
    if (apart.length > 0)
      found.push({
        level: 'notice',
        message: `${client.id} and ${namesText(apart)} are on different machines: whether they see the same folder cannot be known from here.`,
        remedy: 'Mount the folder of downloads on both, under the same path.',
        rule: 'R27',
      });
    for (const importer of importers) if (importer.machine === client.machine) found.push(...folderOf(client, importer, paths));
  }
  for (const { id, entry, component } of importers)
    for (const finding of component.findings.filter(({ rule }) => rule === 'R27'))
      if (entry.checks.some((check) => check.id === finding.check))
        found.push({ ...finding, message: `${id}: ${finding.message}`, rule: 'R27' });
  return found;
}

function folderOf(client: Reached, importer: Reached, paths: readonly Seen[]): Between[] {
  const edit = `quarterdeck edit ${importer.id}`;
  if (paths.length === 0) return [];
  const wrong = paths.flatMap(({ target, source }): Between[] => {
    const here = sourceAt(importer.detail, target);
    if (here?.source === source)
      return here.readOnly
        ? [
            {
              level: 'warning',
              message: `${importer.id} sees what ${client.id} downloads read-only: it can copy it, and neither link nor move it.`,
              remedy: `Let it write to ${target}: ${edit}`,
              rule: 'R27',
            },
          ]
        : [];
    const elsewhere = seenAt(importer.detail, source);
    if (elsewhere !== undefined)
      return [
        {
          level: 'warning',
          message: `${importer.id} sees the folder of ${client.id} as ${elsewhere}, and not as ${target}, which it is told.`,
          remedy: `Mount it as ${target} too (${edit}), or set a remote path mapping from ${target} to ${elsewhere} in its settings.`,
          rule: 'R27',
        },
      ];
    return [
      {
        level: 'error',
        message: `${importer.id} cannot see what ${client.id} downloads: ${target} is ${shown(source)} there, and ${here ? `${shown(here.source)} here` : 'nothing is mounted there here'}.`,
        remedy: `Give both the same folder of the host: ${edit}`,
        rule: 'R27',
      },
    ];
  });
  // One path on which both agree is enough: programs are set to one of them.
  return paths.some(({ target, source }) => sourceAt(importer.detail, target)?.source === source)
    ? wrong.filter(({ message }) => message.includes('read-only'))
    : wrong.slice(0, 1);
}

/** Does anything scan the folder that each of the earlier ones imports into? */
export function libraryBetween(importers: readonly Reached[], scanners: readonly Reached[]): Between[] {
  if (scanners.length === 0) return [];
  return importers.flatMap((importer): Between[] => {
    const libraries = libraryPaths(importer);
    const closed = libraries
      .filter(({ readOnly }) => readOnly)
      .map(
        ({ target }): Between => ({
          level: 'error',
          message: `${importer.id} cannot write to the library: ${target} is mounted read-only.`,
          remedy: `quarterdeck edit ${importer.id}`,
          rule: 'R27',
        }),
      );
    if (libraries.length === 0) return closed;
    const near = scanners.filter(({ machine }) => machine === importer.machine);
    if (near.length < scanners.length && near.length === 0)
      return [
        ...closed,
        {
          level: 'notice',
          message: `${importer.id} and ${namesText(scanners.map(({ id }) => id))} are on different machines: whether they see the same library cannot be known from here.`,
          remedy: '',
          rule: 'R55',
        },
      ];
    const sees = near.some(({ detail }) =>
      libraries.some(({ source }) => mountsOf(detail).some((mount) => within(source, mount.source) || within(mount.source, source))),
    );
    if (sees) return closed;
    const folders = [...new Set(libraries.map(({ source }) => shown(source)))].join(', ');
    return [
      ...closed,
      {
        level: 'error',
        message: `Nothing scans what ${importer.id} imports into ${folders}: ${near.map((one) => `${one.id} sees ${mediaOf(one)}`).join(', ')}.`,
        remedy: `Name the same folder of the host for both: quarterdeck edit ${near[0]?.id}`,
        rule: 'R55',
      },
    ];
  });
}

interface Seen {
  target: string;
  /** Folder of the host; `volume NAME`, with what is below it, for a volume of the engine. */
  source: string;
  readOnly: boolean;
}

function mountsOf({ mounts }: ContainerDetail): Seen[] {
  return mounts
    .filter(({ kind, source }) => source !== '' && (kind === 'bind' || kind === 'volume'))
    .map(({ kind, source, target, readOnly }) => ({
      target: trimmed(target),
      source: kind === 'volume' ? `volume ${source}` : trimmed(source),
      readOnly,
    }));
}

const trimmed = (path: string) => (path.length > 1 ? path.replace(/\/+$/, '') : path);

/** Is it the folder, or below it? */
function within(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === '/' ? '/' : `${folder}/`);
}

/** What a path inside the container is on the host. */
function sourceAt(detail: ContainerDetail, path: string): { source: string; readOnly: boolean } | undefined {
  const [mount] = mountsOf(detail)
    .filter(({ target }) => within(path, target))
    .sort((a, b) => b.target.length - a.target.length);
  if (!mount) return undefined;
  const below = posix.relative(mount.target, path);
  return { source: below === '' ? mount.source : posix.join(mount.source, below), readOnly: mount.readOnly };
}

/** Where a folder of the host is inside the container. */
function seenAt(detail: ContainerDetail, source: string): string | undefined {
  const [mount] = mountsOf(detail)
    .filter((one) => within(source, one.source))
    .sort((a, b) => b.source.length - a.source.length);
  return mount && posix.join(mount.target, posix.relative(mount.source, source));
}

function held({ entry }: Reached, what: 'downloads' | 'library'): string[] {
  return Object.entries(entry.volumes).flatMap(([target, { holds }]) => (holds === what ? [trimmed(target)] : []));
}

/** Where it puts what it downloads: the mounts that the catalog names, as this container has them; then the one for all of it. */
function downloadPaths(client: Reached): Seen[] {
  const mounts = mountsOf(client.detail);
  const of = (what: 'downloads' | 'library') => mounts.filter(({ target }) => held(client, what).includes(target));
  return of('downloads').length > 0 ? of('downloads') : of('library');
}

/** Where it imports to. A mount that has downloads in it too is the way for hard links, and no library by itself, unless there is no other. */
function libraryPaths(importer: Reached): Seen[] {
  const mounts = mountsOf(importer.detail);
  const libraries = mounts.filter(({ target }) => held(importer, 'library').includes(target));
  const downloads = mounts.filter(({ target }) => held(importer, 'downloads').includes(target));
  const own = libraries.filter(({ source }) => !downloads.some((other) => within(other.source, source)));
  return own.length > 0 ? own : libraries;
}

function mediaOf(one: Reached): string {
  const libraries = mountsOf(one.detail).filter(({ target }) => held(one, 'library').includes(target));
  return libraries.length === 0 ? 'no library' : libraries.map(({ source }) => shown(source)).join(', ');
}

const shown = (source: string) => source.replace(/^volume /, 'the volume ');
