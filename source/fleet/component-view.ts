import type { CatalogEntry } from '../catalog/catalog.ts';
import { groups as groupOrder } from '../catalog/groups.ts';
import { listeningOf, publishedFor } from '../catalog/listening-port.ts';
import { uptimeInStatus } from '../engine/container-facts.ts';
import type { ContainerDetail, ContainerFacts, PublishedPort } from '../engine/engine.ts';
import { authority } from '../text/authority.ts';
import { cleanLine } from '../text/clean.ts';
import { dialledHost } from '../text/loopback.ts';
import { inNaturalOrder } from '../text/natural-order.ts';
import { agoText } from '../text/quantities.ts';
import type { Deployed, HaltedFor } from './deployed-components.ts';
import { type ContainerGroup, composeLabel, type GroupMember, labelledDependencies } from './grouping.ts';
import type { ComponentView, CutOff, FindingView, ProbeView, ServiceStateId, ServiceView, Severity, State } from './model.ts';
import { type ContainerHistory, isServing, isUpState, serviceState, severities } from './service-state.ts';
import { setupTasksOf } from './setup-tasks.ts';

export interface ContainerKnowledge {
  detail: ContainerDetail | undefined;
  history: ContainerHistory;
}

export type NetworkOwner = Pick<ContainerDetail, 'name' | 'state' | 'startedMs'>;

export interface ViewContext {
  host: string;
  id?: string;
  nowMs: number;
  /** False while the engine is unreachable: then every state is `unknown`, and the last known state is reported. */
  engineReachable: boolean;
  knowledge: (containerId: string) => ContainerKnowledge;
  /** The container whose network another container joins, by id or name. */
  networkOwner?: (said: string) => NetworkOwner | undefined;
  probe: ProbeView | undefined;
  findings: readonly FindingView[];
  missing: readonly string[];
  haltedFor?: (containerId: string) => HaltedFor | undefined;
  removedMs?: (service: string) => number | undefined;
  /** Whether other containers of its project were created but never started. */
  isPartlyCreated?: boolean;
  observed: ReadonlyMap<string, boolean>;
  deployed: Deployed | undefined;
  backup: ComponentView['backup'];
}

/** Most components need no list of their own for what they have none of. */
const none: readonly never[] = [];

const severityRank: Record<Severity, number> = { error: 5, warning: 4, busy: 3, unknown: 2, off: 1, ok: 0 };

function worseSeverity(one: Severity, other: Severity): Severity {
  return severityRank[one] >= severityRank[other] ? one : other;
}

/** Returns each published port once: engines list IPv4 and IPv6 separately. An IPv6-only port keeps its address. */
export function distinctPorts(ports: readonly PublishedPort[]): readonly PublishedPort[] {
  if (ports.length === 0) return none;
  const seen = new Map<string, PublishedPort>();
  for (const port of ports) {
    const everywhere = port.address === '::' ? '0.0.0.0' : port.address;
    const key = `${everywhere ?? ''}/${port.hostPort ?? ''}/${port.containerPort}/${port.protocol}`;
    const other = seen.get(key);
    const address = other?.address === '0.0.0.0' ? other.address : port.address;
    const ipv6 = port.address === '::' || other?.ipv6;
    seen.set(key, { ...port, address, ...(ipv6 && { ipv6 }) });
  }
  return [...seen.values()].sort((one, other) => one.containerPort - other.containerPort || inNaturalOrder(one.protocol, other.protocol));
}

/** Joined, because a template is kept as a chain of its parts, which is several times larger. */
export function serviceKey(host: string, { project }: ContainerGroup, service: string): string {
  return [host, project, service].join('/');
}

// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: each field of the view is one short choice between probe, services and entry
export function buildComponentView(group: ContainerGroup, context: ViewContext): { view: ComponentView; reconsiderMs: number } {
  const { entry } = group;
  const names = new Set(group.members.map((member) => member.service));
  const considered = group.members.map((member) => serviceOf(member, group, names, context));
  const services = considered.map(({ service }) => service);
  for (const name of context.missing) services.push(missingService(name, services.length === 0, group, context));
  services.sort((one, other) => Number(other.main) - Number(one.main) || inNaturalOrder(one.name, other.name));

  const main = services.find((service) => service.main) ?? services[0];
  if (!main) throw new RangeError('the group has no services');
  const summary = summarise(main, services, group);
  const probe = context.engineReachable && isServing(main.state) ? context.probe : undefined;
  // A probe that finds no problem does not override a health check that reports one, or that has not answered yet.
  const severity = probe?.state?.severity ?? 'ok';
  const contradicted = probe && severity === 'ok' && (summary.state.severity === 'error' || awaitsVerdict(main, context.nowMs));
  const spoken = summary.main && !contradicted ? probe?.state : undefined;

  const lost = services.find(({ cutOff }) => cutOff !== undefined);
  const view: ComponentView = {
    key: serviceKey(context.host, group, group.name),
    ...{ host: context.host, project: group.project, id: context.id ?? cleanLine(group.name) },
    ...(entry && { entry: entry.id }),
    known: entry !== undefined,
    group: entry?.group ?? 'other',
    kind: entry?.kind ?? '',
    product: entry?.product.name ?? '',
    speaks: entry?.api?.name,
    state: spoken ? { ...spoken, severity: spokenSeverity(spoken.severity, summary.state.severity) } : summary.state,
    serviceState: summary.serviceState,
    detail: (spoken && probe?.detail) || summary.detail,
    ...{ health: main.health, sinceMs: main.sinceMs, restarts: main.restarts },
    ...{ services, probe, findings: context.findings },
    deployed: context.deployed !== undefined,
    setupTasks: entry ? setupTasksOf(entry, context.observed, context.deployed) : none,
    backup: context.deployed && entry?.backup.some(({ method }) => method !== 'skip') ? context.backup : undefined,
    origin: originOf(group),
    url: context.deployed?.site ? `https://${cleanLine(context.deployed.site)}` : urlOf(entry, services, group, context),
  };
  return {
    view: lost?.cutOff ? withoutNetwork(view, lost.name, lost.cutOff) : view,
    reconsiderMs: Math.min(...considered.map((service) => service.reconsiderMs)),
  };
}

/** `reconsiderMs`: when the passage of time may change it. */
// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: each field has its own source: the list, the inspect, the catalog or a flow
function serviceOf(
  { container, service, known, main }: GroupMember,
  group: ContainerGroup,
  names: ReadonlySet<string>,
  context: ViewContext,
): { service: ServiceView; reconsiderMs: number } {
  const { nowMs, engineReachable } = context;
  const { detail, history } = context.knowledge(container.id);
  // An inspect can be older than a list: for fields in both, the list decides.
  const facts: ContainerFacts | ContainerDetail =
    detail && detail.state === container.state
      ? { ...detail, health: container.health === 'none' ? detail.health : container.health }
      : container;
  const state = serviceState(facts, history, nowMs, { oneShot: known?.oneShot ?? false });
  const cutOff = engineReachable ? cutOffOf(container, detail, context) : undefined;
  const halted = state.state === 'stopped' || state.state === 'paused' ? context.haltedFor?.(container.id) : undefined;
  const haltedDetail = `${state.state} for a ${halted?.flow} by ${halted?.by}; it will run again afterwards (if the ${halted?.flow} was interrupted: quarterdeck recover)`;
  const explained = halted ? { ...state, severity: 'warning' as const, detail: haltedDetail } : state;
  const lastSeen = { ...unknown, detail: `the engine is unreachable; last seen ${state.state}, ${state.detail}` };
  const shown = engineReachable ? explained : lastSeen;
  const verdictMs = shown.state === 'starting' ? verdictOf(detail) : undefined;
  const isUnexplained = !halted && engineReachable;
  const upFor = detail ? undefined : uptimeInStatus(container.statusText);
  const labelled = labelledDependencies(container).map(({ name }) => name);
  const dependsOn = (labelled.length > 0 ? labelled : (known?.dependsOn ?? [])).filter((name) => names.has(name));
  return {
    reconsiderMs: Math.min(
      state.reconsiderMs ?? Number.POSITIVE_INFINITY,
      verdictMs !== undefined && verdictMs > nowMs ? verdictMs : Number.POSITIVE_INFINITY,
    ),
    service: {
      key: serviceKey(context.host, group, service),
      name: cleanLine(service),
      containerId: container.id,
      containerName: cleanLine(container.name),
      image: cleanLine(container.image),
      ...{ state: shown.state, severity: shown.severity, detail: shown.detail, health: facts.health },
      ...{ sinceMs: state.sinceMs, exitCode: state.exitCode, restarts: state.restarts },
      ...(upFor && { upFor }),
      ports: distinctPorts(detail && container.ports.length === 0 ? detail.ports : container.ports),
      tty: detail?.tty ?? false,
      ...(state.causeUnknown && isUnexplained && { causeUnknown: true }),
      ...(state.mayBeMissed && isUnexplained && { mayBeMissed: true }),
      ...(detail && { kept: (detail.restartPolicy === 'always' || detail.restartPolicy === 'unless-stopped') && !known?.oneShot }),
      ...(verdictMs !== undefined && { verdictMs }),
      ...(cutOff && { cutOff }),
      dependsOn: dependsOn.length === 0 ? none : dependsOn.slice(),
      main,
      ...(known && { declared: known.name }),
    },
  };
}

