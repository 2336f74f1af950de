import type { CatalogEntry } from '../catalog/catalog.ts';
import { type ChainStage, chainStages, chainStageTitles } from '../catalog/chain-stages.ts';
import type { ContainerDetail } from '../engine/engine.ts';
import { gatewaysOf } from '../engine/network-owners.ts';
import { type Between, connectionsBetween, foldersBetween, found, gatewayFindings, libraryBetween, type Reached } from './chain-links.ts';
import type { ComponentView, FleetSnapshot, ServiceView } from './model.ts';
import { isServing } from './service-state.ts';

export interface ChainMember extends Pick<ComponentView, 'key' | 'id' | 'host' | 'product' | 'state' | 'serviceState'> {
  does: string;
  /** The stage works without it. */
  aside: boolean;
  /** Whether it runs. Undefined while its engine is unreachable. */
  runs: boolean | undefined;
}

export interface ChainStageView {
  stage: ChainStage;
  title: string;
  /** `missing`: no component serves it. `stopped`: a component that serves it is not running. `unknown`: its engine is unreachable. */
  state: 'works' | 'troubled' | 'stopped' | 'missing' | 'unknown';
  members: readonly ChainMember[];
  /** Catalog entries that could serve it. */
  candidates: readonly string[];
}

/** `to` is missing for a problem at one stage. */
export interface ChainFinding extends Between {
  from: ChainStage;
  to: ChainStage | undefined;
}

export interface MediaChain {
  stages: readonly ChainStageView[];
  findings: readonly ChainFinding[];
  whole: boolean;
}

type ChainDetails = ReadonlyMap<string, ContainerDetail>;

interface ContainerOnHost {
  host: string;
  containerId: string;
}

function chainContainers(entries: readonly CatalogEntry[], { components }: FleetSnapshot): readonly ContainerOnHost[] {
  const serving = new Set(entries.flatMap(({ id, chain }) => (chain.length > 0 ? [id] : [])));
  return components.flatMap((component) => {
    const { containerId } = component.known && serving.has(component.entry ?? component.id) ? (mainService(component) ?? {}) : {};
    return containerId === undefined ? [] : [{ host: component.host, containerId }];
  });
}

function buildChain(entries: readonly CatalogEntry[], snapshot: FleetSnapshot, details: ChainDetails): MediaChain {
  const stages = chainStages.map((stage): ChainStageView => {
    const serving = entries.flatMap((entry) => entry.chain.flatMap((link) => (link.stage === stage ? [{ entry, link }] : [])));
    const members = serving.flatMap(({ entry, link }) =>
      snapshot.components
        .filter(({ known, id, entry: own }) => known && (own ?? id) === entry.id)
        .map(
          (component): ChainMember => ({
            ...{ key: component.key, id: component.id, host: component.host, product: component.product },
            ...{ does: link.does, aside: link.optional },
            ...{ state: component.state, serviceState: component.serviceState, runs: runs(component) },
          }),
        ),
    );
    return {
      ...{ stage, title: chainStageTitles[stage], state: stateOf(members), members },
      candidates: serving.flatMap(({ entry, link }) => (link.optional || entry.deploy !== 'compose' ? [] : [entry.id])),
    };
  });
  const reached = (stage: ChainStage) => reachedAt(stage, stages, entries, snapshot, details);
  const atStages = stages.flatMap((view) => atStage(view, stages, snapshot).map((one) => ({ ...one, from: view.stage, to: undefined })));
  const findings = [...atStages, ...between(reached)].sort(
    (a, b) => chainStages.indexOf(a.to ?? a.from) - chainStages.indexOf(b.to ?? b.from),
  );
  return {
    stages,
    findings,
    whole: stages.every(({ state }) => state === 'works') && findings.every(({ level }) => level === 'notice'),
  };
}

function mainService({ services }: ComponentView): ServiceView | undefined {
  return services.find(({ main }) => main) ?? services[0];
}

function runs({ serviceState }: ComponentView): boolean | undefined {
  return serviceState === 'unknown' ? undefined : isServing(serviceState);
}

function stateOf(members: readonly ChainMember[]): ChainStageView['state'] {
  const needed = members.filter(({ aside }) => !aside);
  if (needed.length === 0) return 'missing';
  if (needed.some((one) => one.runs === false)) return 'stopped';
  if (needed.some((one) => one.runs === undefined)) return 'unknown';
  return needed.some(({ state }) => state.severity === 'error') ? 'troubled' : 'works';
}

