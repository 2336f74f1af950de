import { posix } from 'node:path';
import type { Readable } from 'node:stream';
import type { ContainerBeside, Engine } from '../../engine/engine.ts';
import { Fault } from '../../faults/fault.ts';
import type { Grant } from '../../grants/grant.ts';
import { cleanLine } from '../../text/clean.ts';
import { shellWord } from '../apply/shell.ts';
import { failureOf } from './files.ts';
import type { BackupContainer, PlannedItem } from './model.ts';
import type { RestoredVolume } from './restore-journal.ts';

/** In the volume itself, so that each step is a rename: `new` is unpacked, `old` has the previous data, `emptied` marks that all are there. */
const own = '.quarterdeck-restore';
const leftover = '.quarterdeck-restored';
export const ownFolders = [own, leftover];

const functions = `set -e
cd "$0"
like() {
  [ -d "$2" ] || mkdir "$2"
  chown "$(stat -c %u:%g "$1")" "$2"
  chmod "$(stat -c %a "$1")" "$2"
}
move() {
  from=$1 to=$2
  shift 2
  if [ ! -d "$from" ] || [ -L "$from" ]; then return 0; fi
  [ -d "$to" ] || like "$from" "$to"
  find "$from" -mindepth 1 -maxdepth 1 "$@" -exec sh -c 'to=$0; exec mv -- "$@" "$to/"' "$to" {} +
  left=$(find "$from" -mindepth 1 -maxdepth 1 "$@" | head -n 1)
  [ -z "$left" ] || { echo "$left cannot be moved" >&2; exit 1; }
}
`;

/** Escapes a name for `find -name`, which reads patterns. */
const pattern = (name: string) => shellWord(name.replaceAll(/[*?[\]\\]/g, '\\$&'));

/** Moves everything from one folder to another except kept paths, descending only where one of them is below. */
function moveText(from: string, to: string, { source, isFile, kept }: RestoredVolume): string {
  if (isFile) {
    const file = shellWord(`${from}/${posix.basename(source)}`);
    return `if [ -e ${file} ] || [ -L ${file} ]; then mv -- ${file} ${shellWord(`${to}/`)}; fi\n`;
  }
  const levels = new Map<string, Set<string>>([['', new Set(ownFolders)]]);
  for (const path of kept) {
    const parts = path.split('/').filter(Boolean);
    for (const [depth, name] of parts.entries()) {
      const level = parts.slice(0, depth).join('/');
      levels.set(level, (levels.get(level) ?? new Set()).add(name));
    }
  }
  return [...levels]
    .sort(([one], [other]) => one.length - other.length)
    .map(([level, names]) => {
      const below = (folder: string) => shellWord(level === '' ? folder : `${folder}/${level}`);
      return `move ${below(from)} ${below(to)} ${[...names].map((name) => `! -name ${pattern(name)}`).join(' ')}\n`;
    })
    .join('');
}

/** The shell programs, for a folder that is `$0`. Each can be interrupted anywhere and followed by `undo`. */
export function volumeScripts(volume: RestoredVolume) {
  const owner = (from: string) => (volume.isFile ? '' : `like ${from} .\n`);
  const undo = `${functions}rm -rf ${leftover}
if [ -d ${own} ]; then
  if [ -e ${own}/emptied ]; then
    ${moveText('.', `${own}/new`, volume)}    rm -f ${own}/emptied
  fi
  if [ -d ${own}/old ]; then
    ${moveText(`${own}/old`, '.', volume)}    ${owner(`${own}/old`)}  fi
  mv ${own} ${leftover}
  rm -rf ${leftover}
fi
`;
  const name = shellWord(posix.basename(volume.source));
  return {
    undo,
    prepare: `${undo}mkdir -m 700 ${own}
like . ${own}/new
like . ${own}/arriving
mv ${own}/arriving ${own}/old
`,
    swap: `${functions}${
      volume.isFile
        ? `(cd ${own}/new; set -- * .[!.]*; for f; do if [ -e "$f" ] && [ "$f" != ${name} ]; then mv -- "$f" ${name}; fi; done)\n`
        : ''
    }${moveText('.', `${own}/old`, volume)}: >${own}/emptied
${moveText(`${own}/new`, '.', volume)}left=$(find ${own}/new ! -type d | head -n 1)
[ -z "$left" ] || { echo "$left has no place" >&2; exit 1; }
${owner(`${own}/new`)}`,
    clean: `${functions}if [ -d ${own} ]; then rm -rf ${leftover}; mv ${own} ${leftover}; fi
rm -rf ${leftover}
`,
  };
}

export type VolumeDoor = Awaited<ReturnType<typeof openVolume>>;

