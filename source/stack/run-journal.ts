import type { Host } from '../hosts/host.ts';
import { cleanLine, cleanLines } from '../text/clean.ts';
import { parseJson } from '../text/json-value.ts';
import { plainWords } from '../text/program-words.ts';
import { runFolder } from './apply-script.ts';
import { afterPrograms } from './apply-script-steps.ts';
import { readJournalFile } from './journal-file.ts';
import type { Plan } from './model.ts';
import { readLock } from './stack-lock.ts';
import type { JournalEntry, LockHolder, RunBackup, RunOnHost, RunState, Transaction } from './transaction.ts';

const limitMs = 10_000;
/** A traceback of docker-compose 1 has ten thousand. */
const outputBytes = 32 * 1024;

/** What the host has written down of a run, without its sentence: for whoever follows it. */
export interface Journal {
  entries: readonly JournalEntry[];
  /** As the apply script counts them, damaged ones too. */
  lines: number;
}

/** All runs of a stack that are still kept, oldest first. One whose files cannot be read is left out: nothing had changed when it was begun. */
export async function readRuns(host: Host, stackFolder: string, signal: AbortSignal): Promise<RunOnHost[]> {
  const names = (await host.files.list(`${stackFolder}/.quarterdeck/runs`, signal)) ?? [];
  const lock = await readLock(host, stackFolder, signal);
  const runs = await Promise.all(names.map((run) => readOne(host, stackFolder, run, lock, signal)));
  return runs.filter((run) => run !== undefined);
}

/** Those that neither came to their end nor were taken back, oldest first. What only waits to be seen healthy is not among them. */
export async function readUnfinishedRuns(host: Host, stackFolder: string, signal: AbortSignal): Promise<RunOnHost[]> {
  const names = (await host.files.list(`${stackFolder}/.quarterdeck/runs`, signal)) ?? [];
  if (names.length === 0) return [];
  const lock = await readLock(host, stackFolder, signal);
  const runs = await Promise.all(names.map((run) => readOne(host, stackFolder, run, lock, signal, isUnfinished)));
  return runs.filter((run) => run !== undefined);
}

/** Folders of runs that had begun to change something, with files from which neither that nor their end can be read. Not one whose script still runs. */
export async function findDamagedRuns(host: Host, stackFolder: string, signal: AbortSignal): Promise<string[]> {
  const names = (await host.files.list(`${stackFolder}/.quarterdeck/runs`, signal)) ?? [];
  const lock = names.length === 0 ? undefined : await readLock(host, stackFolder, signal);
  const found = await Promise.all(
    names.map(async (run) => {
      if (lock?.run === run && lock.alive) return undefined;
      const bytes = await readJournalFile(host, `${runFolder(stackFolder, run)}/transaction.json`, { signal });
      const transaction = bytes && transactionIn(Buffer.from(bytes).toString(), stackFolder);
      const { entries, lines } = await readJournal(host, stackFolder, run, signal);
      const state = stateOf(entries, false);
      // A crash cuts off the last line alone, and before the first whole one nothing had changed.
      const isJournalLost = state === 'staged' && lines > entries.length + 1;
      const isPlanLost = transaction?.run !== run && (isUnfinished(state) || isJournalLost);
      return isPlanLost || isJournalLost ? runFolder(stackFolder, run) : undefined;
    }),
  );
  return found.filter((folder) => folder !== undefined);
}

const isUnfinished = (state: RunState) => state === 'stopped' || state === 'failed';

export async function readRun(host: Host, stackFolder: string, run: string, signal: AbortSignal): Promise<RunOnHost | undefined> {
  // The lock first: a script that ends in between is then taken for alive, and found to have ended when asked again; the other way round it would have died.
  const lock = await readLock(host, stackFolder, signal);
  return readOne(host, stackFolder, run, lock, signal);
}

async function readOne(
  host: Host,
  stackFolder: string,
  run: string,
  lock: LockHolder | undefined,
  signal: AbortSignal,
  wanted: (state: RunState) => boolean = () => true,
): Promise<RunOnHost | undefined> {
  const folder = runFolder(stackFolder, run);
  const bytes = await readJournalFile(host, `${folder}/transaction.json`, { signal });
  const transaction = bytes && transactionIn(Buffer.from(bytes).toString(), stackFolder);
  if (!transaction || transaction.run !== run) return undefined;
  const { entries } = await readJournal(host, stackFolder, run, signal);
  const state = stateOf(entries, lock?.run === run && lock.alive);
  if (!wanted(state)) return undefined;
  return {
    transaction,
    state,
    entries,
    sentence: sentenceOf(transaction, state, entries),
    output: await readOutput(host, stackFolder, run, signal),
  };
}

export async function readJournal(host: Host, stackFolder: string, run: string, signal: AbortSignal): Promise<Journal> {
  const bytes = await readJournalFile(host, `${runFolder(stackFolder, run)}/journal`, { signal });
  const text = bytes ? Buffer.from(bytes).toString() : '';
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return { entries: lines.flatMap((line) => entryIn(line) ?? []), lines: lines.length };
}

