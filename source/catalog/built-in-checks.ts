import type { CatalogEntry } from './catalog.ts';
import { variableOf } from './draft.ts';
import { followedByContainer } from './exchange-references.ts';

type Check = CatalogEntry['checks'][number];

/** Follow from other facts of an entry, so that no entry has to declare them. A check of the same name in the entry replaces one. */
export function builtInChecks(entry: Pick<CatalogEntry, 'auth' | 'checks' | 'fields' | 'group' | 'ports' | 'sensitive' | 'services'>) {
  const own = new Set(entry.checks.map(({ id }) => id));
  return [...localhostChecks(entry), ...exposureChecks(entry)].filter(({ id }) => !own.has(id));
}

/** Addresses that a container uses must not name localhost (R14). */
function localhostChecks({ fields, services }: Pick<CatalogEntry, 'fields' | 'services'>): Check[] {
  const main = services.find(({ main: isMain }) => isMain);
  // There, localhost is the host itself.
  if (main === undefined || main.networkMode === 'host') return [];
  return fields.flatMap((field) => {
    const variable = field.target === 'environment' ? variableOf(field) : undefined;
    if (variable === undefined || !followedByContainer(field)) return [];
    const names = Object.entries(main.environment).flatMap(([name, text]) =>
      name === variable || new RegExp(`\\$\\{?${variable}\\b`).test(text) ? [name] : [],
    );
    return names.map((name) => ({
      id: `${name.toLowerCase().replaceAll('_', '-')}-at-localhost`,
      calls: [],
      when: `has(env.${name}) && namesLoopback(env.${name})`,
      level: 'error' as const,
      message: `${name} refers to localhost, which inside a container is the container itself.`,
      remedy: 'Use the name of a service or component on a shared network, or the host name that the engine provides for the host itself.',
    }));
  });
}

/** R42: most AI components have no login. */
export const lacksLogin = ({ group, auth }: Pick<CatalogEntry, 'group' | 'auth'>): boolean =>
  group === 'ai' && /^(?:none|no built-in authentication)\b/i.test(auth);

/** Components that store secrets (R9) or have no login (R42) must not be published beyond this machine. */
function exposureChecks(entry: Pick<CatalogEntry, 'auth' | 'group' | 'ports' | 'sensitive'>): Check[] {
  const { group, ports, sensitive } = entry;
  const names = ports.filter(({ exposure, host }) => exposure === 'loopback' && host !== undefined).map(({ name }) => `"${name}"`);
  const said = lacksLogin(entry) ? withoutLogin : (sensitive ?? group === 'security') ? withoutTls : undefined;
  if (said === undefined || names.length === 0) return [];
  return [
    {
      id: 'wider-than-loopback',
      calls: [],
      when: `ports.exists(p, p.name in [${[...new Set(names)].join(', ')}] && p.published && p.exposure != "loopback")`,
      level: 'error',
      ...said,
    },
  ];
}

const withoutTls = {
  message: 'The component is published on the network, where traffic to ports without TLS can be read.',
  remedy: 'Publish the component on 127.0.0.1 and put it behind the reverse proxy.',
};

const withoutLogin = {
  message: 'The component has no login and is published on the network.',
  remedy: 'Publish the component on 127.0.0.1 and put it behind a reverse proxy that requires a login.',
};
