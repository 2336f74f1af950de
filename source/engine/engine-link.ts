import { Agent, type AgentOptions, type ClientRequestArgs, type IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { inspect } from 'node:util';
import type Docker from 'dockerode';
import { Fault } from '../faults/fault.ts';
import type { DialAddress, Host } from '../hosts/host.ts';
import { parseJson } from '../text/json-value.ts';
import type { EngineAddress } from './engine.ts';
import { brokenFault, hangingFault, requestFault, senselessFault } from './engine-faults.ts';
import { guardErrorBodies } from './error-bodies.ts';

/** For answers that an engine puts together from what it knows. */
const answerLimitMs = 20_000;
const answerLimitBytes = 256 * 1024 * 1024;

export interface EngineQuery {
  signal: AbortSignal;
  query?: Readonly<Record<string, string | number | boolean | undefined>>;
  /** Undefined is the usual limit for reading. */
  limitMs?: number;
  method?: 'GET' | 'POST';
  /** Without a version in the path. */
  bare?: boolean;
  /** The answer is a stream of many small pieces, which goes on for long. */
  paced?: boolean;
  /** For Podman's own API, `/libpod/...`: its version stands in the path instead. */
  libpodVersion?: string | undefined;
}

/**
 * The way to one engine: dockerode over connections that the host makes, so that one way serves local sockets, TCP, TLS, and whatever
 * another kind of host tunnels through.
 *
 * Reading goes through dockerode's modem as streams: dockerode's own collecting of answers never ends when the connection breaks in
 * the middle of one, and its non-following logs would be held in memory whole.
 */
export class EngineLink {
  readonly address: EngineAddress;
  readonly host: Host;
  #agent: EngineAgent | undefined;
  #pacedAgent: EngineAgent | undefined;
  #Dockerode: typeof Docker | undefined;
  #bare: Docker | undefined;
  #docker: Docker | undefined;
  #paced: Docker | undefined;
  /** Faults whose reason was asked for: a request of several parts passes one on. */
  readonly #told = new WeakSet<Fault>();

  constructor(address: EngineAddress, host: Host) {
    this.address = host.link ? { ...address, machine: host.name } : address;
    this.host = host;
  }

  /** dockerode is loaded with the first engine, not with the program. */
  async load(signal: AbortSignal): Promise<void> {
    if (this.#bare) return;
    const [{ default: Dockerode }, tls] = await Promise.all([import('dockerode'), this.#tls(signal)]);
    signal.throwIfAborted();
    this.#Dockerode = Dockerode;
    this.#agent ??= new EngineAgent(this.host, dialAddressOf(this.address), tls);
    this.#pacedAgent ??= new EngineAgent(this.host, dialAddressOf(this.address), tls, { paced: true });
    this.#bare = this.#make(undefined, this.#agent);
  }

  /** From now on requests carry this version. */
  speakVersion(apiVersion: string): void {
    this.#docker = this.#make(apiVersion, this.#agent);
    this.#paced = this.#make(apiVersion, this.#pacedAgent);
  }

  #make(apiVersion: string | undefined, agent: EngineAgent | undefined): Docker {
    const Dockerode = this.#Dockerode;
    if (!Dockerode || !agent) throw brokenFault(this.address);
    const options = {
      // Never dialled: the agent makes the connections. It keeps the modem from looking for an engine of its own.
      socketPath: '/engine',
      protocol: 'http',
      agent,
      version: apiVersion === undefined ? undefined : `v${apiVersion}`,
      headers: this.address.url.startsWith('unix://') ? {} : { Host: new URL(this.address.url).host },
    };
    return guardErrorBodies(withoutEngineEnvironment(() => new Dockerode(options as unknown as Docker.DockerOptions)));
  }

  get docker(): Docker {
    if (!this.#docker) throw brokenFault(this.address);
    return this.#docker;
  }

  close(): void {
    this.#agent?.destroy();
    this.#pacedAgent?.destroy();
    this.#agent = undefined;
    this.#pacedAgent = undefined;
    this.#bare = undefined;
    this.#docker = undefined;
    this.#paced = undefined;
  }

  /** An answer as it streams in, to be read to its end or destroyed. The limit is for the head of the answer; the signal for all of it. */
  async open(
    path: string,
    { signal, query = {}, limitMs = answerLimitMs, bare = false, paced = false, method = 'GET', libpodVersion }: EngineQuery,
  ): Promise<IncomingMessage> {
    const docker = bare || libpodVersion ? this.#bare : paced ? this.#paced : this.docker;
    if (!docker) throw brokenFault(this.address);
    signal.throwIfAborted();
    const ending = new AbortController();
    const forward = () => ending.abort(signal.reason);
    signal.addEventListener('abort', forward, { once: true });
    const timer = setTimeout(() => ending.abort(hangingFault(this.address, limitMs)), limitMs);
    try {
      const answer = await raced(ending.signal, (resolve: (answer: IncomingMessage) => void, reject) => {
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
      });
      answer.once('close', () => signal.removeEventListener('abort', forward));
      return answer;
    } catch (thrown) {
      signal.removeEventListener('abort', forward);
      throw await this.faultOf(thrown, signal, ending.signal);
    } finally {
      clearTimeout(timer);
    }
  }

  /** The JSON answer, read whole. */
  async get<T>(path: string, query: EngineQuery): Promise<T> {
    const { text } = await this.getText(path, query);
    try {
      return parseJson(text) as T;
    } catch (cause) {
      throw senselessFault(this.address, `its answer to ${query.method ?? 'GET'} ${path}`, { cause });
    }
  }

  async getText(path: string, query: EngineQuery): Promise<{ headers: IncomingMessage['headers']; text: string }> {
    return this.limited(query.signal, query.limitMs ?? answerLimitMs, async (signal) => {
      const answer = await this.open(path, { ...query, signal });
      return { headers: answer.headers, text: await this.#whole(answer) };
    });
  }

  /** Does not wait for the connection to be closed, which takes as long as many an answer. */
  #whole(answer: IncomingMessage): Promise<string> {
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      let sizeBytes = 0;
      answer.on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        sizeBytes += chunk.length;
        if (sizeBytes <= answerLimitBytes) return;
        reject(senselessFault(this.address, `an answer of more than ${answerLimitBytes / 1024 / 1024} MiB`));
        answer.destroy();
      });
      answer.once('end', () => resolve(Buffer.concat(chunks).toString('utf8')));
      answer.once('error', reject);
      answer.once('close', () => answer.readableEnded || reject(brokenFault(this.address)));
    });
  }

  /** Runs a request under the signal and a limit, and turns what it throws into a Fault. */
  async limited<T>(signal: AbortSignal, limitMs: number | undefined, run: (signal: AbortSignal) => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    const ending = new AbortController();
    const forward = () => ending.abort(signal.reason);
    signal.addEventListener('abort', forward, { once: true });
    const timer = limitMs === undefined ? undefined : setTimeout(() => ending.abort(hangingFault(this.address, limitMs)), limitMs);
    try {
      return await raced(ending.signal, (resolve: (value: T) => void, reject) => run(ending.signal).then(resolve, reject));
    } catch (thrown) {
      throw await this.faultOf(thrown, signal, ending.signal);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', forward);
    }
  }

  /**
   * What a request or a stream threw: the reason of a signal that ended it, or a Fault. Where the way to the machine is gone, that is the reason: the machine is
   * asked, since it is known there a moment later than here.
   */
  async faultOf(thrown: unknown, ...signals: readonly AbortSignal[]): Promise<unknown> {
    const ended = signals.find((signal) => signal.aborted);
    if (ended) return ended.reason;
    const { link } = this.host;
    if (thrown instanceof Fault && this.#told.has(thrown)) return thrown;
    const fault = requestFault(this.address, thrown);
    if (!link || fault.kind !== 'unreachable') return fault;
    const told = (await link.trouble(AbortSignal.any([...signals]))) ?? fault;
    this.#told.add(told);
    return told;
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

interface TlsMaterial {
  verify: boolean;
  ca?: Buffer | undefined;
  cert?: Buffer | undefined;
  key?: Buffer | undefined;
}

/**
 * dockerode's modem reads DOCKER_HOST and friends even when it is told everything, and throws when they are wrong. They were read by
 * `find-engines.ts`, and an engine that is opened by address has nothing to do with them.
 */
function withoutEngineEnvironment<T>(make: () => T): T {
  const { DOCKER_HOST } = process.env;
  delete process.env.DOCKER_HOST;
  try {
    return make();
  } finally {
    if (DOCKER_HOST !== undefined) process.env.DOCKER_HOST = DOCKER_HOST;
  }
}

/** A promise that does not wait for `start` once the signal has ended. */
function raced<T>(signal: AbortSignal, start: (resolve: (value: T) => void, reject: (reason: unknown) => void) => void): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const stop = () => reject(signal.reason);
    if (signal.aborted) return stop();
    signal.addEventListener('abort', stop, { once: true });
    start(resolve, reject);
  });
}

