import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { textOfPeople } from '../config/encoding.ts';
import { Fault, messageOf } from '../faults/fault.ts';
import type { Host } from '../hosts/host.ts';
import { objectOf, parseJson } from '../text/json-value.ts';
import { byPath } from './component-source.ts';
import type { Deployment, DeployRecord } from './model.ts';
import { readEnv } from './plan/env-file.ts';

/** A larger file is not a configuration that a plan could show; it stays unchanged, unread. */
const fileLimitBytes = 1024 * 1024;
/** Depth limit of folders below `files/`: a circular link must not block the program. */
const depthLimit = 8;

/** Other file names that compose would read too, or instead, if the file were not named explicitly. */
const otherComposeFile = /^(?!compose\.yaml$)(?:docker-)?compose(?:\.override)?\.ya?ml$/;

/** Returns the entry of a text in `DeployRecord.files`: SHA-256, in hex. */
export const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Relative to the stack's folder. */
export const recordFile = (id: string): string => `.quarterdeck/components/${id}.json`;
export const recordPath = (stackFolder: string, id: string): string => `${stackFolder}/${recordFile(id)}`;

/** Undefined if there is no compose.yaml. Throws `config.env`, `config.record` and `config.unreadable` with the position. */
export async function readDeployment(host: Host, stackFolder: string, id: string, signal: AbortSignal): Promise<Deployment | undefined> {
  const folder = `${stackFolder}/${id}`;
  const read = async (path: string) => textOf(await host.files.read(path, { signal }), path);
  const [compose, envText = '', recordText, below, names = []] = await Promise.all([
    read(`${folder}/compose.yaml`),
    read(`${folder}/.env`),
    read(recordPath(stackFolder, id)),
    readBelow(host, folder, 'files', signal, 0),
    host.files.list(folder, signal),
  ]);
  if (compose === undefined) return undefined;
  const record = recordText === undefined ? undefined : readRecord(recordText, recordPath(stackFolder, id), id);
  // Another encoding is acceptable in the operator's files, but not in files that we write: the next plan would write them back with
  // characters lost.
  const texts = below.filter(([path, bytes]) => isUtf8(bytes) || record?.files[`${id}/${path}`] !== undefined);
  const files = texts.map(([path, bytes]): [string, string] => [path, textOf(bytes, `${folder}/${path}`)]);
  return {
    component: id,
    folder,
    compose,
    envText,
    env: readEnv(envText, `${folder}/.env`).values,
    files: Object.fromEntries(files.sort(byPath)),
    skipped: names.filter((name) => otherComposeFile.test(name)).sort(),
    record,
  };
}

/** Reads every component in the stack's folder, whatever created it. `problems`: faults of folders that cannot be read properly. */
export async function listDeployments(host: Host, stackFolder: string, signal: AbortSignal) {
  const names = ((await host.files.list(stackFolder, signal)) ?? []).filter((name) => /^[a-z0-9][a-z0-9._-]*$/i.test(name));
  const problems: Fault[] = [];
  const found = await Promise.all(
    names.sort().map((name) =>
      readDeployment(host, stackFolder, name, signal).catch((thrown: unknown) => {
        if (!(thrown instanceof Fault) || signal.aborted) throw thrown;
        problems.push(thrown);
      }),
    ),
  );
  return { deployments: found.filter((deployment) => deployment !== undefined), problems };
}

async function readBelow(
  host: Host,
  root: string,
  inner: string,
  signal: AbortSignal,
  depth: number,
): Promise<[path: string, bytes: Uint8Array][]> {
  const names = await host.files.list(`${root}/${inner}`, signal);
  const read = (names ?? []).map(async (name): Promise<[string, Uint8Array][]> => {
    const path = `${inner}/${name}`;
    const facts = await host.files.facts(`${root}/${path}`, signal);
    if (facts?.kind === 'folder') return depth < depthLimit ? readBelow(host, root, path, signal, depth + 1) : [];
    if (facts?.kind !== 'file' || facts.sizeBytes > fileLimitBytes) return [];
    const bytes = await host.files.read(`${root}/${path}`, { signal });
    // Binary files were never written by Quarterdeck.
    return bytes === undefined || bytes.includes(0) ? [] : [[path, bytes]];
  });
  return (await Promise.all(read)).flat();
}

function textOf(bytes: Uint8Array, path: string): string;
function textOf(bytes: Uint8Array | undefined, path: string): string | undefined;
/** Removes a byte order mark, which is not part of the text. */
function textOf(bytes: Uint8Array | undefined, path: string): string | undefined {
  return bytes && textOfPeople(bytes, path).replace(/^\uFEFF/, '');
}

/** The record decides which files may be deleted and which secrets are in effect, so an incomplete record is a fault. */
export function readRecord(text: string, file: string, id: string): DeployRecord {
  const remedy =
    'Restore the file from a backup, or move the file and run quarterdeck deploy. Quarterdeck then treats the folder as created by hand.';
  const damaged = (reason: string, line = 1, cause?: unknown) =>
    new Fault('config.record', `${file} cannot be read: ${reason}.`, remedy, { where: { file, line }, cause });
  let record: Partial<DeployRecord> | undefined;
  try {
    record = objectOf(parseJson(text)) as Partial<DeployRecord> | undefined;
  } catch (cause) {
    const [, offset] = /position (\d+)/.exec(messageOf(cause)) ?? [];
    throw damaged('it is not JSON', text.slice(0, offset === undefined ? undefined : Number(offset)).split('\n').length, cause);
  }
  if (!record) throw damaged('it is not an object');
  if (record.schema !== 1)
    throw damaged(`it has version ${String(record.schema)}, but this version of Quarterdeck supports only version 1`);
  if (record.component !== id) throw damaged(`it is the record of component ${String(record.component)}`);
  for (const key of ['files', 'secrets', 'images'] as const) if (!objectOf(record[key])) throw damaged(`"${key}" is missing`);
  return record as DeployRecord;
}
