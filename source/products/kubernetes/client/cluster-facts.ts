import { Fault } from '../../../faults/fault.ts';
import { cleanLine } from '../../../text/clean.ts';
import type { ClusterApi } from './api-client.ts';
import { isControlPlane, isReady, type KubeNode, type KubePod } from './api-shapes.ts';
import { distributionOf } from './distribution.ts';
import { compareReleases, type Release, releaseOf } from './release.ts';

export type ClusterNode = NonNullable<ReturnType<typeof nodeOf>>;
export type ClusterFacts = Awaited<ReturnType<typeof readCluster>>;

const component = /^(?:.*\/)?(kube-apiserver|kube-controller-manager|kube-scheduler|cloud-controller-manager|etcd)(?:[:@].*)?$/;

/** Reads everything once. Throws if the cluster does not respond or nodes may not be listed. */
export async function readCluster(api: ClusterApi, signal: AbortSignal) {
  const { gitVersion } = await api.get<{ gitVersion?: string }>('/version', signal);
  const apiServer = releaseOf(gitVersion);
  if (!apiServer) {
    const message = `${api.shown} does not report a Kubernetes version${gitVersion ? ` ("${cleanLine(String(gitVersion))}")` : ''}.`;
    throw new Fault('failed.cluster', message, 'Check the address in the kubeconfig.');
  }
  const nodes = (await api.list<KubeNode>('/api/v1/nodes', signal)).flatMap((node) => nodeOf(node) ?? []);
  let unseen: string | undefined;
  const system = await api.list<KubePod>('/api/v1/namespaces/kube-system/pods', signal).catch((thrown: unknown) => {
    signal.throwIfAborted();
    if (!(thrown instanceof Fault)) throw thrown;
    unseen = `add-ons and control plane pods: ${thrown.message}`;
    return [];
  });
  const parts = system.flatMap((pod) =>
    (pod.spec?.containers ?? []).flatMap(({ name: own = '', image = '' }) => {
      // RKE2 has all components in one image, `hardened-kubernetes`.
      const name = (component.exec(image) ?? component.exec(own))?.[1];
      const tag = tagOf(image);
      return name ? [{ name, pod: pod.metadata.name, node: pod.spec?.nodeName, tag, release: releaseOf(tag) }] : [];
    }),
  );
  const released = parts.flatMap(({ release, ...part }) => (release ? [{ ...part, release }] : []));
  const objects = nodes.map(({ object }) => object);
  const distribution = distributionOf(apiServer, objects);
  const pods = released.filter(({ name }) => name === 'kube-apiserver');
  // If all components are one program, the kubelet reports the release: its pods, if any, have another tag.
  const planes = new Map(
    distribution.isOneProgram
      ? nodes.flatMap(({ name, controlPlane, kubelet }) => (controlPlane ? [[name, kubelet] as const] : []))
      : pods.flatMap(({ node, release }) => (node === undefined ? [] : [[node, release] as const])),
  );
  const seen = [...planes.values(), ...pods.map(({ release }) => release)].sort(compareReleases);
  const isOther = (release: Release, other: Release | undefined) => !other || compareReleases(release, other) !== 0;
  const others = seen.filter((release, index) => isOther(release, apiServer) && isOther(release, seen[index - 1]));
  const controllers = released.filter(({ name }) => name !== 'kube-apiserver' && name !== 'etcd');
  return {
    /** Release of the API server that answered. */
    apiServer,
    /** All releases that could be read, the one that answered last: several during an upgrade of the control plane. */
    apiServers: [...others, apiServer] as readonly Release[],
    /** Releases by node of the control plane, as far as they can be read. */
    planes,
    distribution,
    /** Control plane first, then by name. */
    nodes: nodes.sort((one, other) => Number(other.controlPlane) - Number(one.controlPlane) || (one.name < other.name ? -1 : 1)),
    etcd: parts.find(({ name }) => name === 'etcd')?.tag,
    controllers: controllers.map(({ pod, node, release }) => ({ name: pod, release, apiServer: planes.get(node ?? '') })),
    addons: addonsOf(system),
    /** The parts that could not be read, with the reason. */
    unseen,
  };
}

/** While a control plane is half upgraded, no kubelet may be newer than its oldest API server. */
export const oldestApiServer = ({ apiServers }: ClusterFacts): Release => apiServers.toSorted(compareReleases)[0] as Release;

/** The release of the newest API server cannot be downgraded. */
export const newestApiServer = ({ apiServers }: ClusterFacts): Release => apiServers.toSorted(compareReleases).at(-1) as Release;

export async function readNode(api: ClusterApi, name: string, signal: AbortSignal): Promise<ClusterNode | undefined> {
  const node = await api.find<KubeNode>(`/api/v1/nodes/${encodeURIComponent(name)}`, signal);
  return node && nodeOf(node);
}

function nodeOf(object: KubeNode) {
  const { nodeInfo = {}, addresses = [] } = object.status ?? {};
  const kubelet = releaseOf(nodeInfo.kubeletVersion);
  // A node that is joining has not reported its release yet.
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

/** Returns `v1.31.6` of `registry.k8s.io/kube-apiserver:v1.31.6@sha256:...` */
export const tagOf = (image: string): string => /:([^:/@]+)$/.exec(image.replace(/@.*$/, ''))?.[1] ?? '';

/** The upgrade does not change add-ons, and they may be incompatible afterwards: one for each image that a controller runs. */
function addonsOf(pods: readonly KubePod[]): { name: string; image: string }[] {
  const seen = new Map<string, string>();
  for (const { metadata, spec } of pods) {
    const owner = metadata.ownerReferences?.find(({ controller }) => controller);
    if (!owner || !['ReplicaSet', 'DaemonSet', 'StatefulSet'].includes(owner.kind ?? '')) continue;
    const name = (owner.name ?? metadata.name).replace(owner.kind === 'ReplicaSet' ? /-[a-z0-9]{6,10}$/ : /$^/, '');
    const image = spec?.containers?.[0]?.image;
    if (image !== undefined && !seen.has(name)) seen.set(name, image);
  }
  return [...seen].map(([name, image]) => ({ name, image })).sort((one, other) => (one.name < other.name ? -1 : 1));
}
