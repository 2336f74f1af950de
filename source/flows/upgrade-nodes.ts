import { podName } from '../cluster/api-shapes.ts';
import { type ClusterNode, readCluster, readNode } from '../cluster/cluster-facts.ts';
import { type DrainProgress, deletePods, drainNode, planDrain, rehearseDrain, setSchedulable } from '../cluster/drain.ts';
import { controlPlaneCommands, type NodeCommands, nodeCommands } from '../cluster/node-commands.ts';
import { lastWords } from '../cluster/node-way.ts';
import { type Release, releaseOf } from '../cluster/release.ts';
import { Fault } from '../faults/fault.ts';
import { pauseFor } from '../faults/waits.ts';
import { cleanLine } from '../text/clean.ts';
import { countText } from '../text/quantities.ts';
import { actId, type ClusterWalk, commandText, fromTo, isAt, nodeItem, planeItem, roundsOf, sections, targetOf } from './cluster-walk.ts';

const commandsLimitMs = 1_800_000;
const patchLimitMs = 60_000;

/** Shows commands, and either runs them or waits for the person who does. `seen` asks the world whether they have had their effect. */
async function runCommands(
  walk: ClusterWalk,
  node: ClusterNode,
  { what, commands, seen, destroys }: { what: string; commands: NodeCommands; seen: () => Promise<boolean>; destroys?: readonly string[] },
): Promise<void> {
  const { session, ways } = walk;
  const way = commands.hand === undefined && !walk.hand ? await ways.to(node) : undefined;
  if (!way) {
    if (await seen()) return;
    const why = commands.hand ?? (walk.hand ? 'as you said' : ways.why(node));
    session.show({
      kind: 'text',
      text: [`To be run on ${node.name}, as root (by hand: ${why}):`, ...commands.text.map((line) => `  ${line}`)].join('\n'),
    });
    if (session.rehearsing) return;
    const answer = await session.ask.choice({
      id: `ran ${what}`,
      label: `Have they been run on ${node.name}?`,
      help: commandText(commands),
      choices: [
        { value: 'done', label: 'Yes, go on', detail: 'what they did is looked at' },
        { value: 'leave', label: 'Leave it here' },
      ],
      initial: 'done',
      fresh: true,
    });
    if (answer === 'leave')
      throw new Fault({ code: 'interrupted.cancelled', message: `Left before ${what}.`, remedy: 'Go on whenever you like.' });
    return;
  }
  const { argv } = commands;
  if (!session.rehearsing && !(await seen()))
    session.show({ kind: 'text', text: [`Runs on ${node.name}, ${way.shown}:`, ...commands.text.map((line) => `  ${line}`)].join('\n') });
  await session.act({
    id: actId(walk, what),
    right: destroys ? 'destroy' : 'operate',
    title: what,
    request: `on ${node.name}, ${way.shown}: ${commandText(commands)}`,
    target: targetOf(walk),
    ...(destroys && { consequences: destroys }),
    limitMs: commandsLimitMs,
    done: seen,
    run: async (grant) => {
      for (const [index, words] of argv.entries()) {
        session.progress({ id: 'command', label: `${node.name}: ${cleanLine(words.join(' '))}`, fraction: index / argv.length });
        const outcome = await way.run(grant, words);
        for (const line of lastLines(outcome.stdout)) session.progress({ id: 'command', label: line, output: true });
        if (outcome.exitCode !== 0) {
          throw new Fault({
            code: 'failed.node',
            message: `${cleanLine(words.join(' '))} on ${node.name} failed (${outcome.exitCode}): ${cleanLine(lastWords(outcome))}`,
            remedy: `Look at it on ${node.name}; what was done stays, and the walk goes on from there.`,
          });
        }
      }
    },
  });
  session.progress({ id: 'command', label: node.name, done: true });
}

const lastLines = (text: string): string[] => text.trim().split('\n').slice(-3).map(cleanLine).filter(Boolean);

/** Waits until `look` says so; a cluster whose API server restarts answers nothing for a while. Throws `failed.node`. */
async function untilSeen(walk: ClusterWalk, label: string, look: () => Promise<string | undefined>): Promise<void> {
  const { session, pace } = walk;
  if (session.rehearsing) return;
  const endMs = performance.now() + pace.backMs;
  let last = '';
  for (;;) {
    try {
      const waiting = await look();
      if (waiting === undefined) break;
      last = waiting;
    } catch (thrown) {
      session.signal.throwIfAborted();
      if (!(thrown instanceof Fault) || thrown.kind !== 'unreachable') throw thrown;
      last = 'the cluster does not answer just now';
    }
    session.progress({ id: 'wait', label: `${label}: ${last}` });
    if (performance.now() > endMs) {
      session.progress({ id: 'wait', label, done: true });
      throw new Fault({
        code: 'failed.node',
        message: `${label}: ${last}, for ${Math.round(pace.backMs / 60_000)} minutes.`,
        remedy: 'Its kubelet says why (journalctl -u kubelet). The walk goes on from there.',
      });
    }
    await pauseFor(pace.lookMs, session.signal);
  }
  session.progress({ id: 'wait', label, done: true });
}

