import type { ComposeService } from './compose-file.ts';
import {
  type Draft,
  inComponent,
  inCompose,
  isLoopback,
  type LintRule,
  portAnnotation,
  portsOf,
  type RuleFinding,
  servicesOf,
  variableOf,
} from './draft.ts';
import { checkValue } from './field-types.ts';
import { generate } from './generators.ts';
import { groups } from './groups.ts';
import { parseImage } from './images.ts';
import { readInterpolation } from './interpolation.ts';
import { neverWide } from './never-wide.ts';
import type { Component } from './schema.ts';

/** Rules of the specification that a catalog entry can break, one each. Every one has a test with an entry that breaks it. */
export const lintRules: readonly LintRule[] = [
  { id: 'R1', check: groupAndName },
  { id: 'R2', check: placeholders },
  { id: 'R2', check: secretsOutOfFiles },
  { id: 'R3', check: topLevelKeys },
  { id: 'R4', check: serviceKeys },
  { id: 'R6', check: loopbackByDefault },
  { id: 'R7', check: widePorts },
  { id: 'R8', check: alwaysLoopback },
  { id: 'R16', check: hostNetwork },
  { id: 'R17', check: fieldValues },
  { id: 'R18', check: stringBooleans },
  { id: 'R21', check: exclusiveDefaults },
  { id: 'R28', check: mediaServers },
  { id: 'R29', check: databases },
  { id: 'R30', check: vectorSearch },
  { id: 'R31', check: writingTools },
  { id: 'R42', check: openModels },
  { id: 'R55', check: chainFolders },
  { id: 'R82', check: tags },
  { id: 'R83', check: sameVersion },
  { id: 'oneShot', check: oneShots },
  { id: 'optional', check: optionalServices },
  { id: 'multipart', check: multipartFiles },
];

function* groupAndName({ component, folderName, groupName }: Draft): Generator<RuleFinding> {
  if (component.id !== folderName)
    yield inComponent(['id'], `The id is "${component.id}", but the folder is called "${folderName}".`, 'Make both the same.');
  if (groupName === undefined) return;
  if (!(groups as readonly string[]).includes(groupName))
    yield inComponent(['group'], `The folder "${groupName}" is none of the groups.`, `Move this folder into one of ${groups.join(', ')}.`);
  else if (groupName !== component.group)
    yield inComponent(['group'], `The group is "${component.group}", but the folder above is "${groupName}".`, 'Make both the same.');
}

function* placeholders({ composeDocument }: Draft): Generator<RuleFinding> {
  for (const { path, text } of composeDocument?.scalars() ?? []) {
    const plain = readInterpolation(text)
      .parts.filter((part) => typeof part === 'string')
      .join(' ');
    const [found] = /<[A-Za-z][\w -]*>|\{[a-z_]+\}/.exec(plain) ?? [];
    if (found !== undefined)
      yield inCompose(
        path,
        `The placeholder ${found} would reach the container as it is.`,
        `Use a variable, such as \${${found.slice(1, -1).toUpperCase().replaceAll(/\W/g, '_')}}.`,
      );
  }
}

function* secretsOutOfFiles({ component, compose }: Draft): Generator<RuleFinding> {
  for (const [index, field] of component.fields.entries()) {
    if (field.type === 'secret-string' && !field.secret)
      yield inComponent(['fields', index], `"${field.name}" is of type secret-string, but not marked as a secret.`, 'Add secret: true.');
    if (field.generator && !field.secret)
      yield inComponent(['fields', index, 'generator'], `"${field.name}" is generated, so it is a secret.`, 'Add secret: true.');
    if (field.secret && field.default !== undefined)
      yield inComponent(
        ['fields', index, 'default'],
        `The secret "${field.name}" has a default that everybody knows.`,
        'Remove the default.',
      );
    if (!field.secret) continue;
    const name = variableOf(field);
    for (const { operator, word, path } of (name === undefined ? undefined : compose?.variables.get(name)) ?? []) {
      if (operator === '-' && word !== '')
        yield inCompose(
          path,
          `The secret ${name} has a default that everybody knows.`,
          `Write \${${name}:?kept in the keychain, use quarterdeck compose}.`,
        );
    }
    for (const service of compose?.services.values() ?? []) {
      const written = name === undefined ? undefined : service.environment.get(name);
      if (written && !written.value.includes('$'))
        yield inCompose(
          written.path,
          `The secret ${name} stands in the file.`,
          `Write \${${name}:?kept in the keychain, use quarterdeck compose}.`,
        );
    }
  }
}

