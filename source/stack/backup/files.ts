import { createHash } from 'node:crypto';
import { posix } from 'node:path';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { Fault } from '../../faults/fault.ts';
import type { Grant } from '../../grants/grant.ts';
import type { Host, PipedProgram } from '../../hosts/host.ts';
import { cleanLine } from '../../text/clean.ts';
import { bytesText } from '../../text/quantities.ts';
import type { BackupFile } from './manifest.ts';

/** Limit for programs on the host that only read, or that end at once. */
const programLimitMs = 60_000;
/** Limit for reading a whole backup again. */
const readLimitMs = 12 * 3_600_000;

/** Files of a backup on the host, written and read as streams. */
export interface BackupFolder {
  readonly host: Host;
  readonly folder: string;
}

/** Writes a stream into a file of a backup, in chunks as they arrive. Throws `failed.diskFull`, `failed.backup`. */
export async function writeStream(
  grant: Grant,
  { host, folder }: BackupFolder,
  file: string,
  content: Readable,
  { gzip = false, reported }: { gzip?: boolean; reported?: (bytes: number) => void } = {},
): Promise<BackupFile & { contentBytes: number }> {
  const program = await host.pipe(grant, ['sh', '-c', 'umask 077; exec cat >"$1"', 'sh', posix.join(folder, file)]);
  program.stdout.resume();
  const before = new Meter(reported);
  const after = new Meter();
  const path = gzip ? [before, createGzip({ level: 1 }), after] : [before, after];
  let broken: unknown;
  await pipeline([content, ...path, program.stdin], { signal: grant.signal }).catch((thrown: unknown) => {
    broken = thrown;
  });
  // A full disk ends the program first, and only then our writing.
  if (broken !== undefined) program.stdin.destroy();
  const { exitCode, stderr } = await program.ended;
  if (exitCode !== 0) throw writeFault(folder, stderr, after.bytes, broken);
  if (broken !== undefined) throw broken;
  return { file, sizeBytes: after.bytes, sha256: after.sum(), contentBytes: before.bytes };
}

export async function writeText(grant: Grant, where: BackupFolder, file: string, text: string | Uint8Array): Promise<BackupFile> {
  const { sizeBytes, sha256 } = await writeStream(grant, where, file, Readable.from([Buffer.from(text)]));
  return { file, sizeBytes, sha256 };
}

// A named pipe instead of a file would block every reader.
const readScript = '[ ! -e "$1" ] || [ -f "$1" ] || { echo "it is not a regular file" >&2; exit 1; }; exec cat -- "$1"';
const checkScript = `cd -- "$1" || exit 1
odd=
while read -r sum file; do
  file=\${file#\\*}
  [ ! -e "$file" ] || [ -f "$file" ] || { printf '%s: FAILED\\n' "$file"; odd=y; }
done <"$2"
[ -z "$odd" ] || exit 1
exec sha256sum -c "$2"`;

/** Opens the stored file of a backup, which must be read to its end and checked with `finished`. */
export async function readStream(signal: AbortSignal, { host, folder }: BackupFolder, file: string): Promise<PipedProgram> {
  const program = await host.stream(['sh', '-c', readScript, 'sh', posix.join(folder, file)], { signal });
  program.stdin.end();
  return program;
}

/** Waits for the end of a program that was read from. Throws if it failed. */
export async function finished(program: PipedProgram, what: string): Promise<void> {
  const outcome = await program.ended;
  if (outcome.exitCode === 0) return;
  const message = `${what} could not be read completely: ${failureOf(outcome)}.`;
  throw new Fault('failed.backup', message, 'Check the disk, then verify the backup: quarterdeck backup verify COMPONENT');
}

/** Runs a program that writes to `where` on the host. Throws its own error message if it fails. */
export async function runThere(grant: Grant, host: Host, argv: readonly string[], where = argv.at(-1) ?? ''): Promise<void> {
  const { exitCode, stderr } = await host.run(grant, argv, { signal: grant.signal, limitMs: readLimitMs });
  if (exitCode === 0) return;
  throw writeFault(where, textOf(stderr) || `${argv[0]} exited with code ${exitCode}`);
}

