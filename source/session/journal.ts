import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { appendLine, readLines } from '../config/line-file.ts';
import { listOwnFolder, removeOwnFile } from '../config/own-files.ts';
import { Fault } from '../faults/fault.ts';

export type RunEnd = 'done' | 'failed' | 'cancelled';

/** Flags of the command line. */
type RunOptions = Readonly<Record<string, string | boolean | readonly string[]>>;

type JournalEntry =
  | { kind: 'run'; at: string; flow: string; place: string; component?: string; words?: readonly string[]; options?: RunOptions }
  | { kind: 'answer'; at: string; step: string; value: string | readonly string[] }
  | { kind: 'note'; at: string; step: string; value: string }
  | { kind: 'begun'; at: string; act: string }
  | { kind: 'act'; at: string; act: string; outcome: 'done' | 'already' }
  | { kind: 'end'; at: string; outcome: RunEnd };

/** What one run of a flow left behind, so that it can be gone on with. Secret answers are never in here. */
export interface Journal {
  readonly run: string;
  /** The next answer of the run that is gone on with, in the order in which they were given to this step. */
  replay(step: string): string | readonly string[] | undefined;
  answered(step: string, value: string | readonly string[]): Promise<void>;
  /** For the run to know when it is gone on with; nobody was asked. No secrets. */
  note(step: string, value: string): Promise<void>;
  /** What the run that is gone on with noted under this step, the oldest first. */
  noted(step: string): readonly string[];
  /** Did the run that is gone on with finish this act? The world has the last word (`done`). */
  finished(act: string): boolean;
  /** It is about to be tried: a run that is killed in it is found again, also where it is the first thing that there is to tell. */
  begins(act: string): Promise<void>;
  acted(act: string, outcome: 'done' | 'already'): Promise<void>;
  end(outcome: RunEnd): Promise<void>;
}

/** A run that never came to its end, newest first. */
export interface OpenRun {
  run: string;
  flow: string;
  place: string;
  component: string | undefined;
  /** What it was about, where that was said in words. */
  words: readonly string[];
  options: RunOptions;
  at: string;
  acts: readonly string[];
}

const keptRuns = 50;
const runName = /^\d{8}T\d{9}-[0-9a-f]{6}$/;

/** The name of a run, of a flow or of a change to a stack. */
export function newRun(): string {
  // Sorts by time, and tells two of one millisecond apart.
  return `${new Date().toISOString().replace(/[-:.Z]/g, '')}-${randomBytes(3).toString('hex')}`;
}

async function readRun(path: string): Promise<JournalEntry[]> {
  const entries: JournalEntry[] = [];
  for await (const { text } of readLines(path)) {
    try {
      entries.push(JSON.parse(text) as JournalEntry);
    } catch {
      // A line that a crash cut off: what it told did not come to be.
    }
  }
  return entries;
}

export interface JournalOptions {
  folder: string;
  flow: string;
  place: string;
  component?: string;
  /** Of the command line: no secrets. */
  words?: readonly string[];
  options?: RunOptions;
  /** A run to go on with. */
  resume?: string;
}

/** The file appears with the first thing there is to tell: a flow that only reads leaves nothing behind. */
export async function openJournal({ folder, flow, place, component, words, options, resume }: JournalOptions): Promise<Journal> {
  const run = resume ?? newRun();
  if (!runName.test(run)) {
    throw new Fault({ code: 'usage.run', message: `${run} is no run.`, remedy: 'Take one from the list of runs that were not finished.' });
  }
  const path = join(folder, `${run}.jsonl`);
  const answers = new Map<string, (string | readonly string[])[]>();
  const notes = new Map<string, string[]>();
  const acts = new Set<string>();
  let begun = false;
  if (resume) {
    const earlier = await readRun(path);
    const [first] = earlier;
    if (first?.kind !== 'run' || first.flow !== flow) {
      throw new Fault({
        code: 'usage.run',
        message: `Run ${run} is not a run of ${flow}.`,
        remedy: 'Take one from the list of runs that were not finished.',
      });
    }
    begun = true;
    for (const [step, given] of answersIn(earlier)) answers.set(step, given);
    for (const entry of earlier) {
      if (entry.kind === 'note') notes.set(entry.step, [...(notes.get(entry.step) ?? []), entry.value]);
      if (entry.kind === 'act') acts.add(entry.act);
    }
  }

  async function write(entry: JournalEntry): Promise<void> {
    if (!begun) {
      begun = true;
      await sweep(folder);
      await appendLine(
        path,
        JSON.stringify({ kind: 'run', at: new Date().toISOString(), flow, place, component, words, options } satisfies JournalEntry),
      );
    }
    await appendLine(path, JSON.stringify(entry));
  }
  const at = () => new Date().toISOString();

  return {
    run,
    replay: (step) => answers.get(step)?.shift(),
    answered: (step, value) => write({ kind: 'answer', at: at(), step, value }),
    note: (step, value) => write({ kind: 'note', at: at(), step, value }),
    noted: (step) => notes.get(step) ?? [],
    finished: (act) => acts.has(act),
    begins: (act) => write({ kind: 'begun', at: at(), act }),
    acted: (act, outcome) => write({ kind: 'act', at: at(), act, outcome }),
    end: async (outcome) => {
      if (begun) await write({ kind: 'end', at: at(), outcome });
    },
  };
}

