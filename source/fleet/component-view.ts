import type { CatalogEntry, CatalogService } from '../catalog/catalog.ts';
import { groups as groupOrder } from '../catalog/groups.ts';
import { listeningOf } from '../catalog/listening-port.ts';
import type { ContainerDetail, ContainerFacts, PublishedPort } from '../engine/engine.ts';
import { cleanLine } from '../text/clean.ts';
import { inNaturalOrder } from '../text/natural-order.ts';
import { agoText } from '../text/quantities.ts';
import type { Deployed, HaltedFor } from './deployed-components.ts';
import { dutiesOf } from './duties.ts';
import { type ContainerGroup, composeLabel, dependenciesOf } from './grouping.ts';
import type { ComponentView, CutOff, FindingView, ProbeView, ServiceView, StateName, Tone } from './model.ts';
import { type ContainerHistory, isServing, isUpState, serviceState, toneOfState } from './service-state.ts';

/** What is known of one container beyond the list. */
export interface ContainerKnowledge {
  detail: ContainerDetail | undefined;
  history: ContainerHistory;
}

export type NetworkOwner = Pick<ContainerDetail, 'name' | 'state' | 'startedMs'>;

export interface ViewContext {
  host: string;
  /** What it is called, where that is more than its group's name. */
  id?: string;
  nowMs: number;
  /** False while the engine is away: then every state is `unknown`, and what was seen last is told. */
  engineReachable: boolean;
  knowledge: (containerId: string) => ContainerKnowledge;
  /** The container that another says it is in the network of, by id or name. */
  networkOwner?: (said: string) => NetworkOwner | undefined;
  probe: ProbeView | undefined;
  findings: readonly FindingView[];
  /** Services that compose files declare and that have no container. */
  missing: readonly string[];
  /** What the container of this id was stopped for by a flow that starts it again itself. */
  haltedFor?: (containerId: string) => HaltedFor | undefined;
  /** When the container of a service was seen to be removed. */
  removedMs?: (service: string) => number | undefined;
  /** Whether other containers of its project were created, and none of them was ever started. */
  isPartlyCreated?: boolean;
  /** By duty: what the probe's calls tell about it. */
  observed: ReadonlyMap<string, boolean>;
  /** Undefined where it was not deployed from here. */
  deployed: Deployed | undefined;
  backup: ComponentView['backup'];
}

export interface BuiltView {
  view: ComponentView;
  /** When time alone may change it. */
  reconsiderMs: number | undefined;
}

const toneRank: Record<Tone, number> = { bad: 5, warn: 4, busy: 3, unknown: 2, idle: 1, good: 0 };

export function worseTone(one: Tone, other: Tone): Tone {
  return toneRank[one] >= toneRank[other] ? one : other;
}

