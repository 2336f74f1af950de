import { ownerReference, runningStatus } from './controllers.ts';
import { type Draft, type KubeObject, nodes, pods, resourceOf, seconds } from './kube-object.ts';
import type { BuilderFacts } from './object-builders.ts';
import type { ObjectStore } from './object-store.ts';

export const controlPlane = 'cp-1';
export const workers = ['worker-1', 'worker-2', 'worker-3'] as const;

/** Of which release each node is: the workers were left behind, each a minor more. */
export interface Releases {
  apiServer: string;
  servers: readonly string[];
  maker: BuilderFacts;
  kubelets: Readonly<Record<string, string>>;
}

export const imageOf = (program: string, version: string): string => `registry.k8s.io/${program}:${version}`;

export const readyCondition = (ready: boolean, since: string) => ({
  type: 'Ready',
  status: ready ? 'True' : 'False',
  lastTransitionTime: since,
  reason: ready ? 'KubeletReady' : 'KubeletNotReady',
  message: ready ? 'kubelet is posting ready status' : 'container runtime status check may not have completed yet',
});

function nodeOf(name: string, index: number, { apiServer, kubelets, servers, maker }: Releases, since: string): Draft {
  const kubelet = kubelets[name] ?? apiServer;
  const pressures = ['MemoryPressure', 'DiskPressure', 'PIDPressure'].map((type) => ({ type, status: 'False', lastTransitionTime: since }));
  return {
    metadata: {
      name,
      creationTimestamp: since,
      labels: { 'kubernetes.io/hostname': name, ...(servers.includes(name) && maker.serverLabels) },
      annotations: { ...maker.nodeAnnotations },
    },
    spec: {},
    status: {
      addresses: [
        { type: 'InternalIP', address: `10.0.0.${10 + index}` },
        { type: 'Hostname', address: name },
      ],
      conditions: [...pressures, readyCondition(true, since)],
      nodeInfo: {
        architecture: 'amd64',
        containerRuntimeVersion: 'containerd://1.7.25',
        kubeProxyVersion: kubelet,
        kubeletVersion: kubelet,
        osImage: maker.osImage,
      },
    },
  };
}

