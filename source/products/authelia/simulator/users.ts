import { parse } from 'yaml';

export type User = ReturnType<typeof userOf>;

/** Reads a users file as the product does. Throws with its words. */
export function readUsers(text: string): Map<string, User> {
  let tree: unknown;
  try {
    tree = parse(text, { logLevel: 'error' });
  } catch (thrown) {
    throw new Error(`could not parse the YAML database: yaml: ${(thrown as Error).message.split('\n', 1)[0] ?? ''}`);
  }
  const written = (tree as { users?: Record<string, Record<string, unknown>> } | undefined)?.users;
  if (!written || Object.keys(written).length === 0) throw new Error('could not validate the schema: Users: non zero value required');
  return new Map(Object.entries(written).map(([name, fields]) => [name, userOf(name, fields)]));
}

function userOf(name: string, fields: Record<string, unknown>) {
  const field = (key: string) => String(fields[key] ?? '');
  if (field('password') === '') throw new Error('could not validate the schema: Password: non zero value required');
  if (field('displayname') === '') throw new Error('could not validate the schema: DisplayName: non zero value required');
  if (!/^\$(?:argon2id\$v=19\$m=\d+,t=\d+,p=\d+\$[^$]+\$[^$]+$|[^a])/.test(field('password')))
    throw new Error(
      `error decoding the authentication database: error occurred decoding the password hash for '${name}': provided encoded hash has an invalid format: the digest doesn't begin with the delimiter '$' and is not one of the other understood formats`,
    );
  return {
    name,
    displayName: field('displayname'),
    email: field('email'),
    groups: Array.isArray(fields['groups']) ? fields['groups'].map(String) : [],
    disabled: fields['disabled'] === true,
    digest: field('password'),
  };
}
