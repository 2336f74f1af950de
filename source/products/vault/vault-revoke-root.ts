import { Fault } from '../../faults/fault.ts';
import { dryRunOf } from '../../flows/dry-run.ts';
import type { FlowOutcome } from '../../flows/flow.ts';
import { countText, durationText } from '../../text/quantities.ts';
import { RootGeneration } from './client/key-ceremonies.ts';
import { type TokenFacts, VaultAccess } from './client/vault-access.ts';
import { type FlowVault, forgetToken, onOpenVault, readKeptToken, tokenFor } from './vault-open.ts';

/** Other root tokens are not searched for if there are more tokens than this. */
const mostTokens = 500;
const revokedStep = 'revoked';
/** A token that can write policies can grant itself everything. */
const adminPath = 'sys/policies/acl/quarterdeck-is-asking';

export const vaultRevokeRoot = onOpenVault(async (vault) => {
  const { session, component, endpoint } = vault;
  if (session.dryRun) {
    const would = 'prompt for the root token and another admin token, test the latter, and only then send PUT /v1/auth/token/revoke-self';
    return dryRunOf(session, would, `the root token of ${component.id} was not revoked.`);
  }
  if (session.noted(revokedStep).length > 0) return afterRevoking(vault);
  const { token: root, isKept } = await tokenFor(vault, { id: 'root', may: 'the root policy', label: 'Root token to revoke' });
  const tokens = new VaultAccess(endpoint, root);
  const facts = await tokens.self(session.signal);
  if (!facts) {
    if (isKept) await forgetToken(vault);
    return { message: `The server rejects the token, so nothing was revoked${isKept ? '; the stored copy was deleted' : ''}.` };
  }
  if (!facts.isRoot) {
    const remedy = `To revoke and delete a stored token: quarterdeck vault logout ${component.id}`;
    throw new Fault('refused.notRoot', `Not a root token (policies: ${facts.policies.join(', ')}).`, remedy);
  }
  const other = await otherAdmin(vault, facts);
  session.show({ kind: 'item', id: 'other', title: 'Remaining access', state: 'ok', evidence: other.evidence });
  const roots = await otherRoots(tokens, facts, session.signal);
  await session.act({
    id: 'revoke',
    right: 'destroy',
    title: `Revoke this root token of ${component.id}`,
    request: 'PUT /v1/auth/token/revoke-self',
    consequences: [
      'The token stops working, and so do its child tokens that are not orphans, and their leases.',
      `The remaining access is ${other.evidence}.`,
      ...(roots === undefined
        ? []
        : [roots === 0 ? 'No other root token is left.' : `${countText(roots, 'other root token')} ${roots === 1 ? 'is' : 'are'} left.`]),
    ],
    done: async () => (await tokens.self(session.signal)) === undefined,
    run: async (grant) => {
      await tokens.revokeSelf(grant);
      await session.note(revokedStep, facts.accessor);
    },
  });
  if (await tokens.self(session.signal)) throw new Fault('failed.revoke', 'The server still accepts the token.', 'Check the server log.');
  if (other.token !== undefined && !(await new VaultAccess(endpoint, other.token).self(session.signal))) {
    const remedy = `Create a root token with the key shares while possible: quarterdeck vault root ${component.id}`;
    throw new Fault('failed.revoke', 'The root token was revoked, and the other token with it.', remedy);
  }
  if (isKept) await forgetToken(vault);
  return {
    message: `Revoked the root token of ${component.id}. Remaining access: ${other.evidence}.`,
    data: { otherRoots: roots ?? null },
  };
});

/** The run was interrupted after the token was revoked: only a stored copy, which is useless now, is left to remove. */
async function afterRevoking(vault: FlowVault): Promise<FlowOutcome> {
  const { session, component, endpoint } = vault;
  const kept = await readKeptToken(vault);
  const isOver = kept !== undefined && (await new VaultAccess(endpoint, kept).self(session.signal)) === undefined;
  if (isOver) await forgetToken(vault);
  return {
    message: `The root token of ${component.id} was revoked before the run was interrupted${isOver ? '; the stored copy was deleted' : ''}.`,
  };
}

/** The shares if they alone create a root token, otherwise another token that was tested in this run. */
async function otherAdmin({ session, component, endpoint }: FlowVault, root: TokenFacts): Promise<{ evidence: string; token?: string }> {
  const byShares = (await RootGeneration.open(endpoint, undefined, session.signal)) !== undefined;
  const typed = await session.ask.secret({
    id: 'other',
    label: 'Token of another admin',
    help: byShares
      ? 'The token is tested before anything is revoked. Leave empty to rely on the key shares, which can create a root token without a login.'
      : 'The token is tested before anything is revoked. This server cannot create a root token without a login, so without other access you are locked out until its configuration allows that.',
    check: (text) => (text.trim() === '' && !byShares ? 'Enter a token, or cancel.' : undefined),
  });
  const token = typed.trim();
  if (token === '') return { evidence: 'the key shares, which can create a root token without a login' };
  const tokens = new VaultAccess(endpoint, token);
  const facts = await tokens.self(session.signal);
  const problem = facts ? await problemOf(facts, root, tokens, session.signal) : 'the server rejects it';
  if (facts && problem === undefined)
    return { evidence: `the token of ${facts.displayName || 'another admin'} (${facts.policies.join(', ')})`, token };
  const message = `Nothing was revoked, because the other token does not provide lasting access: ${problem}.`;
  throw new Fault('refused.lastWayIn', message, `Create an admin token: quarterdeck vault admin ${component.id}`);
}

async function problemOf(facts: TokenFacts, root: TokenFacts, tokens: VaultAccess, signal: AbortSignal): Promise<string | undefined> {
  if (facts.accessor === root.accessor) return 'it is the same token';
  if (!facts.orphan) return 'it is revoked together with its parent token';
  const isFromLogin = facts.path.startsWith('auth/') && !facts.path.startsWith('auth/token/');
  if (facts.ttlSeconds > 0 && !facts.renewable && !isFromLogin)
    return `it expires in ${durationText(facts.ttlSeconds * 1000)} and cannot be renewed`;
  const may = await tokens.capabilities(adminPath, signal);
  if (!['root', 'create', 'update'].some((capability) => may.includes(capability))) return 'it is not allowed to write policies';
  return undefined;
}

async function otherRoots(tokens: VaultAccess, own: TokenFacts, signal: AbortSignal): Promise<number | undefined> {
  const accessors = await tokens.accessors(signal);
  if (accessors.length > mostTokens) return undefined;
  let count = 0;
  for (const accessor of accessors) if (accessor !== own.accessor && (await tokens.behind(accessor, signal))?.isRoot) count++;
  return count;
}
