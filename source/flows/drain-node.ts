import { podName } from '../cluster/api-shapes.ts';
import { type DrainProgress, deletePods, drainNode, planDrain, rehearseDrain } from '../cluster/drain.ts';
import { Fault } from '../faults/fault.ts';
import { countText } from '../text/quantities.ts';
import { actId, type ClusterWalk, targetOf } from './cluster-walk.ts';

function drainText(node: string, { total, left, refused }: DrainProgress): string {
  const [first] = refused;
  const waiting = first ? `; waits for ${first.pod}: ${first.why}${refused.length > 1 ? `, and ${refused.length - 1} more` : ''}` : '';
  return `${node}: ${total - left} of ${countText(total, 'pod')} gone${waiting}`;
}

export async function drain(walk: ClusterWalk, name: string): Promise<void> {
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
      if (!(thrown instanceof Fault) || thrown.code !== 'failed.drain') throw thrown;
      if (!(await afterStall(walk, name, thrown))) throw thrown;
    }
  }
}

/** What about pods that cannot be moved? True: drain again. */
async function afterStall(walk: ClusterWalk, name: string, fault: Fault): Promise<boolean> {
  const { api, session } = walk;
  const plan = await planDrain(api, name, session.signal);
  const refused = await rehearseDrain(api, plan, session.signal);
  const asked = session.ask.choice({
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
  // Where nobody is there, and nothing was said in advance, it stays as it is.
  const answer = await asked.catch((thrown: unknown) => {
    if (thrown instanceof Fault && thrown.code === 'usage.unanswered') return 'leave';
    throw thrown;
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
