import { join } from 'node:path';
import { Fault, messageOf } from '../../faults/fault.ts';
import { askChoice } from '../../flows/ask-choice.ts';
import type { FlowInput, FlowOutcome, Procedure } from '../../flows/flow.ts';
import { optionsOf } from '../../flows/flow-options.ts';
import { fileOf, fileWord } from '../../flows/named-file.ts';
import { deliveredStep, deliverSecrets } from '../../flows/secrets/deliver.ts';
import type { Grant } from '../../grants/grant.ts';
import { localFiles } from '../../hosts/local-files.ts';
import type { Session } from '../../session/session.ts';
import { cleanLine } from '../../text/clean.ts';
import { parseJson } from '../../text/json-value.ts';
import { countText } from '../../text/quantities.ts';
import { shareNumber, shareProblem } from './client/key-share.ts';
import { pgpPublicKey } from './client/pgp-key.ts';
import type { SealStatus } from './client/secrets-manager.ts';
import { promptCounts, type ShareCounts, shareDeliveries, shareLabels } from './key-shares.ts';
import { type FlowVault, requirePerson, vaultOf } from './vault-open.ts';

export const initialise: Procedure = async (session, input, context) => {
  const vault = await vaultOf(session, input, context);
  const { component, manager, status } = vault;
  if (status.initialized) return initialisedAlready(session, component.id);
  requirePerson(session, 'A terminal is required, because the key shares are shown only once.');
  // For any seal except Shamir's they are recovery shares.
  const recovery = status.type !== 'shamir' && status.type !== '';
  const counts = await promptCounts(session, recovery);
  const sealing = await askReady(session, input, { ...counts, recovery }, component.id);
  const labels = shareLabels(recovery ? 'Recovery share' : 'Key share', counts.shares);
  await session.note(toHandOutStep, JSON.stringify([...(sealing ? [] : labels), rootLabel]));
  if (sealing) await session.note(savedInStep, sealing.folder);
  const made = await session
    .act({
      id: 'initialise',
      right: 'reveal',
      request: `PUT /v1/sys/init: ${counts.shares} ${recovery ? 'recovery' : 'key'} shares, threshold ${counts.threshold}${sealing ? `, each encrypted with the PGP key of its holder and saved in ${cleanLine(sealing.folder)}` : ''}`,
      run: async (grant) => {
        const keys = await manager.initialise(grant, { ...counts, recovery, ...(sealing && { pgpKeys: sealing.keys }) });
        for (const secret of [keys.rootToken, ...(sealing ? [] : keys.shares)]) session.hide(secret);
        return { ...keys, ...(sealing && { unsaved: await saveSealed(grant, sealing, keys.shares) }) };
      },
    })
    .catch((thrown: unknown) => afterNoAnswer(vault, thrown));
  if (!made) return { message: `Dry run: ${component.id} was not initialised.` };
  if (sealing) await handSealedOut(session, sealing, made, counts);
  const handouts = shareDeliveries(sealing ? [] : made.shares, labels);
  const root = { id: 'root', label: rootLabel, value: made.rootToken, whose: 'the administrator' };
  await deliverSecrets(session, [...handouts, root], {
    lost: (left) => `Not delivered yet: ${left.join(', ')}. Keys are not stored and cannot be shown again later.`,
    detail: 'the server data must then be removed to start again',
    left: (left) => ({
      code: 'failed.handout',
      message: `${component.id} is initialised, but these keys were not delivered and are lost: ${left.join(', ')}.`,
      remedy: `The server is new and empty: ${startOverText(component.id)}.`,
    }),
  });
  const saved = sealing && (made.unsaved ? 'showed the encrypted shares' : `saved the encrypted shares in ${cleanLine(sealing.folder)}`);
  const delivered = saved ?? 'delivered every share to its holder';
  return outcomeOf(await manager.seal(session.signal), { ...counts, recovery, delivered }, component.id);
};

const rootLabel = 'Root token';
const toHandOutStep = 'to-hand-out';
const savedInStep = 'saved-in';

const startOverText = (id: string) => `remove its data (quarterdeck remove ${id} --data ${id}), deploy and initialise it again`;

