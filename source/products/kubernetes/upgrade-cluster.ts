import { join, resolve } from 'node:path';
import { listOwnFolder } from '../../config/own-files.ts';
import { Fault } from '../../faults/fault.ts';
import { unlessCode } from '../../faults/unless-fault.ts';
import type { ComponentView } from '../../fleet/model.ts';
import { type ChecklistAction, checklistOutcome, inTheWay, runChecklist, skipItems, writeReport } from '../../flows/checklist-questions.ts';
import { upgradeComponent } from '../../flows/deploy/upgrade-component.ts';
import type { FlowContext, FlowInput, FlowOutcome, Procedure } from '../../flows/flow.ts';
import { optionOf, wordsUpTo } from '../../flows/flow-options.ts';
import { Checklist, type ChecklistFacts, otherChecklist, storedChecklist } from '../../session/checklist.ts';
import type { Session } from '../../session/session.ts';
import { cleanLine } from '../../text/clean.ts';
import { countText } from '../../text/quantities.ts';
import type { ClusterApi } from './client/api-client.ts';
import { type ClusterFacts, oldestApiServer, readCluster, readNode } from './client/cluster-facts.ts';
import { compareReleases, minorText, newestMinorAt, type Release } from './client/release.ts';
import { pathText, skewProblems } from './client/skew.ts';
import {
  type ClusterChecklist,
  checklistPace,
  fromTo,
  isAt,
  isCordonedByUs,
  isPlaneAt,
  isServer,
  nodeItem,
  planeItem,
  roundsOf,
  sections,
} from './cluster-checklist.ts';
import { announce, itemIds, observe } from './cluster-items.ts';
import { canSnapshot, checkSnapshot, snapshotNow, storageOf } from './cluster-snapshot.ts';
import { openCluster } from './cluster-target.ts';
import { findNodeExecs } from './node-exec.ts';
import { upgradeControlPlane } from './upgrade-control-plane.ts';
import { upgradeNode } from './upgrade-nodes.ts';
import { chooseTarget, nodesBefore, releasesBetween } from './upgrade-target.ts';

/** Time limit of the last check of nodes when a run ends early. */
const lastLookMs = 2_000;

const safeName = (text: string) => text.replace(/[^A-Za-z0-9.-]+/g, '-').slice(0, 80);

/** The namespace exists as long as its cluster. Returns undefined if the user may not read it. */
async function readUid(api: ClusterApi, signal: AbortSignal): Promise<string | undefined> {
  const found = api.find<{ metadata?: { uid?: string } }>('/api/v1/namespaces/kube-system', signal);
  return (await unlessCode(found, ['refused.right'], undefined))?.metadata?.uid;
}

/** Returns the newest open checklist for this cluster. Throws `refused.checklist` if a named one is of another cluster. */
async function begunChecklist(folder: string, context: string, named: string | undefined, isSame: (facts: ChecklistFacts) => boolean) {
  if (named !== undefined) {
    const stored = await storedChecklist(named);
    if (stored?.endedAt !== undefined) return undefined;
    if (stored && !isSame(stored.facts)) throw otherChecklist(named, stored);
    return stored;
  }
  const prefix = `cluster-${safeName(context)}-v`;
  const files = ((await listOwnFolder(folder)) ?? []).filter(
    ({ name, kind }) => kind === 'file' && name.startsWith(prefix) && name.endsWith('.json'),
  );
  const stored = await Promise.all(files.map(({ name }) => storedChecklist(join(folder, name)).catch(() => undefined)));
  return stored
    .flatMap((one) => (one && one.endedAt === undefined && isSame(one.facts) ? [one] : []))
    .sort((one, other) => (one.startedAt < other.startedAt ? -1 : 1))
    .at(-1);
}