export async function openVolume(grant: Grant, engine: Engine, volume: RestoredVolume) {
  const source = volume.isFile ? posix.dirname(volume.source) : volume.source;
  const beside = await openWithShell(grant, engine, { source, volume: volume.volume, images: volume.images });
  const scripts = volumeScripts(volume);
  const again = 'run the same restore again';
  const scriptOutput = async (script: string, what: string, then = again): Promise<string> => {
    const { exitCode, stdout, stderr } = await engine.writer(grant).exec(beside.id, ['sh', '-c', script, inside]);
    if (exitCode === 0) return Buffer.from(stdout).toString('utf8');
    const message = `${what} ${cleanLine(volume.volume)} failed: ${failureOf({ exitCode, stderr })}.`;
    throw new Fault('failed.restore', message, `Check the disk and the owners of the files, then ${then}.`);
  };
  const run = async (script: string, what: string, then = again) => void (await scriptOutput(script, what, then));
  return {
    /** Returns `df`'s line about its filesystem, which is identical for the same filesystem. */
    async space(): Promise<{ filesystem: string; freeBytes: number }> {
      const line = (await scriptOutput('LC_ALL=C df -Pk "$0" | tail -n 1', 'Reading the free space of')).trim();
      const [, free] = /\s(\d+)\s+\d+%\s/.exec(line) ?? [];
      return { filesystem: line, freeBytes: free === undefined ? Number.POSITIVE_INFINITY : Number(free) * 1024 };
    },
    /** Creates empty folders for the new and the previous data. An interrupted earlier restore is undone first. */
    prepare: () => run(scripts.prepare, 'Preparing'),
    unpack: (archive: Readable) => engine.writer(grant).putArchive(beside.id, posix.join(inside, own, 'new'), archive),
    swap: () => run(scripts.swap, 'Replacing the data of'),
    undo: () => run(scripts.undo, 'Restoring the previous data of'),
    clean: () => run(scripts.clean, 'Deleting the previous data of', 'run: quarterdeck recover'),
    close: () => beside.close(),
  };
}

/** A small image with a shell that is available everywhere, for images that have none. */
const shellImage = 'docker.io/library/busybox:latest';
export const inside = '/quarterdeck-volume';

/**
 * Passes the volume's archive to `use`, with its owners. Docker's own archive has them; in Podman's everything belongs to root, so there
 * the program `tar` is run in a separate container: it sees the same files, whether or not the component's container runs.
 */
export async function withVolumeArchive<T>(
  grant: Grant,
  engine: Engine,
  item: PlannedItem,
  containers: readonly BackupContainer[],
  use: (archive: NodeJS.ReadableStream, top: string) => Promise<T>,
): Promise<T> {
  const { kind } = await engine.connect(grant.signal);
  if (kind === 'docker') return use(await engine.getArchive(item.container.id, item.target, grant.signal), item.target);
  const source = item.isFile ? posix.dirname(item.source) : item.source;
  const beside = await openWithShell(grant, engine, { source, volume: item.volume, images: imagesOf(item, containers) });
  try {
    const what = item.isFile ? `./${posix.basename(item.source)}` : '.';
    const program = await engine.writer(grant).execStream(beside.id, ['tar', '-C', inside, '-cf', '-', what]);
    const result = await use(program.stdout as Readable, '.');
    const { exitCode, stderr } = await program.ended;
    // 1: a file changed while it was read, which a copy of a running service has to accept.
    if (exitCode === 0 || (exitCode === 1 && item.method === 'copy')) return result;
    const message = `${cleanLine(item.volume)} could not be read completely: ${failureOf({ exitCode, stderr })}.`;
    throw new Fault('failed.backup', message, 'Check the disk and the owners of the files, then try again.');
  } finally {
    await beside.close();
  }
}

export const imagesOf = ({ container }: Pick<PlannedItem, 'container'>, containers: readonly BackupContainer[]): string[] => [
  ...new Set([container.imageId, ...containers.map(({ imageId }) => imageId)]),
];

/** Uses an image of the component if one has the programs; these are on the host already. */
export async function openWithShell(
  grant: Grant,
  engine: Engine,
  { source, volume, images }: { source: string; volume: string; images: readonly string[] },
): Promise<ContainerBeside> {
  let why = '';
  for (const image of [...images, shellImage]) {
    const writer = engine.writer(grant);
    if (image === shellImage && !(await engine.image(image, grant.signal))) await writer.pull(image, () => undefined);
    try {
      const beside = await writer.openBeside({ mount: { source, target: inside }, image });
      const { exitCode } = await writer.exec(beside.id, ['sh', '-c', 'for p in tar find stat df chown; do command -v $p || exit 1; done']);
      if (exitCode === 0) return beside;
      await beside.close();
      why = 'no image has tar, find and stat';
    } catch (thrown) {
      if (!(thrown instanceof Fault) || thrown.kind !== 'engine') throw thrown;
      // This image has no shell.
      why = cleanLine(thrown.message).replace(/\.$/, '');
    }
  }
  const message = `Cannot create a container that mounts ${cleanLine(volume)}: ${why}.`;
  throw new Fault('failed.volume', message, `Check that ${cleanLine(source)} exists on the host and that the engine can start containers.`);
}
