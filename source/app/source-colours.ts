/** A name keeps its colour across starts where possible. Names shown together differ while there are enough colours. */
export function createSourceColours(count: number): (names: readonly string[]) => ReadonlyMap<string, number> {
  const given = new Map<string, number>();

  function free(name: string, taken: ReadonlySet<number>): number {
    let hash = 0;
    for (const character of name) hash = (hash * 31 + (character.codePointAt(0) ?? 0)) >>> 0;
    const own = hash % count;
    const inOrder = Array.from({ length: count }, (_, step) => (own + step) % count);
    return inOrder.find((colour) => !taken.has(colour)) ?? own;
  }

  return (names) => {
    const colours = new Map<string, number>();
    const taken = new Set<number>();
    const give = (name: string, colour: number) => {
      colours.set(name, colour);
      taken.add(colour);
      given.set(name, colour);
    };
    for (const name of names) {
      const before = given.get(name);
      if (before !== undefined && !taken.has(before)) give(name, before);
    }
    for (const name of names) if (!colours.has(name)) give(name, free(name, taken));
    return colours;
  };
}
