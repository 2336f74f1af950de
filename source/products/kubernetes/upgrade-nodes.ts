import { Fault } from '../../faults/fault.ts';
import { unlessCode } from '../../faults/unless-fault.ts';
import { countText } from '../../text/quantities.ts';
import { namesText } from '../../text/words.ts';
import { podName } from './client/api-shapes.ts';
import { type ClusterFacts, type ClusterNode, oldestApiServer, readCluster, readNode } from './client/cluster-facts.ts';
import { type DrainProgress, deletePods, drainNode, dryRunDrain, lossesOf, planDrain, setSchedulable } from './client/drain.ts';
import { nodeCommands } from './client/node-commands.ts';
import type { Release } from './client/release.ts';
import type { ClusterChecklist } from './cluster-checklist.ts';
import { actOn, isAt, isCordonedByUs, isDrained, nodeItem, planeAddress, roundsOf, sections } from './cluster-checklist.ts';
import { runCommands, untilSeen } from './run-on-node.ts';

function drainText(node: string, { total, left, refused }: DrainProgress): string {
  const [first] = refused;
  const waiting = first ? `; waiting for ${first.pod}: ${first.why}${refused.length > 1 ? `, and ${refused.length - 1} more` : ''}` : '';
  return `${node}: ${total - left} of ${countText(total, 'pod')} evicted${waiting}`;
}

async function drain(checklist: ClusterChecklist, name: string): Promise<void> {
  const { api, session, pace } = checklist;
  const tell = (progress: DrainProgress) => {
    const fraction = progress.total === 0 ? 1 : 1 - progress.left / progress.total;
    session.progress({ id: 'drain', label: drainText(name, progress), fraction });
  };
  for (;;) {
    const plan = await planDrain(api, name, session.signal);
    if (plan.evicted.length === 0) return;
    const lost = lossesOf(plan).map((each) => `${each}.`);
    try {
      await actOn(checklist, `drain ${name}`, {
        right: lost.length > 0 ? 'destroy' : 'operate',
        title: `Drain ${name}: evict ${countText(plan.evicted.length, 'pod')}`,
        request: `POST /api/v1/namespaces/*/pods/*/eviction for ${plan.evicted.map(podName).join(', ')}`,
        ...(lost.length > 0 && { consequences: lost }),
        limitMs: Number.POSITIVE_INFINITY,
        done: async () => (await planDrain(api, name, session.signal)).evicted.length === 0,
        run: (grant) => drainNode(grant, api, name, tell, pace.drain),
      });
      session.progress({ id: 'drain', label: name, done: true });
      return;
    } catch (thrown) {
      session.progress({ id: 'drain', label: name, done: true });
      if (!(thrown instanceof Fault) || thrown.code !== 'failed.drain') throw thrown;
      if (!(await afterStall(checklist, name, thrown))) throw thrown;
    }
  }
}

async function afterStall(checklist: ClusterChecklist, name: string, fault: Fault): Promise<boolean> {
  const { api, session } = checklist;
  const plan = await planDrain(api, name, session.signal);
  const refused = await dryRunDrain(api, plan.evicted, session.signal);
  const names = refused.map(({ pod }) => pod);
  const asked = session.ask.choice({
    id: `stalled ${name}`,
    label: fault.message,
    help: fault.remedy,
    choices: [
      { value: 'again', label: 'Try again', ...(refused.length > 0 && { detail: 'once the disruption budgets allow it' }) },
      ...(refused.length > 0 ? [{ value: 'delete', label: 'Delete the pods despite disruption budgets', detail: names.join(', ') }] : []),
      { value: 'leave', label: 'Pause', detail: `${name} stays cordoned` },
    ],
    initial: 'again',
    fresh: true,
  });
  // In an unattended session without an answer in advance, nothing is changed.
  const answer = await unlessCode(asked, ['usage.unanswered'], 'leave');
  if (answer === 'leave') return false;
  if (answer === 'again') return true;
  const stuck = plan.evicted.filter((pod) => names.includes(podName(pod)));
  await actOn(checklist, `delete on ${name}`, {
    right: 'destroy',
    title: `Delete ${names.join(', ')}`,
    request: names.map((pod) => `DELETE /api/v1/namespaces/${pod.replace('/', '/pods/')}`).join(', '),
    consequences: refused.map(({ pod, why }) => `${pod} is deleted although its disruption budget does not allow it: ${why}`),
    run: (grant) => deletePods(grant, api, stuck),
  });
  return true;
}

const patchLimitMs = 60_000;

/** Throws `refused.controlPlane`, even if the check was skipped: a kubelet must not be newer than any API server. */
function throwIfAhead({ session }: ClusterChecklist, facts: ClusterFacts, name: string, goal: Release): void {
  // In a dry run the control plane keeps its release.
  if (session.dryRun) return;
  const oldest = oldestApiServer(facts);
  if (oldest.minor >= goal.minor) return;
  const pending = [...facts.planes].flatMap(([plane, { minor }]) => (minor < goal.minor ? [plane] : []));
  const message = `The control plane${pending.length > 0 ? ` on ${namesText(pending)}` : ''} still runs ${oldest.text}, so ${name} cannot be upgraded to ${goal.text} yet.`;
  const remedy = 'Upgrade the control plane first (manually, if you skipped that step). A kubelet must not be newer than any API server.';
  throw new Fault('refused.controlPlane', message, remedy);
}

