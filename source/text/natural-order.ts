/**
 * In the order of a dictionary, with numbers by their value: `node-2` before `node-10`. `localeCompare` with `numeric` does the same, and reads all languages'
 * tables when it is first asked: on the way to the first rows.
 */
export function inNaturalOrder(one: string, other: string): number {
  const [ours, theirs] = [one.match(pieces) ?? [], other.match(pieces) ?? []];
  for (const [at, piece] of ours.entries()) {
    const against = theirs[at];
    if (against === undefined) return 1;
    const apart = isNumber(piece) && isNumber(against) ? Number(piece) - Number(against) : piece.localeCompare(against);
    if (apart !== 0) return apart;
  }
  return ours.length - theirs.length;
}

const pieces = /\d+|\D+/g;

function isNumber(piece: string): boolean {
  return piece >= '0' && piece < ':';
}
