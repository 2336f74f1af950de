import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { type Duplex, pipeline } from 'node:stream';
import { Fault, messageOf } from '../faults/fault.ts';
import { limited } from '../faults/waits.ts';
import type { Grant } from '../grants/grant.ts';
import type { DialAddress, Host } from './host.ts';

const dialLimitMs = 20_000;
/** Of this machine alone: whoever else is in its network does not get in. */
const listenOn = '127.0.0.1';
/** Below it only root listens. */
const firstFreePort = 1024;

export interface TunnelWanted {
  host: Host;
  /** There. */
  address: { host: string; port: number };
  /** Which engine's component it is for: host, component and what people call it. */
  place: string;
  component: string;
  name: string;
  /** What speaks behind it, where that is known to be a page. */
  scheme?: 'http' | 'https';
  /** Here. Without one the number it has there, or any where that is taken. */
  port?: number;
}

/** A port of this machine that leads to a port of another one. */
export class Tunnel {
  readonly wanted: TunnelWanted;
  readonly port: number;
  /** Connections that went through it and those that go through it now. */
  connections = 0;
  open = 0;
  /** Why the last connection did not get through; gone with the next one that does. */
  trouble: Fault | undefined;
  readonly #server: Server;
  readonly #ends = new Set<Duplex>();
  readonly #closing = new AbortController();
  readonly #changed: () => void;

  constructor(wanted: TunnelWanted, server: Server, changed: () => void) {
    this.wanted = wanted;
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
    this.#changed = changed;
    server.on('connection', (socket) => void this.#lead(socket));
  }

  /** What to give a browser, or another program. */
  get url(): string {
    const { scheme } = this.wanted;
    return `${scheme ? `${scheme}://` : ''}${listenOn}:${this.port}`;
  }

  close(): void {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort();
    this.#server.close();
    for (const end of this.#ends) end.destroy();
    this.#changed();
  }

  get closed(): AbortSignal {
    return this.#closing.signal;
  }

  async #lead(near: Socket): Promise<void> {
    const { host, address } = this.wanted;
    near.on('error', () => undefined);
    this.#keep(near);
    this.connections += 1;
    this.open += 1;
    near.once('close', () => {
      this.open -= 1;
    });
    try {
      const far = await limited(this.#closing.signal, dialLimitMs, (signal) => host.dial(address, signal));
      this.#keep(far);
      far.on('error', () => undefined);
      this.#say(undefined);
      pipeline(near, far, () => undefined);
      pipeline(far, near, () => undefined);
    } catch (thrown) {
      near.destroy();
      if (!this.#closing.signal.aborted) this.#say(faultOf(thrown, host.name, address));
    }
  }

  #keep(end: Duplex): void {
    this.#ends.add(end);
    end.once('close', () => this.#ends.delete(end));
  }

  #say(trouble: Fault | undefined): void {
    if (this.trouble?.message === trouble?.message) return;
    this.trouble = trouble;
    this.#changed();
  }
}

function faultOf(thrown: unknown, name: string, { port }: { port: number }): Fault {
  if (thrown instanceof Fault) return thrown;
  return new Fault({
    code: 'unreachable.port',
    message: `Port ${port} of ${name} was not reached: ${messageOf(thrown)}.`,
    remedy: 'Check that the program behind it runs.',
    cause: thrown,
  });
}

/** All tunnels of this process. */
export class Tunnels {
  #all: readonly Tunnel[] = [];
  readonly #listeners = new Set<() => void>();

  get all(): readonly Tunnel[] {
    return this.#all;
  }

  /** Called when one is opened or closed, and when it begins or ends to have trouble. */
  subscribe(changed: () => void): () => void {
    this.#listeners.add(changed);
    return () => this.#listeners.delete(changed);
  }

  /** Of a component: to this port there, or to any. */
  find(component: string, port?: number): Tunnel | undefined {
    return this.#all.find(({ wanted }) => wanted.component === component && (port === undefined || wanted.address.port === port));
  }

  /** Listens from now until it is closed; the grant is for the opening. Throws `refused.port` where the wanted port cannot be had. */
  async open(grant: Grant, wanted: TunnelWanted): Promise<Tunnel> {
    grant.signal.throwIfAborted();
    const server = await this.#listen(wanted);
    const tunnel = new Tunnel(wanted, server, () => this.#tell());
    this.#all = [...this.#all, tunnel];
    tunnel.closed.addEventListener('abort', () => {
      this.#all = this.#all.filter((one) => one !== tunnel);
    });
    this.#tell();
    return tunnel;
  }

  close(): void {
    for (const tunnel of this.#all) tunnel.close();
  }

  async #listen({ port, address }: TunnelWanted): Promise<Server> {
    if (port !== undefined) {
      return listen(port).catch((cause: NodeJS.ErrnoException) => {
        throw new Fault({
          code: 'refused.port',
          message: `Port ${port} of this machine cannot be had: ${cause.code === 'EADDRINUSE' ? 'something listens there already' : cause.code === 'EACCES' ? 'only root may listen there' : messageOf(cause)}.`,
          remedy: 'Name another one with --port, or none: any free one will do then.',
          cause,
        });
      });
    }
    const same = address.port >= firstFreePort ? await listen(address.port).catch(() => undefined) : undefined;
    return same ?? listen(0);
  }

  #tell(): void {
    for (const changed of [...this.#listeners]) changed();
  }
}

function listen(port: number): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer({ allowHalfOpen: true, noDelay: true });
    server.once('error', reject);
    server.listen({ port, host: listenOn, exclusive: true }, () => {
      server.off('error', reject);
      server.on('error', () => undefined);
      resolve(server);
    });
  });
}

/** The address out of an address of a page: `http://127.0.0.1:8180`. */
export function addressOf(url: string): { scheme: 'http' | 'https'; address: Extract<DialAddress, { port: number }> } | undefined {
  const parsed = URL.parse(url);
  if (!parsed || !/^https?:$/.test(parsed.protocol)) return undefined;
  const scheme = parsed.protocol === 'https:' ? 'https' : 'http';
  return {
    scheme,
    address: { host: parsed.hostname.replace(/^\[|\]$/g, ''), port: Number(parsed.port) || (scheme === 'https' ? 443 : 80) },
  };
}
