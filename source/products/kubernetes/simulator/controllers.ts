import { budgets, isReady, type KubeObject, KubeRefusal, nodes, pods, resourceOf, seconds } from './kube-object.ts';
import type { ObjectStore } from './object-store.ts';

const replicaSets = resourceOf('apps', 'replicasets');
const statefulSets = resourceOf('apps', 'statefulsets');

export interface Pace {
  /** From being scheduled to being ready. */
  podStartMs: number;
  /** The longest that a deleted pod takes, whatever its grace period. */
  terminationMs: number;
}

const isGoing = (pod: KubeObject): boolean => pod.metadata.deletionTimestamp !== undefined;
const isOver = (pod: KubeObject): boolean => pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
const isOf = (app: string, namespace: string | undefined) => (pod: KubeObject) =>
  pod.metadata.labels?.app === app && pod.metadata.namespace === namespace;

export const ownerReference = ({ kind, metadata: { name, uid } }: KubeObject) => [{ kind, name, uid, controller: true as const }];

/** The status of a pod in which all containers run. */
export const runningStatus = (spec: KubeObject['spec'], since: string) => ({
  phase: 'Running',
  conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: since }],
  startTime: since,
  containerStatuses: spec.containers.map(({ name, image }: { name: string; image: string }) => ({
    name,
    image,
    ready: true,
    restartCount: 0,
    state: { running: { startedAt: since } },
  })),
});

/** What the controllers, the scheduler and the kubelets do for a drain: pods that come back on other nodes, and budgets that count them. */
export class Controllers {
  readonly #timers = new Set<NodeJS.Timeout>();
  #waiting: NodeJS.Immediate | undefined;

  constructor(
    private readonly store: ObjectStore,
    private readonly pace: Pace,
  ) {}

