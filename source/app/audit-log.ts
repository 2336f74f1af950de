import { join } from 'node:path';
import type { OwnPaths } from '../config/paths.ts';
import type { ComponentView } from '../fleet/model.ts';
import type { FlowInput } from '../flows/flow.ts';
import { keychainStore, keyFile } from '../secrets/secret-store.ts';
import { type Audit, openAudit } from '../session/audit.ts';
import type { AuditSubject } from '../session/audit-chain.ts';
import { identityOf } from '../session/identity.ts';
import type { ActTarget } from '../session/session.ts';

/** Opens the audit log of this installation. Its key and head are in the keychain, or beside the log where there is no keychain. */
export function openOwnAudit(paths: OwnPaths, env: NodeJS.ProcessEnv, damageMoved?: (to: string) => void): Audit {
  return openAudit({
    path: join(paths.state, 'audit.jsonl'),
    stores: [keychainStore(env), keyFile(join(paths.state, 'audit-key.json'), 'audit')],
    identity: identityOf(env),
    ...(damageMoved && { damageMoved }),
  });
}

/** Returns the project, service and containers that an action is about. An id alone cannot distinguish two instances of one product. */
export function auditSubject(
  components: readonly ComponentView[],
  input: Pick<FlowInput, 'component' | 'service'>,
  target: ActTarget,
): AuditSubject {
  const isMeant = ({ host, key, id }: ComponentView) => host === target.host && [undefined, key, id].includes(target.component);
  const named = input.component && isMeant(input.component) ? input.component : undefined;
  const meant = target.component === undefined ? [] : components.filter(isMeant);
  const component = named ?? (meant.length === 1 ? meant[0] : undefined);
  if (!component) return {};
  const service = component === named ? input.service : undefined;
  const containers = component.services.flatMap(({ name, containerName, containerId }) =>
    containerId !== undefined && (service === undefined || service === name) ? [containerName] : [],
  );
  return {
    ...(component.project !== '' && { project: component.project }),
    ...(service !== undefined && { service }),
    ...(containers.length > 0 && { containers }),
  };
}
