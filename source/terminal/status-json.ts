import { notBack } from '../fleet/come-back.ts';
import type { FleetSnapshot, ServiceView } from '../fleet/model.ts';
import type { UnfinishedChange } from './unfinished-changes.ts';
import { leftOutOf } from './way-text.ts';

/** The documented shapes of `--json`: additions only (`schema` counts up when something goes). */

const stamp = (ms: number | undefined) => (ms === undefined ? null : new Date(ms).toISOString());

function serviceJson(service: ServiceView) {
  return {
    name: service.name,
    container: service.containerName || null,
    image: service.image,
    state: service.state,
    detail: service.detail,
    health: service.health,
    since: stamp(service.sinceMs),
    exitCode: service.exitCode ?? null,
    restarts: service.restarts,
    ports: service.ports.map(({ address, hostPort, containerPort, protocol }) => ({
      address: address ?? null,
      host: hostPort ?? null,
      container: containerPort,
      protocol,
    })),
  };
}

/** `status --json`. `keys` narrows it to these components. */
export function statusJson(
  { places, components }: FleetSnapshot,
  { keys, unfinished = [] }: { keys?: ReadonlySet<string>; unfinished?: readonly UnfinishedChange[] } = {},
) {
  return {
    schema: 1,
    hosts: places.map(({ name, machine, hostKind, way, clockAheadMs, engine, link, notes }) => ({
      host: name,
      machine,
      kind: hostKind,
      ...(way && {
        link: {
          state: way.state,
          since: stamp(way.sinceMs),
          roundTripMs: way.roundTripMs ?? null,
          ...(way.message !== undefined && { message: way.message, remedy: way.remedy ?? '' }),
          ...(way.retryAtMs !== undefined && { retryAt: stamp(way.retryAtMs) }),
        },
      }),
      ...(clockAheadMs !== undefined && { clockAheadSeconds: Math.round(clockAheadMs / 1000) }),
      engine: {
        kind: engine.kind ?? null,
        version: engine.version,
        reachable: engine.reachable,
        apiVersion: engine.apiVersion,
        rootless: engine.rootless,
        address: engine.address,
        ...(link.message !== undefined && { message: link.message }),
      },
      notes,
      unfinished: unfinished
        .filter(({ place }) => place === name)
        .map(({ run, by, startedAt, components: changed, sentence }) => ({ run, by, startedAt, components: changed, sentence })),
      notBack: notBack(components, unfinished)
        .filter(({ host }) => host === name)
        .map(({ id }) => id),
      components: components
        .filter((component) => component.host === name && (keys?.has(component.key) ?? true))
        .map((component) => ({
          id: component.id,
          project: component.project,
          group: component.group,
          product: component.product,
          known: component.known,
          state: component.state,
          word: component.word,
          tone: component.tone,
          detail: component.detail,
          health: component.health,
          since: stamp(component.sinceMs),
          restarts: component.restarts,
          url: component.url ?? null,
          deployed: component.deployed,
          backup: component.backup && !component.backup.pretended ? { at: stamp(component.backup.atMs) } : null,
          duties: component.duties.map(({ id, title, detail, done, by, urgent }) => ({ id, title, detail, done, by, urgent })),
          services: component.services.map(serviceJson),
          findings: component.findings.map(({ check, level, message, remedy, rule }) => ({
            check,
            level,
            message,
            remedy,
            rule: rule ?? null,
          })),
        })),
    })),
  };
}

/** `ports --json`. */
export function portsJson(snapshot: FleetSnapshot) {
  const { ports, components } = snapshot;
  const leftOut = leftOutOf(snapshot);
  const ids = new Map(components.map(({ key, id }) => [key, id]));
  return {
    schema: 1,
    ...(leftOut.length > 0 && { leftOut }),
    ports: ports.map(
      ({ host, address, port, protocol, exposure, owner, component, service, containerPort, role, open, conflictWith, note }) => ({
        host,
        address,
        port,
        protocol,
        exposure,
        owner,
        ...(component !== undefined && { component: ids.get(component) ?? component }),
        ...(service !== undefined && { service }),
        ...(containerPort !== undefined && { containerPort }),
        ...(role !== undefined && { role }),
        open,
        ...(conflictWith.length > 0 && { conflictWith }),
        ...(note !== undefined && { note }),
      }),
    ),
  };
}
