import type { ClusterFacts, ClusterNode } from './cluster-facts.ts';
import { minorText, type Release } from './release.ts';

/** Returns how many minors a kubelet may be older than the API server: two until 1.24. */
export const kubeletLag = (minor: number): number => (minor < 25 ? 2 : 3);

const apiServerSpread = 1;
const controllerLag = 1;
const proxyApart = 3;
const kubectlApart = 1;

interface SkewFacts extends Pick<ClusterFacts, 'apiServers' | 'controllers' | 'planes' | 'distribution'> {
  nodes: readonly Pick<ClusterNode, 'name' | 'kubelet' | 'proxy'>[];
}

/**
 * One sentence each. While API servers differ, the oldest is the upper limit and the newest the lower limit. Controllers connect to the API
 * server of their own node, as do kubelets that are one program with it.
 */
export function skewProblems({ apiServers, nodes, controllers, planes, distribution }: SkewFacts): string[] {
  const byMinor = apiServers.toSorted((one, other) => one.minor - other.minor);
  const [oldest] = byMinor;
  const newest = byMinor.find(({ minor }) => minor === byMinor.at(-1)?.minor);
  if (!oldest || !newest) return [];
  const problems: string[] = [];
  if (newest.minor - oldest.minor > apiServerSpread)
    problems.push(`API servers run ${minorText(oldest)} and ${minorText(newest)}, but may differ by at most one minor version.`);
  const judge = (what: string, release: Release, lag: number, { least = oldest, most = newest } = {}) => {
    if (release.minor > least.minor)
      problems.push(`${what} is ${release.text}, newer than the API server (${least.text}), which is not supported.`);
    else if (most.minor - release.minor > lag)
      problems.push(
        `${what} is ${release.text}, ${most.minor - release.minor} minor versions behind the API server (${most.text}); the limit is ${lag}.`,
      );
  };
  const only = (apiServer: Release | undefined) => apiServer && { least: apiServer, most: apiServer };
  for (const { name, release, apiServer } of controllers) judge(name, release, controllerLag, only(apiServer));
  for (const { name, kubelet, proxy } of nodes) {
    const apiServer = distribution.isOneProgram ? planes.get(name) : undefined;
    judge(`The kubelet on ${name}`, kubelet, kubeletLag(kubelet.minor), only(apiServer));
    // Newer releases report no proxy.
    if (!proxy) continue;
    if (proxy.minor !== kubelet.minor) judge(`kube-proxy on ${name}`, proxy, kubeletLag(proxy.minor), only(apiServer));
    if (Math.abs(proxy.minor - kubelet.minor) > proxyApart)
      problems.push(`${name}: kube-proxy ${proxy.text} and kubelet ${kubelet.text} are more than ${proxyApart} minor versions apart.`);
  }
  return problems;
}

/** Returns why a kubectl of this release must not be used, in one sentence; undefined if it is supported (one minor either way). */
export function kubectlProblem(kubectl: Release, apiServers: readonly Release[]): string | undefined {
  const remote = apiServers.find(({ minor }) => Math.abs(minor - kubectl.minor) > kubectlApart);
  return remote && `kubectl is ${kubectl.text}, more than one minor version away from the API server (${remote.text}).`;
}

/** Returns a text such as `1.31 -> 1.32 -> 1.33`. */
export function pathText(from: number, to: number): string {
  return Array.from({ length: to - from + 1 }, (_, index) => `1.${from + index}`).join(' -> ');
}
