import { holdsEtcd } from '../cluster/api-shapes.ts';
import { type CheckResult, looked } from '../cluster/check-result.ts';
import { hasSqlite } from '../cluster/sqlite-state.ts';
import { Fault } from '../faults/fault.ts';
import { type ClusterWalk, sections, tellCheck } from './cluster-walk.ts';
import { etcdByHand, observeEtcd, takeEtcd } from './snapshot-etcd.ts';
import type { SnapshotPlace } from './snapshot-kept.ts';
import { observeBuiltIn, observeState, takeBuiltIn, takeState } from './snapshot-rancher.ts';
import { observeTalos, takeTalos } from './snapshot-talos.ts';

/** Where the state of the cluster is: it decides what takes a copy of it. */
function keptIn({ facts: { distribution } }: ClusterWalk): 'etcd' | 'built-in' | 'state' | 'talos' {
  if (distribution.kind === 'talos') return 'talos';
  if (distribution.kind !== 'k3s' && distribution.kind !== 'rke2') return 'etcd';
  return distribution.embeddedEtcd ? 'built-in' : 'state';
}

export const snapshotTitle = (walk: ClusterWalk): string => (keptIn(walk) === 'state' ? 'Copy of its state' : 'etcd snapshot');

async function placeOf({ facts, ways }: ClusterWalk): Promise<SnapshotPlace | undefined> {
  const planes = facts.nodes.filter(({ controlPlane }) => controlPlane);
  const node = planes.find(({ object }) => holdsEtcd(object)) ?? planes[0];
  const way = node && (await ways.to(node));
  return node && { name: node.name, ...(way && { way }) };
}

/** Can one be taken from here? */
export async function canSnapshot(walk: ClusterWalk): Promise<boolean> {
  const { distribution } = walk.facts;
  if (walk.hand || distribution.managed || distribution.kind === 'unknown') return false;
  const way = (await placeOf(walk))?.way;
  return way !== undefined && (keptIn(walk) !== 'state' || hasSqlite(way, walk.session.signal));
}

/** Is there a snapshot of the last hour that its own program can read (R73)? */
export async function observeSnapshot(walk: ClusterWalk): Promise<CheckResult> {
  const { distribution } = walk.facts;
  if (distribution.managed) return { state: 'skipped', summary: `not applicable: ${distribution.name} keeps etcd itself` };
  const place = await placeOf(walk);
  switch (keptIn(walk)) {
    case 'built-in':
      return observeBuiltIn(walk);
    case 'state':
      return observeState(walk, place);
    case 'talos':
      return observeTalos(walk, place);
    case 'etcd':
      return observeEtcd(walk, place);
  }
}

/** Looks at it again, for the list. */
export async function lookAtSnapshot(walk: ClusterWalk): Promise<void> {
  const result = await looked(() => observeSnapshot(walk));
  if (result.state !== 'skipped') await tellCheck(walk, { id: 'snapshot', section: sections.safety, title: snapshotTitle(walk) }, result);
}

/** Takes one, and keeps what it is in the checklist. */
export async function snapshotNow(walk: ClusterWalk): Promise<void> {
  const { session, list } = walk;
  const place = await placeOf(walk);
  const { way } = place ?? {};
  if (!place || !way)
    throw new Fault({ code: 'refused.noWay', message: 'There is no way to the control plane from here.', remedy: etcdByHand });
  await list.set('snapshot', { state: 'running', summary: `taken on ${place.name}, ${way.shown}` });
  const here = { name: place.name, way };
  switch (keptIn(walk)) {
    case 'built-in':
      await takeBuiltIn(walk, here);
      break;
    case 'state':
      await takeState(walk, here);
      break;
    case 'talos':
      await takeTalos(walk, here);
      break;
    case 'etcd':
      await takeEtcd(walk, here);
      break;
  }
  if (session.rehearsing) await list.set('snapshot', { state: 'todo', summary: 'rehearsed' });
  // What it is worth is seen, not believed.
  else await lookAtSnapshot(walk);
}
