import { Fault } from '../../faults/fault.ts';
import { unlessFault } from '../../faults/unless-fault.ts';
import { dryRunOf } from '../../flows/dry-run.ts';
import type { FlowInput, Procedure } from '../../flows/flow.ts';
import { optionOf } from '../../flows/flow-options.ts';
import { fileOf, fileWord } from '../../flows/named-file.ts';
import { replacing } from '../../flows/save-file.ts';
import { localFiles } from '../../hosts/local-files.ts';
import type { Act, Session } from '../../session/session.ts';
import { cleanLine } from '../../text/clean.ts';
import { bytesText } from '../../text/quantities.ts';
import { createSnapshot, readSnapshot, restoreSnapshot, snapshotLimitBytes } from './client/raft-snapshot.ts';
import { VaultAccess } from './client/vault-access.ts';
import { sealWhenBack } from './seal.ts';
import { type FlowVault, onOpenVault, openVaultOf, tokenFor } from './vault-open.ts';

const limitMs = 15 * 60_000;

const snapshotFile = (name: string) => `./${name}-${new Date().toISOString().slice(0, 16).replace(/[T:]/g, '-')}.snap`;

export const vaultSnapshot = onOpenVault(async (vault, input) => {
  const { session, component, status } = vault;
  const question = { label: 'File on this machine for the snapshot', initial: snapshotFile(component.id) };
  const path = fileOf(await fileWord(session, input.words[0], question));
  const replaced = await replacing(path, session.signal);
  const { token } = session.dryRun ? { token: 'none' } : await tokenFor(vault, { may: 'read on sys/storage/raft/snapshot' });
  const taken = await save(session, new VaultAccess(vault.endpoint, token), path, { id: 'snapshot', right: 'reveal', ...replaced });
  if (!taken) return { message: 'Dry run: no snapshot was created.' };
  const opens = status.recoverySeal
    ? `the current auto-unseal of the server (${status.type})`
    : `${status.threshold} of the ${status.shares} current key shares`;
  return {
    message: `Saved ${cleanLine(path)}: ${bytesText(taken.sizeBytes)}, complete, as of index ${taken.index}. The file is encrypted, and a restore requires ${opens}.`,
    data: { file: path, ...taken, threshold: status.threshold, shares: status.shares },
  };
});

/** Saves a snapshot to a file that only the operator can read. Returns undefined in a dry run. `saved` is called once it is there whole. */
async function save(
  session: Session,
  access: VaultAccess,
  path: string,
  act: Pick<Act<unknown>, 'id' | 'right' | 'title' | 'consequences'>,
  saved?: () => Promise<void>,
) {
  const shown = cleanLine(path);
  const taken = await session.act({
    ...act,
    request: `GET /v1/sys/storage/raft/snapshot into ${shown}`,
    limitMs,
    run: async (grant) => {
      session.progress({ id: 'snapshot', label: 'Creating and verifying the snapshot' });
      const { bytes, index, stateBytes } = await createSnapshot(access, grant.signal);
      await localFiles.write(grant, path, bytes, { mode: 0o600 });
      const sizeBytes = bytes.length;
      if ((await localFiles.facts(path, grant.signal))?.sizeBytes !== sizeBytes)
        throw new Fault('failed.snapshot', `${shown} differs from what was written.`, 'Check the disk, and create the snapshot again.');
      await saved?.();
      return { index, stateBytes, sizeBytes };
    },
  });
  if (taken) session.progress({ id: 'snapshot', label: 'Saved', done: true });
  return taken;
}

/** The server reloads all its data, and does not respond or is in standby meanwhile. */
const settlingMs = 60_000;
const restoredStep = 'restored';
const savedStep = 'saved';

