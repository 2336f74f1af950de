import type { ClusterApi } from '../cluster/api-client.ts';
import type { CheckResult } from '../cluster/check-result.ts';
import type { ClusterFacts, ClusterNode } from '../cluster/cluster-facts.ts';
import { isOneProgram } from '../cluster/distribution.ts';
import type { DrainPace } from '../cluster/drain.ts';
import type { NodeCommands } from '../cluster/node-commands.ts';
import { minorText, type Release } from '../cluster/release.ts';
import type { Checklist } from '../session/checklist.ts';
import type { Session } from '../session/session.ts';
import type { FlowInput, FlowWorld } from './flow.ts';
import type { NodeWays } from './node-ways.ts';

/** How long things may take; tests are in a hurry. */
export interface WalkPace {
  drain: DrainPace;
  /** Between two looks at a node that restarts. */
  lookMs: number;
  /** Until a node has to be back. */
  backMs: number;
}

/** A walk through the upgrade of one cluster, under way. */
export interface ClusterWalk {
  session: Session;
  input: FlowInput;
  world: FlowWorld;
  api: ClusterApi;
  context: string;
  /** The files that it comes from. */
  kubeconfig: readonly string[];
  /** As of the last look. */
  facts: ClusterFacts;
  target: Release;
  list: Checklist;
  ways: NodeWays;
  /** By minor: what nodes that are further behind go through. */
  between: ReadonlyMap<number, Release>;
  /** Commands are shown, and a person runs them. */
  hand: boolean;
  pace: WalkPace;
  /** Counts acts that can come again: each has a name of its own. */
  tries: Map<string, number>;
}

export const sections = {
  where: 'Where it is',
  health: 'How it is',
  api: 'What the next release takes away',
  safety: 'The way back',
  drains: 'What a drain would meet',
  steps: 'The upgrade',
} as const;

export const nodeItem = (name: string) => `node ${name}`;
export const planeItem = (name: string) => `control-plane ${name}`;

/** Unique in a run: `drain worker-1`, `drain worker-1 (2)`. */
export function actId({ tries }: ClusterWalk, name: string): string {
  const count = (tries.get(name) ?? 0) + 1;
  tries.set(name, count);
  return count === 1 ? name : `${name} (${count})`;
}

/** Whom an act is about, for the audit: the host that it goes through, and the cluster. */
export const targetOf = ({ input, context }: ClusterWalk): { host: string; component: string } => ({
  host: input.place,
  component: context,
});

/** The answer of a check as an item of the list. */
export async function tellCheck(
  { list }: ClusterWalk,
  item: { id: string; section: string; title: string },
  result: CheckResult,
): Promise<void> {
  const { state, summary, evidence = [], advice } = result;
  await list.set(item.id, { ...item, state, summary, evidence, ...(advice !== undefined && { advice }) });
}

/** What a node goes through, one minor at a time (R73). */
export function roundsOf({ target, between }: Pick<ClusterWalk, 'target' | 'between'>, { kubelet }: ClusterNode): Release[] {
  if (kubelet.minor === target.minor)
    return kubelet.patch < target.patch || (kubelet.patch === target.patch && isNewerBuild(kubelet, target)) ? [target] : [];
  const rounds: Release[] = [];
  for (let minor = kubelet.minor + 1; minor < target.minor; minor++) {
    const release = between.get(minor);
    if (release) rounds.push(release);
  }
  return kubelet.minor < target.minor ? [...rounds, target] : [];
}

/** Minors that nodes go through, and for which no release is known yet. */
export function minorsWithoutRelease({ facts, target, between }: Pick<ClusterWalk, 'facts' | 'target' | 'between'>): number[] {
  const lowest = Math.min(target.minor, ...facts.nodes.map(({ kubelet }) => kubelet.minor));
  const through = Array.from({ length: Math.max(0, target.minor - lowest - 1) }, (_, index) => lowest + 1 + index);
  return through.filter((minor) => !between.has(minor));
}

/** Of one vendor: `k3s1`, `k3s2`. */
function isNewerBuild(now: Release, target: Release): boolean {
  return target.vendor !== '' && now.vendor !== '' && now.vendor < target.vendor;
}

export const isAt = (release: Release, target: Release): boolean =>
  release.minor > target.minor || (release.minor === target.minor && release.patch >= target.patch && !isNewerBuild(release, target));

/** All API servers that can be seen. */
export const isPlaneAt = ({ apiServers }: Pick<ClusterFacts, 'apiServers'>, target: Release): boolean =>
  apiServers.every((release) => isAt(release, target));

/** `v1.31.6 to v1.32.4` */
export const fromTo = (from: Release, to: Release): string => `${from.text} to ${to.text}`;

/** Servers of k3s and RKE2 are restarted as they are, and Talos brings its kubelets along by itself: neither is drained. */
export const isDrained = ({ distribution }: ClusterFacts, { controlPlane }: ClusterNode): boolean =>
  distribution.kind !== 'talos' && !(isOneProgram(distribution) && controlPlane);

/** Where a node of the control plane is asked from outside. */
export const planeAddress = ({ nodes }: ClusterFacts): string | undefined => nodes.find(({ controlPlane }) => controlPlane)?.addresses[0];

/** What is sent, for the audit. */
export const commandText = ({ text }: NodeCommands): string => text.join(' && ');

export const minors = ({ facts, target }: ClusterWalk): string => `${minorText(facts.apiServer)} to ${minorText(target)}`;
