import { createHmac, timingSafeEqual } from 'node:crypto';
import type { BackupKey, BackupKeys } from '../secrets/backup-keys.ts';
import { objectOf, parseJson } from '../text/json-value.ts';
import { manifestOf } from './backup-manifest.ts';
import type { BackupManifest } from './backup-model.ts';

/** A manifest as a store reads it. */
export interface ReadManifest {
  /** Undefined where it is missing, damaged, or differs from what was signed. */
  manifest: BackupManifest | undefined;
  /** Why its author is not known, as the end of a sentence; undefined where the operator's key signed it. */
  unauthenticated?: string | undefined;
  /** Signed with a key of this account, also where that proves little. */
  own?: boolean;
}

/** Signs everything in a manifest, and so the checksums of all files. */
export function signManifest(manifest: BackupManifest, key: BackupKey): BackupManifest {
  return { ...manifest, signature: { key: key.id, mac: macOf(manifest, key) } };
}

export async function readManifest(content: Uint8Array, sums: string | undefined, keys: BackupKeys): Promise<ReadManifest> {
  const manifest = manifestOf(content, sums);
  if (!manifest) return { manifest };
  const { signature } = manifest;
  if (!signature) return { manifest, unauthenticated: 'it is not signed' };
  const found = await keys.find(signature.key);
  if (typeof found === 'string') return { manifest, unauthenticated: found };
  const { signature: _, ...signed } = objectOf(parseJson(Buffer.from(content).toString('utf8'))) ?? {};
  const [expected, actual] = [macOf(signed, found.key), signature.mac].map((mac) => Buffer.from(mac, 'hex')) as [Buffer, Buffer];
  if (expected.length !== actual.length || !timingSafeEqual(expected, actual)) return { manifest: undefined };
  return { manifest, own: true, ...(found.doubt !== undefined && { unauthenticated: found.doubt }) };
}

const macOf = (signed: object, { key }: BackupKey) =>
  createHmac('sha256', key)
    .update(`quarterdeck backup manifest\n${JSON.stringify(signed)}`)
    .digest('hex');
