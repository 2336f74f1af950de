import type { Grant } from '../grants/grant.ts';

export interface NodeOutcome {
  exitCode: number;
  stdout: string;
  stderr: string;
}

/** How programs are run on a node, as its root. */
export interface NodeWay {
  /** `over ssh as nas`, for sentences. */
  readonly shown: string;
  /** A program that only reads. A program that is not there ends with 127. */
  read(argv: readonly string[], signal: AbortSignal, env?: Readonly<Record<string, string>>): Promise<NodeOutcome>;
  run(grant: Grant, argv: readonly string[], env?: Readonly<Record<string, string>>): Promise<NodeOutcome>;
}

/** What went wrong in what a program wrote: its last lines that say something. */
export function lastWords({ stdout, stderr }: NodeOutcome): string {
  const lines = `${stdout}\n${stderr}`
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean);
  const told = lines.filter((line) => /fatal|error|fail|denied|refused|not found|unable/i.test(line));
  return (told.length > 0 ? told : lines).slice(-3).join(' ').slice(0, 400);
}
