import { type Body, done, type Handled, listed, Refusal, type Request } from './answers.ts';
import { type Core, productName } from './core.ts';
import type { Mount } from './mounts.ts';

interface Version {
  data: unknown;
  created: string;
  deleted: string;
  destroyed: boolean;
}

export type Entry = { created: string; versions: Record<string, Version> };

/** Returns the names of one level of a folder; those of folders end with a slash. */
function listFolder(entries: Body, folder: string): Handled {
  const prefix = folder === '' ? '' : `${folder.replace(/\/$/, '')}/`;
  const below = Object.keys(entries).filter((path) => path.startsWith(prefix));
  return listed([...new Set(below.map((path) => path.slice(prefix.length).replace(/\/.*/s, '/')))].sort());
}

export function answerKv1({ secrets = {} }: Mount, path: string, { kind, body }: Request): Handled {
  if (kind === 'list') return listFolder(secrets, path);
  if (kind === 'read') {
    if (!secrets[path]) throw new Refusal(404);
    return { data: secrets[path], leaseSeconds: 2_764_800 };
  }
  if (kind === 'delete') delete secrets[path];
  else if (Object.keys(body).length === 0) throw new Refusal(400, 'missing data fields');
  else secrets[path] = body;
  return done;
}

/** Secrets with versions: `data/`, `metadata/`, `delete/`, `undelete/`, `destroy/`. */
export function answerKv2(core: Core, { entries = {} }: Mount, path: string, request: Request): Handled {
  const [call = '', ...rest] = path.split('/');
  const name = rest.join('/');
  const entry = entries[name];
  switch (`${request.kind} ${call}`) {
    case 'read data':
      return read(entry, request.query.get('version'));
    case 'write data': {
      entries[name] = entry ?? { created: core.time(), versions: {} };
      return write(core, entries[name], request.body);
    }
    case 'delete data':
      return change(core, entry, 'delete', entry ? [newest(entry)] : []);
    case 'list metadata':
      return listFolder(entries, name);
    case 'read metadata':
      return describe(entry);
    case 'delete metadata':
      delete entries[name];
      return done;
    case 'write delete':
    case 'write undelete':
    case 'write destroy':
      return change(core, entry, call, request.body['versions'] as number[]);
    default: {
      const { product } = core.dialect;
      const warning =
        'Invalid path for a versioned K/V secrets engine. See the API docs for the appropriate API endpoints to use. ' +
        `If using the ${productName(core.dialect)} CLI, use '${product === 'openbao' ? 'bao' : product} kv get' for this operation.`;
      return { status: 404, data: null, warnings: [warning] };
    }
  }
}

const newest = ({ versions }: Entry) => Math.max(0, ...Object.keys(versions).map(Number));

function versionData(version: number, { created, deleted, destroyed }: Version): Body {
  return { created_time: created, custom_metadata: null, deletion_time: deleted, destroyed, version };
}

function read(entry: Entry | undefined, wanted: string | null): Handled {
  const number = entry ? Number(wanted ?? 0) || newest(entry) : 0;
  const version = entry?.versions[number];
  if (!version) throw new Refusal(404);
  const isGone = version.destroyed || version.deleted !== '';
  return { status: isGone ? 404 : 200, data: { data: isGone ? null : version.data, metadata: versionData(number, version) } };
}

function write(core: Core, entry: Entry, { data, options }: { data?: unknown; options?: { cas?: number } }): Handled {
  if (typeof data !== 'object' || data === null) throw new Refusal(400, 'no data provided');
  if (options?.cas !== undefined && options.cas !== newest(entry))
    throw new Refusal(400, 'check-and-set parameter did not match the current version');
  const number = newest(entry) + 1;
  entry.versions[number] = { data, created: core.time(), deleted: '', destroyed: false };
  return { data: versionData(number, entry.versions[number]) };
}

function describe(entry: Entry | undefined): Handled {
  if (!entry) throw new Refusal(404);
  const versions = Object.entries(entry.versions).map(([number, version]) => [number, versionData(Number(number), version)]);
  return {
    data: {
      cas_required: false,
      created_time: entry.created,
      current_version: newest(entry),
      custom_metadata: null,
      max_versions: 0,
      oldest_version: 0,
      versions: Object.fromEntries(versions),
    },
  };
}

function change(core: Core, entry: Entry | undefined, call: string, numbers: readonly number[]): Handled {
  for (const number of numbers) {
    const version = entry?.versions[number];
    if (version && call === 'delete') version.deleted ||= core.time();
    if (version && call === 'undelete') version.deleted = '';
    if (version && call === 'destroy') Object.assign(version, { destroyed: true, data: null });
  }
  return done;
}
