import type { Catalog, CatalogEntry, CatalogPort } from '../catalog/catalog.ts';
import { interpolate, variablesIn } from '../catalog/interpolation.ts';
import { namesLoopback } from '../catalog/names-loopback.ts';
import type { Deployment } from './model.ts';

/** A network that a component shares with others, and who of it joins. It exists before compose runs: whoever comes first makes it. */
export interface NetworkUse {
  /** `quarterdeck-model-runtime`: of the one who provides. */
  name: string;
  /** In compose.yaml these keep `default` besides, or they would lose their siblings. */
  services: readonly { service: string; aliases: readonly string[] }[];
}

export interface ConsumerProposal {
  /** The other component that would change. */
  component: string;
  /** Variables to set; empty where it only has to join the network. */
  values: Readonly<Record<string, string>>;
  /** One sentence. */
  why: string;
}

export const networkOf = (provider: string): string => `quarterdeck-${provider}`;

/** Labels of such a network: it is ours, and belongs to nobody's project. */
export const networkLabels = (provider: string): Record<string, string> => ({ 'quarterdeck.network': provider });

/**
 * The networks that a component joins with these values: its own where it provides something, and that of each provider whose name stands in the
 * field that uses it, or that it uses without a field. Whether the provider is deployed does not matter, so that either may come first.
 */
export function networksOf(entry: CatalogEntry, values: Readonly<Record<string, string>>, catalog: Catalog): readonly NetworkUse[] {
  const networks: NetworkUse[] = [];
  const giving = providedPorts(entry)[0];
  if (giving) networks.push({ name: networkOf(entry.id), services: [{ service: giving.port.service, aliases: [entry.id] }] });
  const joined = new Map<string, Set<string>>();
  for (const use of entry.uses ?? []) {
    const provider = catalog.get(use.component);
    if (!provider || provider.provides?.[use.what] === undefined || use.component === entry.id) continue;
    if (use.field !== undefined && hostOf(valueInForce(entry, use.field, values)) !== use.component) continue;
    const services = joined.get(use.component) ?? new Set();
    for (const service of use.services ?? mainOf(entry)) services.add(service);
    joined.set(use.component, services);
  }
  for (const [provider, services] of joined)
    networks.push({ name: networkOf(provider), services: [...services].map((service) => ({ service, aliases: [] })) });
  return networks;
}

/** What a form suggests: by variable, the address of each deployed component that this one uses. */
export function usedAddresses(entry: CatalogEntry, catalog: Catalog, deployed: Iterable<string>): Record<string, string> {
  const there = new Set(deployed);
  const addresses: Record<string, string> = {};
  for (const { component, what, field } of entry.uses ?? []) {
    if (field === undefined) continue;
    const variable = variableOf(entry, field);
    const address = there.has(component) ? providedAddress(catalog.get(component), what) : undefined;
    // A field that excludes others is a choice of the operator (R21): the portal keeps its users in a file or in a directory.
    if (variable !== undefined && address !== undefined && !isChoice(entry, field)) addresses[variable] = address;
  }
  return addresses;
}

/** `http://model-runtime:11434`; the port inside, which no remap changes. */
export function providedAddress(provider: CatalogEntry | undefined, what: string): string | undefined {
  const found = provider && providedPorts(provider).find(({ name }) => name === what);
  return found && `${found.scheme}://${provider.id}:${found.port.container}`;
}

/** What would change elsewhere once this component is deployed: consumers that look for it in the wrong place, or are not on its network yet. */
export function consumerProposals(provider: CatalogEntry, deployments: readonly Deployment[], catalog: Catalog): ConsumerProposal[] {
  return deployments.flatMap((deployment): ConsumerProposal[] => {
    const entry = catalog.get(deployment.component);
    return (entry?.uses ?? []).flatMap((use): ConsumerProposal[] => {
      const address = providedAddress(provider, use.what);
      if (!entry || use.component !== provider.id || address === undefined) return [];
      const isThere = namesNetwork(deployment.compose, networkOf(provider.id));
      if (use.field === undefined)
        return isThere ? [] : [{ component: entry.id, values: {}, why: `${entry.id} can use it, but is not on a network with it yet.` }];
      const variable = variableOf(entry, use.field);
      if (variable === undefined) return [];
      const current = valueInForce(entry, use.field, deployment.env);
      if (hostOf(current) === provider.id) {
        if (isThere) return [];
        return [{ component: entry.id, values: {}, why: `${entry.id} looks for ${current}, but is not on a network with it yet.` }];
      }
      if (current === '')
        return [{ component: entry.id, values: { [variable]: address }, why: `${entry.id} can use it: ${variable} is not set.` }];
      // A program of the operator's own, elsewhere: not ours to move.
      if (!namesLoopback(current)) return [];
      const why = `${entry.id} looks for it at ${current}, which inside its container is the container itself.`;
      return [{ component: entry.id, values: { [variable]: address }, why }];
    });
  });
}

