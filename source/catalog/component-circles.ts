import type { CatalogEntry } from './catalog.ts';

/** One cycle for each dependency that closes one, in order: without those dependencies none remains. A chain may have any length. */
export function circlesOf<T>(starts: Iterable<T>, needsOf: (node: T) => readonly T[]): T[][] {
  const circles: T[][] = [];
  const done = new Set<T>();
  for (const start of starts) {
    const chain: { node: T; left: T[] }[] = [];
    const enter = (node: T) => {
      if (done.has(node)) return;
      done.add(node);
      chain.push({ node, left: [...needsOf(node)].reverse() });
      positions.set(node, chain.length - 1);
    };
    const positions = new Map<T, number>();
    enter(start);
    for (let last = chain.at(-1); last !== undefined; last = chain.at(-1)) {
      const next = last.left.pop();
      if (next === undefined) {
        chain.pop();
        positions.delete(last.node);
        continue;
      }
      const position = positions.get(next);
      if (position !== undefined) circles.push(chain.slice(position).map(({ node }) => node));
      else enter(next);
    }
  }
  return circles;
}

/** Cycles through one of these entries, except those that an entry justifies. `id` and `index` are the `dependsOn` that is reported. */
export function dependencyCircles(entries: readonly CatalogEntry[], besides: ReadonlyMap<string, CatalogEntry>) {
  const own = new Map(entries.map((entry) => [entry.id, entry]));
  const entryOf = (id: string) => own.get(id) ?? besides.get(id);
  return circlesOf([...own.keys()].sort(), (id) => entryOf(id)?.dependsOn ?? []).flatMap((circle) => {
    const first = circle.findIndex((id) => own.has(id));
    if (first < 0 || circle.some((id) => Object.hasOwn(entryOf(id)?.justifies ?? {}, 'dependsOn'))) return [];
    const [id = '', next = id, ...more] = [...circle.slice(first), ...circle.slice(0, first)];
    const message =
      more.length === 0 ? `"${id}" and "${next}" depend on each other.` : `Circular dependency: ${[id, next, ...more, id].join(', ')}.`;
    return [{ id, index: own.get(id)?.dependsOn.indexOf(next) ?? 0, message }];
  });
}
