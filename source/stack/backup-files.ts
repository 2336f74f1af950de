import { createHash } from 'node:crypto';
import { posix } from 'node:path';
import { type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { Fault } from '../faults/fault.ts';
import type { Grant } from '../grants/grant.ts';
import type { Host, PipedProgram } from '../hosts/host.ts';
import { cleanLine } from '../text/clean.ts';
import { bytesText } from '../text/quantities.ts';
import type { BackupFile } from './backup-model.ts';

/** Programs of the host that only look, or that end at once. */
const programLimitMs = 60_000;
/** Reading all of a backup again. */
const readLimitMs = 12 * 3_600_000;

/** Files of a backup on the host, written and read as streams. */
export interface BackupFolder {
  readonly host: Host;
  /** Absolute, on the host. */
  readonly folder: string;
}

/** A stream into a file of a backup, in pieces as they come. Throws `failed.diskFull`, `failed.backup`. */
export async function writeStream(
  grant: Grant,
  { host, folder }: BackupFolder,
  file: string,
  content: Readable,
  { gzip = false, told = () => {} }: { gzip?: boolean; told?: (bytes: number) => void } = {},
): Promise<BackupFile & { contentBytes: number }> {
  const program = await host.pipe(grant, ['sh', '-c', 'umask 077; exec cat >"$1"', 'sh', posix.join(folder, file)]);
  program.stdout.resume();
  const before = new Meter(told);
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

/** A small text of ours. */
export async function writeText(grant: Grant, where: BackupFolder, file: string, text: string | Uint8Array): Promise<BackupFile> {
  const { Readable: Source } = await import('node:stream');
  const { sizeBytes, sha256 } = await writeStream(grant, where, file, Source.from([Buffer.from(text)]));
  return { file, sizeBytes, sha256 };
}

// A named pipe in the place of a file would hold whoever reads it.
const readScript = '[ ! -e "$1" ] || [ -f "$1" ] || { echo "it is not a plain file" >&2; exit 1; }; exec cat -- "$1"';
const checkScript = `cd -- "$1" || exit 1
odd=
while read -r sum file; do
  file=\${file#\\*}
  [ ! -e "$file" ] || [ -f "$file" ] || { printf '%s: FAILED\\n' "$file"; odd=y; }
done <"$2"
[ -z "$odd" ] || exit 1
exec sha256sum -c "$2"`;

/** A file of a backup as it lies there, to be read to its end and checked with `finished`. */
export async function readStream(signal: AbortSignal, { host, folder }: BackupFolder, file: string): Promise<PipedProgram> {
  const program = await host.stream(['sh', '-c', readScript, 'sh', posix.join(folder, file)], { signal });
  program.stdin.end();
  return program;
}

/** What a program that was read from said at its end. */
export async function finished(program: PipedProgram, what: string): Promise<void> {
  const { exitCode, stderr } = await program.ended;
  if (exitCode === 0) return;
  throw new Fault({
    code: 'failed.backup',
    message: `${what} could not be read to its end: ${lastLine(stderr) || `exit code ${exitCode}`}.`,
    remedy: 'Check the disk, then verify the backup: quarterdeck backup verify.',
  });
}

/** Runs a program that changes something on the host and throws its own words when it fails. */
export async function runThere(grant: Grant, host: Host, argv: readonly string[], env?: Readonly<Record<string, string>>): Promise<string> {
  const { exitCode, stdout, stderr } = await host.run(grant, argv, {
    signal: grant.signal,
    limitMs: readLimitMs,
    limitBytes: 64 * 1024 * 1024,
    ...(env && { env }),
  });
  if (exitCode === 0) return Buffer.from(stdout).toString('utf8');
  const said = Buffer.from(stderr).toString('utf8');
  throw writeFault(argv.at(-1) ?? '', said === '' ? `${argv[0]} ended with ${exitCode}` : said, undefined, undefined);
}

/** Which files differ from `SHA256SUMS`, or are missing; empty when all is as it was. Reads everything, on the host. */
export async function checkSums({ host, folder }: BackupFolder, signal: AbortSignal): Promise<string[]> {
  if ((await host.files.facts(posix.join(folder, sumsFile), signal))?.kind !== 'file') return [sumsFile];
  const { exitCode, stdout, stderr } = await host.exec(['sh', '-c', checkScript, 'sh', folder, sumsFile], {
    signal,
    limitMs: readLimitMs,
    env: { LC_ALL: 'C' },
  });
  if (exitCode === 0) return [];
  const wrong = [
    ...Buffer.from(stdout)
      .toString('utf8')
      .matchAll(/^(.*): FAILED/gm),
  ].map(([, file]) => cleanLine(file ?? ''));
  return wrong.length > 0 ? wrong : [`${sumsFile} (${lastLine(Buffer.from(stderr).toString('utf8'))})`];
}

/** In the format of `sha256sum`: whoever has the folder can check it without us. */
export const sumsFile = 'SHA256SUMS';
export const sumsText = (files: readonly BackupFile[]) => files.map(({ file, sha256 }) => `${sha256}  ${file}\n`).join('');

export async function sumOf({ host, folder }: BackupFolder, file: string, signal: AbortSignal): Promise<BackupFile> {
  const path = posix.join(folder, file);
  const { exitCode, stdout, stderr } = await host.exec(['sha256sum', '--', path], { signal, limitMs: readLimitMs });
  const sha256 = Buffer.from(stdout).toString('utf8').slice(0, 64);
  const facts = await host.files.facts(path, signal);
  if (exitCode !== 0 || !facts) throw writeFault(folder, Buffer.from(stderr).toString('utf8'), undefined, undefined);
  return { file, sizeBytes: facts.sizeBytes, sha256 };
}

/** Takes a folder away with all that is in it. Only folders that this program named are ever given to it. */
export async function removeFolder(grant: Grant, host: Host, folder: string): Promise<void> {
  await host.run(grant, ['rm', '-rf', '--', folder], { signal: grant.signal, limitMs: 10 * programLimitMs });
}

export async function renameFolder(grant: Grant, host: Host, from: string, to: string): Promise<void> {
  // Written is not yet on the disk: a power cut after the new name must not leave empty files under it.
  await runThere(grant, host, ['sh', '-c', 'sync; exec mv -T -- "$1" "$2"', 'sh', from, to]);
}

export function lastLine(text: string): string {
  return cleanLine(text.trim().split('\n').at(-1) ?? '').slice(0, 300);
}

function writeFault(where: string, stderr: string, bytes: number | undefined, cause: unknown): Fault {
  if (/no space left|disk quota exceeded|ENOSPC|EDQUOT/i.test(stderr)) {
    return new Fault({
      code: 'failed.diskFull',
      message: `There is no room left where the backup goes: ${cleanLine(where)}${bytes === undefined ? '' : `, after ${bytesText(bytes)} of this file`}.`,
      remedy: 'Make room there or choose another place with --to. The earlier backups are untouched.',
      cause,
    });
  }
  return new Fault({
    code: 'failed.backup',
    message: `The backup cannot be written: ${lastLine(stderr) || 'the program that writes it ended'}.`,
    remedy: `Check who may write to ${cleanLine(where)}.`,
    cause,
  });
}

/** Counts and sums what flows through. */
export class Meter extends Transform {
  bytes = 0;
  readonly #hash = createHash('sha256');
  readonly #told: (bytes: number) => void;
  constructor(told: (bytes: number) => void = () => {}) {
    super();
    this.#told = told;
  }
  override _transform(chunk: Buffer, _encoding: string, done: (error: null, chunk: Buffer) => void): void {
    this.bytes += chunk.length;
    this.#hash.update(chunk);
    this.#told(this.bytes);
    done(null, chunk);
  }
  sum(): string {
    return this.#hash.digest('hex');
  }
}
