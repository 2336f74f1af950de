import { Fault } from '../faults/fault.ts';
import type { SealStatus, SecretsManager } from '../products/secrets-manager.ts';
import type { Session } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { parseJson } from '../text/json-value.ts';
import { initialiseAbout } from './about-vault.ts';
import type { Flow, FlowInput, FlowOutcome } from './flow.ts';
import { handedOutStep, handOut } from './hand-out.ts';
import { askPgpKeys, handSealedOut, type SealedShares, saveSealed } from './initialise-pgp.ts';
import { componentOf } from './service-targets.ts';
import { askCounts, type ShareCounts } from './share-counts.ts';
import { secretsManagerOf } from './vault-target.ts';

export const initialise: Flow = {
  ...initialiseAbout,
  async run(session, input, world) {
    const component = componentOf(input);
    const manager = await secretsManagerOf(world, component, session.signal);
    const status = await manager.seal(session.signal);
    if (status.initialized) return initialisedAlready(session, component.id);
    if (!session.attended) throw unattended();
    const counts = await askCounts(session);
    const sealing = await askReady(session, input, counts, component.id);
    const target = { host: input.place, component: component.id };
    // Only a seal of shares is opened by them; of another kind they are for recovery.
    const recovery = status.type !== 'shamir' && status.type !== '';
    const labels = shareLabels(counts, recovery);
    await session.note(toHandOutStep, JSON.stringify([...(sealing ? [] : labels), rootLabel]));
    if (sealing) await session.note(savedInStep, sealing.folder);
    const made = await session
      .act({
        id: 'initialise',
        right: 'reveal',
        request: `PUT /v1/sys/init: ${counts.shares} shares${sealing ? `, each sealed with the PGP key of its holder and saved in ${cleanLine(sealing.folder)}` : ''}, ${counts.threshold} of them open it`,
        target,
        run: async (grant) => {
          const keys = await manager.initialise(grant, { ...counts, recovery, ...(sealing && { pgpKeys: sealing.keys }) });
          for (const secret of [keys.rootToken, ...(sealing ? [] : keys.shares)]) session.hide(secret);
          return { ...keys, ...(sealing && { unsaved: await saveSealed(grant, sealing, keys.shares) }) };
        },
      })
      .catch((thrown: unknown) => afterNoAnswer(session, manager, component.id, thrown));
    if (!made) return { message: `Rehearsed: ${component.id} is still without keys.` };
    if (sealing) await handSealedOut(session, sealing, made, counts);
    const handouts = (sealing ? [] : made.shares).map((value, at) => ({
      id: `share-${at + 1}`,
      label: labels[at] ?? '',
      value,
      whose: `the holder of share ${at + 1}`,
    }));
    const root = { id: 'root', label: rootLabel, value: made.rootToken, whose: 'who sets the secrets manager up' };
    await handOut(session, [...handouts, root], {
      lost: (left) => `Nobody has these yet: ${left.join(', ')}. They are kept nowhere, and cannot be shown again later.`,
      detail: 'then its data has to be removed, and all begins anew',
      left: (left, cause) => lost(left, component.id, cause),
    });
    return outcomeOf(await manager.seal(session.signal), counts, component.id);
  },
};

const rootLabel = 'Root token';
/** Under which a run notes what it is going to hand out, and where sealed shares are saved. */
const toHandOutStep = 'to-hand-out';
const savedInStep = 'saved-in';

function shareLabels({ shares }: ShareCounts, recovery: boolean): string[] {
  return Array.from({ length: shares }, (_, at) => `${recovery ? 'Recovery share' : 'Key share'} ${at + 1} of ${shares}`);
}

/** By somebody else, or by a run that broke off and took along what it had not handed out. */
function initialisedAlready(session: Session, id: string): FlowOutcome {
  const [wanted] = session.noted(toHandOutStep);
  const handed = session.noted(handedOutStep);
  const left = wanted === undefined ? [] : (parseJson(wanted) as string[]).filter((label) => !handed.includes(label));
  if (left.length === 0) return { message: `${id} is initialised already.` };
  const [folder] = session.noted(savedInStep);
  const saved = folder === undefined ? '' : ` The sealed shares are in ${cleanLine(folder)}, if it came so far.`;
  throw new Fault({
    code: 'failed.handout',
    message: `The run broke off while ${id} was initialised: nobody has ${left.join(', ')}. They are gone.${saved}`,
    remedy: `It is new and empty: remove its data (quarterdeck remove ${id} --data ${id}), deploy and initialise it again. Have who wrote a share down throw it away.`,
  });
}

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
    remedy: `Look whether it is initialised. If so, it is empty and its keys are gone: remove its data (quarterdeck remove ${id} --data ${id}), deploy and initialise it again.`,
    cause: thrown,
  });
}

function lost(left: readonly string[], id: string, cause: Fault): Fault {
  return new Fault({
    code: 'failed.handout',
    message: `${id} is initialised, and nobody has ${left.join(', ')}. They are gone.`,
    remedy: `It is new and empty: remove its data (quarterdeck remove ${id} --data ${id}), deploy and initialise it again.`,
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
