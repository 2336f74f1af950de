import type { SealStatus } from './secrets-manager.ts';

/** A share has a byte of its own beside the 32 of the key (reference/openbao-vault.md, "Shares"). */
const shareBytes = 33;
const keyBytes = 32;
/** What is longer was sealed with PGP for its holder. */
const sealedBytes = 100;

/** Which share of the key it is: the last byte, 1 to 255. Undefined where there is one alone, and where it is none. */
export function shareNumber(text: string): number | undefined {
  const bytes = decoded(text);
  return bytes?.length === shareBytes ? bytes.at(-1) : undefined;
}

/** What can be said of a share before it is sent, without learning anything: undefined where it may be one. `given` are the numbers of those of this attempt. */
export function shareProblem(
  text: string,
  { threshold, shares }: Pick<SealStatus, 'threshold' | 'shares'>,
  given: ReadonlySet<number>,
): string | undefined {
  const share = text.trim();
  if (share === '') return 'Type a key share, or leave with Esc.';
  if (/^-----BEGIN PGP/.test(share)) return sealedForHolder;
  const bytes = decoded(share);
  if (!bytes) return 'That is neither hex nor base64: copy the whole share again.';
  if (bytes.length > sealedBytes) return sealedForHolder;
  const isAlone = threshold === 1 && shares === 1;
  const wanted = isAlone ? keyBytes : shareBytes;
  if (bytes.length !== wanted) {
    const hex = wanted * 2;
    const letters = Math.ceil(wanted / 3) * 4;
    return `That is ${bytes.length < wanted ? 'too short' : 'too long'}: a share has ${hex} characters in hex, ${letters} in base64.`;
  }
  const number = bytes.at(-1) ?? 0;
  if (!isAlone && given.has(number)) return 'That share was given already: each one counts once.';
  return undefined;
}

const sealedForHolder = 'That is sealed with PGP for its holder. Open it first: base64 -d | gpg -d, and type what that prints.';

/** As the server takes it: hex first, then base64 with its padding. */
function decoded(text: string): Buffer | undefined {
  if (/^(?:[0-9a-f]{2})+$/i.test(text)) {
    const bytes = Buffer.from(text, 'hex');
    // Digits and letters alone can be base64 as well, and only one of both has the length of a share.
    if (bytes.length >= 16 && bytes.length <= shareBytes) return bytes;
  }
  if (/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text)) return Buffer.from(text, 'base64');
  // What is sealed with PGP is written in hex too.
  return /^(?:[0-9a-f]{2})+$/i.test(text) ? Buffer.from(text, 'hex') : undefined;
}