function missingService(name: string, main: boolean, group: ContainerGroup, context: ViewContext): ServiceView {
  const known = group.entry?.services.find((service) => service.name === name);
  const removedMs = context.removedMs?.(name);
  const absence = removedMs !== undefined ? 'removed' : context.isPartlyCreated ? 'not created' : undefined;
  const detail =
    removedMs !== undefined
      ? `its container was removed, ${agoText(context.nowMs - removedMs)}`
      : absence
        ? 'not created yet, because its project was only partly created and never started'
        : 'declared in its compose file, but has no container';
  const shown: Pick<ServiceView, 'state' | 'severity' | 'detail' | 'absence'> = context.engineReachable
    ? { state: 'missing', severity: absence === 'removed' ? 'off' : severities.missing, detail, ...(absence && { absence }) }
    : {
        ...unknown,
        detail: `the engine is unreachable; ${removedMs === undefined ? 'this service is declared in the compose file' : detail}`,
      };
  return {
    key: serviceKey(context.host, group, name),
    name: cleanLine(name),
    ...{ containerId: undefined, containerName: '', image: known?.image ?? '' },
    ...shown,
    ...{ health: 'none', sinceMs: removedMs, exitCode: undefined, restarts: 0, ports: [], tty: false, main },
    ...(known && { declared: known.name }),
  };
}

/** A probe cannot make services look better than they are. */
function spokenSeverity(probe: Severity, services: Severity): Severity {
  if (services === 'ok' || services === 'busy') return probe;
  return worseSeverity(probe, probe === 'ok' ? services : 'ok');
}

/** Engines start a health check a little late. */
const verdictSlackMs = 5_000;

function verdictOf(detail: ContainerDetail | undefined): number | undefined {
  if (detail?.startedMs === undefined || detail.verdictWithinMs === undefined) return undefined;
  return detail.startedMs + detail.verdictWithinMs + verdictSlackMs;
}

/** Not after the time when its health check should have run: Podman without systemd runs no checks. */
export function awaitsVerdict({ state, verdictMs }: ServiceView, nowMs: number): boolean {
  return state === 'starting' && (verdictMs === undefined || nowMs < verdictMs);
}

/** A container in another one's network joins the network that the other has when it starts, and stays in it. */
function cutOffOf(container: ContainerFacts, detail: ContainerDetail | undefined, { networkOwner }: ViewContext): CutOff | undefined {
  const [, said] = /^container:(.+)$/.exec(container.networkMode) ?? [];
  if (said === undefined || container.state !== 'running' || !networkOwner) return undefined;
  const owner = networkOwner(said);
  if (!owner) return { why: 'the container whose network it used no longer exists', stale: true };
  const name = cleanLine(owner.name);
  if (owner.state !== 'running') return { why: `${name}, whose network it uses, is not running`, stale: false };
  if (owner.startedMs === undefined || detail?.startedMs === undefined || owner.startedMs <= detail.startedMs) return undefined;
  return { why: `${name}, whose network it used, has been restarted since`, stale: true };
}

/** Returns the reason for a problem that no probe can see from outside: a program that runs but has no network. */
function withoutNetwork(view: ComponentView, service: string, { why, stale }: CutOff): ComponentView {
  const message = `${service === view.id || view.services.length === 1 ? 'The component' : service} has no network: ${why}.`;
  const remedy = stale
    ? view.deployed
      ? `Recreate the component: quarterdeck up ${view.id}`
      : `Recreate the component with the tool that created it (${view.origin}).`
    : 'Start the container that provides the network.';
  return {
    ...view,
    state: { id: 'no-network', label: 'no network', severity: 'error' },
    detail: message,
    findings: [...view.findings, { check: 'no-network', level: 'error', message, remedy }],
  };
}

const unknown = { state: 'unknown', severity: severities.unknown } as const;

/** `main`: this is the main service's own state, which a probe may override. */
type Summary = Pick<ComponentView, 'state' | 'serviceState' | 'detail'> & { main: boolean };

const downStates: ReadonlySet<ServiceStateId> = new Set(['stopped', 'missing', 'paused', 'created']);

