import { posix } from 'node:path';
import { Fault } from '../faults/fault.ts';
import type { Host, HostFacts } from '../hosts/host.ts';
import { cleanLine } from '../text/clean.ts';
import { parseJson } from '../text/json-value.ts';
import type { EngineAddress } from './engine.ts';

/** Larger than any of these files; so much is read quickly from a remote host. */
const usualBytes = 64 * 1024;
const configLimitBytes = 1024 * 1024;

/**
 * Like their own CLIs: DOCKER_HOST, DOCKER_CONTEXT, Docker's current context or CONTAINER_HOST exclude the others. Otherwise every existing
 * socket counts, Docker's first, and several paths to the same socket once.
 * @throws Fault `unreachable.noEngine` if there is none, `config.docker*` if the choice is invalid, `unreachable.remoteEngine` for ssh.
 */
export async function findEngines(host: Host, signal: AbortSignal): Promise<EngineAddress[]> {
  const facts = await host.facts(signal);
  const podman = facts.env.CONTAINER_HOST ? addressOf(facts.env.CONTAINER_HOST, 'CONTAINER_HOST') : undefined;
  const identified = async (address: EngineAddress) => ({ address, identity: await identityOf(host, address, signal) });
  const usual = facts.env.DOCKER_HOST ? [] : usualSockets(facts, podman !== undefined);
  // At once: on a remote host, each of them costs a round trip.
  const [docker, others, ofPodman] = await Promise.all([
    chosenDocker(host, facts, signal),
    Promise.all(usual.map(identified)),
    podman && identified(podman),
  ]);
  if (docker && !podman) return [docker];
  const ofDocker = docker ? [await identified(docker)] : others.filter(({ identity }) => identity !== undefined);
  const seen = new Set<string>();
  const addresses = [...ofDocker, ofPodman].flatMap((candidate) => {
    if (!candidate) return [];
    const { address, identity = address.url } = candidate;
    if (seen.has(identity)) return [];
    seen.add(identity);
    return [address];
  });
  if (addresses.length > 0) return addresses;
  const message = `No container engine was found on ${host.link ? cleanLine(host.name) : 'this host'}.`;
  const remedy = 'Install and start Docker or Podman, or set DOCKER_HOST. Use --verbose to list the locations searched.';
  const cause = new Error(`no socket at ${usual.map((address) => cleanLine(pathOf(address) ?? '')).join(', ')}`);
  throw new Fault('unreachable.noEngine', message, remedy, { cause });
}

/** Docker's, then Podman's. */
function usualSockets({ env, home, runtimeDir, uid, platform }: HostFacts, podmanChosen: boolean): EngineAddress[] {
  const runtime = runtimeDir ?? (uid !== undefined && platform !== 'darwin' ? `/run/user/${uid}` : undefined);
  const colima = env.COLIMA_HOME || `${home}/.colima`;
  const docker: [path: string | undefined, origin: string][] = [
    ['/var/run/docker.sock', 'default Docker socket'],
    [runtime && `${runtime}/docker.sock`, 'rootless Docker socket'],
    [`${home}/.docker/run/docker.sock`, 'Docker Desktop'],
    [`${home}/.docker/desktop/docker.sock`, 'Docker Desktop'],
    [`${colima}/default/docker.sock`, 'Colima'],
    [`${env.XDG_CONFIG_HOME || `${home}/.config`}/colima/default/docker.sock`, 'Colima'],
  ];
  const podman: typeof docker = [
    ['/run/podman/podman.sock', 'Podman socket'],
    [runtime && `${runtime}/podman/podman.sock`, 'rootless Podman socket'],
    [`${home}/.local/share/containers/podman/machine/podman.sock`, 'Podman machine'],
  ];
  return [...docker, ...(podmanChosen ? [] : podman)].flatMap(([path, origin]) => (path ? [{ url: `unix://${path}`, origin }] : []));
}

const pathOf = ({ url }: EngineAddress): string | undefined => /^unix:\/\/(.*)$/.exec(url)?.[1];

/** Returns the same text for several paths to one socket; undefined if there is none. */
async function identityOf(host: Host, address: EngineAddress, signal: AbortSignal): Promise<string | undefined> {
  const path = pathOf(address);
  // Root's folder is not readable for others: a socket that we cannot see is not usable either.
  const facts = path === undefined ? undefined : await host.files.facts(path, signal).catch(unlessAborted(signal));
  return facts?.kind === 'socket' ? `${facts.device}:${facts.inode}` : undefined;
}

async function chosenDocker(host: Host, facts: HostFacts, signal: AbortSignal): Promise<EngineAddress | undefined> {
  const { env, home } = facts;
  if (env.DOCKER_HOST) return tlsFromEnvironment(addressOf(env.DOCKER_HOST, 'DOCKER_HOST'), facts);
  const folder = env.DOCKER_CONFIG || `${home}/.docker`;
  const named = env.DOCKER_CONTEXT || (await currentContext(host, `${folder}/config.json`, signal));
  if (!named || named === 'default') return undefined;
  return contextAddress(host, folder, named, env.DOCKER_CONTEXT ? 'DOCKER_CONTEXT' : `${folder}/config.json`, signal);
}

