import { posix } from 'node:path';
import type { CatalogEntry } from '../catalog/catalog.ts';
import type { ContainerFacts } from '../engine/engine.ts';
import { CatalogIndex, type ContainerGroup, composeLabel, groupContainers } from '../fleet/grouping.ts';
import { cleanLine } from '../text/clean.ts';
import type { Finding } from './finding.ts';
import { blocking, type PreflightCheck, type PreflightContext } from './preflight-context.ts';

export const instanceChecks: readonly PreflightCheck[] = [{ id: 'instances', what: 'Running instances', run: checkInstances }];

/** Is this the finding that the component is on the host already? */
export const isInstance = ({ id }: Finding): boolean => id.startsWith('instance:');

/** A second instance would begin without the data of the first. Deployed components are past this question. */
async function checkInstances(context: PreflightContext): Promise<Finding[]> {
  const { entry, deployment, deployments, catalog } = context;
  if (deployment?.record) return [];
  const index = new CatalogIndex(catalog.entries);
  const groups = groupContainers(await context.containers(), index);
  const deployed = new Set(deployments.map(({ component }) => component));
  const findings: Finding[] = [];
  for (const group of groups) {
    const container = group.members.find(({ main }) => main)?.container;
    if (group.entry?.id !== entry.id || !container) continue;
    // A proxy or database that another component runs for itself has the same image.
    if (group.project !== entry.id && (deployed.has(group.project) || (await isOfOtherStack(container, context)))) continue;
    if (serves(container, group, groups, index) || isOwn(container, context)) continue;
    findings.push(
      blocking(
        `instance:${cleanLine(container.name)}`,
        `${entry.id} is on this host already and was not deployed from here: ${described(container, entry)}.`,
        `Existing containers cannot be adopted yet, and a second instance would start without their data. Manage it with the tool that deployed it, or remove its containers there first. For a second instance with data of its own: quarterdeck deploy ${entry.id} --second-instance`,
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

/** The project of this component in the stack folder, also where it was created by hand. */
function isOwn(container: ContainerFacts, { plan, entry, deployment }: PreflightContext): boolean {
  if (composeLabel(container, 'project') !== plan.project) return false;
  const folder = composeLabel(container, 'project.working_dir');
  return deployment !== undefined || folder === undefined || folder === `${plan.stackFolder}/${entry.id}`;
}

function described(container: ContainerFacts, entry: CatalogEntry): string {
  const project = composeLabel(container, 'project');
  const folder = project === entry.id ? composeLabel(container, 'project.working_dir') : undefined;
  const ports = [
    ...new Set(container.ports.flatMap(({ hostPort, protocol }) => (hostPort === undefined ? [] : [`${hostPort}/${protocol}`]))),
  ];
  const details = [
    container.state,
    `image ${container.image}`,
    project ? `compose project ${project}${folder === undefined ? '' : ` in ${folder}`}` : 'no compose project',
    ...(ports.length > 0 ? [`${ports.length === 1 ? 'port' : 'ports'} ${ports.join(', ')}`] : []),
  ];
  return cleanLine(`container ${container.name} (${details.join('; ')})`);
}
