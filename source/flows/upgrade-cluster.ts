import { join, resolve } from 'node:path';
import { type ClusterFacts, type ClusterNode, oldestApiServer, readCluster, readNode } from '../cluster/cluster-facts.ts';
import { isOneProgram } from '../cluster/distribution.ts';
import { drainPace } from '../cluster/drain.ts';
import { skewOf } from '../cluster/node-checks.ts';
import { minorText, newestMinorAt, type Release } from '../cluster/release.ts';
import { pathText, pathTo } from '../cluster/upgrade-path.ts';
import { listOwnFolder } from '../config/own-files.ts';
import { Fault } from '../faults/fault.ts';
import { Checklist, storedChecklist } from '../session/checklist.ts';
import type { Session } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { countText } from '../text/quantities.ts';
import { announce, observe } from './cluster-items.ts';
import { canSnapshot, lookAtSnapshot, snapshotNow, snapshotTitle } from './cluster-snapshot.ts';
import { openCluster } from './cluster-target.ts';
import { type ClusterWalk, fromTo, isAt, isPlaneAt, nodeItem, planeItem, roundsOf, sections, type WalkPace } from './cluster-walk.ts';
import type { FlowInput, FlowOutcome, FlowWorld } from './flow.ts';
import { NodeWays } from './node-ways.ts';
import { upgradeControlPlane } from './upgrade-control-plane.ts';
import { upgradeNode } from './upgrade-nodes.ts';
import { chooseTarget, nodesBefore, releasesBetween } from './upgrade-target.ts';
import { askWalk, checklistData, inTheWay, skipsOf, type WalkAction, writeReport } from './walk-questions.ts';

export const walkPace: WalkPace = { drain: drainPace, lookMs: 2_000, backMs: 600_000 };

/** For a last look at nodes when a run ends early. */
const lastLookMs = 2_000;

const safeName = (text: string) => text.replace(/[^A-Za-z0-9.-]+/g, '-').slice(0, 80);

interface Kept {
  file: string;
  /** Of a walk that somebody began and nobody ended. */
  to: string | undefined;
  by: string | undefined;
}

/** The newest walk for this cluster that was not ended. */
async function begunWalk(folder: string, context: string, named: string | undefined): Promise<Kept | undefined> {
  if (named !== undefined) {
    const stored = await storedChecklist(named);
    return { file: named, to: stored?.endedAt === undefined ? stored?.facts['to'] : undefined, by: stored?.begunBy };
  }
  const prefix = `cluster-${safeName(context)}-v`;
  const found: (Kept & { at: string })[] = [];
  for (const { name, kind } of (await listOwnFolder(folder)) ?? []) {
    if (kind !== 'file' || !name.startsWith(prefix) || !name.endsWith('.json')) continue;
    const file = join(folder, name);
    const stored = await storedChecklist(file).catch(() => undefined);
    if (stored && stored.endedAt === undefined && stored.facts['context'] === context)
      found.push({ file, to: stored.facts['to'], by: stored.begunBy, at: stored.begunAt });
  }
  return found.sort((one, other) => (one.at < other.at ? -1 : 1)).at(-1);
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
  session.show({ kind: 'table', title: 'Where it is', columns: ['WHAT', 'RELEASE', ''], rows });
}

/** The way to the newest release, as far as it can be known: shown once, since one walk is one minor. */
function pathLine({ apiServer, nodes }: ClusterFacts): string {
  const newest = newestMinorAt(Date.now());
  if (apiServer.minor >= newest) return `It is at ${minorText(apiServer)}, the newest minor that is known here.`;
  const steps = pathTo(
    { apiServer: apiServer.minor, nodes: nodes.map(({ name, kubelet, controlPlane }) => ({ name, minor: kubelet.minor, controlPlane })) },
    newest,
  );
  const told = `The path to the newest: ${pathText(apiServer.minor, newest)}, one walk for each.`;
  return steps ? `${told} ${countText(steps.length, 'step')} in all.` : told;
}

