import { type ClusterFacts, type ClusterNode, oldestApiServer, readCluster, readNode } from '../cluster/cluster-facts.ts';
import { setSchedulable } from '../cluster/drain.ts';
import { nodeCommands } from '../cluster/node-commands.ts';
import type { Release } from '../cluster/release.ts';
import { Fault } from '../faults/fault.ts';
import { namesText } from '../text/words.ts';
import { actId, type ClusterWalk, isAt, isDrained, nodeItem, planeAddress, roundsOf, sections, targetOf } from './cluster-walk.ts';
import { drain } from './drain-node.ts';
import { runCommands, untilSeen } from './run-on-node.ts';

const patchLimitMs = 60_000;

/** Throws `refused.controlPlane` where an API server is of an older minor, whatever was skipped: a kubelet must not be newer than any of them. */
function throwIfAhead({ session }: ClusterWalk, facts: ClusterFacts, name: string, goal: Release): void {
  // A rehearsed control plane is where it was.
  if (session.rehearsing) return;
  const oldest = oldestApiServer(facts);
  if (oldest.minor >= goal.minor) return;
  const pending = [...facts.planes].flatMap(([plane, { minor }]) => (minor < goal.minor ? [plane] : []));
  throw new Fault({
    code: 'refused.controlPlane',
    message: `The control plane${pending.length > 0 ? ` on ${namesText(pending)}` : ''} is not at ${goal.text} (${oldest.text}): ${name} is not upgraded before it.`,
    remedy: 'Upgrade the control plane first, by hand where you skipped it: a kubelet must not be newer than any API server.',
  });
}

/** Throws `refused.oneAtATime` where another node is cordoned (R73): two that take no pods may be one too many. */
function throwIfAnother({ list }: ClusterWalk, { nodes }: ClusterFacts, name: string): void {
  // Whoever knows of one that somebody else cordoned has said so, with a reason.
  const known = list.note('nodes')?.kind === 'skipped';
  const isOurs = (node: ClusterNode) => list.note(nodeItem(node.name))?.data?.['cordoned'] === 1;
  const others = nodes.filter((node) => node.cordoned && node.name !== name && (!known || isOurs(node))).map((node) => node.name);
  if (others.length === 0) return;
  throw new Fault({
    code: 'refused.oneAtATime',
    message: `${others.join(' and ')} ${others.length === 1 ? 'is' : 'are'} cordoned already: ${name} is not drained beside ${others.length === 1 ? 'it' : 'them'}. Nodes go one at a time.`,
    remedy: `Let pods in again, when it is well: kubectl uncordon ${others[0]}`,
  });
}

/** One that comes along with its control plane: what is still behind gets the same command once more. */
async function undrained(walk: ClusterWalk, node: ClusterNode, goal: Release): Promise<void> {
  const { api, session, facts, list } = walk;
  const id = nodeItem(node.name);
  const item = { section: sections.steps, title: node.name };
  const rounds = roundsOf({ ...walk, target: goal }, node);
  if (rounds.length > 0) throwIfAhead(walk, await readCluster(api, session.signal), node.name, goal);
  for (const release of rounds) {
    const waiting = async () => {
      const now = await readNode(api, node.name, session.signal);
      if (!now) return 'not in the cluster';
      if (!isAt(now.kubelet, release)) return now.kubelet.text;
      return now.ready ? undefined : `${now.kubelet.text}, not ready yet`;
    };
    await list.set(id, { ...item, state: 'running', summary: `${node.kubelet.text} to ${release.text}` });
    // A rehearsed control plane has brought nobody along.
    if (!session.rehearsing)
      await runCommands(walk, node, {
        what: `Bring ${node.name} to ${release.text}`,
        commands: nodeCommands(
          { kind: facts.distribution.kind, from: node.kubelet, to: release, osImage: node.osImage, address: planeAddress(facts) },
          node.controlPlane,
        ),
        seen: async () => (await waiting()) === undefined,
      });
    await untilSeen(walk, node, node.name, waiting);
  }
  if (!session.rehearsing) await list.set(id, { ...item, state: 'ok', summary: `at ${goal.text}, ready` });
}

