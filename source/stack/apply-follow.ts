import { pauseFor } from '../faults/waits.ts';
import type { Grant } from '../grants/grant.ts';
import type { Host } from '../hosts/host.ts';
import { cleanLines } from '../text/clean.ts';
import { plainWords } from '../text/program-words.ts';
import { endedFault, goesOn, stackFolderOf } from './apply-faults.ts';
import { runFolder, type SecretValues } from './apply-script.ts';
import { doing, readJournal, readRun } from './run-journal.ts';
import { readLock } from './stack-lock.ts';
import type { ApplyEvent, JournalEntry, RunOnHost, Transaction } from './transaction.ts';

const firstPauseMs = 40;
const longestPauseMs = 500;
/** How long nothing may be written before we ask whether the script lives. */
const quietMs = 1_000;
const outputLimitBytes = 1024 * 1024;

export interface Followed {
  transaction: Transaction;
  /** Entries that were there before the script was started: those of an earlier attempt. */
  seen: number;
  secrets: SecretValues;
}

/** Follows the journal of a script that has been started, to its end. Output is told as it comes, with the secrets hidden. */
export async function followRun(grant: Grant, host: Host, followed: Followed, tell: (event: ApplyEvent) => void): Promise<RunOnHost> {
  try {
    return await follow(grant.signal, host, followed, tell);
  } catch (thrown) {
    if (grant.signal.aborted) throw goesOn(thrown);
    throw thrown;
  }
}

async function follow(
  signal: AbortSignal,
  host: Host,
  { transaction, seen, secrets }: Followed,
  tell: (event: ApplyEvent) => void,
): Promise<RunOnHost> {
  const stackFolder = stackFolderOf(transaction.plans);
  const { run } = transaction;
  const output = new OutputTail(host, `${runFolder(stackFolder, run)}/output.log`);
  const hide = hiding(secrets);
  let told = seen;
  let pauseMs = firstPauseMs;
  let lastChange = performance.now();
  for (;;) {
    const { entries } = await readJournal(host, stackFolder, run, signal);
    for (const text of await output.next(signal)) tell({ kind: 'output', text: hide(text) });
    for (const entry of entries.slice(told)) tell(eventOf(transaction, entry));
    if (entries.length > told) {
      told = entries.length;
      pauseMs = firstPauseMs;
      lastChange = performance.now();
    }
    const last = entries.at(-1);
    const ended =
      entries.length > seen && (last?.state === 'failed' || (last?.state === 'done' && (last.step === 'all' || last.step === 'undone')));
    // Dead for certain only when it was dead before its journal was read to the end.
    const quiet = performance.now() - lastChange > quietMs;
    if (quiet) lastChange = performance.now();
    if (ended || (quiet && !(await isAlive(host, stackFolder, run, signal)))) {
      const alive = await waitForLock(host, stackFolder, run, signal);
      const found = await readRun(host, stackFolder, run, signal);
      if (alive || !found) throw new Error(`the run ${run} is gone`);
      for (const entry of found.entries.slice(told)) tell(eventOf(transaction, entry));
      const shown = { ...found, output: hide(found.output) };
      if (shown.state === 'applied' || shown.state === 'undone' || shown.state === 'verified') return shown;
      throw endedFault(shown, host);
    }
    await pauseFor(pauseMs, signal);
    pauseMs = Math.min(longestPauseMs, pauseMs * 1.5);
  }
}

async function isAlive(host: Host, stackFolder: string, run: string, signal: AbortSignal): Promise<boolean> {
  const lock = await readLock(host, stackFolder, signal);
  return lock?.run === run && lock.alive;
}

/** The last entry is written a moment before the lock is let go: whoever goes on at once must not meet it. Answers true when it is never let go. */
async function waitForLock(host: Host, stackFolder: string, run: string, signal: AbortSignal): Promise<boolean> {
  for (let tries = 0; tries < 200; tries++) {
    if (!(await isAlive(host, stackFolder, run, signal))) return false;
    await pauseFor(firstPauseMs, signal);
  }
  return true;
}

function eventOf(transaction: Transaction, { step, state }: JournalEntry): ApplyEvent {
  const component = /^(?:undo:)?(?:(?:place|up|down|record|part|undo-part):)?(.+)$/.exec(step)?.[1];
  const known = transaction.plans.some((plan) => plan.component === component);
  return { kind: 'step', component: known ? component : undefined, step, state, label: doing(transaction, step) };
}

/** Whole lines of a file that grows. */
class OutputTail {
  readonly #host: Host;
  readonly #path: string;
  #readBytes = 0;
  #lines = 0;

  constructor(host: Host, path: string) {
    this.#host = host;
    this.#path = path;
  }

  async next(signal: AbortSignal): Promise<string[]> {
    const facts = await this.#host.files.facts(this.#path, signal);
    if (!facts || facts.sizeBytes <= this.#readBytes || this.#readBytes >= outputLimitBytes) return [];
    const bytes = Buffer.from((await this.#host.files.read(this.#path, { signal, limitBytes: outputLimitBytes })) ?? []);
    const end = bytes.lastIndexOf('\n') + 1;
    if (end === this.#readBytes) return [];
    this.#readBytes = end;
    // From its beginning: what goes with a traceback shows in the lines before.
    const lines = plainWords(cleanLines(bytes.subarray(0, end).toString()).join('\n')).split('\n');
    const fresh = lines.slice(this.#lines);
    this.#lines = lines.length;
    return fresh;
  }
}

/** Compose prints no values; a program in a container may. */
function hiding(secrets: SecretValues): (text: string) => string {
  const values = Object.values(secrets)
    .flatMap((ofComponent) => Object.entries(ofComponent))
    .flatMap(([name, value]) => value.split('\n').map((line) => [name, line.trim()] as const))
    // Shorter ones are words that stand everywhere, and hide nothing.
    .filter(([, value]) => value.length >= 4)
    .sort(([, a], [, b]) => b.length - a.length);
  return (text) => values.reduce((shown, [name, value]) => shown.replaceAll(value, `<${name}>`), text);
}
