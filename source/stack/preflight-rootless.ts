import { Fault } from '../faults/fault.ts';
import { limited } from '../faults/waits.ts';
import type { Finding } from './finding.ts';
import { run, text } from './free-space.ts';
import { blocking, type PreflightCheck, type PreflightContext, warning } from './preflight-context.ts';

/** What an engine without root's rights, or without a daemon, cannot do by itself. */
export const rootlessChecks: readonly PreflightCheck[] = [
  { id: 'low-ports', what: 'Ports below 1024', run: checkLowPorts },
  { id: 'host-network', what: 'Network of the host', run: checkHostNetwork },
  { id: 'health-checks', what: 'What runs health checks', run: checkHealthChecks },
  { id: 'boot', what: 'What starts containers after the host did', run: checkBoot },
];

const firstPortFile = '/proc/sys/net/ipv4/ip_unprivileged_port_start';

async function checkLowPorts({ facts, host, plan, entry, project, signal }: PreflightContext): Promise<Finding[]> {
  if (!facts.rootless) return [];
  const onHost = project.services.flatMap(({ name, networkMode }) => (networkMode === 'host' ? [name] : []));
  const hostPorts = entry.ports.flatMap(({ service, host: port }) => (onHost.includes(service) && port !== undefined ? [port] : []));
  const low = [...new Set([...plan.ports.map(({ host: port }) => port), ...hostPorts])].filter((port) => port < 1024).sort((a, b) => a - b);
  if (low.length === 0) return [];
  const content = await limited(signal, 900, (limit) => host.files.read(firstPortFile, { signal: limit, limitBytes: 16 }));
  // Not on Linux: the engine is inside a machine of its own, which has its own answer.
  if (content === undefined) return [];
  const first = Number.parseInt(text(content), 10);
  const shut = low.filter((port) => port < first);
  const [lowest] = shut;
  if (lowest === undefined) return [];
  const finding = facts.kind === 'docker' ? warning : blocking;
  return [
    finding(
      'low-ports',
      `A rootless engine may not use ${shut.length === 1 ? 'port' : 'the ports'} ${shut.join(' and ')} here: the host keeps those below ${first} for root.`,
      `As root on the host: sysctl -w net.ipv4.ip_unprivileged_port_start=${lowest}, and the same line in a file of /etc/sysctl.d to keep it.`,
    ),
  ];
}

function checkHostNetwork({ facts, project, entry, composeTool }: PreflightContext): Finding[] {
  const [service] = project.services.filter(({ networkMode }) => networkMode === 'host' || networkMode.startsWith('container:'));
  if (!service) return [];
  const isHost = service.networkMode === 'host';
  // Up to 1.0.3 it asks Podman for its own network as well, which Podman refuses (containers/podman-compose#397).
  if (composeTool?.kind === 'podman-compose' && /^(?:0\.|1\.0\.[0-3](?!\d))/.test(composeTool.version))
    return [
      blocking(
        isHost ? 'host-network' : 'joined-network',
        `${entry.id} wants ${isHost ? 'the network of the host' : "the network of another component's container"}, which podman-compose ${composeTool.version} cannot give it.`,
        'Install docker-compose 2, which works with Podman too, or podman-compose from 1.0.6 on.',
      ),
    ];
  if (!isHost) return [];
  if (!facts.rootless || facts.kind !== 'docker') return [];
  return [
    warning(
      'host-network',
      `${entry.id} wants the network of the host, and a rootless Docker gives it one of its own: it sees no loopback port of the host, and nobody sees its ports.`,
      'Run it in a rootful Docker, or in Podman.',
      { rule: 'R16' },
    ),
  ];
}

/** Podman leaves health checks to timers of systemd; without it a container stays "starting", and compose waits for it until its limit. */
async function checkHealthChecks({ facts, host, project, composeTool, signal }: PreflightContext): Promise<Finding[]> {
  // podman-compose 1.0 waits for no condition.
  if (facts.kind !== 'podman' || composeTool?.kind !== 'docker-compose') return [];
  const awaited = [...new Set(project.services.flatMap(({ awaits }) => awaits))];
  if (awaited.length === 0 || (await host.files.facts('/run/systemd/system', signal))) return [];
  return [
    blocking(
      'health-checks',
      `Podman runs health checks with systemd, which this host does not have: ${awaited.join(', ')} would be waited for in vain.`,
      'Boot the host with systemd, or use podman-compose, which does not wait.',
    ),
  ];
}

/** Docker's daemon starts what it ran; Podman has none, and leaves that to a service of systemd (R5). */
async function checkBoot(context: PreflightContext): Promise<Finding[]> {
  const { facts, host, signal } = context;
  if (facts.kind !== 'podman') return [];
  const { uid, platform, runtimeDir } = await context.hostFacts();
  if (platform !== 'linux') return [];
  const env = runtimeDir === undefined ? [] : ['env', `XDG_RUNTIME_DIR=${runtimeDir}`];
  const user = facts.rootless ? ['--user'] : [];
  const restart = async (): Promise<Finding[]> => {
    const { stdout, exitCode } = await run(
      host,
      [...env, 'systemctl', ...user, 'show', 'podman-restart.service', '-p', 'UnitFileState', '-p', 'ExecStart'],
      signal,
      900,
    );
    if (exitCode !== 0)
      throw new Fault({
        code: 'failed.systemctl',
        message: 'systemctl does not answer.',
        remedy: 'Restart the host once and see whether the containers come back.',
      });
    const said = text(stdout);
    if (!/^UnitFileState=enabled/m.test(said))
      return [
        warning(
          'restart-service',
          'Containers do not come back after a restart of the host: the service podman-restart is not enabled.',
          `Enable it: systemctl ${facts.rootless ? '--user ' : ''}enable podman-restart.service`,
          {
            rule: 'R5',
            remedy: {
              kind: 'run',
              label: 'Enable podman-restart',
              argv: [...env, 'systemctl', ...user, 'enable', 'podman-restart.service'],
            },
          },
        ),
      ];
    if (/unless-stopped|should-start-on-boot|needs-restart/.test(said)) return [];
    return [
      warning(
        'restart-policy',
        'The service podman-restart of this Podman starts containers with the policy always alone, and these have unless-stopped.',
        `Add --filter restart-policy=unless-stopped to its ExecStart: systemctl ${facts.rootless ? '--user ' : ''}edit podman-restart.service`,
        { rule: 'R5' },
      ),
    ];
  };
  const linger = async (): Promise<Finding[]> => {
    if (!facts.rootless || uid === undefined) return [];
    const { stdout, exitCode } = await run(host, ['loginctl', 'show-user', String(uid), '-p', 'Linger'], signal, 900);
    // A user without a session is not known to it: then nothing lingers either.
    if (exitCode === 0 && /^Linger=yes/m.test(text(stdout))) return [];
    return [
      warning(
        'linger',
        'Containers of this user end when the user logs out, and do not start with the host: lingering is off.',
        'Switch it on: loginctl enable-linger',
        { rule: 'R5', remedy: { kind: 'run', label: 'Switch lingering on', argv: ['loginctl', 'enable-linger'] } },
      ),
    ];
  };
  return (await Promise.all([linger(), restart()])).flat();
}
