import { Fault } from '../faults/fault.ts';
import { RootGeneration } from '../products/key-ceremonies.ts';
import type { VaultPlace } from '../products/vault-api.ts';
import { type TokenFacts, VaultTokens } from '../products/vault-tokens.ts';
import type { Session } from '../session/session.ts';
import { countText, durationText } from '../text/quantities.ts';
import { vaultRevokeRootAbout } from './about-vault.ts';
import type { Flow, FlowOutcome, FlowWorld } from './flow.ts';
import { keptTokenName, type OpenVault, openVaultOf, tokenFor } from './vault-open.ts';

/** More tokens than this are not looked through for other root tokens. */
const mostLookedAt = 500;
/** Under which a run notes that the token is revoked. */
const revokedStep = 'revoked';
/** Who may write policies may give themselves everything. */
const adminPath = 'sys/policies/acl/quarterdeck-is-asking';

export const vaultRevokeRoot: Flow = {
  ...vaultRevokeRootAbout,
  async run(session, input, world) {
    const vault = await openVaultOf(session, input, world);
    const { component, place, target } = vault;
    if (session.rehearsing) {
      session.show({
        kind: 'text',
        text: 'Would ask for the root token and for another admin token, try that one, and only then send PUT /v1/auth/token/revoke-self',
      });
      return { message: `Rehearsed: the root token of ${component.id} is as it was.` };
    }
    if (session.noted(revokedStep).length > 0) return afterRevoking(session, world, vault);
    const { token: root, isKept } = await tokenFor(session, world, target, {
      id: 'root',
      may: 'the policy root',
      label: 'Root token that is to end',
    });
    const tokens = new VaultTokens(place, root);
    const facts = await tokens.self(session.signal);
    if (!facts) {
      if (isKept) await forget(session, world, target);
      return { message: `That token opens nothing any more: it was revoked already${isKept ? ', and is forgotten here' : ''}.` };
    }
    if (!facts.isRoot) {
      throw new Fault({
        code: 'refused.notRoot',
        message: `That is no root token (${facts.policies.join(', ')}).`,
        remedy: `Forget and revoke one that was kept: quarterdeck vault logout ${component.id}`,
      });
    }
    const other = await otherWayIn(session, vault, facts);
    session.show({ kind: 'item', id: 'other', title: 'Another way in', state: 'ok', evidence: other.evidence });
    const roots = await otherRoots(tokens, facts, session.signal);
    await session.act({
      id: 'revoke',
      right: 'destroy',
      title: `Revoke this root token of ${component.id}`,
      request: 'PUT /v1/auth/token/revoke-self',
      target,
      consequences: [
        'It opens nothing any more, and what was made with it ends too: tokens that are not orphans, and their leases.',
        `From then on the way in is ${other.evidence}.`,
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
    if (await tokens.self(session.signal))
      throw new Fault({ code: 'failed.revoke', message: 'The server still takes that token.', remedy: 'Look at its log.' });
    if (other.token !== undefined && !(await new VaultTokens(place, other.token).self(session.signal))) {
      throw new Fault({
        code: 'failed.revoke',
        message: 'The root token is revoked, and the other token ended with it.',
        remedy: `Make a root token with the key shares while that is possible: quarterdeck vault root ${component.id}`,
      });
    }
    if (isKept) await forget(session, world, target);
    return {
      message: `That root token of ${component.id} opens nothing any more. The way in: ${other.evidence}.`,
      data: { otherRoots: roots ?? null },
    };
  },
};

/** The run broke off behind it: what is left is to forget a token that is kept and opens nothing. */
async function afterRevoking(session: Session, world: FlowWorld, { component, place, target }: OpenVault): Promise<FlowOutcome> {
  const kept = await (await world.vault(session)).read(keptTokenName(target), session.signal);
  if (kept !== undefined) session.hide(kept);
  const isOver = kept !== undefined && (await new VaultTokens(place, kept).self(session.signal)) === undefined;
  if (isOver) await forget(session, world, target);
  return {
    message: `The root token of ${component.id} was revoked before the run broke off${isOver ? '; it is forgotten here too' : ''}.`,
  };
}

interface WayIn {
  evidence: string;
  token?: string;
}

/** Where the shares alone make a root token, they are the way in; everywhere else it has to be another token that was tried here and now. */
async function otherWayIn(session: Session, { component, place }: OpenVault, root: TokenFacts): Promise<WayIn> {
  const byShares = await sharesMakeRoot(place, session.signal);
  const token = (
    await session.ask.secret({
      id: 'other',
      label: 'Token of another admin',
      help: byShares
        ? 'It is tried before anything is revoked. Empty: the key shares can make a root token here without a login, and that is way enough.'
        : 'It is tried before anything is revoked. Without a login this server makes no root token: with the last way in gone, nobody ever gets in again.',
      check: (text) => (text.trim() === '' && !byShares ? 'Type one, or leave with Esc: nothing was revoked.' : undefined),
    })
  ).trim();
  if (token === '') return { evidence: 'the key shares, which make a root token without a login' };
  const tokens = new VaultTokens(place, token);
  const facts = await tokens.self(session.signal);
  const problem = facts ? await problemOf(facts, root, tokens, session.signal) : 'the server does not know it';
  if (!facts || problem !== undefined) {
    throw new Fault({
      code: 'refused.lastWayIn',
      message: `Nothing was revoked: the other token is no lasting way in, ${problem}.`,
      remedy: `Make one that is: quarterdeck vault admin ${component.id}`,
    });
  }
  return { evidence: `the token of ${facts.displayName || 'another admin'} (${facts.policies.join(', ')})`, token };
}

async function problemOf(facts: TokenFacts, root: TokenFacts, tokens: VaultTokens, signal: AbortSignal): Promise<string | undefined> {
  if (facts.accessor === root.accessor) return 'it is the same one';
  if (!facts.orphan) return 'since it was made with a token and ends with that';
  const isFromLogin = facts.path.startsWith('auth/') && !facts.path.startsWith('auth/token/');
  if (facts.ttlSeconds > 0 && !facts.renewable && !isFromLogin)
    return `since it ends in ${durationText(facts.ttlSeconds * 1000)} and cannot be renewed`;
  const may = await tokens.capabilities(adminPath, signal);
  if (!['root', 'create', 'update'].some((capability) => may.includes(capability))) return 'since it may not write policies';
  return undefined;
}

async function sharesMakeRoot(place: VaultPlace, signal: AbortSignal): Promise<boolean> {
  try {
    await RootGeneration.open(place, undefined, signal);
    return true;
  } catch (thrown) {
    if (thrown instanceof Fault && thrown.code === 'refused.ceremony') return false;
    throw thrown;
  }
}

/** Undefined where there are too many tokens to look at each. */
async function otherRoots(tokens: VaultTokens, own: TokenFacts, signal: AbortSignal): Promise<number | undefined> {
  const accessors = await tokens.accessors(signal);
  if (accessors.length > mostLookedAt) return undefined;
  let count = 0;
  for (const accessor of accessors) {
    if (accessor !== own.accessor && (await tokens.behind(accessor, signal))?.isRoot) count++;
  }
  return count;
}

/** One that opens nothing is not kept. */
async function forget(session: Session, world: FlowWorld, target: OpenVault['target']): Promise<void> {
  const name = keptTokenName(target);
  const vault = await world.vault(session);
  await session.act({ id: 'forget', right: 'operate', request: `forget ${name}`, target, run: (grant) => vault.remove(grant, name) });
}
