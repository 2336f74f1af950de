import { withFileLock } from '../config/file-lock.ts';
import { readOwnFile, writeOwnFile } from '../config/own-files.ts';
import { Fault } from '../faults/fault.ts';
import { objectOf, parseJson } from '../text/json-value.ts';
import type { Session } from './session.ts';

export type ItemState = 'todo' | 'running' | 'ok' | 'warning' | 'blocked' | 'skipped';

/** One line of a checklist, as it is now. */
export interface ChecklistItem {
  /** Stable: `webhooks`, `node worker-1`. */
  id: string;
  /** Heading it stands under. */
  section: string;
  title: string;
  state: ItemState;
  /** What was seen, in a line. */
  summary: string;
  /** All that was seen, a line each. */
  evidence: readonly string[];
  /** What to do about it. */
  advice?: string;
  /** Of what was skipped: why, and by whom. */
  reason?: string;
  /** Who saw it last, and when (ISO). */
  by?: string;
  at?: string;
}

/** What cannot be seen again: who skipped what and why, what was done by hand, and the evidence of then. */
export interface ChecklistNote {
  kind: 'skipped' | 'done' | 'seen';
  by: string;
  at: string;
  state?: ItemState;
  title?: string;
  section?: string;
  reason?: string;
  summary?: string;
  evidence?: readonly string[];
  /** Whatever the walk needs of it later. */
  data?: Readonly<Record<string, string | number>>;
}

interface StoredChecklist {
  schema: 1;
  title: string;
  begunAt: string;
  begunBy: string;
  endedAt?: string;
  /** Whatever the walk needs: what it leads to. */
  facts: Readonly<Record<string, string>>;
  notes: Record<string, ChecklistNote>;
}

export interface ChecklistOptions {
  file: string;
  title: string;
  facts: Readonly<Record<string, string>>;
  /** `ada@desk` */
  who: string;
  session: Session;
  /** False for who only looks: nothing is written. */
  kept?: boolean;
  now?: () => number;
}

const isText = (value: unknown) => typeof value === 'string';
const isTextIfAny = (value: unknown) => value === undefined || isText(value);

function isStored(value: unknown): value is StoredChecklist {
  const stored = objectOf(value);
  const [facts, notes] = [objectOf(stored?.['facts']), objectOf(stored?.['notes'])];
  return (
    stored?.['schema'] === 1 &&
    ['title', 'begunAt', 'begunBy'].every((name) => isText(stored[name])) &&
    isTextIfAny(stored['endedAt']) &&
    facts !== undefined &&
    Object.values(facts).every(isText) &&
    notes !== undefined &&
    Object.values(notes).every(isNote)
  );
}

function isNote(value: unknown): boolean {
  const note = objectOf(value);
  const { evidence, data } = note ?? {};
  return (
    note !== undefined &&
    ['kind', 'by', 'at'].every((name) => isText(note[name])) &&
    ['state', 'title', 'section', 'reason', 'summary'].every((name) => isTextIfAny(note[name])) &&
    (evidence === undefined || (Array.isArray(evidence) && evidence.every(isText))) &&
    (data === undefined || objectOf(data) !== undefined)
  );
}

/** What is stored under this name; undefined where there is nothing, or nothing that can be read as a checklist. */
export async function storedChecklist(file: string): Promise<StoredChecklist | undefined> {
  const text = await readOwnFile(file);
  if (text === undefined) return undefined;
  try {
    const parsed: unknown = parseJson(text);
    if (isStored(parsed)) return parsed;
  } catch {
    // Said below.
  }
  throw new Fault({
    code: 'config.checklist',
    message: `${file} is no checklist that this release can read.`,
    remedy: 'Move it away: what can be observed is observed anew, and only notes of people are lost.',
    where: { file },
  });
}

/**
 * A checklist that several people work through on several days. What can be observed is observed anew each time; what cannot (why something was skipped, by whom,
 * the evidence of what was done) is kept in a file after each change, so that somebody else goes on with it. In a rehearsal nothing is written.
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
    this.#kept = kept && !session.rehearsing;
    this.#now = now;
    this.#stored = stored;
  }

  static async open(options: ChecklistOptions): Promise<Checklist> {
    const { file, title, facts, who, now = Date.now } = options;
    const stored = await storedChecklist(file);
    // One that came to its end is history.
    const open = stored?.endedAt === undefined ? stored : undefined;
    return new Checklist(options, open ?? { schema: 1, title, begunAt: new Date(now()).toISOString(), begunBy: who, facts, notes: {} });
  }

  get items(): readonly ChecklistItem[] {
    return [...this.#items.values()];
  }
  get begun(): { by: string; at: string } {
    return { by: this.#stored.begunBy, at: this.#stored.begunAt };
  }
  get facts(): Readonly<Record<string, string>> {
    return this.#stored.facts;
  }

  item(id: string): ChecklistItem | undefined {
    return this.#items.get(id);
  }
  note(id: string): ChecklistNote | undefined {
    return this.#stored.notes[id];
  }

  /** Those that keep the walk from going on. */
  get blocked(): readonly ChecklistItem[] {
    return this.items.filter(({ state }) => state === 'blocked');
  }

  /** Says how an item is, and shows it. What a person skipped stays skipped while it would block or warn. */
  async set(id: string, change: Partial<ChecklistItem> & Pick<ChecklistItem, 'state'>): Promise<ChecklistItem> {
    const before = this.#items.get(id);
    const plain = this.#session.withoutSecrets;
    const whole: ChecklistItem = { id, section: '', title: id, summary: '', evidence: [], ...before, ...change };
    const fresh = { ...whole, summary: plain(whole.summary), evidence: whole.evidence.map(plain) };
    // What was advised before is about what was seen before.
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

  /** Skips what blocks, for a reason that is kept. */
  async skip(id: string, reason: string): Promise<void> {
    await this.keep(id, { kind: 'skipped', reason });
    const item = this.#items.get(id);
    if (item) await this.set(id, item);
  }

  /** Keeps what cannot be observed again. */
  async keep(id: string, note: Omit<ChecklistNote, 'by' | 'at'>): Promise<void> {
    await this.#write((stored) => {
      stored.notes[id] = { ...note, by: this.#who, at: new Date(this.#now()).toISOString() };
    });
  }

  /** Keeps the evidence of all that was seen, for the report of a later day. */
  async keepSeen(): Promise<void> {
    await this.#write((stored) => {
      for (const { id, title, section, state, summary, evidence, by = this.#who, at = '' } of this.#items.values()) {
        if (state === 'todo' || state === 'running' || (stored.notes[id] && stored.notes[id].kind !== 'seen')) continue;
        stored.notes[id] = { kind: 'seen', by, at, state, title, section, summary, evidence };
      }
    });
  }

  /** Everything is done: whoever begins again begins anew. */
  async end(): Promise<void> {
    await this.#write((stored) => {
      stored.endedAt = new Date(this.#now()).toISOString();
    });
  }

  #show({ id, title, state, summary, reason, by }: ChecklistItem): void {
    // What nobody skipped, but does not apply, says why itself.
    const evidence = reason === undefined ? summary : [reason, by].filter(Boolean).join(', ');
    this.#session.show({ kind: 'item', id, title, state, ...(evidence !== '' && { evidence }) });
  }

  /** Two consoles may work through the same one: each writes into what is there now. */
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
