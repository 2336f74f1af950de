import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A line between an ssh client and an sshd that can be slow, narrow, dead or cut, without any means of the kernel. */
export interface Relay {
  port: number;
  /** How long each way takes from now on. */
  delay(ms: number): void;
  /** Bytes a second, each way; undefined: as many as there are. */
  pace(bytesPerSecond: number | undefined): void;
  /** Nothing comes through for so long, and then all of it: packets that were lost and sent again. */
  stall(ms: number): void;
  /** From now on nothing comes through and nothing is said about it: a pulled cable. New connections are taken, and stay silent. */
  hold(): void;
  /** What is new comes through again; connections that were held stay dead, as behind a gateway that forgot them. */
  release(): void;
  /** Ends all connections, as a gateway that starts anew. */
  cut(): void;
  /** Bytes that came from the far side. */
  readonly received: number;
  close(): Promise<void>;
}

/** A narrow line brings what it is given little by little. */
const slicesPerSecond = 20;

interface Way {
  from: Socket;
  to: Socket;
  fromRemote: boolean;
}

export async function openRelay(target: { port: number; host?: string }): Promise<Relay> {
  let delayMs = 0;
  let bytesPerSecond: number | undefined;
  let stalledUntilMs = 0;
  let isHeld = false;
  let received = 0;
  const open = new Set<Socket>();
  const dead = new WeakSet<Socket>();

  const lead = ({ from, to, fromRemote }: Way) => {
    // One after the other, each no earlier than it is due.
    const waiting: { chunk: Buffer; dueMs: number }[] = [];
    let lastMs = 0;
    let timer: NodeJS.Timeout | undefined;
    const pass = () => {
      timer = undefined;
      for (let first = waiting[0]; first; first = waiting[0]) {
        const waitMs = Math.max(first.dueMs, stalledUntilMs) - performance.now();
        if (waitMs > 0) {
          timer = setTimeout(pass, waitMs);
          return;
        }
        waiting.shift();
        if (dead.has(from) || to.destroyed) continue;
        if (to.write(first.chunk)) continue;
        from.pause();
        to.once('drain', () => from.resume());
      }
    };
    from.on('data', (chunk: Buffer) => {
      if (dead.has(from)) return;
      if (fromRemote) received += chunk.length;
      const sliceBytes = bytesPerSecond === undefined ? chunk.length : Math.max(1, Math.ceil(bytesPerSecond / slicesPerSecond));
      lastMs = Math.max(lastMs, performance.now());
      for (let at = 0; at < chunk.length; at += sliceBytes) {
        const slice = chunk.subarray(at, at + sliceBytes);
        if (bytesPerSecond) lastMs += (slice.length / bytesPerSecond) * 1000;
        waiting.push({ chunk: slice, dueMs: lastMs + delayMs });
      }
      const takesMs = lastMs - performance.now();
      if (takesMs > 1) {
        from.pause();
        setTimeout(() => from.resume(), takesMs);
      }
      if (timer === undefined) pass();
    });
    from.on('error', () => undefined);
    from.once('close', () => {
      open.delete(from);
      // What it said before comes first.
      if (!dead.has(from)) setTimeout(() => to.destroy(), Math.max(0, lastMs - performance.now()) + delayMs);
    });
  };
  const server = createServer((near) => {
    const remote = connect({ host: target.host ?? '127.0.0.1', port: target.port, noDelay: true });
    near.setNoDelay(true);
    for (const socket of [near, remote]) {
      open.add(socket);
      if (isHeld) dead.add(socket);
    }
    lead({ from: near, to: remote, fromRemote: false });
    lead({ from: remote, to: near, fromRemote: true });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cut = () => {
    for (const socket of open) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    delay: (ms) => {
      delayMs = ms;
    },
    pace: (most) => {
      bytesPerSecond = most;
    },
    stall: (ms) => {
      stalledUntilMs = performance.now() + ms;
    },
    hold: () => {
      isHeld = true;
      for (const socket of open) dead.add(socket);
    },
    release: () => {
      isHeld = false;
    },
    cut,
    get received() {
      return received;
    },
    close: async () => {
      cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
