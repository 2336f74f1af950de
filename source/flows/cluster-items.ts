import { checkApiServices, checkDeprecated, checkStoredVersions, checkWebhooks } from '../cluster/api-checks.ts';
import { checkBackups } from '../cluster/backup-checks.ts';
import { checkCertificates } from '../cluster/certificate-check.ts';
import { type CheckResult, looked } from '../cluster/check-result.ts';
import { blindSpots, inSightOf } from '../cluster/checker-sight.ts';
import { type Checker, checkers, judgeChecker } from '../cluster/checkers.ts';
import { type Distribution, isOneProgram } from '../cluster/distribution.ts';
import { planDrain, rehearseDrain } from '../cluster/drain.ts';
import { checkHealth, checkKubectl, checkNodes, checkPods, checkSkew, checkSupport, readKubectl } from '../cluster/node-checks.ts';
import { checkRights } from '../cluster/rights-check.ts';
import { checkTalos } from '../cluster/talos.ts';
import { checkUpgradePlans } from '../cluster/upgrade-plans-check.ts';
import { Fault } from '../faults/fault.ts';
import { countText } from '../text/quantities.ts';
import { namesText } from '../text/words.ts';
import { observeSnapshot, snapshotTitle } from './cluster-snapshot.ts';
import { type ClusterWalk, isDrained, minorsWithoutRelease, nodeItem, roundsOf, sections, tellCheck } from './cluster-walk.ts';
import { viaText } from './upgrade-target.ts';

const checkerLimitMs = 120_000;
const kubectlLimitMs = 10_000;

interface Item {
  id: string;
  section: string;
  title: string;
  look: () => Promise<CheckResult>;
}

/** Everything that is looked at before the upgrade, in the order of the checklist. */
async function itemsOf(walk: ClusterWalk): Promise<readonly Item[]> {
  const { api, facts, session, ways, list } = walk;
  const { signal } = session;
  const ours = new Set(facts.nodes.filter(({ name }) => list.note(nodeItem(name))?.data?.['cordoned'] === 1).map(({ name }) => name));
  const first = facts.nodes.find(({ controlPlane }) => controlPlane);
  const way = first && (await ways.to(first));
  let running: Promise<CheckResult> | undefined;
  const checked = () => {
    running ??= runCheckers(walk);
    return running;
  };
  return [
    { id: 'skew', section: sections.where, title: 'Version skew', look: async () => checkSkew(facts) },
    { id: 'kubectl', section: sections.where, title: 'kubectl on this host', look: () => lookAtKubectl(walk) },
    { id: 'support', section: sections.where, title: 'Support', look: async () => checkSupport(facts, Date.now()) },
    ...(facts.distribution.kind === 'talos'
      ? [{ id: 'talos', section: sections.where, title: 'Talos itself', look: async () => checkTalos(facts, walk.target.minor) }]
      : []),
    ...(isOneProgram(facts.distribution)
      ? [{ id: 'plans', section: sections.where, title: 'Upgrades by themselves', look: () => checkUpgradePlans(api, signal) }]
      : []),
    ...(minorsWithoutRelease(walk).length > 0
      ? [{ id: 'via', section: sections.where, title: 'Releases in between', look: async () => withoutRelease(minorsWithoutRelease(walk)) }]
      : []),
    { id: 'rights', section: sections.where, title: 'Rights', look: () => checkRights(api, signal) },
    { id: 'health', section: sections.health, title: 'API server and etcd', look: () => checkHealth(api, signal) },
    { id: 'nodes', section: sections.health, title: 'Nodes', look: async () => checkNodes(facts, ours) },
    {
      id: 'pods',
      section: sections.health,
      title: 'Pods',
      look: () => checkPods(api, signal, (count) => session.progress({ id: 'pods', label: `${countText(count, 'pod')} read` })),
    },
    {
      id: 'deprecated',
      section: sections.api,
      title: 'Deprecated APIs in use',
      look: () => checkUse(walk, checked),
    },
    { id: 'checker', section: sections.api, title: 'Deprecated APIs deployed', look: checked },
    { id: 'webhooks', section: sections.api, title: 'Webhooks', look: () => checkWebhooks(api, signal) },
    { id: 'apiservices', section: sections.api, title: 'API services', look: () => checkApiServices(api, signal) },
    { id: 'stored', section: sections.api, title: 'Stored versions', look: () => checkStoredVersions(api, signal) },
    { id: 'addons', section: sections.api, title: 'Add-ons', look: async () => addons(walk) },
    {
      id: 'certificates',
      section: sections.safety,
      title: 'Certificates',
      look: async () =>
        facts.distribution.kind !== 'kubeadm'
          ? { state: 'skipped', summary: ownCertificates(facts.distribution) }
          : way
            ? checkCertificates(way, signal)
            : {
                state: 'warning',
                summary: `Not looked at: there is no way to ${first?.name ?? 'the control plane'} from here`,
                advice: 'Run it there: kubeadm certs check-expiration',
              },
    },
    { id: 'snapshot', section: sections.safety, title: snapshotTitle(walk), look: () => observeSnapshot(walk) },
    { id: 'backups', section: sections.safety, title: 'Backups of workloads', look: () => checkBackups(api, Date.now(), signal) },
    ...facts.nodes
      .filter((node) => isDrained(facts, node) && roundsOf(walk, node).length > 0)
      .map(
        (node): Item => ({
          id: `drain ${node.name}`,
          section: sections.drains,
          title: `Drain of ${node.name}`,
          look: () => rehearsed(walk, node.name),
        }),
      ),
  ];
}

