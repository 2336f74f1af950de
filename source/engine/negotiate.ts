import { Fault } from '../faults/fault.ts';
import { cleanLine } from '../text/clean.ts';
import { momentOf } from './container-detail.ts';
import type { EngineFacts, EngineKind } from './engine.ts';
import { rubbishFault, unlessRefused } from './engine-faults.ts';
import type { EngineLink } from './engine-link.ts';

const newestApiVersion = '1.52';
const pingLimitMs = 3_000;
const factsLimitMs = 8_000;

export interface Greeting {
  kind: EngineKind;
  apiVersion: string;
  /** Requests without a version are answered in this one too. */
  isOwnVersion: boolean;
  libpodVersion: string | undefined;
  server: string;
}

export interface EngineTraits extends EngineFacts {
  libpodVersion: string | undefined;
  /** Memory of the machine: a container with a limit not below it has no limit. 0 if unknown. */
  memoryBytes: number;
  /** False without cgroups (Docker rootless on cgroup v1): its figures do not describe the container then. */
  countsUsage: boolean;
}

interface InfoAnswer {
  ServerVersion?: string;
  OperatingSystem?: string;
  OSVersion?: string;
  MemTotal?: number;
  DockerRootDir?: string;
  CgroupDriver?: string;
  SecurityOptions?: string[] | null;
}

interface LibpodInfo {
  host?: {
    security?: { rootless?: boolean };
    distribution?: { distribution?: string; version?: string };
    memTotal?: number;
    cgroupManager?: string;
  };
  version?: { Version?: string };
  store?: { graphRoot?: string };
}

/** Docker 29 refuses versions before 1.44, Docker 20.10 those after 1.41. Throws `unreachable.engine` with the reason. */
export async function greet(link: EngineLink, signal: AbortSignal): Promise<Greeting> {
  await link.load(signal);
  const { headers, text } = await link.getText('/_ping', { signal, limitMs: pingLimitMs, bare: true }).catch((thrown: unknown) => {
    // A web server responds to a ping with 404; an engine never does.
    if (thrown instanceof Fault && (thrown.code === 'engine.notSupported' || thrown.code === 'engine.missing'))
      throw rubbishFault(link.address, 'it does not support GET /_ping', thrown);
    if (thrown instanceof Fault && thrown.code.startsWith('engine.'))
      throw new Fault('unreachable.engine', thrown.message, thrown.remedy, { cause: thrown });
    throw thrown;
  });
  const offered = one(headers['api-version']);
  if (!offered || !/^\d+\.\d+$/.test(offered))
    throw rubbishFault(link.address, text.trim() === 'OK' ? 'it reports no API version' : 'its response to a ping is not the expected one');
  const apiVersion = atLeast(offered, newestApiVersion) ? newestApiVersion : offered;
  link.speakVersion(apiVersion);

  const server = cleanLine(one(headers.server) ?? '');
  const libpodVersion = one(headers['libpod-api-version']) ?? /^Libpod\/(\S+)/.exec(server)?.[1];
  return { kind: libpodVersion ? 'podman' : 'docker', apiVersion, isOwnVersion: apiVersion === offered, libpodVersion, server };
}

export async function traitsOf(
  link: EngineLink,
  { kind, apiVersion, libpodVersion, server }: Greeting,
  signal: AbortSignal,
): Promise<EngineTraits> {
  const read = <T>(path: string) => unlessRefused(link.get<T>(path, { signal, limitMs: factsLimitMs, libpodVersion }));
  const own = libpodVersion ? podmanTraits(await read<LibpodInfo>('/libpod/info')) : await dockerTraits(read);
  return {
    ...own,
    kind,
    version: cleanLine(own.version ?? libpodVersion ?? /^\w+\/(\S+)/.exec(server)?.[1] ?? ''),
    apiVersion,
    operatingSystem: cleanLine(own.operatingSystem),
    rootFolder: own.rootFolder?.startsWith('/') ? own.rootFolder : undefined,
    libpodVersion,
  };
}

type OwnTraits = Omit<EngineTraits, 'kind' | 'version' | 'apiVersion' | 'libpodVersion'> & { version: string | undefined };

async function dockerTraits(read: <T>(path: string) => Promise<T | undefined>): Promise<OwnTraits> {
  const [info, bridge] = await Promise.all([read<InfoAnswer>('/info'), read<{ Created?: string }>('/networks/bridge')]);
  return {
    version: info?.ServerVersion,
    rootless: info?.SecurityOptions?.some((option) => /^name=rootless\b/.test(option)) ?? false,
    operatingSystem: systemName(info?.OperatingSystem, info?.OSVersion),
    rootFolder: info?.DockerRootDir,
    startedMs: momentOf(bridge?.Created),
    countsUsage: info?.CgroupDriver !== 'none',
    memoryBytes: info?.MemTotal ?? 0,
  };
}

/** Podman runs dpkg or rpm for each of these answers, a quarter of a second or more: one is enough. */
function podmanTraits(info: LibpodInfo | undefined): OwnTraits {
  return {
    version: info?.version?.Version,
    rootless: info?.host?.security?.rootless ?? false,
    operatingSystem: systemName(info?.host?.distribution?.distribution, info?.host?.distribution?.version),
    rootFolder: info?.store?.graphRoot,
    startedMs: undefined,
    countsUsage: info?.host?.cgroupManager !== 'none',
    memoryBytes: info?.host?.memTotal ?? 0,
  };
}

/** Podman reports `debian` and `12` separately. */
function systemName(system = '', version = ''): string {
  return version && !system.includes(version) ? `${system} ${version}` : system;
}

/** `1.9` is before `1.41`. */
export function atLeast(version: string, wanted: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [wantedMajor = 0, wantedMinor = 0] = wanted.split('.').map(Number);
  return major > wantedMajor || (major === wantedMajor && minor >= wantedMinor);
}

const one = (header: string | string[] | undefined): string | undefined => (Array.isArray(header) ? header[0] : header);
