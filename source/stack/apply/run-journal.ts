import { z } from 'zod';
import type { Host } from '../../hosts/host.ts';
import { cleanLines } from '../../text/clean.ts';
import { plainWords } from '../../text/program-words.ts';
import { findDamagedRestores } from '../backup/restore-journal.ts';
import { findDamagedHalts } from '../backup/stopped-containers.ts';
import type { Plan } from '../model.ts';
import { cleaned, jsonOfShape, readJournalFile } from './journal-file.ts';
import { readLock } from './lock.ts';
import { runFolder } from './script.ts';
import { afterPrograms } from './script-steps.ts';
import {
  type JournalEntry,
  journalEntryShape,
  type LockHolder,
  type RunOnHost,
  type RunState,
  runBackupShape,
  type Transaction,
} from './transaction.ts';

const limitMs = 10_000;
/** A traceback of docker-compose 1 has ten thousand. */
const outputBytes = 32 * 1024;

/**
 * Returns all runs of a stack that are still kept, oldest first, without the output of their programs, which takes a program on the host
 * for each. A run whose files cannot be read is skipped: `findDamagedRuns` finds those that had changed something.
 */
export async function readRuns(host: Host, stackFolder: string, signal: AbortSignal): Promise<RunOnHost[]> {
  const { names, lock } = await listRuns(host, stackFolder, signal);
  const runs = await Promise.all(names.map((run) => readOne(host, stackFolder, run, lock, signal)));
  return runs.filter((run) => run !== undefined);
}

/** Returns the runs that neither completed nor were undone, oldest first, without those that only wait to be seen healthy. */
export async function readUnfinishedRuns(host: Host, stackFolder: string, signal: AbortSignal): Promise<RunOnHost[]> {
  const runs = (await readRuns(host, stackFolder, signal)).filter(({ state }) => isUnfinished(state));
  return Promise.all(runs.map((run) => withOutput(host, stackFolder, run, signal)));
}

async function listRuns(host: Host, stackFolder: string, signal: AbortSignal): Promise<{ names: string[]; lock: LockHolder | undefined }> {
  const names = (await host.files.list(`${stackFolder}/.quarterdeck/runs`, signal)) ?? [];
  return { names, lock: names.length === 0 ? undefined : await readLock(host, stackFolder, signal) };
}

/** Damaged runs had started to change something, and their files show neither that nor their end. Running ones are excluded. */
export async function findDamagedRuns(host: Host, stackFolder: string, signal: AbortSignal): Promise<string[]> {
  const { names, lock } = await listRuns(host, stackFolder, signal);
  const found = await Promise.all(
    names.map(async (run) => {
      if (lock?.run === run && lock.alive) return undefined;
      const plan = await readTransaction(host, stackFolder, run, signal);
      const { entries, lines } = await readJournal(host, stackFolder, run, signal);
      const state = stateOf(entries, false);
      // A crash cuts off only the last line, and before the first complete line nothing had changed.
      const isJournalLost = state === 'staged' && lines > entries.length + 1;
      return isJournalLost || (!plan && isUnfinished(state)) ? runFolder(stackFolder, run) : undefined;
    }),
  );
  return found.filter((folder) => folder !== undefined);
}

const isUnfinished = (state: RunState) => state === 'stopped' || state === 'failed';

export async function readRun(host: Host, stackFolder: string, run: string, signal: AbortSignal): Promise<RunOnHost | undefined> {
  // The lock is read first: a script that ends in between then counts as alive, in the other order it would count as dead.
  const lock = await readLock(host, stackFolder, signal);
  const found = await readOne(host, stackFolder, run, lock, signal);
  return found && withOutput(host, stackFolder, found, signal);
}

async function readOne(host: Host, stackFolder: string, run: string, lock: LockHolder | undefined, signal: AbortSignal) {
  const transaction = await readTransaction(host, stackFolder, run, signal);
  if (!transaction) return undefined;
  const { entries } = await readJournal(host, stackFolder, run, signal);
  const state = stateOf(entries, lock?.run === run && lock.alive);
  return { transaction, state, entries, summary: sentenceOf(transaction, state, entries), output: '' };
}

/** `lines` is their number as the apply script counts them, including damaged ones. */
export async function readJournal(host: Host, stackFolder: string, run: string, signal: AbortSignal) {
  const bytes = await readJournalFile(host, `${runFolder(stackFolder, run)}/journal`, { signal });
  const lines = bytes ? Buffer.from(bytes).toString().split('\n') : [];
  if (lines.at(-1) === '') lines.pop();
  // The line was cut when its writer died, or another program wrote it.
  return { entries: lines.flatMap((line) => jsonOfShape(journalEntryShape, line) ?? []), lines: lines.length };
}

