import { Fault } from '../faults/fault.ts';
import type { SealStatus, SecretsManager } from '../products/secrets-manager.ts';
import type { Session } from '../session/session.ts';
import { initialiseAbout } from './about-vault.ts';
import type { Flow, FlowInput, FlowOutcome } from './flow.ts';
import { handOut } from './hand-out.ts';
import { askPgpKeys, handSealedOut, type SealedShares } from './initialise-pgp.ts';
import { componentOf } from './service-targets.ts';
import { askCounts, type ShareCounts } from './share-counts.ts';
import { secretsManagerOf } from './vault-target.ts';

export const initialise: Flow = {
  ...initialiseAbout,
  async run(session, input, world) {
    const component = componentOf(input);
    const manager = await secretsManagerOf(world, component, session.signal);
    const status = await manager.seal(session.signal);
    if (status.initialized) return { message: `${component.id} is initialised already.` };
    if (!session.attended) throw unattended();
    const counts = await askCounts(session);
    const sealing = await askReady(session, input, counts, component.id);
    const target = { host: input.place, component: component.id };
    // Only a seal of shares is opened by them; of another kind they are for recovery.
    const recovery = status.type !== 'shamir' && status.type !== '';
    const made = await session
      .act({
        id: 'initialise',
        right: 'reveal',
        request: `PUT /v1/sys/init: ${counts.shares} shares${sealing ? ', each sealed with the PGP key of its holder' : ''}, ${counts.threshold} of them open it`,
        target,
        run: (grant) => manager.initialise(grant, { ...counts, recovery, ...(sealing && { pgpKeys: sealing.keys }) }),
      })
      .catch((thrown: unknown) => afterNoAnswer(session, manager, component.id, thrown));
    if (!made) return { message: `Rehearsed: ${component.id} is still without keys.` };
    session.hide(made.rootToken);
    if (sealing) await handSealedOut(session, sealing, made.shares, target, counts);
    const shares = sealing ? [] : made.shares;
    const handouts = shares.map((value, at) => ({
      id: `share-${at + 1}`,
      label: `${recovery ? 'Recovery share' : 'Key share'} ${at + 1} of ${counts.shares}`,
      value,
      whose: `the holder of share ${at + 1}`,
    }));
    const root = { id: 'root', label: 'Root token', value: made.rootToken, whose: 'who sets the secrets manager up' };
    await handOut(session, [...handouts, root], {
      lost: (left) => `Nobody has these yet: ${left.join(', ')}. They are kept nowhere, and cannot be shown again later.`,
      detail: 'then its data has to be removed, and all begins anew',
      left: (left, cause) => lost(left, component.id, cause),
    });
    return outcomeOf(await manager.seal(session.signal), counts, component.id);
  },
};

/** What the shares are sealed with, where they are. Throws `interrupted.cancelled` for "not now". */
async function askReady(session: Session, { options }: FlowInput, counts: ShareCounts, id: string): Promise<SealedShares | undefined> {
  const { shares, threshold } = counts;
  const named = Array.isArray(options['pgp']) ? (options['pgp'] as readonly string[]) : [];
  const way = await session.ask.choice({
    id: 'ready',
    label: `Make ${shares} key shares, ${threshold} of which open it?`,
    help: 'Each is shown once, to its holder, who writes it down and types it again. Then the root token. Nothing of it is kept: whoever leaves in the middle has to begin anew.',
    choices: [
      { value: 'yes', label: 'Make them', detail: 'the holders are here' },
      { value: 'pgp', label: 'Make them, sealed with PGP', detail: 'nobody here sees one: each holder opens theirs' },
      { value: 'no', label: 'Not now' },
    ],
    initial: named.length > 0 ? 'pgp' : 'yes',
  });
  if (way === 'no')
    throw new Fault({ code: 'interrupted.cancelled', message: 'Nothing was made.', remedy: 'Come back when the holders are at hand.' });
  return way === 'pgp' ? askPgpKeys(session, named, counts, id) : undefined;
}

/** An answer that was lost on its way has taken the keys along: nothing tells them again. */
async function afterNoAnswer(session: Session, manager: SecretsManager, id: string, thrown: unknown): Promise<never> {
  if (!(thrown instanceof Fault) || thrown.kind !== 'unreachable' || session.signal.aborted) throw thrown;
  const now = await manager.seal(session.signal).catch(() => undefined);
  if (now?.initialized === false) throw thrown;
  throw new Fault({
    code: 'failed.handout',
    message: now
      ? `${id} was initialised, and its answer was lost on the way: nobody has its keys.`
      : `${id} was told to initialise itself and went away; if it did, nobody has its keys.`,
    remedy: `Look whether it is initialised. If so, it is empty and its keys are gone: remove its data (quarterdeck remove ${id} --data), deploy and initialise it again.`,
    cause: thrown,
  });
}

function lost(left: readonly string[], id: string, cause: Fault): Fault {
  return new Fault({
    code: 'failed.handout',
    message: `${id} is initialised, and nobody has ${left.join(', ')}. They are gone.`,
    remedy: `It is new and empty: remove its data (quarterdeck remove ${id} --data), deploy and initialise it again.`,
    cause,
  });
}

function outcomeOf({ sealed }: SealStatus, { shares, threshold }: { shares: number; threshold: number }, id: string): FlowOutcome {
  const opened = sealed ? ` It is sealed: ${threshold} of the ${shares} holders open it with "unseal".` : ' It is open.';
  return {
    message: `${id} is initialised, and every share is in the hands of its holder.${opened}`,
    data: { sealed, shares, threshold },
    todo: {
      component: id,
      items: [
        ...(sealed
          ? [{ id: 'unseal', title: `Unseal it with ${threshold} shares`, detail: `quarterdeck unseal ${id}`, byHand: false }]
          : []),
        {
          id: 'second-admin',
          title: 'Make another admin token, try it, then revoke the root token',
          detail: `quarterdeck vault admin ${id}, then quarterdeck vault revoke-root ${id}. Newer releases have no way to a new root token without a login.`,
          byHand: true,
        },
      ],
    },
  };
}

function unattended(): Fault {
  return new Fault({
    code: 'refused.unattended',
    message: 'Shares that nobody sees are lost at once: initialising needs somebody at a terminal.',
    remedy: 'Run it in a terminal, with the holders at hand.',
  });
}
