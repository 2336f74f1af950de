import type { Grant } from '../../../grants/grant.ts';
import { cleanLine } from '../../../text/clean.ts';

/** The result of a program. A missing program exits with 127. */
export type NodeOutcome = Record<'stdout' | 'stderr', string> & { exitCode: number };

/** Runs programs on a node as root. */
export interface NodeExec {
  readonly shown: string;
  read(argv: readonly string[], signal: AbortSignal, env?: Readonly<Record<string, string>>): Promise<NodeOutcome>;
  run(grant: Grant, argv: readonly string[], env?: Readonly<Record<string, string>>): Promise<NodeOutcome>;
}

/** Returns the error in the output of a program: its last lines with text. */
export function lastWords({ stdout, stderr }: NodeOutcome): string {
  const lines = `${stdout}\n${stderr}`
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean);
  const reported = lines.filter((line) => /fatal|error|fail|denied|refused|not found|unable/i.test(line));
  return (reported.length > 0 ? reported : lines).slice(-3).join(' ').slice(0, 400);
}

export const failureText = (what: string, outcome: NodeOutcome): string =>
  `${what} failed (${outcome.exitCode}): ${cleanLine(lastWords(outcome))}`;
