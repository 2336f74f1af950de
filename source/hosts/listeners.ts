import { readdirSync, readlinkSync } from 'node:fs';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { Fault } from '../faults/fault.ts';
import type { ExecOptions, ExecOutcome, Listener, ListenerProcess } from './host.ts';
import { parseLsof } from './lsof.ts';
import { type KernelSocket, type ProcNetFile, parseProcNet } from './proc-net.ts';

const procFiles: readonly ProcNetFile[] = ['tcp', 'tcp6', 'udp', 'udp6'];
/** So long a walk goes on before keys and frames have their turn. */
const turnMs = 4;

interface Owner {
  process: ListenerProcess;
  /** The link under /proc that led here: while it stands, so does the answer. */
  link: string;
}

/** Where the kernel's tables and the programs come from; replaced in tests. */
export interface ListenerSources {
  platform: string;
  exec: (argv: readonly string[], options: ExecOptions) => Promise<ExecOutcome>;
  procFolder?: string;
}

/**
 * Who listens on this machine, published by an engine or not.
 *
 * Owners are found through `/proc/<pid>/fd`, which is a walk over every open file of every visible process. It is made only when a
 * socket appears that was never looked up, or whose owner has let go of it; that nobody visible has a socket stays true for as long
 * as it is listed.
 */
export class ListenerWatch {
  readonly #sources: ListenerSources;
  readonly #proc: string;
  #owners = new Map<string, Owner | undefined>();

  constructor(sources: ListenerSources) {
    this.#sources = sources;
    this.#proc = sources.procFolder ?? '/proc';
  }

