import { z } from 'zod';
import { readCheckedJson } from '../config/checked-json.ts';
import { withFileLock } from '../config/file-lock.ts';
import { writeOwnFile } from '../config/own-files.ts';
import { Fault } from '../faults/fault.ts';
import { cleanLine } from '../text/clean.ts';
import type { Session } from './session.ts';

const itemState = z.enum(['todo', 'running', 'ok', 'warning', 'blocked', 'skipped']);

export type ItemState = z.infer<typeof itemState>;

export interface ChecklistItem {
  id: string;
  section: string;
  title: string;
  state: ItemState;
  summary: string;
  evidence: readonly string[];
  advice?: string;
  /** For a skipped item: the reason, and the user who skipped it. */
  reason?: string;
  /** The user who last saw it, and the time (ISO). */
  by?: string;
  at?: string;
}

const noteShape = {
  kind: z.enum(['skipped', 'done', 'seen']),
  by: z.string(),
  at: z.string(),
  state: itemState.optional(),
  title: z.string().optional(),
  section: z.string().optional(),
  reason: z.string().optional(),
  summary: z.string().optional(),
  evidence: z.array(z.string()).readonly().optional(),
  data: z
    .record(z.string(), z.union([z.string(), z.number()]))
    .readonly()
    .optional(),
};

/** Data that cannot be observed again: who skipped which item and why, what was done by hand, and the evidence at that time. */
type ChecklistNote = z.infer<z.ZodObject<typeof noteShape>>;

const checklist = z.looseObject({
  schema: z.literal(1),
  title: z.string(),
  startedAt: z.string(),
  startedBy: z.string(),
  endedAt: z.string().optional(),
  /** Data that the checklist run needs: its target. */
  facts: z.record(z.string(), z.string()).readonly(),
  notes: z.record(z.string(), z.looseObject(noteShape)),
});

type StoredChecklist = z.infer<typeof checklist>;

export type ChecklistFacts = StoredChecklist['facts'];

export interface ChecklistOptions {
  file: string;
  title: string;
  facts: ChecklistFacts;
  /** Whether a stored checklist with these facts can be resumed. */
  isSame: (stored: ChecklistFacts) => boolean;
  who: string;
  session: Session;
  kept?: boolean;
  now?: () => number;
}

/** Undefined if there is no file. Throws `config.checklist`. */
export function storedChecklist(file: string): Promise<StoredChecklist | undefined> {
  const remedy = 'Move the file. Quarterdeck checks the items again; skips, steps marked as done by hand, and earlier evidence are lost.';
  return readCheckedJson(file, checklist, { code: 'config.checklist', remedy });
}

/** The fault for a file whose skips and evidence are about something else. */
export function otherChecklist(file: string, { title, startedBy, facts }: StoredChecklist): Fault {
  const about = Object.entries(facts).map(([name, value]) => `${name}: ${value}`);
  const message = `${file} belongs to another checklist: "${title}", started by ${startedBy} (${about.join(', ')}).`;
  const remedy =
    'Pass another file with --checklist. To resume the checklist in this file, upgrade the component or cluster that it belongs to.';
  return new Fault('refused.checklist', cleanLine(message), remedy, { where: { file } });
}

/**
 * A checklist may take several days, and several people who share this account. Observable items are checked again each time; everything
 * else is saved to a file after each change, so that it can be resumed. In a dry run nothing is written.
 */
export class Checklist {
  readonly file: string;
  readonly title: string;
  readonly #session: Session;
  readonly #who: string;
  readonly #kept: boolean;
  readonly #now: () => number;
  readonly #items = new Map<string, ChecklistItem>();
  #stored: StoredChecklist;

  private constructor({ file, title, who, session, kept = true, now = Date.now }: ChecklistOptions, stored: StoredChecklist) {
    this.file = file;
    this.title = title;
    this.#session = session;
    this.#who = who;
    this.#kept = kept && !session.dryRun;
    this.#now = now;
    this.#stored = stored;
  }

  /** Throws `refused.checklist` and `config.checklist`. */
  static async open(options: ChecklistOptions): Promise<Checklist> {
    const { file, title, facts, isSame, who, now = Date.now } = options;
    const stored = await storedChecklist(file);
    // A completed checklist is history.
    const open = stored?.endedAt === undefined ? stored : undefined;
    if (open && !isSame(open.facts)) throw otherChecklist(file, open);
    return new Checklist(options, open ?? { schema: 1, title, startedAt: new Date(now()).toISOString(), startedBy: who, facts, notes: {} });
  }

