import { type Document, isMap, isSeq, type YAMLMap } from 'yaml';
import { interpolate } from '../catalog/interpolation.ts';
import { Fault } from '../faults/fault.ts';
import { composeDocument, editableCompose } from './compose-document.ts';

/*
 * A service in the network of a VPN gateway (R15). `network_mode: service:` names services of the same project, and here each component is one of its own: so
 * it names the gateway's container. What the service had before is kept beside it, for the way back.
 */

const keptKey = 'x-quarterdeck-direct';

/** Of a service that publishes for itself. */
interface Direct {
  ports: readonly string[];
  networks?: unknown;
}

export interface Routed {
  text: string;
  /** What the gateway has to publish now, with nothing left to fill in: `127.0.0.1:8080:8080/tcp`. */
  ports: readonly string[];
  /** Networks of the stack by which others find the service, with the names that it has there. */
  networks: Readonly<Record<string, readonly string[]>>;
}

/** Takes the service's ports and networks away, and puts it into the network of that container. Throws `config.compose` and `refused.route`. */
export function routeThrough(
  text: string,
  file: string,
  service: string,
  container: string,
  values: Readonly<Record<string, string>>,
): Routed {
  const document = editableCompose(text, file);
  const found = serviceOf(document, service, file);
  const mode = found.get('network_mode');
  if (mode !== undefined)
    throw refused(`${service} has a network of its own kind: network_mode: ${String(mode)}.`, 'Take that out of its compose.yaml first.');
  const ports = listOf(found.get('ports'));
  if (ports.some((port) => typeof port !== 'string'))
    throw refused(`Some ports of ${service} are written in the long form.`, 'Write them as "address:port:port" in its compose.yaml first.');
  const written = ports as string[];
  const networks = networksOf(found);
  const kept: Direct = { ports: written, ...(found.has('networks') && { networks: (found.toJSON() as { networks: unknown }).networks }) };
  found.delete('ports');
  found.delete('networks');
  found.set('network_mode', `container:${container}`);
  document.setIn([keptKey, service], document.createNode(kept));
  dropUnused(document, Object.keys(networks));
  return { text: textOf(document), ports: written.map((port) => interpolate(port, values)), networks };
}

/** Gives the service back what it had. */
export function routeDirectly(text: string, file: string, service: string, values: Readonly<Record<string, string>>): Routed {
  const document = editableCompose(text, file);
  const found = serviceOf(document, service, file);
  const kept = document.getIn([keptKey, service]);
  if (!isMap(kept))
    throw refused(
      `Nothing says how ${service} was before it went through a gateway.`,
      'Write its ports into its compose.yaml, and take network_mode out.',
    );
  const { ports = [], networks } = kept.toJSON() as Direct;
  found.delete('network_mode');
  if (ports.length > 0) found.set('ports', document.createNode([...ports]));
  if (networks !== undefined) {
    found.set('networks', document.createNode(networks));
    for (const name of Array.isArray(networks) ? networks.map(String) : Object.keys(networks as object))
      if (!document.hasIn(['networks', name]))
        document.setIn(['networks', name], document.createNode(name === 'default' ? {} : { external: true }));
  }
  document.deleteIn([keptKey, service]);
  const rest = document.get(keptKey);
  if (isMap(rest) && rest.items.length === 0) {
    document.delete(keptKey);
    // Set where podman-compose brings it up: see ComposeEditor.spellForPodmanCompose.
    if (JSON.stringify(document.toJSON()['x-podman']) === '{"in_pod":false}') document.delete('x-podman');
  }
  return { text: textOf(document), ports: ports.map((port) => interpolate(port, values)), networks: networksOf(found) };
}

/** Puts it into the network of a container that has another name by now: compose programs name them differently. */
export function renameGateway(text: string, file: string, service: string, container: string): string {
  const document = editableCompose(text, file);
  serviceOf(document, service, file).set('network_mode', `container:${container}`);
  return textOf(document);
}

/** The names that a service's container may have, as the compose programs give them. */
export function containerNames(compose: string, project: string, service: string): string[] {
  const own = (composeDocument(compose).value as { services?: Record<string, { container_name?: unknown } | null> } | null)?.services?.[
    service
  ]?.container_name;
  return [...(typeof own === 'string' ? [own] : []), `${project}-${service}-1`, `${project}_${service}_1`];
}

/** Which service of this compose file is in which container's network. */
export function routesOf(text: string): { service: string; container: string; isOurs: boolean }[] {
  const value = composeDocument(text).value as {
    services?: Record<string, { network_mode?: unknown } | null>;
    [keptKey]?: Record<string, unknown>;
  } | null;
  return Object.entries(value?.services ?? {}).flatMap(([service, one]) => {
    const [, container] = /^container:(.+)$/.exec(String(one?.network_mode ?? '')) ?? [];
    return container === undefined ? [] : [{ service, container, isOurs: value?.[keptKey]?.[service] !== undefined }];
  });
}

