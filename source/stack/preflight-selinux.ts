import { limited } from '../faults/waits.ts';
import { cleanLine } from '../text/clean.ts';
import type { Finding } from './finding.ts';
import { run, text } from './free-space.ts';
import { type PreflightCheck, type PreflightContext, warning } from './preflight-context.ts';

/** Hosts on which every file has a label, and containers may use those alone that are labelled for them. */
export const selinuxChecks: readonly PreflightCheck[] = [{ id: 'selinux', what: 'Labels of mounted folders', run: checkLabels }];

const enforceFile = '/sys/fs/selinux/enforce';
/** What belongs to the system is not labelled anew, and sockets have rules of their own. */
const leftAlone = /^\/(?:dev|proc|sys|run|var\/run|etc|usr|lib)(?:\/|$)/;
const forContainers = /:(?:container_file_t|container_ro_file_t|svirt_sandbox_file_t):/;

/** Podman keeps to them by itself, Docker only where its daemon is told to (R13). Compose files that are to run on both name no labels. */
async function checkLabels({ facts, host, plan, entry, project, signal }: PreflightContext): Promise<Finding[]> {
  if (facts.kind !== 'podman') return [];
  const own = `${plan.stackFolder}/${entry.id}`;
  const folders = project.services.flatMap(({ mounts }) => mounts.flatMap(({ host: path }) => path ?? []));
  // What is below its own folder comes with the run, and is labelled as the folder of the stack is.
  const places = [...new Set(folders.map((path) => (path.startsWith(`${own}/`) ? plan.stackFolder : path)))];
  const asked = places.filter((path) => !leftAlone.test(path)).sort();
  if (asked.length === 0) return [];
  const content = await limited(signal, 900, (limit) => host.files.read(enforceFile, { signal: limit, limitBytes: 16 }));
  if (content === undefined || text(content).trim() !== '1') return [];
  const { stdout } = await run(host, ['stat', '-c', '%C %n', '--', ...asked], signal, 900);
  const shut = text(stdout)
    .split('\n')
    .flatMap((line) => {
      const [label = '', ...path] = line.split(' ');
      return label.includes(':') && !forContainers.test(`${label}:`) ? [path.join(' ')] : [];
    });
  if (shut.length === 0) return [];
  const quoted = shut.map((path) => `'${path.replaceAll("'", "'\\''")}'`).join(' ');
  return [
    warning(
      'selinux',
      `SELinux is enforced on this host, and ${cleanLine(shut.join(' and '))} ${shut.length === 1 ? 'is' : 'are'} not labelled for containers: Podman's may not read there.`,
      `As root on the host: chcon -R -t container_file_t ${cleanLine(quoted)}, and semanage fcontext to keep it over a relabelling`,
      { rule: 'R13' },
    ),
  ];
}
