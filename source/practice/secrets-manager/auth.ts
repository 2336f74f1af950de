import { randomUUID } from 'node:crypto';
import { oneError, Refusal } from './answers.ts';
import type { Core } from './core.ts';
import { type Handled, namesOf, type Request, secondsOf } from './route.ts';
import { digestOf, type Token, type Tokens } from './tokens.ts';

/** `auth/token/...` */
export function answerTokens(tokens: Tokens, own: Token, request: Request): Handled {
  const call = request.path.slice('auth/token/'.length);
  const given = String(request.body['token'] ?? '');
  switch (call) {
    case 'lookup-self':
      return { data: tokens.shown(own) };
    case 'lookup': {
      const found = tokens.find(given === '' ? own.id : given);
      if (!found) throw new Refusal(403, 'bad token');
      return { data: tokens.shown(found) };
    }
    case 'renew-self':
      return { auth: tokens.granted(tokens.renew(own, secondsOf(request.body['increment']))) };
    case 'renew': {
      const found = tokens.find(given);
      if (!found) throw new Refusal(400, 'token not found');
      return { auth: tokens.granted(tokens.renew(found, secondsOf(request.body['increment']))) };
    }
    case 'revoke-self':
      tokens.revoke(own);
      return { status: 204 };
    case 'revoke': {
      const found = tokens.find(given);
      if (found) tokens.revoke(found);
      return { status: 204 };
    }
    case 'accessors':
      if (request.kind !== 'list') throw new Refusal(405, oneError('unsupported operation'));
      return { data: { keys: tokens.all().map((token) => token.accessor) } };
    case 'lookup-accessor':
    case 'revoke-accessor': {
      const found = tokens.all().find((token) => token.accessor === request.body['accessor']);
      if (call === 'lookup-accessor') {
        if (!found) throw new Refusal(400, oneError('invalid accessor'));
        return { data: { ...tokens.shown(found), id: '' } };
      }
      if (!found) return { warnings: ['No token found with this accessor'] };
      tokens.revoke(found);
      return { status: 204 };
    }
    case 'create':
    case 'create-orphan':
      return { auth: tokens.granted(create(tokens, own, request, call === 'create-orphan')) };
    default:
      throw new Refusal(404, oneError('unsupported path'));
  }
}

function create(tokens: Tokens, own: Token, request: Request, orphan: boolean): Token {
  const { body } = request;
  const isRoot = own.policies.includes('root');
  const wanted = namesOf(body['policies']);
  if (wanted.includes('root') && !isRoot) throw new Refusal(400, 'root tokens may not be created without parent token being root');
  if (!isRoot && wanted.some((name) => name !== 'default' && !own.policies.includes(name))) {
    throw new Refusal(400, 'child policies must be subset of parent');
  }
  const root = wanted.includes('root') || (wanted.length === 0 && isRoot);
  const policies = root ? ['root'] : [...new Set([...(wanted.length > 0 ? wanted : own.policies), 'default'])].sort();
  const ttl = secondsOf(body['ttl'] ?? body['period']);
  return tokens.create({
    policies,
    displayName: typeof body['display_name'] === 'string' ? `token-${body['display_name']}` : 'token',
    orphan: orphan || body['no_parent'] === true,
    parent: own.id,
    meta: (body['meta'] as Record<string, string> | undefined) ?? null,
    renewable: body['renewable'] !== false,
    ...(ttl === undefined ? (root ? { ttlSeconds: 0 } : {}) : { ttlSeconds: ttl }),
  });
}

interface Role {
  roleId: string;
  policies: string[];
  ttlSeconds: number;
  bindSecretId: boolean;
}

