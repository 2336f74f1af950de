import { namesLoopback } from '../text/loopback.ts';
import type { YamlPath } from '../yaml/document.ts';
import type { CatalogEntry } from './catalog.ts';
import { type Draft, inComponent, inCompose, portAnnotation, portsOf, type RuleFinding, unknown, variableOf } from './draft.ts';

/** The data that a component exchanges with others, as far as its own folder shows. */
export function* checkExchange(draft: Draft): Generator<RuleFinding> {
  const { component, compose } = draft;
  const ports = Object.keys(component.ports);
  const givers = new Set<string>();
  function* joinsNetworks(service: string, path: YamlPath, remedy: string): Generator<RuleFinding> {
    if (compose?.services.get(service)?.networkMode === undefined) return;
    yield inComponent(path, `The service "${service}" sets network_mode, so it cannot join another network.`, remedy);
  }
  for (const [name, { port }] of Object.entries(component.provides ?? {})) {
    const path = ['provides', name, 'port'];
    const published = portsOf(draft).find((candidate) => portAnnotation(component, candidate)?.[0] === port);
    if (!published && ports.includes(port))
      yield inComponent(path, `The number of the port "${port}" is unknown.`, 'Publish the port in compose.yaml.');
    else if (published) {
      givers.add(published.service);
      yield* joinsNetworks(published.service, path, 'Remove network_mode, or remove the port from provides.');
    }
  }
  if (givers.size > 1) {
    const message = `The ports in provides must belong to one service, not to ${[...givers].join(' and ')}.`;
    yield inComponent(['provides'], message, 'Keep the ports of one service only.');
  }
  for (const [index, use] of (component.uses ?? []).entries()) {
    const path = ['uses', index];
    const field = component.fields.find(({ name }) => name === use.field);
    if (field && (field.target !== 'environment' || field.secret)) {
      const message = `The field "${use.field}" is secret or does not set an environment variable.`;
      yield inComponent([...path, 'field'], message, 'Use a field with target: environment that is not secret.');
    }
    if (use.component === component.id) yield inComponent([...path, 'component'], 'The component uses itself.', 'Use another component.');
    for (const [at, service] of (use.services ?? []).entries())
      yield* joinsNetworks(service, [...path, 'services', at], 'Use another service.');
  }
}

export function* checkApi({ component: { api } }: Draft): Generator<RuleFinding> {
  if (api && api.port === undefined && api.service === undefined)
    yield inComponent(['api'], 'The API has no port and no service.', 'Add the API port, or the service in which the command runs.');
}

export function* checkSite({ component: { site, fields } }: Draft): Generator<RuleFinding> {
  for (const [index, { field }] of (site?.names ?? []).entries()) {
    const found = fields.find(({ name }) => name === field);
    if (found && (found.secret || variableOf(found) === undefined)) {
      const remedy = 'Use a field that has an env name and is not secret.';
      yield inComponent(['site', 'names', index, 'field'], `The field "${field}" is secret or has no environment variable.`, remedy);
    }
  }
}

/** Files that must exist before it starts, at the paths that the main service uses. */
export function* checkBeforeStart({ component, compose }: Draft): Generator<RuleFinding> {
  const main = Object.entries(component.services).find(([, service]) => service.main)?.[0];
  const targets = compose?.services.get(main ?? '')?.mounts.map(({ target }) => target) ?? [];
  const names = component.fields.map(({ name }) => name);
  for (const [index, { files }] of component.beforeStart.entries()) {
    for (const [at, file] of files.entries()) {
      const path = ['beforeStart', index, 'files', at];
      if (!file.startsWith('/')) {
        if (!names.includes(file)) yield unknown(path, 'field', file, names);
      } else if (!targets.some((target) => file.startsWith(`${target}/`)))
        yield inComponent(path, `"${file}" is not inside a mount of the main service.`, 'Use a file inside one of its mounts.');
    }
  }
}

/** R14: `localhost` inside a container is the container itself. */
export function* checkReach({ component, compose }: Draft): Generator<RuleFinding> {
  const remedy =
    'Use a service name. If users open the address, set audience: browser; if the component listens on it, set audience: listen.';
  for (const [index, field] of component.fields.entries()) {
    if (!followedByContainer(field)) continue;
    const message = (address: string) => `"${field.name}" is used inside a container, where ${address} is the container itself.`;
    if (field.default !== undefined && namesLoopback(String(field.default)))
      yield inComponent(['fields', index, 'default'], message(String(field.default)), remedy);
    for (const { operator, word, path } of compose?.variables.get(variableOf(field) ?? '') ?? []) {
      const onHost = path[0] === 'services' && compose?.services.get(String(path[1]))?.networkMode === 'host';
      if (operator === '-' && namesLoopback(word) && !onHost) yield inCompose(path, message(word), remedy);
    }
  }
}

const addressTypes = new Set(['url', 'jdbc-url', 'database-url', 'address', 'hostname']);

export function followedByContainer(field: { type: string; target: string; audience?: string | undefined }): boolean {
  if (field.audience !== undefined) return field.audience === 'container';
  return addressTypes.has(field.type) && (field.target === 'environment' || field.target === 'config' || field.target === 'command');
}

/** Whatever one entry uses, another must provide. */
export function usesOfUnknown(entry: CatalogEntry, entries: ReadonlyMap<string, CatalogEntry>) {
  return (entry.uses ?? []).flatMap(({ component, what }, index) => {
    const provider = entries.get(component);
    if (!provider)
      return [{ path: ['uses', index, 'component'], message: `Unknown component "${component}".`, known: [...entries.keys()] }];
    const offered = Object.keys(provider.provides ?? {});
    if (offered.includes(what)) return [];
    return [{ path: ['uses', index, 'what'], message: `The component "${component}" does not provide "${what}".`, known: offered }];
  });
}
