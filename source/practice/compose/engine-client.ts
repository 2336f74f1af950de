import { request } from 'node:http';

export interface Answer {
  status: number;
  body: unknown;
}

/** What the practice compose says to the practice engine: plain HTTP over its socket, as any compose would. */
export class EngineClient {
  readonly #socket: string;
  constructor(dockerHost: string) {
    this.#socket = dockerHost.replace(/^unix:\/\//, '');
  }

  /** Throws with the engine's own message where it refuses, but for the statuses that are expected. */
  async ask(method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown, expected: readonly number[] = []): Promise<Answer> {
    const { status, text } = await this.#send(method, path, body);
    const parsed: unknown = text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : undefined;
    if (status >= 300 && !expected.includes(status)) {
      const message = (parsed as { message?: string } | undefined)?.message ?? text;
      throw new Error(`Error response from daemon: ${message.trim()}`);
    }
    return { status, body: parsed };
  }

  /** Lines of a stream of JSON objects, all of them. */
  async lines(method: 'POST', path: string): Promise<Record<string, unknown>[]> {
    const { status, text } = await this.#send(method, path);
    if (status >= 300) throw new Error(`Error response from daemon: ${text.trim()}`);
    return text
      .split('\n')
      .filter((line) => line.trim() !== '')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  async bytes(method: 'POST', path: string, body: unknown): Promise<Buffer> {
    return (await this.#send(method, path, body)).bytes;
  }

  #send(method: string, path: string, body?: unknown): Promise<{ status: number; text: string; bytes: Buffer }> {
    return new Promise((resolve, reject) => {
      const content = body === undefined ? '' : JSON.stringify(body);
      const asking = request(
        {
          socketPath: this.#socket,
          method,
          path: `/v1.52${path}`,
          headers: { Host: 'practice', 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(content) },
        },
        (answer) => {
          const chunks: Buffer[] = [];
          answer.on('data', (chunk: Buffer) => chunks.push(chunk));
          answer.on('error', reject);
          answer.on('end', () => {
            const bytes = Buffer.concat(chunks);
            resolve({ status: answer.statusCode ?? 500, text: bytes.toString('utf8'), bytes });
          });
        },
      );
      asking.on('error', (cause) => reject(new Error(`Cannot connect to the Docker daemon at unix://${this.#socket}: ${cause.message}`)));
      asking.end(content);
    });
  }
}
