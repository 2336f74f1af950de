import { objectOf, objectsOf, parsedJson, textOf } from '../../../text/json-value.ts';
import { countText } from '../../../text/quantities.ts';
import type { ClusterApi } from './api-client.ts';
import { conditionOf, isReady, type KubePod, podName } from './api-shapes.ts';
import { blocked, type CheckResult, ok, warning } from './check-result.ts';
import type { ClusterFacts, ClusterNode } from './cluster-facts.ts';
import { logLocation } from './distribution.ts';
import { lastWords, type NodeExec, type NodeOutcome } from './node-exec.ts';
import { minorText, newestMinorAt, type Release, releaseOf, supportedMinors } from './release.ts';
import { kubectlProblem, skewProblems } from './skew.ts';

/** Checks for nodes that are not ready, out of disk or memory, or cordoned. `ours` are cordoned by this checklist run. */
export function checkNodes({ nodes, distribution }: ClusterFacts, ours: ReadonlySet<string>): CheckResult {
  const [unfit, waiting, pressed]: [string[], string[], string[]] = [[], [], []];
  const pressure = ({ name, object }: ClusterNode, type: string) => {
    const found = conditionOf(object.status?.conditions, type);
    return found?.status === 'True' ? [`${name}: ${type}. ${found.message ?? ''}`.trim()] : [];
  };
  for (const node of nodes) {
    const { name, ready, object } = node;
    const { message, reason = 'no reason reported' } = conditionOf(object.status?.conditions, 'Ready') ?? {};
    // A node that this run left while it restarted is waited for later, when it is upgraded.
    if (!ready) (ours.has(name) ? waiting : unfit).push(`${name} is not ready: ${message ?? reason}`);
    unfit.push(...pressure(node, 'DiskPressure'));
    pressed.push(...pressure(node, 'MemoryPressure'), ...pressure(node, 'PIDPressure'));
  }
  const foreign = nodes.flatMap(({ name, cordoned }) =>
    cordoned && !ours.has(name) ? [`${name} is cordoned (SchedulingDisabled), but not by this checklist`] : [],
  );
  const listed = nodes.map(({ name, kubelet, ready }) => `${name}  ${kubelet.text}  ${ready ? 'ready' : 'not ready'}`);
  const evidence = [...unfit, ...foreign, ...waiting, ...pressed, ...listed];
  const logs = new Set(nodes.flatMap(({ ready, controlPlane }) => (ready ? [] : logLocation(distribution, controlPlane))));
  const log = logs.size > 0 ? `Check the log of its kubelet: ${[...logs].join(' or ')}` : 'Free up disk space.';
  if (unfit.length > 0) return blocked(unfit.join('; '), `Restore the node first. ${log}`, evidence);
  if (foreign.length > 0) {
    const advice =
      'Find out why the node was cordoned. Nodes are upgraded one at a time, and a cordoned node does not accept pods from drained nodes.';
    return blocked(foreign.join('; '), advice, evidence);
  }
  if (pressed.length > 0)
    return warning([...waiting, ...pressed].join('; '), 'Free up memory or process IDs on these nodes first.', evidence);
  if (waiting.length > 0) return warning(waiting.join('; '), 'The upgrade waits until the node is ready.', evidence);
  return ok(`${countText(nodes.length, 'node')} ready, none under disk, memory or PID pressure`, evidence);
}

/**
 * Checks the output of `kubectl version --client -o json` on the host that the operator works on. It may differ by one minor from the API
 * servers, before and after the upgrade.
 */
export function checkKubectl({ exitCode, stdout }: NodeOutcome, { apiServers }: ClusterFacts, target: Release): CheckResult {
  const version = objectOf(objectOf(parsedJson(stdout))?.['clientVersion'])?.['gitVersion'];
  const kubectl = exitCode === 0 ? releaseOf(textOf(version)) : undefined;
  if (!kubectl) return warning('kubectl on this host does not report its version');
  const now = kubectlProblem(kubectl, apiServers);
  const install = `Install kubectl ${minorText(target)} on this host`;
  if (now !== undefined) return warning(now, `${install}.`);
  if (kubectlProblem(kubectl, [target]) === undefined) return ok(kubectl.text);
  return warning(`kubectl ${kubectl.text} is too old for ${target.text}.`, `${install} after the upgrade.`);
}

