import { realpath } from 'node:fs/promises';
import { request } from 'node:http';
import { connect } from 'node:net';
import { basename, dirname, join, resolve, sep } from 'node:path';
import type { Duplex } from 'node:stream';
import { Fault } from '../faults/fault.ts';
import { parseJson } from '../text/json-value.ts';
import type { DialAddress, FileFacts, Host, HostFacts, HostFiles, Listener } from './host.ts';
import { localFiles } from './local-files.ts';
import { changeWithPracticeProgram, pipePracticeProgram, runPracticeProgram } from './practice-programs.ts';

/** An answer that a practice engine gives from memory. */
const answerLimitMs = 5_000;

/**
 * The machine that a practice stack pretends to run on. Its ports are sockets in the practice's folder, its files end at that folder, and it has hardly any
 * programs: nothing here ever reaches what is the operator's, or the network.
 *
 * @param folder of the practice: `engine.sock`, `ports/8200.sock`, and what else it keeps there
 */
export function openPracticeHost(folder: string): Host {
  const engine = join(folder, 'engine.sock');
  return {
    name: 'practice',
    kind: 'local',
    files: filesWithin(folder),
    exec: (argv, options) => runPracticeProgram(folder, argv, options),
    run: (grant, argv, options) => changeWithPracticeProgram(folder, grant, argv, options),
    stream: (argv, { signal, ...options }) => pipePracticeProgram(folder, { signal }, argv, options),
    pipe: (grant, argv, options) => pipePracticeProgram(folder, grant, argv, options),
    dial: (address, signal) => dialWithin(folder, address, signal),
    facts: async (signal) => {
      signal.throwIfAborted();
      return practiceFacts(folder);
    },
    listeners: (signal) => askListeners(engine, signal),
    close: async () => undefined,
  };
}

function practiceFacts(folder: string): HostFacts {
  return {
    hostname: 'practice',
    platform: 'linux',
    architecture: 'x64',
    cpus: 4,
    memoryBytes: 16_541_192_192,
    uid: 1000,
    home: join(folder, 'home'),
    runtimeDir: undefined,
    addresses: ['127.0.0.1', '::1', '192.168.1.10'],
    env: { KUBECONFIG: join(folder, 'kubeconfig') },
  };
}

const loopback = new Set(['127.0.0.1', '::1', 'localhost', '0.0.0.0', '::']);

function dialWithin(folder: string, address: DialAddress, signal: AbortSignal): Promise<Duplex> {
  const socket =
    'socket' in address
      ? within(folder, address.socket)
      : loopback.has(address.host)
        ? join(folder, 'ports', `${address.port}.sock`)
        : undefined;
  const where = 'socket' in address ? address.socket : `${address.host}:${address.port}`;
  const refusal = (code: string, cause?: unknown) =>
    new Fault({
      code: 'socket' in address ? 'unreachable.socket' : 'unreachable.port',
      message: `${where} cannot be reached: ${code === 'ENOENT' || code === 'ECONNREFUSED' ? 'the connection was refused: nothing listens there' : 'it is not part of the practice stack'}.`,
      remedy: 'Check that the practice component behind it runs.',
      cause: cause ?? Object.assign(new Error(code), { code }),
    });
  if (socket === undefined) return Promise.reject(refusal('EHOSTUNREACH'));
  return new Promise((fulfil, reject) => {
    signal.throwIfAborted();
    const connection = connect({ path: socket });
    const stop = () => {
      connection.destroy();
      reject(signal.reason);
    };
    signal.addEventListener('abort', stop, { once: true });
    connection.once('error', (cause: NodeJS.ErrnoException) => {
      signal.removeEventListener('abort', stop);
      // A port without a socket is one that nobody listens on.
      reject(refusal(cause.code ?? '', Object.assign(cause, 'port' in address && cause.code === 'ENOENT' ? { code: 'ECONNREFUSED' } : {})));
    });
    connection.once('connect', () => {
      signal.removeEventListener('abort', stop);
      connection.removeAllListeners('error');
      fulfil(connection);
    });
  });
}

