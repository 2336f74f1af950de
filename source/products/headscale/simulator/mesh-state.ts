import { randomBytes } from 'node:crypto';
import { checkPolicy, tagsIn } from './policy.ts';

/** A refusal of the server: a gRPC code, and text. */
export class MeshFault extends Error {
  readonly code: 2 | 3 | 5 | 12 | 13;

  constructor(code: MeshFault['code'], message: string) {
    super(message);
    this.code = code;
  }
}

export type User = ReturnType<typeof newUser>;

type KeyFlags = Record<'reusable' | 'ephemeral' | 'used', boolean>;

export interface PreAuthKey extends KeyFlags, Record<'id' | 'key' | 'expiration' | 'createdAt', string> {
  user: User | null;
  aclTags: string[];
}

export type Node = ReturnType<typeof newNode>;

/** Go's zero time. */
export const noTime = '0001-01-01T00:00:00Z';
export const exitRoutes: readonly string[] = ['0.0.0.0/0', '::/0'];
const authIdForm = /^hskey-authreq-.{24}$/;

export type NodeRoute = ReturnType<MeshState['nodeRoutes']>[number];

export interface MeshOptions {
  /** Minor version of 0.x: 23 to 30. Default: 29. */
  minor?: number;
  /** Where the policy is stored; in `file` mode it cannot be set. */
  policyMode?: 'database' | 'file';
  /** Without users, nodes, keys and policy. */
  empty?: boolean;
}

const patches: Readonly<Record<number, number>> = { 24: 3, 25: 1, 26: 1, 27: 1, 29: 2 };

/** The database of a control server: users, nodes, keys and policy. Refusals have the words of 0.29.2. */
export class MeshState {
  readonly minor: number;
  readonly version;
  readonly #policyMode: MeshOptions['policyMode'];
  users: User[] = [];
  nodes: Node[] = [];
  preAuthKeys: PreAuthKey[] = [];
  apiKeys: { id: string; prefix: string; key: string; expiration: string; createdAt: string; lastSeen: null }[] = [];
  policy: { policy: string; updatedAt: string } | undefined;
  /** The database is unreachable. */
  unwell = false;
  /** Nodes that wait to be registered, by auth id. */
  readonly pending = new Map<string, string>();
  /** The time of the line is now by default. */
  log: (text: string, ms?: number, level?: string) => void = () => {};
  readonly #ids = new Map<string, number>();
  readonly #routeIds = new Map<string, string>();

  constructor({ minor = 29, policyMode = 'database' }: MeshOptions) {
    this.minor = minor;
    this.#policyMode = policyMode;
    this.version = {
      version: `v0.${minor}.${patches[minor] ?? 0}`,
      commit: randomBytes(20).toString('hex'),
      buildTime: '2026-08-11T09:12:44Z',
      go: { version: 'go1.26.4', os: 'linux', arch: 'amd64' },
      dirty: false,
    };
  }

  /** Returns the current time, or the time in so many milliseconds. */
  time(afterMs = 0): string {
    return new Date(Date.now() + afterMs).toISOString();
  }

  #nextId(kind: string): string {
    const id = (this.#ids.get(kind) ?? 0) + 1;
    this.#ids.set(kind, id);
    return String(id);
  }