function showWhere(session: Session, facts: ClusterFacts): void {
  const { apiServers, nodes, etcd, controllers, distribution } = facts;
  const rows = [
    ['API server', apiServers.map(({ text }) => text).join(', '), distribution.name],
    ...controllers.map(({ name, release }) => [name, release.text, '']),
    ...(etcd === undefined ? [] : [['etcd', etcd, '']]),
    ...nodes.map(({ name, kubelet, ready, cordoned, runtime, controlPlane }) => [
      name,
      kubelet.text,
      [controlPlane ? 'control plane' : 'worker', ready ? '' : 'not ready', cordoned ? 'cordoned' : '', runtime.replace('://', ' ')]
        .filter(Boolean)
        .join(', '),
    ]),
  ];
  session.show({ kind: 'table', title: 'Current state', columns: ['WHAT', 'VERSION', ''], rows });
}

/** Returns the path to the newest known release: one checklist covers one minor. */
function pathLine(facts: ClusterFacts): string {
  const { apiServer, nodes } = facts;
  const newest = newestMinorAt(Date.now());
  if (apiServer.minor >= newest)
    return `The cluster runs ${minorText(apiServer)}; the newest minor version is probably 1.${newest} (estimated from the release schedule).`;
  const reported = `Path to the newest version (probably 1.${newest}): ${pathText(apiServer.minor, newest)}, one checklist run for each minor version.`;
  // The skew check reports a kubelet that is newer than the API server; it would have to go back first.
  if (nodes.some(({ kubelet }) => kubelet.minor > apiServer.minor)) return reported;
  const servers = nodes.filter(({ controlPlane }) => controlPlane).map(({ name }) => facts.planes.get(name) ?? apiServer);
  const kubelets = nodes.filter((node) => !isServer(facts, node)).map(({ kubelet }) => kubelet);
  const parts = [...(servers.length > 0 ? servers : [apiServer]), ...kubelets];
  const steps = parts.reduce((sum, { minor }) => sum + newest - minor, 0);
  return `${reported} ${countText(steps, 'step')} in total.`;
}

export async function upgradeCluster(
  session: Session,
  input: FlowInput,
  flowContext: FlowContext,
  named: string | undefined,
  pace = checklistPace,
): Promise<FlowOutcome> {
  session.progress({ id: 'look', label: 'Querying the cluster' });
  const { api, context, config } = await openCluster(session, input, flowContext, named);
  const facts = await readCluster(api, session.signal);
  session.progress({ id: 'look', label: 'Cluster queried', done: true });
  showWhere(session, facts);
  session.show({ kind: 'text', text: pathLine(facts) });
  const nodeExecs = findNodeExecs(flowContext, input.engineName, session.signal, facts.distribution.kind);
  const first = facts.nodes.find(({ controlPlane }) => controlPlane);
  const nodeExec = first && facts.distribution.kind === 'kubeadm' ? await nodeExecs.to(first) : undefined;
  const { folder, who } = (await flowContext.checklists?.()) ?? { folder: '', who: '' };
  const own = typeof input.options.checklist === 'string' ? resolve(input.options.checklist) : undefined;
  const uid = await readUid(api, session.signal);
  // A colleague may use another name for the context, and several clusters may have the same name.
  const isSame = (stored: ChecklistFacts) =>
    uid && stored['uid'] ? stored['uid'] === uid : own ? stored['cluster'] === api.shown : stored['context'] === context;
  const begun = await begunChecklist(folder, context, own, isSame);
  // A checklist whose release the cluster has meanwhile passed is obsolete.
  const target = await chooseTarget(session, input, facts, begun?.facts['to'], nodeExec);
  const what = `${input.options.check === true ? 'Checking' : 'Resuming'} the upgrade to ${target.text}`;
  if (begun?.facts['to'] === target.text) session.show({ kind: 'text', text: `${what} that ${begun.startedBy} started.` });
  const list = await Checklist.open({
    file: own ?? join(folder, `cluster-${safeName(context)}-${safeName(target.text)}.json`),
    title: `Upgrade of ${context} to ${target.text}`,
    facts: { context, cluster: api.shown, ...(uid && { uid }), from: facts.apiServer.text, to: target.text },
    isSame: (stored) => isSame(stored) && stored['to'] === target.text,
    who,
    session,
    kept: input.options.check !== true,
  });
  const kept = list.note('via')?.data;
  const between = await releasesBetween(session, input, facts, target, kept);
  // Recorded because the nodes may be past these releases when the run is resumed.
  const passed = Object.fromEntries([...between].map(([minor, { text }]) => [minor, text]));
  if (between.size > 0) await list.keep('via', { kind: 'done', data: { ...kept, ...passed } });
  const checklist: ClusterChecklist = {
    ...{ session, input, flowContext, api, context, facts, target, list, nodeExecs, between, pace },
    kubeconfig: config.files,
    hand: input.options.hand === true,
    tries: new Map(),
  };
  // Drains of upgraded nodes too, so that the same command can be run again.
  const ofNodes = facts.nodes.flatMap(({ name, controlPlane }) => [`drain ${name}`, ...(controlPlane ? [planeItem(name)] : [])]);
  await skipItems(list, input, [...new Set([...(await itemIds(checklist)), ...ofNodes])]);
  try {
    return await checklistThrough(checklist);
  } catch (thrown) {
    await list.keepSeen().catch(() => undefined);
    const report = await writeReport(session, input, list, 'Not finished.').catch(() => undefined);
    throw await leftFault(checklist, thrown, report);
  }
}

