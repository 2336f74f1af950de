import type { CatalogEntry } from '../catalog/catalog.ts';
import type { ContainerFacts } from '../engine/engine.ts';
import { Fault } from '../faults/fault.ts';
import type { Session } from '../session/session.ts';
import type { Deployment, Plan } from '../stack/model.ts';
import { planRemove } from '../stack/plan.ts';
import { proxyChanges } from '../stack/proxy-changes.ts';
import { readDeployment } from '../stack/read-deployment.ts';
import { readServices } from '../stack/service-changes.ts';
import { cleanLine } from '../text/clean.ts';
import { applyRemoval } from './apply-plans.ts';
import type { FlowInput, FlowOutcome, FlowWorld } from './flow.ts';
import { joinedTo } from './joined-services.ts';
import { gatherStackFacts } from './stack-facts.ts';

/** The entry of a component that was deployed from here, with a folder and a record of its own; undefined for everything else. */
export async function deployedEntry(
  session: Session,
  { component, service, place }: FlowInput,
  world: FlowWorld,
): Promise<CatalogEntry | undefined> {
  const entry = component && service === undefined && component.project === component.id ? world.catalog.get(component.id) : undefined;
  if (!entry) return undefined;
  const { signal } = session;
  const deployment = await readDeployment(world.hostOf(place), await world.stackFolderOf(place, signal), entry.id, signal);
  return deployment?.record ? entry : undefined;
}

/** Takes back what a deploy made: containers, files that nobody changed, the site at the reverse proxy. Data stay, unless the component's name is typed for it. */
export async function removeDeployed(session: Session, input: FlowInput, world: FlowWorld, entry: CatalogEntry): Promise<FlowOutcome> {
  const facts = await gatherStackFacts(session, world, input.place, entry);
  const { deployment, containers, stackFolder, place, others, engine } = facts;
  const joined = deployment ? joinedTo(deployment, Object.keys(readServices(deployment.compose)), others, facts.look.containers) : [];
  const [one] = joined;
  if (one)
    throw new Fault({
      code: 'refused.joined',
      message: `${joined.map(({ component }) => component).join(', ')} ${joined.length === 1 ? 'is' : 'are'} in its network, and would have none without it.`,
      remedy: `Give ${joined.length === 1 ? 'it' : 'each'} a network of its own first: quarterdeck route ${one.component} --direct`,
    });
  const all = await engine.volumes(session.signal);
  const named = all
    .filter(({ labels }) => labels['com.docker.compose.project'] === entry.id || labels['io.podman.compose.project'] === entry.id)
    .map(({ name }) => name);
  const volumes = named.length > 0 && (await dataToo(session, input, entry.id, named)) ? named : [];

  const own = planRemove({ entry, deployment, place, stackFolder, containers, volumes });
  const proxy = proxyChanges({
    entry,
    site: '',
    ports: [],
    values: {},
    deployments: deployment ? [...others, deployment] : others,
    catalog: world.catalog,
  });
  const plan: Plan = { ...own, files: [...own.files, ...proxy.files], after: proxy.after };
  const fronts = deployment ? frontsOf(deployment, others, facts.look.containers) : [];
  const users = others
    .filter(({ component, compose }) => compose.includes(`quarterdeck-${entry.id}`) && !fronts.includes(component))
    .map(({ component }) => component);
  const run = await applyRemoval(session, world, facts, plan, [
    `${entry.id}: its containers (${containers.map(({ name }) => cleanLine(name)).join(', ') || 'none'}), and what was written in them outside of volumes.`,
    ...plan.files.filter(({ after }) => after === undefined).map(({ path }) => `The file ${path}.`),
    ...plan.notes,
    ...fronts.map((front) => `${front} keeps its ports and names: quarterdeck route ${entry.id} --direct takes them away first.`),
    ...(users.length > 0 ? [`${users.join(', ')} uses it, and will not reach it any more.`] : []),
    'Its secrets stay in the vault: what is kept of its data can be opened with them only.',
  ]);
  if (session.rehearsing) return { message: 'Rehearsed: nothing was removed.' };
  const data =
    named.length === 0
      ? ''
      : ` Its data ${volumes.length === 0 ? 'stay' : 'are deleted'}: ${named.map((name) => cleanLine(name)).join(', ')}.`;
  return {
    message: `${entry.id} is removed.${data}`,
    data: { component: entry.id, host: place, run, volumes: { deleted: volumes, kept: volumes.length === 0 ? named : [] } },
  };
}

/** The gateways that its services are behind. */
function frontsOf(deployment: Deployment, others: readonly Deployment[], containers: readonly ContainerFacts[]): string[] {
  return others
    .filter((other) => joinedTo(other, Object.keys(readServices(other.compose)), [deployment], containers).length > 0)
    .map(({ component }) => component);
}

/** Data are deleted only where the component's name was typed for it. */
async function dataToo(session: Session, input: FlowInput, id: string, volumes: readonly string[]): Promise<boolean> {
  const said = input.options['data'];
  if (typeof said === 'string') {
    if (said === id) return true;
    throw new Fault({
      code: 'usage.data',
      message: `--data wants the name of the component that loses its data: "${cleanLine(said)}" is not "${id}".`,
      remedy: `Write --data ${id}, or leave it out to keep ${volumes.join(', ')}.`,
    });
  }
  if (!session.attended) return false;
  const typed = await session.ask.text({
    id: 'data',
    label: 'Its data',
    help: `They stay (${volumes.join(', ')}), unless you type ${id} here.`,
    check: (text) =>
      text.trim() === '' || text.trim() === id ? undefined : `Leave it empty to keep the data, or type ${id} to delete them.`,
  });
  return typed.trim() === id;
}
