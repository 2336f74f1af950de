import { readdirSync, readlinkSync } from 'node:fs';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { Fault } from '../faults/fault.ts';
import { unlessThrown } from '../text/unless-thrown.ts';
import type { ExecOptions, ExecOutcome, Listener, ListenerProcess } from './host.ts';
import { parseLsof } from './lsof.ts';
import { type KernelSocket, type ProcNetFile, parseProcNet, procFiles } from './proc-net.ts';

const turnMs = 4;

interface Owner {
  process: ListenerProcess;
  /** The link under /proc through which the owner was found: the result is valid while the link exists. */
  link: string;
}

export interface ListenerSources {
  platform: string;
  exec: (argv: readonly string[], options: ExecOptions) => Promise<ExecOutcome>;
  procFolder?: string;
}

/**
 * Lists the listeners on this machine, whether or not an engine published them. Owners are found through `/proc/<pid>/fd`, by a scan of
 * every open file of every visible process. The scan runs only when a new socket appears or when an owner has closed its socket. If no
 * visible process owns a socket, that result is kept for as long as the socket is listed.
 */
export class ListenerWatch {
  readonly #proc: string;
  #owners = new Map<string, Owner | undefined>();

  constructor(private readonly sources: ListenerSources) {
    this.#proc = sources.procFolder ?? '/proc';
  }

  async read(signal: AbortSignal): Promise<Listener[]> {
    signal.throwIfAborted();
    if (this.sources.platform !== 'linux') return this.#readWithLsof(signal);
    const tables = await Promise.all(procFiles.map(async (file) => parseProcNet(await this.#table(file, signal), file)));
    const sockets = tables.flat();
    await this.#lookUp(sockets, signal);
    return distinctListeners(
      sockets.map(({ address, port, protocol, inode }) => ({ address, port, protocol, process: this.#owners.get(inode)?.process })),
    );
  }

  /** A kernel without IPv6 has no tcp6 and udp6 tables. */
  async #table(file: ProcNetFile, signal: AbortSignal): Promise<string> {
    try {
      return await readFile(`${this.#proc}/net/${file}`, { encoding: 'latin1', signal });
    } catch (cause) {
      signal.throwIfAborted();
      if ((cause as NodeJS.ErrnoException).code === 'ENOENT' && file.endsWith('6')) return '';
      const message = `The listening sockets of this machine cannot be read: ${this.#proc}/net/${file} is not readable.`;
      throw new Fault('failed.listeners', message, 'Mount /proc, or run Quarterdeck outside the sandbox that hides it.', { cause });
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
    // Oldest first: servers are older than the shells, and the scan ends when all owners are found.
    for (const pid of pids) {
      if (found.size >= wanted.size) break;
      signal.throwIfAborted();
      const mine = socketsOf(`${this.#proc}/${pid}/fd`).filter(({ inode }) => wanted.has(inode) && !found.has(inode));
      if (mine.length > 0) {
        const read = (file: string) => readFile(`${this.#proc}/${pid}/${file}`, 'utf8').catch(() => '');
        const [short, command, groups] = await Promise.all([read('comm'), read('cmdline'), read('cgroup')]);
        const name = processName(short.trim(), command);
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

  async #readWithLsof(signal: AbortSignal): Promise<Listener[]> {
    const outcome = await this.sources.exec(['lsof', '-nP', '-iTCP', '-sTCP:LISTEN', '-iUDP', '-FpcftPn'], {
      signal,
      limitMs: 10_000,
      limitBytes: 8 * 1024 * 1024,
    });
    // lsof exits with 1 when there is nothing to list or when it could not read some process: its output is valid in both cases.
    return distinctListeners(parseLsof(new TextDecoder().decode(outcome.stdout)));
  }
}

/** Returns the sockets among the open files of a process. Synchronous: the kernel answers at once, and threads take ten times as long. */
function socketsOf(folder: string): { inode: string; link: string }[] {
  // We may not read other users' processes, and processes end during the scan.
  const descriptors = unlessThrown(() => readdirSync(folder), []);
  return descriptors.flatMap((descriptor) => {
    const link = `${folder}/${descriptor}`;
    const target = unlessThrown(() => readlinkSync(link), '');
    return target.startsWith('socket:[') ? [{ inode: target.slice(8, -1), link }] : [];
  });
}

/**
 * Returns the display name of a process. The kernel's short name is right also for scripts, but it is cut at 15 characters, and some
 * programs put a thread's name there (`MainThread` of Node) or were started through `/proc/self/exe`.
 */
export function processName(short: string, commandLine: string): string {
  const first = commandLine.split('\0', 1)[0] ?? '';
  // `nginx: master process /usr/sbin/nginx` is a title, not a path.
  const program = (/^[^/\s:]+(?=:\s)/.exec(first)?.[0] ?? first.split(' ', 1)[0] ?? '').replace(/^.*\//, '').replace(/^-/, '');
  if (short === '' || short === 'MainThread' || short === 'exe') return program || short;
  return short.length >= 15 && program.startsWith(short) ? program : short;
}

/**
 * Returns the container in `/proc/<pid>/cgroup`, for both versions of control groups: `/docker/<id>`, `docker-<id>.scope`,
 * `libpod-<id>.scope`, and `libpod-conmon-<id>.scope` for the process that holds its ports open. For nested containers, the innermost
 * one.
 */
export function containerIn(groups: string): string | undefined {
  return [...groups.matchAll(/(?:docker|libpod)(?:-conmon)?[-/]([0-9a-f]{64})(?![0-9a-f])/g)].at(-1)?.[1];
}

/** Servers with several sockets on one port (SO_REUSEPORT) are one listener. Sorted, so that two readings can be compared. */
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

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
