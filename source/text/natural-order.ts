/**
 * In the order of a dictionary, with numbers by their value: `node-2` before `node-10`. `localeCompare` with `numeric` does the same, and reads all languages'
 * tables when it is first asked: on the way to the first rows.
 */
export function inNaturalOrder(one: string, other: string): number {
  const [ours, theirs] = [one.match(pieces) ?? [], other.match(pieces) ?? []];
  for (const [at, piece] of ours.entries()) {
    const against = theirs[at];
    if (against === undefined) return 1;
    const apart = isNumber(piece) && isNumber(against) ? Number(piece) - Number(against) : inDictionaryOrder(piece, against);
    if (apart !== 0) return apart;
  }
  return ours.length - theirs.length;
}

const pieces = /\d+|\D+/g;

function isNumber(piece: string): boolean {
  return piece >= '0' && piece < ':';
}

/** Printable ASCII as Unicode orders it, letters of both cases alike. */
const ranks = ` _-,;:!?.'"()[]{}@*/\\&#%\`^+<=>|~$0123456789abcdefghijklmnopqrstuvwxyz`;
const plain = /^[\x20-\x7e]*$/;

/**
 * As `localeCompare` has it in English. That is quick for plain text, but not where the locale is C or POSIX, as it is of services and in containers: there it
 * reads the tables, 13 ms.
 */
function inDictionaryOrder(one: string, other: string): number {
  if (!plain.test(one) || !plain.test(other)) return one.localeCompare(other);
  const [ours, theirs] = [one.toLowerCase(), other.toLowerCase()];
  for (let at = 0; at < ours.length && at < theirs.length; at++) {
    const apart = ranks.indexOf(ours.charAt(at)) - ranks.indexOf(theirs.charAt(at));
    if (apart !== 0) return apart;
  }
  if (ours.length !== theirs.length) return ours.length - theirs.length;
  for (let at = 0; at < one.length; at++) {
    // Where nothing else tells them apart, small letters come first: they have the greater codes.
    const apart = other.charCodeAt(at) - one.charCodeAt(at);
    if (apart !== 0) return apart;
  }
  return 0;
}
