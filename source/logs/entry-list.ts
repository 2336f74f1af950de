/** The read operations of a list of entries. An array is one; a longer list creates its entries on access. */
export interface Entries<Entry> extends Iterable<Entry> {
  readonly length: number;
  /** Negative positions count from the end, as in an array. */
  at(position: number): Entry | undefined;
  slice(from?: number, end?: number): Entry[];
  find(is: (entry: Entry) => boolean): Entry | undefined;
  findLast(is: (entry: Entry) => boolean): Entry | undefined;
  findIndex(is: (entry: Entry, position: number) => boolean): number;
  some(is: (entry: Entry) => boolean): boolean;
  filter(is: (entry: Entry) => boolean): Entry[];
  map<Other>(from: (entry: Entry, position: number) => Other): Other[];
}

/** Unlike `at`, undefined for negative positions. */
export function entryAt<Entry>(entries: Entries<Entry>, position: number): Entry | undefined {
  return position < 0 ? undefined : entries.at(position);
}

export abstract class EntryList<Entry> implements Entries<Entry> {
  abstract readonly length: number;

  protected abstract entry(position: number): Entry;

  at(position: number): Entry | undefined {
    const at = position < 0 ? this.length + position : position;
    return at >= 0 && at < this.length ? this.entry(at) : undefined;
  }

  slice(from = 0, end = this.length): Entry[] {
    const last = end < 0 ? this.length + end : Math.min(end, this.length);
    const entries: Entry[] = [];
    for (let at = from < 0 ? Math.max(0, this.length + from) : from; at < last; at++) entries.push(this.entry(at));
    return entries;
  }

  find(is: (entry: Entry) => boolean): Entry | undefined {
    return entryAt(this, this.findIndex(is));
  }

  findLast(is: (entry: Entry) => boolean): Entry | undefined {
    for (let at = this.length - 1; at >= 0; at--) {
      const entry = this.entry(at);
      if (is(entry)) return entry;
    }
    return undefined;
  }

  findIndex(is: (entry: Entry, position: number) => boolean): number {
    for (let at = 0; at < this.length; at++) if (is(this.entry(at), at)) return at;
    return -1;
  }

  some(is: (entry: Entry) => boolean): boolean {
    return this.findIndex(is) >= 0;
  }

  filter(is: (entry: Entry) => boolean): Entry[] {
    const entries: Entry[] = [];
    for (const entry of this) if (is(entry)) entries.push(entry);
    return entries;
  }

  map<Other>(from: (entry: Entry, position: number) => Other): Other[] {
    return Array.from(this, from);
  }

  *[Symbol.iterator](): Generator<Entry, void, void> {
    for (let at = 0; at < this.length; at++) yield this.entry(at);
  }
}

export class JoinedEntries<Entry> extends EntryList<Entry> {
  readonly length: number;

  constructor(
    private readonly first: Entries<Entry>,
    private readonly second: Entries<Entry>,
  ) {
    super();
    this.length = first.length + second.length;
  }

  protected entry(position: number): Entry {
    const { length } = this.first;
    return (position < length ? this.first.at(position) : this.second.at(position - length)) as Entry;
  }
}
