import { join } from 'node:path';
import type { OwnPaths } from '../config/paths.ts';
import { keychainStore, keyFile } from '../secrets/secret-store.ts';
import { type Audit, openAudit } from '../session/audit.ts';
import { identityOf } from '../session/identity.ts';

/** The audit log of this installation: key and head in the keychain, or beside the log where there is none. */
export function openOwnAudit(
  paths: OwnPaths,
  env: Readonly<Record<string, string | undefined>>,
  damageMoved?: (to: string) => void,
): Audit {
  return openAudit({
    path: join(paths.state, 'audit.jsonl'),
    stores: [keychainStore(env), keyFile(join(paths.state, 'audit-key.json'), 'audit')],
    identity: identityOf(env),
    ...(damageMoved && { damageMoved }),
  });
}