function dialAddressOf({ url, tls }: EngineAddress): DialAddress {
  if (url.startsWith('unix://')) return { socket: url.slice('unix://'.length) };
  const { hostname, port, protocol } = new URL(url);
  const usual = protocol === 'https:' ? 443 : protocol === 'http:' ? 80 : tls ? 2376 : 2375;
  return { host: hostname.replace(/^\[|\]$/g, ''), port: port ? Number(port) : usual };
}

/** A connection per request: on a local socket that costs a tenth of a millisecond, and none can go stale. */
class EngineAgent extends Agent {
  readonly #host: Host;
  readonly #address: DialAddress;
  readonly #tls: TlsMaterial | undefined;
  readonly #how: { paced?: boolean };
  readonly #closing = new AbortController();

  constructor(host: Host, address: DialAddress, tls: TlsMaterial | undefined, how: { paced?: boolean } = {}) {
    // Finding the server's name out costs 5 ms the first time, and TLS is none of this agent's business.
    super({ keepAlive: false, servername: '' } as AgentOptions);
    this.#how = how;
    this.#host = host;
    this.#address = address;
    this.#tls = tls;
  }

  override createConnection(options: ClientRequestArgs, callback?: (error: Error | null, stream: Duplex) => void): undefined {
    const signal = options.signal ? AbortSignal.any([options.signal, this.#closing.signal]) : this.#closing.signal;
    const done = callback as (error: Error | null, stream?: Duplex) => void;
    this.#host
      .dial(this.#address, signal, this.#how)
      .then((socket) => (this.#tls ? secured(socket, this.#tls, this.#address, signal) : socket))
      .then(
        (socket) => done(null, this.#how.paced ? askingWithoutChunks(socket) : socket),
        (error: unknown) => done(error instanceof Error ? error : new Error(String(error))),
      );
  }

  override destroy(): void {
    this.#closing.abort();
    super.destroy();
  }

  /** The modem formats its options, agent and all sockets included, for a debug log that nobody reads: for each request. */
  [inspect.custom](): string {
    return 'EngineAgent';
  }
}

/**
 * The request says HTTP/1.0, so that the answer comes as it is and ends with the connection. Otherwise engines put every line of a log into a chunk of its own,
 * and taking them apart again is half of all work with a line. An answer that breaks off ends like any other: not for what has an end of its own.
 */
function askingWithoutChunks(connection: Duplex): Duplex {
  const write = connection.write;
  // The head of a request is one string, the first that is written.
  connection.write = ((head: unknown, ...rest: unknown[]): boolean => {
    connection.write = write;
    const asked = typeof head === 'string' ? head.replace(' HTTP/1.1\r\n', ' HTTP/1.0\r\n') : head;
    return (write as (...given: unknown[]) => boolean).call(connection, asked, ...rest);
  }) as Duplex['write'];
  return connection;
}

async function secured(socket: Duplex, { verify, ca, cert, key }: TlsMaterial, address: DialAddress, signal: AbortSignal): Promise<Duplex> {
  const { connect: connectTls } = await import('node:tls');
  return new Promise((resolve, reject) => {
    const host = 'host' in address ? address.host : 'localhost';
    const secure = connectTls({
      socket,
      host,
      servername: /^[\d.]+$|:/.test(host) ? undefined : host,
      ca,
      cert,
      key,
      rejectUnauthorized: verify,
    });
    const fail = (error: Error) => {
      signal.removeEventListener('abort', onAbort);
      secure.destroy();
      reject(error);
    };
    const onAbort = () => fail(signal.reason instanceof Error ? signal.reason : new Error('aborted'));
    signal.addEventListener('abort', onAbort, { once: true });
    secure.once('error', fail);
    secure.once('secureConnect', () => {
      signal.removeEventListener('abort', onAbort);
      secure.off('error', fail);
      resolve(secure);
    });
  });
}
