import { Fault } from '../../faults/fault.ts';
import { askChoice } from '../../flows/ask-choice.ts';
import { dryRunOf } from '../../flows/dry-run.ts';
import type { FlowOutcome, Procedure, Todo } from '../../flows/flow.ts';
import { deliverSecrets, type SecretDelivery } from '../../flows/secrets/deliver.ts';
import type { Grant } from '../../grants/grant.ts';
import type { Session } from '../../session/session.ts';
import { type CeremonyStatus, decodeRoot, noCalls, RootGeneration } from './client/key-ceremonies.ts';
import { VaultAccess } from './client/vault-access.ts';
import { afterFault, cancelCeremony, collectShares } from './key-shares.ts';
import { type FlowVault, openVaultOf, requirePerson, tokenFor } from './vault-open.ts';

const policyName = 'admin';
const allCapabilities = ['create', 'read', 'update', 'patch', 'delete', 'list', 'sudo'];
const policyText = `# All permissions of the root token, for tokens that can be renewed and revoked.\npath "*" {\n  capabilities = ${JSON.stringify(allCapabilities).replaceAll(',', ', ')}\n}\n`;
/** Policies, logins, engines, tokens, and any other path: a policy that allows them all may still deny a path. */
const samplePaths = ['sys/policies/acl/any', 'sys/auth/any', 'sys/mounts/any', 'auth/token/create-orphan', 'any/path'];
/** The token stays valid while it is renewed once in this period. */
const periodSeconds = 32 * 24 * 3600;

const madeStep = 'made';

export const vaultAdmin: Procedure = async (session, input, context) => {
  requirePerson(session, 'A terminal is required, because the new token is shown only once.', 'Run the command in a terminal.');
  const vault = await openVaultOf(session, input, context);
  const { component, endpoint } = vault;
  const typed = await session.ask.text({
    id: 'name',
    label: 'Token holder',
    help: 'The name appears in the audit log of the server with every use of the token.',
    check: (text) => (/^[\w.@-]{1,60}$/.test(text.trim()) ? undefined : 'Enter a name without spaces, such as ada.'),
  });
  const name = typed.trim();
  const { token } = session.dryRun ? { token: 'none' } : await tokenFor(vault, { may: 'the root policy or the admin policy' });
  const access = new VaultAccess(endpoint, token);
  await session.act({
    id: 'policy',
    right: 'operate',
    request: `PUT /v1/sys/policies/acl/${policyName}: all capabilities on every path`,
    done: async () => !session.dryRun && (await access.policy(policyName, session.signal)) !== undefined,
    run: (grant) => access.writePolicy(grant, policyName, policyText),
  });
  await revokeLost(session, access);
  const made = await session.act({
    id: 'token',
    right: 'reveal',
    request: `POST /v1/auth/token/create-orphan: policy ${policyName}, for ${name}, period ${periodSeconds / 86_400} days`,
    run: async (grant) => {
      const { token: own, accessor } = await access.makeOrphan(grant, { policy: policyName, name, periodSeconds });
      session.hide(own);
      // If the run is interrupted here, the token has not been shown.
      await session.note(madeStep, accessor);
      return own;
    },
  });
  if (made === undefined) return { message: `Dry run: no admin token for ${component.id} was created.` };
  const handout = { id: 'token', label: 'Admin token', value: made, whose: name };
  await handOutToken(vault, handout);
  const facts = await new VaultAccess(endpoint, made).self(session.signal);
  if (!facts) throw new Fault('failed.admin', 'The server rejects the token that it created.', 'Check the log of the server.');
  const isOurs = rulesOf(await access.policy(policyName, session.signal)) === rulesOf(policyText);
  const missing = isOurs ? [] : await missingCapabilities(new VaultAccess(endpoint, made), session.signal);
  const about = `an admin token for ${name} on ${component.id} (${facts.policies.join(', ')})`;
  const expiry = `The token expires unless it is renewed every ${periodSeconds / 86_400} days.`;
  const existed = `The policy ${policyName} already existed, and it`;
  const data = { name, policies: facts.policies, accessor: facts.accessor };
  if (missing.length > 0) {
    const detail = `quarterdeck vault policy ${component.id}, with a root token. Tokens with the policy then have the new permissions.`;
    return {
      message: `Created ${about}, but it cannot replace the root token. ${existed} does not allow ${missing.join('; ')}. ${expiry}`,
      data: { ...data, missing },
      todo: { component: component.id, items: [{ id: 'admin-policy', title: `Extend the policy ${policyName}`, detail, byHand: true }] },
      exitCode: 1,
    };
  }
  const detail = `quarterdeck vault revoke-root ${component.id} tests the new admin token first`;
  return {
    message: `Created and verified ${about}. ${isOurs ? '' : `${existed} may deny paths that were not tested. `}${expiry}`,
    data,
    todo: { component: component.id, items: [{ id: 'revoke-root', title: 'Revoke the root token', detail, byHand: true }] },
  };
};

