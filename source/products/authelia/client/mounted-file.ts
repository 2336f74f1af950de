import { posix } from 'node:path';
import type { ContainerDetail, Engine } from '../../../engine/engine.ts';
import { Fault } from '../../../faults/fault.ts';
import type { Grant } from '../../../grants/grant.ts';
import type { Host } from '../../../hosts/host.ts';
import { cleanLine } from '../../../text/clean.ts';

/**
 * Locates a path of a container. A file in a mounted folder can be replaced as a whole. The container would not see a replacement of a file
 * that is mounted by itself, so that is written in place. `inside` is a volume of the engine, or the container itself.
 */
export function locate({ mounts }: Pick<ContainerDetail, 'mounts'>, path: string): { kind: 'folder' | 'file' | 'inside'; path: string } {
  const [over] = mounts
    .filter(({ target }) => path === target || path.startsWith(`${target.replace(/\/$/, '')}/`))
    .sort((one, other) => other.target.length - one.target.length);
  if (over?.kind !== 'bind') return { kind: 'inside', path };
  if (over.target === path) return { kind: 'file', path: over.source };
  return { kind: 'folder', path: posix.join(over.source, posix.relative(over.target, path)) };
}

const limitMs = 20_000;
const usualMode = 0o644;
/** The first form is for GNU and busybox, the second for the BSDs. */
const modeScript = 'stat -c %a "$0" 2>/dev/null || stat -f %Lp "$0"';
const inPlaceScript = 'cat > "$0"';
/** The copy keeps owner and mode. It gets the new content before it replaces the file. */
const insideScript = 'set -e; cp -p "$0" "$0.new"; cat > "$0.new"; mv "$0.new" "$0"';

export class MountedFile {
  readonly #location: ReturnType<typeof locate>;

  constructor(
    private readonly running: { host: Host; engine: Engine; container: ContainerDetail },
    path: string,
  ) {
    this.#location = locate(running.container, path);
  }

  get shown(): string {
    const path = cleanLine(this.#location.path);
    return this.#location.kind === 'inside' ? `${path} in ${cleanLine(this.running.container.name)}` : path;
  }

  async read(signal: AbortSignal): Promise<string | undefined> {
    const { kind, path } = this.#location;
    const { host, engine, container } = this.running;
    const bytes = await (kind === 'inside' ? engine.readFile(container.id, path, { signal }) : host.files.read(path, { signal }));
    return bytes && new TextDecoder().decode(bytes);
  }

  /** Returns the modification time; undefined if it cannot be read from outside the container. */
  async writtenMs(signal: AbortSignal): Promise<number | undefined> {
    const { kind, path } = this.#location;
    return kind === 'inside' ? undefined : (await this.running.host.files.facts(path, signal))?.modifiedMs;
  }

  /** Replaces the file as a whole where possible; owner and mode stay. Throws `failed.file`. */
  async write(grant: Grant, text: string): Promise<void> {
    const { kind, path } = this.#location;
    const content = Buffer.from(text);
    if (kind === 'folder') return this.running.host.files.write(grant, path, content, { mode: await this.#mode(path, grant.signal) });
    const outcome =
      kind === 'file'
        ? await this.running.host.run(grant, ['sh', '-c', inPlaceScript, path], { signal: grant.signal, limitMs, stdin: content })
        : await this.running.engine.writer(grant).exec(this.running.container.id, ['sh', '-c', insideScript, path], { stdin: content });
    if (outcome.exitCode === 0) return;
    const words = cleanLine(new TextDecoder().decode(outcome.stderr).trim().split('\n').at(-1) ?? '').replace(/\.$/, '');
    const message = `${this.shown} was not written: ${words || `the write command exited with code ${outcome.exitCode}`}.`;
    throw new Fault('failed.file', message, 'Check the permissions of the file and the free disk space.');
  }

  /** Saves a copy beside the stack, readable only by the operator, and keeps the last ten copies of each file. */
  async keep(grant: Grant, folder: string, text: string): Promise<void> {
    const name = posix.basename(this.#location.path);
    const stamp = new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '');
    await this.running.host.files.makeFolder(grant, folder, { mode: 0o700 });
    await this.running.host.files.write(grant, posix.join(folder, `${name}.${stamp}`), Buffer.from(text), { mode: 0o600 });
    const kept = ((await this.running.host.files.list(folder, grant.signal)) ?? []).filter((one) => one.startsWith(`${name}.`));
    for (const old of kept.sort().slice(0, -10)) await this.running.host.files.remove(grant, posix.join(folder, old));
  }

  /** Returns the mode of the existing file: a file of hashes must not become readable for more users than before. */
  async #mode(path: string, signal: AbortSignal): Promise<number> {
    const { exitCode, stdout } = await this.running.host.exec(['sh', '-c', modeScript, path], { signal, limitMs });
    const written = new TextDecoder().decode(stdout).trim();
    return exitCode === 0 && /^[0-7]{3,4}$/.test(written) ? Number.parseInt(written, 8) & 0o777 : usualMode;
  }
}
