/* The fields of API objects that are read here. Any of them may be missing: the objects are from other programs. */

export type Condition = Partial<Record<'type' | 'status' | 'reason' | 'message', string>>;

export interface Named {
  metadata: {
    name: string;
    namespace?: string;
    uid?: string;
    labels?: Readonly<Record<string, string>>;
    annotations?: Readonly<Record<string, string>>;
    ownerReferences?: readonly { kind?: string; name?: string; controller?: boolean }[];
    deletionTimestamp?: string;
  };
}

export type KubeObject<Spec, Status> = Named & { spec?: Spec; status?: Status };

export type KubeNode = KubeObject<
  { unschedulable?: boolean },
  {
    conditions?: readonly Condition[];
    addresses?: readonly { type?: string; address?: string }[];
    nodeInfo?: Partial<Record<'kubeletVersion' | 'kubeProxyVersion' | 'containerRuntimeVersion' | 'osImage', string>>;
  }
>;

export type KubePod = KubeObject<
  {
    nodeName?: string;
    volumes?: readonly { emptyDir?: unknown }[];
    containers?: readonly { name?: string; image?: string }[];
  },
  {
    phase?: string;
    conditions?: readonly Condition[];
    containerStatuses?: readonly { restartCount?: number; state?: { waiting?: { reason?: string } } }[];
  }
>;

export const conditionOf = (conditions: readonly Condition[] | undefined, type: string): Condition | undefined =>
  conditions?.find((each) => each.type === type);

export const isReady = ({ status }: KubeNode | KubePod): boolean => conditionOf(status?.conditions, 'Ready')?.status === 'True';

/** Servers of k3s and RKE2 that run only etcd are upgraded like the rest of the control plane. */
export const isControlPlane = ({ metadata: { labels = {} } }: KubeNode): boolean =>
  ['control-plane', 'master', 'etcd'].some((role) => `node-role.kubernetes.io/${role}` in labels);

/** Reported only by k3s and RKE2. */
export const holdsEtcd = ({ metadata: { labels = {} } }: KubeNode): boolean => 'node-role.kubernetes.io/etcd' in labels;

export const podName = ({ metadata: { namespace = '', name } }: KubePod): string => `${namespace}/${name}`;
