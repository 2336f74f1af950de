import { Fault } from '../faults/fault.ts';
import { limited } from '../faults/waits.ts';
import { cleanLine } from '../text/clean.ts';
import type { Finding } from './finding.ts';
import { valueInForce } from './networks.ts';
import { blocking, type PreflightCheck, type PreflightContext, warning } from './preflight-context.ts';
import { type Project, type ProjectService, readProject } from './preflight-project.ts';

/** What lies where on the host. */
export const storageChecks: readonly PreflightCheck[] = [
  { id: 'storage', what: 'Folders of downloads and libraries', run: checkStorage },
  { id: 'before-start', what: 'Files that it needs to start', run: checkBeforeStart },
];

interface Place {
  component: string;
  holds: 'downloads' | 'library';
  target: string;
  mount: ProjectService['mounts'][number];
}

/** Programs that download and programs that sort link files instead of copying them, which only works inside one filesystem (R27). */
async function checkStorage(context: PreflightContext): Promise<Finding[]> {
  const { entry, project, plan, deployments, catalog } = context;
  const own = placesOf(entry.id, project, context);
  if (own.length === 0) return [];
  const others = await Promise.all(
    deployments.map(async ({ component, compose, env, folder }) => {
      const other = catalog.get(component);
      if (component === entry.id || !other || !Object.values(other.volumes).some(({ holds }) => holds)) return [];
      return placesOf(component, await readProject(compose, env, folder, other), context);
    }),
  );
  const elsewhere = others.flat();
  const findings: Finding[] = [];
  for (const place of own.filter(({ holds }) => holds === 'downloads')) {
    const apart = elsewhere.find((other) => other.holds === 'downloads' && pathText(other) !== pathText(place));
    if (!apart) continue;
    const [variable] = place.mount.variables;
    findings.push(
      warning(
        `downloads-apart:${apart.component}`,
        `${entry.id} has its downloads in ${pathText(place)}, ${apart.component} has them in ${pathText(apart)}: they do not find each other's files.`,
        'Give both the same folder of the host.',
        {
          rule: 'R27',
          ...(variable !== undefined &&
            apart.mount.host !== undefined && {
              remedy: { kind: 'set', label: `Use ${pathText(apart)}`, values: { [variable]: apart.mount.host } },
            }),
        },
      ),
    );
  }
  const all = [...own, ...elsewhere];
  const devices = new Map(await Promise.all(all.map(async (place) => [place, await deviceOf(context, place, plan.stackFolder)] as const)));
  const seen = new Set<string>();
  for (const downloads of all.filter(({ holds }) => holds === 'downloads')) {
    for (const library of all.filter(({ holds }) => holds === 'library')) {
      if (downloads.component !== entry.id && library.component !== entry.id) continue;
      const key = `${pathText(downloads)}\n${pathText(library)}`;
      if (devices.get(downloads) === devices.get(library) || seen.has(key)) continue;
      seen.add(key);
      findings.push(
        warning(
          `filesystems:${library.target}`,
          `The downloads (${pathText(downloads)}) and the library (${pathText(library)}) are on two filesystems, so every file is copied and takes its room twice.`,
          'Put both below one folder of one filesystem; then files are linked instead.',
          { rule: 'R27' },
        ),
      );
    }
  }
  return findings;
}

function placesOf(component: string, project: Project, { catalog, entry }: PreflightContext): Place[] {
  const volumes = (component === entry.id ? entry : catalog.get(component))?.volumes ?? {};
  return project.services.flatMap(({ mounts }) =>
    mounts.flatMap((mount): Place[] => {
      const holds = volumes[mount.target]?.holds;
      return holds ? [{ component, holds, target: mount.target, mount }] : [];
    }),
  );
}

const pathText = ({ mount }: Place): string => cleanLine(mount.host ?? `the volume ${mount.volume ?? mount.target}`);

/** Of the folder, or of the nearest one above that exists: that is where it will be made. */
async function deviceOf(context: PreflightContext, { mount, component }: Place, stackFolder: string): Promise<number> {
  const { host, facts, signal } = context;
  let path = mount.host;
  if (path === undefined) {
    const volumes = await context.volumes();
    const found = volumes.find(({ name }) => name === mount.volume || name === `${component}_${mount.volume}`);
    path = found?.mountpoint || facts.rootFolder || '';
  }
  for (let at = path; at.startsWith('/'); at = at.slice(0, at.lastIndexOf('/')) || (at === '/' ? '' : '/')) {
    const found = await limited(signal, 900, (limit) => host.files.facts(at, limit));
    if (found) return found.device;
  }
  throw new Fault({
    code: 'failed.device',
    message: `Nobody tells on which filesystem ${cleanLine(path || stackFolder)} is.`,
    remedy: 'Compare the folders with df on the host.',
  });
}

/** What nobody has made yet. Below a volume of the engine nobody can look from here. */
async function checkBeforeStart({ entry, project, plan, values, host, signal }: PreflightContext): Promise<Finding[]> {
  const main = entry.services.find((service) => service.main)?.name;
  const mounts = project.services.find(({ name }) => name === main)?.mounts ?? [];
  const onHost = (file: string): string[] => {
    const inside = file.startsWith('/') ? file : valueInForce(entry, file, values);
    const [mount] = mounts
      .filter(({ target }) => inside.startsWith(`${target}/`))
      .toSorted((one, other) => other.target.length - one.target.length);
    return mount?.host === undefined ? [] : [`${mount.host}${inside.slice(mount.target.length)}`];
  };
  const findings = await Promise.all(
    entry.beforeStart.map(async ({ id, files, message, remedy, flow }): Promise<Finding[]> => {
      const paths = files.flatMap(onHost);
      const there = await Promise.all(paths.map((path) => limited(signal, 900, (limit) => host.files.facts(path, limit))));
      const missing = paths.filter((_, index) => there[index] === undefined).map(cleanLine);
      if (missing.length === 0) return [];
      // What runs already may have them where nobody looks.
      const finding = plan.kind === 'deploy' ? blocking : warning;
      return [
        finding(
          `before-start:${id}`,
          `${message} Missing: ${missing.join(', ')}.`,
          remedy,
          flow && { remedy: { kind: 'flow', label: flow.title, flow: flow.id, options: flow.options } },
        ),
      ];
    }),
  );
  return findings.flat();
}
