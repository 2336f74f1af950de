import { z } from 'zod';
import type { Plan } from '../model.ts';
import { cleaned } from './journal-file.ts';

/**
 * One or several plans that are applied together: one POSIX script on the host, detached, under the stack's lock, with a journal. It is
 * written to `STACK/.quarterdeck/runs/<run>/` before anything changes. It has versions of secrets and names of variables, no stored values.
 */
export interface Transaction {
  schema: 1;
  /** `20261121T221500123-a1b2c3`: sorts by time. */
  run: string;
  /** `user@host`, shown to others who find the stack locked. */
  by: string;
  startedAt: string;
  plans: readonly Plan[];
  backups?: Readonly<Record<string, RunBackup>>;
}

/**
 * `stamp` names the backup, `20261121T031500Z`; `where` is its location, for sentences: `/srv/backups on nas`. `to` is the same location as
 * `--to` accepts it, if it contains no credentials.
 */
export const runBackupShape = z.object({ stamp: z.string().regex(/^\d{8}T\d{6}Z$/), where: cleaned, to: z.string().optional() });
export type RunBackup = z.infer<typeof runBackupShape>;

/** `step` is `place:vault`, `up:vault`, `after:reverse-proxy`; entries with `begun` have no exit code yet. */
export const journalEntryShape = z.object({
  at: z.string(),
  step: z.string(),
  state: z.enum(['begun', 'done', 'failed']),
  exitCode: z.number().optional(),
});
export type JournalEntry = z.infer<typeof journalEntryShape>;

/**
 * The state of a run, from its journal and its lock: `staged` nothing has changed yet; `running` its script is alive; `stopped` its script
 * died before the end; `failed` a step failed and the script ended by itself; `applied` all steps are done, but the components have not
 * been seen healthy; `verified` they have; `undone` it was undone.
 */
export type RunState = 'staged' | 'running' | 'stopped' | 'failed' | 'applied' | 'verified' | 'undone';

export interface RunOnHost {
  transaction: Transaction;
  state: RunState;
  entries: readonly JournalEntry[];
  /** One sentence for the operator: `Stopped while starting the containers of password-vault.`. */
  summary: string;
  /** End of the programs' output, cleaned. Empty where `readRuns` read it. */
  output: string;
}

export interface LockHolder {
  run: string;
  by: string;
  since: string;
  alive: boolean;
}

export type Report = (event: ApplyEvent) => void;

export type ApplyEvent =
  | { kind: 'pull'; reference: string; fraction: number | undefined; text: string; done: boolean }
  | { kind: 'step'; component: string | undefined; step: string; state: 'begun' | 'done' | 'failed'; label: string }
  | { kind: 'output'; text: string };
