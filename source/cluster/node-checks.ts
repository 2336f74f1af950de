import { parseJson } from '../text/json-value.ts';
import { countText } from '../text/quantities.ts';
import type { ClusterApi } from './api-client.ts';
import { conditionOf, isReady, type KubePod, podName } from './api-shapes.ts';
import type { CheckResult } from './check-result.ts';
import type { ClusterFacts } from './cluster-facts.ts';
import { isOneProgram } from './distribution.ts';
import { minorText, newestMinorAt, type Release, releaseOf, supportedMinors } from './release.ts';
import { kubectlProblem, skewProblems } from './skew.ts';

/** Nodes that are not ready, out of disk or memory, or cordoned by somebody. `ours` are cordoned by this walk. */
export function checkNodes({ nodes }: ClusterFacts, ours: ReadonlySet<string>): CheckResult {
  const blocked: string[] = [];
  const warned: string[] = [];
  const foreign: string[] = [];
  for (const { name, ready, cordoned, object } of nodes) {
    const { conditions } = object.status ?? {};
    const why = conditionOf(conditions, 'Ready');
    // One that this run left while it restarted is waited for when it gets its turn.
    if (!ready) (ours.has(name) ? warned : blocked).push(`${name} is not ready: ${why?.message ?? why?.reason ?? 'it says nothing'}`);
    for (const type of ['DiskPressure', 'MemoryPressure', 'PIDPressure']) {
      const found = conditionOf(conditions, type);
      if (found?.status === 'True') (type === 'DiskPressure' ? blocked : warned).push(`${name}: ${type}. ${found.message ?? ''}`.trim());
    }
    if (cordoned && !ours.has(name)) foreign.push(`${name} is cordoned (SchedulingDisabled), and not by this walk`);
  }
  const evidence = [
    ...blocked,
    ...foreign,
    ...warned,
    ...nodes.map(({ name, kubelet, ready }) => `${name}  ${kubelet.text}  ${ready ? 'ready' : 'not ready'}`),
  ];
  if (blocked.length > 0)
    return {
      state: 'blocked',
      summary: blocked.join('; '),
      evidence,
      advice: 'Bring the node back first: its kubelet says why (journalctl -u kubelet).',
    };
  if (foreign.length > 0)
    return {
      state: 'blocked',
      summary: foreign.join('; '),
      evidence,
      advice: 'Find out who cordoned it, and why: nodes go one at a time, and what is cordoned takes no pods of those that are drained.',
    };
  if (warned.length > 0)
    return { state: 'warning', summary: warned.join('; '), evidence, advice: 'Make room on it before others are drained.' };
  return { state: 'ok', summary: `${countText(nodes.length, 'node')} ready, none short of disk, memory or processes`, evidence };
}

/** `kubectl version --client -o json` of the host that the operator works on. Undefined where that is not what it wrote. */
export function readKubectl(stdout: string): Release | undefined {
  try {
    return releaseOf((parseJson(stdout) as { clientVersion?: { gitVersion?: string } }).clientVersion?.gitVersion);
  } catch {
    return undefined;
  }
}

/** One minor either way, of the API servers as they are and as they will be. */
export function checkKubectl(kubectl: Release, { apiServers }: Pick<ClusterFacts, 'apiServers'>, target: Release): CheckResult {
  const now = kubectlProblem(kubectl, apiServers);
  if (now !== undefined) return { state: 'warning', summary: now, advice: `Install kubectl ${minorText(target)} on this host.` };
  const later = kubectlProblem(kubectl, [target]);
  if (later !== undefined)
    return {
      state: 'warning',
      summary: `kubectl is ${kubectl.text}, and too old for ${target.text}.`,
      advice: `Install kubectl ${minorText(target)} on this host after the upgrade.`,
    };
  return { state: 'ok', summary: kubectl.text };
}

/** What goes beyond the version skew policy, a sentence each. */
export function skewOf({ apiServers, nodes, controllers, planes, distribution }: ClusterFacts): string[] {
  return skewProblems({
    apiServers,
    controllers,
    nodes: nodes.map(({ name, kubelet, proxy }) => ({
      name,
      kubelet,
      proxy,
      ...(isOneProgram(distribution) && { apiServer: planes.get(name) }),
    })),
  });
}