/** The docker CLI uses certificates if DOCKER_TLS_VERIFY is set, from its own folder unless DOCKER_CERT_PATH names another. */
function tlsFromEnvironment(address: EngineAddress, { env, home }: HostFacts): EngineAddress {
  if (address.url.startsWith('unix://') || (!env.DOCKER_TLS_VERIFY && !env.DOCKER_CERT_PATH)) return address;
  const folder = env.DOCKER_CERT_PATH || env.DOCKER_CONFIG || `${home}/.docker`;
  return { ...address, tls: { folder, verify: Boolean(env.DOCKER_TLS_VERIFY) } };
}

async function currentContext(host: Host, path: string, signal: AbortSignal): Promise<string | undefined> {
  // An unreadable configuration is ignored; the docker CLI warns and continues too.
  const config = await readJson(host, path, signal).catch(unlessAborted(signal));
  const name = (config as { currentContext?: unknown } | undefined)?.currentContext;
  return typeof name === 'string' ? name : undefined;
}

async function contextAddress(host: Host, folder: string, name: string, source: string, signal: AbortSignal): Promise<EngineAddress> {
  const shown = cleanLine(name);
  // Imported on demand: only a chosen context requires it.
  const { createHash } = await import('node:crypto');
  const digest = createHash('sha256').update(name).digest('hex');
  const path = `${folder}/contexts/meta/${digest}/meta.json`;
  const read = await readJson(host, path, signal);
  const meta = read as { Endpoints?: { docker?: { Host?: string; SkipTLSVerify?: boolean } } } | undefined;
  // The variable takes precedence over docker context use.
  const choose = source === 'DOCKER_CONTEXT' ? 'Set another one, or unset DOCKER_CONTEXT.' : 'Choose another one: docker context use NAME';
  if (!meta) {
    const message = `Docker context "${shown}" from ${cleanLine(source)} does not exist.`;
    throw new Fault('config.dockerContext', message, `List the contexts: docker context ls. ${choose}`);
  }
  const endpoint = meta.Endpoints?.docker;
  if (!endpoint?.Host) {
    const message = `The Docker context "${shown}" has no Docker host.`;
    throw new Fault('config.dockerContext', message, choose, { where: { file: path } });
  }
  const address = addressOf(endpoint.Host, `context "${shown}"`);
  const tlsFolder = `${folder}/contexts/tls/${digest}/docker`;
  const hasTls = !address.url.startsWith('unix://') && (await host.files.list(tlsFolder, signal))?.length;
  return hasTls ? { ...address, tls: { folder: tlsFolder, verify: endpoint.SkipTLSVerify !== true } } : address;
}

function addressOf(text: string, origin: string): EngineAddress {
  const shown = cleanLine(text);
  const socket = /^unix:\/\/(.*)$/.exec(text)?.[1];
  if (socket !== undefined) {
    if (posix.isAbsolute(socket)) return { url: text, origin };
    throw misread(shown, origin, 'a socket requires an absolute path, such as unix:///var/run/docker.sock');
  }
  if (text.startsWith('ssh://')) {
    const remedy =
      'Add that host: quarterdeck hosts add NAME [user@]host. Here, use no address, or a forwarded socket: ssh -N -L /tmp/engine.sock:/var/run/docker.sock HOST';
    throw new Fault('unreachable.remoteEngine', `The address in ${origin} is for ssh (${shown}), which is not supported.`, remedy);
  }
  // `DOCKER_HOST=nas:2375` is TCP too.
  const withScheme = /^[a-z]+:\/\//.test(text) ? text : `tcp://${text}`;
  if (!/^(tcp|https?):\/\//.test(withScheme)) throw misread(shown, origin, 'it must begin with unix://, tcp:// or http://');
  // URL keeps the port of an address with an unknown scheme only under http.
  const parsed = URL.parse(withScheme.replace(/^tcp:/, 'http:'));
  if (!parsed?.hostname) throw misread(shown, origin, 'it must be tcp://HOST:PORT');
  return { url: withScheme, origin };
}

function misread(shown: string, origin: string, form: string): Fault {
  return new Fault('config.dockerHost', `The address in ${origin} is "${shown}", which is not one of an engine.`, `Correct it: ${form}.`);
}

async function readJson(host: Host, path: string, signal: AbortSignal): Promise<unknown> {
  let content = await host.files.read(path, { signal, limitBytes: usualBytes });
  if (content?.length === usualBytes) content = await host.files.read(path, { signal, limitBytes: configLimitBytes });
  if (!content) return undefined;
  try {
    return parseJson(new TextDecoder().decode(content));
  } catch (cause) {
    throw new Fault('config.dockerContext', `${path} is not valid JSON.`, 'Repair the file, or recreate the context.', {
      where: { file: path },
      cause,
    });
  }
}

function unlessAborted(signal: AbortSignal): (thrown: unknown) => undefined {
  return (thrown) => {
    if (signal.aborted) throw thrown;
    return undefined;
  };
}
