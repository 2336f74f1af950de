import { type ClusterFacts, newestApiServer, oldestApiServer } from '../cluster/cluster-facts.ts';
import { isVendorOf, vendorOf } from '../cluster/distribution.ts';
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
  // Of a control plane that is half upgraded, the oldest says how far it can go, and the newest what it cannot go back to.
  const [oldest, newest] = [oldestApiServer(facts), newestApiServer(facts)];
  const example = nextRelease(facts);
  if (!wanted) return `"${cleanLine(typed)}" is not a release of Kubernetes, such as ${example}.`;
  if (isPrerelease(typed)) return `${cleanLine(typed)} is a pre-release. Use a final one, such as ${example}.`;
  if (!isVendorOf(facts.distribution, newest, wanted.vendor))
    return `${cleanLine(typed)} is not a release for this cluster (${facts.distribution.name}), such as ${example}.`;
  if (wanted.major !== oldest.major) return `Kubernetes ${wanted.major} is none that is known here.`;
  if (wanted.minor > oldest.minor + 1) {
    return `From ${minorText(oldest)} to ${minorText(wanted)} skips ${wanted.minor - oldest.minor === 2 ? `1.${oldest.minor + 1}` : `1.${oldest.minor + 1} to 1.${wanted.minor - 1}`}, and no minor is skipped. The path: ${pathText(oldest.minor, wanted.minor)}. Go to 1.${oldest.minor + 1} first.`;
  }
  if (wanted.minor < newest.minor || (wanted.patch !== undefined && wanted.minor === newest.minor && wanted.patch < newest.patch))
    return `It is at ${newest.text} already, and there is no way back but restoring etcd.`;
  return undefined;
}

/** A release that it can go to, without the network: the one that it is halfway to, or the first of the next minor. */
function nextRelease(facts: ClusterFacts): string {
  const [oldest, newest] = [oldestApiServer(facts), newestApiServer(facts)];
  if (newest.minor > oldest.minor) return newest.text.replace(/^v/, '');
  const vendor = vendorOf(facts.distribution);
  return `1.${oldest.minor + 1}.0${vendor === '' ? '' : `+${vendor}`}`;
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
  const oldest = oldestApiServer(facts);
  const suggest = async () => {
    const found = await planned(way, oldest.minor + 1, session.signal);
    return found && targetProblem(facts, found.text) === undefined ? found.text : `v${nextRelease(facts)}`;
  };
  const typed =
    given ??
    (await session.ask.text({
      id: 'to',
      label: 'To which release?',
      help: `It is at ${apiServer.text}; the newest is about 1.${newestMinorAt(Date.now())}. One minor at a time: 1.${oldest.minor + 1}, or a newer 1.${newestApiServer(facts).minor}.${behind.length > 0 ? ` ${behind.map(({ name, kubelet }) => `${name} (${minorText(kubelet)})`).join(', ')} can be brought to ${apiServer.text} first.` : ''}`,
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
  if (found && targetProblem(facts, found.text) === undefined) return found;
  const newest = newestApiServer(facts);
  const first = wanted?.minor === newest.minor ? newest.text : `${cleanLine(typed)}.0`;
  throw new Fault({
    code: 'usage.release',
    message: `${cleanLine(typed)} is a minor, and its newest patch release is not known here.`,
    remedy: `Pass a whole release, such as --to ${first.replace(/^v/, '')}. ${newestPatches}`,
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
  const given = givenBetween(input, facts, { lowest, target }, kept);
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

/** What `--via` names, one release for each minor between. What a run that is resumed kept is on the path too, though its nodes are past it. */
function givenBetween(
  input: FlowInput,
  facts: ClusterFacts,
  { lowest, target }: { lowest: number; target: Release },
  kept: Readonly<Record<string, string | number>>,
): Release[] {
  const first = lowest + 1;
  const last = target.minor - 1;
  const fault = (message: string) =>
    new Fault({
      code: 'usage.release',
      message,
      remedy: first > last ? 'Omit --via.' : `Pass a whole release on the path, such as --via 1.${first}.0. ${newestPatches}`,
    });
  const given: Release[] = [];
  for (const typed of Array.isArray(input.options.via) ? (input.options.via as readonly string[]) : []) {
    const text = cleanLine(typed);
    const release = releaseOf(`v${typed.trim().replace(/^v/, '')}`);
    if (!release || isPrerelease(typed)) throw fault(`--via ${text} is not a final release of Kubernetes.`);
    if (!isVendorOf(facts.distribution, newestApiServer(facts), release.vendor))
      throw fault(`--via ${text} is not a release for this cluster (${facts.distribution.name}).`);
    if (kept[String(release.minor)] === release.text) continue;
    if (release.major !== target.major || release.minor < first || release.minor > last) {
      const through = first > last ? 'directly' : `through ${pathText(first, last).replaceAll(' -> ', ', ')}`;
      throw fault(`--via ${text} is not on the path: nodes go from 1.${lowest} to ${minorText(target)} ${through}.`);
    }
    const other = given.find(({ minor }) => minor === release.minor);
    if (other && other.text !== release.text)
      throw fault(`--via is given two releases of ${minorText(release)}: ${other.text.slice(1)} and ${release.text.slice(1)}.`);
    given.push(release);
  }
  return given;
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
      typedRelease(text)?.minor === minor &&
      typedRelease(text)?.patch !== undefined &&
      !isPrerelease(text) &&
      isVendorOf(facts.distribution, newestApiServer(facts), typedRelease(text)?.vendor ?? '')
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
