import type { CatalogEntry } from './catalog.ts';

/**
 * Where a way through the dependencies comes back to itself, from these starts: one circle for each dependency that closes one, in its order. Without those there is
 * none left. A chain may be of any length.
 */
export function circlesOf<T>(starts: Iterable<T>, needsOf: (one: T) => readonly T[]): T[][] {
  const circles: T[][] = [];
  const done = new Set<T>();
  for (const start of starts) {
    const way: { one: T; left: T[] }[] = [];
    const places = new Map<T, number>();
    const enter = (one: T) => {
      if (done.has(one)) return;
      done.add(one);
      places.set(one, way.length);
      way.push({ one, left: [...needsOf(one)].reverse() });
    };
    enter(start);
    for (let last = way.at(-1); last !== undefined; last = way.at(-1)) {
      const next = last.left.pop();
      if (next === undefined) {
        way.pop();
        places.delete(last.one);
        continue;
      }
      const place = places.get(next);
      if (place !== undefined) circles.push(way.slice(place).map(({ one }) => one));
      else enter(next);
    }
  }
  return circles;
}

export interface DependencyCircle {
  /** Whose `dependsOn` it is told at, and where in it. */
  id: string;
  index: number;
  message: string;
}

/** Circles of `dependsOn` through one of these entries, but for those of which an entry says why. `besides` are those that others have written. */
export function dependencyCircles(entries: readonly CatalogEntry[], besides: ReadonlyMap<string, CatalogEntry>): DependencyCircle[] {
  const own = new Map(entries.map((entry) => [entry.id, entry]));
  const entryOf = (id: string) => own.get(id) ?? besides.get(id);
  return circlesOf([...own.keys()].sort(), (id) => entryOf(id)?.dependsOn ?? []).flatMap((circle) => {
    const first = circle.findIndex((id) => own.has(id));
    if (first < 0 || circle.some((id) => Object.hasOwn(entryOf(id)?.justifies ?? {}, 'dependsOn'))) return [];
    const [id = '', next = id, ...more] = [...circle.slice(first), ...circle.slice(0, first)];
    const message =
      more.length === 0
        ? `"${id}" and "${next}" depend on each other.`
        : `Components depend on each other in a circle: ${[id, next, ...more, id].join(', ')}.`;
    return [{ id, index: own.get(id)?.dependsOn.indexOf(next) ?? 0, message }];
  });
}