/** Puts all that will be looked at into the list, so that it has its order. */
export async function announce(walk: ClusterWalk): Promise<void> {
  for (const { id, section, title } of await itemsOf(walk))
    if (!walk.list.item(id)) await walk.list.set(id, { section, title, state: 'todo' });
}

/** Looks at everything. What cannot be looked at says why, and the others go on. */
export async function observe(walk: ClusterWalk): Promise<void> {
  const { session, list } = walk;
  for (const { id, section, title, look } of await itemsOf(walk)) {
    session.signal.throwIfAborted();
    const item = list.item(id);
    await list.set(id, { state: 'running', summary: item?.summary ?? '' });
    const result = await looked(look);
    if (result.state === 'skipped')
      await list.set(id, { section, title, state: 'skipped', summary: result.summary, reason: result.summary });
    else await tellCheck(walk, { id, section, title }, result);
  }
  session.progress({ id: 'pods', label: 'Pods read', done: true });
  await list.keepSeen();
}

const ownCertificates = (distribution: Distribution) =>
  isOneProgram(distribution)
    ? `${distribution.name} renews its own when it is restarted, within the last 90 days of them`
    : `${distribution.name} looks after its own`;

/** What asks is counted; where that may not be seen, and no program has looked at what is deployed, nobody has checked at all (R73). */
async function checkUse({ api, target, session }: ClusterWalk, checked: () => Promise<CheckResult>): Promise<CheckResult> {
  const used = await looked(() => checkDeprecated(api, target.minor, session.signal));
  if (!used.unseen || !(await checked()).unseen) return used;
  return { ...used, state: 'blocked', advice: `${used.advice} Or have pluto or kubent on this host, which look at what is deployed.` };
}

function withoutRelease(minors: readonly number[]): CheckResult {
  return {
    state: 'warning',
    summary: `Nodes go through ${namesText(minors.map((minor) => `1.${minor}`))}, and no release of ${minors.length === 1 ? 'it' : 'them'} is known here`,
    advice: `Pass one for each: ${viaText(minors)}`,
  };
}

async function lookAtKubectl({ world, input, session, facts, target }: ClusterWalk): Promise<CheckResult> {
  const host = world.hostOf(input.place);
  try {
    const { exitCode, stdout } = await host.exec(['kubectl', 'version', '--client', '-o', 'json'], {
      signal: session.signal,
      limitMs: kubectlLimitMs,
    });
    const kubectl = exitCode === 0 ? readKubectl(Buffer.from(stdout).toString('utf8')) : undefined;
    return kubectl
      ? checkKubectl(kubectl, facts, target)
      : { state: 'warning', summary: 'kubectl on this host does not report its version' };
  } catch (thrown) {
    if (!(thrown instanceof Fault) || thrown.code !== 'unreachable.program') throw thrown;
    return { state: 'skipped', summary: 'kubectl is not on this host' };
  }
}

