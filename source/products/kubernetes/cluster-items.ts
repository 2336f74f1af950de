import { unlessCode } from '../../faults/unless-fault.ts';
import type { ExecOptions, Host } from '../../hosts/host.ts';
import { once } from '../../stack/preflight/host-facts.ts';
import { countText } from '../../text/quantities.ts';
import { namesText } from '../../text/words.ts';
import * as apiChecks from './client/api-checks.ts';
import { blocked, type CheckResult, looked, ok, skipped, warning } from './client/check-result.ts';
import { blindSpots, checkerCommand, checkers, judgeChecker, limitedToVisible } from './client/checkers.ts';
import type { Distribution } from './client/distribution.ts';
import { budgetAdvice, dryRunDrain, lossesOf, planDrain } from './client/drain.ts';
import * as nodeChecks from './client/node-checks.ts';
import type { NodeOutcome } from './client/node-exec.ts';
import { type ClusterChecklist, isCordonedByUs, isDrained, minorsBetween, roundsOf, sections, showCheck } from './cluster-checklist.ts';
import { observeSnapshot, snapshotTitle } from './cluster-snapshot.ts';
import { outcomeOf } from './node-exec.ts';
import { viaText } from './upgrade-target.ts';

const checkerLimitMs = 120_000;
const kubectlLimitMs = 10_000;

type Look = () => Promise<CheckResult> | CheckResult;
type Item = readonly [id: string, section: string, title: string, look: Look];

async function itemsOf(checklist: ClusterChecklist): Promise<readonly Item[]> {
  const { api, facts, target, session, nodeExecs } = checklist;
  const { signal } = session;
  const { where, health, safety } = sections;
  const { distribution } = facts;
  const ours = new Set(facts.nodes.map(({ name }) => name).filter((name) => isCordonedByUs(checklist, name)));
  const first = facts.nodes.find(({ controlPlane }) => controlPlane);
  const nodeExec = first && (await nodeExecs.to(first));
  const unknown = minorsBetween(facts, target).filter((minor) => !checklist.between.has(minor));
  const checked = once(() => runCheckers(checklist));
  const onlyIf = (applies: boolean, ...item: Item): Item[] => (applies ? [item] : []);
  const certificates: Look = () => {
    if (distribution.kind !== 'kubeadm') return skipped(ownCertificates(distribution));
    if (nodeExec) return nodeChecks.checkCertificates(nodeExec, signal);
    const advice = 'Run on a control-plane node: kubeadm certs check-expiration';
    return warning(`Not checked: ${first ? `${first.name}: ${nodeExecs.why(first)}` : 'no control-plane node is visible'}`, advice);
  };
  const podsRead = (count: number) => session.progress({ id: 'pods', label: `${countText(count, 'pod')} read` });
  return [
    ['skew', where, 'Version skew', () => nodeChecks.checkSkew(facts)],
    ['kubectl', where, 'kubectl on this host', () => lookAtKubectl(checklist)],
    ['support', where, 'Support', () => nodeChecks.checkSupport(facts, Date.now())],
    ...onlyIf(distribution.kind === 'talos', 'talos', where, 'Talos', () => nodeChecks.checkTalos(facts, target.minor)),
    ...onlyIf(distribution.isOneProgram, 'plans', where, 'Automatic upgrades', () => apiChecks.checkUpgradePlans(api, signal)),
    ...onlyIf(unknown.length > 0, 'via', where, 'Intermediate versions', () => withoutRelease(unknown)),
    ['rights', where, 'Permissions', () => apiChecks.checkRights(api, signal)],
    ['health', health, 'API server and etcd', () => nodeChecks.checkHealth(api, signal)],
    ['nodes', health, 'Nodes', () => nodeChecks.checkNodes(facts, ours)],
    ['pods', health, 'Pods', () => nodeChecks.checkPods(api, signal, podsRead)],
    ['deprecated', sections.api, 'Deprecated APIs in use', () => checkUse(checklist, checked)],
    ['checker', sections.api, 'Deprecated APIs deployed', checked],
    ['webhooks', sections.api, 'Webhooks', () => apiChecks.checkWebhooks(api, signal)],
    ['apiservices', sections.api, 'API services', () => apiChecks.checkApiServices(api, signal)],
    ['stored', sections.api, 'Stored versions', () => apiChecks.checkStoredVersions(api, signal)],
    ['addons', sections.api, 'Add-ons', () => addons(checklist)],
    ['certificates', safety, 'Certificates', certificates],
    ['snapshot', safety, snapshotTitle(checklist), () => observeSnapshot(checklist)],
    ['backups', safety, 'Workload backups', () => apiChecks.checkBackups(api, Date.now(), signal)],
    ...facts.nodes
      .filter((node) => isDrained(facts, node) && roundsOf(checklist, node).length > 0)
      .map(({ name }): Item => [`drain ${name}`, sections.drains, `Drain of ${name}`, () => dryRunResult(checklist, name)]),
  ];
}

export const itemIds = async (checklist: ClusterChecklist) => (await itemsOf(checklist)).map(([id]) => id);

export async function announce(checklist: ClusterChecklist): Promise<void> {
  for (const [id, section, title] of await itemsOf(checklist))
    if (!checklist.list.item(id)) await checklist.list.set(id, { section, title, state: 'todo' });
}