export async function upgradeCluster(
  session: Session,
  input: FlowInput,
  world: FlowWorld,
  named: string | undefined,
  pace: WalkPace = walkPace,
): Promise<FlowOutcome> {
  session.progress({ id: 'look', label: 'Asking the cluster' });
  const { api, context, config } = await openCluster(session, input, world, named);
  const facts = await readCluster(api, session.signal);
  session.progress({ id: 'look', label: 'Asked', done: true });
  showWhere(session, facts);
  session.show({ kind: 'text', text: pathLine(facts) });
  const ways = new NodeWays(world, input.place, session.signal, facts.distribution.kind);
  const first = facts.nodes.find(({ controlPlane }) => controlPlane);
  const way = first && facts.distribution.kind === 'kubeadm' ? await ways.to(first) : undefined;
  const { folder, who } = (await world.checklists?.()) ?? { folder: '', who: '' };
  const own = typeof input.options.checklist === 'string' ? resolve(input.options.checklist) : undefined;
  const begun = await begunWalk(folder, context, own);
  // One whose release was passed in another way meanwhile is history.
  const target = await chooseTarget(session, input, facts, begun?.to, way);
  if (begun?.to !== undefined && begun.to === target.text && begun.by !== undefined)
    session.show({ kind: 'text', text: `Goes on with the walk to ${target.text} that ${begun.by} began.` });
  const list = await Checklist.open({
    file: own ?? join(folder, `cluster-${safeName(context)}-${safeName(target.text)}.json`),
    title: `Upgrade of ${context} to ${target.text}`,
    facts: { context, cluster: api.shown, from: facts.apiServer.text, to: target.text },
    who,
    session,
    kept: input.options.check !== true,
  });
  const kept = list.note('via')?.data;
  const between = await releasesBetween(session, input, facts, target, kept);
  // Tomorrow nobody may run them any more.
  if (between.size > 0)
    await list.keep('via', {
      kind: 'done',
      data: { ...kept, ...Object.fromEntries([...between].map(([minor, { text }]) => [minor, text])) },
    });
  const hand = input.options.hand === true;
  const walk: ClusterWalk = {
    session,
    input,
    world,
    api,
    context,
    kubeconfig: config.files,
    facts,
    target,
    list,
    ways,
    between,
    hand,
    pace,
    tries: new Map(),
  };
  for (const [item, reason] of skipsOf(input)) await list.skip(item, reason);
  try {
    return await walkThrough(walk);
  } catch (thrown) {
    await list.keepSeen().catch(() => undefined);
    const report = await writeReport(session, input, list, 'Not finished.').catch(() => undefined);
    throw await leftFault(walk, thrown, report);
  }
}

async function walkThrough(walk: ClusterWalk): Promise<FlowOutcome> {
  const { session, input, list, target } = walk;
  await announce(walk);
  for (const { id, title, done } of steps(walk))
    await list.set(id, {
      section: sections.steps,
      title,
      state: done === undefined ? 'todo' : 'ok',
      summary: done === undefined ? '' : `at ${done.text}`,
    });
  await observe(walk);
  if (input.options.check === true) {
    const report = await writeReport(session, input, list, 'Only looked.');
    const { blocked } = list;
    return {
      message: `${blocked.length === 0 ? `Nothing is in the way ${isPlaneAt(walk.facts, target) ? `of the nodes to ${target.text}` : `from ${fromTo(oldestApiServer(walk.facts), target)}`}.` : inTheWay(blocked)}${report ? ` Report: ${report}` : ''}`,
      data: checklistData(list),
      ...(blocked.length > 0 && { exitCode: 1 }),
    };
  }
  await untilClear(walk);
  // Those that would be left too far behind, up to what the control plane is now.
  for (const name of nodesBefore(walk.facts, target)) await upgradeNode(walk, name, oldestApiServer(walk.facts));
  await upgradeControlPlane(walk);
  for (const name of order(walk)) await upgradeNode(walk, name);
  return finish(walk);
}

/** What is to be upgraded; `done` is the release of what needs no upgrade. */
function steps({ facts, target, list }: ClusterWalk): { id: string; title: string; done: Release | undefined }[] {
  const planes = facts.nodes.filter(({ controlPlane }) => controlPlane);
  // Where the API server of a node cannot be seen, all that can be seen have to be there.
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
        // One that is newer than the target is no success: the skew names it.
        done:
          isAt(kubelet, target) && kubelet.minor === target.minor && list.note(nodeItem(name))?.data?.['cordoned'] !== 1
            ? kubelet
            : undefined,
      })),
  ];
}

/** Of k3s and RKE2: its kubelet is part of it, and upgraded with it. */
const isServer = ({ distribution }: ClusterFacts, { controlPlane }: ClusterNode) => isOneProgram(distribution) && controlPlane;

/** One that was left cordoned comes first; then the control plane's, then the others. */
function order({ facts, list }: ClusterWalk): string[] {
  const left = (name: string) => list.note(nodeItem(name))?.data?.['cordoned'] === 1;
  return [...facts.nodes]
    .filter((node) => !isServer(facts, node))
    .sort((one, other) => Number(left(other.name)) - Number(left(one.name)))
    .map(({ name }) => name);
}

/** What comes next, by who made it. */
function goText({ facts, target }: ClusterWalk): string {
  if (facts.distribution.kind === 'talos') return 'Go on: all nodes together, as talosctl does it';
  const first = isOneProgram(facts.distribution) ? 'one server after the other first, then' : 'the control plane first, then';
  return `Go on: ${isPlaneAt(facts, target) ? '' : `${first} `}one node after the other`;
}