/** What a stage needs to be seen to go on: without it nobody can say whether two of them see the same folder. */
const chainHolds = { download: ['downloads'], import: ['downloads', 'library'], scan: ['library'] } as const;

function* chainFolders({ component }: Draft): Generator<RuleFinding> {
  const held = new Set(Object.values(component.volumes).map(({ holds }) => holds));
  for (const [index, { stage }] of component.chain.entries()) {
    if (component.chain.findIndex((other) => other.stage === stage) < index)
      yield inComponent(['chain', index], `The stage "${stage}" stands there twice.`, 'Remove one.');
    const needs: readonly ('downloads' | 'library')[] = stage === 'release' || stage === 'request' ? [] : chainHolds[stage];
    for (const what of needs)
      if (!held.has(what))
        yield inComponent(
          ['chain', index],
          `It serves the stage "${stage}", but no volume says that it holds ${what === 'library' ? 'the library' : 'downloads'}.`,
          `Add holds: ${what} to that volume.`,
        );
  }
}

function* topLevelKeys({ component, compose }: Draft): Generator<RuleFinding> {
  for (const key of compose?.topLevel ?? []) {
    if (key === 'services' || key === 'volumes' || Object.hasOwn(component.justifies, key)) continue;
    yield inCompose(
      [key],
      `"${key}" is not usual at the top of a compose file here.`,
      `Remove it, or say in component.yaml why it is needed: justifies: {${key}: ...}.`,
      'key',
    );
  }
}

const usualKeys = new Set([
  'image',
  'ports',
  'volumes',
  'environment',
  'restart',
  'depends_on',
  'devices',
  'cap_add',
  'sysctls',
  'command',
  'network_mode',
  'extra_hosts',
  'healthcheck',
  'networks',
  'env_file',
  'secrets',
  'configs',
  'user',
  'ulimits',
  'shm_size',
  'tmpfs',
  'group_add',
  'runtime',
  'deploy',
  'labels',
  // How compose says that a service is started only in some set-ups.
  'profiles',
]);

function* serviceKeys(draft: Draft): Generator<RuleFinding> {
  const { component } = draft;
  for (const service of servicesOf(draft)) {
    const path = ['services', service.name];
    const oneShot = component.services[service.name]?.oneShot ?? false;
    if (service.image === '')
      yield inCompose(path, `The service "${service.name}" has no image.`, 'Add image: name:tag; nothing is built here.');
    else if (parseImage(service.image) === undefined)
      yield inCompose([...path, 'image'], `"${service.image}" is no image reference.`, 'Write registry/name:tag.');
    if (!oneShot && service.restart !== 'unless-stopped') {
      yield inCompose(
        service.restart === undefined ? path : [...path, 'restart'],
        `The service "${service.name}" does not restart unless stopped.`,
        'Add restart: unless-stopped, or mark it oneShot: true in component.yaml when it ends by itself.',
      );
    }
    for (const key of service.keys) {
      if (usualKeys.has(key) || Object.hasOwn(component.justifies, key)) continue;
      yield inCompose(
        [...path, key],
        `"${key}" is not usual in a service here.`,
        `Remove it, or say in component.yaml why it is needed: justifies: {${key}: ...}.`,
        'key',
      );
    }
  }
}

function* loopbackByDefault(draft: Draft): Generator<RuleFinding> {
  for (const port of portsOf(draft)) {
    const annotation = portAnnotation(draft.component, port);
    if (annotation?.[1].exposure !== 'loopback' || isLoopback(port.address)) continue;
    yield inCompose(
      port.path,
      `The port "${annotation[0]}" is for loopback, but is published on ${port.address === '' ? 'all addresses' : port.address}.`,
      'Put ${..._BIND:-127.0.0.1}: in front, or give it exposure: all with a basis in component.yaml.',
    );
  }
}

