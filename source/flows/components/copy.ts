import { basename, posix, resolve } from 'node:path';
import type { Engine, EngineWriter } from '../../engine/engine.ts';
import { Fault } from '../../faults/fault.ts';
import type { CopyCount } from '../../hosts/local-archive.ts';
import type { Session } from '../../session/session.ts';
import { cleanLine } from '../../text/clean.ts';
import { bytesText, countText } from '../../text/quantities.ts';
import { askChoice } from '../ask-choice.ts';
import { type EngineScope, onEngine } from '../engine-scope.ts';
import type { Flow, FlowInput } from '../flow.ts';
import { serviceFlag } from './service.ts';
import { hasContainer, oneTarget, type ServiceTarget } from './service-targets.ts';

const limitMs = 24 * 3_600_000;
const usage = 'Pass one side as COMPONENT:/path and the other as a local path: quarterdeck cp media-server:/config ./config';

interface CopyPaths {
  direction: 'out' | 'in';
  inside: string;
  outside: string;
}

/** Parses `ID:/path`. As with scp, a single letter or a path with a slash before the colon is a local file. */
function insideOf(word: string): { name: string; path: string } | undefined {
  const match = /^([^:/]*(?:\/[^:/]+){0,2}):(.*)$/.exec(word);
  if (!match || word.startsWith('.') || word.startsWith('/')) return undefined;
  return { name: match[1] ?? '', path: match[2] ?? '' };
}

export const copy: Flow = {
  id: 'copy',
  verb: 'cp',
  title: 'Copy files in or out',
  summary: 'Copies a file or folder between a container (COMPONENT:/path) and this machine. The container need not be running.',
  right: 'operate',
  about: 'component',
  usage: 'SOURCE TARGET',
  flags: { ...serviceFlag, force: { meaning: 'overwrite an existing file on this machine' } },
  offered: (component) => component.services.some(hasContainer),
  /** Removes the name but keeps the colon: `:/path` is inside the container. */
  subject(words) {
    const [source, target] = words.map(insideOf);
    if (words.length !== 2 || (source === undefined) === (target === undefined))
      throw new Fault('usage.copy', 'A source and a target are required, one of them in a container.', usage);
    return {
      name: source?.name ?? target?.name,
      words: [source ? `:${source.path}` : (words[0] ?? ''), target ? `:${target.path}` : (words[1] ?? '')],
    };
  },
  run: onEngine(async (scope, input, session) => {
    const paths = await pathsOf(session, input);
    const container = await oneTarget(scope, input, { running: false });
    const { name } = container;
    if (!posix.isAbsolute(paths.inside)) {
      const message = `The path in ${name} must be absolute, not "${cleanLine(paths.inside)}".`;
      throw new Fault('usage.copy', message, `Start the path with a slash. ${usage}`);
    }
    const onBytes = ({ files, bytes }: CopyCount) =>
      session.progress({ id: 'copy', label: `Copying, ${countText(files, 'file')}, ${bytesText(bytes)}` });
    const copying = { scope, container, paths, onBytes };
    const count = paths.direction === 'out' ? await copyOut(copying, input.options.force === true) : await copyIn(copying);
    session.progress({ id: 'copy', label: 'Copied', fraction: 1, done: true });
    if (count === undefined) return { message: 'Dry run: nothing was copied.' };
    const { files, bytes, skipped } = count;
    const rest = skipped.length > 0 ? ` Skipped devices, sockets or hard links: ${skipped.map(cleanLine).join(', ')}.` : '';
    const ends = [`${name}:${paths.inside}`, paths.outside].map(cleanLine);
    const [from, to] = paths.direction === 'out' ? ends : ends.reverse();
    return {
      message: `Copied ${countText(files, 'file')} (${bytesText(bytes)}) from ${from} to ${to}.${rest}`,
      data: { files, bytes, skipped },
    };
  }),
};

async function pathsOf(session: Session, input: FlowInput): Promise<CopyPaths> {
  const [source, target] = input.words;
  if (source?.startsWith(':') && target !== undefined) return { direction: 'out', inside: source.slice(1), outside: target };
  if (source !== undefined && target?.startsWith(':')) return { direction: 'in', inside: target.slice(1), outside: source };
  const choices = { out: 'From the container to this machine', in: 'From this machine to the container' } as const;
  const direction = await askChoice(session, { id: 'direction', label: 'Direction', choices });
  const absolute = (path: string) => (path.startsWith('/') ? undefined : 'The path in the container must start with a slash.');
  const given = (path: string) => (path === '' ? 'A path is required.' : undefined);
  const inside = await session.ask.text({ id: 'inside', label: 'Path in the container', check: absolute });
  const outside = await session.ask.text({ id: 'outside', label: 'Path on this machine', check: given });
  return { direction, inside, outside };
}

interface Copying {
  scope: EngineScope;
  container: ServiceTarget;
  paths: CopyPaths;
  onBytes: (count: CopyCount) => void;
}

async function copyOut({ scope, container, paths, onBytes }: Copying, replace: boolean): Promise<CopyCount | undefined> {
  const { session, engine } = scope;
  const { id, name } = container;
  const { inside, outside } = paths;
  // Imported on demand: other flows do not need the tar library.
  const { landingPath, unpackLocal } = await import('../../hosts/local-archive.ts');
  const path = await landingPath(outside, posix.basename(posix.normalize(inside)) || name);
  return session.act({
    id: 'copy',
    right: 'operate',
    request: `GET /containers/${name}/archive?path=${inside}, into ${path}`,
    limitMs,
    run: async (grant) => {
      const archive = await engine.getArchive(id, inside, grant.signal);
      return unpackLocal(grant, archive, path, { replace, onBytes });
    },
  });
}

