import { createHmac, timingSafeEqual } from 'node:crypto';
import type { BackupKey, BackupKeys } from '../secrets/backup-keys.ts';
import { objectOf, parseJson } from '../text/json-value.ts';
import { manifestOf } from './backup-manifest.ts';
import type { BackupManifest } from './backup-model.ts';

/** What a store can say of a manifest. */
export interface ReadManifest {
  /** Undefined where it is missing, damaged, or differs from what was signed. */
  manifest: BackupManifest | undefined;
  /** Why nothing tells who wrote it, as the end of a sentence; undefined where its signature is of a key of this operator. */
  unauthenticated?: string | undefined;
}

/** The manifest as it is written: signed over everything that it says, and so over the checksums of all files. */
export function signManifest(manifest: BackupManifest, key: BackupKey): BackupManifest {
  return { ...manifest, signature: { key: key.id, mac: macOf(manifest, key) } };
}

export async function readManifest(content: Uint8Array, sums: string | undefined, keys: BackupKeys): Promise<ReadManifest> {
  const manifest = manifestOf(content, sums);
  if (!manifest) return { manifest };
  const { signature } = manifest;
  if (!signature) return { manifest, unauthenticated: 'it is not signed' };
  const key = await keys.find(signature.key);
  if (typeof key === 'string') return { manifest, unauthenticated: key };
  const { signature: _, ...said } = objectOf(parseJson(Buffer.from(content).toString('utf8'))) ?? {};
  const [here, there] = [macOf(said, key), signature.mac].map((mac) => Buffer.from(mac, 'hex')) as [Buffer, Buffer];
  return { manifest: here.length === there.length && timingSafeEqual(here, there) ? manifest : undefined };
}

const macOf = (said: object, { key }: BackupKey) =>
  createHmac('sha256', key)
    .update(`quarterdeck backup manifest\n${JSON.stringify(said)}`)
    .digest('hex');
