import { Fault } from '../../faults/fault.ts';
import { dryRunOf } from '../../flows/dry-run.ts';
import type { FlowOutcome, Procedure } from '../../flows/flow.ts';
import { handedOutStep, handOut } from '../../flows/secrets/deliver.ts';
import type { Session } from '../../session/session.ts';
import { type CeremonyStatus, type NewShares, ShareRotation } from './client/key-ceremonies.ts';
import { shareNumber, shareProblem } from './client/key-share.ts';
import { askCounts, cancelCeremony, collectShares, type ShareCounts, shareHandouts, shareLabels } from './key-shares.ts';
import { type FlowVault, openVaultOf, requirePerson, tokenFor } from './vault-open.ts';

const begunStep = 'begun';
const provingStep = 'proving';

export const vaultRotate: Procedure = async (session, input, context) => {
  requirePerson(session, 'New shares that nobody sees are lost at once: rotating them needs somebody at a terminal.');
  const vault = await openVaultOf(session, input, context);
  const { component, endpoint, manager, status } = vault;
  const recovery = status.recoverySeal;
  if (session.dryRun) {
    const would = `ask for a token and for ${status.threshold} of the ${status.shares} key shares in force, hand the new ones out, and put them in force once they are proved: PUT /v1/sys/rotate/root/init, update, verify (or sys/rekey where the server is older)`;
    return dryRunOf(session, would, `the key shares of ${component.id} are the same.`);
  }
  const { token } = await tokenFor(vault, {
    may: `sudo on sys/rotate/${recovery ? 'recovery' : 'root'}/*`,
    next: 'Then the shares in force are asked for.',
  });
  const rotation = await ShareRotation.open(endpoint, { token, recovery }, session.signal);
  const begun = await beginRotation(vault, rotation);
  if (begun === 'in force') return inForceAlready(component.id, status);
  if (begun === 'proved') return outcomeOf(component.id, await manager.seal(session.signal), recovery);
  const left = ({ progress, required }: CeremonyStatus, cause: Fault) =>
    new Fault(
      'interrupted.cancelled',
      `The rotation stands at ${progress} of ${required} shares; those of before are in force.`,
      `Go on with it, or cancel it: quarterdeck vault rotate ${component.id}. Sealing or a restart ends it too.`,
      { cause },
    );
  const made = await collectShares({ vault, ceremony: rotation, left }, begun);
  const counts = { shares: made.shares.length, threshold: begun.threshold };
  await giveOut(vault, rotation, made);
  await session.note(provingStep, made.verificationNonce);
  if (made.verificationNonce !== '')
    await proveShares(session, rotation, { nonce: made.verificationNonce, threshold: begun.threshold }, (at) => made.shares[at]);
  return outcomeOf(component.id, counts, recovery);
};

/** Starts or resumes a rotation. New shares that are with their holders are not shown again, but can still be verified. */
async function beginRotation(
  { session, component, status: now }: FlowVault,
  rotation: ShareRotation,
): Promise<CeremonyStatus | 'proved' | 'in force'> {
  const status = await rotation.status(session.signal);
  if (!status.started && session.noted(provingStep).length > 0 && (await isSettled(session))) return 'in force';
  if (status.started) {
    const shown = status.verificationNonce !== '';
    const chosen = await session.ask.choice({
      id: 'attempt',
      label: shown
        ? `A rotation was left when its new shares (${status.threshold} of ${status.shares}) had been made. Do their holders have them?`
        : `A rotation to ${status.threshold} of ${status.shares} shares is under way, with ${status.progress} of ${status.required} given. Go on with it?`,
      help: 'The shares of now are in force until the new ones are proved. Others may be giving theirs right now.',
      choices: [
        shown
          ? { value: 'prove', label: 'Put them in force', detail: `${status.threshold} holders type their new shares` }
          : { value: 'continue', label: 'Go on with it' },
        { value: 'drop', label: 'Cancel it and begin anew', detail: 'nothing is lost but the time of who gave theirs' },
        { value: 'leave', label: 'Leave it as it is' },
      ],
      initial: shown ? initialOf(session, status) : 'continue',
      fresh: true,
    });
    if (chosen === 'continue') return status;
    if (chosen === 'prove') {
      await proveTyped(session, rotation, status);
      return 'proved';
    }
    if (chosen === 'leave') throw new Fault('interrupted.cancelled', 'The rotation was left as it is.', 'Ask who began it.');
    await cancelCeremony(session, rotation, { id: 'drop', nonce: status.nonce });
  }
  const counts = await askCounts(session, now);
  const started = await session.act({
    id: 'start',
    right: 'operate',
    request: `PUT /v1/${rotation.path}/init: ${counts.shares} shares, ${counts.threshold} of them open ${component.id}, in force once they are proved`,
    run: async (grant) => {
      const status = await rotation.start(grant, counts);
      await session.note(begunStep, status.nonce);
      return status;
    },
  });
  if (!started) throw new Error('an act that is not a dry run has an outcome');
  return started;
}

function initialOf(session: Session, { threshold }: CeremonyStatus): string {
  const handed = new Set(session.noted(handedOutStep)).size;
  if (session.noted(begunStep).length === 0) return 'leave';
  return handed >= threshold ? 'prove' : 'drop';
}

