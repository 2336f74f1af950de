import { nearRemedy } from '../text/nearest-name.ts';
import { type Draft, inComponent, inCompose, type RuleFinding, servicesOf } from './draft.ts';
import { parseImage } from './images.ts';
import { readInterpolation } from './interpolation.ts';

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
