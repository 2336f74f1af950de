import { Fault } from '../faults/fault.ts';
import { type NewShares, type RotationStatus, ShareRotation } from '../products/key-ceremonies.ts';
import type { Session } from '../session/session.ts';
import { vaultRotateAbout } from './about-vault.ts';
import { collectShares } from './collect-shares.ts';
import type { Flow, FlowOutcome } from './flow.ts';
import { handedOutStep, handOut } from './hand-out.ts';
import { askCounts, type ShareCounts } from './share-counts.ts';
import { type OpenVault, openVaultOf, tokenFor } from './vault-open.ts';
import { proveShares, proveTyped } from './vault-prove.ts';

/** Under which a run notes that the rotation is its own. */
const begunStep = 'begun';
/** Under which it notes that all were handed out, and are being proved. */
const provingStep = 'proving';

export const vaultRotate: Flow = {
  ...vaultRotateAbout,
  async run(session, input, world) {
    if (!session.attended) throw unattended();
    const vault = await openVaultOf(session, input, world);
    const { component, place, manager, status, target } = vault;
    const recovery = status.recoverySeal;
    if (session.rehearsing) return rehearsed(session, vault);
    const { token } = await tokenFor(session, world, target, {
      may: `sudo on sys/rotate/${recovery ? 'recovery' : 'root'}/*`,
      next: 'Then the shares in force are asked for.',
    });
    const rotation = await ShareRotation.open(place, { token, recovery }, session.signal);
    const begun = await beginRotation(session, rotation, vault);
    if (begun === 'in force') return inForceAlready(component.id, status);
    if (begun === 'proved') return outcomeOf(component.id, await manager.seal(session.signal), recovery);
    const made = await collectShares(
      {
        session,
        ceremony: rotation,
        target,
        seal: status,
        left: ({ progress, required }, cause) => leftAt(component.id, progress, required, cause),
      },
      begun,
    );
    const counts = { shares: made.shares.length, threshold: begun.threshold };
    await giveOut(session, rotation, vault, made, counts);
    await session.note(provingStep, made.verificationNonce);
    if (made.verificationNonce !== '') await proveShares(session, rotation, target, made, counts);
    return outcomeOf(component.id, counts, recovery);
  },
};

