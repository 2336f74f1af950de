import type { KubeObject } from './kube-object.ts';
import { type ObjectStore, seconds } from './object-store.ts';
import { podOf, runningStatus, sliceOf, slices } from './pods.ts';
import { resourceOf } from './resources.ts';
import { specTest } from './selectors.ts';

export const nodes = resourceOf('', 'nodes');
export const pods = resourceOf('', 'pods');
export const budgets = resourceOf('policy', 'poddisruptionbudgets');
const replicaSets = resourceOf('apps', 'replicasets');
const deployments = resourceOf('apps', 'deployments');
const daemonSets = resourceOf('apps', 'daemonsets');
const statefulSets = resourceOf('apps', 'statefulsets');
const services = resourceOf('', 'services');
const endpoints = resourceOf('', 'endpoints');

export interface Pace {
  /** From being scheduled to being ready. */
  podStartMs: number;
  /** The longest that a deleted pod takes, whatever its grace period. */
  terminationMs: number;
}

export const isReady = (object: KubeObject): boolean =>
  (object.status?.conditions ?? []).some(({ type, status }: { type: string; status: string }) => type === 'Ready' && status === 'True');

const isGoing = (pod: KubeObject): boolean => pod.metadata.deletionTimestamp !== undefined;
const isOver = (pod: KubeObject): boolean => pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
const ownedBy = (owner: KubeObject) => (pod: KubeObject) =>
  pod.metadata.ownerReferences?.some(({ uid }) => uid === owner.metadata.uid) === true;

/** A share of `total`: `2` or `"50%"`, rounded up. */
function shareOf(value: unknown, total: number): number {
  if (typeof value === 'number') return value;
  return typeof value === 'string' && value.endsWith('%') ? Math.ceil((Number(value.slice(0, -1)) * total) / 100) : 0;
}

/** What the controllers, the scheduler and the kubelets do: pods for who wants them, on nodes that take them, and the sums about them. */
export class Controllers {
  readonly #store: ObjectStore;
  readonly #pace: Pace;
  readonly #timers = new Set<NodeJS.Timeout>();
  #waiting: NodeJS.Immediate | undefined;
  #stopWatching: (() => void) | undefined;

  constructor(store: ObjectStore, pace: Pace) {
    this.#store = store;
    this.#pace = pace;
  }