  createUser({ name, displayName = '', email = '' }: { name: string; displayName?: string; email?: string }): User {
    if (this.users.some((user) => user.name === name)) throw new MeshFault(13, `creating user: creating user: ${notUnique}`);
    const user = newUser({ id: this.#nextId('user'), name, createdAt: this.time(), displayName, email });
    this.users.push(user);
    this.log(`user created user.name=${name}`);
    return user;
  }

  user(key: 'id' | 'name', value: unknown): User {
    const user = this.users.find((each) => each[key] === value);
    if (!user) throw new MeshFault(2, 'user not found');
    return user;
  }

  renameUser(user: User, name: string): User {
    if (this.users.some((other) => other !== user && other.name === name)) throw new MeshFault(2, `updating user: ${notUnique}`);
    user.name = name;
    return user;
  }

  deleteUser(user: User): void {
    if (this.nodes.some((node) => node.user === user)) throw new MeshFault(2, 'user not empty: node(s) found');
    this.users = this.users.filter((other) => other !== user);
    this.preAuthKeys = this.preAuthKeys.filter((key) => key.user !== user);
  }

  createPreAuthKey(wanted: Pick<PreAuthKey, 'user' | 'reusable' | 'ephemeral' | 'expiration' | 'aclTags'>): PreAuthKey {
    for (const tag of wanted.aclTags) if (!tag.startsWith('tag:')) throw new MeshFault(3, "tag must start with the string 'tag:'");
    if (!wanted.user && wanted.aclTags.length === 0) throw new MeshFault(2, 'auth-key must be either tagged or owned by user');
    const secret = this.minor >= 28 ? `hskey-auth-${token(9)}-${token(48)}` : randomBytes(24).toString('hex');
    const key = { ...wanted, id: this.#nextId('key'), key: secret, used: false, createdAt: this.time() };
    this.preAuthKeys.push(key);
    return key;
  }

  createApiKey(expiration: string): string {
    const prefix = this.minor >= 28 ? token(9) : token(5).slice(0, 7);
    const key = this.minor >= 28 ? `hskey-api-${prefix}-${token(48)}` : `${prefix}.${token(32)}`;
    this.apiKeys.push({ id: this.#nextId('api'), prefix, key, expiration, createdAt: this.time(), lastSeen: null });
    return key;
  }

  isApiKey(key: string): boolean {
    return this.apiKeys.some((each) => each.key === key && (each.expiration === noTime || each.expiration > this.time()));
  }

  /** Throws with the code and the words of the call. */
  node(id: string | undefined, code: 2 | 3 | 5 = 2): Node {
    const node = this.nodes.find((each) => each.id === id);
    if (!node) throw new MeshFault(code, code === 5 ? 'node not found' : `node no longer exists in NodeStore: ${id}`);
    return node;
  }

  deleteNode(id: string | undefined): void {
    const gone = this.node(id, 5);
    this.nodes = this.nodes.filter((node) => node !== gone);
  }

  register(authId: string, userName: string): Node {
    if (!authIdForm.test(authId)) throw new MeshFault(2, 'auth ID has invalid prefix: expected prefix "hskey-authreq-"');
    const user = this.users.find((each) => each.name === userName);
    if (!user) throw new MeshFault(2, 'looking up user: user not found');
    const name = this.pending.get(authId);
    if (name === undefined) throw new MeshFault(2, 'node not found in registration cache');
    this.pending.delete(authId);
    const node = this.admit({ name, user, registerMethod: 'REGISTER_METHOD_CLI', expiry: noTime });
    this.log(`node registered successfully node.id=${node.id} node.name=${node.name} user.name=${user.name}`);
    return node;
  }

  admit(wanted: Partial<Node> & { name: string }): Node {
    const id = this.#nextId('node');
    let givenName = wanted.name;
    for (let count = 1; this.nodes.some((other) => other.givenName === givenName); count++) givenName = `${wanted.name}-${count}`;
    const node = { ...newNode(id, this.time()), givenName, ...wanted };
    this.nodes.push(node);
    return node;
  }

  setTags(node: Node, tags: string[]): Node {
    if (tags.length === 0) throw new MeshFault(3, 'cannot remove all tags from a node - tagged nodes must have at least one tag');
    const known = tagsIn(this.policy?.policy ?? '');
    const unknown = tags.filter((tag) => !known.includes(tag));
    if (unknown.length > 0) throw new MeshFault(3, `requested tags [${unknown.join(' ')}] are invalid or not permitted`);
    return Object.assign(node, { tags: [...new Set(tags)].sort(), user: null });
  }

  /** The two exit routes are approved together. */
  approveRoutes(node: Node, routes: readonly string[]): Node {
    const all = routes.flatMap((route) => (exitRoutes.includes(route) ? exitRoutes : [route]));
    const isSix = (route: string) => Number(route.includes(':'));
    node.approvedRoutes = [...new Set(all)].sort((a, b) => isSix(a) - isSix(b) || a.localeCompare(b));
    return node;
  }

  /** Returns the routes that nodes offer, and those that are still approved. */
  nodeRoutes() {
    return this.nodes.flatMap((node) =>
      [...new Set([...node.availableRoutes, ...node.approvedRoutes])].map((prefix) => {
        const name = `${node.id} ${prefix}`;
        const id = this.#routeIds.get(name) ?? this.#nextId('route');
        this.#routeIds.set(name, id);
        return { id, node, prefix };
      }),
    );
  }

  /** Returns the routes in use. */
  routesOf(node: Node): string[] {
    return node.online ? node.approvedRoutes.filter((route) => node.availableRoutes.includes(route)) : [];
  }

  renameNode(node: Node, name: string): Node {
    if (!/^[A-Za-z0-9-]+$/.test(name)) throw new MeshFault(2, `renaming node: "${name}" is not a valid DNS label`);
    if (this.nodes.some((other) => other !== node && other.givenName === name)) throw new MeshFault(2, `node name is not unique: ${name}`);
    node.givenName = name;
    return node;
  }

  /** Sets the expiry; null for never. */
  expireNode(node: Node, expiry: string | null = this.time()): Node {
    node.expiry = expiry;
    if (node.online && expiry !== null && expiry <= this.time()) Object.assign(node, { online: false, lastSeen: this.time() });
    return node;
  }

  currentPolicy(): NonNullable<MeshState['policy']> {
    if (!this.policy) throw new MeshFault(2, 'loading ACL from database: acl policy not found');
    return this.policy;
  }

  setPolicy(policy: string): void {
    if (this.#policyMode !== 'database') throw new MeshFault(2, "update is disabled for modes other than 'database'");
    const fault = checkPolicy(policy);
    if (fault !== undefined) throw new MeshFault(2, `setting policy: ${fault}`);
    this.policy = { policy, updatedAt: this.time() };
  }
}

function newUser(wanted: Record<'id' | 'name' | 'createdAt' | 'displayName' | 'email', string>) {
  return { ...wanted, providerId: '', provider: '', profilePicUrl: '' };
}

function newNode(id: string, createdAt: string) {
  const random = () => randomBytes(32).toString('hex');
  return {
    id,
    machineKey: `mkey:${random()}`,
    nodeKey: `nodekey:${random()}`,
    discoKey: `discokey:${'0'.repeat(64)}`,
    ipAddresses: [`100.64.0.${id}`, `fd7a:115c:a1e0::${Number(id).toString(16)}`],
    name: '',
    user: null as User | null,
    lastSeen: createdAt,
    expiry: null as string | null,
    preAuthKey: null as PreAuthKey | null,
    createdAt,
    registerMethod: 'REGISTER_METHOD_AUTH_KEY',
    givenName: '',
    online: false,
    approvedRoutes: [] as string[],
    availableRoutes: [] as string[],
    tags: [] as string[],
  };
}

const notUnique = 'constraint failed: UNIQUE constraint failed: users.name (2067)';

function token(bytes: number): string {
  return randomBytes(bytes).toString('base64url');
}

export function newAuthId(): string {
  return `hskey-authreq-${token(18)}`;
}
