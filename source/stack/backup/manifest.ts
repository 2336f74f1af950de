import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import type { BackupKey, BackupKeys } from '../../secrets/backup-keys.ts';
import { objectOf, parseJson } from '../../text/json-value.ts';
import { jsonOfShape } from '../apply/journal-file.ts';
import { componentName, type ReadManifest } from './model.ts';

/** A name inside the backup's own folder: files named in a manifest are read and passed to programs. */
const fileName = z.string().regex(/^[a-zA-Z0-9][a-zA-Z0-9._-]*$/);
const names = z.array(z.string()).readonly();
const sha256 = z.string().regex(/^[0-9a-f]{64}$/);

/** A file of a backup. Sizes and checksums refer to the stored file. */
const file = z.object({ file: fileName, sizeBytes: z.number().int().nonnegative(), sha256 });

const item = file.extend({
  id: z.string(),
  volume: z.string(),
  method: z.enum(['dump', 'copy', 'pause', 'stop']),
  service: z.string(),
  target: z.string().startsWith('/'),
  /** Size before it was packed. */
  contentBytes: z.number().int().nonnegative(),
  packed: z.enum(['gzip', 'none']),
  exclude: names,
});

const image = z.object({ reference: z.string(), id: z.string(), digest: z.string().optional() });

const manifest = z.object({
  schema: z.literal(1),
  component: z.string().regex(componentName),
  engineName: z.string(),
  project: z.string(),
  /** `20261121T031500Z`: name of the backup. */
  stamp: z.string(),
  startedAt: z.string(),
  endedAt: z.string(),
  by: z.string(),
  items: z.array(item).readonly(),
  /** `project.tar`, `record.json`, `secrets.age`. */
  files: z.array(file).readonly(),
  skipped: z.array(z.object({ volume: z.string(), why: z.string() })).readonly(),
  /** Missing in backups from before choices existed. */
  choices: z.object({ include: names, exclude: names }).optional(),
  images: z.record(z.string(), image).readonly(),
  /** Names of the variables. `sealed`: their values are in `secrets.age`. Otherwise a restore needs them from another source. */
  secrets: z.object({ names, sealed: z.boolean() }),
  /** Signature of everything else in the manifest. Missing in backups of releases that did not sign. */
  signature: z.object({ key: z.string(), mac: sha256 }).optional(),
});

export type BackupFile = z.infer<typeof file>;
export type BackedUpItem = z.infer<typeof item>;
/** `manifest.json` of a backup. It contains no secrets: those are only in `secrets.age`, if at all. */
export type BackupManifest = z.infer<typeof manifest>;

/** Parses the manifest; undefined for one that is damaged, of another program, or different from its line in `SHA256SUMS`. */
export function manifestOf(content: Uint8Array, sums: string | undefined): BackupManifest | undefined {
  const sum = createHash('sha256').update(content).digest('hex');
  if (sums !== undefined && !sums.includes(`${sum}  manifest.json\n`)) return undefined;
  return jsonOfShape(manifest, content);
}

export const filesOf = ({ items, files }: BackupManifest): (BackupFile & Partial<BackedUpItem>)[] => [...items, ...files];

export const sizeOf = (of: BackupManifest | undefined): number => (of ? filesOf(of).reduce((sum, { sizeBytes }) => sum + sizeBytes, 0) : 0);

export function missingSecretsText({ secrets }: Pick<BackupManifest, 'secrets'>): string {
  if (secrets.sealed || secrets.names.length === 0) return '';
  return `A restore requires these secrets, which are not in the backup: ${secrets.names.join(', ')}. Keep copies elsewhere.`;
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
