/* What is read of the API's objects. All of it may be missing: the objects are somebody else's. */

export interface Condition {
  type?: string;
  status?: string;
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
}

export interface Metadata {
  name: string;
  namespace?: string;
  uid?: string;
  labels?: Readonly<Record<string, string>>;
  annotations?: Readonly<Record<string, string>>;
  ownerReferences?: readonly { kind?: string; name?: string; controller?: boolean }[];
  deletionTimestamp?: string;
  creationTimestamp?: string;
}

export interface KubeNode {
  metadata: Metadata;
  spec?: { unschedulable?: boolean; providerID?: string };
  status?: {
    conditions?: readonly Condition[];
    addresses?: readonly { type?: string; address?: string }[];
    nodeInfo?: { kubeletVersion?: string; kubeProxyVersion?: string; containerRuntimeVersion?: string; osImage?: string };
  };
}

export interface KubePod {
  metadata: Metadata;
  spec?: {
    nodeName?: string;
    volumes?: readonly { name?: string; emptyDir?: unknown }[];
    containers?: readonly { name?: string; image?: string }[];
  };
  status?: {
    phase?: string;
    conditions?: readonly Condition[];
    containerStatuses?: readonly { name?: string; ready?: boolean; restartCount?: number; state?: { waiting?: { reason?: string } } }[];
  };
}

export interface KubeBudget {
  metadata: Metadata;
  status?: { disruptionsAllowed?: number; expectedPods?: number; currentHealthy?: number; desiredHealthy?: number };
}

export interface KubeWebhooks {
  metadata: Metadata;
  webhooks?: readonly {
    name?: string;
    failurePolicy?: string;
    clientConfig?: { service?: { namespace?: string; name?: string }; url?: string };
  }[];
}

export interface KubeSlice {
  metadata: Metadata;
  endpoints?: readonly { conditions?: { ready?: boolean } }[];
}

export interface KubeApiService {
  metadata: Metadata;
  spec?: { group?: string; version?: string; service?: unknown };
  status?: { conditions?: readonly Condition[] };
}

export interface KubeCrd {
  metadata: Metadata;
  spec?: {
    group?: string;
    versions?: readonly { name?: string; served?: boolean; storage?: boolean }[];
    conversion?: { strategy?: string };
  };
  status?: { storedVersions?: readonly string[] };
}

export const conditionOf = (conditions: readonly Condition[] | undefined, type: string): Condition | undefined =>
  conditions?.find((each) => each.type === type);

export const isReady = ({ status }: KubeNode | KubePod): boolean => conditionOf(status?.conditions, 'Ready')?.status === 'True';

/** Servers of k3s and RKE2 that hold nothing but etcd are upgraded as the others of the control plane are. */
export const isControlPlane = ({ metadata: { labels = {} } }: KubeNode): boolean =>
  'node-role.kubernetes.io/control-plane' in labels || 'node-role.kubernetes.io/master' in labels || holdsEtcd({ metadata: { labels } });

/** Told by k3s and RKE2 alone. */
export const holdsEtcd = ({ metadata: { labels = {} } }: { metadata: Pick<Metadata, 'labels'> }): boolean =>
  'node-role.kubernetes.io/etcd' in labels;

/** `web/shop-6c9f7d8b5-b4x2q` */
export const podName = ({ metadata: { namespace = '', name } }: KubePod): string => `${namespace}/${name}`;
