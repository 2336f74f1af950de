import { parseImage } from '../../catalog/images.ts';
import { interpolateAll, variablesIn } from '../../catalog/interpolation.ts';
import type { ContainerFacts } from '../../engine/engine.ts';
import type { FileChange, ImagePin, PlannedSecret, PlannedService, Values } from '../model.ts';
import { isMounted, mountSources, readServices, type Service } from './compose-document.ts';
import { secretFilesOf } from './compose-editor.ts';
import { readEnv } from './env-file.ts';
import type { PlanRequest } from './plan.ts';
import { listOf } from './render.ts';

/** Empty if the container belongs to no compose project. */
export function projectOf({ labels }: Pick<ContainerFacts, 'labels'>): string {
  return labels['com.docker.compose.project'] ?? labels['io.podman.compose.project'] ?? '';
}

export function serviceOf({ labels, name }: Pick<ContainerFacts, 'labels' | 'name'>): string {
  return labels['com.docker.compose.service'] ?? labels['io.podman.compose.service'] ?? name;
}

interface Rendered {
  compose: string;
  values: Values;
  files: readonly FileChange[];
  secrets: readonly PlannedSecret[];
}

/** Returns what compose will do with each service, and why. The main service first, then in the order of the file. */
export function planServices(request: PlanRequest & Rendered): PlannedService[] {
  const { entry, deployment, compose, values } = request;
  const next = readServices(compose);
  const previous = deployment ? readServices(deployment.compose) : {};
  const running = new Map(request.containers.filter((one) => projectOf(one) === entry.id).map((one) => [serviceOf(one), one]));
  const profiles = listOf(values['COMPOSE_PROFILES'] ?? '');
  const planned: PlannedService[] = [];
  for (const [name, service] of Object.entries(next)) {
    const container = running.get(name);
    const wanted = isActive(service, profiles);
    if (!wanted && !container) continue;
    const image = String(interpolateAll(service['image'] ?? '', values));
    const there = request.images?.get(image);
    const before = container && pinOf(container, request, name);
    const [change, why] = wanted
      ? changeOf(name, service, previous[name], container, request)
      : (['remove', 'its profile is no longer selected'] as const);
    planned.push({ name, image, before, change, why, present: request.images === undefined ? undefined : there !== undefined });
  }
  for (const [name, container] of running) {
    if (next[name] !== undefined) continue;
    const why = 'it is no longer in the compose file';
    planned.push({ name, image: container.image, before: pinOf(container, request, name), change: 'remove', why, present: true });
  }
  const main = entry.services.find((service) => service.main)?.name;
  return planned.sort((a, b) => Number(b.name === main) - Number(a.name === main));
}

function isActive(service: Service, profiles: readonly string[]): boolean {
  const own = Array.isArray(service['profiles']) ? service['profiles'].map(String) : [];
  return own.length === 0 || own.some((profile) => profiles.includes(profile) || profiles.includes('*'));
}

function pinOf(container: ContainerFacts, { deployment, images }: PlanRequest, service: string): ImagePin {
  const recorded = deployment?.record?.images[service];
  if (recorded?.id === container.imageId) return recorded;
  const digest = [...(images ?? [])].find(([, image]) => image.id === container.imageId)?.[1].digest;
  return { reference: container.image, id: container.imageId, ...(digest !== undefined && { digest }) };
}

function changeOf(
  name: string,
  service: Service,
  previous: Service | undefined,
  container: ContainerFacts | undefined,
  request: PlanRequest & Rendered,
): readonly [PlannedService['change'], string] {
  if (!container) return ['create', 'it does not exist yet'];
  const { deployment, compose, values, newer, rotated, secrets, images, files, entry } = request;
  if (newer?.has(name)) return ['recreate', 'its image is pulled again'];
  if (!deployment || previous === undefined) return ['recreate', 'it was created from another compose file'];
  const before = readEnv(deployment.envText).values;
  const differing = differences(previous, service, before, values);
  if (differing.length > 0) return ['recreate', reasonOf(differing)];
  // If podman-compose reads secrets from a file, the service itself does not name them.
  const apart = secretFilesOf(compose)[name] ?? {};
  if (JSON.stringify(apart) !== JSON.stringify(secretFilesOf(deployment.compose)[name] ?? {}))
    return ['recreate', 'its environment changes'];
  const used = new Set(variablesIn(JSON.stringify([service, apart])).map((variable) => variable.name));
  const fresh = secrets.find(
    ({ variable, what }) => used.has(variable) && (rotated?.has(variable) || what === 'generate' || what === 'given'),
  );
  if (fresh) return ['recreate', `its secret ${fresh.label} changes`];
  const image = String(interpolateAll(service['image'] ?? '', values));
  const present = images?.get(image);
  if (present && present.id !== container.imageId && parseImage(image) !== undefined) return ['recreate', `${image} has changed`];
  const mounted = files.find(
    ({ path, before: old, after }) =>
      old !== after && old !== undefined && isMounted(path.slice(entry.id.length + 1), mountSources(service['volumes'])),
  );
  if (mounted) return ['restart', `${mounted.path} changes`];
  if (container.state !== 'running' && container.state !== 'exited') return ['restart', `it is ${container.state}`];
  return ['keep', 'unchanged'];
}

function differences(one: Service, other: Service, before: Values, after: Values): string[] {
  const keys = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...keys].filter((key) => JSON.stringify(interpolateAll(one[key], before)) !== JSON.stringify(interpolateAll(other[key], after)));
}

const words: Readonly<Record<string, string>> = {
  image: 'its image changes',
  environment: 'its environment changes',
  env_file: 'its environment changes',
  ports: 'its ports change',
  volumes: 'its volumes change',
  networks: 'its networks change',
  command: 'its command changes',
  devices: 'its devices change',
};

function reasonOf(keys: readonly string[]): string {
  const [first = ''] = keys;
  return keys.length === 1 ? (words[first] ?? `${first} changes`) : `changed: ${keys.join(', ')}`;
}
