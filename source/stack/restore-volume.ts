import { posix } from 'node:path';
import type { Readable } from 'node:stream';
import type { Engine } from '../engine/engine.ts';
import { Fault } from '../faults/fault.ts';
import type { Grant } from '../grants/grant.ts';
import { cleanLine } from '../text/clean.ts';
import { lastLine } from './backup-files.ts';
import { inside, openWithShell } from './volume-beside.ts';

/** A volume or folder whose data a restore replaces: enough to put them back from another process. */
export interface RestoredVolume {
  /** For sentences. */
  volume: string;
  /** Name of the volume, or folder of the host; the file itself where a single file is mounted. */
  source: string;
  isFile: boolean;
  /** Relative to the volume: further mounts, which stay as they are. */
  kept: readonly string[];
  /** Images on the host that may have a shell. */
  images: readonly string[];
}

/** In the volume itself, so that everything is a rename: `new` is unpacked, `old` holds the data from before, `emptied` says that all of them are in there. */
const own = '.quarterdeck-restore';
/** Nothing in it is needed any more. */
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

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
/** For `find -name`, which reads patterns. */
const pattern = (name: string) => quoted(name.replaceAll(/[*?[\]\\]/g, '\\$&'));

/** Everything from one folder into another but for what is kept, level by level down to that. */
function moveText(from: string, to: string, { source, isFile, kept }: RestoredVolume): string {
  if (isFile) {
    const file = quoted(`${from}/${posix.basename(source)}`);
    return `if [ -e ${file} ] || [ -L ${file} ]; then mv -- ${file} ${quoted(`${to}/`)}; fi\n`;
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
      const below = (folder: string) => quoted(level === '' ? folder : `${folder}/${level}`);
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
  const name = quoted(posix.basename(volume.source));
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

/** A volume as a short-lived container sees it. */
export interface VolumeDoor {
  /** What `df` says of its filesystem: the same line for the same one. */
  space(): Promise<{ filesystem: string; freeBytes: number }>;
  /** Empty folders for the data to come and those from before. What an earlier restore left in the middle is undone first. */
  prepare(): Promise<void>;
  /** Beside the data that are there. */
  unpack(archive: Readable): Promise<void>;
  swap(): Promise<void>;
  undo(): Promise<void>;
  clean(): Promise<void>;
  close(): Promise<void>;
}

export async function openVolume(grant: Grant, engine: Engine, volume: RestoredVolume): Promise<VolumeDoor> {
  const source = volume.isFile ? posix.dirname(volume.source) : volume.source;
  const beside = await openWithShell(grant, engine, { source, volume: volume.volume, images: volume.images });
  const scripts = volumeScripts(volume);
  const run = async (script: string, what: string): Promise<string> => {
    const { exitCode, stdout, stderr } = await engine.writer(grant).exec(beside.id, ['sh', '-c', script, inside]);
    if (exitCode === 0) return Buffer.from(stdout).toString('utf8');
    throw new Fault({
      code: 'failed.restore',
      message: `${what} ${cleanLine(volume.volume)} failed: ${lastLine(Buffer.from(stderr).toString('utf8')) || `exit code ${exitCode}`}.`,
      remedy: 'Check the disk and who owns its files, then run the same restore again.',
    });
  };
  return {
    async space() {
      const line = (await run('LC_ALL=C df -Pk "$0" | tail -n 1', 'Reading the free space of')).trim();
      const [, free] = /\s(\d+)\s+\d+%\s/.exec(line) ?? [];
      return { filesystem: line, freeBytes: free === undefined ? Number.POSITIVE_INFINITY : Number(free) * 1024 };
    },
    prepare: async () => void (await run(scripts.prepare, 'Preparing')),
    unpack: (archive) => engine.writer(grant).putArchive(beside.id, posix.join(inside, own, 'new'), archive),
    swap: async () => void (await run(scripts.swap, 'Replacing the data of')),
    undo: async () => void (await run(scripts.undo, 'Putting back the data of')),
    clean: async () => void (await run(scripts.clean, 'Removing the earlier data of')),
    close: () => beside.close(),
  };
}
