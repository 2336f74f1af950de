import type { CatalogEntry } from '../../catalog/catalog.ts';
import type { ContainerFacts } from '../../engine/engine.ts';
import { Fault } from '../../faults/fault.ts';
import type { Session } from '../../session/session.ts';
import type { Deployment, Plan } from '../../stack/model.ts';
import { readServices } from '../../stack/plan/compose-document.ts';
import { planRemove } from '../../stack/plan/plan.ts';
import { proxyChanges } from '../../stack/plan/proxy-changes.ts';
import { projectOf } from '../../stack/plan/service-changes.ts';
import { readDeployment } from '../../stack/read-deployment.ts';
import { cleanLine } from '../../text/clean.ts';
import { applyRemoval } from '../deploy/apply-plans.ts';
import { joinedTo } from '../deploy/joined-services.ts';
import { gatherStackFacts } from '../deploy/stack-facts.ts';
import type { EngineScope } from '../engine-scope.ts';
import type { FlowInput, FlowOutcome } from '../flow.ts';
import { optionOf } from '../flow-options.ts';

export async function deployedEntry(scope: EngineScope, { component, service }: FlowInput): Promise<CatalogEntry | undefined> {
  const { context, signal } = scope;
  const entry = component && service === undefined && component.project === component.id ? context.catalog.get(component.id) : undefined;
  if (!entry) return undefined;
  const deployment = await readDeployment(scope.host, await scope.stackFolder(), entry.id, signal);
  return deployment?.record ? entry : undefined;
}

/** Removes what a deploy created. Data stay, unless the component's name is typed to delete them. */
export async function removeDeployed(scope: EngineScope, input: FlowInput, entry: CatalogEntry): Promise<FlowOutcome> {
  const { session, context, engineName } = scope;
  const { catalog } = context;
  const facts = await gatherStackFacts(scope, entry);
  const { deployment, containers, stackFolder, others } = facts;
  const joined = deployment ? joinedTo(deployment, Object.keys(readServices(deployment.compose)), others, facts.allContainers) : [];
  if (joined.length > 0) {
    const routes = joined.map(({ component }) => `quarterdeck route ${component} --direct`).join('; ');
    const [are, each] = joined.length === 1 ? ['is', 'the component'] : ['are', 'each component'];
    const message = `${joined.map(({ component }) => component).join(', ')} ${are} in the network of ${entry.id}, and would lose network access without it.`;
    throw new Fault('refused.joined', message, `Move ${each} to its own network first: ${routes}`);
  }
  const all = await scope.engine.volumes(session.signal);
  const named = all.filter((volume) => projectOf(volume) === entry.id).map(({ name }) => name);
  const volumes = named.length > 0 && (await dataToo(session, input, entry.id, named)) ? named : [];

  const own = planRemove({ entry, deployment, engineName, stackFolder, containers, volumes });
  const deployments = deployment ? [...others, deployment] : others;
  const proxy = proxyChanges({ entry, site: '', ports: [], values: {}, deployments, catalog });
  const plan: Plan = { ...own, files: [...own.files, ...proxy.files], after: proxy.after };
  const fronts = deployment ? frontsOf(deployment, others, facts.allContainers) : [];
  const users = others
    .filter(({ component, compose }) => compose.split(/[^\w-]+/).includes(`quarterdeck-${entry.id}`) && !fronts.includes(component))
    .map(({ component }) => component);
  const run = await applyRemoval(facts, plan, [
    `Containers of ${entry.id} are removed, with the data in them outside of volumes: ${containers.map(({ name }) => cleanLine(name)).join(', ') || 'none'}.`,
    ...plan.files.filter(({ after }) => after === undefined).map(({ path }) => `The file ${path} is deleted.`),
    ...plan.notes,
    ...fronts.map(
      (front) => `${front} continues to publish the ports of ${entry.id}. To avoid this, first run: quarterdeck route ${entry.id} --direct`,
    ),
    ...(users.length > 0 ? [`These components can no longer reach ${entry.id}: ${users.join(', ')}.`] : []),
    `Stored secrets of ${entry.id} are kept${volumes.length > 0 ? '' : ', because its data may be unusable without them'}.`,
  ]);
  if (session.dryRun) return { message: 'Dry run: nothing was removed.' };
  const data =
    named.length === 0 ? '' : ` Data ${volumes.length === 0 ? 'kept' : 'deleted'}: ${named.map((name) => cleanLine(name)).join(', ')}.`;
  return {
    message: `Removed ${entry.id}.${data}`,
    data: { component: entry.id, host: engineName, run, volumes: { deleted: volumes, kept: volumes.length === 0 ? named : [] } },
  };
}

function frontsOf(deployment: Deployment, others: readonly Deployment[], containers: readonly ContainerFacts[]): string[] {
  return others
    .filter((other) => joinedTo(other, Object.keys(readServices(other.compose)), [deployment], containers).length > 0)
    .map(({ component }) => component);
}

async function dataToo(session: Session, input: FlowInput, id: string, volumes: readonly string[]): Promise<boolean> {
  const named = optionOf(input, 'data');
  if (named !== undefined) {
    if (named === id) return true;
    const message = `--data must be the name of the component, "${id}", not "${cleanLine(named)}".`;
    throw new Fault('usage.data', message, `Pass --data ${id}, or omit it to keep ${volumes.join(', ')}.`);
  }
  if (!session.attended) return false;
  const typed = await session.ask.text({
    id: 'data',
    label: `Delete the data of ${id}`,
    help: `Type ${id} to delete ${volumes.join(', ')}. Leave empty to keep the data.`,
    check: (text) => (text.trim() === '' || text.trim() === id ? undefined : `Leave empty to keep the data, or type ${id} to delete it.`),
  });
  return typed.trim() === id;
}
