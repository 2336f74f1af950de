import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { posix } from 'node:path';
import type { Readable } from 'node:stream';
import { extract, type Headers, pack } from 'tar-stream';
import { Refusal } from './refusal.ts';

export interface ContainerFile {
  content: Buffer;
  mode: number;
  ms: number;
  /** Target, of a link. */
  link?: string;
}

const usualFolders = [
  '/',
  '/bin',
  '/data',
  '/dev',
  '/etc',
  '/home',
  '/opt',
  '/proc',
  '/root',
  '/run',
  '/sys',
  '/tmp',
  '/usr',
  '/usr/bin',
  '/usr/local',
  '/var',
  '/var/log',
  '/var/lib',
];

/** The files that can be seen in a container: few, and in memory but for those that are mounted from the practice machine. */
export class ContainerFiles {
  readonly #files = new Map<string, ContainerFile>();
  readonly #folders = new Set<string>(usualFolders);
  readonly #mounts: { target: string; source: string }[] = [];

  /** From here on what is below `target` is what is there on the machine, as soon as it is: folders are laid down later than containers are made. */
  mount(target: string, source: string): void {
    this.#mounts.push({ target, source });
    this.#mounts.sort((one, other) => other.target.length - one.target.length);
  }

  /** Where a path is on the machine; undefined for what is in memory. */
  #onMachine(at: string): string | undefined {
    const over = this.#mounts.find(({ target }) => at === target || at.startsWith(`${target}/`));
    if (!over || !statSync(over.source, { throwIfNoEntry: false })) return undefined;
    return posix.join(over.source, posix.relative(over.target, at));
  }

  #mounted(at: string): ContainerFile | undefined {
    const place = this.#onMachine(at);
    const facts = place === undefined ? undefined : statSync(place, { throwIfNoEntry: false });
    if (place === undefined || !facts?.isFile()) return undefined;
    return { content: readFileSync(place), mode: facts.mode & 0o777, ms: facts.mtimeMs };
  }

  write(path: string, content: string | Buffer, ms: number, mode = 0o644): void {
    const at = posix.resolve('/', path);
    const place = this.#onMachine(at);
    if (place !== undefined) {
      mkdirSync(posix.dirname(place), { recursive: true });
      writeFileSync(place, content, { mode });
      return;
    }
    this.makeFolder(posix.dirname(at));
    this.#files.set(at, { content: Buffer.from(content as string), mode, ms });
  }

  makeFolder(path: string): void {
    for (let at = posix.resolve('/', path); !this.#folders.has(at); at = posix.dirname(at)) this.#folders.add(at);
  }

  file(path: string): ContainerFile | undefined {
    let at = posix.resolve('/', path);
    for (let followed = 0; followed < 8; followed++) {
      const found = this.#mounted(at) ?? this.#files.get(at);
      if (found?.link === undefined) return found;
      at = posix.resolve(posix.dirname(at), found.link);
    }
    return undefined;
  }

  isFolder(path: string): boolean {
    const at = posix.resolve('/', path);
    const place = this.#onMachine(at);
    return this.#folders.has(at) || (place !== undefined && statSync(place, { throwIfNoEntry: false })?.isDirectory() === true);
  }

  /** Names in a folder; undefined where there is no such folder. */
  list(path: string): string[] | undefined {
    const at = posix.resolve('/', path);
    if (!this.isFolder(at)) return undefined;
    const names = [...this.#files.keys(), ...this.#folders].filter((one) => one !== '/' && posix.dirname(one) === at);
    const place = this.#onMachine(at);
    const mounted = place !== undefined && statSync(place).isDirectory() ? readdirSync(place) : [];
    return [...new Set([...names.map((one) => posix.basename(one)), ...mounted])].sort();
  }

  remove(path: string): boolean {
    const at = posix.resolve('/', path);
    const place = this.#onMachine(at);
    if (place === undefined || !statSync(place, { throwIfNoEntry: false })?.isFile()) return this.#files.delete(at);
    rmSync(place);
    return true;
  }

  /** What `X-Docker-Container-Path-Stat` tells, undefined where nothing is. */
  stat(path: string): object | undefined {
    const at = posix.resolve('/', path);
    const file = this.#mounted(at) ?? this.#files.get(at);
    if (file) {
      // Go's file modes: a link is bit 27, a folder bit 31.
      const mode = file.link === undefined ? file.mode : 0o777 + 2 ** 27;
      return {
        name: posix.basename(at),
        size: file.content.length,
        mode,
        mtime: new Date(file.ms).toISOString(),
        linkTarget: file.link ?? '',
      };
    }
    if (!this.isFolder(at)) return undefined;
    return { name: posix.basename(at) || '/', size: 4096, mode: 2 ** 31 + 0o755, mtime: new Date(0).toISOString(), linkTarget: '' };
  }

  /** A tar archive of what is at a path, named by its last part, as `docker cp` gets it. */
  archive(path: string): Readable | undefined {
    const top = posix.resolve('/', path);
    const making = pack();
    const add = (at: string, name: string): void => {
      const file = this.#mounted(at) ?? this.#files.get(at);
      if (file?.link !== undefined) making.entry({ name, type: 'symlink', linkname: file.link, mode: 0o777 });
      else if (file) making.entry({ name, mode: file.mode, mtime: new Date(file.ms) }, file.content);
      else {
        making.entry({ name: `${name}/`, type: 'directory', mode: 0o755 });
        for (const inside of this.list(at) ?? []) add(posix.join(at, inside), `${name}/${inside}`);
      }
    };
    if (!this.#files.has(top) && !this.#mounted(top) && !this.isFolder(top)) return undefined;
    add(top, posix.basename(top) || '.');
    making.finalize();
    return making;
  }

  #link(at: string, link: string, mode: number, ms: number): void {
    this.makeFolder(posix.dirname(at));
    this.#files.set(at, { content: Buffer.alloc(0), mode, ms, link });
  }

  /** Unpacks an archive into a folder. Refuses a folder that is not there, as Docker does. */
  async unpack(folder: string, archive: Readable, ms: number): Promise<void> {
    const top = posix.resolve('/', folder);
    if (!this.isFolder(top)) {
      archive.resume();
      throw new Refusal(404, `Could not find the file ${folder} in container`);
    }
    await new Promise<void>((resolve, reject) => {
      const reader = extract();
      reader.on('entry', (header: Headers, content, next) => {
        const at = posix.resolve(top, `./${header.name}`);
        const chunks: Buffer[] = [];
        content.on('data', (chunk: Buffer) => chunks.push(chunk));
        content.on('end', () => {
          if (header.type === 'directory') this.makeFolder(at);
          else {
            const mode = header.mode ?? 0o644;
            const isLink = header.type === 'symlink' || header.type === 'link';
            if (isLink) this.#link(at, header.linkname ?? '', mode, ms);
            else this.write(at, Buffer.concat(chunks), ms, mode);
          }
          next();
        });
      });
      reader.on('finish', resolve);
      reader.on('error', (error) => reject(new Refusal(400, error.message)));
      archive.on('error', reject);
      archive.pipe(reader);
    });
  }
}
