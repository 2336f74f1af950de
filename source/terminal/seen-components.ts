import { join } from 'node:path';
import { readOwnFile, writeOwnFile } from '../config/own-files.ts';
import type { OwnPaths } from '../config/paths.ts';
import type { FleetSnapshot } from '../fleet/model.ts';
import { parseJson } from '../text/json-value.ts';

type Seen = Readonly<Record<string, readonly string[]>>;

function seenFile(paths: OwnPaths): string {
  return join(paths.state, 'components.json');
}

/** Names of components by place, as they were seen last: for who wants names without asking an engine. What cannot be read counts as never seen. */
export async function seenComponents(paths: OwnPaths): Promise<Seen> {
  try {
    const seen: unknown = parseJson((await readOwnFile(seenFile(paths))) ?? '{}');
    if (typeof seen !== 'object' || seen === null) return {};
    return Object.fromEntries(
      Object.entries(seen).map(([place, ids]) => [place, Array.isArray(ids) ? ids.filter((id) => typeof id === 'string') : []]),
    );
  } catch {
    return {};
  }
}

/** Keeps what is there now, for engines that answered. Written only when it differs; never rejects: it is a convenience. */
export async function keepSeenComponents(paths: OwnPaths, { places, components }: FleetSnapshot): Promise<void> {
  const answered = places.filter(({ engine }) => engine.reachable).map(({ name }) => name);
  if (answered.length === 0) return;
  const idsOf = (place: string) => [...new Set(components.filter(({ host }) => host === place).map(({ id }) => id))].sort();
  const before = await seenComponents(paths);
  const now: Seen = { ...before, ...Object.fromEntries(answered.map((place) => [place, idsOf(place)])) };
  if (JSON.stringify(now) === JSON.stringify(before)) return;
  await writeOwnFile(seenFile(paths), JSON.stringify(now)).catch(() => undefined);
}

/** For a host that is no longer listed. */
export async function forgetSeenComponents(paths: OwnPaths, host: string): Promise<void> {
  const before = await seenComponents(paths);
  const left = Object.entries(before).filter(([place]) => place !== host && !place.startsWith(`${host}/`));
  if (left.length < Object.keys(before).length) await writeOwnFile(seenFile(paths), JSON.stringify(Object.fromEntries(left)));
}