async function checklistThrough(checklist: ClusterChecklist): Promise<FlowOutcome> {
  const { session, input, list, target } = checklist;
  await announce(checklist);
  for (const { id, title, done } of steps(checklist)) {
    await list.set(id, { section: sections.steps, title, state: done ? 'ok' : 'todo', summary: done ? `at ${done.text}` : '' });
  }
  await observe(checklist);
  if (input.options.check === true) {
    const { blocked } = list;
    const complete = blocked.length === 0;
    const { facts } = checklist;
    const path = isPlaneAt(facts, target) ? `of the nodes to ${target.text}` : `from ${fromTo(oldestApiServer(facts), target)}`;
    const message = complete ? `No blocking items for the upgrade ${path}.` : inTheWay(blocked);
    return checklistOutcome(session, input, list, { outcome: 'Checked only; nothing was upgraded.', message, complete });
  }
  await untilClear(checklist);
  // Nodes that would be too old are upgraded first, to the current release of the control plane.
  for (const name of nodesBefore(checklist.facts, target)) await upgradeNode(checklist, name, oldestApiServer(checklist.facts));
  await upgradeControlPlane(checklist);
  for (const name of order(checklist)) await upgradeNode(checklist, name);
  return finish(checklist);
}

/** Returns the parts to upgrade; `done` is the release of a part that needs no upgrade. */
function steps(checklist: ClusterChecklist): { id: string; title: string; done: Release | undefined }[] {
  const { facts, target } = checklist;
  const planes = facts.nodes.filter(({ controlPlane }) => controlPlane);
  // If the API server of a node cannot be read, all that can be read must have the target release.
  const all = isPlaneAt(facts, target) ? oldestApiServer(facts) : undefined;
  const doneOn = (name: string) => {
    const release = facts.planes.get(name);
    return release === undefined ? all : isAt(release, target) ? release : undefined;
  };
  return [
    ...(planes.length === 0
      ? [{ id: 'control-plane', title: 'Control plane', done: all }]
      : planes.map(({ name }) => ({ id: planeItem(name), title: `Control plane on ${name}`, done: doneOn(name) }))),
    ...facts.nodes
      .filter((node) => !isServer(facts, node))
      .map(({ name, kubelet }) => ({
        id: nodeItem(name),
        title: `${name}, ${kubelet.text}${isAt(kubelet, target) ? '' : ` to ${target.text}`}`,
        // A release newer than the target is not a success: the skew check reports it.
        done: isAt(kubelet, target) && kubelet.minor === target.minor && !isCordonedByUs(checklist, name) ? kubelet : undefined,
      })),
  ];
}

/** Returns nodes that this run left cordoned first, then those of the control plane, then the others. */
function order(checklist: ClusterChecklist): string[] {
  const { facts } = checklist;
  const names = facts.nodes.filter((node) => !isServer(facts, node)).map(({ name }) => name);
  const left = (name: string) => Number(isCordonedByUs(checklist, name));
  return names.sort((one, other) => left(other) - left(one));
}

