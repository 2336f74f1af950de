import { nodes, pods } from './controllers.ts';
import type { Draft, KubeObject } from './kube-object.ts';
import type { MakerFacts } from './makers.ts';
import { type ObjectStore, seconds } from './object-store.ts';
import { runningStatus } from './pods.ts';
import { resourceOf } from './resources.ts';

export const controlPlane = 'cp-1';
export const workers = ['worker-1', 'worker-2', 'worker-3'] as const;

/** Of which release each node is: the workers were left behind, each a minor more. */
export interface Releases {
  apiServer: string;
  /** The nodes of the control plane; the first is `cp-1`. */
  servers: readonly string[];
  maker: MakerFacts;
  kubelets: Readonly<Record<string, string>>;
}

export const imageOf = (program: string, version: string): string => `registry.k8s.io/${program}:${version}`;

const condition = (type: string, status: string, reason: string, message: string, since: string) => ({
  type,
  status,
  lastHeartbeatTime: since,
  lastTransitionTime: since,
  reason,
  message,
});

export const readyCondition = (ready: boolean, since: string) =>
  ready
    ? condition('Ready', 'True', 'KubeletReady', 'kubelet is posting ready status', since)
    : condition('Ready', 'False', 'KubeletNotReady', 'container runtime status check may not have completed yet', since);

function nodeOf(name: string, index: number, { apiServer, kubelets, servers, maker }: Releases, since: string): Draft {
  const leader = servers.includes(name);
  const kubelet = kubelets[name] ?? apiServer;
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      creationTimestamp: since,
      labels: {
        'beta.kubernetes.io/os': 'linux',
        'kubernetes.io/arch': 'amd64',
        'kubernetes.io/hostname': name,
        'kubernetes.io/os': 'linux',
        ...(leader ? maker.serverLabels : {}),
      },
      annotations: maker.nodeAnnotations,
    },
    spec: {
      podCIDR: `10.244.${index}.0/24`,
      podCIDRs: [`10.244.${index}.0/24`],
      ...(leader ? { taints: [{ key: 'node-role.kubernetes.io/control-plane', effect: 'NoSchedule' }] } : {}),
    },
    status: {
      addresses: [
        { type: 'InternalIP', address: `10.0.0.${10 + index}` },
        { type: 'Hostname', address: name },
      ],
      allocatable: { cpu: '4', 'ephemeral-storage': '38Gi', memory: '7900Mi', pods: '110' },
      capacity: { cpu: '4', 'ephemeral-storage': '40Gi', memory: '8Gi', pods: '110' },
      conditions: [
        condition('MemoryPressure', 'False', 'KubeletHasSufficientMemory', 'kubelet has sufficient memory available', since),
        condition('DiskPressure', 'False', 'KubeletHasNoDiskPressure', 'kubelet has no disk pressure', since),
        condition('PIDPressure', 'False', 'KubeletHasSufficientPID', 'kubelet has sufficient PID available', since),
        readyCondition(true, since),
      ],
      daemonEndpoints: { kubeletEndpoint: { Port: 10250 } },
      nodeInfo: {
        architecture: 'amd64',
        bootID: `6f0c0f6e-0000-4000-8000-00000000000${index}`,
        containerRuntimeVersion: 'containerd://1.7.25',
        kernelVersion: '6.1.0-28-amd64',
        kubeProxyVersion: kubelet,
        kubeletVersion: kubelet,
        machineID: `0123456789abcdef0123456789abcde${index}`,
        operatingSystem: 'linux',
        osImage: maker.osImage,
        systemUUID: `00000000-0000-4000-8000-00000000000${index}`,
      },
    },
  };
}

interface Workload {
  namespace: string;
  name: string;
  replicas: number;
  image: string;
  volumes?: unknown[];
}

