import { minorText, type Release } from './release.ts';

export interface NodeRelease {
  name: string;
  kubelet: Release;
  /** Not told by newer releases. */
  proxy?: Release | undefined;
  /** Of a server whose kubelet and API server are one program. */
  apiServer?: Release | undefined;
}

export interface SkewSubject {
  /** Of all API servers that were seen. */
  apiServers: readonly Release[];
  nodes: readonly NodeRelease[];
  /** Controller manager, scheduler, cloud controller manager. `apiServer` is that of the same node, which is the one they talk to. */
  controllers?: readonly { name: string; release: Release; apiServer?: Release | undefined }[];
}

/** So many minors a kubelet may be older than the API server: two until 1.24. */
export const kubeletLag = (minor: number): number => (minor < 25 ? 2 : 3);

const apiServerSpread = 1;
const controllerLag = 1;
const proxyApart = 3;
const kubectlApart = 1;

/** What goes beyond the version skew policy, a sentence each. While API servers differ, the oldest says what is too new, and the newest what is too old. */
export function skewProblems({ apiServers, nodes, controllers = [] }: SkewSubject): string[] {
  const [first] = apiServers;
  if (!first) return [];
  const oldest = apiServers.reduce((least, each) => (each.minor < least.minor ? each : least), first);
  const newest = apiServers.reduce((most, each) => (each.minor > most.minor ? each : most), first);
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

/** What a kubectl of this release must not be used with, a sentence; undefined where it fits (one minor either way). */
export function kubectlProblem(kubectl: Release, apiServers: readonly Release[]): string | undefined {
  const far = apiServers.find(({ minor }) => Math.abs(minor - kubectl.minor) > kubectlApart);
  return far && `kubectl is ${kubectl.text}, more than one minor away from the API server (${far.text}).`;
}
