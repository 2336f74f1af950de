import type { CheckResult } from '../cluster/check-result.ts';
import type { NodeWay } from '../cluster/node-way.ts';
import type { Grant } from '../grants/grant.ts';
import { agoText } from '../text/quantities.ts';
import { actId, type ClusterWalk, sections, targetOf } from './cluster-walk.ts';

/* What a walk keeps of the snapshot that it took, whatever took it. */

/** An older one lacks too much of what was done since (R73). */
export const freshMs = 3_600_000;
const snapshotLimitMs = 900_000;

/** The node that a snapshot is taken on or from. */
export interface SnapshotPlace {
  name: string;
  way?: NodeWay;
}

export const snapshotStamp = (atMs: number): string => new Date(atMs).toISOString().replace(/[-:]|\.\d+/g, '');

/** The one that was kept, or why there is none that counts. */
export function keptSnapshot({ list }: ClusterWalk, advice: string): CheckResult | { file: string; ageMs: number; by: string } {
  const note = list.note('snapshot');
  const { file, takenMs } = note?.data ?? {};
  if (note?.kind !== 'done' || typeof file !== 'string' || typeof takenMs !== 'number')
    return { state: 'blocked', summary: 'none of the last hour', advice };
  const ageMs = Date.now() - takenMs;
  if (ageMs > freshMs) return { state: 'blocked', summary: `${file} is of ${agoText(ageMs)}: older than an hour`, advice };
  return { file, ageMs, by: note.by };
}

export async function actSnapshot<T>(
  walk: ClusterWalk,
  node: string,
  commands: readonly (readonly string[])[],
  run: (grant: Grant) => Promise<T>,
): Promise<T | undefined> {
  return walk.session.act({
    id: actId(walk, 'snapshot'),
    right: 'operate',
    request: `on ${node}: ${commands.map((argv) => argv.join(' ')).join(' && ')}`,
    target: targetOf(walk),
    limitMs: snapshotLimitMs,
    run,
  });
}

export async function keepSnapshot(
  { list }: ClusterWalk,
  taken: {
    file: string;
    takenMs: number;
    summary: string;
    evidence: readonly string[];
    data?: Readonly<Record<string, string | number>>;
  },
): Promise<void> {
  const { file, takenMs, summary, evidence, data = {} } = taken;
  await list.keep('snapshot', { kind: 'done', summary: file, evidence, data: { ...data, file, takenMs } });
  await list.set('snapshot', { section: sections.safety, state: 'ok', summary, evidence });
}
