import { Fault, type FaultCode } from '../../faults/fault.ts';
import type { FlowInput } from '../../flows/flow.ts';
import { optionOf, optionsOf } from '../../flows/flow-options.ts';
import type { Session } from '../../session/session.ts';
import { cleanLine } from '../../text/clean.ts';
import { objectOf, objectsOf, parsedJson, textOf } from '../../text/json-value.ts';
import { type ClusterFacts, newestApiServer, oldestApiServer } from './client/cluster-facts.ts';
import type { NodeExec } from './client/node-exec.ts';
import { compareReleases, isPrerelease, minorText, newestMinorAt, type Release, typedRelease, wholeRelease } from './client/release.ts';
import { kubeletLag, pathText } from './client/skew.ts';
import { lowestMinor, minorsBetween } from './cluster-checklist.ts';

/** Returns why a cluster cannot be upgraded to a release now; undefined if it can. One minor at a time, and no downgrade (R73). */
function targetProblem(facts: ClusterFacts, typed: string): { code: FaultCode; message: string } | undefined {
  const problem = (message: string, code: FaultCode = 'usage.release') => ({ code, message });
  const wanted = typedRelease(typed);
  // In a half-upgraded control plane, the oldest API server is the upper limit and the newest the lower limit.
  const [oldest, newest] = [oldestApiServer(facts), newestApiServer(facts)];
  const example = nextRelease(facts);
  if (!wanted) return problem(`Unknown Kubernetes version "${cleanLine(typed)}". Use a version such as ${example}.`);
  if (isPrerelease(typed)) return problem(`${cleanLine(typed)} is a pre-release. Use a final version, such as ${example}.`);
  if (!isOurs(facts, wanted.vendor))
    return problem(`${cleanLine(typed)} is not a version for this cluster (${facts.distribution.name}). Use a version such as ${example}.`);
  if (wanted.major !== oldest.major) return problem(`The major version must be ${oldest.major}, not ${wanted.major}.`);
  if (wanted.minor > oldest.minor + 1)
    return problem(
      `An upgrade from ${minorText(oldest)} to ${minorText(wanted)} skips ${wanted.minor - oldest.minor === 2 ? `1.${oldest.minor + 1}` : `1.${oldest.minor + 1} to 1.${wanted.minor - 1}`}, but minor versions must not be skipped. The path: ${pathText(oldest.minor, wanted.minor)}. Upgrade to 1.${oldest.minor + 1} first.`,
      'refused.skip',
    );
  if (wanted.minor < newest.minor || (wanted.patch !== undefined && wanted.minor === newest.minor && wanted.patch < newest.patch))
    return problem(`An API server already runs ${newest.text}, and a downgrade is not supported.`);
  return undefined;
}

/** Reports whether the suffix is one of this cluster's distribution; other builds of Kubernetes may have any. A missing one is added. */
const isOurs = (facts: ClusterFacts, vendor: string): boolean =>
  vendor === '' || (facts.distribution.suffix?.test(vendor) ?? newestApiServer(facts).vendor !== '');

/** Returns a possible release without network access: the target of a half-completed upgrade, or the first of the next minor. */
function nextRelease(facts: ClusterFacts): string {
  const [oldest, newest] = [oldestApiServer(facts), newestApiServer(facts)];
  if (newest.minor > oldest.minor) return newest.text.replace(/^v/, '');
  const { firstSuffix } = facts.distribution;
  return `1.${oldest.minor + 1}.0${firstSuffix === '' ? '' : `+${firstSuffix}`}`;
}

const newestPatches = 'The newest patch releases are listed at https://kubernetes.io/releases/patch-releases/.';

