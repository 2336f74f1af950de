import type { ApiServer, Target } from './api-request.ts';
import { KubeRefusal } from './kube-object.ts';

/** Who this is by the `Authorization` header; undefined for a token that is not known. */
export function userOf(api: ApiServer, header: string | undefined): string | undefined {
  if (header === `Bearer ${api.token}`) return 'practice';
  if (header !== undefined) return undefined;
  return api.open ? 'practice' : 'system:anonymous';
}

/** Throws the 403 that names user, verb and resource where something is not allowed. */
export function permit(api: ApiServer, user: string, verb: string, target: Target | undefined, path = ''): void {
  const { resource, namespace, sub, name } = target ?? {};
  const denied =
    user === 'system:anonymous' ||
    (resource !== undefined &&
      isForbidden(api, { verb, group: resource.group, resource: resource.plural, ...(sub === undefined ? {} : { sub }) }));
  if (!denied) return;
  if (resource === undefined)
    throw new KubeRefusal(403, 'Forbidden', `forbidden: User ${JSON.stringify(user)} cannot ${verb} path ${JSON.stringify(path)}`, {});
  const full = resource.group === '' ? resource.plural : `${resource.plural}.${resource.group}`;
  const where = namespace === undefined ? 'at the cluster scope' : `in the namespace ${JSON.stringify(namespace)}`;
  const asked = sub === undefined ? resource.plural : `${resource.plural}/${sub}`;
  const which = name === undefined ? '' : ` ${JSON.stringify(name)}`;
  throw new KubeRefusal(
    403,
    'Forbidden',
    `${full}${which} is forbidden: User ${JSON.stringify(user)} cannot ${verb} resource ${JSON.stringify(asked)} in API group ${JSON.stringify(resource.group)} ${where}`,
    { ...(name === undefined ? {} : { name }), ...(resource.group === '' ? {} : { group: resource.group }), kind: resource.plural },
  );
}

/** Whether one of the rules that make the operator's life hard matches. */
export function isForbidden({ forbidden }: ApiServer, asked: { verb: string; group: string; resource: string; sub?: string }): boolean {
  // As in a real role, `pods` does not include `pods/eviction`.
  const full = asked.sub === undefined ? asked.resource : `${asked.resource}/${asked.sub}`;
  // Who asks about everything is told no where one thing of it is forbidden.
  const same = (rule: string, word: string) => rule === '*' || word === '*' || rule === word;
  return forbidden.some((rule) => same(rule.verb, asked.verb) && same(rule.group, asked.group) && same(rule.resource, full));
}
