import type { CatalogEntry } from '../../catalog/catalog.ts';
import { placeholdersIn } from '../../catalog/placeholders.ts';
import type { ComponentCall } from '../../catalog/schema.ts';

const accountInputs: ReadonlySet<string> = new Set(['user', 'username', 'email']);

/** The inputs with which a call logs in: secrets, and the account beside them. */
export function credentialInputs({ inputs, http }: Pick<ComponentCall, 'inputs' | 'http'>): string[] {
  const user = http?.basic ? placeholdersIn(http.basic.user) : [];
  const names = Object.keys(inputs);
  if (!names.some((name) => inputs[name]?.secret)) return [];
  return names.filter((name) => inputs[name]?.secret || user.includes(name) || accountInputs.has(name));
}

/** Without the calls that log in: their responses are credentials, and `login` is the command for them. */
export function listedOperations({ operations, calls }: CatalogEntry): CatalogEntry['operations'] {
  return operations.filter(({ call }) => !calls[call]?.gives);
}

/** The user of a read-only session may be someone else: no program is run for them, and no stored credential is used. */
export function readOnlyProblem(call: ComponentCall): string | undefined {
  if (!call.reads) return 'Read-only: operations that change something are not run.';
  if (call.exec) return 'Read-only: programs in containers are not run.';
  return credentialInputs(call).length > 0 ? 'Read-only: operations that require a login are not run.' : undefined;
}
