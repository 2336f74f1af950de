import { randomBytes, randomUUID } from 'node:crypto';
import { Refusal } from './answers.ts';
import type { Core } from './core.ts';

export interface Mount {
  type: string;
  description: string;
  accessor: string;
  uuid: string;
  options: Record<string, string> | null;
  local: boolean;
}

type Table = Record<string, Mount>;
export type MountKind = 'secret' | 'auth';

const engines = new Set(['kv', 'cubbyhole', 'identity', 'system']);
const methods = new Set(['token', 'approle', 'userpass']);

/** Which engines and ways to log in there are, by path with its slash at the end. */
export class Mounts {
  readonly #core: Core;

  constructor(core: Core) {
    this.#core = core;
  }

  table(kind: MountKind): Table {
    return this.#core.barrier.get<Table>(`core/${kind}`) ?? {};
  }

  /** What a new server has. */
  addDefaults(): void {
    this.#put('secret', 'cubbyhole/', 'cubbyhole', 'per-token private secret storage', null);
    this.#put('secret', 'identity/', 'identity', 'identity store', null);
    this.#put('secret', 'sys/', 'system', 'system endpoints used for control, policy and debugging', null);
    this.#put('auth', 'token/', 'token', 'token based credentials', null);
  }

  add(kind: MountKind, path: string, body: Record<string, unknown>): void {
    const type = String(body['type'] ?? '');
    const at = `${path.replace(/^\/|\/$/g, '')}/`;
    const options = (body['options'] as Record<string, string> | undefined) ?? null;
    const known = kind === 'secret' ? type === 'kv-v2' || engines.has(type) : methods.has(type);
    if (Object.keys(this.table(kind)).some((other) => other === at || at.startsWith(other) || other.startsWith(at))) {
      throw new Refusal(400, `path is already in use at ${kind === 'auth' ? 'auth/' : ''}${at}`);
    }
    if (!known) throw new Refusal(400, `plugin not found in the catalog: ${type}`);
    this.#put(kind, at, type === 'kv-v2' ? 'kv' : type, String(body['description'] ?? ''), type === 'kv-v2' ? { version: '2' } : options);
    this.#core.log('INFO', `core: successful mount: namespace="" path=${kind === 'auth' ? 'auth/' : ''}${at} type=${type} version=""`);
  }

  #put(kind: MountKind, path: string, type: string, description: string, options: Record<string, string> | null): void {
    const accessor = `${kind === 'auth' ? 'auth_' : ''}${type}_${randomBytes(4).toString('hex')}`;
    const mount: Mount = { type, description, accessor, uuid: randomUUID(), options, local: type === 'cubbyhole' };
    this.#core.barrier.put(`core/${kind}`, { ...this.table(kind), [path]: mount });
  }

  remove(kind: MountKind, path: string): void {
    const at = `${path.replace(/\/$/, '')}/`;
    const { [at]: gone, ...rest } = this.table(kind);
    this.#core.barrier.put(`core/${kind}`, rest);
    for (const entry of gone ? this.#core.barrier.list(`logical/${gone.uuid}/`) : []) {
      this.#core.barrier.delete(`logical/${gone?.uuid}/${entry}`);
    }
  }

  find(kind: MountKind, path: string): { at: string; mount: Mount } | undefined {
    return Object.entries(this.table(kind))
      .map(([at, mount]) => ({ at, mount }))
      .find(({ at }) => path.startsWith(at) || `${path}/` === at);
  }

  shown(kind: MountKind): Record<string, unknown> {
    return Object.fromEntries(Object.entries(this.table(kind)).map(([path, mount]) => [path, this.describe(mount)]));
  }

  describe(mount: Mount): Record<string, unknown> {
    const { product, version } = this.#core.dialect;
    return {
      accessor: mount.accessor,
      config: {
        default_lease_ttl: 0,
        force_no_cache: false,
        max_lease_ttl: 0,
        ...(mount.type === 'token' ? { token_type: 'default-service' } : {}),
      },
      description: mount.description,
      external_entropy_access: false,
      local: mount.local,
      options: mount.options,
      plugin_version: '',
      running_plugin_version: `v${version}+builtin.${product === 'openbao' ? 'bao' : 'vault'}`,
      running_sha256: '',
      seal_wrap: mount.type === 'system',
      type: mount.type,
      uuid: mount.uuid,
    };
  }
}