/** Returns the files that differ from `SHA256SUMS`, or are missing; empty if the backup is unchanged. Reads everything, on the host. */
export async function checkSums({ host, folder }: BackupFolder, signal: AbortSignal): Promise<string[]> {
  if ((await host.files.facts(posix.join(folder, sumsFile), signal))?.kind !== 'file') return [sumsFile];
  const { exitCode, stdout, stderr } = await host.exec(['sh', '-c', checkScript, 'sh', folder, sumsFile], {
    signal,
    limitMs: readLimitMs,
    env: { LC_ALL: 'C' },
  });
  if (exitCode === 0) return [];
  const wrong = [...textOf(stdout).matchAll(/^(.*): FAILED/gm)].map(([, file]) => cleanLine(file ?? ''));
  return wrong.length > 0 ? wrong : [`${sumsFile} (${lastLine(stderr)})`];
}

/** Uses the format of `sha256sum`, so that the folder can be checked without Quarterdeck. */
export const sumsFile = 'SHA256SUMS';
export const sumsText = (files: readonly BackupFile[]) => files.map(({ file, sha256 }) => `${sha256}  ${file}\n`).join('');

export async function sumOf({ host, folder }: BackupFolder, file: string, signal: AbortSignal): Promise<BackupFile> {
  const path = posix.join(folder, file);
  const { exitCode, stdout, stderr } = await host.exec(['sha256sum', '--', path], { signal, limitMs: readLimitMs });
  const facts = await host.files.facts(path, signal);
  if (exitCode !== 0 || !facts) throw writeFault(folder, textOf(stderr));
  return { file, sizeBytes: facts.sizeBytes, sha256: textOf(stdout).slice(0, 64) };
}

/** Only called for folders that this program named. */
export async function removeFolder(grant: Grant, host: Host, folder: string): Promise<void> {
  await host.run(grant, ['rm', '-rf', '--', folder], { signal: grant.signal, limitMs: 10 * programLimitMs });
}

export async function renameFolder(grant: Grant, host: Host, from: string, to: string): Promise<void> {
  // Syncs the data to the disk: after a power cut the new name must not contain empty files.
  await runThere(grant, host, ['sh', '-c', 'sync; exec mv -T -- "$1" "$2"', 'sh', from, to]);
}

export const lastLine = (output: string | Uint8Array): string => cleanLine(textOf(output).trim().split('\n').at(-1) ?? '').slice(0, 300);

const textOf = (output: string | Uint8Array): string => Buffer.from(output).toString('utf8');

export const failureOf = ({ exitCode, stderr }: { exitCode: number | undefined; stderr: string | Uint8Array }): string =>
  lastLine(stderr) || `exit code ${exitCode}`;

function writeFault(where: string, stderr: string, bytes?: number, cause?: unknown): Fault {
  if (/no space left|disk quota exceeded|ENOSPC|EDQUOT/i.test(stderr)) {
    const written = bytes === undefined ? '' : ` after writing ${bytesText(bytes)} of this file`;
    const full = `No space left for ${cleanLine(where)}${written}.`;
    const remedy = 'Free some space on that filesystem, then try again. Earlier backups are not affected.';
    return new Fault('failed.diskFull', full, remedy, { cause });
  }
  const message = `Cannot write to ${cleanLine(where)}: ${lastLine(stderr) || 'the writing process stopped'}.`;
  return new Fault('failed.backup', message, 'Check the permissions of the folder and the state of its disk.', { cause });
}

/** Counts and hashes the data of a stream. */
export class Meter extends Transform {
  bytes = 0;
  readonly #hash = createHash('sha256');
  constructor(private readonly reported?: (bytes: number) => void) {
    super();
  }
  override _transform(chunk: Buffer, _encoding: string, done: (error: null, chunk: Buffer) => void): void {
    this.bytes += chunk.length;
    this.#hash.update(chunk);
    this.reported?.(this.bytes);
    done(null, chunk);
  }
  sum(): string {
    return this.#hash.digest('hex');
  }
}
