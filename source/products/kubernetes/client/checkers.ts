import pLimit from 'p-limit';
import { unlessFault } from '../../../faults/unless-fault.ts';
import { listOf, parsedJson } from '../../../text/json-value.ts';
import { isAllowed, isRemovedBy } from './api-checks.ts';
import type { ClusterApi } from './api-client.ts';
import { blocked, type CheckResult, ok, warning } from './check-result.ts';
import type { NodeOutcome } from './node-exec.ts';

export const checkers = ['pluto', 'kubent'] as const;
type Checker = (typeof checkers)[number];

/** The target is always passed: the default of these programs is an old release. */
export function checkerCommand(checker: Checker, target: string, context: string): readonly string[] {
  return checker === 'pluto'
    ? ['pluto', 'detect-all-in-cluster', '-o', 'json', '--target-versions', `k8s=${target}`, '--kube-context', context]
    : ['kubent', '-o', 'json', '-t', target.replace(/^v|\.\d+$/g, ''), '-x', context];
}

interface PlutoItem {
  name?: string;
  namespace?: string;
  api?: { version?: string; kind?: string; 'removed-in'?: string; 'replacement-api'?: string };
  removed?: boolean;
}
type KubentItem = Partial<Record<'Name' | 'Namespace' | 'Kind' | 'ApiVersion' | 'RuleSet' | 'ReplaceWith', string>>;

/** Newest rules of kubent: later removals are unknown to it. */
const kubentKnows = 32;

/** Parses the output of a checker. pluto exits with 2, 3 or 4 if it found something, which is not a failure. */
export function judgeChecker(checker: Checker, { exitCode, stdout, stderr }: NodeOutcome, targetMinor: number): CheckResult {
  const parsed = parsedJson(exitCode === 0 && stdout.trim() === '' ? '[]' : stdout);
  const last = stderr.trim().split('\n').at(-1)?.slice(0, 160) || 'no error message';
  if (parsed === undefined) return warning(`${checker} printed no JSON (exit code ${exitCode}): ${last}`);
  const found = checker === 'pluto' ? plutoFindings(parsed, targetMinor) : kubentFindings(parsed, targetMinor);
  const evidence = found.map(({ text }) => text);
  const gone = found.filter((each) => each.gone);
  if (gone.length > 0)
    return blocked(`${checker} found APIs that 1.${targetMinor} no longer serves`, 'Deploy the objects with newer API versions.', evidence);
  if (found.length > 0) return warning(`${checker} found deprecated API versions that 1.${targetMinor} still serves`, undefined, evidence);
  if (checker === 'kubent' && targetMinor > kubentKnows)
    return warning(`kubent found nothing, but knows only versions up to 1.${kubentKnows}`);
  return ok(`${checker} found nothing`, ['Objects created with server-side apply are not detected.']);
}

const findingText = (namespace: string | undefined, name = '', what: string, instead: string | undefined) =>
  `${namespace ? `${namespace}/` : ''}${name}: ${what}${instead ? `; use ${instead}` : ''}`;

function plutoFindings(parsed: unknown, targetMinor: number) {
  return ((parsed as { items?: PlutoItem[] }).items ?? []).map(({ name, namespace, api = {}, removed }) => {
    const { 'removed-in': removedIn = '', 'replacement-api': instead } = api;
    const what = `${[api.kind, api.version].filter(Boolean).join(' ')}, removed in ${removedIn.replace(/^v|\.0$/g, '') || 'a later version'}`;
    return { text: findingText(namespace, name, what, instead), gone: removed === true || isRemovedBy(removedIn, targetMinor) };
  });
}

function kubentFindings(parsed: unknown, targetMinor: number) {
  return (listOf(parsed) as readonly KubentItem[]).map(({ Name, Namespace, Kind = '', ApiVersion = '', RuleSet = '', ReplaceWith }) => ({
    text: findingText(Namespace, Name, `${Kind} ${ApiVersion} (${RuleSet})`, ReplaceWith),
    gone: isRemovedBy(/1\.\d+/.exec(RuleSet)?.[0] ?? '', targetMinor),
  }));
}

const askedAtOnce = 8;

/** Returns what pluto (5.22, tested) silently skips because it is unavailable or forbidden; it would report that it found nothing. */
export async function blindSpots(api: ClusterApi, signal: AbortSignal): Promise<string[]> {
  const seesAll = await isAllowed(api, { verb: 'list', group: '*', resource: '*' }, signal);
  const { groups = [] } = await api.get<{ groups?: { name?: string; preferredVersion?: { groupVersion?: string } }[] }>('/apis', signal);
  const limit = pLimit(askedAtOnce);
  const answers = await Promise.all(
    groups.map(({ name = '', preferredVersion: { groupVersion = name } = {} }) =>
      limit(async () => ({ name, served: (await unlessFault(signal, api.get(`/apis/${groupVersion}`, signal))) !== undefined })),
    ),
  );
  const away = answers.filter(({ served }) => !served).map(({ name }) => `${name} is unavailable`);
  return [...(seesAll ? [] : ['no permission to list all resources']), ...away];
}

/** Turns a clean result into a warning if the program cannot see everything. */
export function limitedToVisible(result: CheckResult, blind: readonly string[]): CheckResult {
  if (blind.length === 0) return result;
  const summary = `${result.summary}, but the result is incomplete: ${blind.join(', ')}`;
  const advice = 'The checker skips resources that it cannot list. Check again as a user who can list them, once all APIs are available.';
  return { ...warning(summary, advice, result.evidence), unseen: true };
}