/** Asks until nothing is in the way and somebody says go. */
async function untilClear(walk: ClusterWalk): Promise<void> {
  const { session, list, target } = walk;
  for (;;) {
    const fresh = list.item('snapshot')?.state !== 'blocked';
    const actions: WalkAction[] =
      !fresh && (await canSnapshot(walk))
        ? [
            {
              value: 'snapshot',
              label: `Take ${snapshotTitle(walk) === 'etcd snapshot' ? 'an etcd snapshot' : 'a copy of its state'} now`,
              detail: 'and verify it',
              first: true,
            },
          ]
        : [];
    const answer = await askWalk(session, list, {
      id: 'walk',
      label: isPlaneAt(walk.facts, target)
        ? `Go on with the nodes of ${walk.context}, to ${target.text}?`
        : `Upgrade ${walk.context} from ${fromTo(oldestApiServer(walk.facts), target)}?`,
      go: goText(walk),
      actions,
    });
    if (answer === 'snapshot') await snapshotNow(walk);
    else if (answer === 'again') {
      walk.facts = await readCluster(walk.api, session.signal);
      await observe(walk);
    } else if (answer === 'go') {
      if (session.rehearsing) {
        if (actions.length > 0) await snapshotNow(walk);
        return;
      }
      // Whoever thought about it for long has an old snapshot.
      await lookAtSnapshot(walk);
      if (list.blocked.length === 0) return;
    }
  }
}

async function finish(walk: ClusterWalk): Promise<FlowOutcome> {
  const { session, input, list, target, context, api } = walk;
  if (session.rehearsing) return { message: `Rehearsed: ${context} is still at ${walk.facts.apiServer.text}.`, data: checklistData(list) };
  walk.facts = await readCluster(api, session.signal);
  const { nodes } = walk.facts;
  const problems = skewOf(walk.facts);
  const behind = nodes.filter((node) => roundsOf(walk, node).length > 0).map(({ name }) => name);
  const notReady = nodes.filter(({ ready }) => !ready).map(({ name }) => name);
  const left = [...problems, ...behind.map((name) => `${name} is behind`), ...notReady.map((name) => `${name} is not ready`)];
  await list.set('after', {
    section: sections.steps,
    title: 'Afterwards',
    state: left.length > 0 ? 'warning' : 'ok',
    summary: left.length > 0 ? left.join('; ') : `${countText(nodes.length, 'node')} at ${target.text}, all ready`,
    evidence: nodes.map(({ name, kubelet, ready }) => `${name}  ${kubelet.text}  ${ready ? 'ready' : 'not ready'}`),
  });
  await list.keepSeen();
  const complete = left.length === 0;
  if (complete) await list.end();
  const outcome = complete
    ? `${cleanLine(context)} is at ${target.text}: the control plane and ${countText(nodes.length, 'node')}.`
    : `${cleanLine(context)} is not completely at ${target.text}: ${left.join('; ')}`;
  const report = await writeReport(session, input, list, outcome);
  return {
    message: `${outcome}${report ? ` Report: ${report}` : ''}`,
    data: checklistData(list),
    ...(!complete && { exitCode: 1 }),
  };
}

/** Nodes that this run cordoned. They are asked once more, where they answer soon: what was under way may have happened or not. */
async function stillCordoned({ api, list, facts }: ClusterWalk): Promise<string[]> {
  const signal = AbortSignal.timeout(lastLookMs);
  const noted = facts.nodes.filter(({ name }) => list.note(nodeItem(name))?.data?.['cordoned'] === 1);
  const found = await Promise.all(
    noted.map(async ({ name }) => {
      const node = await readNode(api, name, signal).catch(() => ({ cordoned: true }));
      return node?.cordoned ? [name] : [];
    }),
  );
  return found.flat();
}

/** Leaving is safe at any step: what was done stays, and what remains is said. */
async function leftFault(walk: ClusterWalk, thrown: unknown, report: string | undefined): Promise<unknown> {
  const { list, context, input } = walk;
  if (!(thrown instanceof Fault) || (thrown.kind !== 'interrupted' && thrown.kind !== 'failed' && thrown.kind !== 'unreachable'))
    return thrown;
  const steps = list.items.filter(({ section }) => section === sections.steps);
  const done = steps.filter(({ state }) => state === 'ok').length;
  const cordoned = await stillCordoned(walk);
  const begun = steps.some(({ state }) => state === 'ok' || state === 'running');
  const where = begun
    ? `${done} of ${countText(steps.length, 'step')} done${cordoned.length > 0 ? `; ${cordoned.join(', ')} ${cordoned.length === 1 ? 'is' : 'are'} still cordoned` : ''}.`
    : 'Nothing was upgraded.';
  return new Fault({
    code: thrown.code,
    message: `${thrown.message.replace(/([^.!?])$/, '$1.')} ${where}${report ? ` Report: ${report}` : ''}`,
    remedy: `${thrown.kind === 'interrupted' ? '' : `${thrown.remedy} `}Go on, you or somebody else: quarterdeck upgrade ${context}${typeof input.options.checklist === 'string' ? ` --checklist ${input.options.checklist}` : ''}`,
    cause: thrown,
  });
}
