import { posix } from 'node:path';
import { interpolate, variablesIn } from '../../catalog/interpolation.ts';
import { splitOutsideBraces } from '../../catalog/port-mapping.ts';
import { listOf, mapOf, objectOf, textOf } from '../../text/json-value.ts';
import type { Values } from '../model.ts';
import { topLevel } from '../plan/compose-document.ts';

export interface ProjectService {
  name: string;
  image: string;
  networkMode: string;
  /** `variables`: the variables in its host path as written. */
  devices: readonly { host: string; variables: readonly string[] }[];
  /** `host`: absolute for a folder of the host, `volume` for a volume of the engine. */
  mounts: readonly { host: string | undefined; volume: string | undefined; target: string; variables: readonly string[] }[];
  /** Services that must be healthy before it is started. */
  awaits: readonly string[];
}

/** Reads the services of compose.yaml with the values filled in, as they will run in `folder`. */
export function readProject(text: string, values: Values, folder: string): ProjectService[] {
  return Object.entries(mapOf(topLevel(text)['services'])).map(([name, value]) => {
    const service = mapOf(value);
    return {
      name,
      image: interpolate(textOf(service['image']), values),
      networkMode: interpolate(textOf(service['network_mode']), values),
      devices: listOf(service['devices']).map((device) => deviceOf(textOf(device), values)),
      mounts: listOf(service['volumes']).map((mount) => mountOf(mount, values, folder)),
      awaits: Object.entries(mapOf(service['depends_on'])).flatMap(([needed, how]) =>
        textOf(mapOf(how)['condition']) === 'service_healthy' ? [needed] : [],
      ),
    };
  });
}

function deviceOf(written: string, values: Values): ProjectService['devices'][number] {
  const [source = ''] = splitOutsideBraces(written);
  return { host: interpolate(source, values), variables: variablesIn(source).map(({ name }) => name) };
}

function mountOf(written: unknown, values: Values, folder: string): ProjectService['mounts'][number] {
  const long = objectOf(written);
  const parts = long ? [textOf(long['source']), textOf(long['target'])] : splitOutsideBraces(textOf(written));
  const [source = '', target = ''] = parts.length === 1 ? ['', parts[0]] : parts;
  const at = interpolate(source, values);
  const isPath = /^[./~]/.test(at);
  return {
    // A path of the operated host: with its slashes, and without `~`, which compose leaves to the shell.
    host: isPath ? posix.resolve('/', folder, at) : undefined,
    volume: isPath || at === '' ? undefined : at,
    target: interpolate(target, values),
    variables: variablesIn(source).map(({ name }) => name),
  };
}