/** A component has the state of its main service, unless another is worse (R56). Completed jobs and optional services do not count. */
function summarise(main: ServiceView, services: readonly ServiceView[], group: ContainerGroup): Summary {
  const optional = new Set(group.entry?.services.filter((service) => service.optional).map((service) => service.name));
  const others = services.filter(
    (service) => !service.main && !optional.has(service.name) && service.state !== 'completed' && !mayBeFinished(service),
  );
  const mainUp = isUpState(main.state);
  const notCreated = services.filter(({ absence }) => absence === 'not created');
  if (notCreated.length > 0) {
    const created = services.length - notCreated.length;
    const detail =
      created === 0
        ? main.detail
        : `${created} of ${services.length} containers were created, but none was started; not created yet: ${notCreated.map(({ name }) => name).join(', ')}`;
    const state: State = { id: 'created', label: 'partly created', severity: 'warning' };
    return { state, serviceState: 'created', detail, main: true };
  }
  const worst = others
    .filter(({ severity, state }) => severity === 'error' || (mainUp && downStates.has(state)))
    .sort((one, other) => severityRank[other.severity] - severityRank[one.severity])[0];
  if (worst && severityRank[worst.severity] >= severityRank[main.severity] && main.severity !== 'error') {
    return {
      state: { id: 'degraded', label: `${worst.name} ${worst.state}`, severity: worseSeverity(worst.severity, 'warning') },
      serviceState: worst.state,
      detail: `${main.name} is ${main.state}; ${worst.name}: ${worst.detail}`,
      main: false,
    };
  }
  const label =
    main.state === 'restarting' && main.restarts > 0
      ? `restarting ${main.restarts}x`
      : main.state === 'failed' && main.exitCode !== undefined && main.exitCode !== 0
        ? `failed (${main.exitCode})`
        : main.absence === 'removed'
          ? 'removed'
          : main.state;
  const detail = worst && main.severity === 'error' ? `${main.detail}; ${worst.name} is ${worst.state}` : main.detail;
  return { state: { id: main.state, label, severity: main.severity }, serviceState: main.state, detail, main: true };
}

/** A job that completed unobserved looks like a service that was stopped. */
function mayBeFinished({ causeUnknown, exitCode, kept }: ServiceView): boolean {
  return causeUnknown === true && exitCode === 0 && !kept;
}

function originOf(group: ContainerGroup): string {
  const container = group.members[0]?.container;
  if (!container) return 'compose file';
  const unit = container.labels.PODMAN_SYSTEMD_UNIT;
  if (unit) return `systemd unit ${cleanLine(unit)}`;
  if (!group.project) return 'created without compose';
  const folder = composeLabel(container, 'project.working_dir');
  const portainer = folder && /^\/data\/compose\/\d+/.test(folder) ? 'Portainer, ' : '';
  return `${portainer}compose project ${group.project}${folder ? ` in ${cleanLine(folder)}` : ''}`;
}

function urlOf(
  entry: CatalogEntry | undefined,
  all: readonly ServiceView[],
  group: ContainerGroup,
  { knowledge }: Pick<ViewContext, 'knowledge'>,
): string | undefined {
  const services = all.filter((service) => isServing(service.state));
  for (const port of entry?.ports.filter((candidate) => candidate.web) ?? []) {
    const urlAt = (address: string, number: number) =>
      `${port.tls ? 'https' : 'http'}://${authority({ host: dialledHost(address), port: number })}`;
    const onHost = group.members.find(
      ({ container, known }) => known?.name === port.service && container.networkMode === 'host' && container.state === 'running',
    );
    if (entry && onHost) {
      const { port: number, address = '' } = listeningOf(entry, port, knowledge(onHost.container.id).detail);
      return urlAt(address, number);
    }
    const [published] = services.flatMap(({ ports }) => publishedFor(port, ports));
    if (published) return urlAt(published.address ?? '', published.hostPort);
  }
  return undefined;
}

/** As on screen: the groups in the order of the specification (R1), ungrouped components last, then by name. */
export function compareComponents(one: ComponentView, other: ComponentView): number {
  return (
    groupRank(one.group) - groupRank(other.group) ||
    inNaturalOrder(one.id, other.id) ||
    inNaturalOrder(one.host, other.host) ||
    inNaturalOrder(one.key, other.key)
  );
}

function groupRank(group: string): number {
  const rank = (groupOrder as readonly string[]).indexOf(group);
  return rank < 0 ? groupOrder.length : rank;
}
