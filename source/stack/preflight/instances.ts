import { posix } from 'node:path';
import type { CatalogEntry } from '../../catalog/catalog.ts';
import { parseImage } from '../../catalog/images.ts';
import type { ContainerFacts } from '../../engine/engine.ts';
import { CatalogIndex, type ContainerGroup, composeLabel, groupContainers } from '../../fleet/grouping.ts';
import { cleanLine } from '../../text/clean.ts';
import { blocking, type Finding } from '../finding.ts';
import type { PreflightContext } from './context.ts';

/** The component is on the host already. */
export const isInstance = ({ id }: Finding): boolean => id.startsWith('instance:');

/** Another compose project has the same name. A second instance cannot be deployed beside that one. */
export const isForeignProject = ({ id }: Finding): boolean => id.startsWith('project:');

export const instanceAdvice = (id: string): string =>
  `Existing containers cannot be adopted yet, and a second instance would start without their data. Manage the component with the tool that deployed it, or remove the existing containers first. For a second instance with its own data: quarterdeck deploy ${id} --second-instance`;

/** A second instance would start without the data of the first. Not checked for deployed components. */
export async function* checkInstances(context: PreflightContext): AsyncIterable<Finding> {
  const { entry, deployment, deployments, catalog } = context;
  if (deployment?.record) return;
  yield* checkProject(context);
  const index = new CatalogIndex(catalog.entries);
  const groups = groupContainers(await context.containers(), index);
  const deployed = new Set(deployments.map(({ component }) => component));
  for (const group of groups) {
    const container = group.members.find(({ main }) => main)?.container;
    if (!container || group.project === context.plan.project) continue;
    if (group.entry?.id !== entry.id && (group.entry || !isCopyOf(container.image, entry))) continue;
    // A proxy or database that another component runs for itself has the same image.
    if (group.project !== entry.id && (deployed.has(group.project) || (await isOfOtherStack(container, context)))) continue;
    if (serves(container, group, groups, index)) continue;
    const message = `${entry.id} already exists on this host and was not deployed by Quarterdeck: ${described(container)}.`;
    yield blocking(`instance:${cleanLine(container.name)}`, message, instanceAdvice(entry.id));
  }
}

/** Quarterdeck may have deployed the container into another stack folder of this host. */
async function isOfOtherStack(container: ContainerFacts, { host, signal }: PreflightContext): Promise<boolean> {
  const folder = composeLabel(container, 'project.working_dir');
  if (folder === undefined || posix.basename(folder) !== composeLabel(container, 'project')) return false;
  return (await host.files.facts(posix.join(posix.dirname(folder), '.quarterdeck'), signal))?.kind === 'folder';
}

/** Another component of the project may run this image as a helper. */
function serves(container: ContainerFacts, own: ContainerGroup, groups: readonly ContainerGroup[], index: CatalogIndex): boolean {
  if (own.project === '') return false;
  const others = new Set(groups.flatMap(({ project, entry }) => (project === own.project && entry && entry !== own.entry ? [entry] : [])));
  return index.candidates(container.image).some(({ entry, service }) => !service.main && others.has(entry));
}

/** Compose identifies a project only by its name: containers of one in another folder would be replaced, whatever their images are. */
async function* checkProject(context: PreflightContext): AsyncIterable<Finding> {
  const { plan, deployment } = context;
  if (deployment) return;
  const foreign: ContainerFacts[] = [];
  for (const container of await context.containers())
    if (composeLabel(container, 'project') === plan.project && !(await isOwn(container, context))) foreign.push(container);
  const [first] = foreign;
  if (!first) return;
  const folder = cleanLine(composeLabel(first, 'project.working_dir') ?? '');
  const exists = `A compose project named ${plan.project} already exists on this host, in ${folder}: ${foreign.map(described).join(', ')}.`;
  const advice = 'Existing containers cannot be adopted yet. Manage that project with the tool that deployed it, or rename it first.';
  const message = `${exists} Deploying would replace its containers and use its volumes.`;
  yield blocking(`project:${cleanLine(plan.project)}`, message, advice);
}

/** The folder of the component may have been created by hand, or be reached through a link. */
async function isOwn(container: ContainerFacts, { plan, entry, host, signal }: PreflightContext): Promise<boolean> {
  const folder = composeLabel(container, 'project.working_dir');
  const own = `${plan.stackFolder}/${entry.id}`;
  if (folder === undefined || folder === own) return true;
  const [there, here] = await Promise.all([folder, own].map((path) => host.files.facts(path, signal)));
  return there !== undefined && here !== undefined && there.inode === here.inode && there.device === here.device;
}

/** A copy is the image of the main service under another registry's name: `registry.lan/mirror/miniflux/miniflux`. */
function isCopyOf(image: string, { services }: CatalogEntry): boolean {
  const path = pathOf(parseImage(image)?.repository ?? '');
  const main = services.filter((service) => service.main).flatMap(({ repositories }) => repositories.map(pathOf));
  // The name of an official image is a single word, as is that of many unrelated images in a registry.
  return main.some((own) => path === own || path.endsWith(own.includes('/') ? `/${own}` : `/library/${own}`));
}

/** Returns the path of a repository, without the registry; for an official image only its name. */
const pathOf = (repository: string): string => repository.replace(/^[^/]*\/?(?:library\/)?/, '');

function described(container: ContainerFacts): string {
  const project = composeLabel(container, 'project');
  const ports = new Set(container.ports.flatMap(({ hostPort, protocol }) => (hostPort === undefined ? [] : [`${hostPort}/${protocol}`])));
  const details = [
    container.state,
    `image ${container.image}`,
    project ? `compose project ${project}` : 'no compose project',
    ...(ports.size > 0 ? [`${ports.size === 1 ? 'port' : 'ports'} ${[...ports].join(', ')}`] : []),
  ];
  return cleanLine(`container ${container.name} (${details.join('; ')})`);
}
