import { readOwnFile, writeOwnFile } from '../config/own-files.ts';
import { parseJson } from '../text/json-value.ts';
import type { SecretVault } from './vault.ts';
import { damagedFault } from './vault-place.ts';

/** Which place is in force, and how far a migration is. Written before each of its steps. */
export interface PlaceRecord {
  schema: 1;
  kind: SecretVault['kind'];
  /** Copies are being made there; until all are verified, `kind` has everything. */
  movingTo?: SecretVault['kind'];
  /** Everything that is older has been copied from there and verified, and is being removed. */
  leaving?: { kind: SecretVault['kind']; atMs: number };
}

const isKind = (value: unknown) => value === 'keychain' || value === 'file';

/** A damaged record is a fault: to guess would be to look for the secrets in the wrong place. */
export async function readPlaceRecord(path: string): Promise<PlaceRecord | undefined> {
  const text = await readOwnFile(path);
  if (text === undefined) return undefined;
  try {
    const record = parseJson(text) as PlaceRecord;
    const { schema, kind, movingTo, leaving } = record;
    const isMoveRight = movingTo === undefined || isKind(movingTo);
    const isLeavingRight = leaving === undefined || (isKind(leaving.kind) && typeof leaving.atMs === 'number');
    if (schema === 1 && isKind(kind) && isMoveRight && isLeavingRight) return record;
  } catch {}
  throw damagedFault(path, 'does not say where the secrets are: QUARTERDECK_SECRETS=keychain or =file says it instead');
}

export async function writePlaceRecord(path: string, record: Omit<PlaceRecord, 'schema'>): Promise<void> {
  await writeOwnFile(path, `${JSON.stringify({ schema: 1, ...record })}\n`);
}
