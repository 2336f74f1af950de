import { compileExpression, isProblem } from '../catalog/expressions.ts';
import { unlessThrown } from '../text/unless-thrown.ts';
import { fieldText, type YamlPath } from '../yaml/document.ts';
import { celValue, processorMs, runGuarded } from './conditions.ts';

/** An unknown part of a file: the path of a value that is missing, wrong or filled in later. */
export type Doubt = YamlPath;

const nodeLimit = 200_000;
const depthLimit = 40;
/** CPU time of one condition: an operator waits for the result, so it may be longer than a probe's. */
const limitMs = 2000;
const allLimitMs = 10_000;

/** A condition that uses an unknown or missing value is not true, so that no mistake is reported twice. */
export class FileConditions {
  readonly #config: unknown;
  readonly #doubts: ReadonlySet<string>;
  /** By the map that would contain them. */
  readonly #missing: ReadonlyMap<string, Doubt[]>;
  readonly #whole: unknown;
  readonly #startedMs = processorMs();

  constructor(config: unknown, doubts: readonly Doubt[] = []) {
    this.#config = config;
    this.#doubts = new Set(doubts.map(positionKey));
    this.#missing = Map.groupBy(doubts, (path) => positionKey(path.slice(0, -1)));
    this.#whole = this.#seen(config, []);
  }

  /** Returns `at` with each `*` replaced by an entry for which it is true: `one` in the condition, with its name or index as `key`. */
  holding(when: string, at: YamlPath): YamlPath[] {
    const lastStar = at.lastIndexOf('*');
    const expression = compileExpression(when, lastStar < 0 ? 'config' : 'entry');
    if (isProblem(expression) || this.#isInDoubt([])) return [];
    const holds = (entry: Record<string, unknown>) => {
      if (processorMs() - this.#startedMs > allLimitMs) return false;
      return unlessThrown(() => runGuarded(expression, { config: this.#whole, ...entry }, limitMs) === true, false);
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
          .filter((one) => !this.#isInDoubt(one.path));
      });
    return here;
  }

  #isInDoubt(path: YamlPath): boolean {
    return this.#doubts.has(positionKey(path));
  }

  /** Doubted values throw when they are read. */
  #lay(into: object, name: PropertyKey, value: unknown, path: YamlPath): void {
    if (this.#isInDoubt(path)) unknownAt(into, name, true);
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
    // Unknown values come last: the library checks the first entry to determine the kind of map.
    const isDoubted = ([key]: [string, unknown]) => this.#isInDoubt([...path, key]);
    const members = Object.entries(value);
    for (const [key, member] of [...members.filter((one) => !isDoubted(one)), ...members.filter(isDoubted)])
      this.#lay(map, key, member, [...path, key]);
    const missing = this.#missing.get(positionKey(path)) ?? [];
    for (const key of missing.flatMap((doubt) => doubt.slice(-1))) if (!Object.hasOwn(map, key)) unknownAt(map, key, false);
    return map;
  }
}

const positionKey = (path: YamlPath) => fieldText(path.map((step) => (typeof step === 'number' ? step : JSON.stringify(step))));

function unknownAt(into: object, name: PropertyKey, enumerable: boolean): void {
  Object.defineProperty(into, name, {
    enumerable,
    get: () => {
      throw new Error('the value is not known');
    },
  });
}
