import type { Plan } from './model.ts';

/**
 * One or several plans that are applied together: one POSIX script on the host, detached, under the stack's lock, with a journal. It is written to
 * `STACK/.quarterdeck/runs/<run>/` before anything changes, and holds no secret: only versions, and names of variables.
 */
export interface Transaction {
  schema: 1;
  /** `20261121T221500123-a1b2c3`: sorts by time. */
  run: string;
  /** `user@host`, for whoever finds the lock taken. */
  by: string;
  startedAt: string;
  plans: readonly Plan[];
  /** What was backed up right before, by component. */
  backups?: Readonly<Record<string, RunBackup>>;
}

/** A backup that a change took before it began. */
export interface RunBackup {
  /** Its name: `20261121T031500Z`. */
  stamp: string;
  /** For sentences: `/srv/backups on nas`. */
  where: string;
}

/** Entries of the journal on the host, in order. `step` is `place:vault`, `up:vault`, `after:reverse-proxy`; entries with `begun` have no exit code yet. */
export interface JournalEntry {
  at: string;
  step: string;
  state: 'begun' | 'done' | 'failed';
  exitCode?: number;
}

/**
 * How a run stands, said from its journal and its lock:
 * `staged` nothing has changed yet; `running` its script lives; `stopped` its script died in the middle; `failed` a step failed and the script ended by itself;
 * `applied` all steps are done, and nobody has seen it healthy; `verified` it was; `undone` it was taken back.
 */
export type RunState = 'staged' | 'running' | 'stopped' | 'failed' | 'applied' | 'verified' | 'undone';

export interface RunOnHost {
  transaction: Transaction;
  state: RunState;
  entries: readonly JournalEntry[];
  /** One sentence for a person: `Stopped while the containers of password-vault were being made`. */
  sentence: string;
  /** End of what the programs wrote, cleaned. */
  output: string;
}

/** Who works on the stack. */
export interface LockHolder {
  run: string;
  by: string;
  since: string;
  alive: boolean;
}

/** What is told while a transaction is applied. */
export type ApplyEvent =
  | { kind: 'pull'; reference: string; fraction: number | undefined; text: string; done: boolean }
  | { kind: 'step'; component: string | undefined; step: string; state: 'begun' | 'done' | 'failed'; label: string }
  | { kind: 'output'; text: string };
