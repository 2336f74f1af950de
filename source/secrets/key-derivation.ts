import crypto from 'node:crypto';

export interface KeyCost {
  memoryKiB: number;
  passes: number;
  parallelism: number;
}

/** The parameters of RFC 9106, section 4, for systems where 2 GiB are too much. */
export const usualCost: KeyCost = { memoryKiB: 64 * 1024, passes: 3, parallelism: 4 };

/** A file states its own cost; a file of unknown origin must not use all memory or block for hours. */
export function isBearable({ memoryKiB, passes, parallelism }: KeyCost): boolean {
  const within = (value: number, least: number, most: number) => Number.isInteger(value) && value >= least && value <= most;
  return within(memoryKiB, 1024, 1024 * 1024) && within(passes, 1, 16) && within(parallelism, 1, 16) && memoryKiB >= 8 * parallelism;
}

export function deriveKey(phrase: string, salt: Uint8Array, cost: KeyCost, native: typeof crypto.argon2 | null = crypto.argon2 ?? null) {
  // The same letters from another keyboard may be composed differently.
  return argon2id(Buffer.from(phrase.normalize('NFC')), salt, { ...cost, keyBytes: 32 }, native);
}

/** Node includes argon2 from 24.7 on; older versions use a slower implementation in JavaScript. */
export async function argon2id(
  message: Uint8Array,
  salt: Uint8Array,
  { memoryKiB, passes, parallelism, keyBytes }: KeyCost & { keyBytes: number },
  native: typeof crypto.argon2 | null = crypto.argon2 ?? null,
): Promise<Buffer> {
  if (native) {
    return await new Promise((resolve, reject) => {
      native('argon2id', { message, nonce: salt, parallelism, tagLength: keyBytes, memory: memoryKiB, passes }, (error, key) =>
        error ? reject(error) : resolve(key),
      );
    });
  }
  const { argon2idAsync } = await import('@noble/hashes/argon2.js');
  return Buffer.from(await argon2idAsync(message, salt, { t: passes, m: memoryKiB, p: parallelism, dkLen: keyBytes }));
}
