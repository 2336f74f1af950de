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
      yield inCompose(path, `The placeholder ${found} would reach the container as it is.`, remedy);
    }
  }
}

function* topLevelKeys({ component, compose }: Draft): Generator<RuleFinding> {
  for (const key of Object.keys(compose?.written ?? {})) {
    if (key === 'services' || key === 'volumes' || Object.hasOwn(component.justifies, key)) continue;
    const remedy = `Remove it, or say in component.yaml why it is needed: justifies: {${key}: ...}.`;
    yield inCompose([key], `"${key}" is not usual at the top of a compose file here.`, remedy, 'key');
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
      yield inCompose(path, `The service "${service.name}" has no image.`, 'Add image: name:tag; nothing is built here.');
    else if (parseImage(service.image) === undefined)
      yield inCompose([...path, 'image'], `"${service.image}" is no image reference.`, 'Write registry/name:tag.');
    const { restart } = service;
    const action = restart === undefined ? 'Add' : 'Write';
    if (!oneShot && restart !== 'unless-stopped')
      yield inCompose(
        restart === undefined ? path : [...path, 'restart'],
        `The service "${service.name}" does not restart unless stopped.`,
        `${action} restart: unless-stopped, or mark it oneShot: true in component.yaml when it ends by itself.`,
      );
    for (const key of Object.keys(service.written)) {
      if (usualKeys.has(key) || Object.hasOwn(component.justifies, key)) continue;
      const remedy = nearRemedy(key, usualKeys, `Remove it, or say in component.yaml why it is needed: justifies: {${key}: ...}.`);
      yield inCompose([...path, key], `"${key}" is not usual in a service here.`, remedy, 'key');
    }
  }
}

function* oneShots(draft: Draft): Generator<RuleFinding> {
  for (const { name, restart } of servicesOf(draft)) {
    if (!draft.component.services[name]?.oneShot || restart === undefined || restart === 'no' || restart === 'on-failure') continue;
    const message = `"${name}" ends by itself, but would be started again for ever.`;
    yield inCompose(['services', name, 'restart'], message, 'Use restart: "no".');
  }
}

function* optionalServices(draft: Draft): Generator<RuleFinding> {
  for (const { name, profiles } of servicesOf(draft)) {
    const path = ['services', name];
    const optional = draft.component.services[name]?.optional ?? false;
    if (optional && profiles.length === 0)
      yield inCompose(path, `"${name}" is optional, but always started.`, 'Put it into a profile: profiles: [name].', 'key');
    if (!optional && profiles.length > 0)
      yield inComponent(path, `"${name}" is started only with a profile.`, 'Mark it optional: true.', 'key');
  }
}

/** Well-formed settings that are refused all the same, or that have an effect other than the author intended. */
export function* checkMeaning(draft: Draft): Generator<RuleFinding> {
  yield* portsTwice(draft);
  yield* portsSaidTwice(draft);
  for (const { name, networkMode, written: value } of servicesOf(draft)) {
    const path = ['services', name];
    if (!/^[\w.-]+$/.test(name))
      yield inCompose(path, `"${name}" cannot be the name of a service.`, 'Use letters, digits, dots, dashes and underscores.', 'key');
    if (networkMode !== undefined && value['networks'] !== undefined)
      yield inCompose([...path, 'networks'], 'A service has networks or a network_mode, not both.', 'Remove one of the two.', 'key');
    yield* environment(draft, name, value['environment']);
    yield* healthcheck(mapOf(value['healthcheck']), [...path, 'healthcheck']);
    for (const [needed, one] of Object.entries(mapOf(value['depends_on'])))
      if (mapOf(one)['condition'] === 'service_completed_successfully' && draft.component.services[needed]?.oneShot === false)
        yield inCompose(
          [...path, 'depends_on', needed, 'condition'],
          `"${name}" would wait for ever: "${needed}" does not end by itself.`,
          `Wait for service_started or service_healthy, or mark ${needed} oneShot: true in component.yaml.`,
        );
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
      yield inCompose(path, `"${other}" has the port ${host}/${protocol} already.`, 'Give it another default.');
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
          `"${name}" is ${inForce ?? 'another'} in compose.yaml, which is what counts, and not ${written}.`,
          `Remove ${key}: it is for ports that compose.yaml does not tell.`,
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
          `${name} alone takes its value from where compose runs, and nobody puts it there.`,
          `Write ${Array.isArray(value) ? `${name}=` : `${name}: `}\${${name}${field.secret ? ':?kept by Quarterdeck, use quarterdeck compose' : ''}}.`,
          'key',
        ),
        level: field.secret ? 'error' : 'warning',
      };
    if (/\s$/.test(name))
      yield inCompose(path, `The space before the equals sign would belong to the name.`, `Write ${name.trim()}=${(rest ?? '').trim()}.`);
    if (rest !== undefined && /^(["']).*\1$/s.test(rest)) {
      const message = `In a list the quotes belong to the value of ${name}.`;
      yield warning(inCompose(path, message, 'Put the whole entry into quotes, or write a map.'));
    }
    if (seen.has(name)) yield warning(inCompose(path, `${name} is there twice, and the last one counts.`, 'Keep one of the two.'));
    seen.add(name);
  }
}

const durationKeys = ['interval', 'timeout', 'start_period', 'start_interval'];

function* healthcheck(value: JsonObject, path: readonly PropertyKey[]): Generator<RuleFinding> {
  const { test } = value;
  if (Array.isArray(test) && test.length > 0 && !['CMD', 'CMD-SHELL', 'NONE'].includes(String(test[0]))) {
    const message = `A test that is a list begins with CMD, CMD-SHELL or NONE, not with ${String(test[0])}.`;
    yield inCompose([...path, 'test', 0], message, `Write [CMD, ${test.map(String).join(', ')}].`);
  }
  for (const key of durationKeys) {
    const written = value[key];
    if (typeof written === 'string' && !/^(?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h))*$/.test(interpolate(written)))
      yield inCompose([...path, key], `"${written}" is no duration.`, 'Write a number and its unit without a space: 30s, 1m30s.');
  }
}