/** `auth/<mount>/role/...` of an AppRole mount. */
export function answerRoles(core: Core, store: string, path: string, request: Request): Handled {
  const [, name = '', what, call] = path.split('/');
  const at = `${store}/role/${name}`;
  if (name === '') {
    const keys = core.barrier.list(`${store}/role/`);
    if (request.kind !== 'list') throw new Refusal(405, oneError('unsupported operation'));
    if (keys.length === 0) throw new Refusal(404);
    return { data: { keys } };
  }
  const role = core.barrier.get<Role>(at);
  if (what === undefined && request.kind === 'write') {
    core.barrier.put(at, {
      roleId: role?.roleId ?? randomUUID(),
      policies: namesOf(request.body['token_policies'] ?? request.body['policies']),
      ttlSeconds: secondsOf(request.body['token_ttl']) ?? 0,
      bindSecretId: request.body['bind_secret_id'] !== false,
    } satisfies Role);
    return { status: 204 };
  }
  if (what === undefined && request.kind === 'delete') {
    core.barrier.delete(at);
    return { status: 204 };
  }
  if (!role) throw new Refusal(404);
  if (what === 'role-id') return { data: { role_id: role.roleId } };
  if (what === 'secret-id' && request.kind === 'write') {
    const secretId = randomUUID();
    const accessor = randomUUID();
    core.barrier.put(`${store}/secret-id/${digestOf(secretId)}`, { role: name, accessor });
    return { data: { secret_id: secretId, secret_id_accessor: accessor, secret_id_num_uses: 0, secret_id_ttl: 0 } };
  }
  if (what === 'secret-id' && request.kind === 'list') {
    const ids = core.barrier
      .list(`${store}/secret-id/`)
      .map((id) => core.barrier.get<{ role: string; accessor: string }>(`${store}/secret-id/${id}`));
    const keys = ids.flatMap((id) => (id?.role === name ? [id.accessor] : []));
    if (keys.length === 0) throw new Refusal(404);
    return { data: { keys } };
  }
  if (what === 'secret-id-accessor' && request.kind === 'write') {
    const accessor = String(request.body['secret_id_accessor'] ?? '');
    const at = core.barrier
      .list(`${store}/secret-id/`)
      .map((id) => `${store}/secret-id/${id}`)
      .find((each) => core.barrier.get<{ accessor: string }>(each)?.accessor === accessor);
    const missing = `failed to find accessor entry for secret_id_accessor: "${accessor}"`;
    if (call === 'lookup')
      return at
        ? { data: { secret_id_accessor: accessor, secret_id_num_uses: 0, secret_id_ttl: 0 } }
        : { status: 404, data: { error: missing } };
    if (!at) throw new Refusal(500, oneError(missing));
    core.barrier.delete(at);
    return { status: 204 };
  }
  if (what !== undefined) throw new Refusal(404, oneError('unsupported path'));
  return {
    data: {
      bind_secret_id: role.bindSecretId,
      local_secret_ids: false,
      secret_id_bound_cidrs: null,
      secret_id_num_uses: 0,
      secret_id_ttl: 0,
      token_bound_cidrs: [],
      token_explicit_max_ttl: 0,
      token_max_ttl: 0,
      token_no_default_policy: false,
      token_num_uses: 0,
      token_period: 0,
      token_policies: role.policies,
      token_ttl: role.ttlSeconds,
      token_type: 'default',
    },
  };
}

/** `auth/<mount>/login`, which needs no token: it gives one. */
export function login(core: Core, tokens: Tokens, mount: string, store: string, body: Record<string, unknown>): Handled {
  const { role_id: roleId, secret_id: secretId } = body;
  if (typeof roleId !== 'string' || roleId === '') throw new Refusal(500, 'missing role_id');
  const refused = new Refusal(400, 'invalid role or secret ID');
  const name = core.barrier.list(`${store}/role/`).find((each) => core.barrier.get<Role>(`${store}/role/${each}`)?.roleId === roleId);
  const role = name === undefined ? undefined : core.barrier.get<Role>(`${store}/role/${name}`);
  if (!role || name === undefined) throw refused;
  if (role.bindSecretId) {
    const known = typeof secretId === 'string' ? core.barrier.get<{ role: string }>(`${store}/secret-id/${digestOf(secretId)}`) : undefined;
    if (known?.role !== name) throw refused;
  }
  const token = tokens.create({
    policies: [...new Set([...role.policies, 'default'])].sort(),
    displayName: mount.replace(/\/$/, ''),
    path: `auth/${mount}login`,
    orphan: true,
    meta: { role_name: name },
    ...(role.ttlSeconds > 0 ? { ttlSeconds: role.ttlSeconds } : {}),
  });
  return { auth: tokens.granted(token) };
}