async function runFiles(folder: string): Promise<string[]> {
  const names = ((await listOwnFolder(folder)) ?? []).map(({ name }) => name);
  return names.filter((name) => name.endsWith('.jsonl') && runName.test(name.slice(0, -6))).sort();
}

/** Runs that ended are kept for a while as evidence; the audit log is what stays. */
async function sweep(folder: string): Promise<void> {
  const names = await runFiles(folder);
  for (const name of names.slice(0, Math.max(0, names.length - keptRuns))) await removeOwnFile(join(folder, name));
}

/** Done; or it said itself that its first act failed, and kept nothing that would spare anybody a question. */
function isOver(entries: readonly JournalEntry[]): boolean {
  const ends = entries.flatMap((entry) => (entry.kind === 'end' ? [entry.outcome] : []));
  if (ends.includes('done')) return true;
  return ends.length > 0 && entries.every(({ kind }) => kind === 'run' || kind === 'begun' || kind === 'end');
}

interface KeptRun {
  run: string;
  about: Extract<JournalEntry, { kind: 'run' }>;
  entries: readonly JournalEntry[];
}

/**
 * Has another run since come to the end of the same: the same words, the same flags, every answer that was given here. One that noted something is for itself alone: it may be all that
 * knows of a token that nobody has.
 */
function isSettled({ about, entries }: KeptRun, others: readonly KeptRun[]): boolean {
  if (entries.some(({ kind }) => kind === 'note')) return false;
  const lastAt = entries.at(-1)?.at ?? '';
  const same = JSON.stringify(wishOf(about));
  const given = answersIn(entries);
  return others.some((other) => {
    const end = other.entries.findLast((entry) => entry.kind === 'end' && entry.outcome === 'done');
    if (!end || end.at <= lastAt || JSON.stringify(wishOf(other.about)) !== same) return false;
    const theirs = answersIn(other.entries);
    return [...given].every(([step, values]) =>
      values.every((value, at) => JSON.stringify(value) === JSON.stringify(theirs.get(step)?.[at])),
    );
  });
}

function wishOf({ flow, place, component, words = [], options = {} }: KeptRun['about']): unknown {
  return [flow, place, component ?? null, words, Object.entries(options).sort(([one], [other]) => (one < other ? -1 : 1))];
}

function answersIn(entries: readonly JournalEntry[]): Map<string, (string | readonly string[])[]> {
  const answers = new Map<string, (string | readonly string[])[]>();
  for (const entry of entries) if (entry.kind === 'answer') answers.set(entry.step, [...(answers.get(entry.step) ?? []), entry.value]);
  return answers;
}

/** Runs that began, were neither finished nor given up, and can be gone on with. Not those that another one has made needless. */
export async function openRuns(folder: string): Promise<OpenRun[]> {
  const kept: KeptRun[] = [];
  for (const name of (await runFiles(folder)).reverse()) {
    const entries = await readRun(join(folder, name));
    const [about] = entries;
    if (about?.kind === 'run') kept.push({ run: name.slice(0, -6), about, entries });
  }
  return kept
    .filter((one) => !isOver(one.entries) && !isSettled(one, kept))
    .map(({ run, about, entries }) => ({
      run,
      flow: about.flow,
      place: about.place,
      component: about.component,
      words: about.words ?? [],
      options: about.options ?? {},
      at: about.at,
      acts: entries.flatMap((entry) => (entry.kind === 'act' ? [entry.act] : [])),
    }));
}
