import { Fault } from '../faults/fault.ts';
import { VaultTokens } from '../products/vault-tokens.ts';
import type { Session } from '../session/session.ts';
import { type Handout, handOut } from './hand-out.ts';
import type { OpenVault } from './vault-open.ts';

/**
 * Shows a token that was just made to the one who is to have it. One that nobody takes is revoked: `interrupted.handout`.
 *
 * @param lost what happens with it when nobody takes it, as the help of the question whether to leave
 */
export async function handOutToken(
  session: Session,
  { component, place, target }: Pick<OpenVault, 'component' | 'place' | 'target'>,
  handout: Handout,
  lost: string,
): Promise<void> {
  try {
    await handOut(session, [handout], {
      lost: () => lost,
      detail: 'it is revoked',
      left: (_, cause) =>
        new Fault({
          code: 'interrupted.handout',
          message: `Nobody took the ${handout.label.slice(0, 1).toLowerCase()}${handout.label.slice(1)} of ${component.id}; it was revoked.`,
          remedy: 'Make another when somebody is there to take it.',
          cause,
        }),
    });
  } catch (thrown) {
    if (thrown instanceof Fault && thrown.code === 'interrupted.handout') {
      await session.act({
        id: 'revoke',
        right: 'operate',
        request: 'PUT /v1/auth/token/revoke-self of the token that nobody took',
        target,
        run: (grant) => new VaultTokens(place, handout.value).revokeSelf(grant),
      });
    }
    throw thrown;
  }
}
