/** A kind of object that is served. */
export interface Resource {
  group: string;
  version: string;
  plural: string;
  kind: string;
  namespaced: boolean;
  short?: readonly string[];
  /** Served under another version too, from the same objects: the API is on its way out. */
  leaving?: { version: string; deprecated: string; removed: string; replacement: string };
  /** Served by what these made alone, from this minor on. */
  only?: { vendors: RegExp; since: number };
  /** `status`, `eviction` */
  sub?: readonly string[];
}

const core = (plural: string, kind: string, namespaced: boolean, rest: Partial<Resource> = {}): Resource => ({
  group: '',
  version: 'v1',
  plural,
  kind,
  namespaced,
  ...rest,
});
const other = (group: string, plural: string, kind: string, namespaced: boolean, rest: Partial<Resource> = {}): Resource => ({
  group,
  version: 'v1',
  plural,
  kind,
  namespaced,
  ...rest,
});

const flowControl = 'flowcontrol.apiserver.k8s.io';
const beta3 = { version: 'v1beta3', deprecated: '1.29', removed: '1.32', replacement: `${flowControl}/v1` };

export const resources: readonly Resource[] = [
  core('nodes', 'Node', false, { short: ['no'], sub: ['status'] }),
  core('namespaces', 'Namespace', false, { short: ['ns'] }),
  core('pods', 'Pod', true, { short: ['po'], sub: ['status', 'eviction', 'log'] }),
  core('services', 'Service', true, { short: ['svc'] }),
  core('endpoints', 'Endpoints', true, { short: ['ep'] }),
  core('configmaps', 'ConfigMap', true, { short: ['cm'] }),
  core('secrets', 'Secret', true),
  core('events', 'Event', true, { short: ['ev'] }),
  core('serviceaccounts', 'ServiceAccount', true, { short: ['sa'] }),
  core('persistentvolumeclaims', 'PersistentVolumeClaim', true, { short: ['pvc'] }),
  core('persistentvolumes', 'PersistentVolume', false, { short: ['pv'] }),
  other('apps', 'deployments', 'Deployment', true, { short: ['deploy'], sub: ['status', 'scale'] }),
  other('apps', 'replicasets', 'ReplicaSet', true, { short: ['rs'], sub: ['status', 'scale'] }),
  other('apps', 'daemonsets', 'DaemonSet', true, { short: ['ds'], sub: ['status'] }),
  other('apps', 'statefulsets', 'StatefulSet', true, { short: ['sts'], sub: ['status', 'scale'] }),
  other('batch', 'jobs', 'Job', true),
  other('batch', 'cronjobs', 'CronJob', true, { short: ['cj'] }),
  other('policy', 'poddisruptionbudgets', 'PodDisruptionBudget', true, { short: ['pdb'], sub: ['status'] }),
  other('coordination.k8s.io', 'leases', 'Lease', true),
  other('discovery.k8s.io', 'endpointslices', 'EndpointSlice', true),
  other('storage.k8s.io', 'storageclasses', 'StorageClass', false, { short: ['sc'] }),
  other('apiextensions.k8s.io', 'customresourcedefinitions', 'CustomResourceDefinition', false, {
    short: ['crd', 'crds'],
    sub: ['status'],
  }),
  other('apiregistration.k8s.io', 'apiservices', 'APIService', false),
  other('admissionregistration.k8s.io', 'validatingwebhookconfigurations', 'ValidatingWebhookConfiguration', false),
  other('admissionregistration.k8s.io', 'mutatingwebhookconfigurations', 'MutatingWebhookConfiguration', false),
  other('certificates.k8s.io', 'certificatesigningrequests', 'CertificateSigningRequest', false, { short: ['csr'] }),
  other(flowControl, 'flowschemas', 'FlowSchema', false, { leaving: beta3 }),
  other(flowControl, 'prioritylevelconfigurations', 'PriorityLevelConfiguration', false, { leaving: beta3 }),
  other('k3s.cattle.io', 'etcdsnapshotfiles', 'ETCDSnapshotFile', false, { only: { vendors: /k3s|rke2/, since: 28 } }),
  other('upgrade.cattle.io', 'plans', 'Plan', true, { only: { vendors: /k3s|rke2/, since: 0 } }),
  other('velero.io', 'backups', 'Backup', true),
  other('velero.io', 'schedules', 'Schedule', true),
  other('velero.io', 'backupstoragelocations', 'BackupStorageLocation', true, { short: ['bsl'] }),
];

