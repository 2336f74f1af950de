import pLimit from 'p-limit';
import type { ExchangeAnswer } from '../calls/exchange.ts';
import { Fault } from '../faults/fault.ts';
import { pauseFor } from '../faults/waits.ts';
import type { Grant } from '../grants/grant.ts';
import { cleanLine } from '../text/clean.ts';
import { countText } from '../text/quantities.ts';
import type { ClusterApi } from './api-client.ts';
import { apiFault, statusOf } from './api-faults.ts';
import { type KubeBudget, type KubePod, podName } from './api-shapes.ts';

/** What a drain does with the pods of a node. */
export interface DrainPlan {
  node: string;
  /** To be evicted. */
  evicted: readonly KubePod[];
  /** Of those: what they keep in `emptyDir` is lost. */
  withData: readonly string[];
  /** Of those: nobody makes them anew. */
  bare: readonly string[];
  /** Stay: of DaemonSets, of the node itself, finished. */
  staying: number;
}

export interface Refused {
  pod: string;
  why: string;
  /** Waiting helps against a budget whose pods come back; not against one that never lets go, nor against two of them. */
  forGood: boolean;
}

const rehearsedAtOnce = 8;

const isMirror = ({ metadata }: KubePod) => metadata.annotations?.['kubernetes.io/config.mirror'] !== undefined;
const isOver = ({ status }: KubePod) => status?.phase === 'Succeeded' || status?.phase === 'Failed';
const controllerOf = ({ metadata }: KubePod) => metadata.ownerReferences?.find(({ controller }) => controller);

export async function planDrain(api: ClusterApi, node: string, signal: AbortSignal): Promise<DrainPlan> {
  const pods = await api.list<KubePod>('/api/v1/pods', signal, { fields: `spec.nodeName=${node}` });
  // What is over is no loss; who cleans up after jobs does so here too.
  const evicted = pods.filter((pod) => !isMirror(pod) && !isOver(pod) && controllerOf(pod)?.kind !== 'DaemonSet');
  return {
    node,
    evicted,
    withData: evicted.filter(({ spec }) => spec?.volumes?.some(({ emptyDir }) => emptyDir !== undefined && emptyDir !== null)).map(podName),
    bare: evicted.filter((pod) => controllerOf(pod) === undefined).map(podName),
    staying: pods.length - evicted.length,
  };
}

const pathOf = ({ metadata: { namespace = '', name } }: KubePod) =>
  `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}`;
const evictionOf = ({ metadata: { namespace, name } }: KubePod, graceSeconds?: number) => ({
  apiVersion: 'policy/v1',
  kind: 'Eviction',
  metadata: { name, namespace },
  ...(graceSeconds !== undefined && { deleteOptions: { gracePeriodSeconds: graceSeconds } }),
});

/** All that are expected are there and healthy, and still none may go: nothing changes by waiting. False where the budget may not be seen. */
async function isHopeless(
  api: ClusterApi,
  { metadata: { namespace = '' } }: KubePod,
  words: string,
  signal: AbortSignal,
): Promise<boolean> {
  const name = /The disruption budget (\S+) needs/.exec(words)?.[1];
  if (name === undefined) return false;
  const path = `/apis/policy/v1/namespaces/${encodeURIComponent(namespace)}/poddisruptionbudgets/${encodeURIComponent(name)}`;
  const budget = await api.find<KubeBudget>(path, signal).catch((thrown: unknown) => {
    signal.throwIfAborted();
    if (thrown instanceof Fault) return undefined;
    throw thrown;
  });
  const { currentHealthy = 0, expectedPods = Number.POSITIVE_INFINITY } = budget?.status ?? {};
  return currentHealthy >= expectedPods;
}

/** Why an eviction was refused; undefined for one that was not. Throws what is no answer about a budget. */
async function refusalOf(api: ClusterApi, pod: KubePod, answer: ExchangeAnswer, signal: AbortSignal): Promise<Refused | undefined> {
  if (answer.status < 300 || answer.status === 404) return undefined;
  const status = statusOf(answer);
  const words = cleanLine(status?.details?.causes?.find(({ reason }) => reason === 'DisruptionBudget')?.message ?? status?.message ?? '');
  if (answer.status === 429) return { pod: podName(pod), why: words, forGood: await isHopeless(api, pod, words, signal) };
  if (answer.status === 500 && /more than one PodDisruptionBudget/.test(words)) return { pod: podName(pod), why: words, forGood: true };
  throw apiFault(answer, 'POST', `${pathOf(pod)}/eviction`);
}