async function copyIn({ scope, container, paths, onBytes }: Copying): Promise<CopyCount | undefined> {
  const { session, engine } = scope;
  const { id, name } = container;
  const { inside, outside } = paths;
  const { localKind, packLocal } = await import('../../hosts/local-archive.ts');
  const kind = await localKind(outside);
  if (kind !== 'file' && kind !== 'folder')
    throw new Fault('usage.copy', `${outside} ${kind === 'missing' ? 'does not exist' : 'is neither a file nor a folder'}.`, usage);
  const { folder, root, isNew } = await pathInside(engine, id, inside, basename(resolve(outside)) || 'root', kind, session.signal);
  return session.act({
    id: 'copy',
    right: 'operate',
    request: `PUT /containers/${name}/archive?path=${folder}, with ${root} from ${outside}`,
    confirmOnProduction: true,
    consequences: [`Existing files at ${cleanLine(posix.join(folder, root))} in ${name} are overwritten.`],
    limitMs,
    run: async (grant) => {
      const { archive, count } = packLocal(outside, root, grant.signal, onBytes);
      const writer = engine.writer(grant);
      try {
        await writer.putArchive(id, folder, archive);
      } catch (thrown) {
        const where = `${name}:${folder} on ${scope.engineName}`;
        throw await interruptedCopy(thrown, writer, { id, where, path: posix.join(folder, root), isNew });
      }
      return count;
    },
  });
}

/** The engine unpacks while it reads, so the first files may exist; they are removed if nothing was there before. */
async function interruptedCopy(
  thrown: unknown,
  writer: EngineWriter,
  { id, where, path, isNew }: { id: string; where: string; path: string; isNew: boolean },
): Promise<unknown> {
  // A refused request never started.
  if (!(thrown instanceof Fault) || (thrown.kind === 'engine' && thrown.code !== 'engine.failed')) return thrown;
  const isGone =
    isNew &&
    (await writer.exec(id, ['rm', '-rf', '--', path]).then(
      ({ exitCode }) => exitCode === 0,
      () => false,
    ));
  const left = isGone
    ? 'The partial copy was removed.'
    : isNew
      ? `A partial copy may be at ${cleanLine(path)}.`
      : `The content of ${cleanLine(path)} may be incomplete.`;
  const isFull = /no space left|quota exceeded/i.test(thrown.message);
  const message = `${isFull ? `No space left in ${cleanLine(where)}.` : thrown.message} ${left}`;
  const remedy = isFull ? 'Free disk space, then copy again. To show disk usage: quarterdeck df' : thrown.remedy;
  return new Fault(isFull ? 'failed.noRoom' : thrown.code, message, remedy, { cause: thrown });
}

async function pathInside(engine: Engine, id: string, inside: string, name: string, source: 'file' | 'folder', signal: AbortSignal) {
  const plain = posix.normalize(inside).replace(/(.)\/$/, '$1');
  const kind = await kindInside(engine, id, plain, signal);
  if (kind === 'folder') {
    const isNew = (await kindInside(engine, id, posix.join(plain, name), signal)) === 'missing';
    return { folder: plain, root: name, isNew };
  }
  const parent = { folder: posix.dirname(plain), root: posix.basename(plain), isNew: kind === 'missing' };
  if (kind === 'file' && source === 'folder')
    throw new Fault('usage.target', `${cleanLine(inside)} is a file; a folder cannot replace it.`, 'Choose another target.');
  if (kind === 'missing') {
    const missingParent = (await kindInside(engine, id, parent.folder, signal)) !== 'folder';
    if (missingParent || (inside.endsWith('/') && source === 'file')) {
      const message = `The container has no folder ${cleanLine(missingParent ? parent.folder : inside)}.`;
      throw new Fault('usage.target', message, 'Choose an existing folder.');
    }
  }
  return parent;
}

async function kindInside(engine: Engine, id: string, path: string, signal: AbortSignal): Promise<'file' | 'folder' | 'missing'> {
  const { topEntry } = await import('../../hosts/local-archive.ts');
  const look = async (at: string, isAbsence: (fault: Fault) => boolean) => {
    // A separate signal: only the beginning of the archive is read.
    const enough = new AbortController();
    try {
      const archive = await engine.getArchive(id, at, AbortSignal.any([signal, enough.signal]));
      return await topEntry(archive);
    } catch (thrown) {
      if (thrown instanceof Fault && isAbsence(thrown)) return undefined;
      throw thrown;
    } finally {
      enough.abort();
    }
  };
  // Docker's error for a missing path is "No such container:path".
  const header = await look(path, ({ code }) => code === 'engine.missing' || code === 'engine.noContainer');
  if (header === undefined) return 'missing';
  if (header.type === 'directory') return 'folder';
  // For a copy, a link to a folder counts as a folder.
  if (header.type === 'symlink')
    return (await look(`${path}/.`, ({ kind }) => kind === 'engine'))?.type === 'directory' ? 'folder' : 'file';
  return 'file';
}