/** Networks that it is in by what the catalog says. Those that an operator wrote, or that a gateway has for who is behind it, are others. */
export function ownNetworks(entry: Pick<CatalogEntry, 'id' | 'uses'>): ReadonlySet<string> {
  return new Set([entry.id, ...(entry.uses ?? []).map(({ component }) => component)].map(networkOf));
}

/** `quarterdeck-media-server` is not named by `quarterdeck-media-server-second`. */
function namesNetwork(compose: string, network: string): boolean {
  return compose.split(/[^\w-]+/).includes(network);
}

/** Components that this one's values name on a shared network and that are not deployed. */
export function missingProviders(
  entry: CatalogEntry,
  values: Readonly<Record<string, string>>,
  deployed: Iterable<string>,
): { component: string; address: string }[] {
  const there = new Set(deployed);
  return (entry.uses ?? []).flatMap(({ component, field }) => {
    if (field === undefined) return [];
    const address = valueInForce(entry, field, values);
    return hostOf(address) === component && !there.has(component) ? [{ component, address }] : [];
  });
}

/** The value in force of a field that goes to the environment: what was answered, or compose.yaml's own default. */
export function valueInForce(entry: CatalogEntry, fieldName: string, values: Readonly<Record<string, string>>): string {
  const variable = variableOf(entry, fieldName);
  if (variable === undefined) return '';
  const given = values[variable];
  if (given !== undefined && given !== '') return given;
  for (const service of entry.services) {
    for (const written of [...Object.values(service.environment), ...service.command]) {
      const found = variablesIn(written).find(({ name, operator }) => name === variable && operator === '-');
      if (found) return interpolate(found.word, values);
    }
  }
  const field = entry.fields.find(({ name }) => name === fieldName);
  return field?.default === undefined ? '' : String(field.default);
}

export function variableOf(entry: CatalogEntry, fieldName: string): string | undefined {
  const field = entry.fields.find(({ name }) => name === fieldName);
  return field && (field.env ?? (/^[A-Z][A-Z0-9_]*$/.test(field.name) ? field.name : undefined));
}

/** The host that an address names: `http://user@model-runtime:1/x`, `ldap://…`, `model-runtime:80`. Empty where there is none. */
export function hostOf(address: string): string {
  const authority = address.replace(/^(?:[a-z][a-z0-9+.-]*:)*\/\//i, '').replace(/[/?#].*$/s, '');
  const host = authority.slice(authority.lastIndexOf('@') + 1);
  return (/^\[([^\]]*)\]/.exec(host)?.[1] ?? host.replace(/:\d*$/, '')).toLowerCase();
}

function providedPorts(entry: CatalogEntry): { name: string; scheme: string; port: CatalogPort }[] {
  return Object.entries(entry.provides ?? {}).flatMap(([name, { port: portName, scheme }]) => {
    const port = entry.ports.find((candidate) => candidate.name === portName);
    return port ? [{ name, scheme, port }] : [];
  });
}

const mainOf = (entry: CatalogEntry): string[] => entry.services.flatMap(({ name, main }) => (main ? [name] : []));

function isChoice(entry: CatalogEntry, field: string): boolean {
  return (
    entry.oneOf.some((set) => set.some((name) => field === name || field.startsWith(`${name}.`))) ||
    entry.fields.some(({ excludes }) => excludes.some((name) => field === name || field.startsWith(`${name}.`)))
  );
}