export const keyOf = (resource: Resource): string => `${resource.group}/${resource.plural}`;

export const resourceOf = (group: string, plural: string): Resource => {
  const found = resources.find((resource) => resource.group === group && resource.plural === plural);
  if (found === undefined) throw new Error(`no resource ${plural}.${group}`);
  return found;
};

/** 31 of `v1.31.6`. */
export const minorOf = (version: string): number => Number(/^v?1\.(\d+)/.exec(version)?.[1] ?? 0);

/** The versions under which a resource is served by this release. */
export const versionsOf = (resource: Resource, apiServer: string): string[] => {
  const { leaving, only } = resource;
  if (only !== undefined && (!only.vendors.test(apiServer) || minorOf(apiServer) < only.since)) return [];
  return leaving !== undefined && minorOf(apiServer) < minorOf(leaving.removed) ? [resource.version, leaving.version] : [resource.version];
};

/** Some of them take and give a kind of another group. */
function subresource(plural: string, kind: string, namespaced: boolean, name: string) {
  const common = { name: `${plural}/${name}`, singularName: '', namespaced };
  if (name === 'eviction') return { ...common, group: 'policy', version: 'v1', kind: 'Eviction', verbs: ['create'] };
  if (name === 'scale') return { ...common, group: 'autoscaling', version: 'v1', kind: 'Scale', verbs: ['get', 'patch', 'update'] };
  return { ...common, kind, verbs: name === 'log' ? ['get'] : ['get', 'patch', 'update'] };
}

/** `v1` of a group: what it is made of. */
export function apiResourceList(group: string, version: string, apiServer: string) {
  if (group === 'authorization.k8s.io' && version === 'v1') return accessReviews;
  const own = resources.filter((resource) => resource.group === group && versionsOf(resource, apiServer).includes(version));
  if (own.length === 0) return undefined;
  const verbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];
  return {
    kind: 'APIResourceList',
    ...(group === '' ? {} : { apiVersion: 'v1' }),
    groupVersion: group === '' ? version : `${group}/${version}`,
    resources: own.flatMap(({ plural, kind, namespaced, short, sub }) => [
      { name: plural, singularName: kind.toLowerCase(), namespaced, kind, verbs, ...(short === undefined ? {} : { shortNames: short }) },
      ...(sub ?? []).map((name) => subresource(plural, kind, namespaced, name)),
    ]),
  };
}

const groupOf = (group: string, apiServer: string) => {
  const versions = [
    ...new Set(resources.filter((resource) => resource.group === group).flatMap((resource) => versionsOf(resource, apiServer))),
  ];
  const shapes = versions.map((version) => ({ groupVersion: `${group}/${version}`, version }));
  return { name: group, versions: shapes, preferredVersion: shapes[0] };
};

export const groupNames = (apiServer: string): string[] =>
  [...new Set(resources.filter((resource) => versionsOf(resource, apiServer).length > 0).map(({ group }) => group))].filter(
    (group) => group !== '',
  );

export const apiGroupList = (apiServer: string) => ({
  kind: 'APIGroupList',
  apiVersion: 'v1',
  groups: [...groupNames(apiServer).map((group) => groupOf(group, apiServer)), authorizationGroup],
});

export const apiGroup = (group: string, apiServer: string) =>
  groupNames(apiServer).includes(group) ? { kind: 'APIGroup', apiVersion: 'v1', ...groupOf(group, apiServer) } : undefined;

const accessReviews = {
  kind: 'APIResourceList',
  apiVersion: 'v1',
  groupVersion: 'authorization.k8s.io/v1',
  resources: [
    {
      name: 'selfsubjectaccessreviews',
      singularName: 'selfsubjectaccessreview',
      namespaced: false,
      kind: 'SelfSubjectAccessReview',
      verbs: ['create'],
    },
  ],
};

const authorizationGroup = {
  name: 'authorization.k8s.io',
  versions: [{ groupVersion: 'authorization.k8s.io/v1', version: 'v1' }],
  preferredVersion: { groupVersion: 'authorization.k8s.io/v1', version: 'v1' },
};

export const apiVersions = {
  kind: 'APIVersions',
  versions: ['v1'],
  serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress: '10.0.0.10:6443' }],
};