export function checkSkew(facts: ClusterFacts): CheckResult {
  const { apiServers, apiServer, nodes } = facts;
  const problems = skewProblems(facts);
  if (problems.length > 0) {
    const advice =
      'Upgrade outdated components, starting with the control plane. Downgrade components that are newer than the API servers.';
    return blocked(problems.join(' '), advice, problems);
  }
  const behind = nodes.filter(({ kubelet }) => kubelet.minor < apiServer.minor);
  const servers = [...new Set(apiServers.map(minorText))].sort();
  const differences = [
    ...(servers.length > 1 ? [`API servers ${servers.join(' and ')}`] : []),
    ...(behind.length > 0 ? [`${behind.map(({ name, kubelet }) => `${name} ${minorText(kubelet)}`).join(', ')} behind`] : []),
  ];
  return ok(
    differences.length === 0 ? 'all API servers and kubelets run the same minor version' : `within the limits; ${differences.join('; ')}`,
  );
}

/** Checks that the release is within two minors of the newest (R73). */
export function checkSupport({ apiServer }: ClusterFacts, nowMs: number): CheckResult {
  const newest = newestMinorAt(nowMs);
  const behind = newest - apiServer.minor;
  const reported = `${minorText(apiServer)} (newest: probably 1.${newest})`;
  if (behind < supportedMinors) return ok(`${reported}, still supported`);
  const advice = `Three minor versions are released each year, and the newest ${supportedMinors} get fixes, so stay within two minor versions of the newest. Upgrade one minor version at a time.`;
  return warning(`${reported}, ${behind} minor versions behind, no longer supported by the Kubernetes project`, advice);
}

export async function checkHealth(api: ClusterApi, signal: AbortSignal): Promise<CheckResult> {
  const pages = await Promise.all(['/readyz', '/livez'].map(async (page) => ({ page, ...(await api.text(`${page}?verbose`, signal)) })));
  const failing = pages.flatMap(({ page, text }) =>
    text.split('\n').flatMap((line) => (line.startsWith('[-]') ? [`${page} ${line.slice(3)}`] : [])),
  );
  const sound = pages.every(({ status }) => status === 200);
  if (!sound || failing.length > 0) {
    const summary = failing.length > 0 ? failing.join('; ') : pages.map(({ page, status }) => `${page} returned ${status}`).join(', ');
    return blocked(summary, 'Fix these problems first, because an upgrade restarts the API server.', failing);
  }
  const etcd = pages.some(({ text }) => /^\[\+\]etcd ok/m.test(text));
  return ok(`ready and live${etcd ? ', including etcd' : ''}`);
}

const shownPods = 12;

export async function checkPods(api: ClusterApi, signal: AbortSignal, each: (count: number) => void): Promise<CheckResult> {
  const pods = await api.list<KubePod>('/api/v1/pods', signal, { fields: 'status.phase!=Succeeded' }, each);
  const system: string[] = [];
  const others: string[] = [];
  for (const pod of pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined)) {
    const { phase = 'unknown', containerStatuses = [] } = pod.status ?? {};
    const waiting = containerStatuses.find(({ state }) => /BackOff|Err/.test(state?.waiting?.reason ?? ''));
    const why = waiting ? `${waiting.state?.waiting?.reason}, ${countText(waiting.restartCount ?? 0, 'restart')}` : phase;
    if (pod.metadata.namespace === 'kube-system') {
      if (!isReady(pod)) system.push(`${podName(pod)}: ${why}`);
    } else if (waiting || ['Pending', 'Failed', 'Unknown'].includes(phase)) others.push(`${podName(pod)}: ${why}`);
  }
  const all = [...system, ...others];
  const evidence = [...all.slice(0, shownPods), ...(all.length > shownPods ? [`and ${all.length - shownPods} more`] : [])];
  if (all.length === 0) return ok(`${countText(pods.length, 'pod')}, none with problems`);
  const summary = `${all.length} of ${countText(pods.length, 'pod')} with problems${system.length > 0 ? `, ${system.length} in kube-system` : ''}`;
  return warning(summary, 'Fix these pods before the upgrade, or record them to distinguish them from new problems.', evidence);
}

type KubeadmCertificate = Partial<{ name: string; residualTime: number; missing: boolean }>;

