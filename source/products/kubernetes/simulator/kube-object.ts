export interface Metadata extends Record<'name' | 'uid' | 'resourceVersion' | 'creationTimestamp', string> {
  namespace?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: { kind: string; name: string; uid: string; controller: true }[];
  deletionTimestamp?: string;
}

/** An object of any kind: what is in it besides the metadata depends on the kind. */
export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: Metadata;
  // biome-ignore lint/suspicious/noExplicitAny: objects of all kinds pass through here, and their shapes are the API's, not ours.
  [key: string]: any;
}

/** What is written down for a new object; the rest is filled in. */
export interface Draft {
  metadata: Partial<Metadata> & { generateName?: string };
  [key: string]: unknown;
}

/** A failure as the API server words it. */
export class KubeRefusal extends Error {
  constructor(
    readonly code: number,
    readonly reason: string,
    message: string,
    readonly details: object = {},
  ) {
    super(message);
  }
}

export const statusOf = ({ message, reason, details, code }: KubeRefusal) => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Failure',
  message,
  ...(reason !== '' && { reason }),
  details,
  code,
});

/** A kind of object that is served. */
export interface Resource extends Record<'group' | 'version' | 'plural' | 'kind', string> {
  /** Served under another version too, from the same objects: the API is on its way out. */
  leaving?: { version: string; removed: string };
  /** Served by k3s and RKE2 alone, from this minor on. */
  rancherSince?: number;
}

const leaving = { version: 'v1beta3', removed: '1.32' };

export const resources: readonly Resource[] = (
  [
    ['', 'nodes', 'Node'],
    ['', 'pods', 'Pod'],
    ['', 'configmaps', 'ConfigMap'],
    ['apps', 'replicasets', 'ReplicaSet'],
    ['apps', 'statefulsets', 'StatefulSet'],
    ['apps', 'daemonsets', 'DaemonSet'],
    ['policy', 'poddisruptionbudgets', 'PodDisruptionBudget'],
    ['discovery.k8s.io', 'endpointslices', 'EndpointSlice'],
    ['apiextensions.k8s.io', 'customresourcedefinitions', 'CustomResourceDefinition'],
    ['apiregistration.k8s.io', 'apiservices', 'APIService'],
    ['admissionregistration.k8s.io', 'validatingwebhookconfigurations', 'ValidatingWebhookConfiguration'],
    ['admissionregistration.k8s.io', 'mutatingwebhookconfigurations', 'MutatingWebhookConfiguration'],
    ['flowcontrol.apiserver.k8s.io', 'flowschemas', 'FlowSchema', { leaving }],
    ['flowcontrol.apiserver.k8s.io', 'prioritylevelconfigurations', 'PriorityLevelConfiguration', { leaving }],
    ['k3s.cattle.io', 'etcdsnapshotfiles', 'ETCDSnapshotFile', { rancherSince: 28 }],
    ['upgrade.cattle.io', 'plans', 'Plan', { rancherSince: 0 }],
    ['velero.io', 'backups', 'Backup'],
    ['velero.io', 'schedules', 'Schedule'],
    ['velero.io', 'backupstoragelocations', 'BackupStorageLocation'],
  ] as [string, string, string, Partial<Resource>?][]
).map(([group, plural, kind, rest]) => ({ group, version: 'v1', plural, kind, ...rest }));

export const resourceOf = (group: string, plural: string): Resource => {
  const found = resources.find((resource) => resource.group === group && resource.plural === plural);
  if (found === undefined) throw new Error(`no resource ${plural}.${group}`);
  return found;
};

export const nodes = resourceOf('', 'nodes');
export const pods = resourceOf('', 'pods');
export const budgets = resourceOf('policy', 'poddisruptionbudgets');

/** `pods`, `poddisruptionbudgets.policy` */
export const fullName = ({ group, plural }: Resource): string => (group === '' ? plural : `${plural}.${group}`);

/** 31 of `v1.31.6`. */
export const minorOf = (version: string): number => Number(/^v?1\.(\d+)/.exec(version)?.[1] ?? 0);

/** The versions under which a resource is served by this release. */
export const versionsOf = ({ version, leaving, rancherSince }: Resource, apiServer: string): string[] => {
  if (rancherSince !== undefined && (!/k3s|rke2/.test(apiServer) || minorOf(apiServer) < rancherSince)) return [];
  return leaving !== undefined && minorOf(apiServer) < minorOf(leaving.removed) ? [version, leaving.version] : [version];
};

export const seconds = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');

export const isReady = (object: KubeObject): boolean =>
  (object.status?.conditions ?? []).some(({ type, status }: { type: string; status: string }) => type === 'Ready' && status === 'True');
