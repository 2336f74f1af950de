import { type Document, isMap, type YAMLMap } from 'yaml';
import { interpolate } from '../../catalog/interpolation.ts';
import { Fault } from '../../faults/fault.ts';
import type { Values } from '../model.ts';
import { composeText, declareNetwork, dropEmpty, editableCompose, listIn, networkMap, readServices, topLevel } from './compose-document.ts';
import { networkOf } from './networks.ts';

/*
 * Routes a service through the network of a VPN gateway (R15). `network_mode: service:` only names services of the same project, and here
 * each component has its own project: so the gateway's container is named. The previous settings of the service are kept in the file, to
 * undo the route.
 */

const keptKey = 'x-quarterdeck-direct';

export interface Routed {
  text: string;
  /** Ports that the gateway must publish now, without variables: `127.0.0.1:8080:8080/tcp`. */
  ports: readonly string[];
  /** Networks of the stack where other components find the service, with its names there. */
  networks: Readonly<Record<string, readonly string[]>>;
}

/** The service has no ports and networks of its own then. Throws `config.compose` and `refused.route`. */
export function routeThrough(text: string, file: string, service: string, container: string, values: Values): Routed {
  const { document, found } = openService(text, file, service);
  const mode = found.get('network_mode');
  if (mode !== undefined)
    throw refused(`${service} sets its own network mode (network_mode: ${String(mode)}).`, 'Remove network_mode from compose.yaml first.');
  const ports = listIn(found.get('ports'));
  if (!ports.every((port) => typeof port === 'string'))
    throw refused(`Some ports of ${service} use the long syntax.`, 'Use the form "address:port:port" in compose.yaml first.');
  const networks = sharedNetworks(found);
  const kept = { ports, ...(found.has('networks') && { networks: (found.toJSON() as { networks: unknown }).networks }) };
  found.delete('ports');
  found.delete('networks');
  found.set('network_mode', `container:${container}`);
  document.setIn([keptKey, service], document.createNode(kept));
  dropUnused(document, Object.keys(networks));
  return { text: composeText(document), ports: ports.map((port) => interpolate(port, values)), networks };
}

export function routeDirectly(text: string, file: string, service: string, values: Values): Routed {
  const { document, found } = openService(text, file, service);
  const kept = document.getIn([keptKey, service]);
  if (!isMap(kept)) {
    const message = `The configuration of ${service} before it was routed through a gateway is unknown.`;
    throw refused(message, 'Add the ports of the service to compose.yaml, and remove network_mode.');
  }
  const { ports = [], networks } = kept.toJSON() as { ports?: readonly string[]; networks?: unknown };
  found.delete('network_mode');
  if (ports.length > 0) found.set('ports', document.createNode([...ports]));
  if (networks !== undefined) {
    found.set('networks', document.createNode(networks));
    for (const name of Object.keys(networkMap(found)))
      if (!document.hasIn(['networks', name]))
        document.setIn(['networks', name], document.createNode(name === 'default' ? {} : { external: true }));
  }
  document.deleteIn([keptKey, service]);
  // Set for podman-compose: see ComposeEditor.spellForPodmanCompose.
  if (dropEmpty(document, keptKey) && JSON.stringify(document.toJSON()['x-podman']) === '{"in_pod":false}') document.delete('x-podman');
  return { text: composeText(document), ports: ports.map((port) => interpolate(port, values)), networks: sharedNetworks(found) };
}

/** Updates the name of the gateway's container: compose programs name containers differently. */
export function renameGateway(text: string, file: string, service: string, container: string): string {
  const { document, found } = openService(text, file, service);
  found.set('network_mode', `container:${container}`);
  return composeText(document);
}

export function containerNames(compose: string, project: string, service: string): string[] {
  const own = readServices(compose)[service]?.['container_name'];
  return [...(typeof own === 'string' ? [own] : []), `${project}-${service}-1`, `${project}_${service}_1`];
}

