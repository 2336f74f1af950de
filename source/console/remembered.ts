/** Returns a function that caches its last result for each object, as long as the other arguments are the same. */
export function rememberedFor<K extends object, A extends readonly unknown[], R>(compute: (key: K, ...rest: A) => R) {
  const kept = new WeakMap<K, { rest: A; result: R }>();
  return (key: K, ...rest: A): R => {
    const known = kept.get(key);
    if (known?.rest.length === rest.length && known.rest.every((value, at) => Object.is(value, rest[at]))) return known.result;
    const result = compute(key, ...rest);
    kept.set(key, { rest, result });
    return result;
  };
}