/** pluto and kubent, where the host has one of them. */
async function runCheckers({ world, input, context, kubeconfig, target, session, api }: ClusterWalk): Promise<CheckResult> {
  const host = world.hostOf(input.place);
  const results: CheckResult[] = [];
  for (const checker of Object.keys(checkers) as Checker[]) {
    try {
      const outcome = await host.exec(checkers[checker](target.text, context), {
        signal: session.signal,
        limitMs: checkerLimitMs,
        // The context may be in a file that they would not look into.
        env: { KUBECONFIG: kubeconfig.join(':') },
        limitBytes: 8 * 1024 * 1024,
      });
      const text = (bytes: Uint8Array) => Buffer.from(bytes).toString('utf8');
      results.push(
        judgeChecker(checker, { exitCode: outcome.exitCode, stdout: text(outcome.stdout), stderr: text(outcome.stderr) }, target.minor),
      );
    } catch (thrown) {
      if (!(thrown instanceof Fault) || thrown.code !== 'unreachable.program') throw thrown;
    }
  }
  const worstOne = results.find(({ state }) => state === 'blocked') ?? results.find(({ state }) => state === 'warning') ?? results[0];
  if (worstOne) {
    const told = { ...worstOne, evidence: results.flatMap(({ summary, evidence = [] }) => [summary, ...evidence]) };
    return worstOne.state === 'blocked' ? told : inSightOf(told, await blindSpots(api, session.signal));
  }
  return {
    state: 'warning',
    unseen: true,
    summary: 'neither pluto nor kubent is on this host',
    advice: `What lies in files and charts the API server does not know: pluto detect-files -d DIR --target-versions k8s=${target.text}`,
  };
}

/** Nobody reports whether they fit: what they are is listed, for a person. */
function addons({ facts, target }: ClusterWalk): CheckResult {
  const evidence = [
    ...facts.addons.map(({ name, image }) => `${name}  ${image}`),
    ...new Set(facts.nodes.map(({ runtime }) => `container runtime  ${runtime}`)),
  ];
  if (facts.addons.length === 0) return { state: 'warning', summary: facts.unseen[0] ?? 'none seen in kube-system', evidence };
  return {
    state: 'warning',
    summary: `${countText(facts.addons.length, 'add-on')}: ${facts.addons.map(({ name }) => name).join(', ')}`,
    evidence,
    advice: `Nothing reports whether they fit 1.${target.minor}: read their notes (network, storage, ingress, certificates).`,
  };
}

/** The drain as the server would let it be, without doing it. */
async function rehearsed({ api, session, facts }: ClusterWalk, node: string): Promise<CheckResult> {
  const plan = await planDrain(api, node, session.signal);
  const refused = await rehearseDrain(api, plan, session.signal);
  const lost = [
    ...plan.withData.map((pod) => `${pod} loses what it keeps in emptyDir`),
    ...plan.bare.map((pod) => `${pod} is not made anew: nothing controls it`),
    ...(facts.nodes.length === 1 && plan.evicted.length > 0 ? ['there is no other node: nothing runs until this one is back'] : []),
  ];
  const evidence = [...refused.map(({ pod, why }) => `${pod}: ${why}`), ...lost];
  const moved = `${countText(plan.evicted.length, 'pod')} to move`;
  if (refused.length > 0)
    return {
      state: 'blocked',
      summary: `${moved}; ${refused.map(({ pod, why }) => `${pod}: ${why}`).join('; ')}`,
      evidence,
      advice: 'Give the budget more room (another replica, maxUnavailable) before this node is drained.',
    };
  if (lost.length > 0)
    return { state: 'warning', summary: `${moved}; ${lost.join('; ')}`, evidence, advice: 'Save what must not be lost.' };
  return { state: 'ok', summary: moved };
}