/** Adds the end of the output of its programs, cleaned. */
async function withOutput(host: Host, stackFolder: string, run: RunOnHost, signal: AbortSignal): Promise<RunOnHost> {
  const path = `${runFolder(stackFolder, run.transaction.run)}/output.log`;
  const { exitCode, stdout } = await host.exec(['tail', '-c', String(outputBytes), path], { signal, limitMs });
  return { ...run, output: exitCode === 0 ? plainWords(cleanLines(Buffer.from(stdout).toString()).join('\n')) : '' };
}

const rows = (...names: readonly string[]) => z.array(z.looseObject(Object.fromEntries(names.map((name) => [name, z.string()]))));

/** The fields that resuming relies on. */
const planShape = z.looseObject({
  component: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/),
  project: z.string(),
  files: rows('path'),
  services: rows('name', 'image', 'change'),
  networks: rows('name'),
  secrets: rows('variable'),
  after: rows('component', 'service'),
  volumes: z.array(z.unknown()),
});

const transactionShape = z.object({
  schema: z.literal(1),
  run: z.string(),
  by: cleaned,
  startedAt: cleaned,
  plans: z.array(planShape).min(1),
  backups: z.record(z.string(), runBackupShape).optional(),
});

/** The runs of a moved stack are moved with it: they belong to the stack where they are found. */
async function readTransaction(host: Host, stackFolder: string, run: string, signal: AbortSignal): Promise<Transaction | undefined> {
  const bytes = await readJournalFile(host, `${runFolder(stackFolder, run)}/transaction.json`, { signal });
  const read = bytes && jsonOfShape(transactionShape, bytes);
  if (read?.run !== run) return undefined;
  return { ...read, plans: read.plans.map((plan) => ({ ...plan, stackFolder }) as unknown as Plan) };
}

export function stateOf(entries: readonly JournalEntry[], alive: boolean): RunState {
  const isDone = (step: string) => entries.some((entry) => entry.step === step && entry.state === 'done');
  if (alive) return 'running';
  if (isDone('undone')) return 'undone';
  if (entries.at(-1)?.state === 'failed') return 'failed';
  if (entries.some(({ step }) => step === 'undo')) return 'stopped';
  if (isDone('verified')) return 'verified';
  if (isDone('all')) return 'applied';
  return entries.some(({ step, state }) => step !== 'stage' && state === 'begun') ? 'stopped' : 'staged';
}

function sentenceOf(transaction: Transaction, state: RunState, entries: readonly JournalEntry[]): string {
  const last = entries.at(-1);
  const what = last ? doing(transaction, last.step) : 'preparing the change';
  const back = entries.some(({ step }) => step === 'undo');
  const sentences: Readonly<Record<RunState, string>> = {
    staged: 'Stopped before anything was changed.',
    running: back ? 'Being undone.' : `Being applied: ${what}.`,
    stopped: last?.state === 'done' ? `Stopped after ${what}; some steps remain.` : `Stopped while ${what}.`,
    failed: `Failed while ${what}${last?.exitCode === undefined ? '' : ` (exit code ${last.exitCode})`}.`,
    applied: 'Applied, but not confirmed healthy yet.',
    verified: 'Applied and healthy.',
    undone: 'Undone.',
  };
  return sentences[state];
}

/** Describes a step, to be read after "while" and "after". */
export function doing({ plans }: Transaction, step: string): string {
  const [, back, kind = '', component = ''] = /^(undo:)?(?:([\w-]+):)?(.*)$/s.exec(step) ?? [];
  const plan = plans.find((candidate) => candidate.component === component);
  const removes = plan?.kind === 'remove';
  const parted = `disconnecting ${component} from the network of ${plan?.joins?.gateway ?? 'another component'}`;
  const steps = new Map([
    ['part', parted],
    ['undo-part', parted],
    ['place', `${removes ? 'deleting' : 'writing'} the files of ${component}`],
    ['up', `${plan?.kind === 'deploy' || plan?.kind === 'restore' ? 'creating' : 'starting'} the containers of ${component}`],
    ['down', `removing the containers of ${component}`],
    ['record', `recording ${component} as ${removes ? 'removed' : 'deployed'}`],
  ]);
  const known = steps.get(kind);
  if (known !== undefined) return known;
  if (kind === 'after') {
    const program = afterPrograms(plans).find((candidate) => candidate.step === `after:${component}`);
    return `running a program in ${program?.component ?? component}${program ? ` (${program.why})` : ''}`;
  }
  if (back) return `restoring ${component}`;
  if (step === 'stage') return 'preparing the change';
  if (step === 'undo' || step === 'undone') return 'undoing the change';
  return 'finishing the change';
}

export async function findDamagedJournals(host: Host, stackFolder: string, signal: AbortSignal): Promise<string[]> {
  const found = await Promise.all([findDamagedRuns, findDamagedRestores, findDamagedHalts].map((find) => find(host, stackFolder, signal)));
  return found.flat();
}

/** `path` is cleaned. */
export const damagedSentence = (path: string) =>
  `A change was interrupted, and its journal is damaged: ${path}. The change cannot be finished or undone.`;
