import { type JsonObject, mapOf } from '../text/json-value.ts';
import { nearRemedy } from '../text/nearest-name.ts';
import { type Draft, inComponent, inCompose, portAnnotation, portsOf, type RuleFinding, servicesOf, variableOf, warning } from './draft.ts';
import { parseImage } from './images.ts';
import { interpolate, readInterpolation } from './interpolation.ts';

export const composeRules = { R2: placeholders, R3: topLevelKeys, R4: serviceKeys, oneShot: oneShots, optional: optionalServices };

function* placeholders({ composeDocument }: Draft): Generator<RuleFinding> {
  for (const { path, text } of composeDocument?.scalars() ?? []) {
    const plain = readInterpolation(text)
      .parts.filter((part) => typeof part === 'string')
      .join(' ');
    const [found] = /<[A-Za-z][\w -]*>|\{[a-z_]+\}/.exec(plain) ?? [];
    if (found !== undefined) {
      const remedy = `Use a variable, such as \${${found.slice(1, -1).toUpperCase().replaceAll(/\W/g, '_')}}.`;
      yield inCompose(path, `The placeholder ${found} would reach the container unchanged.`, remedy);
    }
  }
}

function* topLevelKeys({ component, compose }: Draft): Generator<RuleFinding> {
  for (const key of Object.keys(compose?.written ?? {})) {
    if (key === 'services' || key === 'volumes' || Object.hasOwn(component.justifies, key)) continue;
    const remedy = `Remove it, or add the reason to component.yaml: justifies: {${key}: ...}.`;
    yield inCompose([key], `"${key}" is not a usual top-level key in this catalog.`, remedy, 'key');
  }
}

const usualKeys = new Set(
  (
    'image ports volumes environment restart depends_on devices cap_add sysctls command network_mode extra_hosts healthcheck networks ' +
    'env_file secrets configs user ulimits shm_size tmpfs group_add runtime deploy labels profiles'
  ).split(' '),
);

function* serviceKeys(draft: Draft): Generator<RuleFinding> {
  const { component } = draft;
  for (const service of servicesOf(draft)) {
    const path = ['services', service.name];
    const oneShot = component.services[service.name]?.oneShot ?? false;
    if (service.image === '')
      yield inCompose(path, `The service "${service.name}" has no image.`, 'Add image: name:tag. Images are not built.');
    else if (parseImage(service.image) === undefined)
      yield inCompose([...path, 'image'], `"${service.image}" is not a valid image reference.`, 'Use registry/name:tag.');
    const { restart } = service;
    const action = restart === undefined ? 'Add' : 'Set';
    if (!oneShot && restart !== 'unless-stopped') {
      const message = `The service "${service.name}" does not set restart: unless-stopped.`;
      const remedy = `${action} restart: unless-stopped, or set oneShot: true in component.yaml if the service runs once and exits.`;
      yield inCompose(restart === undefined ? path : [...path, 'restart'], message, remedy);
    }
    for (const key of Object.keys(service.written)) {
      if (usualKeys.has(key) || Object.hasOwn(component.justifies, key)) continue;
      const remedy = nearRemedy(key, usualKeys, `Remove it, or add the reason to component.yaml: justifies: {${key}: ...}.`);
      yield inCompose([...path, key], `"${key}" is not a usual service key in this catalog.`, remedy, 'key');
    }
  }
}

function* oneShots(draft: Draft): Generator<RuleFinding> {
  for (const { name, restart } of servicesOf(draft)) {
    if (!draft.component.services[name]?.oneShot || restart === undefined || restart === 'no' || restart === 'on-failure') continue;
    const message = `The one-shot service "${name}" would be restarted forever.`;
    yield inCompose(['services', name, 'restart'], message, 'Use restart: "no".');
  }
}

function* optionalServices(draft: Draft): Generator<RuleFinding> {
  for (const { name, profiles } of servicesOf(draft)) {
    const path = ['services', name];
    const optional = draft.component.services[name]?.optional ?? false;
    if (optional && profiles.length === 0)
      yield inCompose(path, `The service "${name}" is optional, but always starts.`, 'Add profiles: [name].', 'key');
    if (!optional && profiles.length > 0)
      yield inComponent(path, `The service "${name}" starts only with a profile.`, 'Set optional: true.', 'key');
  }
}

