import type { KubePod } from './client/api-shapes.ts';
import { type ClusterNode, oldestApiServer, readNode, tagOf } from './client/cluster-facts.ts';
import { controlPlaneCommands } from './client/node-commands.ts';
import { type Release, releaseOf } from './client/release.ts';
import { type ClusterChecklist, fromTo, isAt, planeAddress, planeItem, sections } from './cluster-checklist.ts';
import { runCommands, untilSeen } from './run-on-node.ts';

const answeringRelease = async ({ api, session }: Pick<ClusterChecklist, 'api' | 'session'>): Promise<Release | undefined> =>
  releaseOf((await api.get<{ gitVersion?: string }>('/version', session.signal)).gitVersion);

async function planeRelease({ api, session, facts }: ClusterChecklist, node: ClusterNode): Promise<Release | undefined> {
  const pod = await api.find<KubePod>(
    `/api/v1/namespaces/kube-system/pods/kube-apiserver-${encodeURIComponent(node.name)}`,
    session.signal,
  );
  const image = pod?.spec?.containers?.[0]?.image;
  if (image !== undefined) return releaseOf(tagOf(image));
  // k3s and RKE2 are one program.
  if (facts.distribution.isOneProgram) return (await readNode(api, node.name, session.signal))?.kubelet;
  // Otherwise only the API server that answers can be read: with several of them it says nothing about this one.
  if (facts.distribution.kind === 'kubeadm' && facts.nodes.filter(({ controlPlane }) => controlPlane).length > 1) return undefined;
  return answeringRelease({ api, session });
}

const isReached = (release: Release | undefined, target: Release) => release !== undefined && isAt(release, target);

/** The next node waits until this one is healthy: two unavailable members of etcd can cost the quorum. */
async function settled({ api, session, facts, target }: ClusterChecklist, { name }: ClusterNode): Promise<string | undefined> {
  const node = await readNode(api, name, session.signal);
  if (!node?.ready) return 'the node is not ready yet';
  const { status } = await api.text('/readyz', session.signal);
  if (status !== 200) return `/readyz returned ${status}`;
  // The kubelet of such a program becomes ready last.
  return facts.distribution.isOneProgram && !isAt(node.kubelet, target) ? 'the kubelet is not upgraded yet' : undefined;
}

/** Upgrades the nodes of the control plane one after the other: the first also upgrades the cluster-wide part. */
export async function upgradeControlPlane(checklist: ClusterChecklist): Promise<void> {
  const { facts, target, list } = checklist;
  const nodes = facts.nodes.filter(({ controlPlane }) => controlPlane);
  // A managed cluster shows only the other nodes.
  if (nodes.length === 0) return managedControlPlane(checklist);
  // kubeadm applies a release once; the remaining nodes follow, even if the first was another node.
  let first = ![...facts.planes.values()].some((release) => isAt(release, target));
  for (const node of nodes) {
    const id = planeItem(node.name);
    const item = { section: sections.steps, title: `Control plane on ${node.name}` };
    if (list.note(id)?.kind === 'skipped') continue;
    const at = async () => isReached(await planeRelease(checklist, node), target);
    if (await at()) {
      await list.set(id, { ...item, state: 'ok', summary: `at ${target.text}` });
      first = false;
      continue;
    }
    const from = facts.planes.get(node.name) ?? oldestApiServer(facts);
    await list.set(id, { ...item, state: 'running', summary: fromTo(from, target) });
    const { kind } = facts.distribution;
    const commands = controlPlaneCommands({ kind, from, to: target, osImage: node.osImage, address: planeAddress(facts) }, first);
    const snapshot = list.note('snapshot')?.data?.['file'];
    await runCommands(checklist, node, {
      what: `Upgrade ${kind === 'talos' ? 'Kubernetes on all nodes' : `the control plane on ${node.name}`} to ${target.text}`,
      commands,
      seen: at,
      destroys: [
        `A downgrade from ${target.text} is not supported. To go back, restore the cluster state${typeof snapshot === 'string' ? ` from ${snapshot}` : ''}.`,
        'The API server restarts and is briefly unavailable.',
      ],
    });
    await untilSeen(checklist, node, `Control plane on ${node.name}`, async () => {
      if (await at()) return settled(checklist, node);
      const isSeen = (await planeRelease(checklist, node)) !== undefined;
      return isSeen ? 'not upgraded yet' : `the pod kube-apiserver-${node.name} was not found in kube-system`;
    });
    if (!checklist.session.dryRun) await list.set(id, { ...item, state: 'ok', summary: `at ${target.text}`, evidence: commands.text });
    first = false;
  }
}

async function managedControlPlane(checklist: ClusterChecklist): Promise<void> {
  const { facts, target, list, session } = checklist;
  const item = { section: sections.steps, title: 'Control plane' };
  const at = async () => isReached(await answeringRelease(checklist), target);
  if (!(await at())) {
    await list.set('control-plane', { ...item, state: 'running', summary: fromTo(facts.apiServer, target) });
    const commands = controlPlaneCommands({ kind: facts.distribution.kind, from: facts.apiServer, to: target, osImage: '' }, true);
    // The commands are for the control plane, not for a node that is visible.
    const [node] = facts.nodes.map((one) => ({ ...one, name: 'a control-plane node' }));
    if (node)
      await runCommands(checklist, node, {
        what: `Upgrade the control plane to ${target.text}`,
        commands: { ...commands, hand: commands.hand ?? 'the control plane nodes are not visible' },
        seen: at,
      });
    await untilSeen(checklist, { controlPlane: true }, 'Control plane', async () => ((await at()) ? undefined : 'not upgraded yet'));
  }
  if (!session.dryRun) await list.set('control-plane', { ...item, state: 'ok', summary: `at ${target.text}` });
}
