import { readOwnFile, writeOwnFile } from '../config/own-files.ts';
import { Fault } from '../faults/fault.ts';
import type { Host } from '../hosts/host.ts';
import { parseJson } from '../text/json-value.ts';

/** Output of a program's version command; undefined if it failed. `lasting`: the output will be the same again. */
export interface Printed {
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
const limitMs = 10_000;

const pluginFolders = ['/usr/local/lib', '/usr/local/libexec', '/usr/lib', '/usr/libexec'].map((folder) => `${folder}/docker/cli-plugins`);

/** A result is valid while the program's files are unchanged; that of a shell script is never kept, because it may call any program. */
export class ComposeVersions {
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
    await writeOwnFile(this.file, `${JSON.stringify({ schema: 1, kept: this.kept })}\n`).catch((thrown: unknown) => {
      // Without disk space for the cache, it is queried again.
      if (!(thrown instanceof Fault)) throw thrown;
    });
  }
}

async function readKept(file: string): Promise<Readonly<Record<string, Kept>>> {
  try {
    const text = await readOwnFile(file);
    const read = text === undefined ? undefined : (parseJson(text) as { schema?: unknown; kept?: Record<string, Kept> } | null);
    return read?.schema === 1 && typeof read.kept === 'object' && read.kept !== null ? read.kept : {};
  } catch {
    // Whatever the file contains: the version can be queried again.
    return {};
  }
}

async function pathsOf(host: Host, programs: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
  const { stdout } = await host.exec(['sh', '-c', whichScript, 'sh', ...programs], { signal, limitMs });
  const lines = Buffer.from(stdout).toString().split('\n');
  return new Map(programs.flatMap((program, index) => (lines[index]?.startsWith('/') ? [[program, lines[index]]] : [])));
}

/** Undefined if files alone do not prove that the result is still the same. */
async function identityOf(host: Host, path: string, plugin: boolean, signal: AbortSignal): Promise<string | undefined> {
  const head = await host.files.read(path, { signal, limitBytes: headBytes }).catch(() => undefined);
  if (head === undefined || /^#!.*\b(?:ba|da|a|z|k|fi)?sh\b/.test(Buffer.from(head).toString('latin1').split('\n', 1)[0] ?? ''))
    return undefined;
  const files = [path];
  if (plugin) {
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
