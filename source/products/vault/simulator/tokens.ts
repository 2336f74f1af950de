import { randomBytes, randomUUID } from 'node:crypto';
import { type Body, done, type Handled, listed, namesOf, oneError, Refusal, type Request, secondsOf, unsupportedPath } from './answers.ts';
import type { Core } from './core.ts';
import type { Mount } from './mounts.ts';
import { capabilitiesFor, policyOf } from './policies.ts';

export type Token = ReturnType<typeof newToken>;

export interface Role {
  roleId: string;
  policies: string[];
  ttlSeconds: number;
  /** Secret ids, by accessor. */
  secretIds: Record<string, string>;
}

const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
/** 32 days, the default of the real server. */
const usualSeconds = 2_764_800;

export function randomLetters(count: number): string {
  return [...randomBytes(count)].map((byte) => letters[byte % letters.length]).join('');
}

function newToken(prefix: string) {
  return {
    id: `${prefix}${randomLetters(24)}`,
    accessor: randomLetters(24),
    policies: ['root'],
    createdMs: Date.now(),
    /** 0 if it never expires. */
    ttlSeconds: usualSeconds,
    displayName: 'token',
    path: 'auth/token/create',
    orphan: false,
    renewable: true,
    meta: null as Record<string, string> | null,
    /** The token that created it. */
    parent: '',
  };
}

function createToken({ dialect, storage }: Core, wanted: Partial<Token>): Token {
  const token = { ...newToken(dialect.product === 'openbao' ? 's.' : 'hvs.'), ...wanted };
  storage.state.tokens[token.id] = token;
  return token;
}

export function createRoot(core: Core): Token {
  return createToken(core, { ttlSeconds: 0, displayName: 'root', path: 'auth/token/root', orphan: true });
}

const expiresMs = ({ createdMs, ttlSeconds }: Token) => (ttlSeconds > 0 ? createdMs + ttlSeconds * 1000 : Infinity);

export function findToken(core: Core, id: string): Token | undefined {
  const token = core.storage.state.tokens[id];
  if (!token || expiresMs(token) > Date.now()) return token;
  revoke(core, token);
  return undefined;
}

/** Revokes a token and the tokens that were created with it. */
function revoke(core: Core, { id }: Token): void {
  const { tokens } = core.storage.state;
  delete tokens[id];
  for (const child of Object.values(tokens)) if (child.parent === id && !child.orphan) revoke(core, child);
}

export function capabilitiesOf(core: Core, { policies }: Token, path: string): string[] {
  if (policies.includes('root')) return ['root'];
  return capabilitiesFor(
    policies.map((name) => policyOf(core, name) ?? ''),
    path,
  );
}

/** The answer to `lookup`: the token itself is in it. */
function shown(token: Token): Body {
  const endMs = expiresMs(token);
  return {
    accessor: token.accessor,
    display_name: token.displayName,
    expire_time: token.ttlSeconds > 0 ? new Date(endMs).toISOString() : null,
    id: token.id,
    meta: token.meta,
    num_uses: 0,
    orphan: token.orphan,
    path: token.path,
    policies: token.policies,
    ...(token.ttlSeconds > 0 && { renewable: token.renewable }),
    ttl: token.ttlSeconds > 0 ? Math.floor((endMs - Date.now()) / 1000) : 0,
    type: 'service',
  };
}

function granted(token: Token): Handled {
  const auth = {
    client_token: token.id,
    accessor: token.accessor,
    policies: token.policies,
    metadata: token.meta,
    lease_duration: token.ttlSeconds,
    renewable: token.renewable,
    orphan: token.orphan,
  };
  return { auth };
}

