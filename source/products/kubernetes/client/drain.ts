import pLimit from 'p-limit';
import type { HttpAnswer } from '../../../calls/http-exchange.ts';
import { Fault } from '../../../faults/fault.ts';
import { unlessCode, unlessFault } from '../../../faults/unless-fault.ts';
import { pauseFor } from '../../../faults/waits.ts';
import type { Grant } from '../../../grants/grant.ts';
import { cleanLine } from '../../../text/clean.ts';
import { countText } from '../../../text/quantities.ts';
import { apiFault, type ClusterApi, statusOf } from './api-client.ts';
import { type KubeObject, type KubePod, podName } from './api-shapes.ts';

export interface Refused {
  pod: string;
  why: string;
  /** Waiting does not help: the budget never allows an eviction, even if all its pods are ready, or the pod has two budgets. */
  forGood: boolean;
}

type KubeBudget = KubeObject<unknown, { expectedPods?: number; currentHealthy?: number }>;

const dryRunsAtOnce = 8;

const isMirror = ({ metadata }: KubePod) => metadata.annotations?.['kubernetes.io/config.mirror'] !== undefined;
const isOver = ({ status }: KubePod) => status?.phase === 'Succeeded' || status?.phase === 'Failed';
const controllerOf = ({ metadata }: KubePod) => metadata.ownerReferences?.find(({ controller }) => controller);

/** Returns the pods that a drain evicts, with those whose `emptyDir` data is lost, and those that no controller recreates. */
export async function planDrain(api: ClusterApi, node: string, signal: AbortSignal) {
  const pods = await api.list<KubePod>('/api/v1/pods', signal, { fields: `spec.nodeName=${node}` });
  // Completed pods are not evicted: nothing is lost with them, and the usual cleanup of jobs deletes them.
  const evicted = pods.filter((pod) => !isMirror(pod) && !isOver(pod) && controllerOf(pod)?.kind !== 'DaemonSet');
  const withData = evicted.filter(({ spec }) => spec?.volumes?.some(({ emptyDir = null }) => emptyDir !== null));
  const bare = evicted.filter((pod) => controllerOf(pod) === undefined);
  return { evicted, withData: withData.map(podName), bare: bare.map(podName) };
}

export const lossesOf = ({ withData, bare }: Awaited<ReturnType<typeof planDrain>>): string[] => [
  ...withData.map((pod) => `${pod} loses its emptyDir data`),
  ...bare.map((pod) => `${pod} is not recreated, because it has no controller`),
];

const pathOf = ({ metadata: { namespace = '', name } }: KubePod) =>
  `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}`;
const evictionOf = ({ metadata: { namespace, name } }: KubePod) => ({
  apiVersion: 'policy/v1',
  kind: 'Eviction',
  metadata: { name, namespace },
});

/** Reports whether all expected pods are healthy, and still none may be evicted. Returns false if the budget may not be read. */
async function isHopeless(api: ClusterApi, pod: KubePod, words: string, signal: AbortSignal): Promise<boolean> {
  const name = /The disruption budget (\S+) needs/.exec(words)?.[1];
  if (name === undefined) return false;
  const namespace = encodeURIComponent(pod.metadata.namespace ?? '');
  const path = `/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets/${encodeURIComponent(name)}`;
  const budget = await unlessFault(signal, api.find<KubeBudget>(path, signal));
  const { currentHealthy = 0, expectedPods = Number.POSITIVE_INFINITY } = budget?.status ?? {};
  return currentHealthy >= expectedPods;
}

/** Returns why an eviction was refused; undefined if it was not. Throws any answer that does not concern a budget. */
async function refusalOf(api: ClusterApi, pod: KubePod, answer: HttpAnswer, signal: AbortSignal): Promise<Refused | undefined> {
  if (answer.status < 300 || answer.status === 404) return undefined;
  const status = statusOf(answer);
  const why = cleanLine(status?.details?.causes?.find(({ reason }) => reason === 'DisruptionBudget')?.message ?? status?.message ?? '');
  if (answer.status === 429) return { pod: podName(pod), why, forGood: await isHopeless(api, pod, why, signal) };
  if (answer.status === 500 && /more than one PodDisruptionBudget/.test(why)) return { pod: podName(pod), why, forGood: true };
  throw apiFault(answer, 'POST', `${pathOf(pod)}/eviction`);
}

