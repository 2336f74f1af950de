import type { ComponentView } from '../fleet/model.ts';
import type { AuditSubject } from './audit-chain.ts';
import type { Act } from './session.ts';

/** What a run is about, as the command line or the selected row named it. */
interface Input {
  component?: ComponentView | undefined;
  service?: string | undefined;
}

/** Project, service and containers of what an act is about: an id alone does not tell two instances of one product apart. */
export function auditSubject(components: readonly ComponentView[], input: Input, target: Act<unknown>['target']): AuditSubject {
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
