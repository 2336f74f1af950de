import { Refusal } from './answers.ts';
import type { Core } from './core.ts';
import type { Handled, Request } from './route.ts';

interface Version {
  data: Record<string, unknown> | null;
  created: string;
  deleted: string;
  destroyed: boolean;
}

interface Entry {
  created: string;
  updated: string;
  oldest: number;
  maxVersions: number;
  casRequired: boolean;
  custom: Record<string, string> | null;
  versions: Record<string, Version>;
}

interface Config {
  max_versions: number;
  cas_required: boolean;
}

const nothing = new Refusal(404);
/** How many versions are kept where nobody said. */
const versionsKept = 10;

/** One level of a folder: names, those that are folders with a slash. */
export function folder(paths: readonly string[]): string[] {
  return [...new Set(paths.map((path) => (path.includes('/') ? path.slice(0, path.indexOf('/') + 1) : path)))].sort();
}

/** Secrets without versions: what is written is what is read. */
export function answerKv1(core: Core, store: string, path: string, request: Request): Handled {
  const at = `${store}/${path}`;
  switch (request.kind) {
    case 'list': {
      const keys = folder(core.barrier.list(path === '' ? `${store}/` : `${at.replace(/\/$/, '')}/`));
      if (keys.length === 0) throw nothing;
      return { data: { keys } };
    }
    case 'read': {
      const data = core.barrier.get<Record<string, unknown>>(at);
      if (!data) throw nothing;
      return { data, leaseSeconds: 2_764_800 };
    }
    case 'write':
      if (Object.keys(request.body).length === 0) throw new Refusal(400, 'missing data fields');
      core.barrier.put(at, request.body);
      return { status: 204 };
    default:
      core.barrier.delete(at);
      return { status: 204 };
  }
}

/** Secrets with versions: `data/`, `metadata/`, `delete/`, `undelete/`, `destroy/`, `config`. */
export function answerKv2(core: Core, store: string, path: string, request: Request): Handled {
  const [verb = '', ...rest] = path.split('/');
  const name = rest.join('/');
  const at = `${store}/entry/${name}`;
  const entry = name === '' ? undefined : core.barrier.get<Entry>(at);
  const config = core.barrier.get<Config>(`${store}/config`) ?? { max_versions: 0, cas_required: false };
  const save = (value: Entry) => core.barrier.put(at, value);
  switch (verb) {
    case 'data':
      if (request.kind === 'read') return read(entry, request.query.get('version'));
      if (request.kind === 'write') return write(core, entry, config, request, save);
      if (request.kind === 'delete' && entry) mark(core, entry, [newest(entry)], save);
      return { status: 204 };
    case 'metadata':
      return metadata(core, { store, name, at, entry, save }, request);
    case 'delete':
      if (entry) mark(core, entry, wantedVersions(request), save);
      return { status: 204 };
    case 'undelete':
    case 'destroy':
      if (entry) change(entry, wantedVersions(request), verb, save);
      return { status: 204 };
    case 'config':
      if (request.kind === 'write') core.barrier.put(`${store}/config`, { ...config, ...request.body });
      else return { data: { cas_required: config.cas_required, delete_version_after: '0s', max_versions: config.max_versions } };
      return { status: 204 };
    default: {
      const [server, command] = core.dialect.product === 'openbao' ? ['OpenBao', 'bao'] : ['Vault', 'vault'];
      const warning =
        'Invalid path for a versioned K/V secrets engine. See the API docs for the appropriate API endpoints to use. ' +
        `If using the ${server} CLI, use '${command} kv get' for this operation.`;
      return { status: 404, data: null, warnings: [warning] };
    }
  }
}

function newest(entry: Entry): number {
  return Math.max(0, ...Object.keys(entry.versions).map(Number));
}

function described(number: number, version: Version, entry: Entry): Record<string, unknown> {
  return {
    created_time: version.created,
    custom_metadata: entry.custom,
    deletion_time: version.deleted,
    destroyed: version.destroyed,
    version: number,
  };
}

