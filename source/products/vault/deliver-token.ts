import { Fault } from '../../faults/fault.ts';
import { type Handout, handOut } from '../../flows/secrets/deliver.ts';
import type { Session } from '../../session/session.ts';
import { VaultTokens } from './client/vault-tokens.ts';
import type { OpenVault } from './vault-open.ts';

/** Shows a new token to its owner. A token that is not accepted is revoked: `interrupted.handout`. */
export async function handOutToken(
  session: Session,
  { component, endpoint, target }: Pick<OpenVault, 'component' | 'endpoint' | 'target'>,
  handout: Handout,
  lost: string,
): Promise<void> {
  try {
    await handOut(session, [handout], {
      lost: () => lost,
      detail: 'it is revoked',
      left: (_, cause) =>
        new Fault(
          'interrupted.handout',
          `Nobody took the ${handout.label.slice(0, 1).toLowerCase()}${handout.label.slice(1)} of ${component.id}; it was revoked.`,
          'Make another when somebody is there to take it.',
          { cause },
        ),
    });
  } catch (thrown) {
    if (thrown instanceof Fault && thrown.code === 'interrupted.handout') {
      await session.act({
        id: 'revoke',
        right: 'operate',
        request: 'PUT /v1/auth/token/revoke-self of the token that nobody took',
        target,
        run: (grant) => new VaultTokens(endpoint, handout.value).revokeSelf(grant),
      });
    }
    throw thrown;
  }
}
