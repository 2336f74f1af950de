import { join } from 'node:path';
import { readOwnJson, writeOwnFile } from '../config/own-files.ts';
import type { OwnPaths } from '../config/paths.ts';
import type { FleetSnapshot } from '../fleet/model.ts';
import { listOf, mapOf } from '../text/json-value.ts';

type Seen = Readonly<Record<string, readonly string[]>>;

const seenFile = (paths: OwnPaths): string => join(paths.state, 'components.json');

export async function seenComponents(paths: OwnPaths): Promise<Seen> {
  const seen = Object.entries(mapOf(await readOwnJson(seenFile(paths))));
  return Object.fromEntries(seen.map(([engineName, ids]) => [engineName, listOf(ids).filter((id) => typeof id === 'string')]));
}

/** Saves the current names for the engines that answered. Writes only changes and never rejects: this is a convenience. */
export async function keepSeenComponents(paths: OwnPaths, { engines, components }: FleetSnapshot): Promise<void> {
  const answered = engines.filter(({ engine }) => engine.reachable).map(({ name }) => name);
  if (answered.length === 0) return;
  const idsOf = (engineName: string) => [...new Set(components.filter(({ host }) => host === engineName).map(({ id }) => id))].sort();
  const before = await seenComponents(paths);
  const now: Seen = { ...before, ...Object.fromEntries(answered.map((engineName) => [engineName, idsOf(engineName)])) };
  if (JSON.stringify(now) === JSON.stringify(before)) return;
  await writeOwnFile(seenFile(paths), JSON.stringify(now)).catch(() => undefined);
}

export async function forgetSeenComponents(paths: OwnPaths, host: string): Promise<void> {
  const before = await seenComponents(paths);
  const left = Object.entries(before).filter(([engineName]) => engineName !== host && !engineName.startsWith(`${host}/`));
  if (left.length < Object.keys(before).length) await writeOwnFile(seenFile(paths), JSON.stringify(Object.fromEntries(left)));
}