/** One node: cordon, drain, its commands, until it is back at its release and ready, uncordon. `only` is the release to stop at. */
export async function upgradeNode(walk: ClusterWalk, name: string, only?: Release): Promise<void> {
  const { api, session, facts, list, target } = walk;
  const before = await readNode(api, name, session.signal);
  const id = nodeItem(name);
  const item = { section: sections.steps, title: name };
  if (!before) {
    await list.set(id, { ...item, state: 'ok', summary: 'gone from the cluster meanwhile' });
    return;
  }
  if (!isDrained(facts, before)) {
    await undrained(walk, before, only ?? target);
    return;
  }
  const cordonedByUs = list.note(id)?.data?.['cordoned'] === 1;
  const goal = only ?? target;
  const rounds = roundsOf({ ...walk, target: goal }, before);
  if (rounds.length === 0 && !(cordonedByUs && before.cordoned)) {
    // It takes pods again; whoever cordons it from now on is somebody else.
    if (cordonedByUs) await list.keep(id, { kind: 'done', summary: `at ${before.kubelet.text}`, data: { cordoned: 0 } });
    const newer = before.kubelet.minor > goal.minor;
    await list.set(id, {
      ...item,
      state: newer ? 'warning' : 'ok',
      summary: newer
        ? `${before.kubelet.text}, newer than ${goal.text}: a kubelet must not be newer than the API server`
        : `at ${before.kubelet.text}`,
    });
    return;
  }
  await list.set(id, {
    ...item,
    state: 'running',
    summary: rounds.length > 0 ? [before.kubelet, ...rounds].map(({ text }) => text).join(' to ') : 'still cordoned',
  });
  if (rounds.length > 0) {
    const seen = await readCluster(api, session.signal);
    throwIfAhead(walk, seen, name, goal);
    throwIfAnother(walk, seen, name);
    const own = !before.cordoned || cordonedByUs;
    // Kept before it is done: an answer that is lost must not leave a node that nobody is known to have cordoned.
    await list.keep(id, { kind: 'done', summary: 'cordoned', data: { cordoned: own ? 1 : 0 } });
    await session.act({
      id: actId(walk, `cordon ${name}`),
      right: 'operate',
      request: `PATCH /api/v1/nodes/${name} {"spec":{"unschedulable":true}}`,
      target: targetOf(walk),
      limitMs: patchLimitMs,
      done: async () => (await readNode(api, name, session.signal))?.cordoned === true,
      run: (grant) => setSchedulable(grant, api, name, false),
    });
    await drain(walk, name);
    let now = before;
    for (const release of rounds) {
      const commands = nodeCommands(
        { kind: facts.distribution.kind, from: now.kubelet, to: release, osImage: before.osImage },
        before.controlPlane,
      );
      await runCommands(walk, before, {
        what: `Upgrade ${name} to ${release.text}`,
        commands,
        seen: async () => {
          const node = await readNode(api, name, session.signal);
          return node !== undefined && isAt(node.kubelet, release) && node.ready;
        },
      });
      await untilSeen(walk, before, name, async () => {
        const node = await readNode(api, name, session.signal);
        if (!node) return 'not in the cluster';
        now = node;
        if (!isAt(node.kubelet, release)) return `${node.kubelet.text}${node.ready ? '' : ', not ready'}`;
        return node.ready ? undefined : `${node.kubelet.text}, not ready yet`;
      });
      if (session.rehearsing) now = { ...now, kubelet: release };
    }
  }
  // Left while it restarted, it may not be back yet.
  else
    await untilSeen(walk, before, name, async () => {
      const node = await readNode(api, name, session.signal);
      if (!node) return 'not in the cluster';
      return node.ready ? undefined : `${node.kubelet.text}, not ready yet`;
    });
  // One that somebody else had cordoned before is left as it was.
  if (list.note(id)?.data?.['cordoned'] !== 0 || session.rehearsing) {
    await session.act({
      id: actId(walk, `uncordon ${name}`),
      right: 'operate',
      request: `PATCH /api/v1/nodes/${name} {"spec":{"unschedulable":null}}`,
      target: targetOf(walk),
      limitMs: patchLimitMs,
      done: async () => !session.rehearsing && (await readNode(api, name, session.signal))?.cordoned === false,
      run: (grant) => setSchedulable(grant, api, name, true),
    });
  }
  if (session.rehearsing) return;
  const after = await readNode(api, name, session.signal);
  await list.keep(id, { kind: 'done', summary: `at ${after?.kubelet.text ?? goal.text}`, data: { cordoned: 0 } });
  await list.set(id, {
    ...item,
    state: 'ok',
    summary: `at ${after?.kubelet.text ?? goal.text}, ready${after?.cordoned ? ', cordoned as before' : ', takes pods again'}`,
  });
}
