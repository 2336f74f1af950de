import { Fault } from '../../faults/fault.ts';
import { limited } from '../../faults/waits.ts';
import { cleanLine } from '../../text/clean.ts';
import { shellCommand } from '../apply/shell.ts';
import { blocking, type Finding, warning } from '../finding.ts';
import { run, text } from '../free-space.ts';
import type { PreflightContext } from './context.ts';

const firstPortFile = '/proc/sys/net/ipv4/ip_unprivileged_port_start';

export async function* checkLowPorts({ facts, host, plan, entry, services, signal }: PreflightContext): AsyncIterable<Finding> {
  if (!facts.rootless) return;
  const onHost = services.flatMap(({ name, networkMode }) => (networkMode === 'host' ? [name] : []));
  const hostPorts = entry.ports.flatMap(({ service, host: port }) => (onHost.includes(service) && port !== undefined ? [port] : []));
  const low = [...new Set([...plan.ports.map(({ host: port }) => port), ...hostPorts])].filter((port) => port < 1024).sort((a, b) => a - b);
  if (low.length === 0) return;
  const content = await limited(signal, 900, (limit) => host.files.read(firstPortFile, { signal: limit, limitBytes: 16 }));
  // Not on Linux: there the engine is in a machine of its own, which provides its own answer.
  if (content === undefined) return;
  const first = Number.parseInt(text(content), 10);
  const shut = low.filter((port) => port < first);
  if (shut.length === 0) return;
  const finding = facts.kind === 'docker' ? warning : blocking;
  const ports = `${shut.length === 1 ? 'port' : 'the ports'} ${shut.join(' and ')}`;
  const remedy = `As root on the host: sysctl -w net.ipv4.ip_unprivileged_port_start=${shut[0]}. To keep the setting after a reboot, add it to a file in /etc/sysctl.d.`;
  yield finding('low-ports', `A rootless engine cannot use ${ports}: the host reserves ports below ${first} for root.`, remedy);
}

export function* checkHostNetwork({ facts, services, entry, composeTool }: PreflightContext): Iterable<Finding> {
  const service = services.find(({ networkMode }) => networkMode === 'host' || networkMode.startsWith('container:'));
  if (!service) return;
  const isHost = service.networkMode === 'host';
  // Up to 1.0.3 it also requests Podman's own network, which Podman refuses (containers/podman-compose#397).
  if (composeTool?.kind === 'podman-compose' && /^(?:0\.|1\.0\.[0-3](?!\d))/.test(composeTool.version))
    yield blocking(
      isHost ? 'host-network' : 'joined-network',
      `${entry.id} requires ${isHost ? 'the host network' : "the network of another component's container"}, which podman-compose ${composeTool.version} does not support.`,
      'Install Docker Compose v2, which also works with Podman, or podman-compose 1.0.6 or later.',
    );
  else if (isHost && facts.rootless && facts.kind === 'docker')
    yield warning(
      'host-network',
      `${entry.id} requires the host network, but rootless Docker isolates containers from it. The component cannot reach loopback ports on the host, and its own ports cannot be reached.`,
      'Run the component in rootful Docker or in Podman.',
      { rule: 'R16' },
    );
}

/** Podman leaves health checks to systemd timers; without systemd compose waits for a container until its limit. */
export async function* checkHealthChecks({ facts, host, services, composeTool, signal }: PreflightContext): AsyncIterable<Finding> {
  // podman-compose waits for conditions since 1.3 (containers/podman-compose#1082).
  const waits = composeTool?.kind === 'docker-compose' || /^(?:1\.(?:[3-9]|\d\d)|[2-9])/.test(composeTool?.version ?? '');
  if (facts.kind !== 'podman' || !waits) return;
  const awaited = [...new Set(services.flatMap(({ awaits }) => awaits))];
  if (awaited.length === 0 || (await host.files.facts('/run/systemd/system', signal))) return;
  const message = `Podman runs health checks with systemd, which this host does not have, so ${awaited.join(', ')} would never become healthy.`;
  const advice = 'Boot the host with systemd, or use podman-compose 1.0 to 1.2, which does not wait for health checks.';
  yield blocking('health-checks', message, advice);
}

/** Docker's daemon restarts containers after a boot; Podman has no daemon, and leaves that to a systemd service (R5). */
export async function* checkBoot(context: PreflightContext): AsyncIterable<Finding> {
  if (context.facts.kind !== 'podman' || (await context.hostFacts()).platform !== 'linux') return;
  const found = await Promise.all([lingerFinding(context), restartFinding(context)]);
  yield* found.filter((finding) => finding !== undefined);
}

