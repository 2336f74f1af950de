import type { CatalogEntry } from '../catalog/catalog.ts';
import { interpolate, variablesIn } from '../catalog/interpolation.ts';

export interface ProjectService {
  name: string;
  image: string;
  networkMode: string;
  /** `variables`: those that stand in the host's side of it as written. */
  devices: readonly { host: string; variables: readonly string[] }[];
  /** `host`: absolute for a folder of the host, `volume` for one of the engine's. */
  mounts: readonly { host: string | undefined; volume: string | undefined; target: string; variables: readonly string[] }[];
  /** Services that must be healthy before it is started. */
  awaits: readonly string[];
}

/** A compose file with its values filled in, as far as preflight looks at it. */
export interface Project {
  services: readonly ProjectService[];
}

type Json = Readonly<Record<string, unknown>>;

/** Reads compose.yaml as it will be run from `folder`; without a text (nothing to change) what the catalog has. */
export async function readProject(
  text: string | undefined,
  values: Readonly<Record<string, string>>,
  folder: string,
  entry: CatalogEntry,
): Promise<Project> {
  if (text === undefined) return { services: entry.services.map((service) => ofCatalog(service, values, folder)) };
  const { composeDocument } = await import('./compose-document.ts');
  const services = map(map(composeDocument(text).value)['services']);
  return {
    services: Object.entries(services).map(([name, value]) => {
      const service = map(value);
      return {
        name,
        image: interpolate(words(service['image']), values),
        networkMode: interpolate(words(service['network_mode']), values),
        devices: list(service['devices']).map((device) => deviceOf(words(device), values)),
        mounts: list(service['volumes']).map((mount) => mountOf(mount, values, folder)),
        awaits: Object.entries(map(service['depends_on'])).flatMap(([needed, how]) =>
          words(map(how)['condition']) === 'service_healthy' ? [needed] : [],
        ),
      };
    }),
  };
}

function ofCatalog(service: CatalogEntry['services'][number], values: Readonly<Record<string, string>>, folder: string): ProjectService {
  return {
    name: service.name,
    image: service.image,
    networkMode: service.networkMode,
    devices: service.devices.map((device) => deviceOf(device, values)),
    mounts: service.mounts.map(({ source, target }) => mountOf(`${source}:${target}`, values, folder)),
    awaits: [],
  };
}

function deviceOf(written: string, values: Readonly<Record<string, string>>): ProjectService['devices'][number] {
  const [source = ''] = splitOutsideBraces(written);
  return { host: interpolate(source, values), variables: variablesIn(source).map(({ name }) => name) };
}

function mountOf(written: unknown, values: Readonly<Record<string, string>>, folder: string): ProjectService['mounts'][number] {
  const long = typeof written === 'object' && written !== null ? (written as Json) : undefined;
  const parts = long ? [words(long['source']), words(long['target'])] : splitOutsideBraces(words(written));
  const [source = '', target = ''] = parts.length === 1 ? ['', parts[0]] : parts;
  const at = interpolate(source, values);
  const isPath = /^[./~]/.test(at);
  return {
    host: isPath ? resolvePath(folder, at) : undefined,
    volume: isPath || at === '' ? undefined : at,
    target: interpolate(target, values),
    variables: variablesIn(source).map(({ name }) => name),
  };
}

/** Paths of the operated host, which is not this machine: its slashes, and no `~`, which compose leaves to the shell. */
function resolvePath(folder: string, path: string): string {
  const parts = path.startsWith('/') ? [] : folder.split('/');
  for (const part of path.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '.' && part !== '') parts.push(part);
  }
  return `/${parts.filter((part) => part !== '').join('/')}`;
}

/** Colons inside `${...}` separate nothing. */
function splitOutsideBraces(entry: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let start = 0;
  for (let at = 0; at < entry.length; at++) {
    if (entry[at] === '{') depth++;
    else if (entry[at] === '}') depth--;
    else if (entry[at] === ':' && depth === 0) {
      parts.push(entry.slice(start, at));
      start = at + 1;
    }
  }
  return [...parts, entry.slice(start)];
}

const map = (value: unknown): Json => (typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {});
const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
const words = (value: unknown): string => (typeof value === 'string' || typeof value === 'number' ? String(value) : '');