function atStage(view: ChainStageView, stages: readonly ChainStageView[], { components }: FleetSnapshot): Between[] {
  if (view.state === 'missing') {
    const remedy = view.candidates.length === 0 ? '' : `Deploy one: quarterdeck deploy ${view.candidates.join(' or ')}`;
    return [found('error', `No component handles the stage "${view.title}".`, remedy)];
  }
  return view.members.flatMap((member) => {
    if (stages.find(({ members }) => members.some(({ key }) => key === member.key)) !== view) return [];
    const component = components.find(({ key }) => key === member.key);
    const cut = component?.services.find(({ cutOff }) => cutOff)?.cutOff;
    if (cut) {
      const remedy = cut.stale
        ? `Reconnect the component to the network: quarterdeck route ${member.id}`
        : `Start the container whose network ${member.id} uses. If this is not enough, run quarterdeck route ${member.id}.`;
      return found('error', `${member.id} has no network: ${cut.why}.`, remedy);
    }
    const level = member.aside ? ('notice' as const) : ('error' as const);
    const start = `Start it: quarterdeck ${member.state.id === 'missing' ? 'up' : 'start'} ${member.id}`;
    if (member.runs === false) return found(level, `${member.id} is not running (${member.state.label}).`, start);
    if (member.runs === undefined) {
      const message = `The state of ${member.id} is unknown: the engine of ${member.host} is unreachable.`;
      return found('warning', message, 'Check the engine: quarterdeck status');
    }
    if (member.state.severity !== 'error') return [];
    return found(level, `${member.id} runs, but reports: ${component?.detail ?? member.state.label}`, `quarterdeck logs ${member.id}`);
  });
}

function reachedAt(
  stage: ChainStage,
  stages: readonly ChainStageView[],
  entries: readonly CatalogEntry[],
  snapshot: FleetSnapshot,
  details: ChainDetails,
): Reached[] {
  const members = stages.find((one) => one.stage === stage)?.members.filter(({ aside }) => !aside) ?? [];
  return members.flatMap(({ key, id, host }): Reached[] => {
    const component = snapshot.components.find((one) => one.key === key);
    const service = component && mainService(component);
    const detail = service?.containerId === undefined ? undefined : details.get(service.containerId);
    const entry = entries.find((one) => one.id === (component?.entry ?? id));
    if (!component || !entry || !detail) return [];
    const front = frontOf(detail, host, snapshot);
    const frontDetail = front?.containerId === undefined ? undefined : details.get(front.containerId);
    return [
      {
        ...{ id, component, entry, detail },
        machine: snapshot.engines.find(({ name }) => name === host)?.machine ?? host,
        front: front && { component: front.component, detail: frontDetail },
      },
    ];
  });
}

/** The container whose network this one uses (R15). */
function frontOf({ networkMode }: Pick<ContainerDetail, 'networkMode'>, host: string, { components }: FleetSnapshot) {
  const local = components.filter((component) => component.host === host);
  const containers = local.flatMap((component) =>
    component.services.map(({ containerId, containerName: name }) => ({ component, containerId, id: containerId ?? '', name })),
  );
  return gatewaysOf([{ networkMode }], containers)[0];
}

function between(reached: (stage: ChainStage) => readonly Reached[]): ChainFinding[] {
  const [release, request, download, imports, scan] = chainStages.map(reached) as [Reached[], Reached[], Reached[], Reached[], Reached[]];
  const links: readonly [from: ChainStage, to: ChainStage | undefined, found: readonly Between[]][] = [
    ['release', undefined, gatewayFindings(release)],
    // The manager writes into the automations, and they query it.
    ['release', 'request', connectionsBetween(release, request, true)],
    ['request', undefined, gatewayFindings(request)],
    ['request', 'download', connectionsBetween(request, download, false)],
    ['download', undefined, gatewayFindings(download)],
    ['download', 'import', foldersBetween(download, imports)],
    ['import', 'scan', libraryBetween(imports, scan)],
  ];
  return links.flatMap(([from, to, found]) => found.map((one) => ({ ...one, from, to })));
}

/** Also inspects the containers whose networks they use. One that cannot be inspected is left out: its state explains enough. */
export async function readChain(
  entries: readonly CatalogEntry[],
  snapshot: FleetSnapshot,
  inspect: (host: string, containerId: string) => Promise<ContainerDetail | undefined>,
): Promise<MediaChain> {
  const details = new Map<string, ContainerDetail>();
  const read = (wanted: readonly ContainerOnHost[]) =>
    Promise.all(
      wanted.map(async ({ host, containerId }) => {
        const detail = details.has(containerId) ? undefined : await inspect(host, containerId).catch(() => undefined);
        if (detail) details.set(containerId, detail);
      }),
    );
  const first = chainContainers(entries, snapshot);
  await read(first);
  await read(
    first.flatMap(({ host, containerId }) => {
      const detail = details.get(containerId);
      const front = detail && frontOf(detail, host, snapshot)?.containerId;
      return front === undefined ? [] : [{ host, containerId: front }];
    }),
  );
  return buildChain(entries, snapshot, details);
}
