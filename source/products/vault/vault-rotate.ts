import { Fault } from '../../faults/fault.ts';
import { askChoice, choicesOf } from '../../flows/ask-choice.ts';
import { dryRunOf } from '../../flows/dry-run.ts';
import type { FlowOutcome, Procedure } from '../../flows/flow.ts';
import { type DeliveryTexts, deliveredStep, deliverSecrets } from '../../flows/secrets/deliver.ts';
import type { Session } from '../../session/session.ts';
import { type CeremonyStatus, type NewShares, ShareRotation } from './client/key-ceremonies.ts';
import { shareNumber, shareProblem } from './client/key-share.ts';
import { afterFault, cancelCeremony, collectShares, promptCounts, type ShareCounts, shareDeliveries, shareLabels } from './key-shares.ts';
import { type FlowVault, openVaultOf, requirePerson, tokenFor } from './vault-open.ts';

const begunStep = 'begun';
const provingStep = 'proving';

export const vaultRotate: Procedure = async (session, input, context) => {
  requirePerson(session, 'A terminal is required, because the new shares are shown only once.');
  const vault = await openVaultOf(session, input, context);
  const { component, endpoint, manager, status } = vault;
  const recovery = status.recoverySeal;
  if (session.dryRun) {
    const [calls, older] = recovery ? ['sys/rotate/recovery', 'sys/rekey-recovery-key'] : ['sys/rotate/root', 'sys/rekey'];
    const would = `prompt for a token and ${status.threshold} of the ${status.shares} current ${recovery ? 'recovery' : 'key'} shares, deliver the new ones, and activate them once verified: PUT /v1/${calls}/init, update, verify (${older} on Vault and on OpenBao before 2.4)`;
    return dryRunOf(session, would, `the key shares of ${component.id} were not changed.`);
  }
  const { token } = await tokenFor(vault, {
    may: `sudo on sys/rotate/${recovery ? 'recovery' : 'root'}/*`,
    next: 'You are then prompted for the current shares.',
  });
  const rotation = await ShareRotation.open(endpoint, token, recovery, session.signal);
  const begun = await beginRotation(vault, rotation);
  if (begun === 'current') return inForceAlready(component.id, status, recovery);
  if (begun === 'proved') return outcomeOf(component.id, await manager.seal(session.signal), recovery);
  const left = ({ progress, required }: CeremonyStatus) => ({
    message: `The rotation has received ${progress} of the ${required} required shares; the previous shares are still valid.`,
    remedy: `To resume or cancel the rotation: quarterdeck vault rotate ${component.id}. Sealing or restarting the server also cancels it.`,
  });
  const made = await collectShares({ vault, ceremony: rotation, left }, begun);
  const counts = { shares: made.shares.length, threshold: begun.threshold };
  await giveOut(vault, rotation, made);
  await session.note(provingStep, made.verificationNonce);
  if (made.verificationNonce !== '')
    await proveShares(session, rotation, { nonce: made.verificationNonce, threshold: begun.threshold }, (at) => made.shares[at]);
  return outcomeOf(component.id, counts, recovery);
};

/** Starts or resumes a rotation. New shares that are with their holders are not shown again, but can still be verified. */
async function beginRotation({ session, component, status: now }: FlowVault, rotation: ShareRotation) {
  const status = await rotation.status(session.signal);
  if (!status.started && session.noted(provingStep).length > 0 && (await isSettled(session))) return 'current';
  if (status.started) {
    const shown = status.verificationNonce !== '';
    const typed = `${status.threshold} holders type their new shares`;
    const chosen = await session.ask.choice({
      id: 'attempt',
      label: shown
        ? `A rotation was interrupted after its new shares (${status.threshold} of ${status.shares}) were created`
        : `A rotation is in progress (${status.shares} new shares, ${status.threshold} required); ${status.progress} of ${status.required} current ones entered`,
      help: 'The current shares are valid until the new ones are verified. Other holders may be entering theirs now.',
      choices: choicesOf({
        ...(shown ? { prove: ['Activate the new shares, if every holder has theirs', typed] as const } : { continue: 'Resume' }),
        drop: ['Cancel the rotation and start again', 'shares already entered must be entered again'],
        leave: 'Leave as is',
      }),
      initial: shown ? initialOf(session, status) : 'continue',
      fresh: true,
    });
    if (chosen === 'continue') return status;
    if (chosen === 'prove') {
      await proveTyped(session, rotation, status);
      return 'proved';
    }
    if (chosen === 'leave') throw new Fault('interrupted.cancelled', 'Nothing was changed.', 'Contact the user who started the rotation.');
    await cancelCeremony(session, rotation, { id: 'drop', nonce: status.nonce });
  }
  const counts = await promptCounts(session, now.recoverySeal, now);
  const started = await session.act({
    id: 'start',
    right: 'operate',
    request: `PUT /v1/${rotation.path}/init: ${counts.shares} shares, threshold ${counts.threshold}, for ${component.id}, valid once they are verified`,
    run: async (grant) => {
      const status = await rotation.start(grant, counts);
      await session.note(begunStep, status.nonce);
      return status;
    },
  });
  if (!started) throw new Error('unexpected dry run');
  return started;
}

function initialOf(session: Session, { threshold }: CeremonyStatus): string {
  const handed = new Set(session.noted(deliveredStep)).size;
  if (session.noted(begunStep).length === 0) return 'leave';
  return handed >= threshold ? 'prove' : 'drop';
}

