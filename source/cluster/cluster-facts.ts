import { Fault } from '../faults/fault.ts';
import { cleanLine } from '../text/clean.ts';
import type { ClusterApi } from './api-client.ts';
import { isControlPlane, isReady, type KubeNode, type KubePod } from './api-shapes.ts';
import { type Distribution, distributionOf, isOneProgram } from './distribution.ts';
import { compareReleases, type Release, releaseOf } from './release.ts';

export interface ClusterNode {
  name: string;
  controlPlane: boolean;
  ready: boolean;
  cordoned: boolean;
  kubelet: Release;
  proxy: Release | undefined;
  runtime: string;
  osImage: string;
  addresses: readonly string[];
  object: KubeNode;
}

/** Where a cluster is. */
export interface ClusterFacts {
  /** What answered. */
  apiServer: Release;
  /** All that could be seen: several where the control plane is. */
  apiServers: readonly Release[];
  /** Of those: the one of each node of the control plane, by node, where it can be seen. */
  planes: ReadonlyMap<string, Release>;
  distribution: Distribution;
  /** The control plane first, then by name. */
  nodes: readonly ClusterNode[];
  etcd: string | undefined;
  controllers: readonly { name: string; release: Release; apiServer: Release | undefined }[];
  addons: readonly { name: string; image: string }[];
  /** What could not be looked at, and why. */
  unseen: readonly string[];
}

const component = /^(?:.*\/)?(kube-apiserver|kube-controller-manager|kube-scheduler|cloud-controller-manager|etcd)(?:[:@].*)?$/;

/** Asks once for everything. Throws where the cluster does not answer, or no node may be seen. */
export async function readCluster(api: ClusterApi, signal: AbortSignal): Promise<ClusterFacts> {
  const { gitVersion } = await api.get<{ gitVersion?: string }>('/version', signal);
  const apiServer = releaseOf(gitVersion);
  if (!apiServer) {
    throw new Fault({
      code: 'failed.cluster',
      message: `What answers at ${api.shown} tells no release of Kubernetes ("${cleanLine(String(gitVersion))}").`,
      remedy: 'Look at the address in the kubeconfig.',
    });
  }
  const nodes = (await api.list<KubeNode>('/api/v1/nodes', signal)).flatMap((node) => nodeOf(node) ?? []);
  const unseen: string[] = [];
  const system = await api.list<KubePod>('/api/v1/namespaces/kube-system/pods', signal).catch((thrown: unknown) => {
    signal.throwIfAborted();
    if (!(thrown instanceof Fault)) throw thrown;
    unseen.push(`add-ons and the control plane's pods: ${thrown.message}`);
    return [];
  });
  const parts = system.flatMap((pod) =>
    (pod.spec?.containers ?? []).flatMap(({ name: own = '', image = '' }) => {
      // RKE2 has all of them in one image, `hardened-kubernetes`.
      const name = (component.exec(image) ?? component.exec(own))?.[1];
      return name ? [{ name, pod: pod.metadata.name, node: pod.spec?.nodeName, image }] : [];
    }),
  );
  const releases = (wanted: (name: string) => boolean) =>
    parts.flatMap(({ name, pod, node, image }) => {
      const release = wanted(name) ? releaseOf(tagOf(image)) : undefined;
      return release ? [{ name: pod, node, release }] : [];
    });
  const distribution = distributionOf(
    apiServer,
    nodes.map(({ object }) => object),
  );
  const pods = releases((name) => name === 'kube-apiserver');
  // Where all of it is one program, the kubelet tells the release: its pods, if any, have a tag of their own.
  const planes = new Map(
    isOneProgram(distribution)
      ? nodes.flatMap(({ name, controlPlane, kubelet }) => (controlPlane ? [[name, kubelet] as const] : []))
      : pods.flatMap(({ node, release }) => (node === undefined ? [] : [[node, release] as const])),
  );
  const seen = [...planes.values(), ...pods.map(({ release }) => release)].sort(compareReleases);
  return {
    apiServer,
    apiServers: [
      ...seen.filter(
        (release, index) =>
          compareReleases(release, apiServer) !== 0 && seen.findIndex((each) => compareReleases(release, each) === 0) === index,
      ),
      apiServer,
    ],
    planes,
    distribution,
    nodes: nodes.sort((one, other) => Number(other.controlPlane) - Number(one.controlPlane) || (one.name < other.name ? -1 : 1)),
    etcd: parts.flatMap(({ name, image }) => (name === 'etcd' ? [tagOf(image)] : []))[0],
    controllers: releases((name) => name !== 'kube-apiserver' && name !== 'etcd').map(({ name, node, release }) => ({
      name,
      release,
      apiServer: node === undefined ? undefined : planes.get(node),
    })),
    addons: addonsOf(system),
    unseen,
  };
}

/** The API server that is furthest behind: while a control plane is half upgraded, no kubelet may be newer. */
export const oldestApiServer = ({ apiServer, apiServers }: ClusterFacts): Release =>
  apiServers.reduce((oldest, release) => (compareReleases(release, oldest) < 0 ? release : oldest), apiServer);

/** The API server that is furthest ahead: there is no way back from its release. */
export const newestApiServer = ({ apiServer, apiServers }: ClusterFacts): Release =>
  apiServers.reduce((newest, release) => (compareReleases(release, newest) > 0 ? release : newest), apiServer);

/** One node as it is now. Undefined where it is gone. */
export async function readNode(api: ClusterApi, name: string, signal: AbortSignal): Promise<ClusterNode | undefined> {
  const node = await api.find<KubeNode>(`/api/v1/nodes/${encodeURIComponent(name)}`, signal);
  return node && nodeOf(node);
}

function nodeOf(object: KubeNode): ClusterNode | undefined {
  const { nodeInfo = {}, addresses = [] } = object.status ?? {};
  const kubelet = releaseOf(nodeInfo.kubeletVersion);
  // One that joins just now has not said what it is.
  if (!kubelet) return undefined;
  return {
    name: object.metadata.name,
    controlPlane: isControlPlane(object),
    ready: isReady(object),
    cordoned: object.spec?.unschedulable === true,
    kubelet,
    proxy: releaseOf(nodeInfo.kubeProxyVersion),
    runtime: nodeInfo.containerRuntimeVersion ?? '',
    osImage: nodeInfo.osImage ?? '',
    addresses: addresses.flatMap(({ address }) => address ?? []),
    object,
  };
}

/** `v1.31.6` of `registry.k8s.io/kube-apiserver:v1.31.6@sha256:...` */
function tagOf(image: string): string {
  return /:([^:/@]+)(?:@.*)?$/.exec(image.replace(/@sha256:.*$/, ''))?.[1] ?? '';
}

/** What the upgrade does not touch, and may no longer fit: one line for each image that a controller runs. */
function addonsOf(pods: readonly KubePod[]): { name: string; image: string }[] {
  const seen = new Map<string, string>();
  for (const { metadata, spec } of pods) {
    const owner = metadata.ownerReferences?.find(({ controller }) => controller);
    if (owner?.kind !== 'ReplicaSet' && owner?.kind !== 'DaemonSet' && owner?.kind !== 'StatefulSet') continue;
    const name = (owner.name ?? metadata.name).replace(owner.kind === 'ReplicaSet' ? /-[a-z0-9]{6,10}$/ : /$^/, '');
    const image = spec?.containers?.[0]?.image;
    if (image !== undefined && !seen.has(name)) seen.set(name, image);
  }
  return [...seen].map(([name, image]) => ({ name, image })).sort((one, other) => (one.name < other.name ? -1 : 1));
}
