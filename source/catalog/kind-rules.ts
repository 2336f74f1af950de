import { type Draft, inComponent, inCompose, type RuleFinding, repositoryOf, servicesOf, variableOf, warningIfOwn } from './draft.ts';
import type { Component } from './schema.ts';

export const kindRules = { R28: mediaServers, R29: databases, R30: vectorSearch, R31: writingTools, R42: openModels, R55: chainFolders };

const libraryMount = /^\/(?:data\/|mnt\/)?(?:media|movies|films|tv|tvshows|shows|series|music|videos?|photos|books|library)(?:\/|$)/;

function* mediaServers(draft: Draft): Generator<RuleFinding> {
  const { component } = draft;
  if (component.group !== 'media' || !/^(?:second |third )?media server\b/i.test(component.kind)) return;
  for (const service of servicesOf(draft)) {
    if (!component.services[service.name]?.main) continue;
    for (const mount of service.mounts) {
      if (libraryMount.test(mount.target) && !mount.readOnly)
        yield warningIfOwn(draft, inCompose(mount.path, 'The media server can write to the media library.', 'Add :ro to the mount.'));
    }
    if (!service.devices.some((device) => device.startsWith('/dev/dri')))
      yield warningIfOwn(
        draft,
        inCompose(['services', service.name], 'Hardware transcoding requires /dev/dri.', 'Add devices: [/dev/dri:/dev/dri].', 'key'),
      );
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
  if (stores.length === 0) {
    const message = `"${component.fields[index]?.name}" configures a database, but compose.yaml has no database service.`;
    yield inComponent(['fields', index], message, 'Add a database service to compose.yaml.');
    return;
  }
  for (const service of servicesOf(draft)) {
    if (!component.services[service.name]?.main || stores.includes(service)) continue;
    const required = stores.filter((store) => store.profiles.length === 0);
    if (required.length > 0 && !required.some((store) => service.dependsOn.includes(store.name))) {
      const message = `The service "${service.name}" does not wait for its database.`;
      yield inCompose(['services', service.name], message, `Add depends_on: [${required[0]?.name}].`, 'key');
    }
  }
}

const vectorImage = /vector|pgvecto|(?:^|\/)immich-app\/postgres:/;

/** A photo library whose search runs in the database fails at start-up without the extension. */
function* vectorSearch(draft: Draft): Generator<RuleFinding> {
  const services = servicesOf(draft);
  if (!services.some((service) => /(?:^|\/)immich-server$/.test(repositoryOf(service) ?? ''))) return;
  for (const service of services.filter((one) => databaseImage.test(repositoryOf(one) ?? ''))) {
    if (!vectorImage.test(service.image)) {
      const message = `The database image ${service.image} has no vector search, which the photo library requires to start.`;
      yield inCompose(['services', service.name, 'image'], message, 'Use the database image that the photo library documents.');
    } else if (draft.component.services[service.name]?.irreplaceable === undefined) {
      const message = `The service "${service.name}" requires this database image, but is not marked as irreplaceable.`;
      yield inComponent(['services', service.name], message, 'Set irreplaceable to the reason, such as "has vector search".', 'key');
    }
  }
}

const writingKind = /\b(?:kanban|wiki|rss reader|cms|notes|knowledge base|text editor|office suite|read-it-later)\b/i;

function* writingTools(draft: Draft): Generator<RuleFinding> {
  const { component } = draft;
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
      'a secret field for the key',
    ],
    [
      'public base URL',
      fields.some(({ type, audience }) => (type === 'url' || type === 'hostname') && (audience === 'browser' || audience === 'internet')),
      'a field of type url with audience: browser',
    ],
  ];
  for (const [what, found, missing] of wanted) {
    if (!found && !Object.hasOwn(justifies, what)) {
      const remedy = `Add ${missing}, or the reason for its absence: justifies: {${what}: ...}.`;
      yield warningIfOwn(
        draft,
        inComponent(['fields'], `A component of this kind requires a ${what}, but none is declared.`, remedy, 'key'),
      );
    }
  }
}

function* openModels({ component }: Draft): Generator<RuleFinding> {
  if (component.group !== 'ai' || !/^(?:none|no\b)/i.test(component.auth)) return;
  for (const [name, { exposure }] of Object.entries(component.ports)) {
    if (exposure !== 'loopback') {
      const message = 'A component without authentication is open to the network.';
      yield inComponent(['ports', name, 'exposure'], message, 'Use exposure: loopback and put it behind a reverse proxy.');
    }
  }
}

/** Data that a stage needs for its checks: without it, it is unknown whether two stages see the same folder. */
const chainHolds = { download: ['downloads'], import: ['downloads', 'library'], scan: ['library'] } as const;

function* chainFolders({ component }: Draft): Generator<RuleFinding> {
  const held = new Set(Object.values(component.volumes).map(({ content }) => content));
  for (const [index, { stage }] of component.chain.entries()) {
    if (component.chain.findIndex((other) => other.stage === stage) < index)
      yield inComponent(['chain', index], `The stage "${stage}" is listed twice.`, 'Remove one.');
    const needs: readonly ('downloads' | 'library')[] = stage === 'release' || stage === 'request' ? [] : chainHolds[stage];
    for (const what of needs)
      if (!held.has(what)) {
        const message = `The stage "${stage}" requires a volume with the content "${what}".`;
        yield inComponent(['chain', index], message, `Add content: ${what} to the volume.`);
      }
  }
}