function goText({ facts, target }: ClusterChecklist): string {
  if (facts.distribution.kind === 'talos') return 'Continue: all nodes together, with talosctl';
  const first = facts.distribution.isOneProgram ? 'servers one at a time, then' : 'the control plane, then';
  const early = nodesBefore(facts, target).length > 0 ? 'first the nodes that are too old, then ' : '';
  return `Continue: ${early}${isPlaneAt(facts, target) ? '' : `${first} `}${early ? 'the other ' : ''}nodes one at a time`;
}

async function untilClear(checklist: ClusterChecklist): Promise<void> {
  const { session, list, target } = checklist;
  for (;;) {
    const isMissing = list.item('snapshot')?.state === 'blocked' && (await canSnapshot(checklist));
    const answer = await runChecklist(session, list, {
      id: 'checklist',
      label: isPlaneAt(checklist.facts, target)
        ? `Upgrade the nodes of ${checklist.context} to ${target.text}`
        : `Upgrade ${checklist.context} from ${fromTo(oldestApiServer(checklist.facts), target)}`,
      go: goText(checklist),
      actions: isMissing ? [snapshotAction(checklist)] : [],
    });
    if (answer === 'snapshot') await snapshotNow(checklist);
    if (answer === 'again') {
      checklist.facts = await readCluster(checklist.api, session.signal);
      await observe(checklist);
    }
    if (answer !== 'go') continue;
    if (session.dryRun) return isMissing ? snapshotNow(checklist) : undefined;
    // After a long pause the snapshot may be too old.
    await checkSnapshot(checklist);
    if (list.blocked.length === 0) return;
  }
}

function snapshotAction(checklist: ClusterChecklist): ChecklistAction {
  const what = storageOf(checklist) === 'state' ? 'a copy of the cluster state' : 'an etcd snapshot';
  // k3s and RKE2 only list theirs.
  const detail = storageOf(checklist) === 'built-in' ? 'and check that it is listed as complete' : 'and verify it';
  return { value: 'snapshot', label: `Create ${what} now`, detail, first: true };
}

async function finish(checklist: ClusterChecklist): Promise<FlowOutcome> {
  const { session, input, list, target, context, api } = checklist;
  if (session.dryRun)
    return checklistOutcome(session, input, list, { outcome: `Dry run: ${context} still runs ${checklist.facts.apiServer.text}.` });
  checklist.facts = await readCluster(api, session.signal);
  const { nodes, apiServers } = checklist.facts;
  const problems = skewProblems(checklist.facts);
  const behind = nodes.filter((node) => roundsOf(checklist, node).length > 0).map(({ name }) => name);
  const notReady = nodes.filter(({ ready }) => !ready).map(({ name }) => name);
  const left = [
    ...problems.map((problem) => problem.replace(/\.$/, '')),
    ...(isPlaneAt(checklist.facts, target) ? [] : [`an API server still runs ${oldestApiServer(checklist.facts).text}`]),
    ...behind.map((name) => `${name} is not upgraded`),
    ...notReady.map((name) => `${name} is not ready`),
  ];
  const isNewer = [...apiServers, ...nodes.map(({ kubelet }) => kubelet)].some((release) => compareReleases(release, target) > 0);
  const reached = `${target.text}${isNewer ? ' or newer' : ''}`;
  await list.set('after', {
    section: sections.steps,
    title: 'Afterwards',
    state: left.length > 0 ? 'warning' : 'ok',
    summary: left.length > 0 ? left.join('; ') : `${countText(nodes.length, 'node')} at ${reached}, all ready`,
    evidence: nodes.map(({ name, kubelet, ready }) => `${name}  ${kubelet.text}  ${ready ? 'ready' : 'not ready'}`),
  });
  await list.keepSeen();
  const complete = left.length === 0;
  if (complete) await list.end();
  const outcome = complete
    ? `The control plane and ${countText(nodes.length, 'node')} of ${cleanLine(context)} run ${reached}.`
    : `${cleanLine(context)} is not fully upgraded to ${target.text}: ${left.join('; ')}.`;
  return checklistOutcome(session, input, list, { outcome, complete });
}