/** Everything that is in the cluster at the start, and among it all that an upgrade stumbles over. */
export function buildScenery(store: ObjectStore, releases: Releases, morePods: number): void {
  const since = seconds(Date.now() - 40 * 86_400_000);
  const ago = (hours: number) => seconds(Date.now() - hours * 3_600_000);
  const add = (group: string, plural: string, name: string, rest: object = {}, namespace?: string): KubeObject =>
    store.create(resourceOf(group, plural), { metadata: { name, creationTimestamp: since }, ...rest }, namespace);
  const addPod = (namespace: string, nodeName: string, metadata: Draft['metadata'], more: object = {}): KubeObject => {
    const spec = { nodeName, containers: [{ name: 'main', image: 'docker.io/library/busybox:1.36' }], ...more };
    return store.create(pods, { metadata, spec, status: runningStatus(spec, since) }, namespace);
  };
  const workload = (
    [namespace = '', name = '']: readonly string[],
    image: string,
    placed: readonly string[],
    { plural = 'replicasets', ...more }: { plural?: string; volumes?: object[] } = {},
  ): void => {
    const labels = { app: name };
    const template = { metadata: { labels }, spec: { containers: [{ name, image }], ...more } };
    const set = plural === 'replicasets' ? `${name}-6c9f7d8b5` : name;
    const spec = { replicas: placed.length, selector: { matchLabels: labels }, template };
    const owner = add('apps', plural, set, { spec }, namespace);
    placed.forEach((nodeName, index) => {
      const suffix = plural === 'statefulsets' ? index : ['b4x2q', 'h7k9m', 'n2c5v', 't8w3z', 'r6d8j', 'w9f4g'][index];
      addPod(namespace, nodeName, { name: `${set}-${suffix}`, labels, ownerReferences: ownerReference(owner) }, template.spec);
    });
  };
  const budget = (namespace: string, name: string, app: string, rule: object): void => {
    add('policy', 'poddisruptionbudgets', name, { spec: { ...rule, selector: { matchLabels: { app } } }, status: {} }, namespace);
  };

  const all = [...releases.servers, ...workers];
  all.forEach((name, index) => {
    const node = store.create(nodes, nodeOf(name, index, releases, since));
    if (!releases.servers.includes(name)) return;
    for (const program of releases.maker.staticPods(releases.apiServer)) {
      const metadata = {
        name: `${program.name}-${name}`,
        labels: { component: program.name, tier: 'control-plane' },
        annotations: { 'kubernetes.io/config.mirror': `${program.name}-mirror` },
        ownerReferences: ownerReference(node),
      };
      addPod('kube-system', name, metadata, { containers: [program] });
    }
  });
  const daemons = { plural: 'daemonsets' };
  if (releases.maker.proxied) workload(['kube-system', 'kube-proxy'], imageOf('kube-proxy', releases.apiServer), all, daemons);
  workload(['kube-system', 'kube-flannel'], 'ghcr.io/flannel-io/flannel:v0.26.4', all, daemons);
  workload(['kube-system', 'coredns'], 'registry.k8s.io/coredns/coredns:v1.11.3', ['worker-1', 'worker-2']);
  // A budget that lets go, one that never does, and a pod that two budgets claim.
  workload(['web', 'shop'], 'docker.io/library/nginx:1.27', workers);
  budget('web', 'shop', 'shop', { minAvailable: 2 });
  workload(['data', 'postgres'], 'docker.io/library/postgres:16', ['worker-3'], { plural: 'statefulsets' });
  budget('data', 'postgres', 'postgres', { minAvailable: 1 });
  workload(['data', 'queue'], 'docker.io/library/rabbitmq:4', ['worker-3']);
  budget('data', 'queue', 'queue', { maxUnavailable: 1 });
  budget('data', 'queue-old', 'queue', { maxUnavailable: 1 });
  budget('web', 'left-behind', 'nothing-of-this-name', { minAvailable: 1 });
  // Local data, a pod that would not come back, one that is over, and one that keeps crashing.
  workload(['web', 'cache'], 'docker.io/library/redis:7', ['worker-2'], { volumes: [{ name: 'scratch', emptyDir: {} }] });
  addPod('data', 'worker-2', { name: 'debug-shell', labels: { run: 'debug-shell' } });
  const breakPod = (pod: KubeObject | undefined, change: (status: KubeObject['spec']) => void): void => {
    if (!pod) return;
    store.update(pods, pod, (copy) => {
      copy.status.conditions[0].status = 'False';
      change(copy.status);
    });
  };
  breakPod(addPod('web', 'worker-1', { name: 'migrate-28911', labels: { job: 'migrate' } }), (status) => {
    status.phase = 'Succeeded';
  });
  workload(['web', 'report'], 'docker.io/library/python:3.13', ['worker-3']);
  const report = store.list(pods, 'web').find(({ metadata }) => metadata.labels?.app === 'report');
  breakPod(report, (status) => {
    const waiting = { reason: 'CrashLoopBackOff', message: 'back-off 5m0s restarting failed container=report' };
    Object.assign(status.containerStatuses[0], { ready: false, restartCount: 412, state: { waiting } });
  });
  // A webhook that fails closed, and whose service has no pod behind it.
  const clientConfig = { service: { namespace: 'policy', name: 'policy-webhook', path: '/validate', port: 443 } };
  add('admissionregistration.k8s.io', 'validatingwebhookconfigurations', 'policy-webhook', {
    webhooks: [{ name: 'pods.policy.example.com', failurePolicy: 'Fail', clientConfig }],
  });
  const apiService = (group: string, version: string, service: string | undefined): void => {
    const missing = { status: 'False', reason: 'MissingEndpoints', message: `endpoints for service/${service} have no addresses` };
    const condition = { type: 'Available', ...(service ? missing : { status: 'True', reason: 'Local' }) };
    const spec = { group, version, ...(service && { service: { namespace: 'kube-system', name: service } }) };
    add('apiregistration.k8s.io', 'apiservices', `${version}.${group}`, { spec, status: { conditions: [condition] } });
  };
  apiService('apps', 'v1', undefined);
  apiService('policy', 'v1', undefined);
  apiService('metrics.k8s.io', 'v1beta1', 'metrics-server');
  // Objects are still stored under a version that is no longer served.
  const crd = (group: string, plural: string, versions: object[], storedVersions: string[]): void => {
    const spec = { group, versions, conversion: { strategy: 'None' } };
    add('apiextensions.k8s.io', 'customresourcedefinitions', `${plural}.${group}`, { spec, status: { storedVersions } });
  };
  const current = { name: 'v1', served: true, storage: true };
  crd('velero.io', 'backups', [current], ['v1']);
  crd('cert.example.com', 'issuers', [current, { name: 'v1alpha2', served: false, storage: false }], ['v1alpha2', 'v1']);
  add('flowcontrol.apiserver.k8s.io', 'flowschemas', 'catch-all');
  add('flowcontrol.apiserver.k8s.io', 'prioritylevelconfigurations', 'workload-low');
  const velero = (plural: string, name: string, hours: number, rest: object): void => {
    store.create(resourceOf('velero.io', plural), { metadata: { name, creationTimestamp: ago(hours) }, ...rest }, 'velero');
  };
  velero('backupstoragelocations', 'default', 0, { status: { phase: 'Available' } });
  velero('schedules', 'nightly', 0, { spec: { schedule: '0 3 * * *' }, status: { phase: 'Enabled', lastBackup: ago(9) } });
  const backup = (hours: number, status: object): void => {
    const times = { startTimestamp: ago(hours), completionTimestamp: ago(hours - 0.1), expiration: ago(hours - 168) };
    velero('backups', `nightly-${ago(hours).replace(/\D/g, '').slice(0, 14)}`, hours, { status: { ...status, ...times } });
  };
  backup(33, { phase: 'Completed' });
  backup(9, { phase: 'PartiallyFailed', errors: 2 });
  for (let index = 0; index < morePods; index++)
    addPod('default', workers[index % workers.length] ?? workers[0], { name: `many-${String(index).padStart(5, '0')}` });
}