/** Only the operator knows whether the last action completed: a server does not report the previous rotation. */
async function isSettled(session: Session): Promise<boolean> {
  const chosen = await askChoice(session, {
    id: 'settled',
    label: 'The run was interrupted while the new shares were being verified, and the rotation is no longer in progress',
    help: 'The new shares became valid when the last one was entered. If the server was sealed or restarted before that, or the rotation was cancelled, the previous shares are valid.',
    choices: {
      'in-force': ['The new shares are valid', 'finish without further changes'],
      anew: ['Rotate again', 'holders enter the shares that are valid now'],
    },
    initial: 'in-force',
    fresh: true,
  });
  return chosen === 'in-force';
}

async function giveOut({ session, component: { id } }: FlowVault, rotation: ShareRotation, made: NewShares): Promise<void> {
  const handouts = shareDeliveries(made.shares, shareLabels('New key share', made.shares.length));
  const inForce: DeliveryTexts = {
    lost: (left) => `The new shares are already valid. These were not delivered and cannot be shown again: ${left.join(', ')}.`,
    detail: 'then rotate again immediately, while the server is unsealed',
    left: (left) => ({
      code: 'failed.handout',
      message: `The new shares of ${id} are valid, but these were not delivered: ${left.join(', ')}.`,
      remedy: `Rotate again while the server is unsealed: quarterdeck vault rotate ${id}`,
    }),
  };
  const unproved: DeliveryTexts = {
    lost: (left) => `Not delivered yet: ${left.join(', ')}. If you quit, the rotation is cancelled and the previous shares stay valid.`,
    detail: 'the previous shares stay valid',
    left: () => ({
      code: 'interrupted.handout',
      message: `The previous shares of ${id} stay valid, because not all new shares were delivered.`,
      remedy: 'Destroy the new shares that were written down. Rotate again when all holders are available.',
    }),
  };
  const cancel = async () => cancelCeremony(session, rotation, { id: 'cancel', nonce: (await rotation.status(session.signal)).nonce });
  const delivering = deliverSecrets(session, handouts, made.verificationNonce === '' ? inForce : unproved);
  await delivering.catch(afterFault(session, 'interrupted.handout', cancel));
}

function inForceAlready(id: string, { shares, threshold }: ShareCounts, recovery: boolean): FlowOutcome {
  const title = 'Check that the new shares are valid';
  const detail = `quarterdeck vault rotate ${id} accepts only currently valid shares`;
  return {
    message: `${id} reports that ${threshold} of the ${shares} ${recovery ? 'recovery' : 'key'} shares are required, but not whether these are the new ones. Keep the previous ones until the new ones have been used.`,
    data: { shares, threshold },
    todo: { component: id, items: [{ id: 'try-shares', title, detail, byHand: true }] },
  };
}

function outcomeOf(id: string, { shares, threshold }: ShareCounts, recovery: boolean): FlowOutcome {
  const detail = 'Earlier snapshots and backups still require old shares. Keep enough of them until you delete these copies.';
  return {
    message: recovery
      ? `${id} has new recovery shares: ${threshold} of ${shares} are enough. The previous ones are no longer valid.`
      : `${id} has new key shares: ${threshold} of ${shares} unseal it. The previous ones are no longer valid.`,
    data: { shares, threshold },
    todo: {
      component: id,
      items: [
        { id: 'old-shares', title: 'Destroy old shares that no backup requires', detail, byHand: true },
        { id: 'snapshot', title: 'Create a snapshot with the new shares', detail: `quarterdeck vault snapshot ${id}`, byHand: false },
      ],
    },
  };
}

/** New shares take effect only when they have been sent to the server once. */
async function proveShares(
  session: Session,
  rotation: ShareRotation,
  { nonce, threshold }: { nonce: string; threshold: number },
  shareAt: (at: number) => string | undefined | Promise<string>,
): Promise<void> {
  let done: boolean | undefined;
  for (let at = 0; at < threshold; at++) {
    const share = (await shareAt(at)) ?? '';
    done = await session.act({
      id: `prove-${at + 1}`,
      right: 'operate',
      request: `PUT /v1/${rotation.path}/verify with a new key share (${at} of ${threshold} entered)`,
      run: (grant) => rotation.prove(grant, share, nonce),
    });
  }
  if (done) return;
  const message = 'The new shares were entered, but the server does not report them as valid.';
  throw new Fault('failed.rotate', message, 'Keep the previous and the new shares, and check the log of the server.');
}

/** Verifies the shares that holders enter, in a run after the one that handed them out. */
async function proveTyped(session: Session, rotation: ShareRotation, { threshold, shares }: CeremonyStatus): Promise<void> {
  const nonce = await session.act({
    id: 'prove-anew',
    right: 'operate',
    request: `DELETE /v1/${rotation.path}/verify: restart the verification`,
    run: (grant) => rotation.proveAnew(grant),
  });
  if (nonce === undefined) throw new Error('unexpected dry run');
  const given = new Set<number | undefined>();
  const proving = proveShares(session, rotation, { nonce, threshold }, async (at) => {
    session.progress({ id: 'proof', label: `${at} of ${threshold} new key shares entered`, fraction: at / threshold });
    const typed = await session.ask.secret({
      id: 'new-share',
      label: `New key share ${at + 1} of ${threshold}`,
      help: `Sends PUT /v1/${rotation.path}/verify. The previous shares are valid until the last one is entered.`,
      check: (text) => shareProblem(text, { threshold, shares }, given),
    });
    given.add(shareNumber(typed.trim()));
    return typed.trim();
  });
  await proving.finally(() => session.progress({ id: 'proof', label: `${given.size} of ${threshold} new key shares entered`, done: true }));
}