export function checkSkew(facts: ClusterFacts): CheckResult {
  const { apiServers, apiServer, nodes } = facts;
  const problems = skewOf(facts);
  if (problems.length > 0)
    return {
      state: 'blocked',
      summary: problems.join(' '),
      evidence: problems,
      advice: 'Upgrade what is behind, the control plane first. Downgrade what is newer than every API server.',
    };
  const behind = nodes.filter(({ kubelet }) => kubelet.minor < apiServer.minor);
  const servers = [...new Set(apiServers.map(minorText))].sort();
  const differences = [
    ...(servers.length > 1 ? [`API servers ${servers.join(' and ')}`] : []),
    ...(behind.length > 0 ? [`${behind.map(({ name, kubelet }) => `${name} ${minorText(kubelet)}`).join(', ')} behind`] : []),
  ];
  return {
    state: 'ok',
    summary: differences.length === 0 ? 'all components run the same minor version' : `within the limits; ${differences.join('; ')}`,
  };
}

/** Within two versions of the newest (R73). */
export function checkSupport({ apiServer }: ClusterFacts, nowMs: number): CheckResult {
  const newest = newestMinorAt(nowMs);
  const behind = newest - apiServer.minor;
  const told = `${minorText(apiServer)}; the newest is about 1.${newest}`;
  if (behind < supportedMinors) return { state: 'ok', summary: `${told}: still gets fixes` };
  return {
    state: 'warning',
    summary: `${told}: ${behind} minors behind, without fixes`,
    advice: `Three minors come each year, and ${supportedMinors} get fixes: stay within two of the newest. One minor at a time leads there.`,
  };
}

/** The API server's own health, line by line. */
export async function checkHealth(api: ClusterApi, signal: AbortSignal): Promise<CheckResult> {
  const pages = await Promise.all(['/readyz', '/livez'].map(async (page) => ({ page, ...(await api.text(`${page}?verbose`, signal)) })));
  const failing = pages.flatMap(({ page, text }) =>
    text.split('\n').flatMap((line) => (line.startsWith('[-]') ? [`${page} ${line.slice(3)}`] : [])),
  );
  const sound = pages.every(({ status }) => status === 200);
  if (!sound || failing.length > 0)
    return {
      state: 'blocked',
      summary: failing.length > 0 ? failing.join('; ') : pages.map(({ page, status }) => `${page} answers ${status}`).join(', '),
      evidence: failing,
      advice: 'Mend that before anything else: an upgrade restarts the API server.',
    };
  const etcd = pages.some(({ text }) => /^\[\+\]etcd ok/m.test(text));
  return { state: 'ok', summary: `ready and alive${etcd ? ', etcd with it' : ''}` };
}

const shownPods = 12;

/** Pods of the system that are not ready, and those anywhere that crash again and again or find no node. */
export async function checkPods(api: ClusterApi, signal: AbortSignal, each: (count: number) => void): Promise<CheckResult> {
  const pods = await api.list<KubePod>('/api/v1/pods', signal, { fields: 'status.phase!=Succeeded' }, each);
  const system: string[] = [];
  const others: string[] = [];
  for (const pod of pods) {
    const waiting = pod.status?.containerStatuses?.find(({ state }) => /BackOff|Err/.test(state?.waiting?.reason ?? ''));
    const why = waiting
      ? `${waiting.state?.waiting?.reason}, ${countText(waiting.restartCount ?? 0, 'restart')}`
      : (pod.status?.phase ?? 'unknown');
    if (pod.metadata.deletionTimestamp !== undefined) continue;
    const stuck =
      waiting !== undefined || pod.status?.phase === 'Pending' || pod.status?.phase === 'Failed' || pod.status?.phase === 'Unknown';
    if (pod.metadata.namespace === 'kube-system' ? !isReady(pod) : stuck)
      (pod.metadata.namespace === 'kube-system' ? system : others).push(`${podName(pod)}: ${why}`);
  }
  const all = [...system, ...others];
  const evidence = [...all.slice(0, shownPods), ...(all.length > shownPods ? [`and ${all.length - shownPods} more`] : [])];
  if (all.length === 0) return { state: 'ok', summary: `${countText(pods.length, 'pod')}, none in trouble` };
  return {
    state: 'warning',
    summary: `${countText(all.length, 'pod')} of ${pods.length} in trouble${system.length > 0 ? `, ${system.length} of the system` : ''}`,
    evidence,
    advice: 'What is broken before the upgrade is not broken by it: mend it first, or know it.',
  };
}
