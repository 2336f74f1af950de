import { posix } from 'node:path';
import type { YamlPath } from '../config/yaml-document.ts';
import { type JsonObject, objectOf } from '../text/json-value.ts';
import { nameRemedy, nearRemedy } from '../text/nearest-name.ts';
import { circlesOf } from './component-circles.ts';
import { type Draft, inCompose, type RuleFinding, servicesOf } from './draft.ts';
import { interpolate } from './interpolation.ts';

/*
 * What compose.yaml names inside itself, and beside itself. Compose refuses the file otherwise, or fails while it starts, and then in front of somebody who deploys.
 */

const asMap = (value: unknown): JsonObject => objectOf(value) ?? {};
const asList = (value: unknown): unknown[] => (Array.isArray(value) ? value : value === undefined || value === null ? [] : [value]);

export function* checkCompose(draft: Draft): Generator<RuleFinding> {
  const file = asMap(draft.composeDocument?.value);
  yield* circles(draft);
  yield* readElsewhere(draft);
  yield* resources(draft, file);
  for (const service of servicesOf(draft)) {
    const path = ['services', service.name];
    const value = asMap(asMap(file['services'])[service.name]);
    yield* conditions(value['depends_on'], [...path, 'depends_on']);
    yield* mounts(draft, service.name);
    yield* neighbours(draft, value, path);
  }
  yield* besides(draft, file);
}

/** The first docker-compose and podman-compose read YAML 1.1: they refuse `MODE: on`, and publish port 1342 for `22:22`. */
function* readElsewhere({ composeDocument, own }: Draft): Generator<RuleFinding> {
  for (const { path } of composeDocument?.scalars() ?? []) {
    const scalar = path[0] === 'services' ? composeDocument?.scalar(path) : undefined;
    if (scalar?.elsewhere !== true) continue;
    yield {
      ...inCompose(
        path,
        `"${scalar.written}" is text for docker compose, and something else for compose programs in Python.`,
        `Put it into quotes: "${scalar.written}".`,
      ),
      // With a newer program on every host it does no harm.
      level: own ? 'warning' : 'error',
    };
  }
}

const conditionNames = ['service_started', 'service_healthy', 'service_completed_successfully'];

function* conditions(value: unknown, path: YamlPath): Generator<RuleFinding> {
  for (const [name, one] of Object.entries(asMap(value))) {
    const { condition } = asMap(one);
    if (condition === undefined || conditionNames.includes(String(condition))) continue;
    yield inCompose(
      [...path, name, 'condition'],
      `There is no condition "${String(condition)}".`,
      nameRemedy(String(condition), conditionNames, ''),
    );
  }
}

/** Of services that wait for each other, or live in each other's network. */
function* circles(draft: Draft): Generator<RuleFinding> {
  const services = new Map(servicesOf(draft).map((service) => [service.name, service]));
  const needs = (name: string) => {
    const service = services.get(name);
    const host = /^service:(.*)$/.exec(service?.networkMode ?? '')?.[1];
    return [...(service?.dependsOn ?? []), ...(host === undefined ? [] : [host])];
  };
  for (const circle of circlesOf(services.keys(), needs)) {
    const [first = ''] = circle;
    yield inCompose(
      ['services', first, 'depends_on'],
      circle.length === 1 ? `"${first}" waits for itself.` : `Services wait for each other: ${[...circle, first].join(', ')}.`,
      'Take one of them out of depends_on.',
      'key',
    );
  }
}

const mountTypes = ['bind', 'volume', 'tmpfs', 'npipe', 'cluster', 'image'];

function* mounts({ compose, composeDocument }: Draft, name: string): Generator<RuleFinding> {
  const seen = new Set<string>();
  for (const { target, path } of compose?.services.get(name)?.mounts ?? []) {
    const type = composeDocument?.scalar([...path, 'type'])?.value;
    if (type !== undefined && !mountTypes.includes(String(type)))
      yield inCompose([...path, 'type'], `There is no mount of type "${String(type)}".`, nameRemedy(String(type), mountTypes, ''));
    if (target !== '' && !target.startsWith('/') && !/^[A-Za-z]:[\\/]/.test(target))
      yield inCompose(path, `"${target}" is no place in a container.`, `Write an absolute path: /${target.replace(/^\.?\//, '')}.`);
    if (seen.has(target)) yield inCompose(path, `Something is mounted at ${target} already.`, 'Keep one of the two.');
    seen.add(target);
  }
}

