import { readOwnFile, writeOwnFile } from '../config/own-files.ts';
import { objectOf, parsedJson } from '../text/json-value.ts';
import { damagedFault } from './backend.ts';
import type { SecretStorage } from './secrets.ts';

/** The backend in effect, and the progress of a migration. Written before each step of it. */
export interface BackendRecord {
  schema: 1;
  kind: SecretStorage['kind'];
  /** Copies are being created in that backend; until all are verified, `kind` has everything. */
  movingTo?: SecretStorage['kind'];
  /** All older versions have been copied from that backend and verified, and are being removed there. */
  leaving?: { kind: SecretStorage['kind']; atMs: number };
}

const isKind = (value: unknown) => value === 'keychain' || value === 'file';

/** A damaged record is a fault: guessing would mean to look for the secrets in the wrong backend. */
export async function readBackendRecord(path: string): Promise<BackendRecord | undefined> {
  const text = await readOwnFile(path);
  if (text === undefined) return undefined;
  const record = objectOf(parsedJson(text)) as BackendRecord | undefined;
  const { schema, kind, movingTo = 'file', leaving = { kind: 'file', atMs: 0 } } = record ?? {};
  const isLeavingRight = isKind(objectOf(leaving)?.['kind']) && typeof leaving.atMs === 'number';
  if (schema === 1 && isKind(kind) && isKind(movingTo) && isLeavingRight) return record;
  throw damagedFault(path, 'does not say where the secrets are: QUARTERDECK_SECRETS=keychain or =file says it instead');
}

export async function writeBackendRecord(path: string, record: Omit<BackendRecord, 'schema'>): Promise<void> {
  await writeOwnFile(path, `${JSON.stringify({ schema: 1, ...record })}\n`);
}