/** A published port once: engines list IPv4 and IPv6 apart. One of IPv6 alone keeps its address. */
export function distinctPorts(ports: readonly PublishedPort[]): PublishedPort[] {
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

/** `host/project/service`: the key of a service in every store. */
export function serviceKey(host: string, group: ContainerGroup, service: string): string {
  return `${host}/${group.project}/${service}`;
}

/** One row out of a group of containers. */
export function buildComponentView(group: ContainerGroup, context: ViewContext): BuiltView {
  const { entry } = group;
  let reconsiderMs: number | undefined;
  const names = new Set(group.members.map((member) => member.service));
  const services: ServiceView[] = group.members.map(({ container, service, known, main }) => {
    const { detail, history } = context.knowledge(container.id);
    // An inspect can be older than a list: the list decides what both know.
    const facts: ContainerFacts | ContainerDetail =
      detail && detail.state === container.state
        ? { ...detail, health: container.health === 'none' ? detail.health : container.health }
        : container;
    const state = serviceState(facts, history, context.nowMs, { oneShot: known?.oneShot ?? false });
    if (state.reconsiderMs !== undefined) reconsiderMs = Math.min(reconsiderMs ?? Number.POSITIVE_INFINITY, state.reconsiderMs);
    const cutOff = context.engineReachable ? cutOffOf(container, detail, context) : undefined;
    const halted = state.state === 'stopped' || state.state === 'paused' ? context.haltedFor?.(container.id) : undefined;
    const explained = halted ? { ...state, tone: 'warn' as const, detail: haltedText(halted) } : state;
    const shown = context.engineReachable ? explained : away(state.state, state.detail);
    const verdictMs = shown.state === 'starting' ? verdictOf(detail) : undefined;
    if (verdictMs !== undefined && verdictMs > context.nowMs) reconsiderMs = Math.min(reconsiderMs ?? Number.POSITIVE_INFINITY, verdictMs);
    return {
      key: serviceKey(context.host, group, service),
      name: cleanLine(service),
      containerId: container.id,
      containerName: cleanLine(container.name),
      image: cleanLine(container.image),
      state: shown.state,
      tone: shown.tone,
      detail: shown.detail,
      health: facts.health,
      sinceMs: state.sinceMs,
      exitCode: state.exitCode,
      restarts: state.restarts,
      ports: distinctPorts(detail && container.ports.length === 0 ? detail.ports : container.ports),
      tty: detail?.tty ?? false,
      ...(state.causeUnknown && !halted && context.engineReachable && { causeUnknown: true }),
      ...(state.mayBeMissed && !halted && context.engineReachable && { mayBeMissed: true }),
      ...(detail && { kept: (detail.restartPolicy === 'always' || detail.restartPolicy === 'unless-stopped') && !known?.oneShot }),
      ...(verdictMs !== undefined && { verdictMs }),
      ...(cutOff && { cutOff }),
      dependsOn: dependenciesIn(container, known, names),
      main,
      role: known?.role,
      ...(known && { declared: known.name }),
    };
  });
  for (const name of context.missing) {
    const known = entry?.services.find((service) => service.name === name);
    const removedMs = context.removedMs?.(name);
    const absence = removedMs !== undefined ? 'removed' : context.isPartlyCreated ? 'not created' : undefined;
    const detail =
      removedMs !== undefined
        ? `its container was removed, ${agoText(context.nowMs - removedMs)}`
        : absence
          ? 'not created yet: its project was created only in part, and never started'
          : 'its compose file declares it, but there is no container';
    const shown: Pick<ServiceView, 'state' | 'tone' | 'detail' | 'absence'> = context.engineReachable
      ? { state: 'missing', tone: absence === 'removed' ? 'idle' : toneOfState('missing'), detail, ...(absence && { absence }) }
      : { ...unknown, detail: `the engine is away; ${removedMs === undefined ? 'its compose file declares it' : detail}` };
    services.push({
      key: serviceKey(context.host, group, name),
      name: cleanLine(name),
      containerId: undefined,
      containerName: '',
      image: known?.image ?? '',
      ...shown,
      health: 'none',
      sinceMs: removedMs,
      exitCode: undefined,
      restarts: 0,
      ports: [],
      tty: false,
      main: services.length === 0 && name === context.missing[0],
      role: known?.role,
      ...(known && { declared: known.name }),
    });
  }
  services.sort((one, other) => Number(other.main) - Number(one.main) || inNaturalOrder(one.name, other.name));

  const main = services.find((service) => service.main) ?? services[0];
  if (!main) throw new RangeError('a group has at least one service');
  const summary = summarise(main, services, group);
  const probe =
    context.engineReachable &&
    (main.state === 'healthy' || main.state === 'running' || main.state === 'unhealthy' || main.state === 'starting')
      ? context.probe
      : undefined;
  // A probe that sees nothing wrong does not talk over a health check that does, or that has not answered yet.
  const contradicted = probe?.tone === 'good' && (summary.tone === 'bad' || awaitsVerdict(main, context.nowMs));
  const spoken = probe !== undefined && probe.word !== '' && summary.main && !contradicted;

  const lost = services.find(({ cutOff }) => cutOff !== undefined);
  const view: ComponentView = {
    key: `${context.host}/${group.project}/${group.name}`,
    host: context.host,
    project: group.project,
    id: context.id ?? cleanLine(group.name),
    ...(entry && { entry: entry.id }),
    known: entry !== undefined,
    group: entry?.group ?? 'other',
    kind: entry?.kind ?? '',
    product: entry?.product.name ?? '',
    speaks: entry?.speaks?.api,
    state: summary.state,
    tone: spoken
      ? summary.tone === 'good' || summary.tone === 'busy'
        ? probe.tone
        : worseTone(probe.tone, probe.tone === 'good' ? summary.tone : 'good')
      : summary.tone,
    word: spoken ? probe.word : summary.word,
    detail: spoken ? probe.detail || summary.detail : summary.detail,
    health: main.health,
    sinceMs: main.sinceMs,
    restarts: main.restarts,
    services,
    probe,
    findings: context.findings,
    deployed: context.deployed !== undefined,
    duties: dutiesOf(entry, context.observed, context.deployed),
    backup: context.deployed && entry?.backup.some(({ way }) => way !== 'skip') ? context.backup : undefined,
    origin: originOf(group),
    url: context.deployed?.site ? `https://${cleanLine(context.deployed.site)}` : urlOf(entry, services, group, context),
  };
  return { view: lost?.cutOff ? withoutNetwork(view, lost.name, lost.cutOff) : view, reconsiderMs };
}

/** True while the flow is at work, and after it was interrupted. */
function haltedText({ flow, by }: HaltedFor): string {
  return `stopped for a ${flow} by ${by}, which starts it again; if that was interrupted: quarterdeck recover`;
}

/** Engines start a check a little late. */
const verdictSlackMs = 5_000;

function verdictOf(detail: ContainerDetail | undefined): number | undefined {
  if (detail?.startedMs === undefined || detail.verdictWithinMs === undefined) return undefined;
  return detail.startedMs + detail.verdictWithinMs + verdictSlackMs;
}

/** Is its health check still to answer? Not of one that should have by now: Podman without systemd runs no checks. */
export function awaitsVerdict({ state, verdictMs }: ServiceView, nowMs: number): boolean {
  return state === 'starting' && (verdictMs === undefined || nowMs < verdictMs);
}

/** Whoever is in another's network is let into the one that this has at its own start, and stays there. */
function cutOffOf(container: ContainerFacts, detail: ContainerDetail | undefined, { networkOwner }: ViewContext): CutOff | undefined {
  const [, said] = /^container:(.+)$/.exec(container.networkMode) ?? [];
  if (said === undefined || container.state !== 'running' || !networkOwner) return undefined;
  const owner = networkOwner(said);
  if (!owner) return { why: 'the container whose network it was in is gone', stale: true };
  const name = cleanLine(owner.name);
  if (owner.state !== 'running') return { why: `${name}, whose network it is in, is not running`, stale: false };
  if (owner.startedMs === undefined || detail?.startedMs === undefined || owner.startedMs <= detail.startedMs) return undefined;
  return { why: `${name}, whose network it was in, was started anew since`, stale: true };
}

/** What no probe can see from outside: a program that runs, and reaches nothing. */
function withoutNetwork(view: ComponentView, service: string, { why, stale }: CutOff): ComponentView {
  const message = `${service === view.id || view.services.length === 1 ? 'It' : service} has no network: ${why}.`;
  const remedy = stale
    ? view.deployed
      ? `Make it again: quarterdeck up ${view.id}`
      : `Make it again with what manages it: ${view.origin}.`
    : 'Start that one.';
  return {
    ...view,
    tone: 'bad',
    word: 'no network',
    detail: message,
    findings: [...view.findings, { check: 'no-network', level: 'error', message, remedy, rule: 'R15' }],
  };
}

function dependenciesIn(container: ContainerFacts, known: CatalogService | undefined, names: ReadonlySet<string>): readonly string[] {
  const labelled = dependenciesOf(container);
  return (labelled.length > 0 ? labelled : (known?.dependsOn ?? [])).filter((name) => names.has(name));
}

const unknown = { state: 'unknown', tone: toneOfState('unknown') } as const;

function away(state: StateName, detail: string) {
  return { ...unknown, detail: `the engine is away; seen last: ${state}, ${detail}` };
}

interface Summary {
  state: StateName;
  tone: Tone;
  word: string;
  detail: string;
  /** Whether this is the main service's own state, above which a probe may speak. */
  main: boolean;
}

/** A component is as well as its main service, unless one that serves it is worse (R56). Jobs that ended well and optional ones do not count. */
function summarise(main: ServiceView, services: readonly ServiceView[], group: ContainerGroup): Summary {
  const optional = new Set(group.entry?.services.filter((service) => service.optional).map((service) => service.name));
  const others = services.filter(
    (service) => !service.main && !optional.has(service.name) && service.state !== 'finished' && !mayBeFinished(service),
  );
  const mainUp = isUpState(main.state);
  const notCreated = services.filter(({ absence }) => absence === 'not created');
  if (notCreated.length > 0) {
    const created = services.length - notCreated.length;
    const detail =
      created === 0
        ? main.detail
        : `${created} of ${services.length} containers were created, and none was started; ${notCreated.map(({ name }) => name).join(', ')} not created yet`;
    return { state: 'created', tone: 'warn', word: 'partly created', detail, main: true };
  }
  const worst = others
    .filter(
      (service) =>
        service.tone === 'bad' ||
        (mainUp &&
          (service.state === 'stopped' || service.state === 'missing' || service.state === 'paused' || service.state === 'created')),
    )
    .sort((one, other) => toneRank[other.tone] - toneRank[one.tone])[0];
  if (worst && toneRank[worst.tone] >= toneRank[main.tone] && main.tone !== 'bad') {
    return {
      state: worst.state,
      tone: worseTone(worst.tone, 'warn'),
      word: `${worst.name} ${worst.state}`,
      detail: `${main.name} is ${main.state}, but ${worst.name} ${worst.detail.startsWith('its ') ? 'is not well: ' : ''}${worst.detail}`,
      main: false,
    };
  }
  const word =
    main.state === 'restarting' && main.restarts > 0
      ? `restarting ${main.restarts}x`
      : main.state === 'failed' && main.exitCode !== undefined && main.exitCode !== 0
        ? `failed (${main.exitCode})`
        : main.absence === 'removed'
          ? 'removed'
          : main.state;
  // What it needs and has not got is the likely cause.
  const detail = worst && main.tone === 'bad' ? `${main.detail}; ${worst.name} is ${worst.state}` : main.detail;
  return { state: main.state, tone: main.tone, word, detail, main: true };
}

/** A job that ended well while nobody was watching looks like a service that was stopped. */
function mayBeFinished({ causeUnknown, exitCode, kept }: ServiceView): boolean {
  return causeUnknown === true && exitCode === 0 && !kept;
}

function originOf(group: ContainerGroup): string {
  const container = group.members[0]?.container;
  if (!container) return 'compose file';
  const unit = container.labels.PODMAN_SYSTEMD_UNIT;
  if (unit) return `systemd unit ${cleanLine(unit)}`;
  if (!group.project) return 'made by hand';
  const folder = composeLabel(container, 'project.working_dir');
  const portainer = folder && /^\/data\/compose\/\d+/.test(folder) ? 'Portainer, ' : '';
  return `${portainer}compose project ${group.project}${folder ? ` in ${cleanLine(folder)}` : ''}`;
}

/** The page for people: the first annotated web port that is really published. */
function urlOf(
  entry: CatalogEntry | undefined,
  all: readonly ServiceView[],
  group: ContainerGroup,
  { knowledge }: Pick<ViewContext, 'knowledge'>,
): string | undefined {
  const services = all.filter((service) => isServing(service.state));
  for (const port of entry?.ports.filter((candidate) => candidate.web) ?? []) {
    const onHost = group.members.find(
      ({ container, known }) => known?.name === port.service && container.networkMode === 'host' && container.state === 'running',
    );
    if (entry && onHost) {
      const { port: number, address = '' } = listeningOf(entry, port, knowledge(onHost.container.id).detail);
      return `${port.tls ? 'https' : 'http'}://${authorityOf(address, number)}`;
    }
    for (const service of services) {
      const published = service.ports.find(
        (candidate) =>
          candidate.containerPort === port.container && candidate.protocol === port.protocol && candidate.hostPort !== undefined,
      );
      if (!published) continue;
      return `${port.tls ? 'https' : 'http'}://${authorityOf(published.address ?? '', published.hostPort ?? 0)}`;
    }
  }
  return undefined;
}

function authorityOf(listening: string, port: number): string {
  const address = listening === '' || listening === '0.0.0.0' ? '127.0.0.1' : listening === '::' ? '::1' : listening;
  return `${address.includes(':') ? `[${address}]` : address}:${port}`;
}

/** The order of the screen: the groups of the specification (R1), what is in no group last, names inside. */
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
