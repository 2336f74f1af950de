import { Fault } from '../../faults/fault.ts';
import type { Procedure } from '../../flows/flow.ts';
import type { Session } from '../../session/session.ts';
import { VaultAccess } from './client/vault-access.ts';
import { VaultTokens } from './client/vault-tokens.ts';
import { handOutToken } from './deliver-token.ts';
import { type OpenVault, openVaultOf, requirePerson, tokenFor } from './vault-open.ts';

const policyName = 'admin';
const policyText =
  '# May do everything, as the root token does, and can be revoked and replaced.\npath "*" {\n  capabilities = ["create", "read", "update", "patch", "delete", "list", "sudo"]\n}\n';
/** The token stays valid while it is used or renewed once in this period. */
const periodSeconds = 32 * 24 * 3600;

const madeStep = 'made';

export const vaultAdmin: Procedure = async (session, input, context) => {
  requirePerson(session, 'A token that nobody sees is worse than none: making one needs somebody at a terminal.', 'Run it in a terminal.');
  const { component, endpoint, target } = await openVaultOf(session, input, context);
  const typed = await session.ask.text({
    id: 'name',
    label: 'Whose token is it?',
    help: 'The name stands in the audit log of the server, with all that is done with it.',
    check: (text) => (/^[\w.@-]{1,60}$/.test(text.trim()) ? undefined : 'A name without spaces: ada'),
  });
  const name = typed.trim();
  const { token } = session.dryRun ? { token: 'none' } : await tokenFor(session, context, target, { may: 'the policy root' });
  const access = new VaultAccess(endpoint, token);
  await session.act({
    id: 'policy',
    right: 'operate',
    request: `PUT /v1/sys/policies/acl/${policyName}: everything, on every path`,
    target,
    done: async () => !session.dryRun && (await access.policy(policyName, session.signal)) !== undefined,
    run: (grant) => access.writePolicy(grant, policyName, policyText),
  });
  await revokeLost(session, new VaultTokens(endpoint, token), target);
  const made = await session.act({
    id: 'token',
    right: 'reveal',
    request: `POST /v1/auth/token/create-orphan: policy ${policyName}, for ${name}, renewed every ${periodSeconds / 86_400} days`,
    target,
    run: async (grant) => {
      const wish = { policies: [policyName], name, periodSeconds };
      const { token: own, accessor } = await new VaultTokens(endpoint, token).makeOrphan(grant, wish);
      session.hide(own);
      // If the run is interrupted here, the token has not been shown.
      await session.note(madeStep, accessor);
      return own;
    },
  });
  if (made === undefined) return { message: `Dry run: no token of ${component.id} was made.` };
  const own = new VaultTokens(endpoint, made);
  const handout = { id: 'token', label: 'Admin token', value: made, whose: name };
  await handOutToken(session, { component, endpoint, target }, handout, 'Nobody has it yet. It is revoked then.');
  const facts = await own.self(session.signal);
  if (!facts) throw new Fault('failed.admin', 'The server does not take the token that it made.', 'Look at its log.');
  const detail = `quarterdeck vault revoke-root ${component.id}: it tries this one first`;
  return {
    message: `${name} has an admin token of ${component.id} (${facts.policies.join(', ')}), tried here. It lasts while it is renewed every ${periodSeconds / 86_400} days.`,
    data: { name, policies: facts.policies, accessor: facts.accessor },
    todo: {
      component: component.id,
      items: [{ id: 'revoke-root', title: 'Revoke the root token', detail, byHand: true }],
    },
  };
};

/** Revokes the token of an interrupted run: it was not handed out, but has all rights. */
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