/** Everything that stands in the cluster at the start, and among it all that an upgrade stumbles over. */
export function buildScenery(store: ObjectStore, releases: Releases, morePods: number): void {
  const since = seconds(store.now() - 40 * 86_400_000);
  const add = (group: string, plural: string, draft: Draft, namespace?: string): KubeObject =>
    store.create(resourceOf(group, plural), { ...draft, metadata: { creationTimestamp: since, ...draft.metadata } }, namespace);
  const addPod = (
    namespace: string,
    nodeName: string,
    metadata: Draft['metadata'],
    spec: Record<string, unknown> = {},
    image = 'docker.io/library/busybox:1.36',
  ): KubeObject => {
    const full = { nodeName, restartPolicy: 'Always', terminationGracePeriodSeconds: 30, containers: [{ name: 'main', image }], ...spec };
    return add(
      '',
      'pods',
      { apiVersion: 'v1', kind: 'Pod', metadata, spec: full, status: runningStatus({ spec: full }, since) },
      namespace,
    );
  };
  const workload = (
    group: 'deployments' | 'statefulsets' | 'daemonsets',
    kind: string,
    { namespace, name, replicas, image, volumes }: Workload,
    places: readonly string[],
  ): void => {
    const labels = { app: name };
    const template = {
      metadata: { labels },
      spec: {
        containers: [{ name, image }],
        restartPolicy: 'Always',
        terminationGracePeriodSeconds: 30,
        ...(volumes === undefined ? {} : { volumes }),
      },
    };
    const spec = { ...(group === 'daemonsets' ? {} : { replicas }), selector: { matchLabels: labels }, template };
    const top = add('apps', group, { apiVersion: 'apps/v1', kind, metadata: { name, labels, generation: 1 }, spec, status: {} }, namespace);
    const refer = (owner: KubeObject) => [
      {
        apiVersion: 'apps/v1',
        kind: owner.kind,
        name: owner.metadata.name,
        uid: owner.metadata.uid,
        controller: true,
        blockOwnerDeletion: true,
      },
    ];
    let owner = top;
    if (group === 'deployments') {
      const set = {
        apiVersion: 'apps/v1',
        kind: 'ReplicaSet',
        metadata: { name: `${name}-6c9f7d8b5`, labels, ownerReferences: refer(top), generation: 1 },
        spec,
        status: {},
      };
      owner = add('apps', 'replicasets', set, namespace);
    }
    places.forEach((nodeName, index) => {
      const podName =
        group === 'statefulsets'
          ? `${name}-${index}`
          : `${owner.metadata.name}-${['b4x2q', 'h7k9m', 'n2c5v', 't8w3z', 'r6d8j', 'w9f4g'][index]}`;
      addPod(namespace, nodeName, { name: podName, labels, ownerReferences: refer(owner) }, template.spec);
    });
  };
  const budget = (namespace: string, name: string, app: string, rule: Record<string, unknown>): void => {
    add(
      'policy',
      'poddisruptionbudgets',
      {
        apiVersion: 'policy/v1',
        kind: 'PodDisruptionBudget',
        metadata: { name, generation: 1 },
        spec: { ...rule, selector: { matchLabels: { app } } },
        status: {},
      },
      namespace,
    );
  };
  const service = (namespace: string, name: string, app: string, port: number): void => {
    add(
      '',
      'services',
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name },
        spec: { type: 'ClusterIP', clusterIP: '10.96.0.50', selector: { app }, ports: [{ port, protocol: 'TCP' }] },
        status: { loadBalancer: {} },
      },
      namespace,
    );
  };

  for (const name of ['default', 'kube-node-lease', 'kube-public', 'kube-system', 'web', 'data', 'policy', 'velero']) {
    add('', 'namespaces', {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name, labels: { 'kubernetes.io/metadata.name': name } },
      spec: { finalizers: ['kubernetes'] },
      status: { phase: 'Active' },
    });
  }
  const all = [...releases.servers, ...workers];
  all.forEach((name, index) => {
    const node = store.create(nodes, nodeOf(name, index, releases, since));
    add(
      'coordination.k8s.io',
      'leases',
      {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { name },
        spec: { holderIdentity: name, leaseDurationSeconds: 40, renewTime: new Date(store.now()).toISOString() },
      },
      'kube-node-lease',
    );
    if (!releases.servers.includes(name)) return;
    for (const program of releases.maker.staticPods(releases.apiServer)) {
      addPod(
        'kube-system',
        name,
        {
          name: `${program.name}-${name}`,
          labels: { component: program.name, tier: 'control-plane' },
          annotations: { 'kubernetes.io/config.mirror': `${program.name}-mirror`, 'kubernetes.io/config.source': 'file' },
          ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name, uid: node.metadata.uid, controller: true }],
        },
        {
          hostNetwork: true,
          priorityClassName: 'system-node-critical',
          containers: [program],
        },
      );
    }
  });
  if (releases.maker.proxied)
    workload(
      'daemonsets',
      'DaemonSet',
      { namespace: 'kube-system', name: 'kube-proxy', replicas: all.length, image: imageOf('kube-proxy', releases.apiServer) },
      all,
    );
  workload(
    'daemonsets',
    'DaemonSet',
    { namespace: 'kube-system', name: 'kube-flannel', replicas: all.length, image: 'ghcr.io/flannel-io/flannel:v0.26.4' },
    all,
  );
  workload(
    'deployments',
    'Deployment',
    { namespace: 'kube-system', name: 'coredns', replicas: 2, image: 'registry.k8s.io/coredns/coredns:v1.11.3' },
    ['worker-1', 'worker-2'],
  );
  service('kube-system', 'kube-dns', 'coredns', 53);
  // A budget that lets go, one that never does, and a pod that two budgets claim.
  workload('deployments', 'Deployment', { namespace: 'web', name: 'shop', replicas: 3, image: 'docker.io/library/nginx:1.27' }, [
    'worker-1',
    'worker-2',
    'worker-3',
  ]);
  budget('web', 'shop', 'shop', { minAvailable: 2 });
  service('web', 'shop', 'shop', 80);
  workload('statefulsets', 'StatefulSet', { namespace: 'data', name: 'postgres', replicas: 1, image: 'docker.io/library/postgres:16' }, [
    'worker-3',
  ]);
  budget('data', 'postgres', 'postgres', { minAvailable: 1 });
  workload('deployments', 'Deployment', { namespace: 'data', name: 'queue', replicas: 1, image: 'docker.io/library/rabbitmq:4' }, [
    'worker-3',
  ]);
  budget('data', 'queue', 'queue', { maxUnavailable: 1 });
  budget('data', 'queue-old', 'queue', { maxUnavailable: 1 });
  budget('web', 'left-behind', 'nothing-of-this-name', { minAvailable: 1 });
  // Local data, a pod that nobody would bring back, one that is over, and one that keeps crashing.
  workload(
    'deployments',
    'Deployment',
    { namespace: 'web', name: 'cache', replicas: 1, image: 'docker.io/library/redis:7', volumes: [{ name: 'scratch', emptyDir: {} }] },
    ['worker-2'],
  );
  addPod('data', 'worker-2', { name: 'debug-shell', labels: { run: 'debug-shell' } });
  const over = addPod('web', 'worker-1', { name: 'migrate-28911', labels: { job: 'migrate' } }, { restartPolicy: 'Never' });
  store.update(pods, over, (copy) => {
    copy.status.phase = 'Succeeded';
    for (const own of copy.status.conditions) if (own.type === 'Ready' || own.type === 'ContainersReady') own.status = 'False';
  });
  workload('deployments', 'Deployment', { namespace: 'web', name: 'report', replicas: 1, image: 'docker.io/library/python:3.13' }, [
    'worker-3',
  ]);
  const crashing = store.list(pods, 'web').find(({ metadata }) => metadata.labels?.app === 'report');
  if (crashing !== undefined) {
    store.update(pods, crashing, (copy) => {
      for (const own of copy.status.conditions) if (own.type === 'Ready' || own.type === 'ContainersReady') own.status = 'False';
      const [container] = copy.status.containerStatuses;
      Object.assign(container, {
        ready: false,
        restartCount: 412,
        state: { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 5m0s restarting failed container=report' } },
      });
    });
  }
  // A webhook that fails closed, and whose service has nobody behind it.
  service('policy', 'policy-webhook', 'policy-webhook', 443);
  add('admissionregistration.k8s.io', 'validatingwebhookconfigurations', {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name: 'policy-webhook' },
    webhooks: [
      {
        name: 'pods.policy.example.com',
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        failurePolicy: 'Fail',
        matchPolicy: 'Equivalent',
        timeoutSeconds: 10,
        clientConfig: { service: { namespace: 'policy', name: 'policy-webhook', path: '/validate', port: 443 } },
        rules: [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['CREATE', 'UPDATE'], resources: ['*'], scope: '*' }],
        namespaceSelector: {},
      },
    ],
  });
  const apiService = (group: string, version: string, available: boolean, backend?: string): void => {
    const reason =
      backend === undefined
        ? { reason: 'Local', message: 'Local APIServices are always available' }
        : {
            reason: 'MissingEndpoints',
            message: `endpoints for service/${backend} in "kube-system" have no addresses with port name "https"`,
          };
    add('apiregistration.k8s.io', 'apiservices', {
      apiVersion: 'apiregistration.k8s.io/v1',
      kind: 'APIService',
      metadata: { name: `${version}.${group}` },
      spec: {
        group,
        version,
        groupPriorityMinimum: 17_800,
        versionPriority: 15,
        ...(backend === undefined ? {} : { service: { namespace: 'kube-system', name: backend, port: 443 } }),
      },
      status: { conditions: [{ type: 'Available', status: available ? 'True' : 'False', lastTransitionTime: since, ...reason }] },
    });
  };
  apiService('apps', 'v1', true);
  apiService('policy', 'v1', true);
  apiService('metrics.k8s.io', 'v1beta1', false, 'metrics-server');
  // Objects are still stored under a version that is served no more.
  const crd = (group: string, plural: string, kind: string, versions: unknown[], storedVersions: string[]): void => {
    add('apiextensions.k8s.io', 'customresourcedefinitions', {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: `${plural}.${group}`, generation: 1 },
      spec: {
        group,
        names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
        scope: 'Namespaced',
        versions,
        conversion: { strategy: 'None' },
      },
      status: { acceptedNames: { kind, plural }, conditions: [{ type: 'Established', status: 'True' }], storedVersions },
    });
  };
  crd('velero.io', 'backups', 'Backup', [{ name: 'v1', served: true, storage: true }], ['v1']);
  crd(
    'cert.example.com',
    'issuers',
    'Issuer',
    [
      { name: 'v1', served: true, storage: true },
      { name: 'v1alpha2', served: false, storage: false, deprecated: true },
    ],
    ['v1alpha2', 'v1'],
  );
  for (const [plural, kind] of [
    ['flowschemas', 'FlowSchema'],
    ['prioritylevelconfigurations', 'PriorityLevelConfiguration'],
  ] as const) {
    add('flowcontrol.apiserver.k8s.io', plural, {
      apiVersion: 'flowcontrol.apiserver.k8s.io/v1',
      kind,
      metadata: { name: plural === 'flowschemas' ? 'catch-all' : 'workload-low' },
      spec: {},
    });
  }
  const velero = (plural: string, kind: string, metadata: Draft['metadata'], spec: unknown, status: unknown): void => {
    add('velero.io', plural, { apiVersion: 'velero.io/v1', kind, metadata, spec, status }, 'velero');
  };
  const ago = (hours: number) => seconds(store.now() - hours * 3_600_000);
  velero(
    'backupstoragelocations',
    'BackupStorageLocation',
    { name: 'default' },
    { provider: 'aws', default: true, objectStorage: { bucket: 'backups' } },
    { phase: 'Available', lastValidationTime: ago(0.01), lastSyncedTime: ago(0.01) },
  );
  velero(
    'schedules',
    'Schedule',
    { name: 'nightly' },
    { schedule: '0 3 * * *', paused: false, template: { ttl: '168h0m0s', includedNamespaces: ['*'], storageLocation: 'default' } },
    { phase: 'Enabled', lastBackup: ago(9) },
  );
  for (const [hours, phase] of [
    [33, 'Completed'],
    [9, 'PartiallyFailed'],
  ] as const) {
    const name = `nightly-${ago(hours).replace(/\D/g, '').slice(0, 14)}`;
    velero(
      'backups',
      'Backup',
      { name, labels: { 'velero.io/schedule-name': 'nightly', 'velero.io/storage-location': 'default' }, creationTimestamp: ago(hours) },
      { ttl: '168h0m0s', includedNamespaces: ['*'], storageLocation: 'default' },
      {
        phase,
        startTimestamp: ago(hours),
        completionTimestamp: ago(hours - 0.1),
        expiration: ago(hours - 168),
        progress: { totalItems: 412, itemsBackedUp: 412 },
        ...(phase === 'Completed' ? {} : { errors: 2 }),
      },
    );
  }
  if (morePods > 0) {
    const places = Array.from({ length: morePods }, (_, index) => workers[index % workers.length] ?? workers[0]);
    places.forEach((nodeName, index) => {
      addPod('default', nodeName, { name: `many-${String(index).padStart(5, '0')}`, labels: { app: 'many' } });
    });
  }
}
