import type { CatalogEntry } from './catalog.ts';
import { variableOf } from './draft.ts';
import { followedByContainer } from './exchange-references.ts';

type Check = CatalogEntry['checks'][number];

/**
 * Checks that follow from what an entry says anyway, and that nobody has to write into each: addresses that a container follows name no localhost (R14), and what
 * keeps secrets (R9) or asks nobody who they are (R42) is not published beyond this machine. An entry that has a check of the same name has the better words.
 */
export function standingChecks(
  entry: Pick<CatalogEntry, 'auth' | 'checks' | 'fields' | 'group' | 'ports' | 'sensitive' | 'services'>,
): Check[] {
  const own = new Set(entry.checks.map(({ id }) => id));
  return [...localhostChecks(entry), ...exposureChecks(entry)].filter(({ id }) => !own.has(id));
}

function localhostChecks({ fields, services }: Pick<CatalogEntry, 'fields' | 'services'>): Check[] {
  const main = services.find(({ main: isMain }) => isMain);
  // There localhost is the host itself.
  if (main === undefined || main.networkMode === 'host') return [];
  return fields.flatMap((field) => {
    const variable = field.goes === 'environment' ? variableOf(field) : undefined;
    if (variable === undefined || !followedByContainer(field)) return [];
    const names = Object.entries(main.environment).flatMap(([name, text]) =>
      name === variable || new RegExp(`\\$\\{?${variable}\\b`).test(text) ? [name] : [],
    );
    return names.map((name) => ({
      id: `${name.toLowerCase().replaceAll('_', '-')}-at-localhost`,
      calls: [],
      when: `has(env.${name}) && namesLoopback(env.${name})`,
      level: 'error' as const,
      message: `${name} names localhost, and inside a container that is the container itself.`,
      remedy: 'Use the name of a service or of a component on a network that both share, or the name that the engine has for the host.',
      rule: 'R14',
      line: 369,
    }));
  });
}

/** R42: most AI components ask nobody who they are. */
export const lacksLogin = ({ group, auth }: Pick<CatalogEntry, 'group' | 'auth'>): boolean =>
  group === 'ai' && /^(?:none|no built-in authentication)\b/i.test(auth);

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
  message: 'It is published beyond this machine without TLS; what crosses the network can be read there.',
  remedy: 'Publish it on 127.0.0.1 and let the reverse proxy stand in front.',
  rule: 'R9',
  line: 11,
};

const withoutLogin = {
  message: 'It has no login and is published beyond this machine.',
  remedy: 'Publish it on 127.0.0.1 and put the reverse proxy with a login in front.',
  rule: 'R42',
  line: 331,
};
