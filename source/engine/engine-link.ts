import { Agent, type AgentOptions, type ClientRequestArgs, type IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { inspect } from 'node:util';
import type Docker from 'dockerode';
import { Fault } from '../faults/fault.ts';
import { endingWith, orAborted } from '../faults/waits.ts';
import type { DialAddress, Host } from '../hosts/host.ts';
import { greetOverTls } from '../hosts/presented-certificates.ts';
import { parseJson } from '../text/json-value.ts';
import type { EngineAddress } from './engine.ts';
import { brokenFault, hangingFault, requestFault, senselessFault } from './engine-faults.ts';
import { guardErrorBodies } from './error-bodies.ts';

const answerLimitMs = 20_000;
const answerLimitBytes = 256 * 1024 * 1024;

export interface EngineQuery {
  signal: AbortSignal;
  query?: Readonly<Record<string, string | number | boolean | undefined>>;
  limitMs?: number;
  method?: 'GET' | 'POST';
  bare?: boolean;
  /** The response is a long-lived stream of many small pieces. */
  paced?: boolean;
  /** For Podman's own API, `/libpod/...`: its own version is in the path instead. */
  libpodVersion?: string | undefined;
}

/**
 * dockerode over connections that the host opens. Responses are read through its modem as streams: its own collecting of responses never
 * ends when the connection breaks in the middle, and its logs that do not follow would be held in memory completely.
 */
export class EngineLink {
  readonly address: EngineAddress;
  #Dockerode: typeof Docker | undefined;
  #agents: { usual?: EngineAgent; paced?: EngineAgent } = {};
  #clients: { bare?: Docker; usual?: Docker; paced?: Docker } = {};
  /** Faults whose reason is already determined: a request of several parts passes one on. */
  readonly #reported = new WeakSet<Fault>();

  constructor(
    address: EngineAddress,
    readonly host: Host,
  ) {
    this.address = host.link ? { ...address, machine: host.name } : address;
  }

  /** dockerode is loaded with the first engine, not at program start. */
  async load(signal: AbortSignal): Promise<void> {
    if (this.#clients.bare) return;
    const [{ default: Dockerode }, tls] = await Promise.all([import('dockerode'), this.#tls(signal)]);
    signal.throwIfAborted();
    this.#Dockerode = Dockerode;
    this.#agents.usual ??= new EngineAgent(this.host, dialAddressOf(this.address), tls);
    this.#agents.paced ??= new EngineAgent(this.host, dialAddressOf(this.address), tls, { paced: true });
    this.#clients.bare = this.#make(undefined, this.#agents.usual);
  }

  speakVersion(apiVersion: string): void {
    this.#clients.usual = this.#make(apiVersion, this.#agents.usual);
    this.#clients.paced = this.#make(apiVersion, this.#agents.paced);
  }

  #make(apiVersion: string | undefined, agent: EngineAgent | undefined): Docker {
    const Dockerode = this.#Dockerode;
    if (!Dockerode || !agent) throw brokenFault(this.address);
    const options = {
      // Never dialled: the agent opens the connections. It keeps the modem from looking for an engine of its own.
      socketPath: '/engine',
      protocol: 'http',
      agent,
      version: apiVersion === undefined ? undefined : `v${apiVersion}`,
      headers: this.address.url.startsWith('unix://') ? {} : { Host: new URL(this.address.url).host },
    };
    return guardErrorBodies(withoutEngineEnvironment(() => new Dockerode(options as unknown as Docker.DockerOptions)));
  }

  get isGreeted(): boolean {
    return this.#clients.usual !== undefined;
  }

  get docker(): Docker {
    if (!this.#clients.usual) throw brokenFault(this.address);
    return this.#clients.usual;
  }

  close(): void {
    for (const agent of Object.values(this.#agents)) agent.destroy();
    this.#agents = {};
    this.#clients = {};
  }

  /** The caller must read the stream to its end or destroy it. The limit covers the head of the response; the signal all of it. */
  async open(
    path: string,
    { signal, query = {}, limitMs = answerLimitMs, bare = false, paced = false, method = 'GET', libpodVersion }: EngineQuery,
  ): Promise<IncomingMessage> {
    const docker = bare || libpodVersion ? this.#clients.bare : paced ? this.#clients.paced : this.docker;
    if (!docker) throw brokenFault(this.address);
    signal.throwIfAborted();
    const ending = endingWith(signal);
    using _timer = setTimeout(() => ending.abort(hangingFault(this.address, limitMs)), limitMs);
    try {
      const { promise: answering, resolve, reject } = Promise.withResolvers<IncomingMessage>();
      docker.modem.dial(
        {
          path: `${libpodVersion ? `/v${libpodVersion}` : ''}${path}?`,
          method,
          options: { _query: Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined)), _body: {} },
          isStream: true,
          abortSignal: ending.signal,
          statusCodes: { 200: true },
        } as Parameters<typeof docker.modem.dial>[0],
        (error: unknown, stream: unknown) => (error ? reject(error) : resolve(stream as IncomingMessage)),
      );
      const answer = await orAborted(answering, ending.signal);
      answer.once('close', () => ending[Symbol.dispose]());
      return answer;
    } catch (thrown) {
      ending[Symbol.dispose]();
      throw await this.faultOf(thrown, signal, ending.signal);
    }
  }

  async get<T>(path: string, query: EngineQuery): Promise<T> {
    const { text } = await this.getText(path, query);
    try {
      return parseJson(text) as T;
    } catch (cause) {
      throw senselessFault(this.address, `its response to ${query.method ?? 'GET'} ${path}`, cause);
    }
  }

  async getText(path: string, query: EngineQuery): Promise<{ headers: IncomingMessage['headers']; text: string }> {
    return this.limited(query.signal, query.limitMs ?? answerLimitMs, async (signal) => {
      const answer = await this.open(path, { ...query, signal });
      return { headers: answer.headers, text: await this.#whole(answer) };
    });
  }

  /** Does not wait for the connection to close, which takes as long as many a response. */
  #whole(answer: IncomingMessage): Promise<string> {
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      let sizeBytes = 0;
      answer.on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        sizeBytes += chunk.length;
        if (sizeBytes <= answerLimitBytes) return;
        reject(senselessFault(this.address, `a response of more than ${answerLimitBytes / 1024 / 1024} MiB`));
        answer.destroy();
      });
      answer.once('end', () => resolve(Buffer.concat(chunks).toString('utf8')));
      answer.once('error', reject);
      answer.once('close', () => answer.readableEnded || reject(brokenFault(this.address)));
    });
  }

  async limited<T>(signal: AbortSignal, limitMs: number | undefined, run: (signal: AbortSignal) => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    using ending = endingWith(signal);
    using _timer = limitMs === undefined ? undefined : setTimeout(() => ending.abort(hangingFault(this.address, limitMs)), limitMs);
    try {
      return await orAborted(run(ending.signal), ending.signal);
    } catch (thrown) {
      throw await this.faultOf(thrown, signal, ending.signal);
    }
  }

  /** If the connection to the machine is down, that is the reason: its link is checked, because it may notice a moment later than we do. */
  async faultOf(thrown: unknown, ...signals: readonly AbortSignal[]): Promise<unknown> {
    const ended = signals.find((signal) => signal.aborted);
    if (ended) return ended.reason;
    const { link } = this.host;
    if (thrown instanceof Fault && this.#reported.has(thrown)) return thrown;
    const fault = requestFault(this.address, thrown);
    if (!link || fault.kind !== 'unreachable') return fault;
    const reported = (await link.trouble(AbortSignal.any([...signals]))) ?? fault;
    this.#reported.add(reported);
    return reported;
  }

  async #tls(signal: AbortSignal): Promise<TlsMaterial | undefined> {
    const { tls, url } = this.address;
    if (!tls) return url.startsWith('https://') ? { verify: true } : undefined;
    const read = async (name: string) => {
      const content = await this.host.files.read(`${tls.folder}/${name}`, { signal, limitBytes: 1024 * 1024 });
      return content && Buffer.from(content);
    };
    const [ca, cert, key] = await Promise.all([read('ca.pem'), read('cert.pem'), read('key.pem')]);
    return { verify: tls.verify, ca, cert, key };
  }
}

