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
import { lastWords, type NodeWay } from '../cluster/node-way.ts';
import { Fault } from '../faults/fault.ts';
import { agoText, bytesText } from '../text/quantities.ts';
import { actId, type ClusterWalk, sections, targetOf } from './cluster-walk.ts';

/** An older one lacks too much of what was done since (R73). */
export const freshMs = 3_600_000;
const snapshotLimitMs = 900_000;

interface K3sSnapshot {
  metadata: { name: string };
  spec?: { snapshotName?: string; nodeName?: string; location?: string };
  status?: { creationTime?: string; readyToUse?: boolean; error?: { message?: string }; size?: string };
}

async function controlPlaneWay({ facts, ways }: ClusterWalk): Promise<{ name: string; way: NodeWay | undefined } | undefined> {
  const node = facts.nodes.find(({ controlPlane }) => controlPlane);
  return node && { name: node.name, way: await ways.to(node) };
}

/** Can one be taken from here? */
export async function canSnapshot(walk: ClusterWalk): Promise<boolean> {
  const { distribution } = walk.facts;
  if (walk.hand || (distribution.kind !== 'kubeadm' && !distribution.embeddedEtcd)) return false;
  return (await controlPlaneWay(walk))?.way !== undefined;
}

/** Is there a snapshot of the last hour that its own program can read? */
export async function observeSnapshot(walk: ClusterWalk): Promise<CheckResult> {
  const { distribution } = walk.facts;
  if (distribution.managed) return { state: 'skipped', summary: `not applicable: ${distribution.name} keeps etcd itself` };
  if (distribution.kind === 'k3s' || distribution.kind === 'rke2') return observeBuiltIn(walk);
  if (distribution.kind === 'talos')
    return {
      state: 'blocked',
      summary: 'none that can be seen from here',
      advice: 'Take one: talosctl -n NODE etcd snapshot etcd.db, then skip this item and say where it is.',
    };
  return observeEtcd(walk);
}

async function observeEtcd(walk: ClusterWalk): Promise<CheckResult> {
  const { list, session } = walk;
  const plane = await controlPlaneWay(walk);
  const note = list.note('snapshot');
  const { file, takenMs } = note?.data ?? {};
  const missing = {
    state: 'blocked' as const,
    summary: 'none of the last hour',
    advice: plane?.way ? 'Take one from here.' : `Take one on ${plane?.name ?? 'a control-plane node'}: ${byHand()}`,
  };
  if (note?.kind !== 'done' || typeof file !== 'string' || typeof takenMs !== 'number') return missing;
  const ageMs = Date.now() - takenMs;
  if (ageMs > freshMs) return { ...missing, summary: `${file} is of ${agoText(ageMs)}: older than an hour` };
  if (!plane?.way) return { state: 'warning', summary: `${file} of ${agoText(ageMs)}, by ${note.by}; not looked at again` };
  const tools = await findEtcdTools(plane.way, session.signal);
  if (!tools) return { state: 'warning', summary: `${file} of ${agoText(ageMs)}; its program is gone, so it was not looked at again` };
  const snapshot = await verifySnapshot(plane.way, tools, file, session.signal);
  return { state: 'ok', summary: `${snapshotText(snapshot, tools)}, ${agoText(ageMs)}`, evidence: evidenceOf(plane.name, snapshot, tools) };
}

const snapshotText = ({ file, keys, sizeBytes }: Snapshot, { verifier }: EtcdTools) =>
  `${file} (${keys} keys, ${bytesText(sizeBytes)}), read by ${verifier}`;
const evidenceOf = (node: string, { file, hash, revision, keys, sizeBytes }: Snapshot, { version, verifier }: EtcdTools): string[] => [
  `on ${node}: ${file}`,
  `hash ${hash}, revision ${revision}, ${keys} keys, ${sizeBytes} bytes; etcd ${version}, verified with ${verifier}`,
  'It holds every secret of the cluster: copy it to where only you can read it.',
];

function byHand(): string {
  const { certificates, endpoint } = kubeadmEtcd;
  return `ETCDCTL_API=3 etcdctl --endpoints ${endpoint} --cacert ${certificates?.ca} --cert ${certificates?.cert} --key ${certificates?.key} snapshot save FILE, then etcdutl snapshot status FILE; then skip this item and say where it is.`;
}

