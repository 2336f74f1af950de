import { Fault } from '../faults/fault.ts';
import type { Host } from '../hosts/host.ts';
import { cleanLine } from '../text/clean.ts';
import type { ComposeTool } from './compose-tool.ts';
import { ComposeVersions, type Printed } from './compose-versions.ts';
import type { EngineAddress, EngineFacts } from './engine.ts';

/** A Python program on a small machine needs seconds to print its version. */
const versionLimitMs = 20_000;

interface Candidate {
  kind: ComposeTool['kind'];
  argv: readonly string[];
  asks: readonly string[];
  read: (printed: string) => string | undefined;
}

const dockerCompose = { kind: 'docker-compose', asks: ['version', '--short'] } as const;
const plugin: Candidate = { ...dockerCompose, argv: ['docker', 'compose'], read: since2 };
const standalone: Candidate = { ...dockerCompose, argv: ['docker-compose'], read: since2 };
const pythonOne: Candidate = {
  ...dockerCompose,
  argv: ['docker-compose'],
  read: (text) => /^v?(1\.(?:2[5-9]|[3-9]\d)\S*)$/.exec(lastLine(text))?.[1],
};
const podmanCompose: Candidate = {
  kind: 'podman-compose',
  argv: ['podman-compose'],
  asks: ['--version'],
  // 1.0 misspells its own name, and runs podman in between.
  read: (text) => /^podman-composer? version:?\s+v?([1-9]\d*\.\d\S*)/m.exec(text)?.[1],
};

/**
 * The environment of a tool makes it reach exactly this engine. Docker: the plugin, docker-compose, and the Python one if the engine still
 * supports it. Podman: docker-compose first, because it supports compose files completely. Checks again on each call, except for versions
 * cached in `versionsFile`.
 */
export async function findComposeTool(
  host: Host,
  { facts, address, versionsFile }: { facts: EngineFacts; address: EngineAddress; versionsFile?: string },
  signal: AbortSignal,
): Promise<ComposeTool | undefined> {
  const candidates =
    facts.kind === 'podman'
      ? [standalone, plugin, podmanCompose, pythonOne]
      : [plugin, standalone, ...(speaksWithPythonOne(facts) ? [pythonOne] : [])];
  const programs = [...new Set(candidates.map(({ argv }) => argv[0] ?? ''))];
  const versions = versionsFile === undefined ? undefined : await ComposeVersions.open(versionsFile, host, programs, signal);
  /** Two candidates may be the same program. */
  const printed = new Map<string, string | undefined>();
  for (const { kind, argv, asks, read } of candidates) {
    const command = [...argv, ...asks].join(' ');
    if (!printed.has(command)) {
      const ask = () => outputOf(host, [...argv, ...asks], signal);
      printed.set(command, versions ? await versions.printed([...argv, ...asks], ask, signal) : (await ask()).text);
    }
    const version = read(printed.get(command) ?? '');
    if (version === undefined) continue;
    const generation = version.startsWith('1.') && kind === 'docker-compose' ? 1 : 2;
    // For exec it would call the docker command, which may be missing.
    const env = { ...environmentFor(kind, address), ...(generation === 1 && { COMPOSE_INTERACTIVE_NO_CLI: '1' }) };
    const needsStopTimeout = facts.kind === 'podman' && kind === 'docker-compose' && generation === 2;
    return throughSudo(host, address, { kind, generation, version, argv, env, ...(needsStopTimeout && { needsStopTimeout }) }, signal);
  }
  return undefined;
}

/** A compose command runs as the login user and outlives a connection: it cannot use the relay to a root socket, but sudo if that is free. */
async function throughSudo(host: Host, { url }: EngineAddress, tool: ComposeTool, signal: AbortSignal): Promise<ComposeTool> {
  const socket = /^unix:\/\/(.*)$/.exec(url)?.[1];
  if (!host.sudo || socket === undefined) return tool;
  const works = async (argv: readonly string[]) => (await outputOf(host, argv, signal)).text !== undefined;
  if (await works(['test', '-w', socket])) return tool;
  const viaSudo = ['sudo', '-n', '-E', '--'];
  if (await works([...viaSudo, 'true'])) return { ...tool, argv: [...viaSudo, ...tool.argv] };
  return {
    ...tool,
    refused: {
      message: `${tool.argv.join(' ')} cannot reach the engine of ${cleanLine(host.name)}: the login user may not use ${cleanLine(socket)}, and sudo there asks for a password.`,
      remedy: 'Add the user to the group that owns the socket (docker), or let it use sudo without a password there (NOPASSWD in sudoers).',
    },
  };
}

async function outputOf(host: Host, argv: readonly string[], signal: AbortSignal): Promise<Printed> {
  try {
    const { exitCode, stdout } = await host.exec(argv, { signal, limitMs: versionLimitMs, limitBytes: 64 * 1024 });
    return { text: exitCode === 0 ? new TextDecoder().decode(stdout) : undefined, lasting: true };
  } catch (thrown) {
    if (thrown instanceof Fault && (thrown.code === 'unreachable.program' || thrown.code === 'failed.limit'))
      return { text: undefined, lasting: false };
    throw thrown;
  }
}

/** `2.40.3-3`, `v5.0.1`. Podman's replacement for the docker command may report a version 1, which is podman-compose's. */
function since2(text: string): string | undefined {
  return /^v?((?:[2-9]|\d\d)\.\d\S*)$/.exec(lastLine(text))?.[1];
}

function lastLine(text: string): string {
  return text.trim().split('\n').at(-1)?.trim() ?? '';
}

function speaksWithPythonOne({ version }: EngineFacts): boolean {
  return Number.parseInt(version, 10) < 29;
}

/** With CONTAINER_HOST, podman uses that service instead of its own containers. An empty value overrides the operator's environment. */
function environmentFor(kind: ComposeTool['kind'], { url, tls }: EngineAddress): Record<string, string> {
  if (kind === 'podman-compose') return { CONTAINER_HOST: url, CONTAINER_CONNECTION: '' };
  return {
    DOCKER_HOST: url,
    DOCKER_CONTEXT: '',
    DOCKER_TLS: tls && !tls.verify ? '1' : '',
    DOCKER_TLS_VERIFY: tls?.verify ? '1' : '',
    DOCKER_CERT_PATH: tls?.folder ?? '',
  };
}
