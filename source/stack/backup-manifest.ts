import { createHash } from 'node:crypto';
import { z } from 'zod';
import { parseJson } from '../text/json-value.ts';
import { type BackupManifest, componentName } from './backup-model.ts';

/** A name inside the backup's own folder: what a manifest names is read and handed to programs. */
const fileName = z.string().regex(/^[a-zA-Z0-9][a-zA-Z0-9._-]*$/);
const file = z.object({ file: fileName, sizeBytes: z.number().int().nonnegative(), sha256: z.string().regex(/^[0-9a-f]{64}$/) });

const manifest = z.object({
  schema: z.literal(1),
  component: z.string().regex(componentName),
  place: z.string(),
  project: z.string(),
  stamp: z.string(),
  startedAt: z.string(),
  endedAt: z.string(),
  by: z.string(),
  items: z.array(
    file.extend({
      id: z.string(),
      volume: z.string(),
      way: z.enum(['dump', 'copy', 'pause', 'stop']),
      service: z.string(),
      target: z.string().startsWith('/'),
      contentBytes: z.number().int().nonnegative(),
      packed: z.enum(['gzip', 'none']),
      exclude: z.array(z.string()),
    }),
  ),
  files: z.array(file),
  skipped: z.array(z.object({ volume: z.string(), why: z.string() })),
  choices: z.object({ include: z.array(z.string()), exclude: z.array(z.string()) }).optional(),
  images: z.record(z.string(), z.object({ reference: z.string(), id: z.string(), digest: z.string().optional() })),
  secrets: z.object({ names: z.array(z.string()), sealed: z.boolean() }),
  signature: z.object({ key: z.string(), mac: z.string().regex(/^[0-9a-f]{64}$/) }).optional(),
});

/** The manifest, where it is one of ours; undefined for one that is damaged, or that differs from its line in `SHA256SUMS`. */
export function manifestOf(content: Uint8Array, sums: string | undefined): BackupManifest | undefined {
  const sum = createHash('sha256').update(content).digest('hex');
  if (sums !== undefined && !sums.includes(`${sum}  manifest.json\n`)) return undefined;
  try {
    const read = manifest.safeParse(parseJson(Buffer.from(content).toString('utf8')));
    return read.success ? (read.data as BackupManifest) : undefined;
  } catch {
    return undefined;
  }
}