async function observeBuiltIn({ api, facts, session }: ClusterWalk): Promise<CheckResult> {
  const { kind, name, embeddedEtcd } = facts.distribution;
  const folder = `/var/lib/rancher/${kind}/server`;
  if (!embeddedEtcd)
    return {
      state: 'warning',
      summary: `${name} keeps its state without etcd here (SQLite, or a database elsewhere)`,
      advice: `Save ${folder}/db and ${folder}/token, or the database, with the server stopped.`,
    };
  const found = (await api.find<{ items?: K3sSnapshot[] }>('/apis/k3s.cattle.io/v1/etcdsnapshotfiles', session.signal))?.items ?? [];
  const newest = found
    .flatMap((each) => {
      const atMs = Date.parse(each.status?.creationTime ?? '');
      return Number.isNaN(atMs) || each.status?.readyToUse !== true ? [] : [{ ...each, atMs }];
    })
    .sort((one, other) => other.atMs - one.atMs)[0];
  const advice = `On a server node: ${kind} etcd-snapshot save --name before-upgrade. Keep ${folder}/token with it: without it nothing is restored.`;
  if (!newest) return { state: 'blocked', summary: 'none that is ready', advice };
  const ageMs = Date.now() - newest.atMs;
  const told = `${newest.spec?.snapshotName ?? newest.metadata.name} on ${newest.spec?.nodeName ?? '?'}, ${agoText(ageMs)}`;
  if (ageMs > freshMs) return { state: 'blocked', summary: `${told}: older than an hour`, advice };
  return { state: 'ok', summary: told, evidence: [newest.spec?.location ?? '', `Keep ${folder}/token with it.`].filter(Boolean) };
}

/** Takes one, and keeps what it is in the checklist. */
export async function snapshotNow(walk: ClusterWalk): Promise<void> {
  const { session, list, facts } = walk;
  const plane = await controlPlaneWay(walk);
  if (!plane?.way) throw new Fault({ code: 'refused.noWay', message: 'There is no way to the control plane from here.', remedy: byHand() });
  const { way } = plane;
  await list.set('snapshot', { state: 'running', summary: `taken on ${plane.name}, ${way.shown}` });
  const { kind } = facts.distribution;
  if (kind === 'k3s' || kind === 'rke2') {
    const argv = [kind, 'etcd-snapshot', 'save', '--name', 'before-upgrade'];
    await session.act({
      id: actId(walk, 'snapshot'),
      right: 'operate',
      request: `on ${plane.name}: ${argv.join(' ')}`,
      target: targetOf(walk),
      limitMs: snapshotLimitMs,
      run: async (grant) => {
        const outcome = await way.run(grant, argv);
        if (outcome.exitCode !== 0)
          throw new Fault({
            code: 'failed.snapshot',
            message: `${kind} etcd-snapshot save failed: ${lastWords(outcome)}`,
            remedy: 'Look at its log on that node.',
          });
      },
    });
    return;
  }
  const tools = await findEtcdTools(way, session.signal);
  if (!tools)
    throw new Fault({
      code: 'failed.snapshot',
      message: `There is no etcdctl on ${plane.name}, neither on the node nor in a running etcd container.`,
      remedy: byHand(),
    });
  const takenMs = Date.now();
  const file = snapshotFile(tools, takenMs);
  const snapshot = await session.act({
    id: actId(walk, 'snapshot'),
    right: 'operate',
    request: `on ${plane.name}: ${snapshotCommands(tools, kubeadmEtcd, file)
      .map((argv) => argv.join(' '))
      .join(' && ')}`,
    target: targetOf(walk),
    limitMs: snapshotLimitMs,
    run: (grant) => takeSnapshot(grant, way, tools, kubeadmEtcd, file),
  });
  if (!snapshot) return;
  const { revision, keys, hash } = snapshot;
  await list.keep('snapshot', {
    kind: 'done',
    summary: file,
    evidence: evidenceOf(plane.name, snapshot, tools),
    data: { file, takenMs, revision, keys, hash },
  });
  await list.set('snapshot', {
    section: sections.safety,
    state: 'ok',
    summary: `${snapshotText(snapshot, tools)}, just now`,
    evidence: evidenceOf(plane.name, snapshot, tools),
  });
}
