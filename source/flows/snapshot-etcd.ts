import type { CheckResult } from '../cluster/check-result.ts';
import {
  type EtcdTools,
  findEtcdTools,
  kubeadmEtcd,
  type Snapshot,
  snapshotCommands,
  snapshotFile,
  takeSnapshot,
  verifySnapshot,
} from '../cluster/etcd-snapshot.ts';
import { Fault } from '../faults/fault.ts';
import { agoText, bytesText } from '../text/quantities.ts';
import type { ClusterWalk } from './cluster-walk.ts';
import { actSnapshot, keepSnapshot, keptSnapshot, type SnapshotPlace } from './snapshot-kept.ts';

/* etcd that runs beside the control plane, as kubeadm sets it up. */

export const etcdByHand = (() => {
  const { certificates, endpoint } = kubeadmEtcd;
  return `ETCDCTL_API=3 etcdctl --endpoints ${endpoint} --cacert ${certificates?.ca} --cert ${certificates?.cert} --key ${certificates?.key} snapshot save FILE, then etcdutl snapshot status FILE; then skip this item and say where it is.`;
})();

const snapshotText = ({ file, keys, sizeBytes }: Snapshot, { verifier }: EtcdTools) =>
  `${file} (${keys} keys, ${bytesText(sizeBytes)}), read by ${verifier}`;
const evidenceOf = (node: string, { file, hash, revision, keys, sizeBytes }: Snapshot, { version, verifier }: EtcdTools): string[] => [
  `on ${node}: ${file}`,
  `hash ${hash}, revision ${revision}, ${keys} keys, ${sizeBytes} bytes; etcd ${version}, verified with ${verifier}`,
  'It holds every secret of the cluster: copy it to where only you can read it.',
];

export async function observeEtcd(walk: ClusterWalk, place: SnapshotPlace | undefined): Promise<CheckResult> {
  const { session } = walk;
  const kept = keptSnapshot(
    walk,
    place?.way ? 'Take one from here.' : `Take one on ${place?.name ?? 'a control-plane node'}: ${etcdByHand}`,
  );
  if (!('file' in kept)) return kept;
  const { file, ageMs, by } = kept;
  if (!place?.way) return { state: 'warning', summary: `${file} of ${agoText(ageMs)}, by ${by}; not looked at again` };
  const tools = await findEtcdTools(place.way, session.signal);
  if (!tools) return { state: 'warning', summary: `${file} of ${agoText(ageMs)}; its program is gone, so it was not looked at again` };
  const snapshot = await verifySnapshot(place.way, tools, file, session.signal);
  return { state: 'ok', summary: `${snapshotText(snapshot, tools)}, ${agoText(ageMs)}`, evidence: evidenceOf(place.name, snapshot, tools) };
}

export async function takeEtcd(walk: ClusterWalk, { name, way }: Required<SnapshotPlace>): Promise<void> {
  const tools = await findEtcdTools(way, walk.session.signal);
  if (!tools)
    throw new Fault({
      code: 'failed.snapshot',
      message: `There is no etcdctl on ${name}, neither on the node nor in a running etcd container.`,
      remedy: etcdByHand,
    });
  const takenMs = Date.now();
  const file = snapshotFile(tools, takenMs);
  const snapshot = await actSnapshot(walk, name, snapshotCommands(tools, kubeadmEtcd, file), (grant) =>
    takeSnapshot(grant, way, tools, kubeadmEtcd, file),
  );
  if (!snapshot) return;
  const { revision, keys, hash } = snapshot;
  await keepSnapshot(walk, {
    file,
    takenMs,
    summary: `${snapshotText(snapshot, tools)}, just now`,
    evidence: evidenceOf(name, snapshot, tools),
    data: { revision, keys, hash },
  });
}
