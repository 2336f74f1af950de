import { RE2JS } from 're2js';
import { cleanLine } from '../text/clean.ts';
import { type ConfigProblem, errorAt } from './problem.ts';

/** Parses the errors of the product's own check, with their lines if it reports them. Output that cannot be parsed is passed on. */
export function reportedProblems(output: string, pattern: string | undefined): ConfigProblem[] {
  const all = output.split('\n').map(cleanLine);
  const lines = all.filter((line) => line.trim() !== '');
  const expression = pattern === undefined ? undefined : RE2JS.compile(pattern);
  const found = lines.flatMap((text): ConfigProblem[] => {
    const matcher = expression?.matcher(text);
    if (!matcher?.find()) return [];
    const groups = expression?.namedGroups() ?? {};
    const group = (name: string) => (name in groups ? (matcher.group(name) ?? undefined) : undefined);
    const position = { line: Number(group('line') ?? 1), column: Number(group('column') ?? 1) };
    return [errorAt(position, group('message') ?? text, '')];
  });
  // Some print everything twice: to their log and to their output.
  const once = new Map(found.map((problem) => [JSON.stringify(problem), problem]));
  if (once.size > 0) return [...once.values()];
  return [errorAt({ line: 1, column: 1 }, lines.slice(-5).join(' ') || 'The file was rejected without a message.', '')];
}
