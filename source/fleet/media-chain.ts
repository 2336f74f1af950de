import type { CatalogEntry } from '../catalog/catalog.ts';
import { type ChainStage, chainStages, chainStageTitles } from '../catalog/chain-stages.ts';
import type { ContainerDetail } from '../engine/engine.ts';
import { type Between, foldersBetween, gatewaysOf, isUp, libraryBetween, type Reached, waysBetween } from './chain-links.ts';
import type { ComponentView, FleetSnapshot, ServiceView, StateName, Tone } from './model.ts';

/** One component at a stage. */
export interface ChainMember {
  key: string;
  id: string;
  host: string;
  product: string;
  /** What it does there. */
  does: string;
  /** The stage goes on without it. */
  aside: boolean;
  state: StateName;
  tone: Tone;
  word: string;
  /** Does it run? Undefined while its engine is away. */
  runs: boolean | undefined;
}

export interface ChainStageView {
  stage: ChainStage;
  title: string;
  /** `missing`: nothing here serves it. `stopped`: something that does is not running. `unknown`: its engine is away. */
  state: 'works' | 'troubled' | 'stopped' | 'missing' | 'unknown';
  members: readonly ChainMember[];
  /** Of the catalog: what could serve it. */
  candidates: readonly string[];
}

/** What is wrong at a stage, or between two of them: then `to` is the later one. */
export interface ChainFinding {
  level: 'error' | 'warning' | 'notice';
  from: ChainStage;
  to: ChainStage | undefined;
  message: string;
  remedy: string;
  rule: string | undefined;
}

/** The way of a release into the library (R55). */
export interface MediaChain {
  stages: readonly ChainStageView[];
  /** In the order of the stages. */
  findings: readonly ChainFinding[];
  /** Every stage is served by something that runs, and nothing that is known stands in the way. */
  whole: boolean;
}

/** By container id; a container that could not be looked at is missing. */
export type ChainDetails = ReadonlyMap<string, ContainerDetail>;

/** Containers whose mounts and networks tell what is between the stages. */
function chainContainers(
  entries: readonly CatalogEntry[],
  { components }: FleetSnapshot,
): readonly { host: string; containerId: string }[] {
  const serving = new Set(entries.flatMap(({ id, chain }) => (chain.length > 0 ? [id] : [])));
  return components.flatMap((component) => {
    const { containerId } = component.known && serving.has(component.entry ?? component.id) ? (mainService(component) ?? {}) : {};
    return containerId === undefined ? [] : [{ host: component.host, containerId }];
  });
}

export function lookAtChain(entries: readonly CatalogEntry[], snapshot: FleetSnapshot, details: ChainDetails): MediaChain {
  const stages = chainStages.map((stage): ChainStageView => {
    const serving = entries.flatMap((entry) => entry.chain.flatMap((link) => (link.stage === stage ? [{ entry, link }] : [])));
    const members = serving.flatMap(({ entry, link }) =>
      snapshot.components
        .filter(({ known, id, entry: own }) => known && (own ?? id) === entry.id)
        .map(
          (component): ChainMember => ({
            ...{ key: component.key, id: component.id, host: component.host, product: component.product },
            ...{ does: link.does, aside: link.aside },
            ...{ state: component.state, tone: component.tone, word: component.word, runs: runs(component) },
          }),
        ),
    );
    return {
      ...{ stage, title: chainStageTitles[stage], state: stateOf(members), members },
      candidates: serving.flatMap(({ entry, link }) => (link.aside || entry.deploy !== 'compose' ? [] : [entry.id])),
    };
  });
  const reached = (stage: ChainStage) => reachedAt(stage, stages, entries, snapshot, details);
  const findings = [...stages.flatMap(({ stage }) => atStage(stage, stages, snapshot)), ...between(reached)].sort(
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

function runs({ state }: ComponentView): boolean | undefined {
  return state === 'unknown' ? undefined : isUp(state);
}

function stateOf(members: readonly ChainMember[]): ChainStageView['state'] {
  const needed = members.filter(({ aside }) => !aside);
  if (needed.length === 0) return 'missing';
  if (needed.some((one) => one.runs === false)) return 'stopped';
  if (needed.some((one) => one.runs === undefined)) return 'unknown';
  return needed.some(({ tone }) => tone === 'bad') ? 'troubled' : 'works';
}

/** What is wrong with those who serve it, whatever comes before and after. */
function atStage(stage: ChainStage, stages: readonly ChainStageView[], { components }: FleetSnapshot): ChainFinding[] {
  const view = stages.find((one) => one.stage === stage);
  if (!view) return [];
  const at = { from: stage, to: undefined, rule: 'R55' } as const;
  if (view.state === 'missing')
    return [
      {
        ...at,
        level: 'error',
        message: `Nothing here serves "${view.title}".`,
        remedy: view.candidates.length === 0 ? '' : `Deploy what does: quarterdeck deploy ${view.candidates.join(' or ')}`,
      },
    ];
  return view.members.flatMap((member): ChainFinding[] => {
    // It is told once, at the first stage that it serves.
    if (stages.find(({ members }) => members.some(({ key }) => key === member.key))?.stage !== stage) return [];
    const component = components.find(({ key }) => key === member.key);
    const cut = component?.services.find(({ cutOff }) => cutOff)?.cutOff;
    if (cut)
      return [
        {
          ...at,
          level: 'error',
          message: `${member.id} has no network: ${cut.why}`,
          remedy: cut.stale
            ? `Put it into the network anew: quarterdeck route ${member.id}`
            : `Start what it goes through; then it has one again, or say quarterdeck route ${member.id}.`,
          rule: 'R15',
        },
      ];
    const level = member.aside ? ('notice' as const) : ('error' as const);
    if (member.runs === false)
      return [{ ...at, level, message: `${member.id} is not running (${member.word}).`, remedy: `quarterdeck start ${member.id}` }];
    if (member.runs === undefined)
      return [
        {
          ...at,
          level: 'warning',
          message: `How ${member.id} is cannot be known: the engine of ${member.host} is away.`,
          remedy: 'Look at it with quarterdeck status.',
        },
      ];
    if (member.tone !== 'bad') return [];
    return [
      {
        ...at,
        level,
        message: `${member.id} runs, but says: ${component?.detail ?? member.word}`,
        remedy: `quarterdeck logs ${member.id}`,
      },
    ];
  });
}

/** Those of a stage that matter for what comes before and after, with what the engine told of their container. */
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
        machine: snapshot.places.find(({ name }) => name === host)?.machine ?? host,
        front: front && { component: front.component, detail: frontDetail },
      },
    ];
  });
}