interface TlsMaterial extends Partial<Record<'ca' | 'cert' | 'key', Buffer>> {
  verify: boolean;
}

/** dockerode's modem reads DOCKER_HOST even if all options are set, and throws when it is invalid. `find-engines.ts` has read it. */
function withoutEngineEnvironment<T>(make: () => T): T {
  const { DOCKER_HOST } = process.env;
  delete process.env.DOCKER_HOST;
  try {
    return make();
  } finally {
    if (DOCKER_HOST !== undefined) process.env.DOCKER_HOST = DOCKER_HOST;
  }
}

function dialAddressOf({ url, tls }: EngineAddress): DialAddress {
  if (url.startsWith('unix://')) return { socket: url.slice('unix://'.length) };
  const { hostname, port, protocol } = new URL(url);
  const usual = protocol === 'https:' ? 443 : protocol === 'http:' ? 80 : tls ? 2376 : 2375;
  return { host: hostname.replace(/^\[|\]$/g, ''), port: port ? Number(port) : usual };
}

/** One connection per request: on a local socket that costs a tenth of a millisecond, and none can become stale. */
class EngineAgent extends Agent {
  readonly #closing = new AbortController();

  constructor(
    private readonly host: Host,
    private readonly address: DialAddress,
    private readonly tls: TlsMaterial | undefined,
    private readonly how: { paced?: boolean } = {},
  ) {
    // Resolving the server's name costs 5 ms the first time, and TLS is not handled by this agent.
    super({ keepAlive: false, servername: '' } as AgentOptions);
  }

