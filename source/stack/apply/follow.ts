import { pauseFor } from '../../faults/waits.ts';
import type { Grant } from '../../grants/grant.ts';
import type { Host } from '../../hosts/host.ts';
import { cleanLines } from '../../text/clean.ts';
import { plainWords } from '../../text/program-words.ts';
import { continuesFault, endedFault, noRunFault, stackFolderOf, stillLockedFault } from './faults.ts';
import { readLock } from './lock.ts';
import { doing, readJournal, readRun } from './run-journal.ts';
import { runFolder, type SecretValues } from './script.ts';
import type { ApplyEvent, JournalEntry, Report, RunOnHost, Transaction } from './transaction.ts';

const firstPauseMs = 40;
const longestPauseMs = 500;
/** Time without new entries before a check whether the script is alive. */
const quietMs = 1_000;
const outputLimitBytes = 1024 * 1024;

interface Followed {
  transaction: Transaction;
  /** Entries from before the script was started, of an earlier attempt. */
  seen: number;
  secrets: SecretValues;
}

/** Follows the journal of a started script to its end. Output is reported as it arrives, with the secrets masked. */
export function followRun({ signal }: Grant, host: Host, followed: Followed, report: Report): Promise<RunOnHost> {
  return follow(signal, host, followed, report).catch((thrown: unknown) => {
    throw signal.aborted ? continuesFault(thrown) : thrown;
  });
}

// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: one loop decides whether the script has written, ended or died
async function follow(signal: AbortSignal, host: Host, { transaction, seen, secrets }: Followed, report: Report): Promise<RunOnHost> {
  const stackFolder = stackFolderOf(transaction.plans);
  const { run } = transaction;
  const nextOutput = followOutput(host, `${runFolder(stackFolder, run)}/output.log`);
  const hide = hiding(secrets);
  let reported = seen;
  let pauseMs = firstPauseMs;
  let lastChange = performance.now();
  for (;;) {
    const { entries } = await readJournal(host, stackFolder, run, signal);
    for (const text of await nextOutput(signal)) report({ kind: 'output', text: hide(text) });
    for (const entry of entries.slice(reported)) report(eventOf(transaction, entry));
    if (entries.length > reported) {
      reported = entries.length;
      pauseMs = firstPauseMs;
      lastChange = performance.now();
    }
    const last = entries.length > seen ? entries.at(-1) : undefined;
    const ended = last?.state === 'failed' || (last?.state === 'done' && (last.step === 'all' || last.step === 'undone'));
    // The script is certainly dead only if it was dead before its journal was read to the end.
    const quiet = performance.now() - lastChange > quietMs;
    if (quiet) lastChange = performance.now();
    if (ended || (quiet && !(await isAlive(host, stackFolder, run, signal)))) {
      const alive = await waitForLock(host, stackFolder, run, signal);
      const found = await readRun(host, stackFolder, run, signal);
      if (alive) throw stillLockedFault(transaction, host);
      if (!found) throw noRunFault(transaction, 'Check the components: quarterdeck status. Then plan the change again.');
      for (const entry of found.entries.slice(reported)) report(eventOf(transaction, entry));
      const shown = { ...found, output: hide(found.output) };
      if (['applied', 'undone', 'verified'].includes(shown.state)) return shown;
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

/** The lock is released a moment after the last entry: the next operation must not find it. Returns true if it is never released. */
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

/** Returns a function for the lines that were written since it was last called. */
function followOutput(host: Host, path: string): (signal: AbortSignal) => Promise<string[]> {
  let readBytes = 0;
  let reported = 0;
  return async (signal) => {
    const facts = await host.files.facts(path, signal);
    if (!facts || facts.sizeBytes <= readBytes || readBytes >= outputLimitBytes) return [];
    const bytes = Buffer.from((await host.files.read(path, { signal, limitBytes: outputLimitBytes })) ?? []);
    const end = bytes.lastIndexOf('\n') + 1;
    if (end === readBytes) return [];
    readBytes = end;
    // Cleaned from the beginning: whether a line belongs to a traceback depends on the lines before.
    const lines = plainWords(cleanLines(bytes.subarray(0, end).toString()).join('\n')).split('\n');
    const fresh = lines.slice(reported);
    reported = lines.length;
    return fresh;
  };
}

/** Masks the secrets of programs in containers; compose prints no values. */
function hiding(secrets: SecretValues): (text: string) => string {
  const values = Object.values(secrets)
    .flatMap((ofComponent) => Object.entries(ofComponent))
    .flatMap(([name, value]) => value.split('\n').map((line) => [name, line.trim()] as const))
    // Shorter values are common words, and masking them protects nothing.
    .filter(([, value]) => value.length >= 4)
    .sort(([, a], [, b]) => b.length - a.length);
  return (text) => values.reduce((shown, [name, value]) => shown.replaceAll(value, `<${name}>`), text);
}