function read(entry: Entry | undefined, wanted: string | null): Handled {
  const number = entry ? Number(wanted ?? 0) || newest(entry) : 0;
  const version = entry?.versions[number];
  if (!entry || !version) throw nothing;
  const gone = version.destroyed || version.deleted !== '';
  return {
    status: gone ? 404 : 200,
    data: { data: gone ? null : version.data, metadata: described(number, version, entry) },
  };
}

function write(core: Core, found: Entry | undefined, config: Config, request: Request, save: (entry: Entry) => void): Handled {
  const { data, options } = request.body as { data?: unknown; options?: { cas?: unknown } };
  if (typeof data !== 'object' || data === null) throw new Refusal(400, 'no data provided');
  const time = core.time();
  const entry = found ?? { created: time, updated: time, oldest: 0, maxVersions: 0, casRequired: false, custom: null, versions: {} };
  const cas = options?.cas;
  if (cas === undefined && (entry.casRequired || config.cas_required)) {
    throw new Refusal(400, 'check-and-set parameter required for this call');
  }
  if (cas !== undefined && Number(cas) !== newest(entry)) {
    throw new Refusal(400, 'check-and-set parameter did not match the current version');
  }
  const number = newest(entry) + 1;
  entry.versions[number] = { data: data as Record<string, unknown>, created: time, deleted: '', destroyed: false };
  entry.updated = time;
  const kept = entry.maxVersions || config.max_versions || versionsKept;
  for (const old of Object.keys(entry.versions).map(Number)) {
    if (old > number - kept) continue;
    delete entry.versions[old];
    entry.oldest = number - kept + 1;
  }
  save(entry);
  return { data: described(number, entry.versions[number], entry) };
}

function metadata(
  core: Core,
  { store, name, at, entry, save }: { store: string; name: string; at: string; entry: Entry | undefined; save: (entry: Entry) => void },
  request: Request,
): Handled {
  if (request.kind === 'list') {
    const keys = folder(core.barrier.list(name === '' ? `${store}/entry/` : `${at.replace(/\/$/, '')}/`));
    if (keys.length === 0) throw nothing;
    return { data: { keys } };
  }
  if (request.kind === 'delete') {
    core.barrier.delete(at);
    return { status: 204 };
  }
  if (request.kind === 'write') {
    const time = core.time();
    const changed = entry ?? { created: time, updated: time, oldest: 0, maxVersions: 0, casRequired: false, custom: null, versions: {} };
    const { max_versions, cas_required, custom_metadata } = request.body;
    if (typeof max_versions === 'number') changed.maxVersions = max_versions;
    if (typeof cas_required === 'boolean') changed.casRequired = cas_required;
    if (custom_metadata !== undefined) changed.custom = custom_metadata as Record<string, string>;
    save(changed);
    return { status: 204 };
  }
  if (!entry) throw nothing;
  const versions = Object.entries(entry.versions).map(([number, version]) => [
    number,
    { created_time: version.created, deletion_time: version.deleted, destroyed: version.destroyed },
  ]);
  return {
    data: {
      cas_required: entry.casRequired,
      created_time: entry.created,
      current_version: newest(entry),
      custom_metadata: entry.custom,
      delete_version_after: '0s',
      max_versions: entry.maxVersions,
      oldest_version: entry.oldest,
      updated_time: entry.updated,
      versions: Object.fromEntries(versions),
    },
  };
}

function wantedVersions(request: Request): number[] {
  const { versions } = request.body;
  if (!Array.isArray(versions) || versions.length === 0) throw new Refusal(400, 'No version number provided');
  return versions.map(Number);
}

function mark(core: Core, entry: Entry, numbers: readonly number[], save: (entry: Entry) => void): void {
  for (const number of numbers) {
    const version = entry.versions[number];
    if (version && version.deleted === '') version.deleted = core.time();
  }
  save(entry);
}

function change(entry: Entry, numbers: readonly number[], verb: 'undelete' | 'destroy', save: (entry: Entry) => void): void {
  for (const number of numbers) {
    const version = entry.versions[number];
    if (!version) continue;
    if (verb === 'undelete') version.deleted = '';
    else Object.assign(version, { destroyed: true, data: null });
  }
  save(entry);
}
