import { Fault } from '../faults/fault.ts';
import type { Host } from '../hosts/host.ts';
import { cleanLine } from '../text/clean.ts';
import type { ComposeTool } from './compose-tool.ts';
import { ComposeVersions, type Printed } from './compose-versions.ts';
import type { EngineAddress, EngineFacts } from './engine.ts';

/** A Python program on a small machine takes seconds to say its version. */
const versionLimitMs = 20_000;

interface Candidate {
  kind: ComposeTool['kind'];
  argv: readonly string[];
  asks: readonly string[];
  /** Its version out of what it printed; undefined where it is none that counts. */
  read: (printed: string) => string | undefined;
}

/** Version 2 and all since, as a plugin of the docker command. */
const plugin: Candidate = {
  kind: 'docker-compose',
  argv: ['docker', 'compose'],
  asks: ['version', '--short'],
  read: (text) => since2(text),
};
const standalone: Candidate = {
  kind: 'docker-compose',
  argv: ['docker-compose'],
  asks: ['version', '--short'],
  read: (text) => since2(text),
};
/** The one in Python, of which 1.29 is the last. */
const pythonOne: Candidate = {
  kind: 'docker-compose',
  argv: ['docker-compose'],
  asks: ['version', '--short'],
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
 * The compose command on the host that serves this engine best, and what it needs to reach exactly this one, whatever the operator's environment and contexts
 * say. Docker: the plugin, docker-compose, and the Python one where the engine still understands it. Podman: docker-compose against Podman's socket, since it
 * reads compose files in full, then podman-compose, then the Python one. Undefined where there is none of them. Each call asks anew, but for what `versionsFile` has
 * kept of programs that are still the same.
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
  /** What each program printed: two candidates may be the same program. */
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
    // For exec it would call the docker command, which need not be there.
    const env = { ...environmentFor(kind, address), ...(generation === 1 && { COMPOSE_INTERACTIVE_NO_CLI: '1' }) };
    const needsStopTimeout = facts.kind === 'podman' && kind === 'docker-compose' && generation === 2;
    return throughSudo(host, address, { kind, generation, version, argv, env, ...(needsStopTimeout && { needsStopTimeout }) }, signal);
  }
  return undefined;
}

/**
 * A compose command is a program of the login user, and lasts when the connection breaks: it cannot use the way that was made to a socket of root's for us. Where
 * sudo asks for nothing it is run by sudo, which leaves it what its environment says.
 */
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

/** Without text where there is no such program, or where it fails or hangs. */
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

/** `2.40.3-3`, `v5.0.1`. What podman puts in the place of the docker command may end up at a version 1, which is podman-compose's. */
function since2(text: string): string | undefined {
  return /^v?((?:[2-9]|\d\d)\.\d\S*)$/.exec(lastLine(text))?.[1];
}

function lastLine(text: string): string {
  return text.trim().split('\n').at(-1)?.trim() ?? '';
}

/** It asks for version 1.38 of the API; Docker 29 refuses everything below 1.44. */
function speaksWithPythonOne({ version }: EngineFacts): boolean {
  return Number.parseInt(version, 10) < 29;
}

/**
 * podman-compose runs `podman`, which with CONTAINER_HOST asks the service there instead of keeping containers of its own: that way it reaches a socket of
 * another user, and another storage, too. An empty value undoes what the operator's environment sets.
 */
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
