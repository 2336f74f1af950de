import type { CallTarget } from '../calls/call.ts';
import type { Catalog, CatalogEntry } from '../catalog/catalog.ts';
import type { ComponentField } from '../catalog/schema.ts';
import type { ContainerDetail, ContainerFacts } from '../engine/engine.ts';
import { gatewaysOf } from '../engine/network-owners.ts';
import { Fault } from '../faults/fault.ts';
import { pauseFor } from '../faults/waits.ts';
import { CatalogIndex, composeLabel, groupContainers } from '../fleet/grouping.ts';
import type { ComponentView } from '../fleet/model.ts';
import type { Grant } from '../grants/grant.ts';
import type { Session } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import type { FlowWorld } from './flow.ts';

/** What a component says to a secret. `unclear` carries why. */
export type Verdict = { says: 'accepted' | 'refused' } | { says: 'unclear'; why: string };

/** A secret of a component that is there. */
export interface HeldSecret {
  component: string;
  variable: string;
  entry: CatalogEntry;
  field: ComponentField;
}

const readyLimitMs = 60_000;
const againMs = 500;

/** The catalog's entry of a component, whatever it is called. */
export function entryOf({ catalog }: Pick<FlowWorld, 'catalog'>, { id, entry }: ComponentView): CatalogEntry | undefined {
  return catalog.get(entry ?? id);
}

/** The containers of a component as they are now, by the catalog's service names. Without `component` it is the one that was deployed from here, in the project of its id. */
export async function targetOf(
  world: FlowWorld,
  place: string,
  entry: CatalogEntry,
  signal: AbortSignal,
  component: Pick<ComponentView, 'key' | 'project'> = { key: `${place}/${entry.id}/${entry.id}`, project: entry.id },
): Promise<CallTarget> {
  const { key } = component;
  const engine = world.engineOf(place);
  const all = await engine.list(signal);
  const containers = new Map<string, ContainerDetail>();
  for (const [service, id] of servicesOf(all, world.catalog, place, component)) {
    const detail = await engine.inspect(id, signal);
    if (detail) containers.set(service, detail);
  }
  const listed = gatewaysOf([...containers.values()], all);
  const gateways = (await Promise.all(listed.map(({ id }) => engine.inspect(id, signal)))).flatMap((detail) => detail ?? []);
  const name = world.fleet.snapshot().components.find((view) => view.key === key)?.id;
  return {
    ...{ entry, host: world.hostOf(place), engine, engineFacts: world.engineFactsOf(place), containers, execAllowed: true },
    ...(name !== undefined && { name }),
    ...(gateways.length > 0 && { gateways }),
  };
}

/** Ids of containers by the catalog's service names: grouped as for the list, or as compose calls them where the image is none of the catalog's. */
function servicesOf(
  all: readonly ContainerFacts[],
  { entries }: Catalog,
  place: string,
  { key, project: named }: Pick<ComponentView, 'key' | 'project'>,
): ReadonlyMap<string, string> {
  const group = groupContainers(all, new CatalogIndex(entries)).find(({ project, name }) => `${place}/${project}/${name}` === key);
  const members = group
    ? group.members.map(({ container, known, service }) => ({ id: container.id, name: known?.name ?? service }))
    : all
        .filter((container) => composeLabel(container, 'project') === named)
        .map((container) => ({ id: container.id, name: composeLabel(container, 'service') ?? '' }));
  const found = new Map<string, string>();
  for (const { id, name } of members) if (!found.has(name)) found.set(name, id);
  return found;
}

/** Runs what `rotate` declares: the new value on stdin, in the container whose data holds the old one. Throws `failed.rotate`. */
async function tellNew(target: CallTarget, field: ComponentField, value: string, grant: Grant): Promise<void> {
  const program = field.rotate;
  if (!program || 'never' in program) return;
  const { exitCode, stderr } = await runWith(target, program, value, grant);
  if (exitCode === 0) return;
  throw new Fault({
    code: 'failed.rotate',
    message: `${target.entry.id} did not take the new ${field.name}: ${lastLine(stderr) || `its program ended with ${exitCode}`}.`,
    remedy: 'The old value is in force. Look at the log of the component.',
  });
}

