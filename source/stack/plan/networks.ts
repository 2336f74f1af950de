import type { Catalog, CatalogEntry, CatalogPort } from '../../catalog/catalog.ts';
import { variableOf as fieldVariable } from '../../catalog/draft.ts';
import { interpolate, variablesIn } from '../../catalog/interpolation.ts';
import { namesLoopback } from '../../text/loopback.ts';
import type { Deployment, Values } from '../model.ts';

/** A network that a component shares with others. It exists before compose runs: the first component to use it creates it. */
export interface NetworkUse {
  /** `quarterdeck-model-runtime`: named after the provider. */
  name: string;
  /** In compose.yaml these keep `default` too, or they would lose the project's other services. */
  services: readonly { service: string; aliases: readonly string[] }[];
}

interface ConsumerProposal {
  component: string;
  /** Variables to set; empty if it only has to join the network. */
  values: Values;
  why: string;
}

export const networkOf = (provider: string): string => `quarterdeck-${provider}`;

/** Labels of such a network: it was created by Quarterdeck, and belongs to no project. */
export const networkLabels = (provider: string): Record<string, string> => ({ 'quarterdeck.network': provider });

/**
 * Returns the networks that a component joins with these values: its own if it provides something, and that of each provider whose name is
 * in the field that uses it, or that it uses without a field. It does not matter whether the provider is deployed, so that either can be
 * deployed first.
 */
export function networksOf(entry: CatalogEntry, values: Values, catalog: Catalog): readonly NetworkUse[] {
  const own = providedPorts(entry).slice(0, 1);
  const joined = new Map<string, Set<string>>();
  for (const use of entry.uses ?? []) {
    const provider = catalog.get(use.component);
    if (!provider || provider.provides?.[use.what] === undefined || use.component === entry.id) continue;
    if (use.field !== undefined && hostOf(valueInForce(entry, use.field, values)) !== use.component) continue;
    const services = joined.get(use.component) ?? new Set();
    for (const service of use.services ?? mainOf(entry)) services.add(service);
    joined.set(use.component, services);
  }
  return [
    ...own.map(({ port }) => ({ name: networkOf(entry.id), services: [{ service: port.service, aliases: [entry.id] }] })),
    ...[...joined].map(([provider, services]) => ({
      name: networkOf(provider),
      services: [...services].map((service) => ({ service, aliases: [] })),
    })),
  ];
}

export function usedAddresses(entry: CatalogEntry, catalog: Catalog, deployed: Iterable<string>): Record<string, string> {
  const there = new Set(deployed);
  const addresses: Record<string, string> = {};
  for (const { component, what, field } of entry.uses ?? []) {
    if (field === undefined) continue;
    const variable = variableOf(entry, field);
    const address = there.has(component) ? providedAddress(catalog.get(component), what) : undefined;
    // A field that excludes others is a choice of the operator (R21): the portal stores its users in a file or in a directory.
    if (variable !== undefined && address !== undefined && !isChoice(entry, field)) addresses[variable] = address;
  }
  return addresses;
}

/** `http://model-runtime:11434`; the container's port, which no remap changes. */
export function providedAddress(provider: CatalogEntry | undefined, what: string): string | undefined {
  const found = provider && providedPorts(provider).find(({ name }) => name === what);
  return found && `${found.scheme}://${provider.id}:${found.port.container}`;
}

/** For the time after this one is deployed: consumers that use a wrong address, or are not on its network yet. */
export function consumerProposals(provider: CatalogEntry, deployments: readonly Deployment[], catalog: Catalog): ConsumerProposal[] {
  return deployments.flatMap((deployment): ConsumerProposal[] => {
    const entry = catalog.get(deployment.component);
    return (entry?.uses ?? []).flatMap((use): ConsumerProposal[] => {
      const address = providedAddress(provider, use.what);
      if (!entry || use.component !== provider.id || address === undefined) return [];
      // `quarterdeck-media-server` is not named by `quarterdeck-media-server-second`.
      const isJoined = deployment.compose.split(/[^\w-]+/).includes(networkOf(provider.id));
      const join = (what: string) =>
        isJoined
          ? []
          : [{ component: entry.id, values: {}, why: `${entry.id} ${what}, but does not share a network with ${provider.id} yet.` }];
      if (use.field === undefined) return join(`can use ${provider.id}`);
      const variable = variableOf(entry, use.field);
      if (variable === undefined) return [];
      const current = valueInForce(entry, use.field, deployment.env);
      if (hostOf(current) === provider.id) return join(`connects to ${current}`);
      // The address of another program of the operator: it is not changed.
      if (current !== '' && !namesLoopback(current)) return [];
      const why =
        current === ''
          ? `${entry.id} can use ${provider.id}, but ${variable} is not set.`
          : `${entry.id} connects to ${provider.id} at ${current}, which inside the container is the container itself.`;
      return [{ component: entry.id, values: { [variable]: address }, why }];
    });
  });
}

/** According to the catalog: without networks added by the operator, or by a gateway for the services behind it. */
export function ownNetworks(entry: Pick<CatalogEntry, 'id' | 'uses'>): ReadonlySet<string> {
  return new Set([entry.id, ...(entry.uses ?? []).map(({ component }) => component)].map(networkOf));
}

export function missingProviders(entry: CatalogEntry, values: Values, deployed: Iterable<string>) {
  const there = new Set(deployed);
  return (entry.uses ?? []).flatMap(({ component, field }) => {
    if (field === undefined) return [];
    const address = valueInForce(entry, field, values);
    return hostOf(address) === component && !there.has(component) ? [{ component, address }] : [];
  });
}

/** Returns the value in effect of an environment field: the answer, or compose.yaml's own default. */
export function valueInForce(entry: CatalogEntry, fieldName: string, values: Values): string {
  const variable = variableOf(entry, fieldName);
  if (variable === undefined) return '';
  if (values[variable]) return values[variable];
  const written = entry.services.flatMap(({ environment, command }) => [...Object.values(environment), ...command]);
  for (const text of written) {
    const found = variablesIn(text).find(({ name, operator }) => name === variable && operator === '-');
    if (found) return interpolate(found.word, values);
  }
  const field = entry.fields.find(({ name }) => name === fieldName);
  return field?.default === undefined ? '' : String(field.default);
}

export function variableOf(entry: CatalogEntry, fieldName: string): string | undefined {
  const field = entry.fields.find(({ name }) => name === fieldName);
  return field && fieldVariable(field);
}

/** Returns the host name of an address: `http://user@model-runtime:1/x`, `ldap://…`, `model-runtime:80`. Empty if there is none. */
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
  const alternatives = [...entry.oneOf, ...entry.fields.map(({ excludes }) => excludes)].flat();
  return alternatives.some((name) => field === name || field.startsWith(`${name}.`));
}