/** Has the server try each eviction without doing it. Only pods in namespaces that have budgets are asked about, where those may be seen. */
export async function rehearseDrain(api: ClusterApi, { evicted }: DrainPlan, signal: AbortSignal): Promise<Refused[]> {
  const namespaces = await api.list<KubeBudget>('/apis/policy/v1/poddisruptionbudgets', signal).then(
    (budgets) => new Set(budgets.map(({ metadata }) => metadata.namespace)),
    (thrown: unknown) => {
      signal.throwIfAborted();
      if (!(thrown instanceof Fault)) throw thrown;
      return undefined;
    },
  );
  const limit = pLimit(rehearsedAtOnce);
  const asked = evicted.filter(({ metadata }) => namespaces?.has(metadata.namespace) ?? true);
  const refused = await Promise.all(
    asked.map((pod) =>
      limit(async () => refusalOf(api, pod, await api.rehearse(`${pathOf(pod)}/eviction`, evictionOf(pod), signal), signal)),
    ),
  );
  return refused.filter((each) => each !== undefined);
}

export interface DrainProgress {
  total: number;
  left: number;
  refused: readonly Refused[];
}

export interface DrainPace {
  /** Between two looks. */
  everyMs: number;
  /** After a budget has refused. */
  againMs: number;
  /** Without any pod leaving. */
  stalledMs: number;
}

export const drainPace: DrainPace = { everyMs: 2_000, againMs: 5_000, stalledMs: 300_000 };

/**
 * Evicts what a node has to be rid of, and waits until it is gone. A budget that refuses is asked again. Throws `failed.drain`, which names the pods, when nothing
 * moves any more.
 */
export async function drainNode(
  grant: Grant,
  api: ClusterApi,
  node: string,
  tell: (progress: DrainProgress) => void,
  pace: DrainPace = drainPace,
): Promise<void> {
  const { signal } = grant;
  const nextMs = new Map<string, number>();
  const refused = new Map<string, Refused>();
  let total = 0;
  let fewest = Number.POSITIVE_INFINITY;
  let movedMs = performance.now();
  for (;;) {
    const { evicted } = await planDrain(api, node, signal);
    const names = new Set(evicted.map(podName));
    for (const name of refused.keys()) if (!names.has(name)) refused.delete(name);
    total = Math.max(total, evicted.length);
    if (evicted.length < fewest) {
      fewest = evicted.length;
      movedMs = performance.now();
    }
    for (const pod of evicted) {
      const name = podName(pod);
      if (pod.metadata.deletionTimestamp !== undefined || performance.now() < (nextMs.get(name) ?? 0)) continue;
      const refusal = await refusalOf(api, pod, await api.post(grant, `${pathOf(pod)}/eviction`, evictionOf(pod)), signal);
      if (refusal) {
        refused.set(name, refusal);
        nextMs.set(name, performance.now() + pace.againMs);
      } else refused.delete(name);
    }
    tell({ total, left: evicted.length, refused: [...refused.values()] });
    if (evicted.length === 0) return;
    const hopeless = evicted.every((pod) => refused.get(podName(pod))?.forGood);
    // For a moment after one has gone, its budget counts neither it nor the one that takes its place.
    const stillMs = performance.now() - movedMs;
    if ((hopeless && stillMs > pace.againMs) || stillMs > pace.stalledMs) throw stalled(node, evicted, [...refused.values()]);
    await pauseFor(pace.everyMs, signal);
  }
}

function stalled(node: string, left: readonly KubePod[], refused: readonly Refused[]): Fault {
  const told =
    refused.length > 0 ? refused.map(({ pod, why }) => `${pod}: ${why}`) : left.slice(0, 5).map((pod) => `${podName(pod)} does not end`);
  return new Fault({
    code: 'failed.drain',
    message: `${node} stays cordoned: ${countText(left.length, 'pod')} cannot be moved. ${told.map((each) => each.replace(/\.?$/, '.')).join(' ')}`,
    remedy:
      refused.length > 0
        ? 'Give its budget more room (another replica, maxUnavailable), then go on.'
        : 'No budget holds them: "kubectl describe pod" says what does (a finalizer, a volume, a program that ignores being asked to end).',
  });
}

/** Deletes pods without asking their budgets. */
export async function deletePods(grant: Grant, api: ClusterApi, pods: readonly KubePod[]): Promise<void> {
  for (const pod of pods) {
    await api
      .remove(grant, pathOf(pod), { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid: pod.metadata.uid } })
      .catch((thrown: unknown) => {
        if (!(thrown instanceof Fault) || thrown.code !== 'failed.notFound') throw thrown;
      });
  }
}

/** Cordons, or lets pods in again. */
export async function setSchedulable(grant: Grant, api: ClusterApi, node: string, schedulable: boolean): Promise<void> {
  await api.patch(grant, `/api/v1/nodes/${encodeURIComponent(node)}`, { spec: { unschedulable: schedulable ? null : true } });
}