function* widePorts(draft: Draft): Generator<RuleFinding> {
  const { component, widePorts: allowed } = draft;
  for (const [name, annotation] of Object.entries(component.ports)) {
    if (annotation.exposure === 'loopback') continue;
    const path = ['ports', name];
    if (annotation.basis === undefined)
      yield inComponent(
        [...path, 'exposure'],
        `The port "${name}" is open to the network without a reason.`,
        'Add basis: why it must be reachable from there, or use exposure: loopback.',
      );
    const published = portsOf(draft).filter((port) => portAnnotation(component, port)?.[0] === name);
    for (const port of published) {
      if (annotation.exposure === 'all' && isLoopback(port.address))
        yield inCompose(
          port.path,
          `The port "${name}" has exposure: all, but is published on loopback alone.`,
          'Put ${..._BIND:-0.0.0.0}: in front, or use exposure: loopback in component.yaml.',
        );
    }
    const numbers =
      published.length > 0
        ? published.map(({ host, container, protocol }) => `${host ?? container}/${protocol}`)
        : [`${annotation.number ?? ''}/${annotation.protocol ?? 'tcp'}`];
    for (const number of allowed ? numbers : []) {
      if (!allowed?.has(`${component.id} ${number}`))
        yield inComponent(
          [...path, 'exposure'],
          `The specification does not allow ${number} of this component on other addresses than loopback.`,
          'Use exposure: loopback.',
        );
    }
  }
}

function* alwaysLoopback(draft: Draft): Generator<RuleFinding> {
  const guarded = neverWide[draft.component.id];
  for (const port of portsOf(draft)) {
    if (guarded !== undefined && port.host === guarded && !isLoopback(port.address))
      yield inCompose(port.path, `Port ${guarded} of this component stays on loopback.`, 'Publish it on 127.0.0.1.');
  }
}

function* hostNetwork(draft: Draft): Generator<RuleFinding> {
  const { component } = draft;
  const onHost = servicesOf(draft).filter(({ networkMode }) => networkMode === 'host');
  for (const service of onHost) {
    if (service.ports.length > 0)
      yield inCompose(
        ['services', service.name, 'ports'],
        `"${service.name}" uses the host's network, so it cannot publish ports.`,
        'Remove ports, and give their numbers in component.yaml.',
        'key',
      );
  }
  for (const [name, annotation] of Object.entries(component.ports)) {
    if (annotation.exposure === 'host-network' && onHost.length === 0 && component.deploy === 'compose') {
      yield inComponent(
        ['ports', name, 'exposure'],
        `The port "${name}" is on the host's network, but no service uses that.`,
        'Add network_mode: host to the service, or use another exposure.',
      );
    }
    const published = portsOf(draft).some((port) => portAnnotation(component, port)?.[0] === name);
    if (annotation.number !== undefined && !published && onHost.length === 0 && component.deploy === 'compose') {
      yield inComponent(
        ['ports', name, 'number'],
        `Only a service on the host's network can have a port that compose.yaml does not publish.`,
        'Publish the port in compose.yaml.',
      );
    }
    if (annotation.number === undefined && annotation.exposure === 'host-network')
      yield inComponent(['ports', name], `The port "${name}" has no number.`, 'Add number: the port it listens on.', 'key');
  }
}

/** Of a generated secret: enough to meet a pattern that only some of them fit. */
const samples = 8;

function* fieldValues({ component }: Draft): Generator<RuleFinding> {
  for (const [index, field] of component.fields.entries()) {
    const path = ['fields', index];
    if (field.type === 'enum' && !field.enum) yield inComponent(path, `"${field.name}" is an enum without values.`, 'Add enum: [...].');
    if (field.pattern !== undefined && !isPattern(field.pattern))
      yield inComponent([...path, 'pattern'], `"${field.pattern}" is no regular expression.`, 'Correct it.');
    else if (field.default !== undefined && (field.type !== 'enum' || field.enum)) {
      const problem = checkValue(field, field.default);
      if (problem !== undefined)
        yield inComponent([...path, 'default'], `The default does not fit: ${problem}`, 'Change the default or the type.');
    }
    if (field.generator === undefined || (field.pattern !== undefined && !isPattern(field.pattern))) continue;
    const { generator } = field;
    const misfit = Array.from({ length: samples }, () => checkValue(field, generate(generator))).find((problem) => problem !== undefined);
    if (misfit !== undefined)
      yield inComponent(
        [...path, 'generator'],
        `What is generated does not fit: ${misfit}`,
        'Change the generator, or length and pattern.',
      );
  }
}