/** Runs all checks. A check that cannot be run reports why, and the others still run. */
export async function observe(checklist: ClusterChecklist): Promise<void> {
  const { session, list } = checklist;
  for (const [id, section, title, look] of await itemsOf(checklist)) {
    session.signal.throwIfAborted();
    const item = list.item(id);
    await list.set(id, { state: 'running', summary: item?.summary ?? '' });
    await showCheck(checklist, { id, section, title }, await looked(look));
  }
  session.progress({ id: 'pods', label: 'Pods read', done: true });
  await list.keepSeen();
}

const ownCertificates = (distribution: Distribution) =>
  distribution.isOneProgram
    ? `${distribution.name} renews expiring certificates when it is restarted`
    : 'not applicable: only kubeadm certificates are checked';

/** If the counters may not be read and no program checked the deployed objects, nothing was checked (R73). */
async function checkUse({ api, target, session }: ClusterChecklist, checked: () => Promise<CheckResult>): Promise<CheckResult> {
  const used = await looked(() => apiChecks.checkDeprecated(api, target.minor, session.signal));
  if (!used.unseen) return used;
  const { unseen, advice } = await checked();
  return unseen ? { ...used, state: 'blocked', advice: `${used.advice} Alternatively: ${advice}` } : used;
}

function withoutRelease(minors: readonly number[]): CheckResult {
  const advice = `Pass a version for each: ${viaText(minors)}`;
  return warning(`nodes are upgraded through ${namesText(minors.map((minor) => `1.${minor}`))}, but no exact version is known`, advice);
}

async function lookAtKubectl({ flowContext, input, session, facts, target }: ClusterChecklist): Promise<CheckResult> {
  const limits = { signal: session.signal, limitMs: kubectlLimitMs };
  const outcome = await runHere(flowContext.hostOf(input.engineName), ['kubectl', 'version', '--client', '-o', 'json'], limits);
  return outcome ? nodeChecks.checkKubectl(outcome, facts, target) : skipped('kubectl is not installed on this host');
}

/** Returns undefined if the host does not have the program. */
async function runHere(host: Host, argv: readonly string[], options: ExecOptions): Promise<NodeOutcome | undefined> {
  const outcome = await unlessCode(host.exec(argv, options), ['unreachable.program'], undefined);
  return outcome && outcomeOf(outcome);
}

async function runCheckers({ flowContext, input, context, kubeconfig, target, session, api }: ClusterChecklist): Promise<CheckResult> {
  const host = flowContext.hostOf(input.engineName);
  const results: CheckResult[] = [];
  // The context may be in a file that they would not read by default.
  const env = { KUBECONFIG: kubeconfig.join(':') };
  for (const checker of checkers) {
    const limits = { signal: session.signal, limitMs: checkerLimitMs, limitBytes: 8 * 1024 * 1024 };
    const outcome = await runHere(host, checkerCommand(checker, target.text, context), { ...limits, env });
    if (outcome) results.push(judgeChecker(checker, outcome, target.minor));
  }
  const worstOne = results.find(({ state }) => state === 'blocked') ?? results.find(({ state }) => state === 'warning') ?? results[0];
  if (worstOne) {
    const reported = { ...worstOne, evidence: results.flatMap(({ summary, evidence = [] }) => [summary, ...evidence]) };
    return worstOne.state === 'blocked' ? reported : limitedToVisible(reported, await blindSpots(api, session.signal));
  }
  const advice = `Install pluto or kubent on this host. To check files that are not deployed: pluto detect-files -d DIR --target-versions k8s=${target.text}`;
  return { ...warning('neither pluto nor kubent is installed on this host', advice), unseen: true };
}

function addons({ facts, target }: ClusterChecklist): CheckResult {
  const evidence = [
    ...facts.addons.map(({ name, image }) => `${name}  ${image}`),
    ...new Set(facts.nodes.map(({ runtime }) => `container runtime  ${runtime}`)),
  ];
  if (facts.addons.length === 0) return warning(facts.unseen ?? 'none found in kube-system', undefined, evidence);
  const advice = `The compatibility of the add-ons with 1.${target.minor} is unknown. Read their release notes (network, storage, ingress, certificates).`;
  return warning(`${countText(facts.addons.length, 'add-on')}: ${facts.addons.map(({ name }) => name).join(', ')}`, advice, evidence);
}

async function dryRunResult({ api, session, facts }: ClusterChecklist, node: string): Promise<CheckResult> {
  const plan = await planDrain(api, node, session.signal);
  const refused = (await dryRunDrain(api, plan.evicted, session.signal)).map(({ pod, why }) => `${pod}: ${why}`);
  const lost = [
    ...lossesOf(plan),
    ...(facts.nodes.length === 1 && plan.evicted.length > 0 ? ['the only node, so evicted pods wait until this node is ready'] : []),
  ];
  const evidence = [...refused, ...lost];
  const moved = `${countText(plan.evicted.length, 'pod')} to evict`;
  if (refused.length > 0) return blocked(`${moved}; ${refused.join('; ')}`, budgetAdvice, evidence);
  if (lost.length > 0) return warning(`${moved}; ${lost.join('; ')}`, 'Save any data that must not be lost.', evidence);
  return ok(moved);
}
