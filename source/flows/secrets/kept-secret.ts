import { Fault } from '../../faults/fault.ts';
import type { ComponentView } from '../../fleet/model.ts';
import type { SecretStorage } from '../../secrets/secrets.ts';
import type { Session } from '../../session/session.ts';
import type { FlowContext } from '../flow.ts';
import { secretName } from './secret-names.ts';

/** Returns undefined if the secret store cannot be opened: the operator may know what is stored in it. */
export async function readKept<T>(session: Session, context: FlowContext, read: (vault: SecretStorage) => Promise<T>) {
  try {
    return await read(await context.vault(session));
  } catch (thrown) {
    if (session.signal.aborted || !(thrown instanceof Fault) || thrown.kind === 'interrupted') throw thrown;
    return undefined;
  }
}

/** Returns the secret of the instance that was deployed from here, and of no other, if there is one and the secret store can be opened. */
export async function keptSecret(
  session: Session,
  context: FlowContext,
  { host, id }: Pick<ComponentView, 'host' | 'id'>,
  variable: string,
): Promise<string | undefined> {
  return readKept(session, context, (vault) => vault.read(secretName(host, id, variable), session.signal));
}