/**
 * Has the data of a component hold this value too, where they hold one: a database keeps its passwords itself. Saying it again does no harm. Answers whether it was
 * told. `patient`: its container was started just now, and gets a minute.
 */
export async function tellData(
  session: Session,
  world: FlowWorld,
  place: string,
  { component, entry, field }: HeldSecret,
  value: string,
  { id, which, patient }: { id: string; which: 'old' | 'new'; patient: boolean },
): Promise<boolean> {
  if (!field.rotate || 'never' in field.rotate) return false;
  const told = await session.act({
    id,
    right: 'operate',
    request: `give the ${which} ${field.name} to ${component}, over the input of a program in it`,
    target: { host: place, component },
    run: async (grant) => {
      for (const deadline = performance.now() + (patient ? readyLimitMs : 0); ; await pauseFor(againMs, grant.signal)) {
        try {
          await tellNew(await targetOf(world, place, entry, grant.signal), field, value, grant);
          return true;
        } catch (thrown) {
          if (grant.signal.aborted || performance.now() >= deadline) throw thrown;
        }
      }
    },
  });
  return told === true;
}

/** Asks the component whether a value is right. One that is still starting is asked again for a minute, when `patient`. */
export async function tryValue(
  target: CallTarget,
  field: ComponentField,
  value: string,
  { grant, patient }: { grant: Grant; patient: boolean },
): Promise<Verdict> {
  const deadline = performance.now() + readyLimitMs;
  for (;;) {
    const verdict = await tryOnce(target, field, value, grant);
    if (verdict.says !== 'unclear' || !patient || performance.now() > deadline) return verdict;
    await pauseFor(againMs, grant.signal);
  }
}

async function tryOnce(target: CallTarget, field: ComponentField, value: string, grant: Grant): Promise<Verdict> {
  const proof = field.proves;
  if (!proof) return { says: 'unclear', why: 'its catalog entry names no call that authenticates with it' };
  if (!('call' in proof)) {
    const { exitCode } = await runWith(target, proof, value, grant);
    if (exitCode === 126 || exitCode === 127) return { says: 'unclear', why: `${proof.argv[0]} could not ask it there` };
    return { says: exitCode === 0 ? 'accepted' : 'refused' };
  }
  const call = target.entry.calls[proof.call];
  if (!call) return { says: 'unclear', why: `its catalog entry has no call "${proof.call}"` };
  const { runCall } = await import('../calls/run-call.ts');
  const answer = await runCall(target, {
    name: proof.call,
    call,
    inputs: { ...proof.with, [proof.input]: value },
    signal: grant.signal,
    grant,
  });
  if (answer.status === 401 || answer.status === 403) return { says: 'refused' };
  if (answer.ok && answer.status >= 200 && answer.status < 400) return { says: 'accepted' };
  return {
    says: 'unclear',
    why: answer.failure ? cleanLine(answer.failure).replace(/\.$/, '') : `it answered with status ${answer.status}`,
  };
}

async function runWith(target: CallTarget, { service, argv }: { service: string; argv: readonly string[] }, value: string, grant: Grant) {
  const container = target.containers.get(service);
  if (container?.state !== 'running') {
    throw new Fault({
      code: 'failed.rotate',
      message: `The service ${service} of ${target.name ?? target.entry.id} is not running, and has to be for this.`,
      remedy: `Start it: quarterdeck start ${target.name ?? target.entry.id}`,
    });
  }
  return target.engine.writer(grant).exec(container.id, argv, { stdin: Buffer.from(`${value}\n`) });
}

function lastLine(bytes: Uint8Array): string {
  const lines = new TextDecoder().decode(bytes).trim().split('\n');
  return cleanLine(lines.at(-1) ?? '').replace(/\.$/, '');
}