/** The container whose network this one is in (R15), and the component that it is of. */
function frontOf(
  { networkMode }: Pick<ContainerDetail, 'networkMode'>,
  host: string,
  { components }: FleetSnapshot,
): { component: ComponentView; containerId: string | undefined } | undefined {
  const named = /^container:(.+)$/.exec(networkMode)?.[1];
  if (named === undefined) return undefined;
  for (const component of components)
    for (const { containerId, containerName } of component.host === host ? component.services : [])
      if (containerName === named || (named.length >= 12 && containerId?.startsWith(named))) return { component, containerId };
  return undefined;
}

function between(reached: (stage: ChainStage) => readonly Reached[]): ChainFinding[] {
  const [release, request, download, imports, scan] = chainStages.map(reached) as [Reached[], Reached[], Reached[], Reached[], Reached[]];
  const links: readonly [from: ChainStage, to: ChainStage | undefined, found: readonly Between[]][] = [
    ['release', undefined, gatewaysOf(release)],
    // The manager writes into the automations, and they ask it.
    ['release', 'request', waysBetween(release, request, true)],
    ['request', undefined, gatewaysOf(request)],
    ['request', 'download', waysBetween(request, download, false)],
    ['download', undefined, gatewaysOf(download)],
    ['download', 'import', foldersBetween(download, imports)],
    ['import', 'scan', libraryBetween(imports, scan)],
  ];
  return links.flatMap(([from, to, found]) => found.map((one) => ({ ...one, from, to })));
}

/** Looks at the containers that count, and at those in whose network they are. One that cannot be looked at is left out: its state says enough. */
export async function readChain(
  entries: readonly CatalogEntry[],
  snapshot: FleetSnapshot,
  inspect: (host: string, containerId: string) => Promise<ContainerDetail | undefined>,
): Promise<MediaChain> {
  const details = new Map<string, ContainerDetail>();
  const look = (wanted: readonly { host: string; containerId: string }[]) =>
    Promise.all(
      wanted.map(async ({ host, containerId }) => {
        const detail = details.has(containerId) ? undefined : await inspect(host, containerId).catch(() => undefined);
        if (detail) details.set(containerId, detail);
      }),
    );
  const first = chainContainers(entries, snapshot);
  await look(first);
  await look(
    first.flatMap(({ host, containerId }) => {
      const detail = details.get(containerId);
      const front = detail && frontOf(detail, host, snapshot)?.containerId;
      return front === undefined ? [] : [{ host, containerId: front }];
    }),
  );
  return lookAtChain(entries, snapshot, details);
}
