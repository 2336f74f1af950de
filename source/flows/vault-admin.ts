import { Fault } from '../faults/fault.ts';
import { VaultAccess } from '../products/vault-access.ts';
import { VaultTokens } from '../products/vault-tokens.ts';
import type { Session } from '../session/session.ts';
import { vaultAdminAbout } from './about-vault.ts';
import type { Flow } from './flow.ts';
import { handOutToken } from './hand-out-token.ts';
import { type OpenVault, openVaultOf, tokenFor } from './vault-open.ts';

const policyName = 'admin';
const policyText =
  '# May do everything, as the root token does, and can be revoked and replaced.\npath "*" {\n  capabilities = ["create", "read", "update", "patch", "delete", "list", "sudo"]\n}\n';
/** It lasts for as long as it is used or renewed once in that time. */
const periodSeconds = 32 * 24 * 3600;

/** Under which a run notes the accessor of what it made. */
const madeStep = 'made';

export const vaultAdmin: Flow = {
  ...vaultAdminAbout,
  async run(session, input, world) {
    if (!session.attended) {
      throw new Fault({
        code: 'refused.unattended',
        message: 'A token that nobody sees is worse than none: making one needs somebody at a terminal.',
        remedy: 'Run it in a terminal.',
      });
    }
    const { component, place, target } = await openVaultOf(session, input, world);
    const name = await session.ask.text({
      id: 'name',
      label: 'Whose token is it?',
      help: 'The name stands in the audit log of the server, with all that is done with it.',
      check: (text) => (/^[\w.@-]{1,60}$/.test(text.trim()) ? undefined : 'A name without spaces: ada'),
    });
    const { token } = session.rehearsing ? { token: 'none' } : await tokenFor(session, world, target, { may: 'the policy root' });
    const access = new VaultAccess(place, token);
    await session.act({
      id: 'policy',
      right: 'operate',
      request: `PUT /v1/sys/policies/acl/${policyName}: everything, on every path`,
      target,
      done: async () => !session.rehearsing && (await access.policy(policyName, session.signal)) !== undefined,
      run: (grant) => access.writePolicy(grant, policyName, policyText),
    });
    await revokeLost(session, new VaultTokens(place, token), target);
    const made = await session.act({
      id: 'token',
      right: 'reveal',
      request: `POST /v1/auth/token/create-orphan: policy ${policyName}, for ${name.trim()}, renewed every ${periodSeconds / 86_400} days`,
      target,
      run: async (grant) => {
        const { token: own, accessor } = await new VaultTokens(place, token).makeOrphan(grant, {
          ...{ policies: [policyName], name: name.trim(), periodSeconds },
        });
        session.hide(own);
        // Known to nobody, should the run break off here.
        await session.note(madeStep, accessor);
        return own;
      },
    });
    if (made === undefined) return { message: `Rehearsed: no token of ${component.id} was made.` };
    const own = new VaultTokens(place, made);
    await handOutToken(
      session,
      { component, place, target },
      { id: 'token', label: 'Admin token', value: made, whose: name.trim() },
      'Nobody has it yet. It is revoked then.',
    );
    const facts = await own.self(session.signal);
    if (!facts)
      throw new Fault({ code: 'failed.admin', message: 'The server does not take the token that it made.', remedy: 'Look at its log.' });
    return {
      message: `${name.trim()} has an admin token of ${component.id} (${facts.policies.join(', ')}), tried here. It lasts while it is renewed every ${periodSeconds / 86_400} days.`,
      data: { name: name.trim(), policies: facts.policies, accessor: facts.accessor },
      todo: {
        component: component.id,
        items: [
          {
            id: 'revoke-root',
            title: 'Revoke the root token',
            detail: `quarterdeck vault revoke-root ${component.id}: it tries this one first`,
            byHand: true,
          },
        ],
      },
    };
  },
};

/** A run that broke off took its token along: one that nobody has may do everything all the same. */
async function revokeLost(session: Session, tokens: VaultTokens, target: OpenVault['target']): Promise<void> {
  for (const [at, accessor] of session.noted(madeStep).entries()) {
    await session.act({
      id: `revoke-lost-${at + 1}`,
      right: 'operate',
      request: `POST /v1/auth/token/revoke-accessor of the token that the run made before it broke off (${accessor})`,
      target,
      done: async () => (await tokens.behind(accessor, session.signal)) === undefined,
      run: (grant) => tokens.revokeBehind(grant, accessor),
    });
  }
}