  get items(): readonly ChecklistItem[] {
    return [...this.#items.values()];
  }
  get started(): { by: string; at: string } {
    return { by: this.#stored.startedBy, at: this.#stored.startedAt };
  }
  get facts(): ChecklistFacts {
    return this.#stored.facts;
  }

  item(id: string): ChecklistItem | undefined {
    return this.#items.get(id);
  }
  note(id: string): ChecklistNote | undefined {
    return this.#stored.notes[id];
  }

  get blocked(): readonly ChecklistItem[] {
    return this.items.filter(({ state }) => state === 'blocked');
  }

  /** Records the state of an item, and shows it. A skipped item stays skipped while it would block or warn. */
  async set(id: string, change: Partial<ChecklistItem> & Pick<ChecklistItem, 'state'>): Promise<ChecklistItem> {
    const before = this.#items.get(id);
    const plain = this.#session.withoutSecrets;
    const whole: ChecklistItem = { id, section: '', title: id, summary: '', evidence: [], ...before, ...change };
    const fresh = { ...whole, summary: plain(whole.summary), evidence: whole.evidence.map(plain) };
    // The earlier advice refers to the earlier observation.
    if (change.advice === undefined) delete fresh.advice;
    const note = this.note(id);
    const skipped = note?.kind === 'skipped' && (fresh.state === 'blocked' || fresh.state === 'warning');
    const at = new Date(this.#now()).toISOString();
    const item: ChecklistItem = skipped
      ? { ...fresh, state: 'skipped', reason: note.reason ?? '', by: note.by, at: note.at }
      : { ...fresh, by: this.#who, at };
    if (!skipped) delete item.reason;
    this.#items.set(id, item);
    this.#show(item);
    return item;
  }

  async skip(id: string, reason: string): Promise<void> {
    await this.keep(id, { kind: 'skipped', reason });
    const item = this.#items.get(id);
    if (item) await this.set(id, item);
  }

  async keep(id: string, note: Omit<ChecklistNote, 'by' | 'at'>): Promise<void> {
    await this.#write((stored) => {
      stored.notes[id] = { ...note, by: this.#who, at: new Date(this.#now()).toISOString() };
    });
  }

  /** Saves the evidence of all observations, for a report on a later day. */
  async keepSeen(): Promise<void> {
    await this.#write((stored) => {
      for (const { id, title, section, state, summary, evidence, by = this.#who, at = '' } of this.#items.values()) {
        if (state === 'todo' || state === 'running' || (stored.notes[id] && stored.notes[id].kind !== 'seen')) continue;
        stored.notes[id] = { kind: 'seen', by, at, state, title, section, summary, evidence };
      }
    });
  }

  async end(): Promise<void> {
    await this.#write((stored) => {
      stored.endedAt = new Date(this.#now()).toISOString();
    });
  }

  #show({ id, title, state, summary, reason, by }: ChecklistItem): void {
    // An item that was not skipped but does not apply states its own reason.
    const evidence = reason === undefined ? summary : [reason, by].filter(Boolean).join(', ');
    this.#session.show({ kind: 'item', id, title, state, ...(evidence !== '' && { evidence }) });
  }

  /** Two consoles may work on the same checklist: each one updates the file as it is now. */
  async #write(change: (stored: StoredChecklist) => void): Promise<void> {
    if (!this.#kept) {
      change(this.#stored);
      return;
    }
    await withFileLock(this.file, async () => {
      const there = await storedChecklist(this.file);
      const stored = there && there.endedAt === undefined ? there : this.#stored;
      change(stored);
      const text = this.#session.withoutSecrets(JSON.stringify(stored, undefined, 2));
      await writeOwnFile(this.file, `${text}\n`);
      this.#stored = stored;
    });
  }
}

const marks: Record<ItemState, string> = { todo: '[ ]', running: '[ ]', ok: '[x]', warning: '[x]', blocked: '[ ]', skipped: '[-]' };

/** Escapes outside text, so that it cannot become a heading, a link, a table or HTML. */
const safe = (text: string): string => cleanLine(text).replace(/[\\`*_[\]<>#|]/g, '\\$&');

/** A fence in a line of a code block would end the block. */
const verbatim = (text: string): string => cleanLine(text).replaceAll('```', "'''");

function itemLines({ title, state, summary, evidence, advice, reason, by, at }: ChecklistItem): string[] {
  const who = by && at && state !== 'todo' ? ` (${safe(by)}, ${at.slice(0, 16).replace('T', ' ')} UTC)` : '';
  return [
    `- ${marks[state]} **${safe(title)}**: ${state}${summary === '' ? '' : `. ${safe(summary)}`}${who}`,
    ...(reason === undefined ? [] : [`  - Reason for skipping: ${safe(reason)}`]),
    ...(advice === undefined || state === 'ok' ? [] : [`  - ${safe(advice)}`]),
    ...(evidence.length === 0 ? [] : ['', '  ```', ...evidence.map((line) => `  ${verbatim(line)}`), '  ```', '']),
  ];
}

export function checklistReport(checklist: Checklist, { nowMs = Date.now(), outcome = '' } = {}): string {
  const { title, started, facts, items } = checklist;
  const states = Map.groupBy(items, ({ state }) => state);
  const counts = (['ok', 'warning', 'blocked', 'skipped', 'todo'] as const).flatMap((state) => {
    const { length } = states.get(state) ?? [];
    return length > 0 ? [`${length} ${state}`] : [];
  });
  return [
    `# ${safe(title)}`,
    '',
    `Started by ${safe(started.by)} on ${started.at.slice(0, 16).replace('T', ' ')} UTC; as of ${new Date(nowMs).toISOString().slice(0, 16).replace('T', ' ')} UTC.`,
    ...(outcome === '' ? [] : ['', safe(outcome)]),
    '',
    ...Object.entries(facts).map(([name, value]) => `- ${safe(name)}: ${safe(value)}`),
    `- ${counts.join(', ')}`,
    ...[...Map.groupBy(items, ({ section }) => section)].flatMap(([section, inIt]) => [
      '',
      `## ${safe(section)}`,
      '',
      ...inIt.flatMap(itemLines),
    ]),
    '',
  ].join('\n');
}
