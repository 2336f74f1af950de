import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { withFileLock } from '../config/file-lock.ts';
import { appendLine, mendLastLine, readLines } from '../config/line-file.ts';
import { hasOwnFile, listOwnFolder, removeOwnFile } from '../config/own-files.ts';
import { Fault } from '../faults/fault.ts';
import { type JsonObject, objectOf, parsedJson } from '../text/json-value.ts';

export type RunEnd = 'done' | 'failed' | 'cancelled';

/** Flags of the command line. */
type RunOptions = Readonly<Record<string, string | boolean | readonly string[]>>;

type JournalEntry =
  | {
      kind: 'run';
      at: string;
      flow: string;
      place: string;
      component?: string;
      key?: string;
      words?: readonly string[];
      options?: RunOptions;
    }
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
  /** Of the component, `host/project/name`: its id alone may be that of several. */
  key: string | undefined;
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

/** A journal that does not say what its run did. It stays where it is. */
export interface DamagedRun {
  run: string;
  file: string;
  /** A whole sentence. */
  reason: string;
  /** Where that can be read. */
  flow?: string;
}

interface ReadRun {
  entries: readonly JournalEntry[];
  damage?: string;
}

async function readRun(path: string): Promise<ReadRun> {
  const entries: JournalEntry[] = [];
  let damage: string | undefined;
  let line = 0;
  try {
    for await (const { text, partial } of readLines(path)) {
      line++;
      const entry = entryIn(text);
      const fits = entry !== undefined && (entry.kind === 'run') === (line === 1);
      if (fits) entries.push(entry);
      // A crash cuts off the last line, and what it recorded did not happen.
      else if (!partial || line === 1) damage ??= `Line ${line} of the journal ${path} is damaged.`;
    }
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown;
    return { entries, damage: thrown.message };
  }
  if (line === 0) damage = `The journal ${path} is empty.`;
  return { entries, ...(damage !== undefined && { damage }) };
}

/** Undefined for what we would not have written. */
function entryIn(text: string): JournalEntry | undefined {
  const entry = objectOf(parsedJson(text));
  return entry && isEntry(entry) ? (entry as unknown as JournalEntry) : undefined;
}

function isEntry(entry: JsonObject): boolean {
  const isText = (value: unknown) => typeof value === 'string';
  const isOneOf = (value: unknown, ...words: readonly string[]) => isText(value) && words.includes(value as string);
  const isTexts = (value: unknown) => Array.isArray(value) && value.every(isText);
  const { kind, at, flow, place, component, key, words, options, step, value, act, outcome } = entry;
  if (!isText(at)) return false;
  switch (kind) {
    case 'run':
      return (
        [flow, place].every(isText) &&
        [component, key].every((name) => name === undefined || isText(name)) &&
        (words === undefined || isTexts(words)) &&
        (options === undefined ||
          Object.values(objectOf(options) ?? [undefined]).every((one) => typeof one === 'boolean' || isText(one) || isTexts(one)))
      );
    case 'answer':
      return isText(step) && (isText(value) || isTexts(value));
    case 'note':
      return isText(step) && isText(value);
    case 'begun':
      return isText(act);
    case 'act':
      return isText(act) && isOneOf(outcome, 'done', 'already');
    case 'end':
      return isOneOf(outcome, 'done', 'failed', 'cancelled');
    default:
      return false;
  }
}

export function damagedRunFault({ file, reason }: Pick<DamagedRun, 'file' | 'reason'>): Fault {
  return new Fault({
    code: 'failed.journal',
    message: `${reason} The run cannot be resumed.`,
    remedy: `Check what it did: quarterdeck audit. Then finish that by hand, and move the journal away: ${file}`,
    where: { file },
  });
}

export interface JournalOptions {
  folder: string;
  flow: string;
  place: string;
  component?: string;
  /** `host/project/name` of the component. */
  key?: string;
  /** Of the command line: no secrets. */
  words?: readonly string[];
  options?: RunOptions;
  /** A run to go on with. */
  resume?: string;
}

/** The file appears with the first thing there is to tell: a flow that only reads leaves nothing behind. */
export async function openJournal({ folder, flow, place, component, key, words, options, resume }: JournalOptions): Promise<Journal> {
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
    // A missing one is a wrong name, not a damaged file.
    const { entries: earlier, damage } = await readRun(path);
    if (damage !== undefined && (await hasOwnFile(path))) throw damagedRunFault({ file: path, reason: damage });
    const [first] = earlier;
    if (first?.kind !== 'run' || first.flow !== flow) {
      throw new Fault({
        code: 'usage.run',
        message: `Run ${run} is not a run of ${flow}.`,
        remedy: 'Take one from the list of runs that were not finished.',
      });
    }
    begun = true;
    // What it writes from here on begins on a line of its own.
    await withFileLock(path, () => mendLastLine(path, (text) => entryIn(text) !== undefined));
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
        JSON.stringify({ kind: 'run', at: new Date().toISOString(), flow, place, component, key, words, options } satisfies JournalEntry),
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

/** Runs that ended are kept for a while as evidence; the audit log is what stays. Damaged journals are not removed: what they recorded is still to be checked. */
async function sweep(folder: string): Promise<void> {
  const names = await runFiles(folder);
  for (const name of names.slice(0, Math.max(0, names.length - keptRuns))) {
    const path = join(folder, name);
    if ((await readRun(path)).damage === undefined) await removeOwnFile(path);
  }
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

function wishOf({ flow, place, component, key, words = [], options = {} }: KeptRun['about']): unknown {
  return [flow, place, component ?? null, key ?? null, words, Object.entries(options).sort(([one], [other]) => (one < other ? -1 : 1))];
}

function answersIn(entries: readonly JournalEntry[]): Map<string, (string | readonly string[])[]> {
  const answers = new Map<string, (string | readonly string[])[]>();
  for (const entry of entries) if (entry.kind === 'answer') answers.set(entry.step, [...(answers.get(entry.step) ?? []), entry.value]);
  return answers;
}

export interface RunJournals {
  /** They can be resumed. Newest first. */
  open: readonly OpenRun[];
  /** Whether they ended cannot be read. Newest first. */
  damaged: readonly DamagedRun[];
}

/** Runs that began, and neither ended nor were made needless by another one. */
export async function readRunJournals(folder: string): Promise<RunJournals> {
  const kept: KeptRun[] = [];
  const damaged: DamagedRun[] = [];
  for (const name of (await runFiles(folder)).reverse()) {
    const [file, run] = [join(folder, name), name.slice(0, -6)];
    const { entries, damage } = await readRun(file);
    const [about] = entries;
    if (damage === undefined && about?.kind === 'run') kept.push({ run, about, entries });
    else if (damage !== undefined && !entries.some((entry) => entry.kind === 'end' && entry.outcome === 'done'))
      damaged.push({ run, file, reason: damage, ...(about?.kind === 'run' && { flow: about.flow }) });
  }
  const open = kept
    .filter((one) => !isOver(one.entries) && !isSettled(one, kept))
    .map(({ run, about, entries }) => ({
      run,
      flow: about.flow,
      place: about.place,
      component: about.component,
      key: about.key,
      words: about.words ?? [],
      options: about.options ?? {},
      at: about.at,
      acts: entries.flatMap((entry) => (entry.kind === 'act' ? [entry.act] : [])),
    }));
  return { open, damaged };
}
