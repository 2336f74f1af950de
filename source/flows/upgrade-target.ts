import type { ClusterFacts } from '../cluster/cluster-facts.ts';
import { vendorOf } from '../cluster/distribution.ts';
import type { NodeWay } from '../cluster/node-way.ts';
import { compareReleases, minorText, newestMinorAt, type Release, releaseOf, typedRelease } from '../cluster/release.ts';
import { kubeletLag } from '../cluster/skew.ts';
import { pathText } from '../cluster/upgrade-path.ts';
import { Fault } from '../faults/fault.ts';
import type { Session } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import type { FlowInput } from './flow.ts';

/** Why a cluster cannot go to a release now; undefined where it can. One minor at a time, and never back (R73). */
export function targetProblem(facts: ClusterFacts, typed: string): string | undefined {
  const wanted = typedRelease(typed);
  if (!wanted) return 'That is no release: 1.32.4.';
  const { apiServer } = facts;
  if (wanted.major !== apiServer.major) return `Kubernetes ${wanted.major} is none that is known here.`;
  if (wanted.minor > apiServer.minor + 1) {
    return `From ${minorText(apiServer)} to ${minorText(wanted)} skips ${wanted.minor - apiServer.minor === 2 ? `1.${apiServer.minor + 1}` : `1.${apiServer.minor + 1} to 1.${wanted.minor - 1}`}, and no minor is skipped. The path: ${pathText(apiServer.minor, wanted.minor)}. Go to 1.${apiServer.minor + 1} first.`;
  }
  if (wanted.minor < apiServer.minor || (wanted.patch !== undefined && wanted.minor === apiServer.minor && wanted.patch < apiServer.patch))
    return `It is at ${apiServer.text} already, and there is no way back but restoring etcd.`;
  return undefined;
}

/** Undefined where kubeadm is not asked, or knows none: it looks for releases in the network. */
async function planned(way: NodeWay | undefined, minor: number, signal: AbortSignal): Promise<Release | undefined> {
  if (!way) return undefined;
  const { exitCode, stdout } = await way.read(['kubeadm', 'upgrade', 'plan', '-o', 'json'], signal);
  if (exitCode !== 0) return undefined;
  try {
    const { availableUpgrades = [] } = JSON.parse(stdout.slice(Math.max(0, stdout.indexOf('{')))) as {
      availableUpgrades?: { components?: { name?: string; newVersion?: string }[] }[];
    };
    return availableUpgrades
      .flatMap(({ components = [] }) =>
        components.flatMap(({ name, newVersion }) => (name === 'kube-apiserver' ? (releaseOf(newVersion) ?? []) : [])),
      )
      .filter((release) => release.minor === minor)
      .sort(compareReleases)
      .at(-1);
  } catch {
    return undefined;
  }
}

/** The release to go to: `--to`, that of a walk that was begun, or the operator's word. Throws `refused.skip` and `usage.release`. */
export async function chooseTarget(
  session: Session,
  input: FlowInput,
  facts: ClusterFacts,
  begun: string | undefined,
  way: NodeWay | undefined,
): Promise<Release> {
  const { apiServer, nodes } = facts;
  const behind = nodes.filter(({ kubelet }) => compareReleases(kubelet, apiServer) < 0);
  // A walk that was overtaken in another way is history.
  const goesOn = begun !== undefined && targetProblem(facts, begun) === undefined;
  const given = typeof input.options.to === 'string' ? input.options.to : goesOn ? begun : undefined;
  const vendor = vendorOf(facts.distribution);
  const suggest = async () =>
    (await planned(way, apiServer.minor + 1, session.signal))?.text ?? `v1.${apiServer.minor + 1}.0${vendor === '' ? '' : `+${vendor}`}`;
  const typed =
    given ??
    (await session.ask.text({
      id: 'to',
      label: 'To which release?',
      help: `It is at ${apiServer.text}; the newest is about 1.${newestMinorAt(Date.now())}. One minor at a time: 1.${apiServer.minor + 1}, or a newer 1.${apiServer.minor}.${behind.length > 0 ? ` ${behind.map(({ name, kubelet }) => `${name} (${minorText(kubelet)})`).join(', ')} can be brought to ${apiServer.text} first.` : ''}`,
      initial: await suggest(),
      check: (text) => targetProblem(facts, text),
    }));
  const problem = targetProblem(facts, typed);
  if (problem !== undefined) {
    const skips = /skips/.test(problem);
    throw new Fault({
      code: skips ? 'refused.skip' : 'usage.release',
      message: problem,
      remedy: skips ? `--to 1.${apiServer.minor + 1}` : 'For example: --to 1.32.4',
    });
  }
  const wanted = typedRelease(typed);
  if (wanted?.patch !== undefined) return whole(wanted.minor, wanted.patch, wanted.vendor || vendor, apiServer);
  const found = await planned(way, wanted?.minor ?? 0, session.signal);
  if (found) return found;
  throw new Fault({
    code: 'usage.release',
    message: `${cleanLine(typed)} is a minor, and which patch release of it is meant nobody here can tell.`,
    remedy: `Write it whole: --to ${cleanLine(typed).replace(/^v/, '')}.N (the newest is on https://kubernetes.io/releases/patch-releases/).`,
  });
}