/** Well-formed settings that are refused all the same, or that have an effect other than the author intended. */
export function* checkMeaning(draft: Draft): Generator<RuleFinding> {
  yield* portsTwice(draft);
  yield* portsSaidTwice(draft);
  for (const { name, networkMode, written: value } of servicesOf(draft)) {
    const path = ['services', name];
    if (!/^[\w.-]+$/.test(name))
      yield inCompose(path, `"${name}" is not a valid service name.`, 'Use letters, digits, dots, dashes and underscores.', 'key');
    if (networkMode !== undefined && value['networks'] !== undefined)
      yield inCompose([...path, 'networks'], 'A service cannot have both networks and network_mode.', 'Remove one of the two.', 'key');
    yield* environment(draft, name, value['environment']);
    yield* healthcheck(mapOf(value['healthcheck']), [...path, 'healthcheck']);
    for (const [needed, one] of Object.entries(mapOf(value['depends_on'])))
      if (mapOf(one)['condition'] === 'service_completed_successfully' && draft.component.services[needed]?.oneShot === false) {
        const message = `"${name}" would wait forever, because "${needed}" is not a one-shot service.`;
        const remedy = `Wait for service_started or service_healthy, or set oneShot: true for ${needed} in component.yaml.`;
        yield inCompose([...path, 'depends_on', needed, 'condition'], message, remedy);
      }
  }
}

/** The engine can start only one of them. */
function* portsTwice(draft: Draft): Generator<RuleFinding> {
  const seen = new Map<string, string>();
  for (const { service, host, protocol, address, path } of portsOf(draft)) {
    if (host === undefined) continue;
    const written = `${address}:${host}/${protocol}`;
    const other = seen.get(written);
    if (other !== undefined && other !== service)
      yield inCompose(path, `Port ${host}/${protocol} is already used by "${other}".`, 'Use another default port.');
    seen.set(written, service);
  }
}

function* portsSaidTwice(draft: Draft): Generator<RuleFinding> {
  for (const [name, { number, container }] of Object.entries(draft.component.ports)) {
    const published = portsOf(draft).filter((port) => portAnnotation(draft.component, port)?.[0] === name);
    const [first] = published;
    if (first === undefined) continue;
    const reported = (key: string, written: number, inForce: number | undefined): RuleFinding =>
      warning(
        inComponent(
          ['ports', name, key],
          `The port "${name}" is ${inForce ?? 'different'} in compose.yaml, which takes precedence over ${written}.`,
          `Remove ${key}, which is only for ports that compose.yaml does not define.`,
        ),
      );
    if (number !== undefined && !published.some(({ host }) => host === number)) yield reported('number', number, first.host);
    if (container !== undefined && !published.some((port) => port.container === container || port.range.first === container))
      yield reported('container', container, first.container);
  }
}

// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: one short rule for each mistake in a list or a map
function* environment({ component }: Draft, service: string, value: unknown): Generator<RuleFinding> {
  const fields = new Map(
    component.fields.flatMap((field) => (field.target === 'environment' ? [[variableOf(field), field] as const] : [])),
  );
  const written = Array.isArray(value)
    ? value.map((text, index) => ({ path: ['services', service, 'environment', index], text: String(text) }))
    : Object.entries(mapOf(value)).flatMap(([name, one]) =>
        one === null ? [{ path: ['services', service, 'environment', name], text: name }] : [],
      );
  const seen = new Set<string>();
  for (const { path, text } of written) {
    const [, name = '', rest] = /^([^=]*)(?:=(.*))?$/s.exec(text) ?? [];
    const field = fields.get(name);
    if (rest === undefined && field)
      yield {
        ...inCompose(
          path,
          `${name} without a value is read from the compose environment, where Quarterdeck does not set it.`,
          `Use ${Array.isArray(value) ? `${name}=` : `${name}: `}\${${name}${field.secret ? ':?kept by Quarterdeck, use quarterdeck compose' : ''}}.`,
          'key',
        ),
        level: field.secret ? 'error' : 'warning',
      };
    if (/\s$/.test(name))
      yield inCompose(path, `The space before the equals sign would be part of the name.`, `Use ${name.trim()}=${(rest ?? '').trim()}.`);
    if (rest !== undefined && /^(["']).*\1$/s.test(rest)) {
      const message = `In a list, the quotes become part of the value of ${name}.`;
      yield warning(inCompose(path, message, 'Quote the whole entry, or use a map.'));
    }
    if (seen.has(name)) yield warning(inCompose(path, `${name} is set twice; the last value applies.`, 'Keep one of the two.'));
    seen.add(name);
  }
}

const durationKeys = ['interval', 'timeout', 'start_period', 'start_interval'];

function* healthcheck(value: JsonObject, path: readonly PropertyKey[]): Generator<RuleFinding> {
  const { test } = value;
  if (Array.isArray(test) && test.length > 0 && !['CMD', 'CMD-SHELL', 'NONE'].includes(String(test[0]))) {
    const message = `A health check test must begin with CMD, CMD-SHELL or NONE, not ${String(test[0])}.`;
    yield inCompose([...path, 'test', 0], message, `Use [CMD, ${test.map(String).join(', ')}].`);
  }
  for (const key of durationKeys) {
    const written = value[key];
    if (typeof written === 'string' && !/^(?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h))*$/.test(interpolate(written)))
      yield inCompose([...path, key], `"${written}" is not a valid duration.`, 'Use numbers and units without spaces, such as 1m30s.');
  }
}
