import { Fault } from '../faults/fault.ts';
import { localFiles } from '../hosts/local-files.ts';
import { takeSnapshot } from '../products/raft-snapshot.ts';
import { cleanLine } from '../text/clean.ts';
import { bytesText } from '../text/quantities.ts';
import { vaultSnapshotAbout } from './about-vault.ts';
import type { Flow } from './flow.ts';
import { fileOf } from './secrets-exchange.ts';
import { openVaultOf, tokenFor } from './vault-open.ts';

const limitMs = 15 * 60_000;

export const vaultSnapshot: Flow = {
  ...vaultSnapshotAbout,
  async run(session, input, world) {
    const { component, place, target, status } = await openVaultOf(session, input, world);
    const written =
      input.words[0] ??
      (await session.ask.text({
        id: 'file',
        label: 'Save the snapshot to which file of this machine?',
        initial: `./${component.id}-${new Date().toISOString().slice(0, 16).replace(/[T:]/g, '-')}.snap`,
        check: (path) => (path.trim() === '' ? 'Name a file.' : undefined),
      }));
    const path = fileOf(written);
    const shown = cleanLine(path);
    const there = await localFiles.facts(path, session.signal);
    if (there && there.kind !== 'file')
      throw new Fault({ code: 'usage.path', message: `${shown} is no plain file.`, remedy: 'Name a file.' });
    const { token } = session.rehearsing
      ? { token: 'none' }
      : await tokenFor(session, world, target, { may: 'read on sys/storage/raft/snapshot' });
    const taken = await session.act({
      id: 'snapshot',
      right: there ? 'destroy' : 'reveal',
      ...(there && { title: `Replace ${shown}`, consequences: [`What is in it now is lost: ${bytesText(there.sizeBytes)}.`] }),
      request: `GET /v1/sys/storage/raft/snapshot into ${shown}`,
      target,
      limitMs,
      run: async (grant) => {
        session.progress({ id: 'snapshot', label: 'Taking it, and looking through it' });
        const { bytes, index, stateBytes } = await takeSnapshot(place, token, grant.signal);
        await localFiles.write(grant, path, bytes, { mode: 0o600 });
        return { index, stateBytes, sizeBytes: bytes.length };
      },
    });
    if (!taken) return { message: 'Rehearsed: no snapshot was taken.' };
    session.progress({ id: 'snapshot', label: 'Taken', done: true });
    const facts = await localFiles.facts(path, session.signal);
    if (facts?.sizeBytes !== taken.sizeBytes)
      throw new Fault({
        code: 'failed.snapshot',
        message: `${shown} is not what was written.`,
        remedy: 'Look at the disk, and take it again.',
      });
    return {
      message: `${shown}: ${bytesText(taken.sizeBytes)}, whole, as of index ${taken.index}. What is in it is encrypted: going back to it takes ${status.recoverySeal ? `what opens it now (${status.type})` : `${status.threshold} of the ${status.shares} key shares of now`}.`,
      data: { file: path, ...taken, threshold: status.threshold, shares: status.shares },
    };
  },
};
