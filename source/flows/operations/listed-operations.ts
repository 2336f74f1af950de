import type { CatalogEntry } from '../../catalog/catalog.ts';
import { credentialInputs } from '../../catalog/credential-inputs.ts';
import type { ComponentCall } from '../../catalog/schema.ts';

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
