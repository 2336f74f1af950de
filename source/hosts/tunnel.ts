import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { type Duplex, pipeline } from 'node:stream';
import { Fault, messageOf } from '../faults/fault.ts';
import { createListeners } from '../faults/listeners.ts';
import { limited } from '../faults/waits.ts';
import type { Grant } from '../grants/grant.ts';
import type { DialAddress, Host } from './host.ts';
import { listenAt, whyNotListening } from './server-port.ts';

const dialLimitMs = 20_000;
/** Binds to loopback: other machines of the network cannot connect. */
const listenOn = '127.0.0.1';
const firstFreePort = 1024;

export interface TunnelRequest {
  host: Host;
  address: { host: string; port: number };
  /** The engine's component that the tunnel is for: host, component and display name. */
  engineName: string;
  component: string;
  name: string;
  scheme?: 'http' | 'https';
  /** The local port. If unset, the same number as the remote port, or any port if that is in use. */
  port?: number;
}

export class Tunnel {
  readonly port: number;
  /** Connections that are open now. */
  open = 0;
  /** Why the last connection failed; cleared by the next one that succeeds. */
  trouble: Fault | undefined;
  readonly #ends = new Set<Duplex>();
  readonly #closing = new AbortController();
  readonly closed = this.#closing.signal;

  constructor(
    readonly wanted: TunnelRequest,
    private readonly server: Server,
    private readonly changed: () => void,
  ) {
    this.port = (server.address() as AddressInfo).port;
    server.on('connection', (socket) => void this.#lead(socket));
  }

  get url(): string {
    const { scheme } = this.wanted;
    return `${scheme ? `${scheme}://` : ''}${listenOn}:${this.port}`;
  }

  close(): void {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort();
    this.server.close();
    for (const end of this.#ends) end.destroy();
    this.changed();
  }

  async #lead(near: Socket): Promise<void> {
    const { host, address } = this.wanted;
    near.on('error', () => undefined);
    this.#keep(near);
    this.open += 1;
    near.once('close', () => {
      this.open -= 1;
    });
    try {
      const remote = await limited(this.#closing.signal, dialLimitMs, (signal) => host.dial(address, signal));
      this.#keep(remote);
      remote.on('error', () => undefined);
      this.#say(undefined);
      pipeline(near, remote, () => undefined);
      pipeline(remote, near, () => undefined);
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
    this.changed();
  }
}

function faultOf(thrown: unknown, name: string, { port }: { port: number }): Fault {
  if (thrown instanceof Fault) return thrown;
  const message = `Port ${port} on ${name} cannot be reached: ${messageOf(thrown)}.`;
  return new Fault('unreachable.port', message, 'Check that the program that uses this port is running.', { cause: thrown });
}

export class Tunnels {
  #all: readonly Tunnel[] = [];
  readonly #listeners = createListeners();
  /** Called when a tunnel is opened or closed, and when its trouble begins or ends. */
  readonly subscribe = this.#listeners.subscribe;

  get all(): readonly Tunnel[] {
    return this.#all;
  }

  find(component: string, port?: number): Tunnel | undefined {
    return this.#all.find(({ wanted }) => wanted.component === component && (port === undefined || wanted.address.port === port));
  }

  /** Listens until it is closed; the grant covers the opening. Throws `refused.port` if the requested port is not available. */
  async open(grant: Grant, wanted: TunnelRequest): Promise<Tunnel> {
    grant.signal.throwIfAborted();
    const server = await this.#listen(wanted);
    const tunnel = new Tunnel(wanted, server, this.#listeners.notify);
    this.#all = [...this.#all, tunnel];
    tunnel.closed.addEventListener('abort', () => {
      this.#all = this.#all.filter((one) => one !== tunnel);
    });
    this.#listeners.notify();
    return tunnel;
  }

  close(): void {
    for (const tunnel of this.#all) tunnel.close();
  }

  async #listen({ port, address }: TunnelRequest): Promise<Server> {
    if (port !== undefined) {
      return listen(port).catch((cause: NodeJS.ErrnoException) => {
        const message = `Cannot listen on port ${port} on this machine: ${whyNotListening(cause)}.`;
        throw new Fault('refused.port', message, 'Set another port with --port, or omit it to use any free port.', { cause });
      });
    }
    const same = address.port >= firstFreePort ? await listen(address.port).catch(() => undefined) : undefined;
    return same ?? listen(0);
  }
}

async function listen(port: number): Promise<Server> {
  const server = createServer({ allowHalfOpen: true, noDelay: true });
  await listenAt(server, listenOn, port);
  return server;
}

/** Returns the address part of a page URL: `http://127.0.0.1:8180`. */
export function addressOf(url: string): { scheme: 'http' | 'https'; address: Extract<DialAddress, { port: number }> } | undefined {
  const parsed = URL.parse(url);
  if (!parsed || !/^https?:$/.test(parsed.protocol)) return undefined;
  const scheme = parsed.protocol === 'https:' ? 'https' : 'http';
  return {
    scheme,
    address: { host: parsed.hostname.replace(/^\[|\]$/g, ''), port: Number(parsed.port) || (scheme === 'https' ? 443 : 80) },
  };
}
