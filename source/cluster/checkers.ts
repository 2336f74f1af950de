import { parseJson } from '../text/json-value.ts';
import { isRemovedBy } from './api-checks.ts';
import type { CheckResult } from './check-result.ts';

/** What a deprecation checker answered. */
export interface CheckerAnswer {
  exitCode: number;
  stdout: string;
  stderr: string;
}

/** Programs that look for deprecated versions in what was deployed, where the operator has them. The target is always said: by themselves they mean an old release. */
export const checkers = {
  pluto: (target: string, context: string) => [
    'pluto',
    'detect-all-in-cluster',
    '-o',
    'json',
    '--target-versions',
    `k8s=${target}`,
    '--kube-context',
    context,
  ],
  kubent: (target: string, context: string) => ['kubent', '-o', 'json', '-t', target.replace(/^v|\.\d+$/g, ''), '-x', context],
} as const;
export type Checker = keyof typeof checkers;

interface PlutoItem {
  name?: string;
  namespace?: string;
  api?: { version?: string; kind?: string; 'removed-in'?: string; 'replacement-api'?: string };
  removed?: boolean;
}
interface KubentItem {
  Name?: string;
  Namespace?: string;
  Kind?: string;
  ApiVersion?: string;
  RuleSet?: string;
  ReplaceWith?: string;
}

/** The newest rules that kubent has: what is removed later it does not know. */
const kubentKnows = 32;

/** Reads what a checker wrote. pluto ends with 2, 3 or 4 where it found something, which is an answer. */
export function judgeChecker(checker: Checker, { exitCode, stdout, stderr }: CheckerAnswer, targetMinor: number): CheckResult {
  const unreadable: CheckResult = {
    state: 'warning',
    summary: `${checker} does not answer (${exitCode}): ${stderr.trim().split('\n').at(-1)?.slice(0, 160) ?? ''}`,
  };
  let parsed: unknown;
  try {
    parsed = parseJson(exitCode === 0 && stdout.trim() === '' ? '[]' : stdout);
  } catch {
    return unreadable;
  }
  const found: { text: string; gone: boolean }[] =
    checker === 'pluto'
      ? ((parsed as { items?: PlutoItem[] }).items ?? []).map(({ name, namespace, api = {}, removed }) => ({
          text: `${namespace ? `${namespace}/` : ''}${name ?? ''}: ${api.kind ?? ''} ${api.version ?? ''}, gone in ${api['removed-in']?.replace(/^v|\.0$/g, '') || 'a later one'}${api['replacement-api'] ? `, use ${api['replacement-api']}` : ''}`,
          gone: removed === true || isRemovedBy(api['removed-in'] ?? '', targetMinor),
        }))
      : (Array.isArray(parsed) ? (parsed as KubentItem[]) : []).map(({ Name, Namespace, Kind, ApiVersion, RuleSet, ReplaceWith }) => ({
          text: `${Namespace ? `${Namespace}/` : ''}${Name ?? ''}: ${Kind ?? ''} ${ApiVersion ?? ''} (${RuleSet ?? ''})${ReplaceWith ? `, use ${ReplaceWith}` : ''}`,
          gone: isRemovedBy(/1\.\d+/.exec(RuleSet ?? '')?.[0] ?? '', targetMinor),
        }));
  const evidence = found.map(({ text }) => text);
  const gone = found.filter((each) => each.gone);
  if (gone.length > 0)
    return {
      state: 'blocked',
      summary: `${checker}: ${gone.length} that 1.${targetMinor} does not serve`,
      evidence,
      advice: 'Deploy them with the newer version.',
    };
  if (found.length > 0)
    return { state: 'warning', summary: `${checker}: ${found.length} deprecated, still served by 1.${targetMinor}`, evidence };
  if (checker === 'kubent' && targetMinor > kubentKnows)
    return { state: 'warning', summary: `kubent found nothing, and knows releases up to 1.${kubentKnows} alone` };
  return {
    state: 'ok',
    summary: `${checker} found nothing`,
    evidence: ['Objects that were applied by the server itself are not seen by it.'],
  };
}
