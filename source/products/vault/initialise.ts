import { Fault } from '../../faults/fault.ts';
import { componentOf } from '../../flows/components/service-targets.ts';
import type { FlowInput, FlowOutcome, Procedure } from '../../flows/flow.ts';
import { optionsOf } from '../../flows/flow-options.ts';
import { handedOutStep, handOut } from '../../flows/secrets/deliver.ts';
import type { Session } from '../../session/session.ts';
import { cleanLine } from '../../text/clean.ts';
import { parseJson } from '../../text/json-value.ts';
import type { SealStatus, SecretsManager } from './client/secrets-manager.ts';
import { askPgpKeys, handSealedOut, type SealedShares, saveSealed } from './initialise-pgp.ts';
import { askCounts, type ShareCounts, shareHandouts, shareLabels } from './share-counts.ts';
import { requirePerson, secretsManagerOf } from './vault-open.ts';

export const initialise: Procedure = async (session, input, context) => {
  const component = componentOf(input);
  const manager = await secretsManagerOf(context, component, session.signal);
  const status = await manager.seal(session.signal);
  if (status.initialized) return initialisedAlready(session, component.id);
  requirePerson(session, 'Shares that nobody sees are lost at once: initialising needs somebody at a terminal.');
  const counts = await askCounts(session);
  const sealing = await askReady(session, input, counts, component.id);
  const target = { host: input.engineName, component: component.id };
  // For any seal except Shamir's they are recovery shares.
  const recovery = status.type !== 'shamir' && status.type !== '';
  const labels = shareLabels(recovery ? 'Recovery share' : 'Key share', counts.shares);
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
  if (!made) return { message: `Dry run: ${component.id} is still without keys.` };
  if (sealing) await handSealedOut(session, sealing, made, counts);
  const handouts = shareHandouts(sealing ? [] : made.shares, labels);
  const root = { id: 'root', label: rootLabel, value: made.rootToken, whose: 'who sets the secrets manager up' };
  await handOut(session, [...handouts, root], {
    lost: (left) => `Nobody has these yet: ${left.join(', ')}. They are kept nowhere, and cannot be shown again later.`,
    detail: 'then its data has to be removed, and all begins anew',
    left: (left, cause) =>
      new Fault(
        'failed.handout',
        `${component.id} is initialised, and nobody has ${left.join(', ')}. They are gone.`,
        `It is new and empty: ${startOverText(component.id)}.`,
        { cause },
      ),
  });
  return outcomeOf(await manager.seal(session.signal), counts, component.id);
};

const rootLabel = 'Root token';
const toHandOutStep = 'to-hand-out';
const savedInStep = 'saved-in';

const startOverText = (id: string) => `remove its data (quarterdeck remove ${id} --data ${id}), deploy and initialise it again`;

/** An interrupted run may have initialised the server without handing out all keys. */
function initialisedAlready(session: Session, id: string): FlowOutcome {
  const [wanted] = session.noted(toHandOutStep);
  const handed = session.noted(handedOutStep);
  const left = wanted === undefined ? [] : (parseJson(wanted) as string[]).filter((label) => !handed.includes(label));
  if (left.length === 0) return { message: `${id} is initialised already.` };
  const [folder] = session.noted(savedInStep);
  const saved = folder === undefined ? '' : ` The sealed shares are in ${cleanLine(folder)}, if it came so far.`;
  throw new Fault(
    'failed.handout',
    `The run broke off while ${id} was initialised: nobody has ${left.join(', ')}. They are gone.${saved}`,
    `It is new and empty: ${startOverText(id)}. Have who wrote a share down throw it away.`,
  );
}

async function askReady(session: Session, input: FlowInput, counts: ShareCounts, id: string): Promise<SealedShares | undefined> {
  const { shares, threshold } = counts;
  const named = optionsOf(input, 'pgp') ?? [];
  const chosen = await session.ask.choice({
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
  if (chosen === 'no') throw new Fault('interrupted.cancelled', 'Nothing was made.', 'Come back when the holders are at hand.');
  return chosen === 'pgp' ? askPgpKeys(session, named, counts, id) : undefined;
}

/** The lost answer had the only copy of the keys. */
async function afterNoAnswer(session: Session, manager: SecretsManager, id: string, thrown: unknown): Promise<never> {
  if (!(thrown instanceof Fault) || thrown.kind !== 'unreachable' || session.signal.aborted) throw thrown;
  const now = await manager.seal(session.signal).catch(() => undefined);
  if (now?.initialized === false) throw thrown;
  throw new Fault(
    'failed.handout',
    now
      ? `${id} was initialised, and its answer was lost on the way: nobody has its keys.`
      : `${id} was told to initialise itself and went away; if it did, nobody has its keys.`,
    `Look whether it is initialised. If so, it is empty and its keys are gone: ${startOverText(id)}.`,
    { cause: thrown },
  );
}

function outcomeOf({ sealed }: SealStatus, { shares, threshold }: ShareCounts, id: string): FlowOutcome {
  const opened = sealed ? ` It is sealed: ${threshold} of the ${shares} holders open it with "unseal".` : ' It is open.';
  const unseal = { id: 'unseal', title: `Unseal it with ${threshold} shares`, detail: `quarterdeck unseal ${id}`, byHand: false };
  return {
    message: `${id} is initialised, and every share is in the hands of its holder.${opened}`,
    data: { sealed, shares, threshold },
    todo: {
      component: id,
      items: [
        ...(sealed ? [unseal] : []),
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
