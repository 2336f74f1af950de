import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { withFileLock } from '../config/file-lock.ts';
import { appendLine, readLines, repairLastLine } from '../config/line-file.ts';
import { hasOwnFile, listOwnFolder, removeOwnFile } from '../config/own-files.ts';
import { Fault } from '../faults/fault.ts';
import { parsedJson } from '../text/json-value.ts';

const runEnd = z.enum(['done', 'failed', 'cancelled']);
export type RunEnd = z.infer<typeof runEnd>;

const texts = z.array(z.string()).readonly();
const runOptions = z.record(z.string(), z.union([z.string(), z.boolean(), texts])).readonly();

const runSubject = z.object({
  flow: z.string(),
  engineName: z.string(),
  component: z.string().optional(),
  /** `host/project/name` of the component: several components may have the same id. */
  key: z.string().optional(),
  words: texts.optional(),
  options: runOptions.optional(),
});
type RunSubject = z.infer<typeof runSubject>;

const at = z.string();
const journalEntry = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('run'), at, ...runSubject.shape }),
  z.object({ kind: z.literal('answer'), at, step: z.string(), value: z.union([z.string(), texts]) }),
  z.object({ kind: z.literal('note'), at, step: z.string(), value: z.string() }),
  z.object({ kind: z.literal('begun'), at, act: z.string() }),
  z.object({ kind: z.literal('act'), at, act: z.string(), outcome: z.enum(['done', 'already']) }),
  z.object({ kind: z.literal('end'), at, outcome: runEnd }),
]);
type JournalEntry = z.infer<typeof journalEntry>;

export type Journal = Awaited<ReturnType<typeof openJournal>>;

export interface OpenRun extends RunSubject {
  run: string;
  words: readonly string[];
  options: z.infer<typeof runOptions>;
  at: string;
  acts: readonly string[];
}

const keptRuns = 50;
const runName = /^\d{8}T\d{9}-[0-9a-f]{6}$/;

/** Names a run of a flow, or a change to a stack. */
export function newRun(): string {
  // Sorts by time, and distinguishes two runs of the same millisecond.
  return `${new Date().toISOString().replace(/[-:.Z]/g, '')}-${randomBytes(3).toString('hex')}`;
}

/** A journal from which it cannot be read what its run did. It is not moved or deleted. */
export interface DamagedRun {
  run: string;
  file: string;
  reason: string;
  /** The file where that can be read. */
  flow?: string;
}

async function readRun(path: string): Promise<{ entries: readonly JournalEntry[]; damage?: string | undefined }> {
  const entries: JournalEntry[] = [];
  let damage: string | undefined;
  let line = 0;
  try {
    for await (const { text, partial } of readLines(path)) {
      line++;
      const entry = entryIn(text);
      const fits = entry !== undefined && (entry.kind === 'run') === (line === 1);
      if (fits) entries.push(entry);
      // A crash cuts off the last line; what it records counts as not done.
      else if (!partial || line === 1) damage ??= `Line ${line} of the journal ${path} is damaged.`;
    }
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown;
    return { entries, damage: thrown.message };
  }
  return { entries, damage: line === 0 ? `The journal ${path} is empty.` : damage };
}

const entryIn = (text: string): JournalEntry | undefined => journalEntry.safeParse(parsedJson(text)).data;

export function damagedRunFault({ file, reason }: Pick<DamagedRun, 'file' | 'reason'>): Fault {
  const remedy = `Check what the run changed: quarterdeck audit. Then finish the run manually and move the journal: ${file}`;
  return new Fault('failed.journal', `${reason} The run cannot be resumed.`, remedy, { where: { file } });
}

export interface JournalOptions extends RunSubject {
  folder: string;
  resume?: string;
}

