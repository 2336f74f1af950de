import crypto, { timingSafeEqual } from 'node:crypto';

/** Argon2id alone: the practice's own hashes, and those that its console makes. */
export async function isPassword(digest: string, password: string): Promise<boolean> {
  const found = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([^$]+)\$([^$]+)$/.exec(digest);
  if (!found) return false;
  const [, m, t, p, salt = '', key = ''] = found;
  const wanted = Buffer.from(key, 'base64');
  const nonce = Buffer.from(salt, 'base64');
  const message = Buffer.from(password);
  if (nonce.length < 8 || wanted.length < 4) return false;
  const [memory, passes, parallelism] = [Number(m), Number(t), Number(p)];
  if (!crypto.argon2) {
    const { argon2idAsync } = await import('@noble/hashes/argon2.js');
    return timingSafeEqual(await argon2idAsync(message, nonce, { m: memory, t: passes, p: parallelism, dkLen: wanted.length }), wanted);
  }
  return new Promise((resolve, reject) => {
    crypto.argon2('argon2id', { message, nonce, memory, passes, parallelism, tagLength: wanted.length }, (error, made) =>
      error ? reject(error) : resolve(timingSafeEqual(made, wanted)),
    );
  });
}
