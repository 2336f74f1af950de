import { mkdirSync, rmSync } from 'node:fs';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import type { Program } from './program.ts';

/** A published port: a socket in a folder, where an engine would open a port of the machine. */
export interface Door {
  address: string;
  hostPort: number;
  containerPort: number;
  protocol: 'tcp' | 'udp';
}

/** The sockets behind published ports, one for each host port of TCP: `8200.sock`. Nothing ever listens on the network. */
export class Doors {
  readonly folder: string;
  readonly #open = new Map<number, { server: Server; sockets: Set<Socket> }>();

  constructor(folder: string) {
    this.folder = folder;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  }

  pathOf(hostPort: number): string {
    return join(this.folder, `${hostPort}.sock`);
  }

  isOpen(hostPort: number): boolean {
    return this.#open.has(hostPort);
  }

  /** `joined` is asked at each connection, where the program has nothing on that port: others may share its network. */
  async open(
    { hostPort, containerPort }: Door,
    program: Program,
    joined: () => RequestListener | undefined = () => undefined,
  ): Promise<void> {
    const sockets = new Set<Socket>();
    const raw = program.raw?.[containerPort];
    const listener = program.listeners?.[containerPort];
    // What speaks no HTTP and has no part of its own takes connections and says nothing, as a DNS server over TCP would.
    const server = listener
      ? createHttpServer({ keepAliveTimeout: 5_000 }, listener)
      : createServer((socket) => {
          socket.on('error', () => undefined);
          if (raw) return raw(socket);
          const other = joined();
          if (other) createHttpServer(other).emit('connection', socket);
          else socket.resume();
        });
    if (listener && raw) server.on('upgrade', (_request, socket: Socket) => raw(socket));
    server.on('connection', (socket: Socket) => {
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket));
    });
    server.on('error', () => undefined);
    this.#open.set(hostPort, { server, sockets });
    rmSync(this.pathOf(hostPort), { force: true });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(this.pathOf(hostPort), () => resolve());
    });
  }

  async shut(hostPort: number): Promise<void> {
    const door = this.#open.get(hostPort);
    if (!door) return;
    this.#open.delete(hostPort);
    for (const socket of door.sockets) socket.destroy();
    await new Promise<void>((resolve) => door.server.close(() => resolve()));
  }

  async shutAll(): Promise<void> {
    await Promise.all([...this.#open.keys()].map((hostPort) => this.shut(hostPort)));
  }
}
