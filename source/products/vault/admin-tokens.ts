import { Fault } from '../../faults/fault.ts';
import { dryRunOf } from '../../flows/dry-run.ts';
import type { FlowOutcome, Procedure, Todo } from '../../flows/flow.ts';
import { type Handout, handOut } from '../../flows/secrets/deliver.ts';
import type { Session } from '../../session/session.ts';
import { type CeremonyStatus, decodeRoot, noCalls, RootGeneration } from './client/key-ceremonies.ts';
import { VaultAccess } from './client/vault-access.ts';
import { cancelCeremony, collectShares } from './key-shares.ts';
import { type FlowVault, openVaultOf, requirePerson, tokenFor } from './vault-open.ts';

const policyName = 'admin';
const policyText =
  '# May do everything, as the root token does, and can be revoked and replaced.\npath "*" {\n  capabilities = ["create", "read", "update", "patch", "delete", "list", "sudo"]\n}\n';
/** The token stays valid while it is used or renewed once in this period. */
const periodSeconds = 32 * 24 * 3600;

const madeStep = 'made';

export const vaultAdmin: Procedure = async (session, input, context) => {
  requirePerson(session, 'A token that nobody sees is worse than none: making one needs somebody at a terminal.', 'Run it in a terminal.');
  const vault = await openVaultOf(session, input, context);
  const { component, endpoint } = vault;
  const typed = await session.ask.text({
    id: 'name',
    label: 'Whose token is it?',
    help: 'The name stands in the audit log of the server, with all that is done with it.',
    check: (text) => (/^[\w.@-]{1,60}$/.test(text.trim()) ? undefined : 'A name without spaces: ada'),
  });
  const name = typed.trim();
  const { token } = session.dryRun ? { token: 'none' } : await tokenFor(vault, { may: 'the policy root' });
  const access = new VaultAccess(endpoint, token);
  await session.act({
    id: 'policy',
    right: 'operate',
    request: `PUT /v1/sys/policies/acl/${policyName}: everything, on every path`,
    done: async () => !session.dryRun && (await access.policy(policyName, session.signal)) !== undefined,
    run: (grant) => access.writePolicy(grant, policyName, policyText),
  });
  await revokeLost(session, access);
  const made = await session.act({
    id: 'token',
    right: 'reveal',
    request: `POST /v1/auth/token/create-orphan: policy ${policyName}, for ${name}, renewed every ${periodSeconds / 86_400} days`,
    run: async (grant) => {
      const { token: own, accessor } = await access.makeOrphan(grant, { policy: policyName, name, periodSeconds });
      session.hide(own);
      // If the run is interrupted here, the token has not been shown.
      await session.note(madeStep, accessor);
      return own;
    },
  });
  if (made === undefined) return { message: `Dry run: no token of ${component.id} was made.` };
  const handout = { id: 'token', label: 'Admin token', value: made, whose: name };
  await handOutToken(vault, handout, 'Nobody has it yet. It is revoked then.');
  const facts = await new VaultAccess(endpoint, made).self(session.signal);
  if (!facts) throw new Fault('failed.admin', 'The server does not take the token that it made.', 'Look at its log.');
  const detail = `quarterdeck vault revoke-root ${component.id}: it tries this one first`;
  return {
    message: `${name} has an admin token of ${component.id} (${facts.policies.join(', ')}), tried here. It lasts while it is renewed every ${periodSeconds / 86_400} days.`,
    data: { name, policies: facts.policies, accessor: facts.accessor },
    todo: { component: component.id, items: [{ id: 'revoke-root', title: 'Revoke the root token', detail, byHand: true }] },
  };
};

/** Revokes the token of an interrupted run: it was not handed out, but has all rights. */
async function revokeLost(session: Session, access: VaultAccess): Promise<void> {
  for (const [at, accessor] of session.noted(madeStep).entries()) {
    await session.act({
      id: `revoke-lost-${at + 1}`,
      right: 'operate',
      request: `POST /v1/auth/token/revoke-accessor of the token that the run made before it broke off (${accessor})`,
      done: async () => (await access.behind(accessor, session.signal)) === undefined,
      run: (grant) => access.revokeBehind(grant, accessor),
    });
  }
}

const begunStep = 'begun';

