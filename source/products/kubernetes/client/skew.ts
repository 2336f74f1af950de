import { minorText, type Release } from './release.ts';

interface SkewSubject {
  apiServers: readonly Release[];
  /** Newer releases report no proxy. `apiServer` is set if kubelet and API server are one program. */
  nodes: readonly { name: string; kubelet: Release; proxy?: Release | undefined; apiServer?: Release | undefined }[];
  /** Controller manager, scheduler, cloud controller manager. `apiServer` is that of the same node, to which they connect. */
  controllers?: readonly { name: string; release: Release; apiServer?: Release | undefined }[];
}

/** Returns how many minors a kubelet may be older than the API server: two until 1.24. */
export const kubeletLag = (minor: number): number => (minor < 25 ? 2 : 3);

const apiServerSpread = 1;
const controllerLag = 1;
const proxyApart = 3;
const kubectlApart = 1;

/** One sentence each. While API servers differ, the oldest is the upper limit and the newest the lower limit. */
export function skewProblems({ apiServers, nodes, controllers = [] }: SkewSubject): string[] {
  const byMinor = apiServers.toSorted((one, other) => one.minor - other.minor);
  const [oldest] = byMinor;
  const newest = byMinor.find(({ minor }) => minor === byMinor.at(-1)?.minor);
  if (!oldest || !newest) return [];
  const problems: string[] = [];
  if (newest.minor - oldest.minor > apiServerSpread)
    problems.push(`API servers are ${minorText(oldest)} and ${minorText(newest)}: they may be one minor apart.`);
  const judge = (what: string, release: Release, lag: number, { least = oldest, most = newest } = {}) => {
    if (release.minor > least.minor)
      problems.push(`${what} is ${release.text}, newer than the API server (${least.text}): it must never be.`);
    else if (most.minor - release.minor > lag)
      problems.push(
        `${what} is ${release.text}, ${most.minor - release.minor} minors behind the API server (${most.text}): ${lag} are allowed.`,
      );
  };
  const only = (apiServer: Release | undefined) => apiServer && { least: apiServer, most: apiServer };
  for (const { name, release, apiServer } of controllers) judge(name, release, controllerLag, only(apiServer));
  for (const { name, kubelet, proxy, apiServer } of nodes) {
    judge(`The kubelet of ${name}`, kubelet, kubeletLag(kubelet.minor), only(apiServer));
    if (!proxy) continue;
    if (proxy.minor !== kubelet.minor) judge(`kube-proxy on ${name}`, proxy, kubeletLag(proxy.minor), only(apiServer));
    if (Math.abs(proxy.minor - kubelet.minor) > proxyApart)
      problems.push(`kube-proxy on ${name} (${proxy.text}) and its kubelet (${kubelet.text}) are more than ${proxyApart} minors apart.`);
  }
  return problems;
}

/** Returns why a kubectl of this release must not be used, in one sentence; undefined if it is supported (one minor either way). */
export function kubectlProblem(kubectl: Release, apiServers: readonly Release[]): string | undefined {
  const remote = apiServers.find(({ minor }) => Math.abs(minor - kubectl.minor) > kubectlApart);
  return remote && `kubectl is ${kubectl.text}, more than one minor away from the API server (${remote.text}).`;
}

/** Minors of major 1, which is the only major. */
export interface ClusterMinors {
  apiServer: number;
  nodes: readonly { name: string; minor: number; controlPlane: boolean }[];
}

export type PathStep = { kind: 'control-plane'; from: number; to: number } | { kind: 'node'; node: string; from: number; to: number };

/**
 * Returns the steps to a minor, one minor at a time for every part (R73), the control plane before the nodes. Nodes that would be too old
 * for the next control plane are upgraded before it. Returns undefined if there is no path: a downgrade, or a state that violates the
 * policy.
 */
export function pathTo({ apiServer, nodes }: ClusterMinors, target: number): PathStep[] | undefined {
  if (target < apiServer || nodes.some(({ minor }) => minor > apiServer)) return undefined;
  const steps: PathStep[] = [];
  const now = [...nodes]
    .sort((one, other) => Number(other.controlPlane) - Number(one.controlPlane))
    .map(({ name, minor }) => ({ name, minor }));
  const raise = (node: { name: string; minor: number }, to: number) => {
    while (node.minor < to) steps.push({ kind: 'node', node: node.name, from: node.minor, to: ++node.minor });
  };
  for (let api = apiServer; ; api++) {
    if (api < target) for (const node of now) if (api + 1 - node.minor > kubeletLag(node.minor)) raise(node, api);
    if (api > apiServer || api === target) for (const node of now) raise(node, api);
    if (api === target) return steps;
    steps.push({ kind: 'control-plane', from: api, to: api + 1 });
  }
}

/** Returns a text such as `1.31 -> 1.32 -> 1.33`. */
export function pathText(from: number, to: number): string {
  return Array.from({ length: to - from + 1 }, (_, index) => `1.${from + index}`).join(' -> ');
}
