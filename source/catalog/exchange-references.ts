import type { CatalogEntry } from './catalog.ts';
import { type Draft, inComponent, inCompose, portAnnotation, portsOf, type RuleFinding, unknown, variableOf } from './draft.ts';
import { namesLoopback } from './names-loopback.ts';

/** What a component gives to others and takes from them, as far as its own folder tells. */
export function* checkExchange(draft: Draft): Generator<RuleFinding> {
  const { component, compose } = draft;
  const ports = Object.keys(component.ports);
  const fields = component.fields.map(({ name }) => name);
  const givers = new Set<string>();
  for (const [name, { port }] of Object.entries(component.provides ?? {})) {
    const path = ['provides', name, 'port'];
    const published = portsOf(draft).find((candidate) => portAnnotation(component, candidate)?.[0] === port);
    if (!ports.includes(port)) yield unknown(path, 'port', port, ports);
    else if (!published)
      yield inComponent(path, `compose.yaml does not publish "${port}", so it is not told which port it is.`, 'Publish it there.');
    else {
      givers.add(published.service);
      if (compose?.services.get(published.service)?.networkMode !== undefined)
        yield inComponent(
          path,
          `"${published.service}" has a network of its own kind and cannot join another.`,
          'Remove network_mode, or this.',
        );
    }
  }
  if (givers.size > 1)
    yield inComponent(
      ['provides'],
      `Others find a component by one name, but ${[...givers].join(' and ')} provide.`,
      'Keep those of one service.',
    );
  for (const [index, use] of (component.uses ?? []).entries()) {
    const path = ['uses', index];
    const field = component.fields.find(({ name }) => name === use.field);
    if (use.field !== undefined && !field) yield unknown([...path, 'field'], 'field', use.field, fields);
    else if (field && (field.goes !== 'environment' || field.secret))
      yield inComponent([...path, 'field'], `"${use.field}" is no plain variable of compose.yaml.`, 'Name a field with goes: environment.');
    if (use.component === component.id) yield inComponent([...path, 'component'], 'A component does not use itself.', 'Name another one.');
    for (const [at, service] of (use.services ?? []).entries()) {
      const found = compose?.services.get(service);
      if (!found) yield unknown([...path, 'services', at], 'service', service, compose?.services.keys() ?? []);
      else if (found.networkMode !== undefined)
        yield inComponent(
          [...path, 'services', at],
          `"${service}" has a network of its own kind and cannot join another.`,
          'Name another service.',
        );
    }
  }
}

/** Where procedures find the API that they drive. */
export function* checkSpeaks({ component, compose }: Draft): Generator<RuleFinding> {
  const { speaks } = component;
  if (!speaks) return;
  const ports = Object.keys(component.ports);
  if (speaks.port !== undefined && !ports.includes(speaks.port)) yield unknown(['speaks', 'port'], 'port', speaks.port, ports);
  if (speaks.service !== undefined && !compose?.services.has(speaks.service))
    yield unknown(['speaks', 'service'], 'service', speaks.service, compose?.services.keys() ?? []);
  if (speaks.port === undefined && speaks.service === undefined)
    yield inComponent(['speaks'], 'It does not say where.', 'Name the port of the API, or the service whose command is run.');
}

/** What the proxy is told about a component. */
export function* checkSite({ component }: Draft): Generator<RuleFinding> {
  const { site } = component;
  if (!site) return;
  const ports = Object.keys(component.ports);
  const fields = component.fields.map(({ name }) => name);
  const named: [path: PropertyKey[], port: string | undefined][] = [
    [['site', 'port'], site.port],
    ...site.routes.flatMap(({ port, otherwise }, index): [PropertyKey[], string | undefined][] => [
      [['site', 'routes', index, 'port'], port],
      [['site', 'routes', index, 'otherwise'], otherwise],
    ]),
  ];
  for (const [path, port] of named) if (port !== undefined && !ports.includes(port)) yield unknown(path, 'port', port, ports);
  for (const [index, { field, port }] of site.names.entries()) {
    const path = ['site', 'names', index];
    const found = component.fields.find(({ name }) => name === field);
    if (!found) yield unknown([...path, 'field'], 'field', field, fields);
    else if (found.secret || variableOf(found) === undefined)
      yield inComponent([...path, 'field'], `"${field}" is no plain variable.`, 'Give that field an env name, and no secret.');
    if (!ports.includes(port)) yield unknown([...path, 'port'], 'port', port, ports);
  }
  if (site.portal !== undefined && !fields.includes(site.portal)) yield unknown(['site', 'portal'], 'field', site.portal, fields);
}

/** Files that have to be there before it starts: where the main service would look for them. */
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
        yield inComponent(path, `Nothing that the main service mounts has "${file}" in it.`, 'Name a file below one of its mounts.');
    }
  }
}

/** R14: `localhost` inside a container is the container itself. */
export function* checkReach({ component, compose }: Draft): Generator<RuleFinding> {
  const remedy = 'Use the name of a service, or say reach: browser where people follow the address, reach: listen where nobody does.';
  for (const [index, field] of component.fields.entries()) {
    if (!followedByContainer(field)) continue;
    const message = (address: string) => `The container of "${field.name}" would look for ${address} inside itself.`;
    if (field.default !== undefined && namesLoopback(String(field.default)))
      yield inComponent(['fields', index, 'default'], message(String(field.default)), remedy);
    for (const { operator, word, path } of compose?.variables.get(variableOf(field) ?? '') ?? []) {
      const onHost = path[0] === 'services' && compose?.services.get(String(path[1]))?.networkMode === 'host';
      if (operator === '-' && namesLoopback(word) && !onHost) yield inCompose(path, message(word), remedy);
    }
  }
}

const addressTypes = new Set(['url', 'jdbc-url', 'database-url', 'address', 'hostname']);

/** Does the component's own container connect to what this field names? */
export function followedByContainer(field: { type: string; goes: string; reach?: string | undefined }): boolean {
  if (field.reach !== undefined) return field.reach === 'container';
  return addressTypes.has(field.type) && (field.goes === 'environment' || field.goes === 'config' || field.goes === 'command');
}

/** Between entries: what one uses, another must provide. Answers path, message and remedy. */
export function usesOfUnknown(
  entry: CatalogEntry,
  entries: ReadonlyMap<string, CatalogEntry>,
): { path: PropertyKey[]; message: string; known: string[] }[] {
  return (entry.uses ?? []).flatMap(({ component, what }, index) => {
    const provider = entries.get(component);
    if (!provider)
      return [{ path: ['uses', index, 'component'], message: `There is no component "${component}".`, known: [...entries.keys()] }];
    const offered = Object.keys(provider.provides ?? {});
    if (offered.includes(what)) return [];
    return [{ path: ['uses', index, 'what'], message: `The component "${component}" provides no "${what}".`, known: offered }];
  });
}