async function planeRelease({ api, session, facts }: ClusterWalk, node: ClusterNode): Promise<Release | undefined> {
  const pod = await api.find<{ spec?: { containers?: { image?: string }[] } }>(
    `/api/v1/namespaces/kube-system/pods/kube-apiserver-${encodeURIComponent(node.name)}`,
    session.signal,
  );
  const image = pod?.spec?.containers?.[0]?.image;
  if (image !== undefined) return releaseOf(/:([^:/@]+)(?:@.*)?$/.exec(image)?.[1]);
  // In k3s and RKE2 all of it is one program; elsewhere what answers is all that can be seen.
  if (facts.distribution.kind === 'k3s' || facts.distribution.kind === 'rke2')
    return (await readNode(api, node.name, session.signal))?.kubelet;
  return releaseOf((await api.get<{ gitVersion?: string }>('/version', session.signal)).gitVersion);
}

/** The control plane, one node after the other: the first does the cluster's part. */
export async function upgradeControlPlane(walk: ClusterWalk): Promise<void> {
  const { facts, target, list } = walk;
  const nodes = facts.nodes.filter(({ controlPlane }) => controlPlane);
  if (nodes.length === 0) {
    // Of a managed cluster only the other nodes are seen.
    await managedControlPlane(walk);
    return;
  }
  let first = true;
  for (const node of nodes) {
    const id = planeItem(node.name);
    const item = { section: sections.steps, title: `Control plane on ${node.name}` };
    const at = async () => {
      const release = await planeRelease(walk, node);
      return release !== undefined && isAt(release, target);
    };
    if (await at()) {
      await list.set(id, { ...item, state: 'ok', summary: `at ${target.text}` });
      first = false;
      continue;
    }
    await list.set(id, { ...item, state: 'running', summary: fromTo(facts.apiServer, target) });
    const commands = controlPlaneCommands(
      { kind: facts.distribution.kind, from: facts.apiServer, to: target, osImage: node.osImage },
      first,
    );
    const snapshot = list.note('snapshot')?.data?.['file'];
    await runCommands(walk, node, {
      what: `Upgrade the control plane on ${node.name} to ${target.text}`,
      commands,
      seen: at,
      destroys: [
        `There is no way back from ${target.text} but restoring etcd${typeof snapshot === 'string' ? ` from ${snapshot}` : ''}.`,
        'The API server restarts: for a moment nothing can be asked or changed.',
      ],
    });
    await untilSeen(walk, `Control plane on ${node.name}`, async () => ((await at()) ? undefined : 'not there yet'));
    if (!walk.session.rehearsing) await list.set(id, { ...item, state: 'ok', summary: `at ${target.text}`, evidence: commands.text });
    first = false;
  }
}

async function managedControlPlane(walk: ClusterWalk): Promise<void> {
  const { api, facts, target, list, session } = walk;
  const item = { section: sections.steps, title: 'Control plane' };
  const at = async () => {
    const release = releaseOf((await api.get<{ gitVersion?: string }>('/version', session.signal)).gitVersion);
    return release !== undefined && isAt(release, target);
  };
  if (!(await at())) {
    await list.set('control-plane', { ...item, state: 'running', summary: fromTo(facts.apiServer, target) });
    const commands = controlPlaneCommands({ kind: facts.distribution.kind, from: facts.apiServer, to: target, osImage: '' }, true);
    const [any] = facts.nodes;
    if (any)
      await runCommands(walk, any, {
        what: `Upgrade the control plane to ${target.text}`,
        commands: { ...commands, hand: commands.hand ?? 'its nodes are not seen' },
        seen: at,
      });
    await untilSeen(walk, 'Control plane', async () => ((await at()) ? undefined : 'not there yet'));
  }
  if (!session.rehearsing) await list.set('control-plane', { ...item, state: 'ok', summary: `at ${target.text}` });
}