export function routesOf(text: string): { service: string; container: string; isOurs: boolean }[] {
  const kept = topLevel(text)[keptKey] as Readonly<Record<string, unknown>> | undefined;
  return Object.entries(readServices(text)).flatMap(([service, one]) => {
    const [, container] = /^container:(.+)$/.exec(String(one['network_mode'] ?? '')) ?? [];
    return container === undefined ? [] : [{ service, container, isOurs: kept?.[service] !== undefined }];
  });
}

/** Publishes the ports of the services behind the gateway, under their names. Throws `refused.route` for a port that it already uses. */
export function gatewayWith(text: string, file: string, service: string, { ports, networks }: Omit<Routed, 'text'>, values: Values) {
  const { document, found } = openService(text, file, service);
  const before = listIn(found.get('ports')).map(String);
  for (const port of ports) {
    const [host, inside] = endsOf(port);
    const taken = before
      .map((one) => interpolate(one, values))
      .find((one) => one !== port && (endsOf(one)[0] === host || endsOf(one)[1] === inside));
    if (taken !== undefined)
      throw refused(
        `The gateway already publishes ${taken}, which conflicts with ${port}, because components behind the gateway share one network.`,
        'Change one of the ports: the container port in the settings of the program, the published port with quarterdeck deploy.',
      );
  }
  const wanted = [...new Set([...before, ...ports])];
  if (wanted.length !== before.length) found.set('ports', document.createNode(wanted));
  for (const [name, aliases] of Object.entries(networks)) {
    found.set('networks', document.createNode({ ...networkMap(found), [name]: aliases.length > 0 ? { aliases } : {} }));
    declareNetwork(document, name);
  }
  return composeText(document);
}

/** podman-compose puts each project into a pod, and Podman does not let an outside container join the network of one in a pod. */
export function outOfPods(text: string, file: string): string {
  const document = editableCompose(text, file);
  document.setIn(['x-podman', 'in_pod'], false);
  return composeText(document);
}

export function gatewayWithout(text: string, file: string, service: string, { ports, networks }: Omit<Routed, 'text'>): string {
  const { document, found } = openService(text, file, service);
  const left = listIn(found.get('ports')).filter((port) => !ports.includes(String(port)));
  if (left.length > 0) found.set('ports', document.createNode(left));
  else found.delete('ports');
  const own = found.get('networks');
  if (isMap(own)) for (const name of Object.keys(networks)) own.delete(name);
  dropUnused(document, Object.keys(networks));
  return composeText(document);
}

function dropUnused(document: Document.Parsed, names: readonly string[]): void {
  const services = document.get('services');
  const used = new Set(isMap(services) ? services.items.flatMap(({ value }) => (isMap(value) ? Object.keys(networkMap(value)) : [])) : []);
  for (const name of names) if (!used.has(name)) document.deleteIn(['networks', name]);
  const left = document.get('networks');
  if (isMap(left) && left.items.every(({ key }) => String(key) === 'default')) document.delete('networks');
}

function sharedNetworks(service: YAMLMap): Record<string, readonly string[]> {
  const shared = Object.entries(networkMap(service)).filter(([name]) => name.startsWith(networkOf('')));
  return Object.fromEntries(shared.map(([name, network]) => [name, network?.aliases ?? []]));
}

/** Returns the host port and the container port with the protocol: two services behind one gateway cannot share either. */
function endsOf(port: string): [outside: string, inside: string] {
  const [ends = '', protocol = 'tcp'] = port.split('/');
  const parts = ends.split(':');
  return [`${parts.at(-2) ?? ''}/${protocol}`, `${parts.at(-1) ?? ''}/${protocol}`];
}

function openService(text: string, file: string, name: string): { document: Document.Parsed; found: YAMLMap } {
  const document = editableCompose(text, file);
  const found = document.getIn(['services', name]);
  if (isMap(found)) return { document, found };
  throw new Fault('config.compose', `${file} has no service ${name}.`, 'Fix the compose file.', { where: { file } });
}

const refused = (message: string, remedy: string): Fault => new Fault('refused.route', message, remedy);
