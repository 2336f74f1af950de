import { combine, split } from 'shamir-secret-sharing';
import { Refusal } from './answers.ts';

/** A share has one byte more than the key: its x-coordinate, at the end. */
const shortestBytes = 16;
const longestBytes = 33;

/** Splits a key; one share alone is the key itself, without a coordinate. */
export async function splitKey(key: Buffer, shares: number, threshold: number): Promise<Buffer[]> {
  if (shares === 1) return [Buffer.from(key)];
  const parts = await split(new Uint8Array(key), shares, threshold);
  return parts.map((part) => Buffer.from(part));
}

/** Combines shares. Only decrypting with the result shows whether it is the key. */
export async function combineShares(shares: readonly Buffer[]): Promise<Buffer> {
  const [first] = shares;
  if (shares.length === 1 && first) return Buffer.from(first);
  if (shares.some((share) => share.length !== first?.length)) throw notCombined('all parts must be the same length');
  if (new Set(shares.map((share) => share.at(-1))).size < shares.length) throw notCombined('duplicate part detected');
  return Buffer.from(await combine(shares.map((share) => new Uint8Array(share))));
}

function notCombined(reason: string): Refusal {
  return new Refusal(400, `invalid key: failed to compute combined key: ${reason}`);
}

/** Decodes hex if the result has the length of a share, otherwise base64 with its padding. */
export function decodeShare(text: string): Buffer {
  if (/^(?:[0-9a-f]{2})+$/i.test(text)) {
    const bytes = Buffer.from(text, 'hex');
    if (bytes.length >= shortestBytes && bytes.length <= longestBytes) return bytes;
  }
  if (text.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(text)) return Buffer.from(text, 'base64');
  throw new Refusal(400, "'key' must be a valid hex or base64 string");
}

export function checkLength(share: Buffer): void {
  if (share.length < shortestBytes) throw new Refusal(400, `invalid key: key is shorter than minimum ${shortestBytes} bytes`);
  if (share.length > longestBytes) throw new Refusal(400, `invalid key: key is longer than maximum ${longestBytes} bytes`);
}
