import { budgets, type Controllers, isReady } from './controllers.ts';
import { type JsonObject, type KubeObject, KubeRefusal } from './kube-object.ts';
import type { ObjectStore } from './object-store.ts';
import { specTest } from './selectors.ts';

/** `POST .../pods/POD/eviction`: a deletion that budgets may refuse. A dry run asks them and changes nothing. */
export function evict(
  store: ObjectStore,
  controllers: Controllers,
  pod: KubeObject,
  graceSeconds: number | undefined,
  dryRun: boolean,
): JsonObject {
  const success: JsonObject = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 };
  const phase = pod.status?.phase;
  const free = phase === 'Succeeded' || phase === 'Failed' || phase === 'Pending' || pod.metadata.deletionTimestamp !== undefined;
  if (!free) askBudgets(store, pod, dryRun);
  if (!dryRun) controllers.terminate(pod, graceSeconds);
  return success;
}

function askBudgets(store: ObjectStore, pod: KubeObject, dryRun: boolean): void {
  const own = store.list(budgets, pod.metadata.namespace).filter((budget) => specTest(budget.spec.selector)(pod.metadata.labels));
  if (own.length > 1) {
    throw new KubeRefusal(500, '', 'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.');
  }
  const [budget] = own;
  if (budget === undefined) return;
  const { currentHealthy = 0, desiredHealthy = 0, disruptionsAllowed = 0 } = budget.status ?? {};
  if (!isReady(pod)) {
    // A broken pod protects nobody: always let go where that is said, otherwise only while enough others are healthy.
    if (budget.spec.unhealthyPodEvictionPolicy === 'AlwaysAllow') return;
    if (currentHealthy >= desiredHealthy && desiredHealthy > 0) return;
  }
  if (disruptionsAllowed <= 0) {
    const message = `The disruption budget ${budget.metadata.name} needs ${desiredHealthy} healthy pods and has ${currentHealthy} currently`;
    throw new KubeRefusal(429, 'TooManyRequests', "Cannot evict pod as it would violate the pod's disruption budget.", {
      causes: [{ reason: 'DisruptionBudget', message }],
    });
  }
  if (dryRun) return;
  store.update(budgets, budget, (copy) => {
    copy.status.disruptionsAllowed = disruptionsAllowed - 1;
  });
}
