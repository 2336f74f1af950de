import { posix } from 'node:path';
import { z } from 'zod';
import type { Grant } from '../../grants/grant.ts';
import type { Host } from '../../hosts/host.ts';
import { cleanLine } from '../../text/clean.ts';
import { parsedJson } from '../../text/json-value.ts';

/** Stands for a damaged file: two lines that occur in no journal, and are not JSON. */
const damaged = Buffer.from('\0\n\0\n');

/** A named pipe, a socket or a folder instead counts as a damaged file: it must not prevent that the others are read. */
export function readJournalFile(host: Host, path: string, options: { signal: AbortSignal; limitBytes?: number }) {
  return host.files.read(path, options).catch(async (thrown: unknown) => {
    const kind = (await host.files.facts(path, options.signal))?.kind ?? 'file';
    if (kind === 'file') throw thrown;
    return damaged;
  });
}

export function jsonOfShape<T>(shape: z.ZodType<T>, text: string | Uint8Array): T | undefined {
  return shape.safeParse(parsedJson(typeof text === 'string' ? text : Buffer.from(text).toString('utf8'))).data;
}

const recordLimitBytes = 1024 * 1024;

export async function writeRecord(grant: Grant, host: Host, path: string, record: object): Promise<void> {
  await host.files.makeFolder(grant, posix.dirname(path), { mode: 0o700 });
  await host.files.write(grant, path, Buffer.from(`${JSON.stringify(record, null, 2)}\n`), { mode: 0o600 });
}

/** Texts in a record are shown, and may have been written by another user. */
export const cleaned = z.string().transform(cleanLine);

/** Oldest first: `<run><ending>`. Entries without a `record` are damaged; a file that disappears meanwhile was settled. */
export async function readRecords<T extends { run: string }>(
  host: Host,
  folder: string,
  { shape, ending, signal }: { shape: z.ZodType<T>; ending: '.json' | '/restore.json'; signal: AbortSignal },
) {
  const all: { name: string; path: string; record: T | undefined }[] = [];
  for (const name of ((await host.files.list(folder, signal)) ?? []).sort()) {
    const file = posix.join(folder, name, ending === '.json' ? '' : ending);
    if (!file.endsWith(ending)) continue;
    const content = await readJournalFile(host, file, { signal, limitBytes: recordLimitBytes });
    const record = content && jsonOfShape(shape, content);
    if (content) all.push({ name, path: posix.join(folder, name), record: file.endsWith(`/${record?.run}${ending}`) ? record : undefined });
  }
  return all;
}
