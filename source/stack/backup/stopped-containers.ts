import { posix } from 'node:path';
import { z } from 'zod';
import type { Engine } from '../../engine/engine.ts';
import { Fault, messageOf } from '../../faults/fault.ts';
import type { Grant } from '../../grants/grant.ts';
import type { Host } from '../../hosts/host.ts';
import { cleanLine } from '../../text/clean.ts';
import { namesText } from '../../text/words.ts';
import { cleaned, readRecords, writeRecord } from '../apply/journal-file.ts';
import { readLock } from '../apply/lock.ts';
import type { BackupContainer } from './model.ts';

export const stillContainer = z.object({ id: z.string(), name: z.string(), how: z.enum(['stopped', 'paused']) });

export type StillContainer = z.infer<typeof stillContainer>;

export class StillContainers {
  #existing: StillContainer[] = [];

  constructor(private readonly engine: Engine) {}

  get existing(): readonly StillContainer[] {
    return this.#existing;
  }

  /** Halts the running containers, in reverse order of the list: later ones depend on earlier ones. */
  async halt(
    grant: Grant,
    containers: readonly BackupContainer[],
    how: StillContainer['how'],
    written: (all: readonly StillContainer[]) => Promise<void>,
  ): Promise<void> {
    const writer = this.engine.writer(grant);
    for (const { id, name } of containers.toReversed()) {
      const detail = await this.engine.inspect(id, grant.signal);
      if (detail?.state !== 'running') continue;
      this.#existing.push({ id, name, how });
      // The record is written first: a superfluous record only starts running containers, which changes nothing.
      await written(this.#existing);
      if (how === 'stopped') await writer.stop(id);
      else await writer.pause(id);
    }
  }

  /** Starts or unpauses them in the order of their dependencies. Throws `failed.stillStopped` with the names of those that failed. */
  async release(grant: Grant): Promise<void> {
    const failures = await restart(this.engine, grant, this.#existing);
    this.#existing = failures.map(({ container }) => container);
    const [first] = failures;
    if (!first) return;
    const message = `${this.#existing.map(({ name }) => name).join(', ')} could not be restarted: ${first.reason}`;
    throw new Fault('failed.stillStopped', message, 'Check the log of the container, then run: quarterdeck recover');
  }
}

/** Starts or unpauses halted containers in reverse order, also those that an interrupted backup halted. */
export async function restart(engine: Engine, grant: Grant, halted: readonly StillContainer[]) {
  const writer = engine.writer(grant);
  const failures: { container: StillContainer; reason: string }[] = [];
  for (const container of halted.toReversed()) {
    try {
      const detail = await engine.inspect(container.id, grant.signal);
      if (!detail) continue;
      if (detail.state === 'paused') await writer.unpause(container.id);
      else if (detail.state !== 'running' && container.how === 'stopped') await writer.start(container.id);
    } catch (thrown) {
      failures.push({ container, reason: messageOf(thrown) });
    }
  }
  return failures;
}

const rotatingSecret = z.object({ component: z.string(), variable: z.string() });

export type RotatingSecret = z.infer<typeof rotatingSecret>;

const haltedRecord = z.object({
  schema: z.literal(1),
  run: z.string(),
  /** The purpose: `backup`, `route`, `rotation`. */
  flow: z.string(),
  component: z.string(),
  by: cleaned,
  startedAt: cleaned,
  containers: z.array(stillContainer).readonly(),
  /** Secrets for which the data, the containers and the keychain may have different values. */
  secrets: z.array(rotatingSecret).readonly().optional(),
});

/**
 * Temporary changes that a flow reverts itself: `STACK/.quarterdeck/halted/<run>.json`, written before the change. If it is interrupted,
 * containers are started by `recover`, `up` and the next backup; secrets are settled by `recover`, `up` and the next rotation.
 */
export type HaltedRecord = z.infer<typeof haltedRecord>;

const folderOf = (stackFolder: string) => posix.join(stackFolder, '.quarterdeck', 'halted');
const pathOf = (stackFolder: string, run: string) => posix.join(folderOf(stackFolder), `${run}.json`);

export function writeHalted(grant: Grant, host: Host, stackFolder: string, record: HaltedRecord): Promise<void> {
  return writeRecord(grant, host, pathOf(stackFolder, record.run), record);
}

export async function removeHalted(grant: Grant, host: Host, stackFolder: string, run: string): Promise<void> {
  const path = pathOf(stackFolder, run);
  if (await host.files.facts(path, grant.signal)) await host.files.remove(grant, path);
}

export async function listHalted(host: Host, stackFolder: string, signal: AbortSignal): Promise<HaltedRecord[]> {
  return (await readAll(host, stackFolder, signal)).flatMap(({ record }) => record ?? []);
}

/** Returns the paths of unreadable records. The containers that they name stay stopped. */
export async function findDamagedHalts(host: Host, stackFolder: string, signal: AbortSignal): Promise<string[]> {
  return (await readAll(host, stackFolder, signal)).flatMap(({ path, record }) => (record ? [] : path));
}

const readAll = (host: Host, stackFolder: string, signal: AbortSignal) =>
  readRecords(host, folderOf(stackFolder), { shape: haltedRecord, ending: '.json', signal });

/** Without containers that run again or no longer exist. None while a process works on the stack. */
export async function readInterruptedHalts(host: Host, engineReady: () => Promise<Engine>, stackFolder: string, signal: AbortSignal) {
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

/** Of a component whose containers no longer exist: a run other than the one that stopped them has replaced them since. */
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

/** Starts the containers of a record, and removes it. Containers that cannot be started stay on record, and are returned. */
export async function startHalted(
  grant: Grant,
  record: HaltedRecord,
  { host, engine, stackFolder }: { host: Host; engine: Engine; stackFolder: string },
) {
  const failures = await restart(engine, grant, record.containers);
  if (failures.length === 0) await removeHalted(grant, host, stackFolder, record.run);
  return failures;
}

export function haltedSentence({ flow, containers, secrets }: HaltedRecord): string {
  if (secrets)
    return `The ${cleanLine(flow)} of ${secretsText(secrets)} was interrupted, so the data and the containers may use different values.`;
  const halted = (['stopped', 'paused'] as const).flatMap((how) => {
    const names = containers.filter((container) => container.how === how).map(({ name }) => cleanLine(name));
    return names.length === 0 ? [] : `${namesText(names)} ${names.length === 1 ? 'was' : 'were'} ${how}`;
  });
  return `The ${cleanLine(flow)} was interrupted while ${namesText(halted)}.`;
}

export function secretsText(secrets: readonly RotatingSecret[]): string {
  return namesText(secrets.map(({ component, variable }) => cleanLine(`${component}/${variable}`)));
}