/** Queries the nodes again with a short limit: an interrupted request may or may not have taken effect. */
async function stillCordoned(checklist: ClusterChecklist): Promise<string[]> {
  const signal = AbortSignal.timeout(lastLookMs);
  const noted = checklist.facts.nodes.map(({ name }) => name).filter((name) => isCordonedByUs(checklist, name));
  const nodes = await Promise.all(noted.map((name) => readNode(checklist.api, name, signal).catch(() => ({ cordoned: true }))));
  return noted.filter((_, index) => nodes[index]?.cordoned);
}

/** Cancelling is safe at any step: completed steps stay, and the fault lists the remaining ones. */
async function leftFault(checklist: ClusterChecklist, thrown: unknown, report: string | undefined): Promise<unknown> {
  const { list, context, input } = checklist;
  if (!(thrown instanceof Fault) || (thrown.kind !== 'interrupted' && thrown.kind !== 'failed' && thrown.kind !== 'unreachable'))
    return thrown;
  const steps = list.items.filter(({ section }) => section === sections.steps);
  const done = steps.filter(({ state }) => state === 'ok').length;
  const cordoned = await stillCordoned(checklist);
  const begun = steps.some(({ state }) => state === 'ok' || state === 'running');
  const state = begun ? `${done} of ${countText(steps.length, 'step')} done` : 'Nothing was upgraded';
  const where = `${state}${cordoned.length > 0 ? `; ${cordoned.join(', ')} ${cordoned.length === 1 ? 'is' : 'are'} still cordoned` : ''}.`;
  const named = ['kubeconfig', 'checklist'].flatMap((name) => optionOf(input, name)?.replace(/^/, `--${name} `) ?? []);
  const message = `${thrown.message.replace(/([^.!?])$/, '$1.')} ${where}${report ? ` Report: ${report}` : ''}`;
  const remedy = `${thrown.kind === 'interrupted' ? '' : `${thrown.remedy} `}To resume the upgrade: ${['quarterdeck upgrade', context, ...named].join(' ')}`;
  return new Fault(thrown.code, message, remedy, { cause: thrown });
}

/** An argument that is the name of a component selects it; any other is a context of the kubeconfig. */
export const upgrade: Procedure = async (session, input, flowContext) => {
  const [named] = wordsUpTo(1, input, { takes: 'Upgrade one context or component at a time', remedy: 'Run the command once for each.' });
  const component = named === undefined ? undefined : componentNamed(flowContext, input, named);
  const checklist = (chosen: ComponentView) =>
    upgradeComponent(session, { ...input, engineName: chosen.host, component: chosen, words: [] }, flowContext);
  if (component) return checklist(component);
  try {
    return await upgradeCluster(session, input, flowContext, named);
  } catch (thrown) {
    if (!(thrown instanceof Fault) || thrown.code !== 'usage.kubeconfig') throw thrown;
    if (named !== undefined) {
      const message = `No component or cluster "${cleanLine(named)}". ${thrown.message}`;
      throw new Fault('usage.component', message, `To list the components, run quarterdeck status. ${thrown.remedy}`, { cause: thrown });
    }
    return checklist(await chooseComponent(session, flowContext, thrown));
  }
};

/** In practice all components count as deployed from here, and are recorded when that is first needed. */
async function chooseComponent(session: Session, { fleet, practice }: FlowContext, cause: Fault): Promise<ComponentView> {
  const known = fleet.snapshot().components.filter((one) => one.known && (one.deployed || practice !== undefined));
  if (!session.attended || known.length === 0) throw cause;
  const key = await session.ask.choice({
    id: 'component',
    label: 'Component',
    help: `${cause.message} ${cause.remedy}`,
    choices: known.map((one) => ({ value: one.key, label: one.id, detail: `${one.product}, ${one.state.label}` })),
  });
  const chosen = known.find((one) => one.key === key);
  if (!chosen) throw new Error('unexpected choice');
  return chosen;
}

function componentNamed({ fleet }: FlowContext, { engineName }: FlowInput, name: string): ComponentView | undefined {
  const found = fleet.snapshot().components.filter(({ id, known }) => known && id === name);
  return found.find(({ host }) => host === engineName) ?? found[0];
}