/** kubeadm renews its certificates during an upgrade, but requires valid ones until then. */
const soonDays = 30;
const notRenewed = 'Renew certificate authorities and externally managed certificates yourself: kubeadm does not.';

export async function checkCertificates(nodeExec: NodeExec, signal: AbortSignal): Promise<CheckResult> {
  const outcome = await nodeExec.read(['kubeadm', 'certs', 'check-expiration', '-o', 'json'], signal);
  const found = outcome.exitCode === 0 ? certificatesIn(outcome.stdout) : undefined;
  if (!found?.length) {
    const advice = 'Run on a control-plane node: kubeadm certs check-expiration';
    return warning(`Not checked: ${found ? 'kubeadm listed no certificates' : lastWords(outcome) || 'kubeadm printed nothing'}`, advice);
  }
  const ended = found.flatMap(({ name, days }) => (days < 0 ? [name] : []));
  const soon = found.filter(({ days }) => days >= 0 && days < soonDays);
  const evidence = found.map(({ name, days }) => `${name}  ${countText(days, 'day')}`);
  if (ended.length > 0) {
    const summary = `expired: ${ended.join(', ')}`;
    return blocked(summary, `Run "kubeadm certs renew all", then restart the control plane. ${notRenewed}`, evidence);
  }
  if (soon.length > 0) {
    const advice = `kubeadm upgrade renews certificates, unless --certificate-renewal=false is set. ${notRenewed}`;
    return warning(`expiring soon: ${soon.map(({ name, days }) => `${name} (${countText(days, 'day')})`).join(', ')}`, advice, evidence);
  }
  const next = countText(Math.min(...found.map(({ days }) => days)), 'day');
  return ok(`${countText(found.length, 'certificate')}, next expiry in ${next}`, evidence);
}

function certificatesIn(text: string): { name: string; days: number }[] | undefined {
  // The output may begin with messages of its preflight checks.
  const parsed = objectOf(parsedJson(text.slice(Math.max(0, text.indexOf('{')))));
  const all = parsed && [...objectsOf(parsed['certificates']), ...objectsOf(parsed['certificateAuthorities'])];
  return all?.flatMap((one) => {
    const { name = '', residualTime, missing } = one as KubeadmCertificate;
    // A node may lack a file, such as super-admin.conf, which kubeadm reports with a residual time of 0.
    return residualTime === undefined || missing ? [] : [{ name, days: Math.floor(residualTime / 86_400) }];
  });
}

/** Each minor of Talos supports six minors of Kubernetes (its support matrix): 1.9 supports 1.27 to 1.32. */
const newestOf = (talosMinor: number) => talosMinor + 23;
const oldestOf = (talosMinor: number) => talosMinor + 18;

/** Returns 9 for `Talos (v1.9.4)`, and NaN for any other image. */
const talosMinor = (osImage: string) => Number(/^Talos \(v1\.(\d+)\./.exec(osImage)?.[1] ?? Number.NaN);

/** Checks that Talos supports that minor of Kubernetes. Talos is upgraded separately, and first. */
export function checkTalos({ nodes }: ClusterFacts, targetMinor: number): CheckResult {
  const reported = nodes.map(({ name, osImage }) => ({ name, osImage, minor: talosMinor(osImage) }));
  const evidence = reported.map(({ name, osImage }) => `${name}  ${osImage}`);
  const minors = reported.map(({ minor }) => minor).filter((minor) => !Number.isNaN(minor));
  if (minors.length === 0) return warning('the nodes report no Talos version', undefined, evidence);
  const lowest = Math.min(...minors);
  const range = `Talos 1.${lowest} supports Kubernetes 1.${oldestOf(lowest)} to 1.${newestOf(lowest)}`;
  if (targetMinor > newestOf(lowest)) {
    const behind = reported.filter(({ minor }) => targetMinor > newestOf(minor)).map(({ name }) => name);
    const advice = `Upgrade Talos first, one minor version and one node at a time: talosctl -n NODE upgrade --image ghcr.io/siderolabs/installer:v1.${lowest + 1}.N`;
    return blocked(`${range}; too old for 1.${targetMinor} on ${behind.join(', ')}`, advice, evidence);
  }
  if (targetMinor < oldestOf(lowest)) return warning(`${range}; 1.${targetMinor} is too old`, 'Choose a supported version.', evidence);
  return ok(range, evidence);
}