/** The gateway publishes what those behind it had, and is found by their names. Throws `refused.route` for a port that it has already. */
export function gatewayWith(
  text: string,
  file: string,
  service: string,
  { ports, networks }: Pick<Routed, 'ports' | 'networks'>,
  values: Readonly<Record<string, string>>,
): string {
  const document = editableCompose(text, file);
  const found = serviceOf(document, service, file);
  const before = listOf(found.get('ports')).map(String);
  for (const port of ports) {
    const [host, inside] = endsOf(port);
    const taken = before
      .map((one) => interpolate(one, values))
      .find((one) => one !== port && (endsOf(one)[0] === host || endsOf(one)[1] === inside));
    if (taken !== undefined)
      throw refused(
        `The gateway publishes ${taken} already, which shares a port with ${port}: all that is behind it listens in one network.`,
        'Move one of the two: inside, by a setting of the program; outside, with quarterdeck deploy.',
      );
  }
  const wanted = [...before, ...ports.filter((port) => !before.includes(port))];
  if (wanted.length !== before.length) found.set('ports', document.createNode(wanted));
  for (const [name, aliases] of Object.entries(networks)) join(document, found, name, aliases);
  return textOf(document);
}

/** podman-compose puts each project into a pod, and Podman joins nobody outside to a container inside one. */
export function outOfPods(text: string, file: string): string {
  const document = editableCompose(text, file);
  document.setIn(['x-podman', 'in_pod'], false);
  return textOf(document);
}

export function gatewayWithout(
  text: string,
  file: string,
  service: string,
  { ports, networks }: Pick<Routed, 'ports' | 'networks'>,
): string {
  const document = editableCompose(text, file);
  const found = serviceOf(document, service, file);
  const left = listOf(found.get('ports')).filter((port) => !ports.includes(String(port)));
  if (left.length > 0) found.set('ports', document.createNode(left));
  else found.delete('ports');
  const own = found.get('networks');
  if (isMap(own)) for (const name of Object.keys(networks)) own.delete(name);
  dropUnused(document, Object.keys(networks));
  return textOf(document);
}

function join(document: Document.Parsed, service: YAMLMap, name: string, aliases: readonly string[]): void {
  const present = service.get('networks');
  const all = isMap(present)
    ? (present.toJSON() as Record<string, unknown>)
    : Object.fromEntries((isSeq(present) ? listOf(present).map(String) : ['default']).map((one) => [one, {}]));
  service.set('networks', document.createNode({ ...all, [name]: aliases.length > 0 ? { aliases: [...aliases] } : {} }));
  if (!document.hasIn(['networks', 'default'])) document.setIn(['networks', 'default'], document.createNode({}));
  document.setIn(['networks', name], document.createNode({ external: true }));
}

/** Networks that no service is in any more. */
function dropUnused(document: Document.Parsed, names: readonly string[]): void {
  const services = (document.toJSON() as { services?: Record<string, { networks?: unknown } | null> }).services ?? {};
  const used = new Set(
    Object.values(services).flatMap((one) =>
      Array.isArray(one?.networks) ? one.networks.map(String) : Object.keys((one?.networks as object | undefined) ?? {}),
    ),
  );
  for (const name of names) if (!used.has(name)) document.deleteIn(['networks', name]);
  const left = document.get('networks');
  if (isMap(left) && left.items.every(({ key }) => String(key) === 'default')) document.delete('networks');
}

/** Networks that are shared with other components, with the names that the service has in them. */
function networksOf(service: YAMLMap): Record<string, readonly string[]> {
  const networks = service.get('networks');
  if (isSeq(networks))
    return Object.fromEntries(listOf(networks).flatMap((name) => (String(name).startsWith('quarterdeck-') ? [[String(name), []]] : [])));
  if (!isMap(networks)) return {};
  return Object.fromEntries(
    Object.entries(networks.toJSON() as Record<string, { aliases?: string[] } | null>).flatMap(([name, one]) =>
      name.startsWith('quarterdeck-') ? [[name, one?.aliases ?? []]] : [],
    ),
  );
}

/** Outside with protocol, inside with protocol: two of those behind a gateway may share neither. */
function endsOf(port: string): [outside: string, inside: string] {
  const [ends = '', protocol = 'tcp'] = port.split('/');
  const parts = ends.split(':');
  return [`${parts.at(-2) ?? ''}/${protocol}`, `${parts.at(-1) ?? ''}/${protocol}`];
}

function serviceOf(document: Document.Parsed, name: string, file: string): YAMLMap {
  const found = document.getIn(['services', name]);
  if (isMap(found)) return found;
  throw new Fault({
    code: 'config.compose',
    message: `${file} has no service ${name}.`,
    remedy: 'Correct that file.',
    where: { file },
  });
}

function listOf(value: unknown): unknown[] {
  return isSeq(value) ? (value.toJSON() as unknown[]) : [];
}

function textOf(document: Document.Parsed): string {
  return document.toString({ lineWidth: 0, flowCollectionPadding: false });
}

function refused(message: string, remedy: string): Fault {
  return new Fault({ code: 'refused.route', message, remedy });
}
