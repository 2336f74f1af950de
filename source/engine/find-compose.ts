import { readOwnJson, writeOwnFile } from '../config/own-files.ts';
import { Fault } from '../faults/fault.ts';
import { ignoreFault } from '../faults/unless-fault.ts';
import type { Host } from '../hosts/host.ts';
import { cleanLine } from '../text/clean.ts';
import { mapOf } from '../text/json-value.ts';
import type { ComposeTool } from './compose-tool.ts';
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
      : [plugin, standalone, ...(Number.parseInt(facts.version, 10) < 29 ? [pythonOne] : [])];
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
      message: `${tool.argv.join(' ')} cannot reach the engine of ${cleanLine(host.name)}: the login user has no access to ${cleanLine(socket)}, and cannot use sudo without a password.`,
      remedy:
        'Add the user to the group that owns the socket (docker), or allow it sudo without a password for all commands (NOPASSWD: ALL).',
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

/** Output of a program's version command; undefined if it failed. `lasting`: the output will be the same again. */
interface Printed {
  text: string | undefined;
  lasting: boolean;
}

interface Kept {
  /** Path, size, change time and inode of every file that the result depends on. */
  files: string;
  text: string | null;
}

const keptCharacters = 4096;
const headBytes = 128;
const whichScript = 'for p; do command -v -- "$p" || echo; done';
const lookLimitMs = 10_000;

const pluginFolders = ['/usr/local/lib', '/usr/local/libexec', '/usr/lib', '/usr/libexec'].map((folder) => `${folder}/docker/cli-plugins`);

/** A result is valid while the program's files are unchanged; that of a shell script is never kept, because it may call any program. */
class ComposeVersions {
  private constructor(
    private readonly file: string,
    private readonly host: Host,
    private readonly paths: ReadonlyMap<string, string>,
    private kept: Readonly<Record<string, Kept>>,
  ) {}

  static async open(file: string, host: Host, programs: readonly string[], signal: AbortSignal): Promise<ComposeVersions> {
    const [paths, kept] = await Promise.all([pathsOf(host, programs, signal), readKept(file)]);
    return new ComposeVersions(file, host, paths, kept);
  }

  async printed(argv: readonly string[], ask: () => Promise<Printed>, signal: AbortSignal): Promise<string | undefined> {
    const [program = ''] = argv;
    const path = this.paths.get(program);
    if (path === undefined) return undefined;
    const files = await identityOf(this.host, path, program === 'docker', signal);
    const key = `${this.host.name} ${argv.join(' ')}`;
    const kept = this.kept[key];
    if (files !== undefined && kept?.files === files) return kept.text ?? undefined;
    const { text, lasting } = await ask();
    if (files !== undefined && lasting) await this.#keep(key, { files, text: text?.slice(-keptCharacters) ?? null });
    return text;
  }

  async #keep(key: string, one: Kept): Promise<void> {
    this.kept = { ...this.kept, [key]: one };
    // Without disk space for the cache, it is queried again.
    await writeOwnFile(this.file, `${JSON.stringify({ schema: 1, kept: this.kept })}\n`).catch(ignoreFault);
  }
}

/** Whatever the file contains: the version can be queried again. */
async function readKept(file: string): Promise<Readonly<Record<string, Kept>>> {
  const { schema, kept } = mapOf(await readOwnJson(file));
  return schema === 1 ? (mapOf(kept) as Record<string, Kept>) : {};
}

async function pathsOf(host: Host, programs: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
  const { stdout } = await host.exec(['sh', '-c', whichScript, 'sh', ...programs], { signal, limitMs: lookLimitMs });
  const lines = Buffer.from(stdout).toString().split('\n');
  return new Map(programs.flatMap((program, index) => (lines[index]?.startsWith('/') ? [[program, lines[index]]] : [])));
}

/** Undefined if files alone do not prove that the result is still the same. */
async function identityOf(host: Host, path: string, isPlugin: boolean, signal: AbortSignal): Promise<string | undefined> {
  const head = await host.files.read(path, { signal, limitBytes: headBytes }).catch(() => undefined);
  if (head === undefined || /^#!.*\b(?:ba|da|a|z|k|fi)?sh\b/.test(Buffer.from(head).toString('latin1').split('\n', 1)[0] ?? ''))
    return undefined;
  const files = [path];
  if (isPlugin) {
    const { env, home } = await host.facts(signal);
    const own = env.DOCKER_CONFIG || `${home}/.docker`;
    const settings = await host.files.read(`${own}/config.json`, { signal }).catch(() => new TextEncoder().encode('unreadable'));
    // Folders that a script chooses itself are not followed.
    if (settings !== undefined && /cliPluginsExtraDirs|^unreadable/.test(Buffer.from(settings).toString())) return undefined;
    files.push(...[`${own}/cli-plugins`, ...pluginFolders].map((folder) => `${folder}/docker-compose`));
  }
  const facts = await Promise.all(files.map((file) => host.files.facts(file, signal)));
  const identities = files.map((file, index) => {
    const found = facts[index];
    return found ? `${file} ${found.sizeBytes} ${found.modifiedMs} ${found.device} ${found.inode}` : '';
  });
  return identities.filter(Boolean).join('\n');
}