/** Sends each eviction as a server-side dry run. Only pods in namespaces with budgets are checked, if budgets may be listed. */
export async function dryRunDrain(api: ClusterApi, evicted: readonly KubePod[], signal: AbortSignal): Promise<Refused[]> {
  const budgets = await unlessFault(signal, api.list<KubeBudget>('/apis/policy/v1/poddisruptionbudgets', signal));
  const namespaces = budgets && new Set(budgets.map(({ metadata }) => metadata.namespace));
  const limit = pLimit(dryRunsAtOnce);
  const asked = evicted.filter(({ metadata }) => namespaces?.has(metadata.namespace) ?? true);
  const refused = await Promise.all(
    asked.map((pod) =>
      limit(async () => refusalOf(api, pod, await api.dryRun(`${pathOf(pod)}/eviction`, evictionOf(pod), signal), signal)),
    ),
  );
  return refused.filter((each) => each !== undefined);
}

export interface DrainProgress {
  total: number;
  left: number;
  refused: readonly Refused[];
}

/** `againMs` is the delay after a budget refused, `stalledMs` the time limit without any evicted pod. */
export const drainPace = { everyMs: 2_000, againMs: 5_000, stalledMs: 300_000 };

/** Waits until the pods are gone, and retries an eviction that a budget refuses. Throws `failed.drain` if there is no more progress. */
export async function drainNode(grant: Grant, api: ClusterApi, node: string, tell: (progress: DrainProgress) => void, pace = drainPace) {
  const { signal } = grant;
  const nextMs = new Map<string, number>();
  let refused = new Map<string, Refused>();
  let total = 0;
  let fewest = Number.POSITIVE_INFINITY;
  let movedMs = performance.now();
  const evict = async (pod: KubePod) => {
    const name = podName(pod);
    if (pod.metadata.deletionTimestamp !== undefined || performance.now() < (nextMs.get(name) ?? 0)) return;
    const refusal = await refusalOf(api, pod, await api.post(grant, `${pathOf(pod)}/eviction`, evictionOf(pod)), signal);
    if (refusal) {
      refused.set(name, refusal);
      nextMs.set(name, performance.now() + pace.againMs);
    } else refused.delete(name);
  };
  for (;;) {
    const { evicted } = await planDrain(api, node, signal);
    const names = new Set(evicted.map(podName));
    refused = new Map([...refused].filter(([name]) => names.has(name)));
    total = Math.max(total, evicted.length);
    if (evicted.length < fewest) {
      fewest = evicted.length;
      movedMs = performance.now();
    }
    for (const pod of evicted) await evict(pod);
    tell({ total, left: evicted.length, refused: [...refused.values()] });
    if (evicted.length === 0) return;
    const hopeless = evicted.every((pod) => refused.get(podName(pod))?.forGood);
    // For a moment after an eviction, the budget counts neither the evicted pod nor its replacement.
    const stillMs = performance.now() - movedMs;
    if ((hopeless && stillMs > pace.againMs) || stillMs > pace.stalledMs) throw stalled(node, evicted, [...refused.values()]);
    await pauseFor(pace.everyMs, signal);
  }
}

export const budgetAdvice =
  'Add a replica, or relax the disruption budget: lower minAvailable or raise maxUnavailable. If several budgets select a pod, keep only one.';

function stalled(node: string, left: readonly KubePod[], refused: readonly Refused[]): Fault {
  const reported =
    refused.length > 0 ? refused.map(({ pod, why }) => `${pod}: ${why}`) : left.slice(0, 5).map((pod) => `${podName(pod)} does not stop`);
  const message = `${node} stays cordoned because ${countText(left.length, 'pod')} cannot be moved. ${reported.map((each) => each.replace(/\.?$/, '.')).join(' ')}`;
  const otherwise =
    'No disruption budget blocks these pods. Find the cause with "kubectl describe pod" (a finalizer, a volume, a program that ignores SIGTERM).';
  return new Fault('failed.drain', message, refused.length > 0 ? budgetAdvice : otherwise);
}

export async function deletePods(grant: Grant, api: ClusterApi, pods: readonly KubePod[]): Promise<void> {
  for (const pod of pods) {
    const options = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid: pod.metadata.uid } };
    await unlessCode(api.remove(grant, pathOf(pod), options), ['failed.notFound'], undefined);
  }
}

export async function setSchedulable(grant: Grant, api: ClusterApi, node: string, schedulable: boolean): Promise<void> {
  await api.patch(grant, `/api/v1/nodes/${encodeURIComponent(node)}`, { spec: { unschedulable: schedulable ? null : true } });
}