export const vaultRoot: Procedure = async (session, input, context) => {
  requirePerson(session, 'A root token that nobody sees is worse than none: making one needs somebody at a terminal.');
  const vault = await openVaultOf(session, input, context);
  if (session.dryRun) {
    const { threshold, shares } = vault.status;
    const would = `begin an attempt, ask for ${threshold} of the ${shares} key shares, and show the root token once: PUT /v1/sys/generate-root-token/attempt, update (or sys/generate-root where the server is older)`;
    return dryRunOf(session, would, `no root token of ${vault.component.id} was made.`);
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
  if (!begun) throw new Error('an act that is not a dry run has an outcome');
  const encoded = await collectOwn(vault, generation, begun.status);
  const token = decodeRoot(encoded, begun.otp);
  session.hide(token);
  if (!(await new VaultAccess(vault.endpoint, token).self(session.signal)))
    throw new Fault('failed.root', 'The server does not take the token that it made.', 'Begin anew.');
  const root = { id: 'root', label: 'Root token', value: token, whose: 'who asked for it' };
  await handOutToken(vault, root, 'Nobody has it yet. It is revoked then: a root token that lies about is worse than none.');
  return {
    message: `${vault.component.id} has one more root token, and who asked for it has it.`,
    todo: { component: vault.component.id, items: todoOf(vault.component.id, isUnseen) },
  };
};

function todoOf(id: string, isUnseen: boolean): Todo[] {
  const revoke = {
    id: 'revoke-root',
    title: 'Revoke it when the work is done',
    detail: `It may do everything and never ends: quarterdeck vault revoke-root ${id}`,
    byHand: true,
  };
  const unseen = {
    id: 'unseen-root',
    title: 'Look for a root token that nobody has',
    detail: `The run broke off before, perhaps when its token was made already. "vault revoke-root ${id}" counts the others.`,
    byHand: true,
  };
  return isUnseen ? [revoke, unseen] : [revoke];
}

/** Older servers require no token, newer ones require one with every call. */
async function generationOf(vault: FlowVault): Promise<RootGeneration> {
  const { session, endpoint } = vault;
  const open = await RootGeneration.open(endpoint, undefined, session.signal);
  if (open) return open;
  const { token } = await tokenFor(vault, {
    may: 'sudo on sys/generate-root-token/*',
    next: 'Then as many key shares are asked for as unseal it.',
  });
  const generation = await RootGeneration.open(endpoint, token, session.signal);
  if (!generation) throw noCalls('make a root token');
  return generation;
}

/** Only the operator who started an attempt can decode its token. */
function chooseAttempt(session: Session, { progress, required }: CeremonyStatus): Promise<string> {
  return session.ask.choice({
    id: 'attempt',
    label: `Somebody began to make a root token; ${progress} of ${required} shares were given. What now?`,
    help: 'Only who began it can read the token. If nobody you know is at it, somebody else may be: cancel it, and look into the audit log of the server.',
    choices: [
      { value: 'contribute', label: 'Give a share to it', detail: 'the token goes to who began it' },
      { value: 'drop', label: 'Cancel it and begin anew', detail: 'the token comes to you' },
    ],
    initial: 'contribute',
    fresh: true,
  });
}

/** If the prompt is cancelled, the one-time password is lost: the attempt is useless, and is cancelled on the server. */
async function collectOwn(vault: FlowVault, generation: RootGeneration, begun: CeremonyStatus): Promise<string> {
  const { session } = vault;
  const left = (_: CeremonyStatus, cause: Fault) =>
    new Fault(
      'interrupted.root',
      'No root token was made; the attempt was cancelled, since only who began it could have read the token.',
      'Begin anew when enough holders are at hand.',
      { cause },
    );
  try {
    return await collectShares({ vault, ceremony: generation, left }, begun);
  } catch (thrown) {
    if (thrown instanceof Fault && thrown.code === 'interrupted.root' && !session.signal.aborted)
      await cancelCeremony(session, generation, { id: 'cancel', nonce: begun.nonce });
    throw thrown;
  }
}

async function contribute(vault: FlowVault, generation: RootGeneration, status: CeremonyStatus): Promise<FlowOutcome> {
  const { id } = vault.component;
  const left = ({ progress, required }: CeremonyStatus, cause: Fault) =>
    new Fault(
      'interrupted.cancelled',
      `The attempt stands at ${progress} of ${required} shares, and goes on without you.`,
      `Others go on with it: quarterdeck vault root ${id}`,
      { cause },
    );
  const encoded = await collectShares({ vault, ceremony: generation, left }, status);
  vault.session.show({ kind: 'text', text: `Tell this to who began, who alone can read it: ${encoded}` });
  return { message: `The last share was given: who began has a root token of ${id} to read.` };
}

/** Shows a new token to its owner. A token that is not accepted is revoked: `interrupted.handout`. */
async function handOutToken({ session, component, endpoint }: FlowVault, handout: Handout, lost: string): Promise<void> {
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
        run: (grant) => new VaultAccess(endpoint, handout.value).revokeSelf(grant),
      });
    }
    throw thrown;
  }
}