/** Names that stand at the top of the file. */
function* resources(draft: Draft, file: JsonObject): Generator<RuleFinding> {
  for (const kind of ['volumes', 'networks', 'secrets', 'configs'] as const) {
    const declared = file[kind];
    if (declared !== undefined && declared !== null && (typeof declared !== 'object' || Array.isArray(declared))) {
      yield inCompose([kind], `"${kind}" must be a map of names to values.`, 'Write each entry as NAME: {}.', 'key');
      continue;
    }
    const names = Object.keys(asMap(declared));
    for (const { name: service, mounts: mounted } of servicesOf(draft)) {
      const value = asMap(asMap(file['services'])[service])[kind];
      const used: { name: unknown; path: YamlPath }[] =
        kind === 'volumes'
          ? mounted
              .filter(({ source, path }) => source !== '' && !isPath(source) && !isBind(draft, path))
              .map(({ source, path }) => ({ name: source, path }))
          : Array.isArray(value)
            ? value.map((one, index) => ({
                name: typeof one === 'string' ? one : asMap(one)['source'],
                path: ['services', service, kind, index],
              }))
            : Object.keys(asMap(value)).map((name) => ({ name, path: ['services', service, kind, name] }));
      for (const { name, path } of used) {
        if (typeof name !== 'string' || names.includes(name) || (kind === 'networks' && name === 'default')) continue;
        const near = nearRemedy(name, names, '');
        yield inCompose(
          path,
          `"${name}" does not stand in the ${kind} at the top of the file.`,
          near || `Add it there: ${kind}: {${name}: {}}.`,
        );
      }
    }
  }
}

const isPath = (source: string) => /^[./~]|^[A-Za-z]:[\\/]|\\/.test(source);
const isBind = ({ composeDocument }: Draft, path: YamlPath) =>
  !['volume', undefined].includes(composeDocument?.scalar([...path, 'type'])?.value as string | undefined);

/** Another service's network, what is built, and what is written elsewhere. */
function* neighbours({ compose }: Draft, value: JsonObject, path: YamlPath): Generator<RuleFinding> {
  const mode = value['network_mode'];
  const host = typeof mode === 'string' ? /^service:(.*)$/.exec(interpolate(mode))?.[1] : undefined;
  if (host !== undefined && compose && !compose.services.has(host))
    yield inCompose([...path, 'network_mode'], `There is no service "${host}".`, nameRemedy(host, compose.services.keys(), 'Remove this.'));
  if (value['extends'] !== undefined)
    yield inCompose(
      [...path, 'extends'],
      'What "extends" brings is not read here, so nothing would be known of it.',
      'Write it out, or share it with an anchor: <<: *name.',
      'key',
    );
  if (value['build'] !== undefined && value['image'] !== undefined)
    yield inCompose(
      [...path, 'build'],
      'Nothing is built here, and what it is built from does not come along.',
      'Remove build: the image is what runs.',
      'key',
    );
}

/** Files that compose reads itself: beside compose.yaml only what lies in `files/` comes to a host, and the `.env` that is written there. */
function* besides({ files, compose }: Draft, file: JsonObject): Generator<RuleFinding> {
  if (file['include'] !== undefined)
    yield inCompose(['include'], 'What "include" brings is not read here, so nothing would be known of it.', 'Write it out.', 'key');
  const read: { path: YamlPath; file: unknown }[] = [];
  for (const kind of ['secrets', 'configs'])
    for (const [name, value] of Object.entries(asMap(file[kind])))
      if (asMap(value)['file'] !== undefined) read.push({ path: [kind, name, 'file'], file: asMap(value)['file'] });
  for (const name of compose?.services.keys() ?? []) {
    const path = ['services', name, 'env_file'];
    const written = asMap(asMap(file['services'])[name])['env_file'];
    for (const [index, one] of asList(written).entries()) {
      if (asMap(one)['required'] === false) continue;
      const at = Array.isArray(written) ? [...path, index] : path;
      read.push(typeof one === 'string' ? { path: at, file: one } : { path: [...at, 'path'], file: asMap(one)['path'] });
    }
  }
  for (const { path, file: written } of read) {
    const source = typeof written === 'string' ? posix.normalize(interpolate(written)) : '';
    // On the host itself, or what nobody can know here.
    if (source === '' || source === '.' || /^[/~]/.test(source) || source === '.env') continue;
    if (!source.startsWith('files/'))
      yield inCompose(
        path,
        `${source} does not come along: beside compose.yaml a host gets only what lies in files/.`,
        `Put it there: ./files/${posix.basename(source)}.`,
      );
    else if (!files.has(source)) yield inCompose(path, `There is no ${source} in this folder.`, nearRemedy(source, files, 'Add it.'));
  }
}
