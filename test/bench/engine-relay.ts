import { once } from 'node:events';
import { connect, createServer, type Server } from 'node:net';

/** Passes on what is said to an engine, and notes when it was at work on an answer. */
export class EngineRelay {
  readonly #server: Server;
  /** From a question to the end of its answer, in epoch milliseconds. */
  readonly #answers: { sinceMs: number; untilMs: number }[] = [];

  private constructor(server: Server) {
    this.#server = server;
  }

  /** Listens at `path` for the engine at the socket `engine`. */
  static async open(path: string, engine: string): Promise<EngineRelay> {
    const server = createServer({ allowHalfOpen: true });
    const relay = new EngineRelay(server);
    server.on('connection', (client) => {
      const behind = connect({ path: engine, allowHalfOpen: true });
      let answer: { sinceMs: number; untilMs: number } | undefined;
      client.on('data', (bytes) => {
        // What comes before the engine has said anything is the same question still.
        if (!answer || answer.untilMs > answer.sinceMs) {
          answer = { sinceMs: nowMs(), untilMs: 0 };
          relay.#answers.push(answer);
        }
        behind.write(bytes);
      });
      behind.on('data', (bytes) => {
        if (answer) answer.untilMs = nowMs();
        client.write(bytes);
      });
      client.on('end', () => behind.end());
      behind.on('end', () => client.end());
      for (const one of [client, behind]) one.on('error', () => [client, behind].forEach((socket) => void socket.destroy()));
    });
    server.listen(path);
    await once(server, 'listening');
    return relay;
  }

  /** How long the engine had something to answer in this time, whatever else went on. */
  busyMs(fromMs: number, toMs: number): number {
    return coveredMs(this.#answers, fromMs, toMs);
  }

  close(): void {
    this.#server.close();
  }
}

export const nowMs = (): number => performance.timeOrigin + performance.now();

/** The part of a time that is covered by any of these; what overlaps counts once. */
export function coveredMs(spans: readonly { sinceMs: number; untilMs: number }[], fromMs: number, toMs: number): number {
  let covered = 0;
  let reached = fromMs;
  for (const { sinceMs, untilMs } of [...spans].sort((one, other) => one.sinceMs - other.sinceMs)) {
    const end = Math.min(untilMs, toMs);
    if (end <= reached) continue;
    covered += end - Math.max(sinceMs, reached);
    reached = end;
  }
  return covered;
}