/** Returns undefined if kubeadm is not available or knows no release: it looks up releases on the network. */
async function planned(nodeExec: NodeExec | undefined, minor: number, signal: AbortSignal): Promise<Release | undefined> {
  if (!nodeExec) return undefined;
  const { exitCode, stdout } = await nodeExec.read(['kubeadm', 'upgrade', 'plan', '-o', 'json'], signal);
  const plan = exitCode === 0 ? objectOf(parsedJson(stdout.slice(Math.max(0, stdout.indexOf('{'))))) : undefined;
  return objectsOf(plan?.['availableUpgrades'])
    .flatMap(({ components }) => objectsOf(components))
    .flatMap(({ name, newVersion }) => (name === 'kube-apiserver' ? (wholeRelease(textOf(newVersion)) ?? []) : []))
    .filter((release) => release.minor === minor && !isPrerelease(release.text))
    .sort(compareReleases)
    .at(-1);
}

/** Returns `--to`, the target of an interrupted checklist, or the answer. Throws `usage.release` and `refused.skip`. */
export async function chooseTarget(session: Session, input: FlowInput, facts: ClusterFacts, begun?: string, nodeExec?: NodeExec) {
  const { apiServer, nodes } = facts;
  // A control plane that is partly upgraded is completed first.
  const behind = facts.apiServers.length > 1 ? [] : nodes.filter(({ kubelet }) => compareReleases(kubelet, apiServer) < 0);
  // A checklist that was overtaken by another upgrade is obsolete.
  const goesOn = begun !== undefined && targetProblem(facts, begun) === undefined;
  const given = optionOf(input, 'to') ?? (goesOn ? begun : undefined);
  const oldest = oldestApiServer(facts);
  const suggest = async () => {
    const found = await planned(nodeExec, oldest.minor + 1, session.signal);
    return found && targetProblem(facts, found.text) === undefined ? found.text : `v${nextRelease(facts)}`;
  };
  const typed =
    given ??
    (await session.ask.text({
      id: 'to',
      label: 'Target version',
      help: `The cluster runs ${apiServer.text}; the newest version is probably 1.${newestMinorAt(Date.now())}. Upgrade one minor version at a time: to 1.${oldest.minor + 1}, or to a newer 1.${newestApiServer(facts).minor} version.${behind.length > 0 ? ` ${behind.map(({ name, kubelet }) => `${name} (${minorText(kubelet)})`).join(', ')} can be upgraded to ${apiServer.text} first.` : ''}`,
      initial: await suggest(),
      check: (text) => targetProblem(facts, text)?.message,
    }));
  const problem = targetProblem(facts, typed);
  if (problem) {
    const remedy = `Pass a valid target: --to ${(await suggest()).replace(/^v/, '')}. ${newestPatches}`;
    throw new Fault(problem.code, problem.message, remedy);
  }
  const wanted = typedRelease(typed);
  if (wanted?.patch !== undefined) {
    const vendor = wanted.vendor || facts.distribution.firstSuffix;
    const text = `v${wanted.major}.${wanted.minor}.${wanted.patch}${vendor === '' ? '' : `+${vendor}`}`;
    return { ...wanted, patch: wanted.patch, vendor, text };
  }
  const found = await planned(nodeExec, wanted?.minor ?? 0, session.signal);
  if (found && targetProblem(facts, found.text) === undefined) return found;
  const newest = newestApiServer(facts);
  const first = wanted?.minor === newest.minor ? newest.text : `${cleanLine(typed)}.0`;
  const message = `The newest patch release of ${cleanLine(typed)} is unknown.`;
  throw new Fault('usage.release', message, `Pass a full version, such as --to ${first.replace(/^v/, '')}. ${newestPatches}`);
}

/** Releases by minor, as the checklist has them. */
type Recorded = Readonly<Record<string, string | number>>;

/**
 * Returns a release for each minor that nodes are upgraded to in between (R73): `--via`, the recorded one, the one that the API server or
 * other nodes run, or the answer of a prompt. `--check` does not prompt: minors without a release are missing from the result.
 */