/** The end of what its programs wrote, cleaned. */
export async function readOutput(host: Host, stackFolder: string, run: string, signal: AbortSignal): Promise<string> {
  const path = `${runFolder(stackFolder, run)}/output.log`;
  const { exitCode, stdout } = await host.exec(['tail', '-c', String(outputBytes), path], { signal, limitMs });
  return exitCode === 0 ? plainWords(cleanLines(Buffer.from(stdout).toString()).join('\n')) : '';
}

/** Where it is read is where it belongs: a stack that was moved has its runs with it. Undefined for what we would not have written. */
function transactionIn(text: string, stackFolder: string): Transaction | undefined {
  try {
    const value = parseJson(text) as Transaction | null;
    if (value?.schema !== 1 || !Array.isArray(value.plans) || value.plans.length === 0) return undefined;
    if (![value.run, value.by, value.startedAt].every((word) => typeof word === 'string') || !value.plans.every(isPlan)) return undefined;
    const { run, by, startedAt } = value;
    return {
      schema: 1,
      run,
      by: cleanLine(by),
      startedAt: cleanLine(startedAt),
      plans: value.plans.map((plan) => ({ ...plan, stackFolder })),
      ...(value.backups && { backups: backupsIn(value.backups) }),
    };
  } catch {
    return undefined;
  }
}

function backupsIn(read: unknown): Record<string, RunBackup> {
  return Object.fromEntries(
    Object.entries(read as Record<string, Partial<RunBackup> | null>).flatMap(([component, one]): [string, RunBackup][] =>
      typeof one?.stamp === 'string' && /^\d{8}T\d{6}Z$/.test(one.stamp)
        ? [[component, { stamp: one.stamp, where: cleanLine(String(one.where ?? '')) }]]
        : [],
    ),
  );
}

/** As far as going on with it relies on. */
function isPlan(value: unknown): value is Plan {
  const plan = value as Partial<Plan> | null;
  const rows = (list: unknown, ...words: readonly string[]) =>
    Array.isArray(list) && list.every((row) => words.every((word) => typeof (row as Record<string, unknown> | null)?.[word] === 'string'));
  return (
    typeof plan?.component === 'string' &&
    /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(plan.component) &&
    typeof plan.project === 'string' &&
    rows(plan.files, 'path') &&
    rows(plan.services, 'name', 'image', 'change') &&
    rows(plan.networks, 'name') &&
    rows(plan.secrets, 'variable') &&
    rows(plan.after, 'component', 'service') &&
    Array.isArray(plan.volumes)
  );
}

/** Undefined for a line that was cut when its writer died, or that somebody else wrote. */
function entryIn(line: string): JournalEntry | undefined {
  try {
    const { at, step, state, exitCode } = parseJson(line) as Partial<JournalEntry>;
    if (typeof at !== 'string' || typeof step !== 'string' || (state !== 'begun' && state !== 'done' && state !== 'failed'))
      return undefined;
    return { at, step, state, ...(typeof exitCode === 'number' && { exitCode }) };
  } catch {
    return undefined;
  }
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
  const what = last ? doing(transaction, last.step) : 'it was being prepared';
  const back = entries.some(({ step }) => step === 'undo');
  switch (state) {
    case 'staged':
      return 'Stopped before anything was changed.';
    case 'running':
      return back ? 'Is being taken back.' : `Is being applied: ${what}.`;
    case 'stopped':
      return last?.state === 'done' ? `Stopped after ${what}, with more to do.` : `Stopped while ${what}.`;
    case 'failed':
      return `Failed while ${what}${last?.exitCode === undefined ? '' : ` (exit code ${last.exitCode})`}.`;
    case 'applied':
      return 'Everything is applied; nobody has seen yet whether it is healthy.';
    case 'verified':
      return 'Applied, and seen to work.';
    case 'undone':
      return 'Was taken back.';
  }
}

/** What a step does, to be read behind "while" and "after". */
export function doing({ plans }: Transaction, step: string): string {
  const [, back, kind, component = ''] = /^(undo:)?(?:([\w-]+):)?(.*)$/s.exec(step) ?? [];
  const plan = plans.find((candidate) => candidate.component === component);
  switch (kind) {
    case 'part':
    case 'undo-part':
      return `${component} was taken out of the network of ${plan?.joins?.gateway ?? 'another'}`;
    case 'place':
      return `the files of ${component} were written`;
    case 'up':
      return `the containers of ${component} were ${plan?.kind === 'deploy' ? 'made' : 'brought up'}`;
    case 'down':
      return `the containers of ${component} were removed`;
    case 'record':
      return `${component} was written down as deployed`;
    case 'after': {
      const program = afterPrograms(plans).find((candidate) => candidate.step === `after:${component}`);
      return `a program ran in ${program?.component ?? component}${program ? ` (${program.why})` : ''}`;
    }
  }
  if (back) return `${component} was put back as it was`;
  if (step === 'stage') return 'it was being prepared';
  if (step === 'undo' || step === 'undone') return 'it was being taken back';
  return 'it was being finished';
}
