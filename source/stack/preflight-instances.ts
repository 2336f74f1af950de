import { posix } from 'node:path';
import type { CatalogEntry } from '../catalog/catalog.ts';
import { parseImage } from '../catalog/images.ts';
import type { ContainerFacts } from '../engine/engine.ts';
import { CatalogIndex, type ContainerGroup, composeLabel, groupContainers } from '../fleet/grouping.ts';
import { cleanLine } from '../text/clean.ts';
import type { Finding } from './finding.ts';
import { blocking, type PreflightCheck, type PreflightContext } from './preflight-context.ts';

export const instanceChecks: readonly PreflightCheck[] = [{ id: 'instances', what: 'Running instances', run: checkInstances }];

/** Is this the finding that the component is on the host already? */
export const isInstance = ({ id }: Finding): boolean => id.startsWith('instance:');

/** Is this the finding that another compose project has the name? No second instance can be deployed beside that one. */
export const isForeignProject = ({ id }: Finding): boolean => id.startsWith('project:');

export const instanceAdvice = (id: string): string =>
  `Existing containers cannot be adopted yet, and a second instance would start without their data. Manage it with the tool that deployed it, or remove its containers there first. For a second instance with data of its own: quarterdeck deploy ${id} --second-instance`;

/** A second instance would begin without the data of the first. Deployed components are past this question. */
async function checkInstances(context: PreflightContext): Promise<Finding[]> {
  const { entry, deployment, deployments, catalog } = context;
  if (deployment?.record) return [];
  const index = new CatalogIndex(catalog.entries);
  const groups = groupContainers(await context.containers(), index);
  const deployed = new Set(deployments.map(({ component }) => component));
  const findings = await checkProject(context);
  for (const group of groups) {
    const container = group.members.find(({ main }) => main)?.container;
    if (!container || group.project === context.plan.project) continue;
    if (group.entry?.id !== entry.id && (group.entry || !isCopyOf(container.image, entry))) continue;
    // A proxy or database that another component runs for itself has the same image.
    if (group.project !== entry.id && (deployed.has(group.project) || (await isOfOtherStack(container, context)))) continue;
    if (serves(container, group, groups, index)) continue;
    findings.push(
      blocking(
        `instance:${cleanLine(container.name)}`,
        `${entry.id} is on this host already and was not deployed from here: ${described(container)}.`,
        instanceAdvice(entry.id),
      ),
    );
  }
  return findings;
}

/** Another component that was deployed from here into another stack folder of this host. */
async function isOfOtherStack(container: ContainerFacts, { host, signal }: PreflightContext): Promise<boolean> {
  const folder = composeLabel(container, 'project.working_dir');
  if (folder === undefined || posix.basename(folder) !== composeLabel(container, 'project')) return false;
  return (await host.files.facts(posix.join(posix.dirname(folder), '.quarterdeck'), signal))?.kind === 'folder';
}

/** Does another component of the project run this image as one of its helpers? */
function serves(container: ContainerFacts, own: ContainerGroup, groups: readonly ContainerGroup[], index: CatalogIndex): boolean {
  if (own.project === '') return false;
  const others = new Set(groups.flatMap(({ project, entry }) => (project === own.project && entry && entry !== own.entry ? [entry] : [])));
  return index.candidates(container.image).some(({ entry, service }) => !service.main && others.has(entry));
}

/** Compose knows a project by its name alone: containers of one in another folder would be replaced, whatever their images are. */
async function checkProject(context: PreflightContext): Promise<Finding[]> {
  const { plan, deployment } = context;
  if (deployment) return [];
  const foreign: ContainerFacts[] = [];
  for (const container of await context.containers())
    if (composeLabel(container, 'project') === plan.project && !(await isOwn(container, context))) foreign.push(container);
  const [first] = foreign;
  if (!first) return [];
  const folder = cleanLine(composeLabel(first, 'project.working_dir') ?? '');
  return [
    blocking(
      `project:${cleanLine(plan.project)}`,
      `A compose project called ${plan.project} is on this host already, in ${folder}: ${foreign.map((container) => described(container)).join(', ')}. Deploying would replace its containers and use its volumes.`,
      'Existing containers cannot be adopted yet. Manage it with the tool that deployed it, or give that project another name there first.',
    ),
  ];
}

/** Of the folder that the component has in the stack, also where that was created by hand, or is reached through a link. */
async function isOwn(container: ContainerFacts, { plan, entry, host, signal }: PreflightContext): Promise<boolean> {
  const folder = composeLabel(container, 'project.working_dir');
  const own = `${plan.stackFolder}/${entry.id}`;
  if (folder === undefined || folder === own) return true;
  const [there, here] = await Promise.all([folder, own].map((path) => host.files.facts(path, signal)));
  return there !== undefined && here !== undefined && there.inode === here.inode && there.device === here.device;
}

/** An image of the entry's main service under the name that another registry gives it: `registry.lan/mirror/miniflux/miniflux`. */
function isCopyOf(image: string, { services }: CatalogEntry): boolean {
  const path = pathOf(parseImage(image)?.repository ?? '');
  return services.some(
    ({ main, repositories }) =>
      main &&
      repositories.some((repository) => {
        const own = pathOf(repository);
        // An official image has one word for a name, as has many another program in somebody's registry.
        return own.includes('/') ? path === own || path.endsWith(`/${own}`) : path === own || path.endsWith(`/library/${own}`);
      }),
  );
}

/** Of a repository, without the registry; of an official image the name alone. */
const pathOf = (repository: string): string =>
  repository
    .split('/')
    .slice(1)
    .join('/')
    .replace(/^library\//, '');

function described(container: ContainerFacts): string {
  const project = composeLabel(container, 'project');
  const ports = [
    ...new Set(container.ports.flatMap(({ hostPort, protocol }) => (hostPort === undefined ? [] : [`${hostPort}/${protocol}`]))),
  ];
  const details = [
    container.state,
    `image ${container.image}`,
    project ? `compose project ${project}` : 'no compose project',
    ...(ports.length > 0 ? [`${ports.length === 1 ? 'port' : 'ports'} ${ports.join(', ')}`] : []),
  ];
  return cleanLine(`container ${container.name} (${details.join('; ')})`);
}