export async function releasesBetween(session: Session, input: FlowInput, facts: ClusterFacts, target: Release, kept: Recorded = {}) {
  const given = givenBetween(input, facts, target, kept);
  const running = [...facts.apiServers, ...facts.nodes.map(({ kubelet }) => kubelet)].sort(compareReleases);
  const between = new Map<number, Release>();
  const missing: number[] = [];
  for (const minor of minorsBetween(facts, target)) {
    const known =
      given.find((release) => release.minor === minor) ??
      wholeRelease(String(kept[String(minor)] ?? '')) ??
      running.findLast((release) => release.minor === minor);
    if (known) between.set(minor, known);
    else missing.push(minor);
  }
  if (input.options.check === true) return between;
  if (missing.length > 0 && !session.attended) {
    const message = `Nodes are upgraded through ${missing.map((minor) => `1.${minor}`).join(', ')}, but no exact version is known.`;
    throw new Fault('usage.unanswered', message, `Pass a version for each: ${viaText(missing)}. ${newestPatches}`);
  }
  for (const minor of missing) between.set(minor, await askBetween(session, facts, minor));
  return between;
}

/** Releases that a resumed run recorded stay on the path, even if its nodes are past them. */
function givenBetween(input: FlowInput, facts: ClusterFacts, target: Release, kept: Recorded): Release[] {
  const lowest = lowestMinor(facts, target);
  const first = lowest + 1;
  const last = target.minor - 1;
  const fault = (message: string) =>
    new Fault('usage.release', message, first > last ? 'Omit --via.' : `Pass a full version, such as --via 1.${first}.0. ${newestPatches}`);
  const given: Release[] = [];
  for (const typed of optionsOf(input, 'via') ?? []) {
    const text = cleanLine(typed);
    const release = wholeRelease(typed);
    if (!release || isPrerelease(typed)) throw fault(`--via must be a full, final Kubernetes version, not ${text}.`);
    if (!isOurs(facts, release.vendor)) throw fault(`--via ${text} is not a version for this cluster (${facts.distribution.name}).`);
    if (kept[String(release.minor)] === release.text) continue;
    if (release.major !== target.major || release.minor < first || release.minor > last) {
      const through = first > last ? 'directly' : `through ${pathText(first, last).replaceAll(' -> ', ', ')}`;
      throw fault(`--via ${text} is not on the path: nodes are upgraded from 1.${lowest} to ${minorText(target)} ${through}.`);
    }
    const other = given.find(({ minor }) => minor === release.minor);
    if (other && other.text !== release.text)
      throw fault(`--via has two versions for ${minorText(release)}: ${other.text.slice(1)} and ${release.text.slice(1)}.`);
    given.push(release);
  }
  return given;
}

export const viaText = (minors: readonly number[]): string => minors.map((minor) => `--via 1.${minor}.0`).join(' ');

async function askBetween(session: Session, facts: ClusterFacts, minor: number): Promise<Release> {
  const waiting = facts.nodes.filter(({ kubelet }) => kubelet.minor < minor).map(({ name }) => name);
  const wholeOf = (text: string) => {
    const release = wholeRelease(text);
    return release?.minor === minor && !isPrerelease(text) && isOurs(facts, release.vendor) ? release : undefined;
  };
  const typed = await session.ask.text({
    id: `via 1.${minor}`,
    label: `Exact 1.${minor} version for ${waiting.join(', ')}`,
    help: `Minor versions cannot be skipped, and no node runs 1.${minor}. On the command line: --via 1.${minor}.0`,
    initial: `v1.${minor}.0`,
    check: (text) => (wholeOf(text) ? undefined : `Enter a full 1.${minor} version, such as 1.${minor}.0.`),
  });
  const release = wholeOf(typed);
  if (!release) throw new Error('unexpected version');
  return release;
}

/** Returns nodes that would be too old for the new control plane: they are upgraded before it. */
export function nodesBefore(facts: ClusterFacts, target: Release): string[] {
  return facts.nodes.filter(({ kubelet }) => target.minor - kubelet.minor > kubeletLag(kubelet.minor)).map(({ name }) => name);
}