function isPattern(pattern: string): boolean {
  try {
    new RegExp(pattern);
    return true;
  } catch {
    return false;
  }
}

function* stringBooleans(draft: Draft): Generator<RuleFinding> {
  const names = new Set(draft.component.fields.filter(({ type }) => type === 'string-boolean').flatMap((field) => variableOf(field) ?? []));
  for (const service of servicesOf(draft)) {
    for (const [name, { path }] of service.environment) {
      const written = draft.composeDocument?.scalar(path);
      // In the list form the whole entry NAME=value is text whatever the quotes.
      if (!names.has(name) || written === undefined || written.quoted || typeof path.at(-1) === 'number') continue;
      yield inCompose(path, `${name} must be a string of YAML.`, 'Put the value into quotes.');
    }
  }
}

function* exclusiveDefaults({ component }: Draft): Generator<RuleFinding> {
  const withDefault = component.fields.filter((field) => field.default !== undefined);
  for (const field of withDefault) {
    const other = withDefault.find(({ name }) => field.excludes.includes(name));
    if (other)
      yield inComponent(
        ['fields', component.fields.indexOf(field), 'default'],
        `"${field.name}" and "${other.name}" exclude each other, but both have a default.`,
        'Remove one of the defaults.',
      );
  }
  for (const [index, set] of component.oneOf.entries()) {
    const given = set.filter((name) => withDefault.some((field) => field.name === name));
    if (given.length > 1)
      yield inComponent(
        ['oneOf', index],
        `Only one of ${given.join(' and ')} may be set, but both have a default.`,
        'Remove one of the defaults.',
      );
  }
}

/** Where media servers have their libraries, by custom. */
const libraryMount = /^\/(?:data\/|mnt\/)?(?:media|movies|films|tv|tvshows|shows|series|music|videos?|photos|books|library)(?:\/|$)/;

function* mediaServers(draft: Draft): Generator<RuleFinding> {
  const { component } = draft;
  if (component.group !== 'media' || !/^(?:second |third )?media server\b/i.test(component.kind)) return;
  for (const service of servicesOf(draft)) {
    if (!component.services[service.name]?.main) continue;
    for (const mount of service.mounts) {
      if (libraryMount.test(mount.target) && !mount.readOnly)
        yield inCompose(mount.path, 'The media library is writable for the media server.', 'Put :ro behind the mount.');
    }
    if (!service.devices.some((device) => device.startsWith('/dev/dri')))
      yield inCompose(['services', service.name], 'Hardware transcoding needs /dev/dri.', 'Add devices: [/dev/dri:/dev/dri].', 'key');
  }
}

const databaseField = /^(?:DB_|KC_DB_URL$|DATABASE_URL$|DATASOURCES_|MYSQL_|gmysql-)|_POSTGRESQL__/;
const databaseImage = /(?:^|[/-])(?:postgres|postgresql|postgis|pgvector|pgvecto-rs|mariadb|mysql|pg-gvm|timescaledb)(?:$|[/-])/;

function* databases(draft: Draft): Generator<RuleFinding> {
  const { component } = draft;
  const index = component.fields.findIndex(
    (field) => field.type === 'database-url' || field.type === 'jdbc-url' || databaseField.test(variableOf(field) ?? field.name),
  );
  if (index < 0 || draft.compose === undefined) return;
  const stores = servicesOf(draft).filter((service) => databaseImage.test(repositoryOf(service) ?? ''));
  const field = component.fields[index];
  if (stores.length === 0) {
    yield inComponent(
      ['fields', index],
      `"${field?.name}" names a database, but compose.yaml has no service for one.`,
      'Add a database service to compose.yaml.',
    );
    return;
  }
  for (const service of servicesOf(draft)) {
    if (!component.services[service.name]?.main || stores.includes(service)) continue;
    const required = stores.filter((store) => store.profiles.length === 0);
    if (required.length > 0 && !required.some((store) => service.dependsOn.includes(store.name))) {
      yield inCompose(
        ['services', service.name],
        `"${service.name}" does not wait for its database.`,
        `Add depends_on: [${required[0]?.name}].`,
        'key',
      );
    }
  }
}

