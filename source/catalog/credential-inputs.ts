import { placeholdersIn } from './placeholders.ts';
import type { ComponentCall } from './schema.ts';

const accountInputs: ReadonlySet<string> = new Set(['user', 'username', 'email']);

/** The inputs with which a call logs in: secrets, and the account beside them. */
export function credentialInputs({ inputs, http }: Pick<ComponentCall, 'inputs' | 'http'>): string[] {
  const user = http?.basic ? placeholdersIn(http.basic.user) : [];
  const names = Object.keys(inputs);
  if (!names.some((name) => inputs[name]?.secret)) return [];
  return names.filter((name) => inputs[name]?.secret || user.includes(name) || accountInputs.has(name));
}
