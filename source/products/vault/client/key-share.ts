import type { SealStatus } from './secrets-manager.ts';

/** A share has one byte more than the 32 of the key (reference/openbao-vault.md, "Shares"). */
const shareBytes = 33;
const keyBytes = 32;
const sealedBytes = 100;

/** Returns the number of the share: its last byte, 1 to 255; undefined for the only share, and for a text that is not a share. */
export function shareNumber(text: string): number | undefined {
  const bytes = decoded(text);
  return bytes?.length === shareBytes ? bytes.at(-1) : undefined;
}

type Counts = Pick<SealStatus, 'threshold' | 'shares'>;

export function shareProblem(text: string, { threshold, shares }: Counts, given: ReadonlySet<number | undefined>): string | undefined {
  const share = text.trim();
  if (share === '') return 'Type a key share, or cancel.';
  if (/^-----BEGIN PGP/.test(share)) return sealedForHolder;
  const bytes = decoded(share);
  if (!bytes) return 'This is neither hex nor base64. Copy the whole share again.';
  if (bytes.length > sealedBytes) return sealedForHolder;
  const isAlone = threshold === 1 && shares === 1;
  const wanted = isAlone ? keyBytes : shareBytes;
  if (bytes.length !== wanted) {
    const hex = wanted * 2;
    const letters = Math.ceil(wanted / 3) * 4;
    return `The share is ${bytes.length < wanted ? 'too short' : 'too long'}: it must have ${hex} characters in hex, or ${letters} in base64.`;
  }
  const number = bytes.at(-1) ?? 0;
  if (!isAlone && given.has(number)) return 'This share was already entered. Each share counts only once.';
  return undefined;
}

const sealedForHolder = 'This share is encrypted with PGP for its holder. Decrypt it first (base64 -d | gpg -d), and type the result.';

/** Decodes a share as the server does: hex first, then base64 with its padding. */
function decoded(text: string): Buffer | undefined {
  if (/^(?:[0-9a-f]{2})+$/i.test(text)) {
    const bytes = Buffer.from(text, 'hex');
    // Digits and letters alone can also be base64, and only one of the two has the length of a share.
    if (bytes.length >= 16 && bytes.length <= shareBytes) return bytes;
  }
  if (/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text)) return Buffer.from(text, 'base64');
  // A share that is encrypted with PGP is also in hex.
  return /^(?:[0-9a-f]{2})+$/i.test(text) ? Buffer.from(text, 'hex') : undefined;
}