/** `auth/token/...` */
export function answerTokens(core: Core, own: Token, { path, body }: Request): Handled {
  const call = path.slice('auth/token/'.length);
  const all = Object.keys(core.storage.state.tokens).flatMap((id) => findToken(core, id) ?? []);
  const behind = all.find(({ accessor }) => accessor === body['accessor']);
  switch (call) {
    case 'lookup-self':
      return { data: shown(own) };
    case 'accessors':
      return listed(all.map(({ accessor }) => accessor));
    case 'lookup-accessor':
      if (!behind) throw new Refusal(400, oneError('invalid accessor'));
      return { data: { ...shown(behind), id: '' } };
    case 'revoke-self':
    case 'revoke-accessor': {
      const revoked = call === 'revoke-self' ? own : behind;
      if (!revoked) return { warnings: ['No token found with this accessor'] };
      revoke(core, revoked);
      return done;
    }
    case 'create':
    case 'create-orphan':
      return granted(create(core, own, body, call === 'create-orphan'));
    default:
      throw unsupportedPath();
  }
}

function create(core: Core, own: Token, body: Body, orphan: boolean): Token {
  const isRoot = own.policies.includes('root');
  const wanted = namesOf(body['policies']);
  if (!isRoot && wanted.some((name) => name !== 'default' && !own.policies.includes(name)))
    throw new Refusal(400, 'child policies must be subset of parent');
  const root = wanted.includes('root') || (wanted.length === 0 && isRoot);
  return createToken(core, {
    policies: root ? ['root'] : [...new Set([...wanted, 'default'])].sort(),
    displayName: body['display_name'] === undefined ? 'token' : `token-${body['display_name']}`,
    orphan,
    parent: own.id,
    renewable: body['renewable'] !== false,
    ttlSeconds: secondsOf(body['ttl'] ?? body['period']) ?? (root ? 0 : usualSeconds),
  });
}

/** `auth/<mount>/role/...` of AppRole. */
export function answerRoles({ roles = {} }: Mount, path: string, { kind, body }: Request): Handled {
  const [, name = '', call = ''] = path.split('/');
  const role = roles[name];
  if (call === '' && kind === 'write') {
    roles[name] = {
      roleId: role?.roleId ?? randomUUID(),
      policies: namesOf(body['token_policies']),
      ttlSeconds: secondsOf(body['token_ttl']) ?? usualSeconds,
      secretIds: role?.secretIds ?? {},
    };
    return done;
  }
  if (!role) throw new Refusal(404);
  switch (`${kind} ${call}`) {
    case 'read ':
      return { data: { bind_secret_id: true, token_policies: role.policies, token_ttl: role.ttlSeconds } };
    case 'read role-id':
      return { data: { role_id: role.roleId } };
    case 'write secret-id': {
      const [secretId, accessor] = [randomUUID(), randomUUID()];
      role.secretIds[accessor] = secretId;
      return { data: { secret_id: secretId, secret_id_accessor: accessor, secret_id_num_uses: 0, secret_id_ttl: 0 } };
    }
    case 'list secret-id':
      return listed(Object.keys(role.secretIds));
    case 'write secret-id-accessor': {
      const accessor = String(body['secret_id_accessor']);
      if (!(accessor in role.secretIds))
        throw new Refusal(500, oneError(`failed to find accessor entry for secret_id_accessor: "${accessor}"`));
      delete role.secretIds[accessor];
      return done;
    }
    default:
      throw unsupportedPath();
  }
}

/** `auth/<mount>/login`, which requires no token. */
export function logIn(core: Core, path: string, { roles = {} }: Mount, { role_id: roleId, secret_id: secretId }: Body): Handled {
  const [name, role] = Object.entries(roles).find(([, each]) => each.roleId === roleId) ?? [];
  if (!role || !Object.values(role.secretIds).some((each) => each === secretId)) throw new Refusal(400, 'invalid role or secret ID');
  const token = createToken(core, {
    policies: [...new Set([...role.policies, 'default'])].sort(),
    displayName: path.split('/')[1] ?? '',
    path,
    orphan: true,
    meta: { role_name: name ?? '' },
    ttlSeconds: role.ttlSeconds,
  });
  return granted(token);
}
