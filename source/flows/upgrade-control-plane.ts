import { type ClusterNode, oldestApiServer, readNode } from '../cluster/cluster-facts.ts';
import { isOneProgram } from '../cluster/distribution.ts';
import { controlPlaneCommands } from '../cluster/node-commands.ts';
import { type Release, releaseOf } from '../cluster/release.ts';
import { type ClusterWalk, fromTo, isAt, planeAddress, planeItem, sections } from './cluster-walk.ts';
import { runCommands, untilSeen } from './run-on-node.ts';

async function planeRelease({ api, session, facts }: ClusterWalk, node: ClusterNode): Promise<Release | undefined> {
  const pod = await api.find<{ spec?: { containers?: { image?: string }[] } }>(
    `/api/v1/namespaces/kube-system/pods/kube-apiserver-${encodeURIComponent(node.name)}`,
    session.signal,
  );
  const image = pod?.spec?.containers?.[0]?.image;
  if (image !== undefined) return releaseOf(/:([^:/@]+)(?:@.*)?$/.exec(image)?.[1]);
  // In k3s and RKE2 all of it is one program.
  if (isOneProgram(facts.distribution)) return (await readNode(api, node.name, session.signal))?.kubelet;
  // Elsewhere what answers is all that can be seen: with several API servers it says nothing about this one.
  if (facts.distribution.kind === 'kubeadm' && facts.nodes.filter(({ controlPlane }) => controlPlane).length > 1) return undefined;
  return releaseOf((await api.get<{ gitVersion?: string }>('/version', session.signal)).gitVersion);
}

/** The next one is not touched before this one is well: two members of etcd that are away may be one too many. */
async function settled({ api, session, facts, target }: ClusterWalk, { name }: ClusterNode): Promise<string | undefined> {
  const node = await readNode(api, name, session.signal);
  if (!node?.ready) return 'its node is not ready yet';
  const { status } = await api.text('/readyz', session.signal);
  if (status !== 200) return `/readyz answers ${status}`;
  // In one program with the API server, its kubelet comes back last.
  return isOneProgram(facts.distribution) && !isAt(node.kubelet, target) ? 'its kubelet is behind yet' : undefined;
}

/** The control plane, one node after the other: the first does the cluster's part. */
export async function upgradeControlPlane(walk: ClusterWalk): Promise<void> {
  const { facts, target, list } = walk;
  const nodes = facts.nodes.filter(({ controlPlane }) => controlPlane);
  if (nodes.length === 0) {
    // Of a managed cluster only the other nodes are seen.
    await managedControlPlane(walk);
    return;
  }
  // kubeadm applies a release once; the other nodes follow, also where somebody began on another node.
  let first = ![...facts.planes.values()].some((release) => isAt(release, target));
  for (const node of nodes) {
    const id = planeItem(node.name);
    const item = { section: sections.steps, title: `Control plane on ${node.name}` };
    if (list.note(id)?.kind === 'skipped') continue;
    const at = async () => {
      const release = await planeRelease(walk, node);
      return release !== undefined && isAt(release, target);
    };
    if (await at()) {
      await list.set(id, { ...item, state: 'ok', summary: `at ${target.text}` });
      first = false;
      continue;
    }
    const from = facts.planes.get(node.name) ?? oldestApiServer(facts);
    await list.set(id, { ...item, state: 'running', summary: fromTo(from, target) });
    const commands = controlPlaneCommands(
      { kind: facts.distribution.kind, from, to: target, osImage: node.osImage, address: planeAddress(facts) },
      first,
    );
    const snapshot = list.note('snapshot')?.data?.['file'];
    await runCommands(walk, node, {
      what:
        facts.distribution.kind === 'talos'
          ? `Upgrade Kubernetes on all nodes to ${target.text}`
          : `Upgrade the control plane on ${node.name} to ${target.text}`,
      commands,
      seen: at,
      destroys: [
        `There is no way back from ${target.text} but restoring etcd${typeof snapshot === 'string' ? ` from ${snapshot}` : ''}.`,
        'The API server restarts: for a moment nothing can be asked or changed.',
      ],
    });
    await untilSeen(walk, node, `Control plane on ${node.name}`, async () => {
      if (await at()) return settled(walk, node);
      return (await planeRelease(walk, node)) ? 'not upgraded yet' : `its pod kube-apiserver-${node.name} cannot be seen in kube-system`;
    });
    if (!walk.session.rehearsing) await list.set(id, { ...item, state: 'ok', summary: `at ${target.text}`, evidence: commands.text });
    first = false;
  }
}

async function managedControlPlane(walk: ClusterWalk): Promise<void> {
  const { api, facts, target, list, session } = walk;
  const item = { section: sections.steps, title: 'Control plane' };
  const at = async () => {
    const release = releaseOf((await api.get<{ gitVersion?: string }>('/version', session.signal)).gitVersion);
    return release !== undefined && isAt(release, target);
  };
  if (!(await at())) {
    await list.set('control-plane', { ...item, state: 'running', summary: fromTo(facts.apiServer, target) });
    const commands = controlPlaneCommands({ kind: facts.distribution.kind, from: facts.apiServer, to: target, osImage: '' }, true);
    const [any] = facts.nodes;
    if (any)
      await runCommands(walk, any, {
        what: `Upgrade the control plane to ${target.text}`,
        commands: { ...commands, hand: commands.hand ?? 'its nodes are not seen' },
        seen: at,
      });
    await untilSeen(walk, { controlPlane: true }, 'Control plane', async () => ((await at()) ? undefined : 'not there yet'));
  }
  if (!session.rehearsing) await list.set('control-plane', { ...item, state: 'ok', summary: `at ${target.text}` });
}
