import { Fault } from '../../faults/fault.ts';
import { holdsEtcd } from './client/api-shapes.ts';
import { type CheckResult, looked, skipped } from './client/check-result.ts';
import { isOneProgram } from './client/distribution.ts';
import { type ClusterChecklist, sections, tellCheck } from './cluster-checklist.ts';
import {
  etcdByHand,
  hasSqlite,
  observeBuiltIn,
  observeEtcd,
  observeState,
  observeTalos,
  type SnapshotSource,
  takeBuiltIn,
  takeEtcd,
  takeState,
  takeTalos,
} from './snapshot-methods.ts';

/** How a snapshot is checked and taken, by where the state of the cluster is stored. */
const methods = {
  etcd: { observe: observeEtcd, take: takeEtcd },
  'built-in': { observe: observeBuiltIn, take: takeBuiltIn },
  state: { observe: observeState, take: takeState },
  talos: { observe: observeTalos, take: takeTalos },
};

function storageOf({ facts: { distribution } }: ClusterChecklist): keyof typeof methods {
  if (distribution.kind === 'talos') return 'talos';
  if (!isOneProgram(distribution)) return 'etcd';
  return distribution.embeddedEtcd ? 'built-in' : 'state';
}

export const snapshotTitle = (checklist: ClusterChecklist): string =>
  storageOf(checklist) === 'state' ? 'Copy of its state' : 'etcd snapshot';

async function sourceOf({ facts, nodeExecs }: ClusterChecklist): Promise<SnapshotSource | undefined> {
  const planes = facts.nodes.filter(({ controlPlane }) => controlPlane);
  const node = planes.find(({ object }) => holdsEtcd(object)) ?? planes[0];
  const nodeExec = node && (await nodeExecs.to(node));
  return node && { name: node.name, ...(nodeExec && { nodeExec }) };
}

export async function canSnapshot(checklist: ClusterChecklist): Promise<boolean> {
  const { distribution } = checklist.facts;
  if (checklist.hand || distribution.managed || distribution.kind === 'unknown') return false;
  const nodeExec = (await sourceOf(checklist))?.nodeExec;
  return nodeExec !== undefined && (storageOf(checklist) !== 'state' || hasSqlite(nodeExec, checklist.session.signal));
}

/** Checks for a snapshot of the last hour that its own program can read (R73). */
export async function observeSnapshot(checklist: ClusterChecklist): Promise<CheckResult> {
  const { distribution } = checklist.facts;
  if (distribution.managed) return skipped(`not applicable: ${distribution.name} keeps etcd itself`);
  return methods[storageOf(checklist)].observe(checklist, await sourceOf(checklist));
}

export async function lookAtSnapshot(checklist: ClusterChecklist): Promise<void> {
  const result = await looked(() => observeSnapshot(checklist));
  if (result.state !== 'skipped')
    await tellCheck(checklist, { id: 'snapshot', section: sections.safety, title: snapshotTitle(checklist) }, result);
}

export async function snapshotNow(checklist: ClusterChecklist): Promise<void> {
  const { session, list } = checklist;
  const source = await sourceOf(checklist);
  const { nodeExec } = source ?? {};
  if (!source || !nodeExec) throw new Fault('refused.noWay', 'There is no way to the control plane from here.', etcdByHand);
  await list.set('snapshot', { state: 'running', summary: `taken on ${source.name}, ${nodeExec.shown}` });
  await methods[storageOf(checklist)].take(checklist, { name: source.name, nodeExec });
  if (session.dryRun) await list.set('snapshot', { state: 'todo', summary: 'dry-run' });
  // The snapshot is verified, not trusted.
  else await lookAtSnapshot(checklist);
}
