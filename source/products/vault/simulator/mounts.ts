import { type Body, done, type Handled, Refusal, type Request } from './answers.ts';
import type { Core, State } from './core.ts';
import type { Entry } from './kv.ts';
import type { Role } from './tokens.ts';

/** An engine or a login method, with its data. */
export interface Mount {
  type: string;
  description: string;
  options: Record<string, string> | null;
  /** Of kv version 1. */
  secrets?: Body;
  /** Of kv version 2. */
  entries?: Record<string, Entry>;
  roles?: Record<string, Role>;
}

export type MountKind = 'secret' | 'auth';

const types = { secret: ['kv', 'identity', 'system'], auth: ['token', 'approle', 'userpass'] };

/** The mounts of a new server, by path with a slash at its end. */
export function defaultMounts(): State['mounts'] {
  const mount = (type: string, description: string): Mount => ({ type, description, options: null });
  return {
    secret: {
      'identity/': mount('identity', 'identity store'),
      'sys/': mount('system', 'system endpoints used for control, policy and debugging'),
    },
    auth: { 'token/': mount('token', 'token based credentials') },
  };
}

export function findMount({ storage }: Core, kind: MountKind, path: string): { at: string; mount: Mount } | undefined {
  const found = Object.entries(storage.state.mounts[kind]).find(([at]) => `${path}/`.startsWith(at));
  return found && { at: found[0], mount: found[1] };
}

const describe = ({ type, description, options }: Mount) => ({ type, description, options });

function describeAll({ storage }: Core, kind: MountKind): Body {
  return Object.fromEntries(Object.entries(storage.state.mounts[kind]).map(([at, mount]) => [at, describe(mount)]));
}

/** `sys/mounts/...` and `sys/auth/...` */
export function answerMounts(core: Core, kind: MountKind, path: string, request: Request): Handled {
  if (path === '') return { data: describeAll(core, kind), spread: true };
  const mounts = core.storage.state.mounts[kind];
  if (request.kind === 'delete') delete mounts[`${path}/`];
  else add(core, kind, `${path}/`, request.body);
  return done;
}

function add({ storage, log }: Core, kind: MountKind, at: string, { type, description = '', options = null }: Body): void {
  const mounts = storage.state.mounts[kind];
  const shown = `${kind === 'auth' ? 'auth/' : ''}${at}`;
  if (Object.keys(mounts).some((other) => at.startsWith(other) || other.startsWith(at)))
    throw new Refusal(400, `path is already in use at ${shown}`);
  if (!types[kind].includes(String(type))) throw new Refusal(400, `plugin not found in the catalog: ${type}`);
  const data = { secrets: {}, entries: {}, roles: {} };
  mounts[at] = { type: String(type), description: String(description), options: options as Mount['options'], ...data };
  log(`core: successful mount: namespace="" path=${shown} type=${type} version=""`);
}

/** `sys/internal/ui/mounts/...` */
export function answerUiMounts(core: Core, path: string): Handled {
  if (path === '') return { data: { auth: describeAll(core, 'auth'), secret: describeAll(core, 'secret') } };
  const found = findMount(core, 'secret', path);
  if (found) return { data: { ...describe(found.mount), path: found.at, deprecation_status: 'supported' } };
  const shown = path.replace(/\/?$/, '/');
  throw new Refusal(403, `preflight capability check returned 403, please ensure client's policies grant access to path "${shown}"`);
}