/** Throws `refused.oneAtATime` where another node is cordoned (R73): two that take no pods may be one too many. */
async function throwIfAnother({ api, session, list }: ClusterWalk, name: string): Promise<void> {
  const { nodes } = await readCluster(api, session.signal);
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

function drainText(node: string, { total, left, refused }: DrainProgress): string {
  const [first] = refused;
  const waiting = first ? `; waits for ${first.pod}: ${first.why}${refused.length > 1 ? `, and ${refused.length - 1} more` : ''}` : '';
  return `${node}: ${total - left} of ${countText(total, 'pod')} gone${waiting}`;
}

async function drain(walk: ClusterWalk, name: string): Promise<void> {
  const { api, session, pace } = walk;
  for (;;) {
    const plan = await planDrain(api, name, session.signal);
    if (plan.evicted.length === 0) return;
    const lost = [
      ...plan.withData.map((pod) => `${pod} loses what it keeps in emptyDir.`),
      ...plan.bare.map((pod) => `${pod} is not made anew: nothing controls it.`),
    ];
    try {
      await session.act({
        id: actId(walk, `drain ${name}`),
        right: lost.length > 0 ? 'destroy' : 'operate',
        title: `Drain ${name}: move ${countText(plan.evicted.length, 'pod')}`,
        request: `POST /api/v1/namespaces/*/pods/*/eviction for ${plan.evicted.map(podName).join(', ')}`,
        target: targetOf(walk),
        ...(lost.length > 0 && { consequences: lost }),
        limitMs: Number.POSITIVE_INFINITY,
        done: async () => (await planDrain(api, name, session.signal)).evicted.length === 0,
        run: (grant) =>
          drainNode(
            grant,
            api,
            name,
            (progress) =>
              session.progress({
                id: 'drain',
                label: drainText(name, progress),
                fraction: progress.total === 0 ? 1 : 1 - progress.left / progress.total,
              }),
            pace.drain,
          ),
      });
      session.progress({ id: 'drain', label: name, done: true });
      return;
    } catch (thrown) {
      session.progress({ id: 'drain', label: name, done: true });
      if (!(thrown instanceof Fault) || thrown.code !== 'failed.drain' || !session.attended) throw thrown;
      if (!(await afterStall(walk, name, thrown))) throw thrown;
    }
  }
}

/** What about pods that cannot be moved? True: drain again. */
async function afterStall(walk: ClusterWalk, name: string, fault: Fault): Promise<boolean> {
  const { api, session } = walk;
  const plan = await planDrain(api, name, session.signal);
  const refused = await rehearseDrain(api, plan, session.signal);
  const answer = await session.ask.choice({
    id: `stalled ${name}`,
    label: fault.message,
    help: fault.remedy,
    choices: [
      { value: 'again', label: 'Try again', detail: 'when its budget has room' },
      ...(refused.length > 0
        ? [{ value: 'delete', label: 'Delete them without asking their budgets', detail: refused.map(({ pod }) => pod).join(', ') }]
        : []),
      { value: 'leave', label: 'Leave it here', detail: `${name} stays cordoned` },
    ],
    initial: 'again',
    fresh: true,
  });
  if (answer === 'leave') return false;
  if (answer === 'again') return true;
  const stuck = new Set(refused.map(({ pod }) => pod));
  await session.act({
    id: actId(walk, `delete on ${name}`),
    right: 'destroy',
    title: `Delete ${[...stuck].join(', ')}`,
    request: [...stuck].map((pod) => `DELETE /api/v1/namespaces/${pod.replace('/', '/pods/')}`).join(', '),
    target: targetOf(walk),
    consequences: refused.map(({ pod, why }) => `${pod} ends although its budget forbids it: ${why}`),
    run: (grant) =>
      deletePods(
        grant,
        api,
        plan.evicted.filter((pod) => stuck.has(podName(pod))),
      ),
  });
  return true;
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
  const cordonedByUs = list.note(id)?.data?.['cordoned'] === 1;
  const goal = only ?? target;
  const rounds = roundsOf({ ...walk, target: goal }, before);
  if (rounds.length === 0 && !(cordonedByUs && before.cordoned)) {
    await list.set(id, { ...item, state: 'ok', summary: `at ${before.kubelet.text}` });
    return;
  }
  await list.set(id, {
    ...item,
    state: 'running',
    summary: rounds.length > 0 ? [before.kubelet, ...rounds].map(({ text }) => text).join(' to ') : 'still cordoned',
  });
  if (rounds.length > 0) {
    await throwIfAnother(walk, name);
    const own = !before.cordoned || cordonedByUs;
    await session.act({
      id: actId(walk, `cordon ${name}`),
      right: 'operate',
      request: `PATCH /api/v1/nodes/${name} {"spec":{"unschedulable":true}}`,
      target: targetOf(walk),
      limitMs: patchLimitMs,
      done: async () => (await readNode(api, name, session.signal))?.cordoned === true,
      run: (grant) => setSchedulable(grant, api, name, false),
    });
    await list.keep(id, { kind: 'done', summary: 'cordoned', data: { cordoned: own ? 1 : 0 } });
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
      await untilSeen(walk, name, async () => {
        const node = await readNode(api, name, session.signal);
        if (!node) return 'not in the cluster';
        now = node;
        if (!isAt(node.kubelet, release)) return `${node.kubelet.text}${node.ready ? '' : ', not ready'}`;
        return node.ready ? undefined : `${node.kubelet.text}, not ready yet`;
      });
      if (session.rehearsing) now = { ...now, kubelet: release };
    }
  }
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
