import type { ClusterFacts } from '../cluster/cluster-facts.ts';
import { vendorOf } from '../cluster/distribution.ts';
import type { NodeWay } from '../cluster/node-way.ts';
import { compareReleases, isPrerelease, minorText, newestMinorAt, type Release, releaseOf, typedRelease } from '../cluster/release.ts';
import { kubeletLag } from '../cluster/skew.ts';
import { pathText } from '../cluster/upgrade-path.ts';
import { Fault } from '../faults/fault.ts';
import type { Session } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { parseJson } from '../text/json-value.ts';
import type { FlowInput } from './flow.ts';

/** Why a cluster cannot go to a release now; undefined where it can. One minor at a time, and never back (R73). */
export function targetProblem(facts: ClusterFacts, typed: string): string | undefined {
  const wanted = typedRelease(typed);
  const { apiServer } = facts;
  const example = `1.${apiServer.minor + 1}.0`;
  if (!wanted) return `"${cleanLine(typed)}" is not a release of Kubernetes, such as ${example}.`;
  if (isPrerelease(typed)) return `${cleanLine(typed)} is a pre-release. Use a final one, such as ${example}.`;
  if (wanted.major !== apiServer.major) return `Kubernetes ${wanted.major} is none that is known here.`;
  if (wanted.minor > apiServer.minor + 1) {
    return `From ${minorText(apiServer)} to ${minorText(wanted)} skips ${wanted.minor - apiServer.minor === 2 ? `1.${apiServer.minor + 1}` : `1.${apiServer.minor + 1} to 1.${wanted.minor - 1}`}, and no minor is skipped. The path: ${pathText(apiServer.minor, wanted.minor)}. Go to 1.${apiServer.minor + 1} first.`;
  }
  if (wanted.minor < apiServer.minor || (wanted.patch !== undefined && wanted.minor === apiServer.minor && wanted.patch < apiServer.patch))
    return `It is at ${apiServer.text} already, and there is no way back but restoring etcd.`;
  return undefined;
}

const newestPatches = 'The newest patch releases are listed at https://kubernetes.io/releases/patch-releases/.';

/** Undefined where kubeadm is not asked, or knows none: it looks for releases in the network. */
async function planned(way: NodeWay | undefined, minor: number, signal: AbortSignal): Promise<Release | undefined> {
  if (!way) return undefined;
  const { exitCode, stdout } = await way.read(['kubeadm', 'upgrade', 'plan', '-o', 'json'], signal);
  if (exitCode !== 0) return undefined;
  try {
    const { availableUpgrades = [] } = parseJson(stdout.slice(Math.max(0, stdout.indexOf('{')))) as {
      availableUpgrades?: { components?: { name?: string; newVersion?: string }[] }[];
    };
    return availableUpgrades
      .flatMap(({ components = [] }) =>
        components.flatMap(({ name, newVersion }) => (name === 'kube-apiserver' ? (releaseOf(newVersion) ?? []) : [])),
      )
      .filter((release) => release.minor === minor && !isPrerelease(release.text))
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
      remedy: `Pass a release that it can go to: --to ${(await suggest()).replace(/^v/, '')}. ${newestPatches}`,
    });
  }
  const wanted = typedRelease(typed);
  if (wanted?.patch !== undefined) return whole(wanted.minor, wanted.patch, wanted.vendor || vendor, apiServer);
  const found = await planned(way, wanted?.minor ?? 0, session.signal);
  if (found) return found;
  throw new Fault({
    code: 'usage.release',
    message: `${cleanLine(typed)} is a minor, and its newest patch release is not known here.`,
    remedy: `Pass a whole release, such as --to ${cleanLine(typed).replace(/^v/, '')}.0. ${newestPatches}`,
  });
}

const whole = (minor: number, patch: number, vendor: string, { major }: Release): Release => ({
  major,
  minor,
  patch,
  vendor,
  text: `v${major}.${minor}.${patch}${vendor === '' ? '' : `+${vendor}`}`,
});

/**
 * A release for each minor that nodes go through on their way (R73): `--via`, what was said before, what the API server or other nodes run, or the operator's word.
 * `--check` asks for none: minors without one are missing then.
 */
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
    if (!release || isPrerelease(text))
      throw new Fault({
        code: 'usage.release',
        message: `--via ${cleanLine(text)} is not a final release of Kubernetes.`,
        remedy: `Pass a whole one, such as --via 1.${lowest + 1}.0. ${newestPatches}`,
      });
    return release;
  });
  const running = [...facts.apiServers, ...facts.nodes.map(({ kubelet }) => kubelet)].sort(compareReleases);
  const between = new Map<number, Release>();
  const missing: number[] = [];
  for (let minor = lowest + 1; minor < target.minor; minor++) {
    const known =
      given.find((release) => release.minor === minor) ??
      releaseOf(String(kept[String(minor)] ?? '')) ??
      running.findLast((release) => release.minor === minor);
    if (known) between.set(minor, known);
    else missing.push(minor);
  }
  if (input.options.check === true) return between;
  if (missing.length > 0 && !session.attended)
    throw new Fault({
      code: 'usage.unanswered',
      message: `Nodes go through ${missing.map((minor) => `1.${minor}`).join(', ')}, and no release of ${missing.length === 1 ? 'it' : 'them'} is known here.`,
      remedy: `Pass one for each: ${viaText(missing)}. ${newestPatches}`,
    });
  for (const minor of missing) between.set(minor, await askBetween(session, facts, minor));
  return between;
}

/** Options that name a release of each of these minors. */
export const viaText = (minors: readonly number[]): string => minors.map((minor) => `--via 1.${minor}.0`).join(' ');

async function askBetween(session: Session, facts: ClusterFacts, minor: number): Promise<Release> {
  const waiting = facts.nodes.filter(({ kubelet }) => kubelet.minor < minor).map(({ name }) => name);
  const typed = await session.ask.text({
    id: `via 1.${minor}`,
    label: `Which release of 1.${minor} do ${waiting.join(', ')} go through?`,
    help: `No minor is skipped, and no node runs that one. On the command line: --via 1.${minor}.0`,
    initial: `v1.${minor}.0`,
    check: (text) =>
      typedRelease(text)?.minor === minor && typedRelease(text)?.patch !== undefined && !isPrerelease(text)
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
