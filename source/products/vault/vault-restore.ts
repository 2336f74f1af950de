import { Fault } from '../../faults/fault.ts';
import { unlessFault } from '../../faults/unless-fault.ts';
import { dryRunOf } from '../../flows/dry-run.ts';
import type { FlowInput, Procedure } from '../../flows/flow.ts';
import { optionOf } from '../../flows/flow-options.ts';
import { fileOf, fileWord } from '../../flows/named-file.ts';
import { localFiles } from '../../hosts/local-files.ts';
import type { Session } from '../../session/session.ts';
import { cleanLine } from '../../text/clean.ts';
import { bytesText } from '../../text/quantities.ts';
import { readSnapshot, restoreSnapshot, snapshotLimitBytes, takeSnapshot } from './client/raft-snapshot.ts';
import { VaultTokens } from './client/vault-tokens.ts';
import { sealWhenBack } from './seal-status.ts';
import { type OpenVault, openVaultOf, tokenFor } from './vault-open.ts';
import { snapshotFile, snapshotLimitMs } from './vault-snapshot.ts';

/** The server reloads all its data, and does not answer or is in standby meanwhile. */
const settlingMs = 60_000;
const restoredStep = 'restored';
const savedStep = 'saved';

export const vaultRestore: Procedure = async (session, input, context) => {
  const written = await fileWord(session, input.words[0], {
    label: 'Which snapshot, a file of this machine?',
    help: 'It is looked through before anything is sent.',
  });
  const file = fileOf(written);
  const shown = cleanLine(file);
  const bytes = await localFiles.read(file, { signal: session.signal, limitBytes: snapshotLimitBytes });
  if (!bytes) throw new Fault('usage.path', `There is no file ${shown}.`, 'Name a snapshot that was taken.');
  const { index, stateBytes } = await readSnapshot(Buffer.from(bytes), session.signal);
  const evidence = `whole, as of index ${index}, ${bytesText(stateBytes)} of state`;
  session.show({ kind: 'item', id: 'snapshot', title: shown, state: 'ok', evidence });
  if (session.noted(restoredStep).length > 0) return { message: `${shown} was put in place before the run broke off.` };
  const vault = await openVaultOf(session, input, context);
  const { component, endpoint, target } = vault;
  if (session.dryRun) {
    const would = `ask for a token, save what is there now, and send POST /v1/sys/storage/raft/snapshot with ${shown}`;
    return dryRunOf(session, would, `${component.id} is as it was.`);
  }
  const { token } = await tokenFor(session, context, target, { may: 'update on sys/storage/raft/snapshot' });
  const before = await saveBefore(session, input, vault, token, file);
  const force = input.options['force'] === true;
  await session.act({
    id: 'restore',
    right: 'destroy',
    title: `Put ${shown} in the place of all that ${component.id} holds`,
    request: `POST /v1/sys/storage/raft/snapshot${force ? '-force' : ''} with ${shown}`,
    target,
    consequences: [
      `All that was written there since is lost: secrets, policies, roles, tokens. ${before === undefined ? 'What is there now was not saved.' : `What is there now is in ${before}.`}`,
      'Tokens that were made since open nothing any more, and those of then do again.',
      ...(force ? ['It may be sealed afterwards, and opens with the key shares of the snapshot alone.'] : []),
    ],
    limitMs: snapshotLimitMs,
    run: async (grant) => {
      session.progress({ id: 'restore', label: 'Putting the snapshot in place' });
      await restoreSnapshot(grant, endpoint, token, bytes, force);
      await session.note(restoredStep, shown);
    },
  });
  session.progress({ id: 'restore', label: 'In place', done: true });
  const { sealed, threshold, shares } = await sealWhenBack(session, vault.manager, settlingMs, () => true);
  // After its leader election a node is in standby for a moment, and cannot check tokens.
  const checked = sealed ? undefined : new VaultTokens(endpoint, token).self(session.signal).then((facts) => facts !== undefined);
  const isKnown = checked && (await unlessFault(session.signal, checked));
  const state = sealed
    ? ` It is sealed: ${threshold} of the ${shares} key shares of the snapshot open it. Where it says that it cannot set up the key, restart it first.`
    : ' It is open.';
  const login = isKnown === false ? ' The token that was given is none of the snapshot: log in anew.' : '';
  const unseal = {
    id: 'unseal',
    title: 'Unseal it with the shares of the snapshot',
    detail: `quarterdeck unseal ${component.id}`,
    byHand: false,
  };
  return {
    message: `${component.id} is as it was in ${shown} (index ${index}).${state}${login}`,
    data: { file: shown, index, sealed, ...(before !== undefined && { before }) },
    ...(sealed && { todo: { component: component.id, items: [unseal] } }),
  };
};

/** Saves the current data to be able to roll back. Returns undefined if the operator declined that. */
async function saveBefore(session: Session, input: FlowInput, vault: OpenVault, token: string, file: string): Promise<string | undefined> {
  const [saved] = session.noted(savedStep);
  if (saved !== undefined) return saved;
  if (input.options['without-before'] === true) return undefined;
  const { component, endpoint, target } = vault;
  const written =
    optionOf(input, 'before') ??
    (await session.ask.text({
      id: 'before',
      label: 'Save what is there now to which file first?',
      help: 'The way back, should the snapshot be the wrong one. Empty: it is not saved.',
      initial: snapshotFile(`${component.id}-before`),
    }));
  if (written.trim() === '') return undefined;
  const path = fileOf(written);
  const shown = cleanLine(path);
  if (path === file || (await localFiles.facts(path, session.signal)))
    throw new Fault('refused.fileThere', `${shown} is there already.`, 'Name another file. Nothing was changed.');
  await session.act({
    id: 'save-before',
    right: 'reveal',
    request: `GET /v1/sys/storage/raft/snapshot into ${shown}`,
    target,
    limitMs: snapshotLimitMs,
    run: async (grant) => {
      const { bytes } = await takeSnapshot(endpoint, token, grant.signal);
      await localFiles.write(grant, path, bytes, { mode: 0o600 });
      await session.note(savedStep, shown);
    },
  });
  return shown;
}
