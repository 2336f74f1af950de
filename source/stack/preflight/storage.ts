import { Fault } from '../../faults/fault.ts';
import { limited } from '../../faults/waits.ts';
import { cleanLine } from '../../text/clean.ts';
import { blocking, type Finding, setTo, warning } from '../finding.ts';
import { valueInForce } from '../plan/networks.ts';
import type { PreflightContext } from './context.ts';
import { type ProjectService, readProject } from './project.ts';

interface Storage {
  component: string;
  content: 'downloads' | 'library';
  target: string;
  mount: ProjectService['mounts'][number];
}

/** Programs that download and programs that sort use hard links instead of copies, which only works inside one filesystem (R27). */
export async function* checkStorage(context: PreflightContext): AsyncIterable<Finding> {
  const { entry, services, plan, deployments, catalog } = context;
  const own = storagesOf(entry.id, services, context);
  if (own.length === 0) return;
  const elsewhere = deployments.flatMap(({ component, compose, env, folder }) => {
    const other = catalog.get(component);
    if (component === entry.id || !other || !Object.values(other.volumes).some(({ content }) => content)) return [];
    return storagesOf(component, readProject(compose, env, folder), context);
  });
  for (const storage of own.filter(({ content }) => content === 'downloads')) {
    const apart = elsewhere.find((other) => other.content === 'downloads' && pathText(other) !== pathText(storage));
    if (!apart) continue;
    const where = `${entry.id} has its downloads in ${pathText(storage)}, but ${apart.component} has them in ${pathText(apart)}`;
    const message = `${where}, so they cannot find each other's files.`;
    const remedy = setTo(storage.mount.variables[0], apart.mount.host, `Use ${pathText(apart)}`);
    const advice = 'Use the same host folder for both components.';
    yield warning(`downloads-apart:${apart.component}`, message, advice, { rule: 'R27', remedy });
  }
  const all = [...own, ...elsewhere];
  const devices = new Map(
    await Promise.all(all.map(async (storage) => [storage, await deviceOf(context, storage, plan.stackFolder)] as const)),
  );
  const seen = new Set<string>();
  for (const downloads of all.filter(({ content }) => content === 'downloads')) {
    for (const library of all.filter(({ content }) => content === 'library')) {
      if (downloads.component !== entry.id && library.component !== entry.id) continue;
      const key = `${pathText(downloads)}\n${pathText(library)}`;
      if (devices.get(downloads) === devices.get(library) || seen.has(key)) continue;
      seen.add(key);
      const both = `The downloads (${pathText(downloads)}) and the library (${pathText(library)})`;
      const message = `${both} are on two filesystems, so imported files are copied and take up space twice.`;
      const advice = 'Use one folder on one filesystem for both, so that files are hard-linked instead.';
      yield warning(`filesystems:${library.target}`, message, advice, { rule: 'R27' });
    }
  }
}

function storagesOf(component: string, services: readonly ProjectService[], { catalog, entry }: PreflightContext): Storage[] {
  const volumes = (component === entry.id ? entry : catalog.get(component))?.volumes ?? {};
  return services.flatMap(({ mounts }) =>
    mounts.flatMap((mount): Storage[] => {
      const content = volumes[mount.target]?.content;
      return content ? [{ component, content, target: mount.target, mount }] : [];
    }),
  );
}

const pathText = ({ mount }: Storage): string => cleanLine(mount.host ?? `the volume ${mount.volume ?? mount.target}`);

/** Returns the device of the folder, or of the nearest existing one above, where it will be created. */
async function deviceOf(context: PreflightContext, { mount, component }: Storage, stackFolder: string): Promise<number> {
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
  const message = `The filesystem of ${cleanLine(path || stackFolder)} is unknown.`;
  throw new Fault('failed.device', message, 'Compare the folders with df on the host.');
}

/** Files below a volume of the engine cannot be checked from here. */
export async function* checkBeforeStart({ entry, services, plan, values, host, signal }: PreflightContext): AsyncIterable<Finding> {
  const main = entry.services.find((service) => service.main)?.name;
  const mounts = services.find(({ name }) => name === main)?.mounts ?? [];
  const onHost = (file: string): string[] => {
    const inside = file.startsWith('/') ? file : valueInForce(entry, file, values);
    const [mount] = mounts
      .filter(({ target }) => inside.startsWith(`${target}/`))
      .toSorted((one, other) => other.target.length - one.target.length);
    return mount?.host === undefined ? [] : [`${mount.host}${inside.slice(mount.target.length)}`];
  };
  // A running component may have its files at another path.
  const finding = plan.kind === 'deploy' ? blocking : warning;
  for (const { id, files, message, remedy, flow } of entry.beforeStart) {
    const paths = files.flatMap(onHost);
    const present = await Promise.all(paths.map((path) => limited(signal, 900, (limit) => host.files.facts(path, limit))));
    const missing = paths.filter((_, index) => present[index] === undefined).map(cleanLine);
    if (missing.length === 0) continue;
    yield finding(`before-start:${id}`, `${message} Missing: ${missing.join(', ')}.`, remedy, {
      remedy: flow && { kind: 'flow', label: flow.title, flow: flow.id, options: flow.options },
    });
  }
}
