import { compileExpression, isProblem } from '../catalog/expressions.ts';
import { fieldText, type YamlPath } from '../config/yaml-document.ts';
import { celValue, runGuarded } from './conditions.ts';

/** What is not known of a file: a value that is missing, wrong or filled in later, or what else stands in a map or a list. */
export interface Doubt {
  path: YamlPath;
  about: 'value' | 'rest';
}

/** A file of a megabyte has fewer values than this. */
const nodeLimit = 200_000;
const depthLimit = 40;
/** For a file that somebody waits for: a busy machine must not make a mistake go unseen. */
const limitMs = 2000;
/** Of all conditions of a file together. */
const allLimitMs = 10_000;

/**
 * The conditions of one configuration file. What is in doubt is asked in vain: a condition that needs it does not hold, as one that asks for what is not there. So one
 * mistake is not told twice.
 */
export class FileConditions {
  readonly #config: unknown;
  readonly #doubts: ReadonlyMap<string, ReadonlySet<Doubt['about']>>;
  /** By the map that they would stand in. */
  readonly #missing = new Map<string, PropertyKey[]>();
  readonly #whole: unknown;
  readonly #started = Date.now();

  constructor(config: unknown, doubts: readonly Doubt[] = []) {
    this.#config = config;
    const known = new Map<string, Set<Doubt['about']>>();
    for (const { path, about } of doubts) {
      const place = placeKey(path);
      known.set(place, (known.get(place) ?? new Set()).add(about));
      const last = path.at(-1);
      if (about !== 'value' || last === undefined) continue;
      const around = placeKey(path.slice(0, -1));
      this.#missing.set(around, [...(this.#missing.get(around) ?? []), last]);
    }
    this.#doubts = known;
    this.#whole = this.#seen(config, []);
  }

  /**
   * Where it holds: `at`, with each `*` in it replaced by an entry of that list or map. There the condition sees the entry at the last star as `one`, and its name or
   * number as `key`. Never throws.
   */
  holding(when: string, at: YamlPath): YamlPath[] {
    const lastStar = at.lastIndexOf('*');
    const expression = compileExpression(when, lastStar < 0 ? 'config' : 'entry');
    if (isProblem(expression) || this.#isInDoubt([], 'value')) return [];
    const holds = (entry: Record<string, unknown>) => {
      if (Date.now() - this.#started > allLimitMs) return false;
      try {
        return runGuarded(expression, { config: this.#whole, ...entry }, limitMs) === true;
      } catch {
        return false;
      }
    };
    if (lastStar < 0) return holds({}) ? [at] : [];
    return this.#entries(at.slice(0, lastStar + 1)).flatMap(({ path, value }) => {
      const key = path.at(-1);
      return holds({ key: typeof key === 'number' ? BigInt(key) : key, one: this.#seen(value, path) })
        ? [[...path, ...at.slice(lastStar + 1)]]
        : [];
    });
  }

  #entries(pattern: YamlPath): { path: YamlPath; value: unknown }[] {
    let here: { path: YamlPath; value: unknown }[] = [{ path: [], value: this.#config }];
    for (const step of pattern)
      here = here.flatMap(({ path, value }) => {
        if (typeof value !== 'object' || value === null) return [];
        const inside: [PropertyKey, unknown][] = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
        return inside
          .filter(([key]) => step === '*' || key === step)
          .map(([key, member]) => ({ path: [...path, key], value: member }))
          .filter((one) => !this.#isInDoubt(one.path, 'value'));
      });
    return here;
  }

  #isInDoubt(path: YamlPath, about: Doubt['about']): boolean {
    return this.#doubts.get(placeKey(path))?.has(about) === true;
  }

  /** Puts a value into what conditions see, or what throws when it is looked at. */
  #lay(into: object, name: PropertyKey, value: unknown, path: YamlPath): void {
    if (this.#isInDoubt(path, 'value') || (Array.isArray(value) && this.#isInDoubt(path, 'rest'))) unknownAt(into, name, true);
    else Object.defineProperty(into, name, { enumerable: true, value: this.#seen(value, path) });
  }

  #seen(value: unknown, path: YamlPath): unknown {
    if (typeof value !== 'object' || value === null || this.#doubts.size === 0) return celValue(value, { left: nodeLimit }, 0);
    if (path.length > depthLimit) return null;
    if (Array.isArray(value)) {
      const list: unknown[] = [];
      for (const [index, item] of value.entries()) this.#lay(list, index, item, [...path, index]);
      return list;
    }
    const map: object = Object.create(null);
    // What is in doubt comes last: the library looks at the first entry to tell what kind of map it is.
    const members = Object.entries(value).map(([key, member]) => ({ key, member, place: [...path, key] }));
    const doubted = members.filter(({ place }) => this.#isInDoubt(place, 'value'));
    for (const { key, member, place } of [...members.filter((one) => !doubted.includes(one)), ...doubted])
      this.#lay(map, key, member, place);
    for (const key of this.#missing.get(placeKey(path)) ?? []) if (!Object.hasOwn(map, key)) unknownAt(map, key, false);
    return this.#isInDoubt(path, 'rest') ? openMap(map) : map;
  }
}

const placeKey = (path: YamlPath) => fieldText(path.map((step) => (typeof step === 'number' ? step : JSON.stringify(step))));

function unknownAt(into: object, name: PropertyKey, enumerable: boolean): void {
  Object.defineProperty(into, name, { enumerable, get: refuse });
}

/** What is not in it may be there all the same. */
function openMap(map: object): object {
  // `constructor` is asked for by the library, to tell kinds of values apart.
  const isKnown = (name: PropertyKey) => typeof name === 'symbol' || name === 'constructor' || Object.hasOwn(map, name);
  return new Proxy(map, {
    get: (target, name) => (isKnown(name) ? (Reflect.get(target, name) as unknown) : refuse()),
    getOwnPropertyDescriptor: (target, name) => (isKnown(name) ? Reflect.getOwnPropertyDescriptor(target, name) : refuse()),
  });
}

function refuse(): never {
  throw new Error('it is not known');
}
