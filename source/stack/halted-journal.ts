import { posix } from 'node:path';
import type { Engine } from '../engine/engine.ts';
import type { Grant } from '../grants/grant.ts';
import type { Host } from '../hosts/host.ts';
import { cleanLine } from '../text/clean.ts';
import { parseJson } from '../text/json-value.ts';
import { namesText } from '../text/words.ts';
import { goOn, type StillContainer } from './backup-still.ts';
import { readJournalFile } from './journal-file.ts';
import { readLock } from './stack-lock.ts';

const limitBytes = 64 * 1024;

/**
 * What a flow changes for its own purposes and restores itself, written on the host before the change: `STACK/.quarterdeck/halted/<run>.json`. Containers that an
 * interrupted flow left stopped are started by `recover`, `up` and the next backup; secrets are settled by `recover`, `up` and the next rotation.
 */
export interface HaltedRecord {
  schema: 1;
  run: string;
  /** What it was done for: `backup`, `route`, `rotation`. */
  flow: string;
  component: string;
  /** `user@host`. */
  by: string;
  startedAt: string;
  containers: readonly StillContainer[];
  /** Secrets of which the data, the containers and the keychain may have different values. */
  secrets?: readonly RotatingSecret[];
}

export interface RotatingSecret {
  component: string;
  variable: string;
}

const folderOf = (stackFolder: string) => posix.join(stackFolder, '.quarterdeck', 'halted');
const pathOf = (stackFolder: string, run: string) => posix.join(folderOf(stackFolder), `${run}.json`);

/** On the disk when it returns. */
export async function writeHalted(grant: Grant, host: Host, stackFolder: string, record: HaltedRecord): Promise<void> {
  await host.files.makeFolder(grant, folderOf(stackFolder), { mode: 0o700 });
  await host.files.write(grant, pathOf(stackFolder, record.run), Buffer.from(`${JSON.stringify(record)}\n`), { mode: 0o600 });
}

export async function removeHalted(grant: Grant, host: Host, stackFolder: string, run: string): Promise<void> {
  const path = pathOf(stackFolder, run);
  if (await host.files.facts(path, grant.signal)) await host.files.remove(grant, path);
}

/** Oldest first, also those of flows that are at work. */
export async function listHalted(host: Host, stackFolder: string, signal: AbortSignal): Promise<HaltedRecord[]> {
  return (await readAll(host, stackFolder, signal)).flatMap(({ record }) => record ?? []);
}

/** Paths of records that cannot be read. What they name stays stopped. */
export async function findDamagedHalts(host: Host, stackFolder: string, signal: AbortSignal): Promise<string[]> {
  return (await readAll(host, stackFolder, signal)).flatMap(({ path, record }) => (record ? [] : path));
}

async function readAll(
  host: Host,
  stackFolder: string,
  signal: AbortSignal,
): Promise<{ path: string; record: HaltedRecord | undefined }[]> {
  const all: { path: string; record: HaltedRecord | undefined }[] = [];
  for (const name of ((await host.files.list(folderOf(stackFolder), signal)) ?? []).sort()) {
    if (!name.endsWith('.json')) continue;
    const path = posix.join(folderOf(stackFolder), name);
    const content = await readJournalFile(host, path, { signal, limitBytes });
    const record = content && recordIn(content);
    // One that is gone by now was settled meanwhile.
    if (content) all.push({ path, record: record && name === `${record.run}.json` ? record : undefined });
  }
  return all;
}

/**
 * Those of interrupted flows, without containers that run again or are gone. None while something works on the stack.
 * @param engineReady asked only where there are records
 */
export async function readInterruptedHalts(
  host: Host,
  engineReady: () => Promise<Engine>,
  stackFolder: string,
  signal: AbortSignal,
): Promise<HaltedRecord[]> {
  const records = await listHalted(host, stackFolder, signal);
  if (records.length === 0 || (await readLock(host, stackFolder, signal))?.alive) return [];
  const engine = await engineReady();
  const interrupted: HaltedRecord[] = [];
  for (const record of records) {
    const containers: StillContainer[] = [];
    for (const container of record.containers) {
      const state = (await engine.inspect(container.id, signal))?.state;
      if (state !== undefined && state !== 'running') containers.push(container);
    }
    if (containers.length > 0 || record.secrets) interrupted.push({ ...record, containers });
  }
  return interrupted;
}

/** Those of a component whose containers are all gone: they were replaced since, by another run than the one that had stopped them. */
export async function listReplacedHalts(
  host: Host,
  engine: Engine,
  { stackFolder, component }: { stackFolder: string; component: string },
  signal: AbortSignal,
): Promise<HaltedRecord[]> {
  const replaced: HaltedRecord[] = [];
  for (const record of await listHalted(host, stackFolder, signal)) {
    if (record.component !== component || record.secrets) continue;
    const found = await Promise.all(record.containers.map(({ id }) => engine.inspect(id, signal)));
    if (found.every((detail) => detail === undefined)) replaced.push(record);
  }
  return replaced;
}

/** Starts what a record names, and forgets it. What cannot be started stays on record, and is returned. */
export async function startHalted(
  grant: Grant,
  record: HaltedRecord,
  { host, engine, stackFolder }: { host: Host; engine: Engine; stackFolder: string },
): Promise<{ container: StillContainer; reason: string }[]> {
  const failures = await goOn(engine, grant, [...record.containers].reverse());
  if (failures.length === 0) await removeHalted(grant, host, stackFolder, record.run);
  return failures;
}

/** `The backup was interrupted while wiki-app-1 was stopped for it.` */
export function haltedSentence({ flow, containers, secrets }: HaltedRecord): string {
  if (secrets)
    return `The ${cleanLine(flow)} of ${secretsText(secrets)} was interrupted: the data may have another value than the containers.`;
  const names = containers.map(({ name }) => cleanLine(name));
  return `The ${cleanLine(flow)} was interrupted while ${namesText(names)} ${names.length === 1 ? 'was' : 'were'} stopped for it.`;
}

export function secretsText(secrets: readonly RotatingSecret[]): string {
  return namesText(secrets.map(({ component, variable }) => cleanLine(`${component}/${variable}`)));
}

function recordIn(content: Uint8Array): HaltedRecord | undefined {
  try {
    const read = parseJson(Buffer.from(content).toString('utf8')) as HaltedRecord | null;
    if (read?.schema !== 1 || !Array.isArray(read.containers)) return undefined;
    if (![read.run, read.flow, read.component, read.by, read.startedAt].every((one) => typeof one === 'string')) return undefined;
    const containers = (read.containers as StillContainer[]).filter(
      ({ id, name, how }) => typeof id === 'string' && typeof name === 'string' && (how === 'stopped' || how === 'paused'),
    );
    const { secrets, ...rest } = read;
    if (secrets !== undefined && !(Array.isArray(secrets) && secrets.every(isSecret))) return undefined;
    return { ...rest, by: cleanLine(read.by), startedAt: cleanLine(read.startedAt), containers, ...(secrets && { secrets }) };
  } catch {
    return undefined;
  }
}

const isSecret = (one: Partial<RotatingSecret> | null) => typeof one?.component === 'string' && typeof one.variable === 'string';
