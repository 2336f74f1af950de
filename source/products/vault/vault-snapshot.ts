import { Fault } from '../../faults/fault.ts';
import type { Procedure } from '../../flows/flow.ts';
import { fileOf, fileWord } from '../../flows/named-file.ts';
import { localFiles } from '../../hosts/local-files.ts';
import { cleanLine } from '../../text/clean.ts';
import { bytesText } from '../../text/quantities.ts';
import { takeSnapshot } from './client/raft-snapshot.ts';
import { openVaultOf, tokenFor } from './vault-open.ts';

export const snapshotLimitMs = 15 * 60_000;

export const snapshotFile = (name: string) => `./${name}-${new Date().toISOString().slice(0, 16).replace(/[T:]/g, '-')}.snap`;

export const vaultSnapshot: Procedure = async (session, input, context) => {
  const { component, endpoint, target, status } = await openVaultOf(session, input, context);
  const written = await fileWord(session, input.words[0], {
    label: 'Save the snapshot to which file of this machine?',
    initial: snapshotFile(component.id),
  });
  const path = fileOf(written);
  const shown = cleanLine(path);
  const there = await localFiles.facts(path, session.signal);
  if (there && there.kind !== 'file') throw new Fault('usage.path', `${shown} is no plain file.`, 'Name a file.');
  const may = 'read on sys/storage/raft/snapshot';
  const { token } = session.dryRun ? { token: 'none' } : await tokenFor(session, context, target, { may });
  const taken = await session.act({
    id: 'snapshot',
    right: there ? 'destroy' : 'reveal',
    ...(there && { title: `Replace ${shown}`, consequences: [`What is in it now is lost: ${bytesText(there.sizeBytes)}.`] }),
    request: `GET /v1/sys/storage/raft/snapshot into ${shown}`,
    target,
    limitMs: snapshotLimitMs,
    run: async (grant) => {
      session.progress({ id: 'snapshot', label: 'Taking it, and looking through it' });
      const { bytes, index, stateBytes } = await takeSnapshot(endpoint, token, grant.signal);
      await localFiles.write(grant, path, bytes, { mode: 0o600 });
      return { index, stateBytes, sizeBytes: bytes.length };
    },
  });
  if (!taken) return { message: 'Dry run: no snapshot was taken.' };
  session.progress({ id: 'snapshot', label: 'Taken', done: true });
  const facts = await localFiles.facts(path, session.signal);
  if (facts?.sizeBytes !== taken.sizeBytes)
    throw new Fault('failed.snapshot', `${shown} is not what was written.`, 'Look at the disk, and take it again.');
  const opens = status.recoverySeal
    ? `what opens it now (${status.type})`
    : `${status.threshold} of the ${status.shares} key shares of now`;
  return {
    message: `${shown}: ${bytesText(taken.sizeBytes)}, whole, as of index ${taken.index}. What is in it is encrypted: going back to it takes ${opens}.`,
    data: { file: path, ...taken, threshold: status.threshold, shares: status.shares },
  };
};
