import crypto, { timingSafeEqual } from 'node:crypto';
import { parse } from 'yaml';

export interface User {
  name: string;
  displayName: string;
  email: string;
  groups: readonly string[];
  disabled: boolean;
  digest: string;
}

/** As the product reads its users file. Throws with its words. */
export function readUsers(text: string): Map<string, User> {
  let tree: unknown;
  try {
    tree = parse(text, { logLevel: 'error' });
  } catch (thrown) {
    throw new Error(`could not parse the YAML database: yaml: ${(thrown as Error).message.split('\n', 1)[0] ?? ''}`);
  }
  const written = (tree as { users?: Record<string, Record<string, unknown>> } | undefined)?.users;
  if (!written || Object.keys(written).length === 0) throw new Error('could not validate the schema: Users: non zero value required');
  return new Map(
    Object.entries(written).map(([name, fields]) => {
      const field = (key: string) => String(fields[key] ?? '');
      if (field('password') === '') throw new Error('could not validate the schema: Password: non zero value required');
      if (field('displayname') === '') throw new Error('could not validate the schema: DisplayName: non zero value required');
      if (!/^\$(?:argon2id\$v=19\$m=\d+,t=\d+,p=\d+\$[^$]+\$[^$]+$|[^a])/.test(field('password')))
        throw new Error(
          `error decoding the authentication database: error occurred decoding the password hash for '${name}': provided encoded hash has an invalid format: the digest doesn't begin with the delimiter '$' and is not one of the other understood formats`,
        );
      return [
        name,
        {
          name,
          displayName: field('displayname'),
          email: field('email'),
          groups: Array.isArray(fields['groups']) ? fields['groups'].map(String) : [],
          disabled: fields['disabled'] === true,
          digest: field('password'),
        },
      ];
    }),
  );
}

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
