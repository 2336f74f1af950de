import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { posix } from 'node:path';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { extract, type Headers, pack } from 'tar-stream';
import { Refusal } from './request.ts';

export interface ContainerFile {
  content: Buffer;
  mode: number;
  ms: number;
  /** Target, of a link. */
  link?: string;
}

/** The files of a container: few, in memory except those that are mounted from the practice folder. */
export class ContainerFiles {
  readonly #files = new Map<string, ContainerFile>();
  readonly #folders = new Set('/ /bin /data /dev /etc /home /opt /proc /root /run /sys /tmp /usr /var /var/log /var/lib'.split(' '));
  readonly #mounts: { target: string; source: string }[] = [];

  /** Shows the source below `target` as soon as it exists: stack folders are written later than containers are created. */
  mount(target: string, source: string): void {
    this.#mounts.push({ target, source });
    this.#mounts.sort((a, b) => b.target.length - a.target.length);
  }

  /** Returns where a path is in the practice folder; undefined for what is in memory. */
  #mountedPath(at: string): string | undefined {
    const mount = this.#mounts.find(({ target }) => at === target || at.startsWith(`${target}/`));
    if (!mount || !statSync(mount.source, { throwIfNoEntry: false })) return undefined;
    return posix.join(mount.source, posix.relative(mount.target, at));
  }

  #entry(at: string): ContainerFile | undefined {
    const path = this.#mountedPath(at);
    const facts = path === undefined ? undefined : statSync(path, { throwIfNoEntry: false });
    return path !== undefined && facts?.isFile()
      ? { content: readFileSync(path), mode: facts.mode & 0o777, ms: facts.mtimeMs }
      : this.#files.get(at);
  }

  write(path: string, content: string | Buffer, ms: number, mode = 0o644): void {
    const at = posix.resolve('/', path);
    const mounted = this.#mountedPath(at);
    if (mounted === undefined) this.#keep(at, { content: Buffer.from(content as string), mode, ms });
    else {
      mkdirSync(posix.dirname(mounted), { recursive: true });
      writeFileSync(mounted, content, { mode });
    }
  }

  #keep(at: string, file: ContainerFile): void {
    this.makeFolder(posix.dirname(at));
    this.#files.set(at, file);
  }

  makeFolder(path: string): void {
    for (let at = posix.resolve('/', path); !this.#folders.has(at); at = posix.dirname(at)) this.#folders.add(at);
  }

  /** Follows links. */
  file(path: string): ContainerFile | undefined {
    let at = posix.resolve('/', path);
    for (let followed = 0; followed < 8; followed++) {
      const found = this.#entry(at);
      if (found?.link === undefined) return found;
      at = posix.resolve(posix.dirname(at), found.link);
    }
    return undefined;
  }

  /** Returns the names in a folder; undefined where there is no such folder. */
  list(path: string): string[] | undefined {
    const at = posix.resolve('/', path);
    const mounted = this.#mountedPath(at);
    const isMounted = mounted !== undefined && statSync(mounted, { throwIfNoEntry: false })?.isDirectory() === true;
    if (!isMounted && !this.#folders.has(at)) return undefined;
    const inside = [...this.#files.keys(), ...this.#folders].filter((one) => one !== '/' && posix.dirname(one) === at);
    return [...new Set([...inside.map((one) => posix.basename(one)), ...(isMounted ? readdirSync(mounted) : [])])].sort();
  }

  /** Returns the content of `X-Docker-Container-Path-Stat`; undefined where there is nothing. */
  stat(path: string): object | undefined {
    const at = posix.resolve('/', path);
    const file = this.#entry(at);
    if (!file && !this.list(at)) return undefined;
    return {
      name: posix.basename(at) || '/',
      size: file?.content.length ?? 4096,
      // Go's file modes: a link is bit 27, a folder bit 31.
      mode: file ? (file.link === undefined ? file.mode : 0o777 + 2 ** 27) : 2 ** 31 + 0o755,
      mtime: new Date(file?.ms ?? 0).toISOString(),
      linkTarget: file?.link ?? '',
    };
  }

  /** Returns a tar archive of a path that exists, named by its last part, as `docker cp` gets it. */
  archive(path: string): Readable {
    const archive = pack();
    const add = (at: string, name: string): void => {
      const file = this.#entry(at);
      if (file?.link !== undefined) archive.entry({ name, type: 'symlink', linkname: file.link, mode: 0o777 });
      else if (file) archive.entry({ name, mode: file.mode, mtime: new Date(file.ms) }, file.content);
      else {
        archive.entry({ name: `${name}/`, type: 'directory', mode: 0o755 });
        for (const inside of this.list(at) ?? []) add(posix.join(at, inside), `${name}/${inside}`);
      }
    };
    const top = posix.resolve('/', path);
    add(top, posix.basename(top) || '.');
    archive.finalize();
    return archive;
  }

  /** Unpacks an archive into a folder that exists. */
  async unpack(folder: string, archive: Readable, ms: number): Promise<void> {
    const reader = extract();
    reader.on('entry', ({ name, type, linkname, mode = 0o644 }: Headers, entry: Readable, next) => {
      const at = posix.resolve('/', folder, `./${name}`);
      const unpacked = buffer(entry).then((content) => {
        if (type === 'directory') this.makeFolder(at);
        else if (type === 'symlink' || type === 'link') this.#keep(at, { content, mode, ms, link: linkname ?? '' });
        else this.write(at, content, ms, mode);
      });
      unpacked.then(() => next(), next);
    });
    try {
      await pipeline(archive, reader);
    } catch (thrown) {
      throw new Refusal(400, thrown instanceof Error ? thrown.message : String(thrown));
    }
  }
}
