import { once } from 'node:events';
import { buffer } from 'node:stream/consumers';
import { gunzipSync, gzipSync } from 'node:zlib';
import { extract, pack } from 'tar-stream';
import { Refusal } from './answers.ts';
import type { Core } from './core.ts';
import { sumOf } from './storage.ts';

/** Returns a raft snapshot in the form of the real server: a gzipped tar of state, its sums, and the sums under the current keys. */
export async function takeSnapshot({ storage }: Core): Promise<Buffer> {
  const { state, sealedSum } = storage.snapshot();
  const meta = Buffer.from(JSON.stringify({ Version: 1, ID: `2-86-${Date.now()}`, Index: 86, Term: 2, Size: state.length }));
  const archive = pack();
  archive.entry({ name: 'meta.json' }, meta);
  archive.entry({ name: 'state.bin' }, state);
  archive.entry({ name: 'SHA256SUMS' }, `${sumOf(meta)}  meta.json\n${sumOf(state)}  state.bin\n`);
  archive.entry({ name: 'SHA256SUMS.sealed' }, sealedSum);
  archive.finalize();
  return gzipSync(await buffer(archive));
}

/** Throws for a damaged snapshot, and without `force` for one that was taken under other keys. */
export async function restoreSnapshot({ storage }: Core, bytes: Buffer, force: boolean): Promise<void> {
  const files = new Map<string, Buffer>();
  const reader = extract();
  reader.on('entry', async ({ name }, content, next) => {
    files.set(name, await buffer(content));
    next();
  });
  reader.end(gunzipSync(bytes));
  await once(reader, 'finish');
  const state = files.get('state.bin');
  const sealed = files.get('SHA256SUMS.sealed')?.toString();
  if (!state || !sealed) throw new Refusal(400, 'failed to verify snapshot: missing files');
  if (!force && !storage.recognises(state, sealed)) {
    throw new Refusal(
      400,
      'could not verify hash file, possibly the snapshot is using a different set of unseal keys; use the snapshot-force API to bypass this check',
    );
  }
  storage.restore(state, sealed);
}