/** An interrupted run may have initialised the server without handing out all keys. */
function initialisedAlready(session: Session, id: string): FlowOutcome {
  const [wanted] = session.noted(toHandOutStep);
  const handed = session.noted(deliveredStep);
  const left = wanted === undefined ? [] : (parseJson(wanted) as string[]).filter((label) => !handed.includes(label));
  if (left.length === 0) return { message: `${id} is already initialised.` };
  const [folder] = session.noted(savedInStep);
  const saved = folder === undefined ? '' : ` Encrypted shares that were already saved are in ${cleanLine(folder)}.`;
  const message = `The initialisation of ${id} was interrupted. Not delivered and lost: ${left.join(', ')}.${saved}`;
  throw new Fault('failed.handout', message, `The server is new and empty: ${startOverText(id)}. Destroy shares that were written down.`);
}

async function askReady(session: Session, input: FlowInput, counts: ShareCounts & { recovery: boolean }, id: string) {
  const { shares, threshold, recovery } = counts;
  const named = optionsOf(input, 'pgp') ?? [];
  const chosen = await askChoice(session, {
    id: 'ready',
    label: `Create ${shares} ${recovery ? 'recovery' : 'key'} shares, ${threshold} of which ${recovery ? 'are required' : 'unseal the server'}`,
    help: 'Each share is shown once to its holder, who writes it down and types it again. The root token follows. Nothing is stored, so if you quit before the end, you must start again.',
    choices: {
      yes: ['Create', 'requires all holders to be present'],
      pgp: ['Create, encrypted with PGP', 'shares are not shown: each holder decrypts their own'],
      no: 'Not now',
    },
    initial: named.length > 0 ? 'pgp' : 'yes',
  });
  if (chosen === 'no') throw new Fault('interrupted.cancelled', 'Nothing was created.', 'Start again when the holders are available.');
  return chosen === 'pgp' ? askPgpKeys(session, named, counts, id) : undefined;
}

/** The lost answer had the only copy of the keys. */
async function afterNoAnswer({ session, manager, component: { id } }: FlowVault, thrown: unknown): Promise<never> {
  if (!(thrown instanceof Fault) || thrown.kind !== 'unreachable' || session.signal.aborted) throw thrown;
  const now = await manager.seal(session.signal).catch(() => undefined);
  if (now?.initialized === false) throw thrown;
  const message = now
    ? `${id} was initialised, but its response was lost, so its keys are lost.`
    : `${id} stopped responding during initialisation; if it completed, its keys are lost.`;
  const remedy = `Check whether ${id} is initialised. If so, it is empty and its keys are lost: ${startOverText(id)}.`;
  throw new Fault('failed.handout', message, remedy, { cause: thrown });
}

function outcomeOf({ sealed, type }: SealStatus, made: ShareCounts & { recovery: boolean; delivered: string }, id: string): FlowOutcome {
  const { shares, threshold, recovery, delivered } = made;
  const way = recovery ? `it unseals automatically (${type})` : `unseal it with ${threshold} of the ${shares} shares`;
  const opened = sealed ? ` The server is sealed: ${way}.` : ' The server is unsealed.';
  const unseal = { id: 'unseal', title: `Unseal the server with ${threshold} shares`, detail: `quarterdeck unseal ${id}`, byHand: false };
  return {
    message: `Initialised ${id} and ${delivered}.${opened}`,
    data: { sealed, shares, threshold },
    todo: {
      component: id,
      items: [
        ...(sealed && !recovery ? [unseal] : []),
        {
          id: 'second-admin',
          title: 'Create an admin token, test it, then revoke the root token',
          detail: `quarterdeck vault admin ${id}, then quarterdeck vault revoke-root ${id}. By default, newer versions cannot create a root token without a login.`,
          byHand: true,
        },
      ],
    },
  };
}

const keyLimitBytes = 256 * 1024;

type SealedShares = Awaited<ReturnType<typeof askPgpKeys>>;