/** A rotation that was left can be gone on with, also when its new shares are in the hands of their holders: nobody is told them twice, and they can prove them. */
async function beginRotation(
  session: Session,
  rotation: ShareRotation,
  { component, status: now, target }: OpenVault,
): Promise<RotationStatus | 'proved' | 'in force'> {
  const status = await rotation.status(session.signal);
  if (!status.started && session.noted(provingStep).length > 0 && (await isSettled(session))) return 'in force';
  if (status.started) {
    const shown = status.verificationNonce !== '';
    const way = await session.ask.choice({
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
    if (way === 'continue') return status;
    if (way === 'prove') {
      await proveTyped(session, rotation, target, status);
      return 'proved';
    }
    if (way === 'leave')
      throw new Fault({ code: 'interrupted.cancelled', message: 'The rotation was left as it is.', remedy: 'Ask who began it.' });
    await cancel(session, rotation, target, status.nonce, 'drop');
  }
  const counts = await askCounts(session, now);
  const started = await session.act({
    id: 'start',
    right: 'operate',
    request: `PUT /v1/${rotation.path}/init: ${counts.shares} shares, ${counts.threshold} of them open ${component.id}, in force once they are proved`,
    target,
    run: async (grant) => {
      const status = await rotation.start(grant, counts);
      await session.note(begunStep, status.nonce);
      return status;
    },
  });
  if (!started) throw new Error('an act that is not rehearsed has an outcome');
  return started;
}

/** A run that is gone on with knows how many it handed out. */
function initialOf(session: Session, { threshold }: RotationStatus): string {
  const handed = new Set(session.noted(handedOutStep)).size;
  if (session.noted(begunStep).length === 0) return 'leave';
  return handed >= threshold ? 'prove' : 'drop';
}

/** Its last act may have come to its end: a server tells which rotation is under way, and not which one was the last. */
async function isSettled(session: Session): Promise<boolean> {
  const way = await session.ask.choice({
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
  return way === 'in-force';
}

async function cancel(session: Session, rotation: ShareRotation, target: OpenVault['target'], nonce: string, id: string): Promise<void> {
  await session.act({
    id,
    right: 'operate',
    request: `DELETE /v1/${rotation.path}/init`,
    target,
    run: (grant) => rotation.cancel(grant, nonce),
  });
}

async function giveOut(
  session: Session,
  rotation: ShareRotation,
  vault: OpenVault,
  made: NewShares,
  { shares }: ShareCounts,
): Promise<void> {
  const isInForce = made.verificationNonce === '';
  const { id } = vault.component;
  const handouts = made.shares.map((value, at) => ({
    id: `share-${at + 1}`,
    label: `New key share ${at + 1} of ${shares}`,
    value,
    whose: `the holder of share ${at + 1}`,
  }));
  try {
    await handOut(session, handouts, {
      lost: (left) =>
        isInForce
          ? `They are in force already, and nobody has ${left.join(', ')}. They cannot be shown again.`
          : `Nobody has ${left.join(', ')} yet. The rotation is cancelled then, and the shares of before stay in force.`,
      detail: isInForce ? 'then rotate again at once, while it is open' : 'the shares of before stay in force',
      left: (left, cause) =>
        new Fault(
          isInForce
            ? {
                code: 'failed.handout',
                message: `The new shares of ${id} are in force, and nobody has ${left.join(', ')}.`,
                remedy: `While it is open, rotate again: quarterdeck vault rotate ${id}`,
                cause,
              }
            : {
                code: 'interrupted.handout',
                message: `The shares of before stay in force: the new ones of ${id} were not all handed out.`,
                remedy: 'Have who wrote a new one down throw it away. Rotate again when all holders are at hand.',
                cause,
              },
        ),
    });
  } catch (thrown) {
    if (thrown instanceof Fault && thrown.code === 'interrupted.handout' && !session.signal.aborted) {
      const { nonce } = await rotation.status(session.signal);
      await cancel(session, rotation, vault.target, nonce, 'cancel');
    }
    throw thrown;
  }
}

function rehearsed(session: Session, { component, status }: OpenVault): FlowOutcome {
  session.show({
    kind: 'text',
    text: `Would ask for a token and for ${status.threshold} of the ${status.shares} key shares in force, hand the new ones out, and put them in force once they are proved: PUT /v1/sys/rotate/root/init, update, verify (or sys/rekey where the server is older)`,
  });
  return { message: `Rehearsed: the key shares of ${component.id} are the same.` };
}

function leftAt(id: string, progress: number, required: number, cause: Fault): Fault {
  return new Fault({
    code: 'interrupted.cancelled',
    message: `The rotation stands at ${progress} of ${required} shares; those of before are in force.`,
    remedy: `Go on with it, or cancel it: quarterdeck vault rotate ${id}. Sealing or a restart ends it too.`,
    cause,
  });
}

function inForceAlready(id: string, { shares, threshold }: ShareCounts): FlowOutcome {
  return {
    message: `${id} says ${threshold} of ${shares} key shares open it. Whether those are the new ones shows when it is next unsealed: keep those of before until then.`,
    data: { shares, threshold },
    todo: {
      component: id,
      items: [
        {
          id: 'try-shares',
          title: 'See that the new shares open it',
          detail: `quarterdeck vault rotate ${id} takes shares that are in force, and no others`,
          byHand: true,
        },
      ],
    },
  };
}

function outcomeOf(id: string, { shares, threshold }: ShareCounts, recovery: boolean): FlowOutcome {
  return {
    message: recovery
      ? `${id} has new recovery shares: ${threshold} of ${shares} are enough. Those of before are worth nothing any more.`
      : `${id} has new key shares: ${threshold} of ${shares} open it. Those of before open nothing any more.`,
    data: { shares, threshold },
    todo: {
      component: id,
      items: [
        {
          id: 'old-shares',
          title: 'Have the old shares thrown away',
          detail: 'They still open snapshots and backups that were taken with them: keep as many of those together as you keep such.',
          byHand: true,
        },
        { id: 'snapshot', title: 'Take a snapshot under the new shares', detail: `quarterdeck vault snapshot ${id}`, byHand: false },
      ],
    },
  };
}

function unattended(): Fault {
  return new Fault({
    code: 'refused.unattended',
    message: 'New shares that nobody sees are lost at once: rotating them needs somebody at a terminal.',
    remedy: 'Run it in a terminal, with the holders at hand.',
  });
}