  override createConnection(options: ClientRequestArgs, callback?: (error: Error | null, stream: Duplex) => void): undefined {
    const signal = options.signal ? AbortSignal.any([options.signal, this.#closing.signal]) : this.#closing.signal;
    const done = callback as (error: Error | null, stream?: Duplex) => void;
    this.host
      .dial(this.address, signal, this.how)
      .then((socket) => (this.tls ? secured(socket, this.tls, this.address, signal) : socket))
      .then(
        (socket) => done(null, this.how.paced ? askingWithoutChunks(socket) : socket),
        (error: unknown) => done(error instanceof Error ? error : new Error(String(error))),
      );
  }

  override destroy(): void {
    this.#closing.abort();
    super.destroy();
  }

  /** For each request, the modem formats its options, with the agent and all sockets, for a debug log that is never read. */
  [inspect.custom](): string {
    return 'EngineAgent';
  }
}

/**
 * HTTP/1.0, so that the response is not chunked: engines put every log line into its own chunk, and parsing chunks is half of all work on
 * a line. An interrupted response looks complete: use it only for responses without an end of their own.
 */
function askingWithoutChunks(connection: Duplex): Duplex {
  const write = connection.write;
  connection.write = ((head: unknown, ...rest: unknown[]): boolean => {
    connection.write = write;
    const asked = typeof head === 'string' ? head.replace(' HTTP/1.1\r\n', ' HTTP/1.0\r\n') : head;
    return (write as (...given: unknown[]) => boolean).call(connection, asked, ...rest);
  }) as Duplex['write'];
  return connection;
}

function secured(socket: Duplex, { verify, ...material }: TlsMaterial, address: DialAddress, signal: AbortSignal): Promise<Duplex> {
  const host = 'host' in address ? address.host : 'localhost';
  const servername = /^[\d.]+$|:/.test(host) ? undefined : host;
  return greetOverTls({ socket, host, servername, ...material, rejectUnauthorized: verify }, signal);
}
