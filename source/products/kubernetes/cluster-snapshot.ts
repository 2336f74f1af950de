import { Fault } from '../../faults/fault.ts';
import { holdsEtcd } from './client/api-shapes.ts';
import { type CheckResult, looked, skipped } from './client/check-result.ts';
import { type ClusterChecklist, sections, showCheck } from './cluster-checklist.ts';
import { etcdByHand, hasSqlite, type SnapshotSource, snapshotMethods } from './snapshot-methods.ts';

export function storageOf({ facts: { distribution } }: ClusterChecklist): keyof typeof snapshotMethods {
  if (distribution.kind === 'talos') return 'talos';
  if (!distribution.isOneProgram) return 'etcd';
  return distribution.embeddedEtcd ? 'built-in' : 'state';
}

export const snapshotTitle = (checklist: ClusterChecklist): string =>
  storageOf(checklist) === 'state' ? 'Copy of the cluster state' : 'etcd snapshot';

async function sourceOf({ facts, nodeExecs }: ClusterChecklist): Promise<SnapshotSource> {
  const planes = facts.nodes.filter(({ controlPlane }) => controlPlane);
  const node = planes.find(({ object }) => holdsEtcd(object)) ?? planes[0];
  return { name: node?.name ?? '', nodeExec: node && (await nodeExecs.to(node)) };
}

export async function canSnapshot(checklist: ClusterChecklist): Promise<boolean> {
  const { distribution } = checklist.facts;
  if (checklist.hand || distribution.managed || distribution.kind === 'unknown') return false;
  const { nodeExec } = await sourceOf(checklist);
  return nodeExec !== undefined && (storageOf(checklist) !== 'state' || hasSqlite(nodeExec, checklist.session.signal));
}

/** Checks for a snapshot of the last hour that its own program can read (R73). */
export async function observeSnapshot(checklist: ClusterChecklist): Promise<CheckResult> {
  const { distribution } = checklist.facts;
  if (distribution.managed) return skipped(`not applicable: ${distribution.name} manages etcd itself`);
  return snapshotMethods[storageOf(checklist)].observe(checklist, await sourceOf(checklist));
}

export async function checkSnapshot(checklist: ClusterChecklist): Promise<void> {
  const result = await looked(() => observeSnapshot(checklist));
  if (result.state !== 'skipped')
    await showCheck(checklist, { id: 'snapshot', section: sections.safety, title: snapshotTitle(checklist) }, result);
}

export async function snapshotNow(checklist: ClusterChecklist): Promise<void> {
  const { session, list } = checklist;
  const { name, nodeExec } = await sourceOf(checklist);
  if (!nodeExec) throw new Fault('refused.noWay', 'The control plane is not reachable from this machine.', etcdByHand(name));
  await list.set('snapshot', { state: 'running', summary: `creating on ${name}, ${nodeExec.shown}` });
  await snapshotMethods[storageOf(checklist)].take(checklist, { name, nodeExec });
  if (session.dryRun) await list.set('snapshot', { state: 'todo', summary: 'dry-run' });
  // The snapshot is verified, not trusted.
  else await checkSnapshot(checklist);
}