/** Opens the record of one run, without secret answers, to resume it. Created with the first entry: a flow that only reads leaves none. */
export async function openJournal({ folder, resume, ...subject }: JournalOptions) {
  const { flow } = subject;
  const run = resume ?? newRun();
  const notFound = (message: string) => new Fault('usage.run', message, 'List interrupted runs: quarterdeck run');
  if (!runName.test(run)) throw notFound(`Unknown run ${run}.`);
  const path = join(folder, `${run}.jsonl`);
  let answers: ReturnType<typeof answersIn> = new Map();
  const notes = new Map<string, string[]>();
  const now = () => new Date().toISOString();
  let begun = false;
  if (resume) {
    // A missing file means a wrong name, not a damaged file.
    const { entries: earlier, damage } = await readRun(path);
    if (damage !== undefined && (await hasOwnFile(path))) throw damagedRunFault({ file: path, reason: damage });
    const [first] = earlier;
    if (first?.kind !== 'run') throw notFound(`Unknown run ${run}.`);
    if (first.flow !== flow) throw notFound(`Run ${run} does not belong to ${flow}.`);
    begun = true;
    // New entries must begin on a new line.
    await withFileLock(path, () => repairLastLine(path, (text) => entryIn(text) !== undefined));
    answers = answersIn(earlier);
    for (const entry of earlier) if (entry.kind === 'note') notes.set(entry.step, [...(notes.get(entry.step) ?? []), entry.value]);
  }

  async function write(entry: JournalEntry): Promise<void> {
    if (!begun) {
      begun = true;
      await sweep(folder);
      await appendLine(path, JSON.stringify({ kind: 'run', at: now(), ...subject } satisfies JournalEntry));
    }
    await appendLine(path, JSON.stringify(entry));
  }

  return {
    run,
    /** Returns the next answer of the resumed run, in the order in which this step was answered. */
    replay: (step: string): string | readonly string[] | undefined => answers.get(step)?.shift(),
    answered: (step: string, value: string | readonly string[]) => write({ kind: 'answer', at: now(), step, value }),
    /** Records a value that the run needs when it is resumed and that was not prompted for. No secrets. */
    note: (step: string, value: string) => write({ kind: 'note', at: now(), step, value }),
    noted: (step: string): readonly string[] => notes.get(step) ?? [],
    /** A run that is killed in the action is then found again, even if this is its first journal entry. */
    begins: (act: string) => write({ kind: 'begun', at: now(), act }),
    acted: (act: string, outcome: 'done' | 'already') => write({ kind: 'act', at: now(), act, outcome }),
    end: async (outcome: RunEnd): Promise<void> => {
      if (begun) await write({ kind: 'end', at: now(), outcome });
    },
  };
}

async function runFiles(folder: string): Promise<string[]> {
  const names = ((await listOwnFolder(folder)) ?? []).map(({ name }) => name);
  return names.filter((name) => name.endsWith('.jsonl') && runName.test(name.slice(0, -6))).sort();
}

/** The permanent record is the audit log. Damaged journals are not removed: what they recorded still has to be checked. */
async function sweep(folder: string): Promise<void> {
  const names = await runFiles(folder);
  for (const name of names.slice(0, Math.max(0, names.length - keptRuns))) {
    const path = join(folder, name);
    if ((await readRun(path)).damage === undefined) await removeOwnFile(path);
  }
}

/** A run is over if it completed, or if its first action failed and no recorded answer would save a prompt. */
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
 * A run is settled if another one has since completed the same task: same words, same flags, and every answer that was given here. A run
 * that recorded values is never superseded: it may be the only record of a token that was not delivered.
 */
function isSettled({ about, entries }: KeptRun, others: readonly KeptRun[]): boolean {
  if (entries.some(({ kind }) => kind === 'note')) return false;
  const lastAt = entries.at(-1)?.at ?? '';
  const same = taskOf(about);
  const given = answersIn(entries);
  return others.some((other) => {
    const end = other.entries.findLast((entry) => entry.kind === 'end' && entry.outcome === 'done');
    if (!end || end.at <= lastAt || taskOf(other.about) !== same) return false;
    const theirs = answersIn(other.entries);
    return [...given].every(([step, values]) => values.every((value, at) => isDeepStrictEqual(value, theirs.get(step)?.[at])));
  });
}

function taskOf({ flow, engineName, component, key, words = [], options = {} }: KeptRun['about']): string {
  const flags = Object.entries(options).sort(([one], [other]) => (one < other ? -1 : 1));
  return JSON.stringify([flow, engineName, component, key, words, flags]);
}

function answersIn(entries: readonly JournalEntry[]): Map<string, (string | readonly string[])[]> {
  const answers = new Map<string, (string | readonly string[])[]>();
  for (const entry of entries) if (entry.kind === 'answer') answers.set(entry.step, [...(answers.get(entry.step) ?? []), entry.value]);
  return answers;
}

export type RunJournals = Awaited<ReturnType<typeof readRunJournals>>;

/** `damaged`: runs of which it cannot be read whether they finished. Newest first. */
export async function readRunJournals(folder: string) {
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
    .map(
      ({ run, about: { kind: _, ...about }, entries }): OpenRun => ({
        ...{ words: [], options: {}, ...about, run },
        acts: entries.flatMap((entry) => (entry.kind === 'act' ? [entry.act] : [])),
      }),
    );
  return { open, damaged };
}