/** Returns a policy without its comment, which differs between versions of Quarterdeck. */
const rulesOf = (policy = '') => policy.replace(/^#.*\n/, '').trim();

/** Returns what an existing policy, which is not replaced, does not allow: `sudo on sys/auth/x`. */
async function missingCapabilities(tokens: VaultAccess, signal: AbortSignal): Promise<string[]> {
  const missing: string[] = [];
  for (const path of samplePaths) {
    const allowed = await tokens.capabilities(path, signal);
    const denied = allCapabilities.filter((capability) => !allowed.includes(capability) && !allowed.includes('root'));
    if (denied.length > 0) missing.push(`${denied.join(', ')} on ${path}`);
  }
  return missing;
}

/** Revokes the token of an interrupted run: it was not handed out, but has all rights. */
async function revokeLost(session: Session, access: VaultAccess): Promise<void> {
  for (const [at, accessor] of session.noted(madeStep).entries()) {
    await session.act({
      id: `revoke-lost-${at + 1}`,
      right: 'operate',
      request: `POST /v1/auth/token/revoke-accessor for the token of the interrupted run (${accessor})`,
      done: async () => (await access.behind(accessor, session.signal)) === undefined,
      run: (grant) => access.revokeBehind(grant, accessor),
    });
  }
}

const begunStep = 'begun';

export const vaultRoot: Procedure = async (session, input, context) => {
  requirePerson(session, 'A terminal is required, because the new root token is shown only once.');
  const vault = await openVaultOf(session, input, context);
  if (session.dryRun) {
    const { threshold, shares } = vault.status;
    const would = `start an attempt, prompt for ${threshold} of the ${shares} key shares, and show the root token once: PUT /v1/sys/generate-root-token/attempt, update (or sys/generate-root on older servers)`;
    return dryRunOf(session, would, `no root token for ${vault.component.id} was created.`);
  }
  const generation = await generationOf(vault);
  const status = await generation.status(session.signal);
  // The one-time password was lost with the interrupted run.
  const isOwn = status.started && session.noted(begunStep).includes(status.nonce);
  const chosen = isOwn ? 'drop' : status.started ? await chooseAttempt(session, status) : 'begin';
  if (chosen === 'contribute') return contribute(vault, generation, status);
  if (status.started) await cancelCeremony(session, generation, { id: 'drop', nonce: status.nonce });
  // If no attempt is in progress, the earlier one may have completed.
  const isUnseen = !isOwn && session.noted(begunStep).length > 0;
  const begun = await session.act({
    id: 'start',
    right: 'reveal',
    request: `PUT /v1/${generation.attempt}`,
    run: async (grant) => {
      const started = await generation.start(grant);
      session.hide(started.otp);
      await session.note(begunStep, started.status.nonce);
      return started;
    },
  });
  if (!begun) throw new Error('unexpected dry run');
  const encoded = await collectOwn(vault, generation, begun.status);
  const token = decodeRoot(encoded, begun.otp);
  session.hide(token);
  if (!(await new VaultAccess(vault.endpoint, token).self(session.signal)))
    throw new Fault('failed.root', 'The server rejects the token that it created.', 'Start again.');
  const root = { id: 'root', label: 'Root token', value: token, whose: 'the user who started the attempt' };
  await handOutToken(vault, root);
  return {
    message: `Created a new root token for ${vault.component.id} and delivered it to the user who started the attempt.`,
    todo: { component: vault.component.id, items: todoOf(vault.component.id, isUnseen) },
  };
};

function todoOf(id: string, isUnseen: boolean): Todo[] {
  const revoke = {
    id: 'revoke-root',
    title: 'Revoke the root token when the work is done',
    detail: `The root token has all permissions and never expires. To revoke it: quarterdeck vault revoke-root ${id}`,
    byHand: true,
  };
  const unseen = {
    id: 'unseen-root',
    title: 'Check for an undelivered root token',
    detail: `The run was interrupted, possibly after its token was created. To count root tokens: quarterdeck vault revoke-root ${id}`,
    byHand: true,
  };
  return isUnseen ? [revoke, unseen] : [revoke];
}

/** Older servers require no token, newer ones require one with every call. */
async function generationOf(vault: FlowVault): Promise<RootGeneration> {
  const { session, endpoint } = vault;
  const open = await RootGeneration.open(endpoint, undefined, session.signal);
  if (open) return open;
  const { token } = await tokenFor(vault, { may: 'sudo on sys/generate-root-token/*', next: 'You are then prompted for the key shares.' });
  const generation = await RootGeneration.open(endpoint, token, session.signal);
  if (!generation) throw noCalls('create a root token');
  return generation;
}

/** Only the operator who started an attempt can decode its token. */
function chooseAttempt(session: Session, { progress, required }: CeremonyStatus): Promise<string> {
  return askChoice(session, {
    id: 'attempt',
    label: `An attempt to create a root token is in progress; ${progress} of ${required} shares entered`,
    help: 'Only the user who started the attempt can decode the token. If it was started in Quarterdeck, the last share must be entered there. If you do not know who started it, cancel it and check the audit log of the server.',
    choices: {
      contribute: ['Enter a share', 'only the user who started the attempt can decode the token'],
      drop: ['Cancel the attempt and start again', 'you receive the token'],
    },
    initial: 'contribute',
    fresh: true,
  });
}

/** If the prompt is cancelled, the one-time password is lost: the attempt is useless, and is cancelled on the server. */
async function collectOwn(vault: FlowVault, generation: RootGeneration, begun: CeremonyStatus): Promise<string> {
  const { session } = vault;
  const code = 'interrupted.root';
  const message = 'No root token was created. The attempt was cancelled, because only the user who started it could decode the token.';
  const left = () => ({ code, message, remedy: 'Start again when enough holders are available.' }) as const;
  const cancel = () => cancelCeremony(session, generation, { id: 'cancel', nonce: begun.nonce });
  return collectShares({ vault, ceremony: generation, left }, begun).catch(afterFault(session, code, cancel));
}

async function contribute(vault: FlowVault, generation: RootGeneration, status: CeremonyStatus): Promise<FlowOutcome> {
  const { id } = vault.component;
  const left = ({ progress, required }: CeremonyStatus) => ({
    message: `The attempt has received ${progress} of the ${required} required shares and stays open.`,
    remedy: `To resume: quarterdeck vault root ${id}`,
  });
  const encoded = await collectShares({ vault, ceremony: generation, left }, status);
  vault.session.show({ kind: 'text', text: `Pass this value to the user who started the attempt; only they can decode it: ${encoded}` });
  return { message: `The last share was entered. The root token of ${id} is ready for the user who started the attempt.` };
}

/** Shows a new token to its owner. A token that is not accepted is revoked: `interrupted.handout`. */
async function handOutToken({ session, component, endpoint }: FlowVault, handout: SecretDelivery): Promise<void> {
  const code = 'interrupted.handout';
  const label = `${handout.label.slice(0, 1).toLowerCase()}${handout.label.slice(1)}`;
  const message = `The ${label} of ${component.id} was not delivered and was revoked.`;
  const delivering = deliverSecrets(session, [handout], {
    lost: () => 'The token is not delivered yet. If you quit, it is revoked.',
    detail: 'the token is revoked',
    left: () => ({ code, message, remedy: 'Run the command again to create another one.' }),
  });
  const request = 'PUT /v1/auth/token/revoke-self for the undelivered token';
  const run = (grant: Grant) => new VaultAccess(endpoint, handout.value).revokeSelf(grant);
  await delivering.catch(afterFault(session, code, () => session.act({ id: 'revoke', right: 'operate', request, run })));
}