const vectorImage = /vector|pgvecto|(?:^|\/)immich-app\/postgres:/;

/** A photo library whose search runs in the database ends at its start without the extension. */
function* vectorSearch(draft: Draft): Generator<RuleFinding> {
  const services = servicesOf(draft);
  if (!services.some((service) => /(?:^|\/)immich-server$/.test(repositoryOf(service) ?? ''))) return;
  for (const service of services.filter((one) => databaseImage.test(repositoryOf(one) ?? ''))) {
    if (!vectorImage.test(service.image))
      yield inCompose(
        ['services', service.name, 'image'],
        `The database image ${service.image} has no vector search, without which the photo library does not start.`,
        'Use the image with the extensions that the photo library names.',
      );
    else if (draft.component.services[service.name]?.irreplaceable === undefined)
      yield inComponent(
        ['services', service.name],
        `Nobody is told that "${service.name}" cannot be another database image.`,
        'Say it there: irreplaceable: it has the vector-search extensions.',
        'key',
      );
  }
}

/** Kanban, wiki, RSS, notes and CMS components. */
const writingKind = /^(?:kanban|wiki|(?:second )?rss reader|cms|notes|docs and notes)\b/i;

function* writingTools({ component }: Draft): Generator<RuleFinding> {
  const { deploy, fields, group, justifies, kind } = component;
  if (group !== 'productivity' || deploy !== 'compose' || !writingKind.test(kind)) return;
  const isDatabase = (field: Component['fields'][number]) =>
    field.type === 'database-url' ||
    field.type === 'jdbc-url' ||
    /\bdatabase/i.test(field.name) ||
    databaseField.test(variableOf(field) ?? field.name);
  const wanted: [what: string, found: boolean, remedy: string][] = [
    ['database', fields.some(isDatabase), 'a field for the database URL or DB_*'],
    [
      'secret key',
      fields.some((field) => field.secret && !isDatabase(field) && /secret|^(?!api).*\bkey$|_KEY$/i.test(`${field.name}`)),
      'a secret field for it',
    ],
    [
      'public base URL',
      fields.some(({ type, reach }) => (type === 'url' || type === 'hostname') && (reach === 'browser' || reach === 'internet')),
      'a field of type url with reach: browser',
    ],
  ];
  for (const [what, found, remedy] of wanted) {
    if (!found && !Object.hasOwn(justifies, what))
      yield inComponent(
        ['fields'],
        `A component of this kind takes a ${what}, and none is declared.`,
        `Add ${remedy}, or say why there is none: justifies: {${what}: ...}.`,
        'key',
      );
  }
}

function* openModels({ component }: Draft): Generator<RuleFinding> {
  if (component.group !== 'ai' || !/^(?:none|no\b)/i.test(component.auth)) return;
  for (const [name, { exposure }] of Object.entries(component.ports)) {
    if (exposure !== 'loopback')
      yield inComponent(
        ['ports', name, 'exposure'],
        'A model without authentication is open to the network.',
        'Use exposure: loopback and put a proxy in front.',
      );
  }
}

/** Tags that the specification states: repository to what the tag is or begins with. */
const pins: readonly (readonly [RegExp, string])[] = [
  [/^docker\.io\/library\/postgres$/, '16'],
  [/^docker\.io\/library\/redis$/, '7'],
  [/^docker\.io\/library\/nextcloud$/, '30'],
  [/^docker\.io\/wazuh\/wazuh-(?:manager|indexer|dashboard)$/, '4.13.1'],
  [/^docker\.io\/library\/traefik$/, 'v3'],
  [/^docker\.io\/library\/haproxy$/, '3'],
  [/^docker\.io\/library\/wordpress$/, '6'],
  [/^docker\.io\/library\/ghost$/, '5'],
  [/^(?:docker\.io\/requarks|ghcr\.io\/requarks|docker\.io\/library)\/wiki$/, '2'],
  [/^docker\.io\/powerdns\/pdns-auth-/, '49'],
];