/** Returns the holders' public keys, base64, from the files in `--pgp` or in the answers of prompts. Throws `usage.pgp`. */
async function askPgpKeys(session: Session, named: readonly string[], { shares }: ShareCounts, id: string) {
  if (named.length > 0 && named.length !== shares) {
    const message = `${named.length === 1 ? 'One public key was' : `${named.length} public keys were`} passed for ${countText(shares, 'share')}.`;
    throw new Fault('usage.pgp', message, 'Pass one public key for each share, in the order of the holders.');
  }
  const keys: string[] = [];
  for (let at = 0; at < shares; at++) {
    const question = { id: `pgp-${at + 1}`, label: `Public key file of holder ${at + 1}`, help: 'The output of gpg --export KEY.' };
    const path = fileOf(await fileWord(session, named[at], question));
    const content = await localFiles.read(path, { signal: session.signal, limitBytes: keyLimitBytes });
    const { base64, problem } = content ? pgpPublicKey(content) : { problem: 'The file does not exist.' };
    if (base64 === undefined) throw new Fault('usage.pgp', `${cleanLine(path)}: ${problem}`, 'Nothing was created. Choose another file.');
    keys.push(base64);
  }
  const folder = await session.ask.text({
    id: 'folder',
    label: 'Folder on this machine for the encrypted shares',
    help: 'Each share can be decrypted only with the secret key of its holder.',
    initial: `./${id}-shares`,
    check: (text) => (text.trim() === '' ? 'Enter a folder.' : undefined),
  });
  return { keys, folder: fileOf(folder), files: keys.map((_, at) => join(fileOf(folder), `share-${at + 1}.pgp.base64`)) };
}

/**
 * Saves the encrypted shares in the action that creates them: the server returns them only once, and the run may be interrupted later.
 * Returns why they could not be saved; undefined if they were.
 */
async function saveSealed(grant: Grant, sealing: SealedShares, sealed: readonly string[]): Promise<string | undefined> {
  try {
    await localFiles.makeFolder(grant, sealing.folder, { mode: 0o700 });
    for (const [at, file] of sealing.files.entries())
      await localFiles.write(grant, file, Buffer.from(`${inBase64(sealed[at] ?? '')}\n`), { mode: 0o600 });
    return undefined;
  } catch (thrown) {
    return messageOf(thrown);
  }
}

const inBase64 = (hex: string) => Buffer.from(hex, 'hex').toString('base64');

type Made = { shares: readonly string[]; unsaved?: string | undefined };

async function handSealedOut(session: Session, { files }: SealedShares, { shares: sealed, unsaved }: Made, counts: ShareCounts) {
  if (unsaved !== undefined) {
    session.show({ kind: 'text', text: `The encrypted shares could not be saved: ${unsaved} Copy them from here:` });
    for (const [at, hex] of sealed.entries()) session.show({ kind: 'text', text: `Key share ${at + 1}, encrypted: ${inBase64(hex)}` });
  }
  const proved = new Set<number | undefined>();
  // Cancelling skips only the remaining verifications: the root token still has to be handed out.
  let left = false;
  for (const [at, file] of files.entries()) {
    const where = unsaved === undefined ? cleanLine(file) : 'the share shown above';
    const typed: string | undefined = left ? '' : await opened(session, at + 1, where, counts, proved);
    left ||= typed === undefined;
    proved.add(shareNumber(typed ?? ''));
    const evidence = typed ? 'decrypted by its holder' : `not decrypted yet: ${where}`;
    const title = `Key share ${at + 1} of ${counts.shares}`;
    session.show({ kind: 'item', id: `share-${at + 1}`, title, state: typed ? 'ok' : 'warning', evidence });
  }
}

async function opened(session: Session, number: number, where: string, counts: ShareCounts, proved: ReadonlySet<number | undefined>) {
  try {
    const typed = await session.ask.secret({
      id: `share-${number}-proof`,
      label: `Key share ${number}, decrypted by its holder`,
      help: `Decrypt ${where} (base64 -d, then gpg -d), and type the result. Leave empty to skip this check.`,
      check: (text) => (text.trim() === '' ? undefined : shareProblem(text, counts, proved)),
    });
    return typed.trim();
  } catch (thrown) {
    if (session.signal.aborted || !(thrown instanceof Fault) || thrown.kind !== 'interrupted') throw thrown;
    return undefined;
  }
}