/** Throws `refused.oneAtATime` if another node is cordoned (R73): the remaining nodes may not have the capacity for the pods of both. */
function throwIfAnother(checklist: ClusterChecklist, { nodes }: ClusterFacts, name: string): void {
  // The operator skipped the check of nodes with a reason, and so knows of nodes that others cordoned.
  const known = checklist.list.note('nodes')?.kind === 'skipped';
  const others = nodes
    .filter((node) => node.cordoned && node.name !== name && (!known || isCordonedByUs(checklist, node.name)))
    .map((node) => node.name);
  if (others.length === 0) return;
  const message = `${others.join(' and ')} ${others.length === 1 ? 'is' : 'are'} already cordoned, so ${name} is not drained. Nodes are upgraded one at a time.`;
  const remedy = `When ${others.join(' and ')} can run pods again, run: kubectl uncordon ${others.join(' ')}`;
  throw new Fault('refused.oneAtATime', message, remedy);
}

/** Returns why a node is not ready yet, or not at the release if one is passed; undefined once it is. */
async function lacking({ api, session }: ClusterChecklist, name: string, release?: Release): Promise<string | undefined> {
  const node = await readNode(api, name, session.signal);
  if (!node) return 'not in the cluster';
  if (release && !isAt(node.kubelet, release)) return `${node.kubelet.text}${node.ready ? '' : ', not ready'}`;
  return node.ready ? undefined : `${node.kubelet.text}, not ready yet`;
}

/** Runs the commands of a node for each release up to the target, and waits until the node is ready each time. */
async function goThrough(checklist: ClusterChecklist, node: ClusterNode, rounds: readonly Release[]): Promise<void> {
  const { facts } = checklist;
  for (const [index, to] of rounds.entries()) {
    const waiting = () => lacking(checklist, node.name, to);
    const from = rounds[index - 1] ?? node.kubelet;
    await runCommands(checklist, node, {
      what: `Upgrade ${node.name} to ${to.text}`,
      commands: nodeCommands(
        { kind: facts.distribution.kind, from, to, osImage: node.osImage, address: planeAddress(facts) },
        node.controlPlane,
      ),
      seen: async () => (await waiting()) === undefined,
    });
    await untilSeen(checklist, node, node.name, waiting);
  }
}

async function schedule(checklist: ClusterChecklist, name: string, schedulable: boolean): Promise<void> {
  const { api, session } = checklist;
  await actOn(checklist, `${schedulable ? 'uncordon' : 'cordon'} ${name}`, {
    right: 'operate',
    request: `PATCH /api/v1/nodes/${name} {"spec":{"unschedulable":${schedulable ? null : true}}}`,
    limitMs: patchLimitMs,
    done: async () => !(schedulable && session.dryRun) && (await readNode(api, name, session.signal))?.cordoned === !schedulable,
    run: (grant) => setSchedulable(grant, api, name, schedulable),
  });
}

/** Cordons, drains, runs the commands, waits until the node is ready, and uncordons. `only` is the release to stop at. */
// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: the order of these steps and of their records decides what a resumed run does
export async function upgradeNode(checklist: ClusterChecklist, name: string, only?: Release): Promise<void> {
  const { api, session, facts, list, target } = checklist;
  const goal = only ?? target;
  const before = await readNode(api, name, session.signal);
  const id = nodeItem(name);
  const set = async (state: 'ok' | 'warning' | 'running', summary: string) => {
    await list.set(id, { section: sections.steps, title: name, state, summary });
  };
  if (!before) return set('ok', 'no longer in the cluster');
  const cordonedByUs = isCordonedByUs(checklist, name);
  const rounds = roundsOf({ ...checklist, target: goal }, before);
  if (rounds.length === 0 && !(cordonedByUs && before.cordoned)) {
    // The node is schedulable again; a later cordon is not from this run.
    if (cordonedByUs) await list.keep(id, { kind: 'done', summary: `at ${before.kubelet.text}`, data: { cordoned: 0 } });
    return before.kubelet.minor > goal.minor
      ? set('warning', `${before.kubelet.text}, newer than ${goal.text}; a kubelet must not be newer than the API server`)
      : set('ok', `at ${before.kubelet.text}`);
  }
  await set('running', rounds.length > 0 ? [before.kubelet, ...rounds].map(({ text }) => text).join(' to ') : 'still cordoned');
  const seen = rounds.length > 0 ? await readCluster(api, session.signal) : undefined;
  if (seen) throwIfAhead(checklist, seen, name, goal);
  if (!isDrained(facts, before)) {
    // Upgraded with its control plane; if it is still older, the same command runs again. A dry run of the control plane upgrades none.
    if (session.dryRun) return;
    await goThrough(checklist, before, rounds);
    return set('ok', `at ${goal.text}, ready`);
  }
  if (seen) {
    throwIfAnother(checklist, seen, name);
    // Recorded before the request: if its answer is lost, the node must still be known as cordoned by this run.
    await list.keep(id, { kind: 'done', summary: 'cordoned', data: { cordoned: !before.cordoned || cordonedByUs ? 1 : 0 } });
    await schedule(checklist, name, false);
    await drain(checklist, name);
    await goThrough(checklist, before, rounds);
  }
  // A node that was left while it restarted may not be ready yet.
  else await untilSeen(checklist, before, name, () => lacking(checklist, name));
  // A node that was already cordoned stays cordoned.
  if (list.note(id)?.data?.['cordoned'] !== 0 || session.dryRun) await schedule(checklist, name, true);
  if (session.dryRun) return;
  const after = await readNode(api, name, session.signal);
  const at = `at ${after?.kubelet.text ?? goal.text}`;
  await list.keep(id, { kind: 'done', summary: at, data: { cordoned: 0 } });
  await set('ok', `${at}, ready${after?.cordoned ? ', still cordoned' : ', schedulable again'}`);
}