function* tags(draft: Draft): Generator<RuleFinding> {
  for (const service of servicesOf(draft)) {
    const image = parseImage(service.image);
    if (!image) continue;
    const path = ['services', service.name, 'image'];
    const { tag } = image;
    const isExplained = draft.component.services[service.name]?.tagReason !== undefined;
    const pin = pins.find(([repository]) => repository.test(image.repository))?.[1];
    if (image.repository.startsWith('docker.io/powerdns/pdns-auth-')) {
      if (!image.repository.endsWith(`-${pin}`))
        yield inCompose(path, `The specification states pdns-auth-${pin}.`, `Use powerdns/pdns-auth-${pin}.`);
      continue;
    }
    // An entry of one's own answers for its versions itself.
    if (draft.own && isExplained) continue;
    if (pin !== undefined) {
      const stated = pin.replace(/^v/, '');
      const written = tag?.replace(/^v/, '') ?? '';
      if ((written !== stated && !/^[.-]/.test(written.slice(stated.length))) || !written.startsWith(stated))
        yield inCompose(
          path,
          `The specification states version ${pin} for this image, not ${tag ?? 'a digest'}.`,
          draft.own ? `Use the tag ${pin}, or say in component.yaml why not: tagReason at the service.` : `Use the tag ${pin}.`,
        );
    } else if (tag !== 'latest' && !isExplained) {
      yield inCompose(
        path,
        `The tag ${tag ?? 'by digest'} is not "latest", and nobody says why.`,
        `Use latest, or add tagReason to the service in component.yaml.`,
      );
    }
  }
}

function* sameVersion(draft: Draft): Generator<RuleFinding> {
  const versions = servicesOf(draft).flatMap((service) => {
    const image = parseImage(service.image);
    return image && /\/wazuh\/wazuh-(?:manager|indexer|dashboard)$/.test(image.repository) ? [{ service, tag: image.tag }] : [];
  });
  for (const { service, tag } of versions) {
    if (tag !== versions[0]?.tag)
      yield inCompose(
        ['services', service.name, 'image'],
        `Manager, indexer and dashboard must have the same version, not ${versions[0]?.tag} and ${tag}.`,
        `Use the tag ${versions[0]?.tag}.`,
      );
  }
}

function* oneShots(draft: Draft): Generator<RuleFinding> {
  for (const service of servicesOf(draft)) {
    const oneShot = draft.component.services[service.name]?.oneShot ?? false;
    if (oneShot && service.restart !== undefined && service.restart !== 'no' && service.restart !== 'on-failure') {
      yield inCompose(
        ['services', service.name, 'restart'],
        `"${service.name}" ends by itself, but would be started again for ever.`,
        'Use restart: "no".',
      );
    }
  }
}

function* optionalServices(draft: Draft): Generator<RuleFinding> {
  for (const service of servicesOf(draft)) {
    const optional = draft.component.services[service.name]?.optional ?? false;
    if (optional && service.profiles.length === 0)
      yield inCompose(
        ['services', service.name],
        `"${service.name}" is optional, but always started.`,
        'Put it into a profile: profiles: [name].',
        'key',
      );
    if (!optional && service.profiles.length > 0)
      yield inComponent(['services', service.name], `"${service.name}" is started only with a profile.`, 'Mark it optional: true.', 'key');
  }
}

function* multipartFiles({ component }: Draft): Generator<RuleFinding> {
  for (const [name, call] of Object.entries(component.calls)) {
    if (call.http?.multipart && !Object.values(call.inputs).some(({ file }) => file)) {
      yield inComponent(
        ['calls', name, 'inputs'],
        'A multipart body without a file.',
        'Mark the input that is the file: file: true.',
        'key',
      );
    }
  }
}

function repositoryOf(service: ComposeService): string | undefined {
  return parseImage(service.image)?.repository;
}
