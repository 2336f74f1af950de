import { posix } from 'node:path';
import type { ContainerDetail, Engine } from '../engine/engine.ts';
import { Fault } from '../faults/fault.ts';
import type { Grant } from '../grants/grant.ts';
import type { Host } from '../hosts/host.ts';
import { cleanLine } from '../text/clean.ts';

/** Where a path of a container is. */
export type FilePlace =
  /** In a folder of the host that is mounted: a file there can be replaced as a whole. */
  | { kind: 'folder'; path: string }
  /** Mounted by itself: a file that replaces it would not be seen, so it is written in place. */
  | { kind: 'file'; path: string }
  /** In a volume of the engine, or in the container itself. */
  | { kind: 'inside'; path: string };

/** The deepest mount over the path decides. */
export function placeOf({ mounts }: Pick<ContainerDetail, 'mounts'>, path: string): FilePlace {
  const [over] = mounts
    .filter(({ target }) => path === target || path.startsWith(`${target.replace(/\/$/, '')}/`))
    .sort((one, other) => other.target.length - one.target.length);
  if (over?.kind !== 'bind') return { kind: 'inside', path };
  if (over.target === path) return { kind: 'file', path: over.source };
  return { kind: 'folder', path: posix.join(over.source, posix.relative(over.target, path)) };
}

const limitMs = 20_000;
const usualMode = 0o644;
/** GNU and busybox, then the BSDs. */
const modeScript = 'stat -c %a "$0" 2>/dev/null || stat -f %Lp "$0"';
const inPlaceScript = 'cat > "$0"';
/** A copy keeps owner and mode; its content is the new one before it takes the other's place. */
const insideScript = 'set -e; cp -p "$0" "$0.new"; cat > "$0.new"; mv "$0.new" "$0"';

/** A configuration file of a container that is written while it runs. */
export class MountedFile {
  readonly place: FilePlace;
  readonly #host: Host;
  readonly #engine: Engine;
  readonly #container: ContainerDetail;

  constructor({ host, engine, container }: { host: Host; engine: Engine; container: ContainerDetail }, path: string) {
    this.#host = host;
    this.#engine = engine;
    this.#container = container;
    this.place = placeOf(container, path);
  }

  /** For sentences and requests: `/home/ada/stack/sso-portal/files/users/users_database.yml`. */
  get shown(): string {
    const path = cleanLine(this.place.path);
    return this.place.kind === 'inside' ? `${path} in ${cleanLine(this.#container.name)}` : path;
  }

  /** Undefined where there is none. */
  async read(signal: AbortSignal): Promise<string | undefined> {
    const { kind, path } = this.place;
    const bytes =
      kind === 'inside' ? await this.#engine.readFile(this.#container.id, path, { signal }) : await this.#host.files.read(path, { signal });
    return bytes && new TextDecoder().decode(bytes);
  }

  /** When it was written, by the clock of its machine; undefined where that cannot be seen from outside. */
  async writtenMs(signal: AbortSignal): Promise<number | undefined> {
    const { kind, path } = this.place;
    return kind === 'inside' ? undefined : (await this.#host.files.facts(path, signal))?.modifiedMs;
  }

  /** As a whole where that can be; owner and mode stay. Throws `failed.file`. */
  async write(grant: Grant, text: string): Promise<void> {
    const { kind, path } = this.place;
    const content = Buffer.from(text);
    if (kind === 'folder') return this.#host.files.write(grant, path, content, { mode: await this.#mode(path, grant.signal) });
    const outcome =
      kind === 'file'
        ? await this.#host.run(grant, ['sh', '-c', inPlaceScript, path], { signal: grant.signal, limitMs, stdin: content })
        : await this.#engine.writer(grant).exec(this.#container.id, ['sh', '-c', insideScript, path], { stdin: content });
    if (outcome.exitCode === 0) return;
    const words = cleanLine(new TextDecoder().decode(outcome.stderr).trim().split('\n').at(-1) ?? '').replace(/\.$/, '');
    throw new Fault({
      code: 'failed.file',
      message: `${this.shown} was not written: ${words || `the program ended with ${outcome.exitCode}`}.`,
      remedy: 'Look at who may write there, and at the free space.',
    });
  }

  /** Keeps a text beside the stack, readable by the operator alone; of each file the last ten. Answers where. */
  async keep(grant: Grant, folder: string, text: string): Promise<string> {
    const name = posix.basename(this.place.path);
    const stamp = new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '');
    const path = posix.join(folder, `${name}.${stamp}`);
    await this.#host.files.makeFolder(grant, folder, { mode: 0o700 });
    await this.#host.files.write(grant, path, Buffer.from(text), { mode: 0o600 });
    const kept = ((await this.#host.files.list(folder, grant.signal)) ?? []).filter((one) => one.startsWith(`${name}.`));
    for (const old of kept.sort().slice(0, -10)) await this.#host.files.remove(grant, posix.join(folder, old));
    return path;
  }

  /** What is there already says who may read it: a hash is not opened to more than it was. */
  async #mode(path: string, signal: AbortSignal): Promise<number> {
    const { exitCode, stdout } = await this.#host.exec(['sh', '-c', modeScript, path], { signal, limitMs });
    const written = new TextDecoder().decode(stdout).trim();
    return exitCode === 0 && /^[0-7]{3,4}$/.test(written) ? Number.parseInt(written, 8) & 0o777 : usualMode;
  }
}
