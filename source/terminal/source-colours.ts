/**
 * Gives names colours, by number: the same one for a name whenever that can be, also in the next start, and no two names that stand beside each other the same
 * as long as there are enough.
 */
export class SourceColours {
  readonly #count: number;
  readonly #given = new Map<string, number>();

  constructor(count: number) {
    this.#count = count;
  }

  /** Of all names that are seen together. What has its colour keeps it when others come. */
  of(names: readonly string[]): ReadonlyMap<string, number> {
    const colours = new Map<string, number>();
    const taken = new Set<number>();
    const give = (name: string, colour: number) => {
      colours.set(name, colour);
      taken.add(colour);
      this.#given.set(name, colour);
    };
    for (const name of names) {
      const before = this.#given.get(name);
      if (before !== undefined && !taken.has(before)) give(name, before);
    }
    for (const name of names) if (!colours.has(name)) give(name, this.#free(name, taken));
    return colours;
  }

  /** A name begins to look for a free one at a place of its own. */
  #free(name: string, taken: ReadonlySet<number>): number {
    let hash = 0;
    for (const character of name) hash = (hash * 31 + (character.codePointAt(0) ?? 0)) >>> 0;
    const own = hash % this.#count;
    for (let step = 0; step < this.#count; step++) {
      const colour = (own + step) % this.#count;
      if (!taken.has(colour)) return colour;
    }
    return own;
  }
}
