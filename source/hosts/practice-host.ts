import { realpath } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { basename, dirname, join, resolve, sep } from 'node:path';
import type { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { Fault } from '../faults/fault.ts';
import { parsedJson, parseJson } from '../text/json-value.ts';
import { isOwnAddress } from '../text/loopback.ts';
import { dialLocally } from './dial.ts';
import type { DialAddress, FileFacts, Host, HostFacts, HostFiles, Listener } from './host.ts';
import { localFiles } from './local-files.ts';
import { programsOf, sendToEngine } from './practice-programs.ts';

/** A response that a practice engine serves from memory. */
const answerLimitMs = 5_000;

/**
 * The machine that a practice stack simulates. Its ports are sockets in the practice folder, its files are limited to that folder, and it
 * has hardly any programs: nothing here ever reaches the operator's own files or the network.
 *
 * @param folder of the practice: contains `engine.sock`, `ports/8200.sock` and its other files
 */
export function openPracticeHost(folder: string): Host {
  const engine = join(folder, 'engine.sock');
  return {
    name: 'practice',
    kind: 'local',
    files: filesWithin(folder),
    ...programsOf(folder),
    dial: (address, signal) => dialWithin(folder, address, signal),
    facts: async (signal) => {
      signal.throwIfAborted();
      return practiceFacts(folder);
    },
    listeners: (signal) => queryListeners(engine, signal),
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

function dialWithin(folder: string, address: DialAddress, signal: AbortSignal): Promise<Duplex> {
  const socket =
    'socket' in address
      ? within(folder, address.socket)
      : isOwnAddress(address.host)
        ? join(folder, 'ports', `${address.port}.sock`)
        : undefined;
  const where = 'socket' in address ? address.socket : `${address.host}:${address.port}`;
  const refusal = (code: string, cause?: unknown) =>
    new Fault(
      'socket' in address ? 'unreachable.socket' : 'unreachable.port',
      `${where} cannot be reached: ${code === 'EHOSTUNREACH' ? 'it is not part of the practice stack' : 'connection refused, nothing is listening there'}.`,
      code === 'EHOSTUNREACH' ? 'Use an address of the practice stack.' : 'Check that the practice component is running.',
      { cause: cause ?? Object.assign(new Error(code), { code }) },
    );
  if (socket === undefined) return Promise.reject(refusal('EHOSTUNREACH'));
  return dialLocally({ socket }, signal, {
    // A port without a socket has no listener.
    failed: (cause) =>
      refusal(cause.code ?? '', Object.assign(cause, 'port' in address && cause.code === 'ENOENT' ? { code: 'ECONNREFUSED' } : {})),
  });
}

/** Returns the path if it is in the folder, undefined otherwise. */
function within(folder: string, path: string): string | undefined {
  const at = resolve(path);
  return at === folder || at.startsWith(folder + sep) ? at : undefined;
}

/** Features of this machine that components can use: its kernel can create tunnels, and it has no graphics card. */
const devices = new Set(['/dev/net/tun']);
const device: FileFacts = { kind: 'other', sizeBytes: 0, modifiedMs: 0, device: 0, inode: 0 };

/** Resolves links; a missing path is in its first existing parent folder. */
async function realPathOf(path: string): Promise<string> {
  const above = dirname(path);
  return realpath(path).catch(async () => (above === path ? path : join(await realPathOf(above), basename(path))));
}

/** A path outside the folder, also behind a link, counts as missing; writing to it is refused. */
function filesWithin(folder: string): HostFiles {
  // Only the kernel knows whether the apply script is still alive.
  const ofKernel = /^\/proc\/(?:(?:self|\d+)\/stat|sys\/kernel\/random\/boot_id)$/;
  const readable = async (path: string) => ofKernel.test(path) || (await inside(path));
  let real: string | undefined;
  const inside = async (path: string): Promise<boolean> => {
    const at = within(folder, path);
    if (at === undefined) return false;
    real ??= await realpath(folder).catch(() => undefined);
    return within(real ?? folder, await realPathOf(at)) !== undefined;
  };
  const requireInside = async (path: string): Promise<HostFiles> => {
    if (await inside(path)) return localFiles;
    const message = `${path} is outside the practice stack, which writes only to its own files.`;
    throw new Fault('refused.practice', message, 'Use a path in the home folder of the practice host.');
  };
  return {
    read: async (path, options) => ((await readable(path)) ? localFiles.read(path, options) : undefined),
    facts: async (path, signal) => (devices.has(path) ? device : (await readable(path)) ? localFiles.facts(path, signal) : undefined),
    list: async (path, signal) => ((await inside(path)) ? localFiles.list(path, signal) : undefined),
    write: async (grant, path, content, options) => (await requireInside(path)).write(grant, path, content, options),
    makeFolder: async (grant, path, options) => (await requireInside(path)).makeFolder(grant, path, options),
    remove: async (grant, path) => (await requireInside(path)).remove(grant, path),
  };
}

async function queryListeners(socketPath: string, signal: AbortSignal): Promise<Listener[]> {
  type Listening = { address: string; port: number; protocol: 'tcp' | 'udp'; pid: number; name: string };
  const listeners = parseJson(await queryEngine(socketPath, 'GET', '/practice/listeners', signal)) as Listening[];
  return listeners.map(({ pid, name, ...listener }) => ({ ...listener, process: { pid, name } }));
}

/** Queries a practice engine. Throws `unreachable.practice`, and `failed.practice` with the engine's message if it refuses. */
export async function queryEngine(socketPath: string, method: 'GET' | 'POST', path: string, signal: AbortSignal): Promise<string> {
  let answer: IncomingMessage;
  let body: string;
  try {
    answer = await sendToEngine({ socketPath, method, path, signal: AbortSignal.any([signal, AbortSignal.timeout(answerLimitMs)]) });
    body = await text(answer);
  } catch (cause) {
    signal.throwIfAborted();
    const remedy = 'Start the practice stack again: quarterdeck practice serve';
    throw new Fault('unreachable.practice', 'The practice stack no longer responds.', remedy, { cause });
  }
  if ((answer.statusCode ?? 500) < 300) return body;
  const { message = body } = (parsedJson(body) ?? {}) as { message?: unknown };
  throw new Fault('failed.practice', String(message), 'List the incidents: quarterdeck practice incident');
}