export const vaultRestore: Procedure = async (session, input, context) => {
  const question = { label: 'Snapshot file on this machine', help: 'The snapshot is verified before anything is sent.' };
  const file = fileOf(await fileWord(session, input.words[0], question));
  const shown = cleanLine(file);
  const bytes = await localFiles.read(file, { signal: session.signal, limitBytes: snapshotLimitBytes });
  if (!bytes) throw new Fault('usage.path', `${shown} does not exist.`, 'Choose an existing snapshot.');
  const { index, stateBytes } = await readSnapshot(Buffer.from(bytes), session.signal);
  const evidence = `complete, as of index ${index}, ${bytesText(stateBytes)} of state`;
  session.show({ kind: 'item', id: 'snapshot', title: shown, state: 'ok', evidence });
  if (session.noted(restoredStep).length > 0) return { message: `${shown} was restored before the run was interrupted.` };
  const vault = await openVaultOf(session, input, context);
  const { component } = vault;
  const force = input.options['force'] === true;
  const request = `POST /v1/sys/storage/raft/snapshot${force ? '-force' : ''} with ${shown}`;
  if (session.dryRun) {
    const would = `prompt for a token, ${input.options['without-before'] === true ? '' : 'save the current state, '}and send ${request}`;
    return dryRunOf(session, would, `${component.id} was not changed.`);
  }
  const { token } = await tokenFor(vault, { may: 'update on sys/storage/raft/snapshot' });
  const access = new VaultAccess(vault.endpoint, token);
  const before = await saveBefore(input, vault, access, file);
  await session.act({
    id: 'restore',
    right: 'destroy',
    title: `Replace all data of ${component.id} with ${shown}`,
    request,
    consequences: [
      `All changes since the snapshot are lost: secrets, policies, roles, tokens. ${before === undefined ? 'The current state was not saved.' : `The current state is in ${before}.`}`,
      'Tokens created since then stop working, and earlier ones work again.',
      ...(force ? ['The server may be sealed afterwards, and only the key shares of the snapshot unseal it.'] : []),
    ],
    limitMs,
    run: async (grant) => {
      session.progress({ id: 'restore', label: 'Restoring the snapshot' });
      await restoreSnapshot(grant, access, bytes, force);
      await session.note(restoredStep, shown);
    },
  });
  session.progress({ id: 'restore', label: 'Restored', done: true });
  const { sealed } = await sealWhenBack(vault, settlingMs, () => true);
  // After its leader election a node is in standby for a moment, and cannot check tokens.
  const checked = sealed ? undefined : access.self(session.signal).then((facts) => facts !== undefined);
  const isKnown = checked && (await unlessFault(session.signal, checked));
  const state = sealed
    ? ' The server is sealed: unseal it with the key shares of the snapshot. If their number differs from before, restart the server first.'
    : ' The server is unsealed.';
  const login = isKnown === false ? ' The token that was used is not in the snapshot. Log in again.' : '';
  const title = 'Unseal the server with the shares of the snapshot';
  const unseal = { id: 'unseal', title, detail: `quarterdeck unseal ${component.id}`, byHand: false };
  return {
    message: `Restored ${component.id} from ${shown} (index ${index}).${state}${login}`,
    data: { file: shown, index, sealed, ...(before !== undefined && { before }) },
    ...(sealed && { todo: { component: component.id, items: [unseal] } }),
  };
};

/** Saves the current data to be able to roll back. Returns undefined if the operator declined that. */
async function saveBefore(input: FlowInput, { session, component }: FlowVault, access: VaultAccess, file: string) {
  const [saved] = session.noted(savedStep);
  if (saved !== undefined) return saved;
  if (input.options['without-before'] === true) return undefined;
  const written =
    optionOf(input, 'before') ??
    (await session.ask.text({
      id: 'before',
      label: 'File for the current state',
      help: 'Lets you return to the current state if you restore the wrong snapshot. Leave empty to skip.',
      initial: snapshotFile(`${component.id}-before`),
    }));
  if (written.trim() === '') return undefined;
  const path = fileOf(written);
  const shown = cleanLine(path);
  if (path === file || (await localFiles.facts(path, session.signal)))
    throw new Fault('refused.fileThere', `${shown} already exists.`, 'Choose another file. Nothing was changed.');
  await save(session, access, path, { id: 'save-before', right: 'reveal' }, () => session.note(savedStep, shown));
  return shown;
}
