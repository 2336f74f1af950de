import { createHash } from 'node:crypto';
import { gunzipSync, gzipSync } from 'node:zlib';
import { extract, pack } from 'tar-stream';
import { Refusal } from './answers.ts';
import type { Barrier } from './barrier.ts';

/** A raft snapshot as the real one lies in a file: a gzipped tar of state, its sums, and the sums under the keys in force. */
export async function takeSnapshot(barrier: Barrier, time: string): Promise<Buffer> {
  const { state, sealedSum } = barrier.snapshot();
  const meta = Buffer.from(JSON.stringify({ Version: 1, ID: `2-86-${Date.parse(time)}`, Index: 86, Term: 2, Size: state.length }));
  const sums = `${sumOf(meta)}  meta.json\n${sumOf(state)}  state.bin\n`;
  const archive = pack();
  archive.entry({ name: 'meta.json' }, meta);
  archive.entry({ name: 'state.bin' }, state);
  archive.entry({ name: 'SHA256SUMS' }, sums);
  archive.entry({ name: 'SHA256SUMS.sealed' }, sealedSum);
  archive.finalize();
  const pieces: Buffer[] = [];
  for await (const piece of archive) pieces.push(piece as Buffer);
  return gzipSync(Buffer.concat(pieces));
}

function sumOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** @throws Refusal when it is none, is damaged, or belongs to other keys and nobody insists */
export async function restoreSnapshot(barrier: Barrier, bytes: Buffer, force: boolean): Promise<void> {
  const files = await filesOf(bytes);
  const state = files.get('state.bin');
  const sealed = files.get('SHA256SUMS.sealed');
  if (!state || !sealed) throw new Refusal(400, 'failed to verify snapshot: missing files');
  if (!force && !barrier.recognises(state, sealed.toString())) {
    throw new Refusal(
      400,
      'could not verify hash file, possibly the snapshot is using a different set of unseal keys; use the snapshot-force API to bypass this check',
    );
  }
  barrier.restore(state);
}

async function filesOf(bytes: Buffer): Promise<Map<string, Buffer>> {
  const files = new Map<string, Buffer>();
  let plain: Buffer;
  try {
    plain = gunzipSync(bytes);
  } catch {
    throw new Refusal(400, 'failed to read snapshot file: gzip: invalid header');
  }
  const reader = extract();
  const done = new Promise<void>((resolve, reject) => {
    reader.on('finish', () => resolve());
    reader.on('error', reject);
  });
  reader.on('entry', (header, stream, next) => {
    const pieces: Buffer[] = [];
    stream.on('data', (piece: Buffer) => pieces.push(piece));
    stream.on('end', () => {
      files.set(header.name, Buffer.concat(pieces));
      next();
    });
  });
  reader.end(plain);
  await done;
  return files;
}