/** The path where it lies in the folder, undefined elsewhere. */
function within(folder: string, path: string): string | undefined {
  const at = resolve(path);
  return at === folder || at.startsWith(folder + sep) ? at : undefined;
}

/** What components are given of this machine: its kernel can make tunnels, and it has no graphics card. */
const devices = new Set(['/dev/net/tun']);
const device: FileFacts = { kind: 'other', sizeBytes: 0, modifiedMs: 0, device: 0, inode: 0 };

/** What does not exist yet lies where the first folder above it that exists does. */
async function whereItWouldBe(path: string): Promise<string> {
  const above = dirname(path);
  return realpath(path).catch(async () => (above === path ? path : join(await whereItWouldBe(above), basename(path))));
}

/** What lies elsewhere is not there, behind a link neither; writing elsewhere is refused. */
function filesWithin(folder: string): HostFiles {
  // Whether the script that deploys is still alive, the kernel alone knows.
  const ofKernel = /^\/proc\/(?:(?:self|\d+)\/stat|sys\/kernel\/random\/boot_id)$/;
  const readable = async (path: string) => ofKernel.test(path) || (await inside(path));
  const inside = async (path: string): Promise<boolean> => {
    const at = within(folder, path);
    if (at === undefined) return false;
    const real = await realpath(folder).catch(() => folder);
    return within(real, await whereItWouldBe(at)) !== undefined;
  };
  const needInside = async (path: string): Promise<void> => {
    if (await inside(path)) return;
    throw new Fault({
      code: 'refused.practice',
      message: `${path} is outside of the practice stack, which keeps its files to itself.`,
      remedy: 'Write below its own home folder.',
    });
  };
  return {
    read: async (path, options) => ((await readable(path)) ? localFiles.read(path, options) : undefined),
    facts: async (path, signal) => (devices.has(path) ? device : (await readable(path)) ? localFiles.facts(path, signal) : undefined),
    list: async (path, signal) => ((await inside(path)) ? localFiles.list(path, signal) : undefined),
    write: async (grant, path, content, options) => {
      await needInside(path);
      return localFiles.write(grant, path, content, options);
    },
    makeFolder: async (grant, path, options) => {
      await needInside(path);
      return localFiles.makeFolder(grant, path, options);
    },
    remove: async (grant, path) => {
      await needInside(path);
      return localFiles.remove(grant, path);
    },
  };
}

function askListeners(socketPath: string, signal: AbortSignal): Promise<Listener[]> {
  return askEngine(socketPath, 'GET', '/practice/listeners', signal).then((text) =>
    (parseJson(text) as { address: string; port: number; protocol: 'tcp' | 'udp'; pid: number; name: string }[]).map(
      ({ address, port, protocol, pid, name }) => ({ address, port, protocol, process: { pid, name } }),
    ),
  );
}

/** Asks a practice engine what only it answers. Throws `unreachable.practice` and, where it refuses, `failed.practice` with its sentence. */
export function askEngine(socketPath: string, method: 'GET' | 'POST' | 'DELETE', path: string, signal: AbortSignal): Promise<string> {
  return new Promise((fulfil, reject) => {
    const asking = request(
      { socketPath, method, path, signal: AbortSignal.any([signal, AbortSignal.timeout(answerLimitMs)]) },
      (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.on('error', reject);
        answer.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          if ((answer.statusCode ?? 500) < 300) return fulfil(text);
          reject(
            new Fault({
              code: 'failed.practice',
              message: sentenceIn(text),
              remedy: 'quarterdeck practice incident lists what can be played.',
            }),
          );
        });
      },
    );
    asking.once('error', (cause) => {
      if (signal.aborted) return reject(signal.reason);
      reject(
        new Fault({
          code: 'unreachable.practice',
          message: 'The practice stack does not answer any more.',
          remedy: 'Start it again: quarterdeck practice serve',
          cause,
        }),
      );
    });
    asking.end();
  });
}

function sentenceIn(text: string): string {
  try {
    return String((parseJson(text) as { message?: unknown }).message ?? text);
  } catch {
    return text;
  }
}