async function restartFinding({ facts, hostFacts, host, signal }: PreflightContext): Promise<Finding | undefined> {
  const { runtimeDir } = await hostFacts();
  const flag = facts.rootless ? '--user ' : '';
  const environment = runtimeDir === undefined ? [] : ['env', `XDG_RUNTIME_DIR=${runtimeDir}`];
  const systemctl = [...environment, 'systemctl', ...(flag ? ['--user'] : [])];
  const unit = 'podman-restart.service';
  const { stdout, exitCode } = await run(host, [...systemctl, 'show', unit, '-p', 'UnitFileState', '-p', 'ExecStart'], signal, 900);
  if (exitCode !== 0)
    throw new Fault('failed.systemctl', 'systemctl failed.', 'Restart the host and check that the containers start again.');
  const output = text(stdout);
  if (!/^UnitFileState=enabled/m.test(output))
    return warning(
      'restart-service',
      'Containers do not start after a restart of the host, because the podman-restart service is not enabled.',
      `Enable the service: systemctl ${flag}enable ${unit}`,
      { rule: 'R5', remedy: { kind: 'run', label: 'Enable podman-restart', argv: [...systemctl, 'enable', unit] } },
    );
  if (/unless-stopped|should-start-on-boot|needs-restart/.test(output)) return undefined;
  const message =
    'The podman-restart service of this Podman version starts only containers with the restart policy always, but these containers have unless-stopped.';
  const advice = `Add --filter restart-policy=unless-stopped to its ExecStart: systemctl ${flag}edit ${unit}`;
  return warning('restart-policy', message, advice, { rule: 'R5' });
}

async function lingerFinding({ facts, hostFacts, host, signal }: PreflightContext): Promise<Finding | undefined> {
  const { uid } = await hostFacts();
  if (!facts.rootless || uid === undefined) return undefined;
  const { stdout, exitCode } = await run(host, ['loginctl', 'show-user', String(uid), '-p', 'Linger'], signal, 900);
  // systemd does not know a user without a session: then lingering is off too.
  if (exitCode === 0 && /^Linger=yes/m.test(text(stdout))) return undefined;
  const message = 'Containers of this user stop when the user logs out, and do not start with the host, because lingering is disabled.';
  const remedy: Finding['remedy'] = { kind: 'run', label: 'Enable lingering', argv: ['loginctl', 'enable-linger'] };
  return warning('linger', message, 'Enable lingering: loginctl enable-linger', { rule: 'R5', remedy });
}

const enforceFile = '/sys/fs/selinux/enforce';
/** System paths are not relabelled, and sockets have rules of their own. */
const leftAlone = /^\/(?:dev|proc|sys|run|var\/run|etc|usr|lib)(?:\/|$)/;
const forContainers = /:(?:container_file_t|container_ro_file_t|svirt_sandbox_file_t):/;

/** Podman enforces labels by itself, Docker only if configured to (R13). Compose files that have to run on both contain no labels. */
export async function* checkLabels({ facts, host, plan, entry, services, signal }: PreflightContext): AsyncIterable<Finding> {
  if (facts.kind !== 'podman') return;
  const own = `${plan.stackFolder}/${entry.id}`;
  const folders = services.flatMap(({ mounts }) => mounts.flatMap(({ host: path }) => path ?? []));
  // Paths below its own folder are created by the run, with the same label as the stack's folder.
  const checked = new Set(folders.map((path) => (path.startsWith(`${own}/`) ? plan.stackFolder : path)));
  const asked = [...checked].filter((path) => !leftAlone.test(path)).sort();
  if (asked.length === 0) return;
  const content = await limited(signal, 900, (limit) => host.files.read(enforceFile, { signal: limit, limitBytes: 16 }));
  if (content === undefined || text(content).trim() !== '1') return;
  const { stdout } = await run(host, ['stat', '-c', '%C %n', '--', ...asked], signal, 900);
  const shut = text(stdout)
    .split('\n')
    .flatMap((line) => {
      const [label = '', ...path] = line.split(' ');
      return label.includes(':') && !forContainers.test(`${label}:`) ? [path.join(' ')] : [];
    });
  if (shut.length === 0) return;
  const [are, them] = shut.length === 1 ? ['is', 'it'] : ['are', 'them'];
  const message = `SELinux is enforcing on this host, but ${cleanLine(shut.join(' and '))} ${are} not labelled for containers, so Podman containers cannot read ${them}.`;
  const advice = `As root on the host: chcon -R -t container_file_t ${cleanLine(shellCommand(shut))}. To keep the labels after a relabelling, also run semanage fcontext.`;
  yield warning('selinux', message, advice, { rule: 'R13' });
}