  start(): void {
    this.store.changed = () => {
      this.#waiting ??= setImmediate(() => {
        this.#waiting = undefined;
        this.#reconcile();
      });
    };
    for (const pod of this.store.list(pods)) {
      if (isGoing(pod)) this.after(this.pace.terminationMs, () => this.#gone(pod));
      else if (pod.status.phase === 'Pending' && pod.spec.nodeName) this.after(this.pace.podStartMs, () => this.#run(pod));
    }
    this.#reconcile();
  }

  stop(): void {
    this.store.changed = () => {};
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

  /** One round over everything; what is as it should be is not touched. */
  #reconcile(): void {
    for (const set of [...this.store.list(replicaSets), ...this.store.list(statefulSets)]) this.#scale(set);
    for (const pod of this.store.list(pods)) if (!pod.spec.nodeName) this.#schedule(pod);
    for (const budget of this.store.list(budgets)) this.#count(budget);
  }

  #scale(set: KubeObject): void {
    const { name, namespace } = set.metadata;
    const living = this.store.list(pods, namespace).filter(isOf(set.spec.selector.matchLabels.app, namespace));
    const missing = set.spec.replicas - living.filter((pod) => !isGoing(pod) && !isOver(pod)).length;
    for (let count = 0; count < missing; count++) {
      const { metadata, spec } = structuredClone(set.spec.template);
      const stateful = set.kind === 'StatefulSet';
      // A pod with a name of its own comes back when the old one is gone.
      if (stateful && living.length > 0) return;
      const named = stateful ? { name: `${name}-0` } : { generateName: `${name}-` };
      const full = { ...metadata, ...named, ownerReferences: ownerReference(set) };
      this.store.create(pods, { metadata: full, spec, status: { phase: 'Pending' } }, namespace);
    }
  }

  #schedule(pod: KubeObject): void {
    const isOpen = (node: KubeObject) =>
      isReady(node) && !node.spec.unschedulable && !('node-role.kubernetes.io/control-plane' in (node.metadata.labels ?? {}));
    const open = this.store.list(nodes).filter(isOpen);
    const crowd = Map.groupBy(this.store.list(pods), ({ spec }) => spec.nodeName as string);
    const [chosen] = open.sort((one, other) => (crowd.get(one.metadata.name)?.length ?? 0) - (crowd.get(other.metadata.name)?.length ?? 0));
    if (chosen === undefined) return;
    const placed = this.store.update(pods, pod, (copy) => Object.assign(copy.spec, { nodeName: chosen.metadata.name }));
    if (placed !== undefined) this.after(this.pace.podStartMs, () => this.#run(placed));
  }

  #run(pod: KubeObject): void {
    this.store.update(pods, pod, (copy) => {
      if (copy.metadata.uid === pod.metadata.uid && !isGoing(copy)) copy.status = runningStatus(copy.spec, seconds(Date.now()));
    });
  }

  /** Deletes a pod as the API server does: it is marked, ends within its grace period, and is gone. */
  terminate(pod: KubeObject, graceSeconds = 30): void {
    if (graceSeconds === 0 || !pod.spec.nodeName) {
      this.store.remove(pods, pod);
      return;
    }
    if (isGoing(pod)) return;
    const deletionTimestamp = seconds(Date.now() + graceSeconds * 1000);
    this.store.update(pods, pod, (copy) => Object.assign(copy.metadata, { deletionTimestamp }));
    this.after(Math.min(graceSeconds * 1000, this.pace.terminationMs), () => this.#gone(pod));
  }

  #gone(pod: KubeObject): void {
    const left = this.store.find(pods, pod.metadata.name, pod.metadata.namespace);
    if (left?.metadata.uid === pod.metadata.uid) this.store.remove(pods, left);
  }

  #count(budget: KubeObject): void {
    const selected = isOf(budget.spec.selector.matchLabels.app, budget.metadata.namespace);
    const own = this.store.list(pods).filter((pod) => selected(pod) && !isOver(pod) && !isGoing(pod));
    const currentHealthy = own.filter(isReady).length;
    const desiredHealthy = budget.spec.minAvailable ?? Math.max(0, own.length - budget.spec.maxUnavailable);
    const disruptionsAllowed = Math.max(0, currentHealthy - desiredHealthy);
    const status = { currentHealthy, desiredHealthy, disruptionsAllowed, expectedPods: own.length };
    this.store.update(budgets, budget, (copy) => Object.assign(copy, { status }));
  }

  /** A deletion that budgets may refuse. A dry run asks them and changes nothing. */
  evict(pod: KubeObject, graceSeconds: number | undefined, dryRun: boolean): object {
    if (pod.status.phase === 'Running' && !isGoing(pod)) this.#askBudgets(pod, dryRun);
    if (!dryRun) this.terminate(pod, graceSeconds);
    return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 };
  }

  #askBudgets(pod: KubeObject, dryRun: boolean): void {
    const [budget, ...others] = this.store
      .list(budgets)
      .filter(({ metadata, spec }) => isOf(spec.selector.matchLabels.app, metadata.namespace)(pod));
    if (others.length > 0)
      throw new KubeRefusal(500, '', 'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.');
    if (budget === undefined) return;
    const { currentHealthy, desiredHealthy, disruptionsAllowed } = budget.status;
    // A broken pod protects nothing while enough others are healthy.
    if (!isReady(pod) && currentHealthy >= desiredHealthy && desiredHealthy > 0) return;
    if (disruptionsAllowed <= 0) {
      const message = `The disruption budget ${budget.metadata.name} needs ${desiredHealthy} healthy pods and has ${currentHealthy} currently`;
      throw new KubeRefusal(429, 'TooManyRequests', "Cannot evict pod as it would violate the pod's disruption budget.", {
        causes: [{ reason: 'DisruptionBudget', message }],
      });
    }
    if (dryRun) return;
    this.store.update(budgets, budget, (copy) => Object.assign(copy.status, { disruptionsAllowed: disruptionsAllowed - 1 }));
  }
}
