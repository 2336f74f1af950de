import { createHash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { finished } from 'node:stream/promises';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { extract } from 'tar-stream';
import type { Grant } from '../../../grants/grant.ts';
import { objectOf, parsedJson } from '../../../text/json-value.ts';
import { numberIn, type VaultApi, vaultFault, vaultRefusal } from './vault-api.ts';

const limitMs = 10 * 60_000;
/** The whole snapshot is verified in memory before it is stored. */
export const snapshotLimitBytes = 1024 * 1024 * 1024;

/** Takes a snapshot of the integrated storage and verifies it. Throws `failed.snapshot` if the data is not a complete snapshot. */
export async function createSnapshot(api: VaultApi, signal: AbortSignal) {
  const { status, body, words } = await api.download('sys/storage/raft/snapshot', { limitMs, limitBytes: snapshotLimitBytes }, signal);
  if (/not.*raft|raft storage is not in use/i.test(words) || (status === 404 && words !== '')) {
    const message = 'The server does not use integrated storage (raft), which snapshots require.';
    throw vaultFault(message, 'Back up the component instead: quarterdeck backup COMPONENT', 'refused.snapshot');
  }
  if (status !== 200) throw vaultRefusal({ status, words }, 'create a snapshot');
  return { bytes: body, ...(await readSnapshot(body, signal)) };
}

/** Replaces all data of the server. Throws `refused.snapshotKeys` if the snapshot was taken under other keys, unless `force` is set. */
export async function restoreSnapshot(grant: Grant, api: VaultApi, bytes: Uint8Array, force: boolean): Promise<void> {
  const path = `sys/storage/raft/snapshot${force ? '-force' : ''}`;
  const { status, words } = await api.send('POST', path, bytes, grant.signal, limitMs);
  if (status === 204 || status === 200) return;
  if (/different set of unseal keys|could not verify hash file/i.test(words)) {
    const remedy = 'If it is the right snapshot and you have its key shares, run the command again with --force.';
    throw vaultFault('The snapshot was created with different key shares. Nothing was changed.', remedy, 'refused.snapshotKeys');
  }
  throw vaultRefusal({ status, words }, 'restore the snapshot');
}

/** Returns the index of the cluster's log, and the size. Throws `failed.snapshot` if a checksum is wrong. */
export async function readSnapshot(bytes: Buffer, signal: AbortSignal): Promise<{ index: number; stateBytes: number }> {
  // The most common useless snapshot is a JSON error that was saved as a file.
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) throw damaged('it is not a gzip archive');
  const plain = await promisify(gunzip)(bytes, { maxOutputLength: 8 * snapshotLimitBytes }).catch(() => {
    throw damaged('the archive is truncated');
  });
  signal.throwIfAborted();
  const files = await filesOf(plain);
  const [meta, state, sums] = ['meta.json', 'state.bin', 'SHA256SUMS'].map((name) => files.get(name));
  if (!meta || !state || !sums || !files.has('SHA256SUMS.sealed')) throw damaged('a part of it is missing');
  for (const line of sums.toString('utf8').trim().split('\n')) {
    const [sum = '', name = ''] = line.trim().split(/\s+/);
    const file = files.get(name);
    if (!file || createHash('sha256').update(file).digest('hex') !== sum)
      throw damaged(`the checksum of ${/^[\w.]+$/.test(name) ? name : 'a part'} is wrong`);
  }
  const facts = parsedJson(meta.toString('utf8'));
  if (facts === undefined) throw damaged('its meta.json cannot be read');
  return { index: numberIn(objectOf(facts) ?? {}, 'Index'), stateBytes: state.length };
}

async function filesOf(plain: Buffer): Promise<Map<string, Buffer>> {
  const files = new Map<string, Buffer>();
  const reader = extract();
  reader.on('entry', async ({ name }, content, next) => {
    files.set(name, await buffer(content));
    next();
  });
  try {
    reader.end(plain);
    await finished(reader);
  } catch {
    throw damaged('the archive is truncated');
  }
  return files;
}

const damaged = (why: string) =>
  vaultFault(`The snapshot is not complete: ${why}.`, 'The snapshot was not used. Use or create another one.', 'failed.snapshot');
