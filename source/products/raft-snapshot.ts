import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { extract } from 'tar-stream';
import type { Grant } from '../grants/grant.ts';
import { parseJson } from '../text/json-value.ts';
import { VaultApi, type VaultPlace } from './vault-api.ts';
import { vaultFault, vaultRefusal } from './vault-refusal.ts';

const limitMs = 10 * 60_000;
/** It is looked through as a whole before it is kept. */
export const snapshotLimitBytes = 1024 * 1024 * 1024;

/** A snapshot that is whole: every sum in it is right. */
export interface Snapshot {
  bytes: Buffer;
  /** Position in the cluster's log that it is from. */
  index: number;
  stateBytes: number;
}

/** Takes a snapshot of the integrated storage and looks it through. Throws what `VaultApi` does, and `failed.snapshot` for one that is none or is not whole. */
export async function takeSnapshot(place: VaultPlace, token: string, signal: AbortSignal): Promise<Snapshot> {
  const { status, body, words } = await new VaultApi(place, token).download(
    'sys/storage/raft/snapshot',
    { limitMs, limitBytes: snapshotLimitBytes },
    signal,
  );
  if (/not.*raft|raft storage is not in use/i.test(words) || (status === 404 && words !== '')) {
    throw vaultFault(
      'Its storage is not the integrated one (raft): it takes no snapshots.',
      'Back up what it stores in: quarterdeck backup COMPONENT.',
      'refused.snapshot',
    );
  }
  if (status !== 200) throw vaultRefusal({ status, words }, 'take a snapshot');
  return { bytes: body, ...(await readSnapshot(body, signal)) };
}

/**
 * Puts a snapshot in place of all that the server has. Throws `refused.snapshotKeys` where it was taken under other keys and nobody insists (`force`).
 */
export async function restoreSnapshot(grant: Grant, place: VaultPlace, token: string, bytes: Uint8Array, force: boolean): Promise<void> {
  const path = `sys/storage/raft/snapshot${force ? '-force' : ''}`;
  const { status, words } = await new VaultApi(place, token).upload(path, bytes, limitMs, grant.signal);
  if (status === 204 || status === 200) return;
  if (/different set of unseal keys|could not verify hash file/i.test(words)) {
    throw vaultFault(
      'The snapshot was taken under other key shares than those in force. Nothing was changed.',
      'If it is the right one and its shares are at hand, run it again with --force.',
      'refused.snapshotKeys',
    );
  }
  throw vaultRefusal({ status, words }, 'take the snapshot back');
}

/** What a snapshot says of itself, when all sums in it are right. Throws `failed.snapshot`. */
export async function readSnapshot(bytes: Buffer, signal: AbortSignal): Promise<{ index: number; stateBytes: number }> {
  // An error in JSON, saved as a file, is the classic among useless snapshots.
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) throw damaged('it is no gzip archive');
  let plain: Buffer;
  try {
    plain = await promisify(gunzip)(bytes, { maxOutputLength: 8 * snapshotLimitBytes });
  } catch {
    throw damaged('the archive breaks off');
  }
  signal.throwIfAborted();
  const files = await filesOf(plain);
  const [meta, state, sums] = ['meta.json', 'state.bin', 'SHA256SUMS'].map((name) => files.get(name));
  if (!meta || !state || !sums || !files.has('SHA256SUMS.sealed')) throw damaged('a part of it is missing');
  for (const line of sums.toString('utf8').trim().split('\n')) {
    const [sum = '', name = ''] = line.trim().split(/\s+/);
    const file = files.get(name);
    if (!file || createHash('sha256').update(file).digest('hex') !== sum)
      throw damaged(`the sum of ${/^[\w.]+$/.test(name) ? name : 'a part'} is wrong`);
  }
  let index: unknown;
  try {
    index = (parseJson(meta.toString('utf8')) as { Index?: unknown } | null)?.Index;
  } catch {
    throw damaged('its meta.json cannot be read');
  }
  return { index: typeof index === 'number' ? index : 0, stateBytes: state.length };
}

async function filesOf(plain: Buffer): Promise<Map<string, Buffer>> {
  const files = new Map<string, Buffer>();
  const reader = extract();
  reader.on('entry', ({ name }, entry, next) => {
    const pieces: Buffer[] = [];
    entry.on('data', (piece: Buffer) => pieces.push(piece));
    entry.on('end', () => {
      files.set(name, Buffer.concat(pieces));
      next();
    });
  });
  try {
    await new Promise<void>((resolve, reject) => {
      reader.on('finish', resolve);
      reader.on('error', reject);
      reader.end(plain);
    });
  } catch {
    throw damaged('the archive breaks off');
  }
  return files;
}

function damaged(why: string) {
  return vaultFault(
    `That is no whole snapshot: ${why}.`,
    'Nothing was kept of it. Take it again, and look at the log of the server.',
    'failed.snapshot',
  );
}