const whole = (minor: number, patch: number, vendor: string, { major }: Release): Release => ({
  major,
  minor,
  patch,
  vendor,
  text: `v${major}.${minor}.${patch}${vendor === '' ? '' : `+${vendor}`}`,
});

/** A release for each minor that nodes go through on their way (R73): `--via`, what was said before, what the API server or other nodes run, or the operator's word. */
export async function releasesBetween(
  session: Session,
  input: FlowInput,
  facts: ClusterFacts,
  target: Release,
  kept: Readonly<Record<string, string | number>> = {},
): Promise<ReadonlyMap<number, Release>> {
  const lowest = Math.min(target.minor, ...facts.nodes.map(({ kubelet }) => kubelet.minor));
  const given = (Array.isArray(input.options.via) ? (input.options.via as readonly string[]) : []).map((text) => {
    const release = releaseOf(`v${text.trim().replace(/^v/, '')}`);
    if (!release)
      throw new Fault({
        code: 'usage.release',
        message: `--via ${cleanLine(text)} is no release.`,
        remedy: 'Write it whole: --via 1.30.14',
      });
    return release;
  });
  const running = [...facts.apiServers, ...facts.nodes.map(({ kubelet }) => kubelet)].sort(compareReleases);
  const between = new Map<number, Release>();
  for (let minor = lowest + 1; minor < target.minor; minor++) {
    const known =
      given.find((release) => release.minor === minor) ??
      releaseOf(String(kept[String(minor)] ?? '')) ??
      running.findLast((release) => release.minor === minor);
    between.set(minor, known ?? (await askBetween(session, facts, minor)));
  }
  return between;
}

async function askBetween(session: Session, facts: ClusterFacts, minor: number): Promise<Release> {
  const waiting = facts.nodes.filter(({ kubelet }) => kubelet.minor < minor).map(({ name }) => name);
  const typed = await session.ask.text({
    id: `via 1.${minor}`,
    label: `Which release of 1.${minor} do ${waiting.join(', ')} go through?`,
    help: 'No minor is skipped; nothing here runs that one. On the command line: --via.',
    initial: `v1.${minor}.0`,
    check: (text) =>
      typedRelease(text)?.minor === minor && typedRelease(text)?.patch !== undefined
        ? undefined
        : `A release of 1.${minor}, whole: 1.${minor}.0`,
  });
  const release = releaseOf(`v${typed.trim().replace(/^v/, '')}`);
  if (!release) throw new Error('checked above');
  return release;
}

/** Nodes that the new control plane would leave too far behind: they come before it. */
export function nodesBefore(facts: ClusterFacts, target: Release): string[] {
  return facts.nodes.filter(({ kubelet }) => target.minor - kubelet.minor > kubeletLag(kubelet.minor)).map(({ name }) => name);
}
