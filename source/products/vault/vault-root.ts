import { Fault } from '../../faults/fault.ts';
import { dryRunOf } from '../../flows/dry-run.ts';
import type { FlowContext, FlowOutcome, Procedure, Todo } from '../../flows/flow.ts';
import type { Session } from '../../session/session.ts';
import { type CeremonyStatus, decodeRoot, RootGeneration } from './client/key-ceremonies.ts';
import { VaultTokens } from './client/vault-tokens.ts';
import { cancelCeremony, collectShares } from './collect-shares.ts';
import { handOutToken } from './deliver-token.ts';
import { type OpenVault, openVaultOf, requirePerson, tokenFor } from './vault-open.ts';

const begunStep = 'begun';

export const vaultRoot: Procedure = async (session, input, context) => {
  requirePerson(session, 'A root token that nobody sees is worse than none: making one needs somebody at a terminal.');
  const vault = await openVaultOf(session, input, context);
  if (session.dryRun) {
    const { threshold, shares } = vault.status;
    const would = `begin an attempt, ask for ${threshold} of the ${shares} key shares, and show the root token once: PUT /v1/sys/generate-root-token/attempt, update (or sys/generate-root where the server is older)`;
    return dryRunOf(session, would, `no root token of ${vault.component.id} was made.`);
  }
  const generation = await generationOf(session, context, vault);
  const status = await generation.status(session.signal);
  // The one-time password was lost with the interrupted run.
  const isOwn = status.started && session.noted(begunStep).includes(status.nonce);
  const chosen = isOwn ? 'drop' : status.started ? await chooseAttempt(session, status) : 'begin';
  if (chosen === 'contribute') return contribute(session, generation, vault, status);
  if (status.started) await cancelCeremony(session, generation, vault.target, { id: 'drop', nonce: status.nonce });
  // If no attempt is in progress, the earlier one may have completed.
  const isUnseen = !isOwn && session.noted(begunStep).length > 0;
  const begun = await session.act({
    id: 'start',
    right: 'reveal',
    request: `PUT /v1/${generation.path}/attempt`,
    target: vault.target,
    run: async (grant) => {
      const started = await generation.start(grant);
      session.hide(started.otp);
      await session.note(begunStep, started.status.nonce);
      return started;
    },
  });
  if (!begun) throw new Error('an act that is not a dry run has an outcome');
  const encoded = await collectOwn(session, generation, vault, begun.status);
  const token = decodeRoot(encoded, begun.otp);
  session.hide(token);
  if (!(await new VaultTokens(vault.endpoint, token).self(session.signal)))
    throw new Fault('failed.root', 'The server does not take the token that it made.', 'Begin anew.');
  const root = { id: 'root', label: 'Root token', value: token, whose: 'who asked for it' };
  await handOutToken(session, vault, root, 'Nobody has it yet. It is revoked then: a root token that lies about is worse than none.');
  return {
    message: `${vault.component.id} has one more root token, and who asked for it has it.`,
    todo: { component: vault.component.id, items: todoOf(vault.component.id, isUnseen) },
  };
};

function todoOf(id: string, isUnseen: boolean): Todo[] {
  const revoke = {
    title: 'Revoke it when the work is done',
    detail: `It may do everything and never ends: quarterdeck vault revoke-root ${id}`,
  };
  const unseen = {
    title: 'Look for a root token that nobody has',
    detail: `The run broke off before, perhaps when its token was made already. "vault revoke-root ${id}" counts the others.`,
  };
  return [{ id: 'revoke-root', ...revoke, byHand: true }, ...(isUnseen ? [{ id: 'unseen-root', ...unseen, byHand: true }] : [])];
}

/** Older servers require no token, newer ones require one with every call. */
async function generationOf(session: Session, context: FlowContext, { endpoint, target }: OpenVault): Promise<RootGeneration> {
  const open = await RootGeneration.openWithoutToken(endpoint, session.signal);
  if (open) return open;
  const { token } = await tokenFor(session, context, target, {
    may: 'sudo on sys/generate-root-token/*',
    next: 'Then as many key shares are asked for as unseal it.',
  });
  return RootGeneration.open(endpoint, token, session.signal);
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
async function collectOwn(session: Session, generation: RootGeneration, vault: OpenVault, begun: CeremonyStatus): Promise<string> {
  const left = (_: CeremonyStatus, cause: Fault) =>
    new Fault(
      'interrupted.root',
      'No root token was made; the attempt was cancelled, since only who began it could have read the token.',
      'Begin anew when enough holders are at hand.',
      { cause },
    );
  try {
    return await collectShares({ session, ceremony: generation, target: vault.target, seal: vault.status, left }, begun);
  } catch (thrown) {
    if (thrown instanceof Fault && thrown.code === 'interrupted.root' && !session.signal.aborted)
      await cancelCeremony(session, generation, vault.target, { id: 'cancel', nonce: begun.nonce });
    throw thrown;
  }
}

async function contribute(session: Session, generation: RootGeneration, vault: OpenVault, status: CeremonyStatus): Promise<FlowOutcome> {
  const { id } = vault.component;
  const encoded = await collectShares(
    {
      session,
      ceremony: generation,
      target: vault.target,
      seal: vault.status,
      left: ({ progress, required }, cause) =>
        new Fault(
          'interrupted.cancelled',
          `The attempt stands at ${progress} of ${required} shares, and goes on without you.`,
          `Others go on with it: quarterdeck vault root ${id}`,
          { cause },
        ),
    },
    status,
  );
  session.show({ kind: 'text', text: `Tell this to who began, who alone can read it: ${encoded}` });
  return { message: `The last share was given: who began has a root token of ${id} to read.` };
}
