/** `node-2` before `node-10`. `localeCompare` does the same, but loads the tables of all languages: that would delay the first rows. */
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

/** Printable ASCII in Unicode order, case-insensitive. */
const ranks = ` _-,;:!?.'"()[]{}@*/\\&#%\`^+<=>|~$0123456789abcdefghijklmnopqrstuvwxyz`;
const plain = /^[\x20-\x7e]*$/;

/** The order of `localeCompare` in English, which loads tables (13 ms) if the locale is C or POSIX, as in services and containers. */
function inDictionaryOrder(one: string, other: string): number {
  if (!plain.test(one) || !plain.test(other)) return one.localeCompare(other);
  const [ours, theirs] = [one.toLowerCase(), other.toLowerCase()];
  for (let at = 0; at < ours.length && at < theirs.length; at++) {
    const apart = ranks.indexOf(ours.charAt(at)) - ranks.indexOf(theirs.charAt(at));
    if (apart !== 0) return apart;
  }
  if (ours.length !== theirs.length) return ours.length - theirs.length;
  for (let at = 0; at < one.length; at++) {
    // Otherwise equal, lower case comes first: it has the greater codes.
    const apart = other.charCodeAt(at) - one.charCodeAt(at);
    if (apart !== 0) return apart;
  }
  return 0;
}