/** Only the operator knows whether the last action completed: a server does not report the previous rotation. */
async function isSettled(session: Session): Promise<boolean> {
  const chosen = await session.ask.choice({
    id: 'settled',
    label: 'The run broke off while the new shares were proved, and no rotation is under way any more. How does it go on?',
    help: 'With the last new share they came into force. If it was sealed or restarted before that, or somebody cancelled the rotation, the shares of before are.',
    choices: [
      { value: 'in-force', label: 'The new shares are in force', detail: 'nothing more is done' },
      { value: 'anew', label: 'Rotate once more', detail: 'the holders give the shares that open it now' },
    ],
    initial: 'in-force',
    fresh: true,
  });
  return chosen === 'in-force';
}

async function giveOut({ session, component: { id } }: FlowVault, rotation: ShareRotation, made: NewShares): Promise<void> {
  const isInForce = made.verificationNonce === '';
  const handouts = shareHandouts(made.shares, shareLabels('New key share', made.shares.length));
  try {
    await handOut(session, handouts, {
      lost: (left) =>
        isInForce
          ? `They are in force already, and nobody has ${left.join(', ')}. They cannot be shown again.`
          : `Nobody has ${left.join(', ')} yet. The rotation is cancelled then, and the shares of before stay in force.`,
      detail: isInForce ? 'then rotate again at once, while it is open' : 'the shares of before stay in force',
      left: (left, cause) =>
        isInForce
          ? new Fault(
              'failed.handout',
              `The new shares of ${id} are in force, and nobody has ${left.join(', ')}.`,
              `While it is open, rotate again: quarterdeck vault rotate ${id}`,
              { cause },
            )
          : new Fault(
              'interrupted.handout',
              `The shares of before stay in force: the new ones of ${id} were not all handed out.`,
              'Have who wrote a new one down throw it away. Rotate again when all holders are at hand.',
              { cause },
            ),
    });
  } catch (thrown) {
    if (thrown instanceof Fault && thrown.code === 'interrupted.handout' && !session.signal.aborted) {
      const { nonce } = await rotation.status(session.signal);
      await cancelCeremony(session, rotation, { id: 'cancel', nonce });
    }
    throw thrown;
  }
}

function inForceAlready(id: string, { shares, threshold }: ShareCounts): FlowOutcome {
  const title = 'See that the new shares open it';
  const detail = `quarterdeck vault rotate ${id} takes shares that are in force, and no others`;
  return {
    message: `${id} says ${threshold} of ${shares} key shares open it. Whether those are the new ones shows when it is next unsealed: keep those of before until then.`,
    data: { shares, threshold },
    todo: { component: id, items: [{ id: 'try-shares', title, detail, byHand: true }] },
  };
}

function outcomeOf(id: string, { shares, threshold }: ShareCounts, recovery: boolean): FlowOutcome {
  const detail = 'They still open snapshots and backups that were taken with them: keep as many of those together as you keep such.';
  return {
    message: recovery
      ? `${id} has new recovery shares: ${threshold} of ${shares} are enough. Those of before are worth nothing any more.`
      : `${id} has new key shares: ${threshold} of ${shares} open it. Those of before open nothing any more.`,
    data: { shares, threshold },
    todo: {
      component: id,
      items: [
        { id: 'old-shares', title: 'Have the old shares thrown away', detail, byHand: true },
        { id: 'snapshot', title: 'Take a snapshot under the new shares', detail: `quarterdeck vault snapshot ${id}`, byHand: false },
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
      request: `PUT /v1/${rotation.path}/verify with a new key share (${at} of ${threshold} were given)`,
      run: (grant) => rotation.prove(grant, share, nonce),
    });
  }
  if (done) return;
  throw new Fault(
    'failed.rotate',
    'The new shares were given, and the server does not say that they are in force.',
    'Keep the shares of before and the new ones, and look at its log.',
  );
}

/** Verifies the shares that holders enter, in a run after the one that handed them out. */
async function proveTyped(session: Session, rotation: ShareRotation, { threshold, shares }: CeremonyStatus): Promise<void> {
  const nonce = await session.act({
    id: 'prove-anew',
    right: 'operate',
    request: `DELETE /v1/${rotation.path}/verify: the proof begins anew`,
    run: (grant) => rotation.proveAnew(grant),
  });
  if (nonce === undefined) throw new Error('an act that is not a dry run has an outcome');
  const given = new Set<number | undefined>();
  const proving = proveShares(session, rotation, { nonce, threshold }, async (at) => {
    session.progress({ id: 'proof', label: `${at} of ${threshold} new key shares given`, fraction: at / threshold });
    const typed = await session.ask.secret({
      id: 'new-share',
      label: `New key share ${at + 1} of ${threshold}`,
      help: `Sends PUT /v1/${rotation.path}/verify. The shares of before are in force until the last one is given; leave any time with Esc.`,
      check: (text) => shareProblem(text, { threshold, shares }, given),
    });
    given.add(shareNumber(typed.trim()));
    return typed.trim();
  });
  await proving.finally(() => session.progress({ id: 'proof', label: `${given.size} of ${threshold} new key shares given`, done: true }));
}
