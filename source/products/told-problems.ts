import { RE2JS } from 're2js';
import { cleanLine } from '../text/clean.ts';
import type { ConfigProblem } from './config-problem.ts';

/** Complaints of the product's own check, with their lines where it tells them. One that says nothing that is understood is repeated as it is. */
export function toldProblems(output: string, pattern: string | undefined): ConfigProblem[] {
  const lines = output
    .split('\n')
    .map(cleanLine)
    .filter((line) => line.trim() !== '');
  const expression = pattern === undefined ? undefined : RE2JS.compile(pattern);
  const found = lines.flatMap((text): ConfigProblem[] => {
    const matcher = expression?.matcher(text);
    if (!matcher?.find()) return [];
    const groups = expression?.namedGroups() ?? {};
    const group = (name: string) => (name in groups ? (matcher.group(name) ?? undefined) : undefined);
    return [
      {
        level: 'error',
        line: Number(group('line') ?? 1),
        column: Number(group('column') ?? 1),
        field: '',
        message: group('message') ?? text,
        remedy: '',
      },
    ];
  });
  // Some say everything twice: to their log, and to whoever started them.
  const once = new Map(found.map((problem) => [JSON.stringify(problem), problem]));
  if (once.size > 0) return [...once.values()];
  return [
    { level: 'error', line: 1, column: 1, field: '', message: lines.slice(-5).join(' ') || 'It was refused without a word.', remedy: '' },
  ];
}
