import type { FlowContext, FlowInput } from '../../flows/flow.ts';
import type { Checklist } from '../../session/checklist.ts';
import type { Act, Session } from '../../session/session.ts';
import type { ClusterApi } from './client/api-client.ts';
import type { CheckResult } from './client/check-result.ts';
import type { ClusterFacts, ClusterNode } from './client/cluster-facts.ts';
import { drainPace } from './client/drain.ts';
import { compareReleases, type Release } from './client/release.ts';
import type { NodeExecs } from './node-exec.ts';

/** `lookMs` is the interval between two checks of a node that restarts, `backMs` its time limit. Tests use shorter ones. */
export const checklistPace = { drain: drainPace, lookMs: 2_000, backMs: 600_000 };

export interface ClusterChecklist {
  session: Session;
  input: FlowInput;
  flowContext: FlowContext;
  api: ClusterApi;
  context: string;
  kubeconfig: readonly string[];
  facts: ClusterFacts;
  target: Release;
  list: Checklist;
  nodeExecs: NodeExecs;
  /** Releases by minor that older nodes are upgraded to in between. */
  between: ReadonlyMap<number, Release>;
  /** Commands are shown, and the operator runs them. */
  hand: boolean;
  pace: typeof checklistPace;
  /** Counts repeated actions, since each requires a unique id. */
  tries: Map<string, number>;
}

export const sections = {
  where: 'Current state',
  health: 'Health',
  api: 'APIs and add-ons',
  safety: 'Recovery',
  drains: 'Effects of a drain',
  steps: 'The upgrade',
} as const;

export const nodeItem = (name: string) => `node ${name}`;
export const planeItem = (name: string) => `control-plane ${name}`;

/** Reports whether this checklist, in this run or an earlier one, cordoned a node and did not uncordon it. */
export const isCordonedByUs = ({ list }: ClusterChecklist, node: string): boolean => list.note(nodeItem(node))?.data?.['cordoned'] === 1;

/**
 * Acts on the cluster. The id is unique in a run: `drain worker-1`, `drain worker-1 (2)`. The target for the audit is the host that the
 * action goes through, and the cluster.
 */
export function actOn<T>({ session, tries, input, context }: ClusterChecklist, name: string, act: Omit<Act<T>, 'id' | 'target'>) {
  const count = (tries.get(name) ?? 0) + 1;
  tries.set(name, count);
  const id = count === 1 ? name : `${name} (${count})`;
  return session.act({ ...act, id, target: { host: input.engineName, component: context } });
}

export async function showCheck(
  { list }: ClusterChecklist,
  item: { id: string; section: string; title: string },
  { unseen: _, ...result }: CheckResult,
): Promise<void> {
  await list.set(item.id, { ...item, evidence: [], ...result });
}

/** Returns the releases that a node is upgraded to, one minor at a time (R73). */
export function roundsOf({ target, between }: Pick<ClusterChecklist, 'target' | 'between'>, { kubelet }: ClusterNode): Release[] {
  if (isAt(kubelet, target)) return [];
  return [...minorsAfter(kubelet.minor, target).flatMap((minor) => between.get(minor) ?? []), target];
}

function minorsAfter(lowest: number, target: Release): number[] {
  return Array.from({ length: Math.max(0, target.minor - lowest - 1) }, (_, index) => lowest + 1 + index);
}

export const lowestMinor = ({ nodes }: ClusterFacts, target: Release): number =>
  Math.min(target.minor, ...nodes.map(({ kubelet }) => kubelet.minor));

export const minorsBetween = (facts: ClusterFacts, target: Release): number[] => minorsAfter(lowestMinor(facts, target), target);

/** A build is compared only if both releases name one. */
export function isAt(release: Release, target: Release): boolean {
  const vendor = target.vendor === '' ? release.vendor : target.vendor;
  return compareReleases({ ...release, vendor: release.vendor || vendor }, { ...target, vendor }) >= 0;
}

/** Reports whether all API servers that could be read have the target release. */
export const isPlaneAt = ({ apiServers }: Pick<ClusterFacts, 'apiServers'>, target: Release): boolean =>
  apiServers.every((release) => isAt(release, target));

export const fromTo = (from: Release, to: Release): string => `${from.text} to ${to.text}`;

/** Reports whether the node is a server of k3s or RKE2: its kubelet is upgraded with it. */
export const isServer = ({ distribution }: ClusterFacts, { controlPlane }: ClusterNode) => distribution.isOneProgram && controlPlane;

/** Servers of k3s and RKE2 restart in place, and Talos upgrades its kubelets itself: neither is drained. */
export const isDrained = (facts: ClusterFacts, node: ClusterNode): boolean => facts.distribution.kind !== 'talos' && !isServer(facts, node);

export const planeAddress = ({ nodes }: ClusterFacts): string | undefined => nodes.find(({ controlPlane }) => controlPlane)?.addresses[0];
