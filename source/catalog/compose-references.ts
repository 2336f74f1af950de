import { posix } from 'node:path';
import { type JsonObject, mapOf, oneOrMore } from '../text/json-value.ts';
import { nameRemedy, nearRemedy } from '../text/nearest-name.ts';
import type { YamlPath } from '../yaml/document.ts';
import { circlesOf } from './component-circles.ts';
import type { ComposeService } from './compose-file.ts';
import { type Draft, inCompose, type RuleFinding, servicesOf, warningIfOwn } from './draft.ts';
import { interpolate } from './interpolation.ts';

/** References to parts of compose.yaml and to files beside it: otherwise compose refuses the file, or fails during start-up. */
export function* checkCompose(draft: Draft): Generator<RuleFinding> {
  const file = draft.compose?.written ?? {};
  yield* circles(draft);
  yield* readElsewhere(draft);
  yield* resources(draft, file);
  for (const service of servicesOf(draft)) {
    yield* mounts(service);
    yield* neighbours(draft, service);
  }
  yield* besides(draft, file);
}

/** The first docker-compose and podman-compose read YAML 1.1: they refuse `MODE: on`, and publish port 1342 for `22:22`. */
function* readElsewhere(draft: Draft): Generator<RuleFinding> {
  const { composeDocument } = draft;
  for (const { path } of composeDocument?.scalars() ?? []) {
    const scalar = path[0] === 'services' ? composeDocument?.scalar(path) : undefined;
    if (scalar?.elsewhere !== true) continue;
    const message = `Docker Compose reads "${scalar.written}" as a string, but Python-based compose programs do not.`;
    yield warningIfOwn(draft, inCompose(path, message, `Quote it: "${scalar.written}".`));
  }
}

function* circles(draft: Draft): Generator<RuleFinding> {
  const services = new Map(servicesOf(draft).map((service) => [service.name, service]));
  const needs = (name: string) => {
    const service = services.get(name);
    const host = networkHostOf(service);
    return [...(service?.dependsOn ?? []), ...(host === undefined ? [] : [host])];
  };
  for (const circle of circlesOf(services.keys(), needs)) {
    const [first = ''] = circle;
    const message =
      circle.length === 1 ? `"${first}" depends on itself.` : `Services depend on each other: ${[...circle, first].join(', ')}.`;
    yield inCompose(['services', first, 'depends_on'], message, 'Remove one of the services from depends_on or network_mode.', 'key');
  }
}

/** The service whose network this one uses. */
function networkHostOf(service: ComposeService | undefined): string | undefined {
  return /^service:(.*)$/.exec(service?.networkMode ?? '')?.[1];
}

function* mounts(service: ComposeService): Generator<RuleFinding> {
  const seen = new Set<string>();
  for (const { target, path } of service.mounts) {
    if (target !== '' && !target.startsWith('/') && !/^[A-Za-z]:[\\/]/.test(target))
      yield inCompose(path, `The container path "${target}" is not absolute.`, `Use an absolute path: /${target.replace(/^\.?\//, '')}.`);
    if (seen.has(target)) yield inCompose(path, `${target} is mounted twice.`, 'Keep one of the two.');
    seen.add(target);
  }
}

function* resources(draft: Draft, file: JsonObject): Generator<RuleFinding> {
  for (const kind of ['volumes', 'networks', 'secrets', 'configs'] as const) {
    const names = Object.keys(mapOf(file[kind]));
    for (const { name: service, mounts: mounted, written } of servicesOf(draft)) {
      const value = written[kind];
      const used: { name: unknown; path: YamlPath }[] =
        kind === 'volumes'
          ? mounted
              .filter(({ source, path }) => source !== '' && !isPath(source) && !isBind(draft, path))
              .map(({ source, path }) => ({ name: source, path }))
          : Array.isArray(value)
            ? value.map((one, index) => ({
                name: typeof one === 'string' ? one : mapOf(one)['source'],
                path: ['services', service, kind, index],
              }))
            : Object.keys(mapOf(value)).map((name) => ({ name, path: ['services', service, kind, name] }));
      for (const { name, path } of used) {
        if (typeof name !== 'string' || names.includes(name) || (kind === 'networks' && name === 'default')) continue;
        const near = nearRemedy(name, names, '');
        const message = `"${name}" is not defined under the top-level ${kind}.`;
        yield inCompose(path, message, near || `Add it to compose.yaml: ${kind}: {${name}: {}}.`);
      }
    }
  }
}

const isPath = (source: string) => /^[./~]|^[A-Za-z]:[\\/]|\\/.test(source);
const isBind = ({ composeDocument }: Draft, path: YamlPath) =>
  !['volume', undefined].includes(composeDocument?.scalar([...path, 'type'])?.value as string | undefined);

function* neighbours({ compose }: Draft, service: ComposeService): Generator<RuleFinding> {
  const { name, written } = service;
  const path = ['services', name];
  const host = networkHostOf(service);
  if (host !== undefined && compose && !compose.services.has(host))
    yield inCompose([...path, 'network_mode'], `Unknown service "${host}".`, nameRemedy(host, compose.services.keys(), 'Remove this.'));
  if (written['extends'] !== undefined) {
    const message = '"extends" is not supported, because the extended service would not be checked.';
    yield inCompose([...path, 'extends'], message, 'Copy the content into this service, or share it with an anchor: <<: *name.', 'key');
  }
  if (written['build'] !== undefined && written['image'] !== undefined) {
    const message = 'Images are not built, and the build context is not deployed.';
    yield inCompose([...path, 'build'], message, 'Remove build; the image is used instead.', 'key');
  }
}

/** Files that compose reads itself: besides compose.yaml, a host receives only the files in `files/` and the generated `.env`. */
// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: compose names files in three forms, by several keys
function* besides(draft: Draft, file: JsonObject): Generator<RuleFinding> {
  if (file['include'] !== undefined)
    yield inCompose(['include'], '"include" is not supported: its file would not be checked.', 'Copy the content of the file here.', 'key');
  const read: { path: YamlPath; file: unknown }[] = [];
  for (const kind of ['secrets', 'configs'])
    for (const [name, value] of Object.entries(mapOf(file[kind])))
      if (mapOf(value)['file'] !== undefined) read.push({ path: [kind, name, 'file'], file: mapOf(value)['file'] });
  for (const { name, written: service } of servicesOf(draft)) {
    const path = ['services', name, 'env_file'];
    const written = service['env_file'];
    for (const [index, one] of oneOrMore(written).entries()) {
      if (mapOf(one)['required'] === false) continue;
      const at = Array.isArray(written) ? [...path, index] : path;
      read.push(typeof one === 'string' ? { path: at, file: one } : { path: [...at, 'path'], file: mapOf(one)['path'] });
    }
  }
  for (const { path, file: written } of read) {
    const source = typeof written === 'string' ? posix.normalize(interpolate(written)) : '';
    // On the host itself, or unknown here.
    if (source === '' || source === '.' || /^[/~]/.test(source) || source === '.env') continue;
    if (!source.startsWith('files/')) {
      const message = `${source} is not deployed; only compose.yaml and the files in files/ are.`;
      yield inCompose(path, message, `Move the file to ./files/${posix.basename(source)}.`);
    } else if (!draft.files.has(source))
      yield inCompose(path, `${source} is missing from this folder.`, nearRemedy(source, draft.files, 'Add it.'));
  }
}