  async read(signal: AbortSignal): Promise<Listener[]> {
    signal.throwIfAborted();
    if (this.#sources.platform !== 'linux') return this.#readWithLsof(signal);
    const tables = await Promise.all(procFiles.map(async (file) => parseProcNet(await this.#table(file, signal), file)));
    const sockets = tables.flat();
    await this.#lookUp(sockets, signal);
    return distinctListeners(
      sockets.map(({ address, port, protocol, inode }) => listener(address, port, protocol, this.#owners.get(inode)?.process)),
    );
  }

  /** A kernel without IPv6 has no tcp6 and udp6. */
  async #table(file: ProcNetFile, signal: AbortSignal): Promise<string> {
    try {
      return await readFile(`${this.#proc}/net/${file}`, { encoding: 'latin1', signal });
    } catch (cause) {
      signal.throwIfAborted();
      if ((cause as NodeJS.ErrnoException).code === 'ENOENT' && file.endsWith('6')) return '';
      throw new Fault({
        code: 'failed.listeners',
        message: `The listening sockets of this machine cannot be read: ${this.#proc}/net/${file} is not readable.`,
        remedy: 'Mount /proc, or run outside the sandbox that hides it.',
        cause,
      });
    }
  }

  async #lookUp(sockets: readonly KernelSocket[], signal: AbortSignal): Promise<void> {
    const inodes = new Set(sockets.map((socket) => socket.inode));
    const known = new Map<string, Owner | undefined>();
    for (const [inode, owner] of this.#owners) {
      if (!inodes.has(inode)) continue;
      if (owner && (await readlink(owner.link).catch(() => '')) !== `socket:[${inode}]`) continue;
      known.set(inode, owner);
    }
    const unknown = new Set([...inodes].filter((inode) => !known.has(inode)));
    if (unknown.size > 0) {
      const found = await this.#walk(unknown, signal);
      for (const inode of unknown) known.set(inode, found.get(inode));
    }
    this.#owners = known;
  }

  async #walk(wanted: ReadonlySet<string>, signal: AbortSignal): Promise<Map<string, Owner>> {
    const found = new Map<string, Owner>();
    const pids = (await readdir(this.#proc).catch(() => [])).filter((name) => /^\d+$/.test(name));
    let sinceMs = performance.now();
    // Oldest first: servers were there before the shells, and when all are found the walk ends.
    for (const pid of pids) {
      if (found.size >= wanted.size) break;
      signal.throwIfAborted();
      const mine = socketsOf(`${this.#proc}/${pid}/fd`).filter(({ inode }) => wanted.has(inode) && !found.has(inode));
      if (mine.length > 0) {
        const [name, groups] = await Promise.all([this.#nameOf(pid), readFile(`${this.#proc}/${pid}/cgroup`, 'utf8').catch(() => '')]);
        const container = containerIn(groups);
        const process: ListenerProcess = { pid: Number(pid), name, ...(container !== undefined && { container }) };
        for (const { inode, link } of mine) found.set(inode, { process, link });
      }
      if (performance.now() - sinceMs < turnMs) continue;
      await new Promise((resolve) => setImmediate(resolve));
      sinceMs = performance.now();
    }
    return found;
  }

  async #nameOf(pid: string): Promise<string> {
    const [short, command] = await Promise.all([
      readFile(`${this.#proc}/${pid}/comm`, 'utf8').catch(() => ''),
      readFile(`${this.#proc}/${pid}/cmdline`, 'utf8').catch(() => ''),
    ]);
    return processName(short.trim(), command);
  }

  async #readWithLsof(signal: AbortSignal): Promise<Listener[]> {
    const outcome = await this.#sources.exec(['lsof', '-nP', '-iTCP', '-sTCP:LISTEN', '-iUDP', '-FpcftPn'], {
      signal,
      limitMs: 10_000,
      limitBytes: 8 * 1024 * 1024,
    });
    // It ends with 1 when there is nothing to list, and when some process could not be looked into: what it wrote counts.
    return distinctListeners(parseLsof(new TextDecoder().decode(outcome.stdout)));
  }
}

/**
 * The sockets among the open files of a process. Read at once: the kernel answers out of memory in two microseconds each, and a thread that is asked to do it takes ten
 * times as long.
 */
function socketsOf(folder: string): { inode: string; link: string }[] {
  let descriptors: string[] = [];
  try {
    descriptors = readdirSync(folder);
  } catch {
    // Other users' processes are closed to us, and processes end while we walk.
  }
  return descriptors.flatMap((descriptor) => {
    const link = `${folder}/${descriptor}`;
    try {
      const target = readlinkSync(link);
      return target.startsWith('socket:[') ? [{ inode: target.slice(8, -1), link }] : [];
    } catch {
      return [];
    }
  });
}

/**
 * What to call a process. The kernel's short name is right also for scripts, but it is cut at 15 characters, and some programs put
 * a thread's name there (`MainThread` of Node) or were started through `/proc/self/exe`.
 */
export function processName(short: string, commandLine: string): string {
  const first = commandLine.split('\0', 1)[0] ?? '';
  // `nginx: master process /usr/sbin/nginx` is a title, not a path.
  const program = (/^[^/\s:]+(?=:\s)/.exec(first)?.[0] ?? first.split(' ', 1)[0] ?? '').replace(/^.*\//, '').replace(/^-/, '');
  if (short === '' || short === 'MainThread' || short === 'exe') return program || short;
  return short.length >= 15 && program.startsWith(short) ? program : short;
}

/**
 * The container in `/proc/<pid>/cgroup`, of both versions of control groups: `/docker/<id>`, `docker-<id>.scope`, `libpod-<id>.scope`, and `libpod-conmon-<id>.scope`
 * for what holds its ports open. Of containers inside containers the innermost.
 */
export function containerIn(groups: string): string | undefined {
  return [...groups.matchAll(/(?:docker|libpod)(?:-conmon)?[-/]([0-9a-f]{64})(?![0-9a-f])/g)].at(-1)?.[1];
}

function listener(address: string, port: number, protocol: 'tcp' | 'udp', process: Owner['process'] | undefined): Listener {
  return process ? { address, port, protocol, process } : { address, port, protocol };
}

/** Servers with several sockets on one port (SO_REUSEPORT) are one listener; ordered, so that two readings compare. */
export function distinctListeners(listeners: readonly Listener[]): Listener[] {
  const byKey = new Map<string, Listener>();
  for (const one of listeners) {
    const key = `${one.port}/${one.protocol} ${one.address} ${one.process?.name ?? ''}`;
    const other = byKey.get(key);
    if (!other || (one.process?.pid ?? 0) < (other.process?.pid ?? 0)) byKey.set(key, one);
  }
  return [...byKey.values()].sort(
    (a, b) =>
      a.port - b.port || compare(a.protocol, b.protocol) || compare(a.address, b.address) || (a.process?.pid ?? 0) - (b.process?.pid ?? 0),
  );
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
