import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { textOfPeople } from '../config/encoding.ts';
import { Fault } from '../faults/fault.ts';
import type { Host } from '../hosts/host.ts';
import { parseJson } from '../text/json-value.ts';
import { readEnv } from './env-file.ts';
import type { Deployment, DeployRecord } from './model.ts';

/** Beyond this it is no configuration that a plan could show; it stays where it is, unread. */
const fileLimitBytes = 1024 * 1024;
/** Folders in folders below `files/`: a link in a circle must not hold us. */
const depthLimit = 8;

/** What compose would read too, or instead, if it were not told which file is meant. */
const otherComposeFile = /^(?!compose\.yaml$)(?:docker-)?compose(?:\.override)?\.ya?ml$/;

/** What `DeployRecord.files` holds of a text: SHA-256, in hex. */
export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

export function recordPath(stackFolder: string, id: string): string {
  return `${stackFolder}/.quarterdeck/components/${id}.json`;
}

/**
 * What stands in the stack's folder of this component; undefined where there is no compose.yaml. Throws `config.env`, `config.record` and `config.unreadable`
 * with file and line for what cannot be read as it should.
 */
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
  // Another encoding is the operator's own affair, unless it stands where we wrote something: the next plan would write it back with signs lost.
  const texts = below.filter(([path, bytes]) => isUtf8(bytes) || record?.files[`${id}/${path}`] !== undefined);
  const files = texts.map(([path, bytes]): [string, string] => [path, textOf(bytes, `${folder}/${path}`)]);
  return {
    component: id,
    folder,
    compose,
    envText,
    env: readEnv(envText, `${folder}/.env`).values,
    files: Object.fromEntries(files.sort(([a], [b]) => (a < b ? -1 : 1))),
    leftOut: names.filter((name) => otherComposeFile.test(name)).sort(),
    record,
  };
}

export interface Deployments {
  /** By id. */
  deployments: readonly Deployment[];
  /** Of folders that cannot be read as they should be; the others are there all the same. */
  problems: readonly Fault[];
}

/** Every component that stands in the stack's folder, whoever put it there. */
export async function listDeployments(host: Host, stackFolder: string, signal: AbortSignal): Promise<Deployments> {
  const names = (await host.files.list(stackFolder, signal)) ?? [];
  const problems: Fault[] = [];
  const found = await Promise.all(
    names
      .filter((name) => /^[a-z0-9][a-z0-9._-]*$/i.test(name))
      .sort()
      .map(async (name) => {
        try {
          return await readDeployment(host, stackFolder, name, signal);
        } catch (thrown) {
          if (!(thrown instanceof Fault) || signal.aborted) throw thrown;
          problems.push(thrown);
          return undefined;
        }
      }),
  );
  return { deployments: found.filter((one) => one !== undefined), problems };
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
    // What is no text at all was never written by us.
    return bytes === undefined || bytes.includes(0) ? [] : [[path, bytes]];
  });
  return (await Promise.all(read)).flat();
}

function textOf(bytes: Uint8Array, path: string): string;
function textOf(bytes: Uint8Array | undefined, path: string): string | undefined;
/** A mark of the byte order is no part of a text. */
function textOf(bytes: Uint8Array | undefined, path: string): string | undefined {
  return bytes && textOfPeople(bytes, path).replace(/^\uFEFF/, '');
}

/** The record as it was written. It decides what may be deleted and which secrets are in force, so half of one is none. */
export function readRecord(text: string, file: string, id: string): DeployRecord {
  let read: unknown;
  try {
    read = parseJson(text);
  } catch (cause) {
    throw damaged(file, 'it is no JSON', lineOf(text, cause), cause);
  }
  const record = read as Partial<DeployRecord> | null;
  if (record === null || typeof record !== 'object') throw damaged(file, 'it is no object', 1);
  if (record.schema !== 1) throw damaged(file, `it has version ${String(record.schema)}, and this Quarterdeck knows 1`, 1);
  if (record.component !== id) throw damaged(file, `it is of ${String(record.component)}`, 1);
  for (const key of ['files', 'secrets', 'images'] as const) {
    const value = record[key];
    if (value === null || typeof value !== 'object' || Array.isArray(value)) throw damaged(file, `"${key}" is missing`, 1);
  }
  return record as DeployRecord;
}

function lineOf(text: string, cause: unknown): number {
  const offset = /position (\d+)/.exec(cause instanceof Error ? cause.message : '')?.[1];
  return offset === undefined ? text.split('\n').length : text.slice(0, Number(offset)).split('\n').length;
}

function damaged(file: string, reason: string, line: number, cause?: unknown): Fault {
  return new Fault({
    code: 'config.record',
    message: `${file} cannot be read: ${reason}.`,
    remedy: 'Restore it from a backup, or move it away and run deploy: what is in the folder is then treated as created by hand.',
    where: { file, line },
    cause,
  });
}
