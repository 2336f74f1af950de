import { type JsonObject, objectOf } from '../text/json-value.ts';
import { shownValue } from '../text/shown-value.ts';
import type { YamlPath } from '../yaml/document.ts';
import type { RuleFinding } from './draft.ts';

/*
 * docker-compose 1.29.2 (its compose/config/compose_spec.json) refuses the whole file for these parts of the specification, and
 * podman-compose 1.0.3 ignores them.
 */

export const python = 'docker-compose 1.29';
const refused = `${python} rejects the whole file because it`;
export const podman = 'podman-compose 1.0.3';
const newer = 'Remove it, or use Docker Compose 2 or later on all hosts.';

const words = (text: string): ReadonlySet<string> => new Set(text.split(' '));

/** Keys unknown to 1.29, by position. */
const newerKeys: readonly (readonly [string, ReadonlySet<string>])[] = Object.entries({
  '*': 'name include models',
  'services.*.*':
    'annotations attach cgroup develop gpus label_file models post_start pre_stop provider pull_refresh_after use_api_socket uts',
  'services.*.ports.*.*': 'app_protocol host_ip name',
  'services.*.volumes.*.*': 'image',
  'services.*.volumes.*.bind.*': 'create_host_path recursive selinux',
  'services.*.volumes.*.tmpfs.*': 'mode',
  'services.*.volumes.*.volume.*': 'labels subpath',
  'services.*.depends_on.*.*': 'required restart',
  'services.*.healthcheck.*': 'start_interval',
  'services.*.networks.*.*': 'driver_opts gw_priority interface_name mac_address',
  'services.*.deploy.resources.limits.*': 'pids',
  'networks.*.*': 'enable_ipv4',
  'secrets.*.*': 'environment',
  'configs.*.*': 'content environment',
}).map(([pattern, keys]) => [pattern, words(keys)]);

const isNull = (value: unknown) => value === null;
const isMap = (value: unknown): value is JsonObject => objectOf(value) !== undefined;
const isTruth = (value: unknown) => /^(?:true|false|yes|no|on|off|y|n|)$/i.test(String(value));

/** Values that it refuses, by position. */
const newerValues: readonly (readonly [string, (value: unknown) => boolean])[] = [
  ['services.*.command', isNull],
  ['services.*.entrypoint', isNull],
  ['services.*.devices.*', isMap],
  ['services.*.env_file.*', isMap],
  ['services.*.extra_hosts.*', Array.isArray],
  ['services.*.sysctls.*', (value) => typeof value === 'boolean'],
  ['services.*.ports.*.published', (value) => !/^\s*\d*\s*$/.test(String(value))],
  ['services.*.pull_policy', (value) => !words('always never if_not_present build').has(String(value))],
  ...['networks', 'volumes', 'secrets', 'configs'].map(
    (kind) => [`${kind}.*.external`, (value: unknown) => !isMap(value) && !isTruth(value)] as const,
  ),
];

/** Maps in which it also refuses custom keys. */
const withoutExtensions = ['services.*.depends_on.*.*', 'services.*.blkio_config.*'];

/** Service keys that podman-compose ignores silently, although their effect is then missing. */
const leftOutByPodman = words(
  'configs cpuset device_cgroup_rules dns dns_opt dns_search domainname gpus group_add ipc label_file mac_address pid pids_limit platform ' +
    'post_start pre_stop runtime stop_grace_period storage_opt use_api_socket userns_mode uts volumes_from',
);

const remedies: readonly (readonly [string, string])[] = [
  ['services.*.ports.*.host_ip', 'Use the short form: "${WEB_BIND:-127.0.0.1}:${WEB_PORT:-8080}:80".'],
  ['services.*.develop', 'Remove develop, because images are not built.'],
  ['name', 'Remove name, because the project is named after the component.'],
  ['services.*.deploy.resources.reservations.devices', 'Add the device under devices, or use another compose program on all hosts.'],
  ['services.*.env_file.*', 'Use only the path: ./files/NAME.'],
  ['services.*.pull_policy', 'Use always, never or if_not_present.'],
  ['services.*.command', 'Remove the line, or set a value.'],
  ['services.*.entrypoint', 'Remove the line, or set a value.'],
];

type OlderFinding = Required<Pick<RuleFinding, 'path' | 'part' | 'message' | 'remedy'>>;

/** The content of unknown keys is not checked. Variables are filled in. */
// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: one branch for each table, and their order decides
export function* olderFindings(value: unknown, path: YamlPath = []): Generator<OlderFinding> {
  if (typeof value !== 'object' || value === null) return;
  const entries: [PropertyKey, unknown][] = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  for (const [key, inner] of entries) {
    const at = [...path, key];
    const remedy = firstFitting(remedies, at) ?? newer;
    const byPodman = podmanSays(at, inner);
    if (String(key).startsWith('x-')) {
      if (withoutExtensions.some((pattern) => fits(pattern, at)))
        yield { path: at, part: 'key', message: `${refused} does not support ${String(key)} here.`, remedy };
    } else if (firstFitting(newerKeys, at)?.has(String(key)) === true) {
      const also = byPodman === undefined ? '' : `, and ${byPodman}`;
      const message = `${refused} does not support "${String(key)}" here${also}.`;
      if (key !== 'include') yield { path: at, part: 'key', message, remedy };
    } else if (firstFitting(newerValues, at)?.(inner) === true) {
      const also = fits('services.*.env_file.*', at) ? `, and ${podman} fails` : '';
      yield { path: at, part: 'value', message: `${refused} does not allow ${kindOf(inner)} here${also}.`, remedy };
    } else {
      if (byPodman !== undefined) yield { path: at, part: 'key', message: `${byPodman}.`, remedy };
      yield* olderFindings(inner, at);
    }
  }
}

function podmanSays(path: YamlPath, value: unknown): string | undefined {
  const key = String(path.at(-1));
  if (fits('services.*.*', path) && leftOutByPodman.has(key)) return `${podman} ignores ${key}`;
  if (fits('services.*.volumes.*.volume.subpath', path)) return `${podman} ignores subpath and mounts the whole volume`;
  if (fits('services.*.volumes.*.type', path) && value === 'image') return `${podman} does not support mounts of type image and fails`;
  if (fits('services.*.deploy.resources.reservations.devices', path)) return `${podman} ignores device reservations`;
  // We write it this way because it accepts no other form.
  if (fits('services.*.networks.*.*', path) && key !== 'aliases') return `podman-compose receives only the network name, without ${key}`;
  return undefined;
}

function firstFitting<T>(table: readonly (readonly [string, T])[], path: YamlPath): T | undefined {
  return table.find(([pattern]) => fits(pattern, path))?.[1];
}

function fits(pattern: string, path: YamlPath): boolean {
  const steps = pattern.split('.');
  return steps.length === path.length && steps.every((step, index) => step === '*' || step === path[index]);
}

function kindOf(value: unknown): string {
  if (value === null) return 'an empty value';
  if (Array.isArray(value)) return 'a list';
  return isMap(value) ? 'a map' : shownValue(value);
}