  start(): void {
    this.#stopWatching = this.#store.watch(({ key }) => {
      if (!key.startsWith('coordination.k8s.io/')) this.#soon();
    });
    for (const pod of this.#store.list(pods)) {
      if (isGoing(pod)) this.after(this.#pace.terminationMs, () => this.#gone(pod));
      else if (pod.status?.phase === 'Pending' && pod.spec.nodeName) this.after(this.#pace.podStartMs, () => this.#run(pod));
    }
    this.reconcile();
  }

  stop(): void {
    this.#stopWatching?.();
    if (this.#waiting !== undefined) clearImmediate(this.#waiting);
    this.#waiting = undefined;
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }

  /** Does something later, unless the cluster is stopped before. */
  after(ms: number, work: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      work();
    }, ms);
    timer.unref();
    this.#timers.add(timer);
  }

  #soon(): void {
    this.#waiting ??= setImmediate(() => {
      this.#waiting = undefined;
      this.reconcile();
    });
  }

  /** One round over everything; what is as it should be is not touched. */
  reconcile(): void {
    this.#nodes();
    const byOwner = Map.groupBy(
      this.#store.list(pods),
      (pod) => pod.metadata.ownerReferences?.find(({ controller }) => controller)?.uid ?? '',
    );
    for (const kind of [replicaSets, statefulSets]) {
      for (const set of this.#store.list(kind)) this.#scale(kind === replicaSets, set, byOwner.get(set.metadata.uid) ?? []);
    }
    for (const set of this.#store.list(daemonSets)) this.#everywhere(set, byOwner.get(set.metadata.uid) ?? []);
    for (const deployment of this.#store.list(deployments)) this.#sumUp(deployment);
    for (const pod of this.#store.list(pods)) if (!pod.spec.nodeName && !isGoing(pod)) this.#schedule(pod);
    for (const budget of this.#store.list(budgets)) this.#count(budget);
    for (const service of this.#store.list(services)) this.#connect(service);
  }

  #nodes(): void {
    const key = 'node.kubernetes.io/unschedulable';
    for (const node of this.#store.list(nodes)) {
      this.#store.update(nodes, node, (copy) => {
        const others = (copy.spec.taints ?? []).filter((taint: { key: string }) => taint.key !== key);
        if (copy.spec.unschedulable) others.push({ key, effect: 'NoSchedule' });
        if (others.length > 0) copy.spec.taints = others;
        else delete copy.spec.taints;
      });
    }
  }

  #scale(replica: boolean, set: KubeObject, own: readonly KubeObject[]): void {
    const living = own.filter((pod) => !isGoing(pod) && !isOver(pod));
    const wanted = Number(set.spec.replicas ?? 1);
    for (let missing = wanted - living.length; missing > 0; missing--) {
      if (replica) this.#store.create(pods, podOf(set, { generateName: `${set.metadata.name}-` }), set.metadata.namespace);
      else {
        const name = Array.from({ length: wanted }, (_, index) => `${set.metadata.name}-${index}`).find(
          (free) => this.#store.find(pods, free, set.metadata.namespace) === undefined,
        );
        // A set with names of its own waits until the old pod is gone.
        if (name !== undefined) this.#store.create(pods, podOf(set, { name }), set.metadata.namespace);
      }
    }
    for (const pod of living.slice(wanted)) this.terminate(pod);
    this.#store.update(replica ? replicaSets : statefulSets, set, (copy) => {
      copy.status = {
        ...copy.status,
        replicas: living.length,
        readyReplicas: living.filter(isReady).length,
        availableReplicas: living.filter(isReady).length,
        observedGeneration: copy.metadata.generation ?? 1,
      };
    });
  }

  #everywhere(set: KubeObject, own: readonly KubeObject[]): void {
    const all = this.#store.list(nodes);
    for (const { metadata } of all) {
      if (own.some((pod) => pod.spec.nodeName === metadata.name)) continue;
      const draft = podOf(set, { generateName: `${set.metadata.name}-` });
      (draft.spec as { nodeName?: string }).nodeName = metadata.name;
      const pod = this.#store.create(pods, draft, set.metadata.namespace);
      this.after(this.#pace.podStartMs, () => this.#run(pod));
    }
    const ready = own.filter(isReady).length;
    // One after the other, as a rolling update goes.
    const image = set.spec.template?.spec?.containers?.[0]?.image;
    const stale = own.find((pod) => pod.spec.containers?.[0]?.image !== image);
    if (stale !== undefined && own.every((pod) => isReady(pod) && !isGoing(pod))) this.terminate(stale);
    this.#store.update(daemonSets, set, (copy) => {
      copy.status = {
        currentNumberScheduled: own.length,
        desiredNumberScheduled: all.length,
        numberReady: ready,
        numberAvailable: ready,
        numberMisscheduled: 0,
        updatedNumberScheduled: own.length,
      };
    });
  }

  #sumUp(deployment: KubeObject): void {
    const sets = this.#store.list(replicaSets, deployment.metadata.namespace).filter(ownedBy(deployment));
    const [set] = sets;
    if (set === undefined) {
      const owner = {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        name: deployment.metadata.name,
        uid: deployment.metadata.uid,
        controller: true,
        blockOwnerDeletion: true,
      };
      const metadata = {
        name: `${deployment.metadata.name}-5d4f8c7b9`,
        labels: deployment.spec.template?.metadata?.labels ?? {},
        ownerReferences: [owner],
        generation: 1,
      };
      this.#store.create(
        replicaSets,
        { apiVersion: 'apps/v1', kind: 'ReplicaSet', metadata, spec: structuredClone(deployment.spec), status: {} },
        deployment.metadata.namespace,
      );
      return;
    }
    if (set.spec.replicas !== deployment.spec.replicas) {
      this.#store.update(replicaSets, set, (copy) => {
        copy.spec.replicas = deployment.spec.replicas;
      });
    }
    const ready = Number(set.status?.readyReplicas ?? 0);
    const wanted = Number(deployment.spec.replicas ?? 1);
    this.#store.update(deployments, deployment, (copy) => {
      copy.status = {
        ...copy.status,
        observedGeneration: copy.metadata.generation ?? 1,
        replicas: Number(set.status?.replicas ?? 0),
        updatedReplicas: Number(set.status?.replicas ?? 0),
        readyReplicas: ready,
        availableReplicas: ready,
        unavailableReplicas: ready < wanted ? wanted - ready : undefined,
        conditions: [
          {
            type: 'Available',
            status: ready >= wanted ? 'True' : 'False',
            reason: ready >= wanted ? 'MinimumReplicasAvailable' : 'MinimumReplicasUnavailable',
          },
        ],
      };
      if (copy.status.unavailableReplicas === undefined) delete copy.status.unavailableReplicas;
    });
  }

  #schedule(pod: KubeObject): void {
    const all = this.#store.list(nodes);
    const open = all.filter(
      (node) =>
        isReady(node) &&
        !(node.spec.taints ?? []).some(({ effect }: { effect: string }) => effect === 'NoSchedule' || effect === 'NoExecute'),
    );
    const crowd = Map.groupBy(this.#store.list(pods), ({ spec }) => String(spec.nodeName ?? ''));
    const [chosen] = open.sort((one, other) => (crowd.get(one.metadata.name)?.length ?? 0) - (crowd.get(other.metadata.name)?.length ?? 0));
    if (chosen === undefined) {
      this.#store.update(pods, pod, (copy) => {
        const message = `0/${all.length} nodes are available: ${all.length} node(s) were unschedulable. preemption: 0/${all.length} nodes are available: ${all.length} Preemption is not helpful for scheduling.`;
        copy.status = { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }] };
      });
      return;
    }
    const placed = this.#store.update(pods, pod, (copy) => {
      copy.spec.nodeName = chosen.metadata.name;
      copy.status = { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'True' }] };
    });
    if (placed !== undefined) this.after(this.#pace.podStartMs, () => this.#run(placed));
  }

  #run(pod: KubeObject): void {
    const now = seconds(this.#store.now());
    this.#store.update(pods, pod, (copy) => {
      if (copy.metadata.uid === pod.metadata.uid && !isGoing(copy)) copy.status = runningStatus(copy, now);
    });
  }

  /** Deletes a pod as the API server does: it is marked, ends within its grace period, and is gone. A static pod's mirror comes back. */
  terminate(pod: KubeObject, graceSeconds?: number): KubeObject {
    const grace = graceSeconds ?? Number(pod.spec.terminationGracePeriodSeconds ?? 30);
    if (isGoing(pod) && grace > 0) return pod;
    if (grace === 0 || !pod.spec.nodeName) {
      const last = this.#store.remove(pods, pod);
      this.#remirror(pod);
      return last;
    }
    const now = this.#store.now();
    const marked = this.#store.update(pods, pod, (copy) => {
      copy.metadata.deletionTimestamp = seconds(now + grace * 1000);
      copy.metadata.deletionGracePeriodSeconds = grace;
    });
    this.after(Math.min(grace * 1000, this.#pace.terminationMs), () => this.#gone(pod));
    return marked ?? pod;
  }

  #gone(pod: KubeObject): void {
    const left = this.#store.find(pods, pod.metadata.name, pod.metadata.namespace);
    if (left?.metadata.uid !== pod.metadata.uid) return;
    this.#store.remove(pods, left);
    this.#remirror(pod);
  }

  #remirror(pod: KubeObject): void {
    if (pod.metadata.annotations?.['kubernetes.io/config.mirror'] === undefined) return;
    const {
      uid: _uid,
      resourceVersion: _version,
      creationTimestamp: _created,
      deletionTimestamp: _deleted,
      deletionGracePeriodSeconds: _grace,
      ...metadata
    } = pod.metadata;
    this.#store.create(pods, { ...pod, metadata, status: runningStatus(pod, seconds(this.#store.now())) }, pod.metadata.namespace);
  }

  #count(budget: KubeObject): void {
    const selected = specTest(budget.spec.selector);
    const own = this.#store.list(pods, budget.metadata.namespace).filter((pod) => selected(pod.metadata.labels) && !isOver(pod));
    const healthy = own.filter((pod) => isReady(pod) && !isGoing(pod)).length;
    const expected = own.filter((pod) => !isGoing(pod)).length;
    const { minAvailable, maxUnavailable } = budget.spec;
    const desired =
      minAvailable === undefined ? Math.max(0, expected - shareOf(maxUnavailable, expected)) : shareOf(minAvailable, expected);
    const allowed = Math.max(0, healthy - desired);
    this.#store.update(budgets, budget, (copy) => {
      copy.status = {
        ...copy.status,
        conditions: [
          {
            type: 'DisruptionAllowed',
            status: allowed > 0 ? 'True' : 'False',
            reason: allowed > 0 ? 'SufficientPods' : 'InsufficientPods',
            message: '',
          },
        ],
        currentHealthy: healthy,
        desiredHealthy: desired,
        disruptionsAllowed: allowed,
        expectedPods: expected,
        observedGeneration: copy.metadata.generation ?? 1,
      };
    });
  }

  #connect(service: KubeObject): void {
    if (service.spec.selector === undefined) return;
    const { name, namespace } = service.metadata;
    const selected = specTest({ matchLabels: service.spec.selector });
    const ready = this.#store.list(pods, namespace).filter((pod) => selected(pod.metadata.labels) && isReady(pod) && !isGoing(pod));
    const ports = (service.spec.ports ?? []).map(({ port }: { port: number }) => ({ port, protocol: 'TCP' }));
    const addresses = ready.map((pod) => ({
      ip: pod.status.podIP,
      nodeName: pod.spec.nodeName,
      targetRef: { kind: 'Pod', name: pod.metadata.name, namespace, uid: pod.metadata.uid },
    }));
    const subsets = addresses.length === 0 ? undefined : [{ addresses, ports }];
    const known = this.#store.find(endpoints, name, namespace);
    if (known === undefined) {
      this.#store.create(
        endpoints,
        { apiVersion: 'v1', kind: 'Endpoints', metadata: { name }, ...(subsets === undefined ? {} : { subsets }) },
        namespace,
      );
      this.#store.create(slices, sliceOf(service, ready, ports), namespace);
      return;
    }
    this.#store.update(endpoints, known, (copy) => {
      if (subsets === undefined) delete copy.subsets;
      else copy.subsets = subsets;
    });
    const slice = this.#store.find(slices, `${name}-x7k2p`, namespace);
    if (slice !== undefined) {
      this.#store.update(slices, slice, (copy) => {
        copy.endpoints = sliceOf(service, ready, ports).endpoints;
      });
    }
  }
}
