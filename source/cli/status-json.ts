import { skippedHosts } from '../app/connection-text.ts';
import { pick } from '../app/pick.ts';
import type { UnfinishedChange } from '../app/unfinished-changes.ts';
import { missingComponents } from '../fleet/missing-components.ts';
import type { ComponentView, FleetSnapshot, ServiceView } from '../fleet/model.ts';

/** The documented formats of `--json`. Fields are only added; `schema` is incremented when one is removed. */

const stamp = (ms: number | undefined) => (ms === undefined ? null : new Date(ms).toISOString());

function serviceJson(service: ServiceView) {
  return {
    name: service.name,
    container: service.containerName || null,
    image: service.image,
    state: { id: service.state, label: service.state, severity: service.severity },
    ...pick(service, 'detail', 'health'),
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

function componentJson(component: ComponentView) {
  const { sinceMs, url, backup, probe, setupTasks, services, findings } = component;
  const isStale = probe?.status?.staleMs !== undefined;
  return {
    ...pick(component, 'id', 'project', 'group', 'product', 'known', 'state', 'serviceState', 'detail', 'health'),
    status: probe?.status ? { text: probe.status.text, at: stamp(probe.status.staleMs ?? probe.atMs), stale: isStale } : null,
    since: stamp(sinceMs),
    restarts: component.restarts,
    url: url ?? null,
    deployed: component.deployed,
    backup: backup && !backup.pretended ? { at: stamp(backup.atMs), destination: !backup.noDestination } : null,
    setupTasks: setupTasks.map((task) => pick(task, 'id', 'title', 'detail', 'done', 'by', 'urgent')),
    services: services.map(serviceJson),
    findings: findings.map((finding) => pick(finding, 'check', 'level', 'message', 'remedy')),
  };
}

export function statusJson(
  { engines, components }: FleetSnapshot,
  { keys, unfinished = [] }: { keys?: ReadonlySet<string>; unfinished?: readonly UnfinishedChange[] } = {},
) {
  return {
    schema: 1,
    hosts: engines.map(({ name, machine, hostKind, connection, clockAheadMs, engine, link, notes }) => ({
      host: name,
      machine,
      kind: hostKind,
      link: connection && {
        state: connection.state,
        since: stamp(connection.sinceMs),
        roundTripMs: connection.roundTripMs ?? null,
        ...(connection.message !== undefined && { message: connection.message, remedy: connection.remedy ?? '' }),
        retryAt: connection.retryAtMs && stamp(connection.retryAtMs),
      },
      clockAheadSeconds: clockAheadMs && Math.round(clockAheadMs / 1000),
      engine: {
        kind: engine.kind ?? null,
        ...pick(engine, 'version', 'reachable', 'apiVersion', 'rootless', 'address'),
        message: link.message,
      },
      notes,
      unfinished: unfinished
        .filter(({ engineName }) => engineName === name)
        .map((change) => pick(change, 'run', 'by', 'startedAt', 'components', 'summary')),
      missing: missingComponents(components, unfinished)
        .filter(({ host }) => host === name)
        .map(({ id }) => id),
      components: components.filter(({ host, key }) => host === name && (keys?.has(key) ?? true)).map(componentJson),
    })),
  };
}

export function portsJson(snapshot: FleetSnapshot) {
  const { ports, components } = snapshot;
  const skipped = skippedHosts(snapshot);
  const ids = new Map(components.map(({ key, id }) => [key, id]));
  return {
    schema: 1,
    ...(skipped.length > 0 && { skipped }),
    ports: ports.map((port) => ({
      ...pick(port, 'host', 'address', 'port', 'protocol', 'exposure', 'owner'),
      component: port.component && (ids.get(port.component) ?? port.component),
      ...pick(port, 'service', 'containerPort', 'role', 'open'),
      conflictWith: port.conflictWith.length > 0 ? port.conflictWith : undefined,
      note: port.note,
    })),
  };
}
