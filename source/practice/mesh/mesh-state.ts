import { randomBytes } from 'node:crypto';
import { MeshFault } from './mesh-fault.ts';
import { type Policy, type PolicyWorld, parsePolicy, runPolicyTests } from './policy.ts';
import { type Instant, instantOf, msOf, noTime } from './wire.ts';

export interface User {
  id: number;
  name: string;
  createdAt: Instant;
  displayName: string;
  email: string;
  providerId: string;
  provider: string;
  profilePicUrl: string;
}

export interface PreAuthKey {
  user: User | null;
  id: number;
  /** The whole key: shown at its creation only (from 0.28 on). */
  key: string;
  reusable: boolean;
  ephemeral: boolean;
  used: boolean;
  expiration: Instant;
  createdAt: Instant;
  aclTags: string[];
}

export interface Node {
  id: number;
  machineKey: string;
  nodeKey: string;
  discoKey: string;
  ipAddresses: string[];
  name: string;
  user: User | null;
  lastSeen: Instant;
  expiry: Instant | null;
  preAuthKey: PreAuthKey | null;
  createdAt: Instant;
  registerMethod: number;
  givenName: string;
  online: boolean;
  approvedRoutes: string[];
  availableRoutes: string[];
  tags: string[];
}

export interface ApiKey {
  id: number;
  prefix: string;
  secret: string;
  expiration: Instant;
  createdAt: Instant;
  lastSeen: Instant | null;
}

export type PolicyMode = 'database' | 'file';

/** What tagged nodes belong to in a list. */
export const taggedDevices: User = {
  id: 2_147_455_555,
  name: 'tagged-devices',
  createdAt: noTime,
  displayName: 'Tagged Devices',
  email: '',
  providerId: '',
  provider: '',
  profilePicUrl: '',
};

export const exitRoutes = ['0.0.0.0/0', '::/0'];

/** A route as versions until 0.25 count them. */
export interface NodeRoute {
  id: number;
  node: Node;
  prefix: string;
}

/** Users, nodes, keys and policy of one control server: its database. Refusals are worded as 0.29.2 words them. */
export class MeshState {
  readonly minor: number;
  readonly policyMode: PolicyMode;
  readonly #now: () => number;
  users: User[] = [];
  nodes: Node[] = [];
  preAuthKeys: PreAuthKey[] = [];
  apiKeys: ApiKey[] = [];
  policy: { text: string; updatedAt: Instant } | undefined;
  /** Nodes that wait for somebody to register them, by auth id. */
  readonly pending = new Map<string, Node>();
  log: (level: 'INF' | 'WRN' | 'ERR', text: string) => void = () => {};
  #ids = new Map<string, number>();
  readonly #routeIds = new Map<string, number>();

  constructor(minor: number, policyMode: PolicyMode, now: () => number) {
    this.minor = minor;
    this.policyMode = policyMode;
    this.#now = now;
  }

  time(): Instant {
    return instantOf(this.#now());
  }

  #nextId(of: string): number {
    const id = (this.#ids.get(of) ?? 0) + 1;
    this.#ids.set(of, id);
    return id;
  }

  createUser(wanted: { name?: string; displayName?: string; email?: string; pictureUrl?: string }): User {
    const { name = '', displayName = '', email = '', pictureUrl = '' } = wanted;
    if (this.users.some((user) => user.name === (name || String(user.id)))) {
      throw new MeshFault(13, 'creating user: creating user: constraint failed: UNIQUE constraint failed: users.name (2067)');
    }
    const id = this.#nextId('user');
    const user: User = {
      id,
      name: name === '' ? String(id) : name,
      createdAt: this.time(),
      displayName,
      email,
      providerId: '',
      provider: '',
      profilePicUrl: pictureUrl,
    };
    this.users.push(user);
    this.log('INF', `user created user.name=${name.includes(' ') ? JSON.stringify(name) : name}`);
    return user;
  }

  userById(id: number): User {
    const user = this.users.find((each) => each.id === id);
    if (!user) throw new MeshFault(2, 'user not found');
    return user;
  }

  userByName(name: string): User {
    const user = this.users.find((each) => each.name === name);
    if (!user) throw new MeshFault(2, 'user not found');
    return user;
  }

  renameUser(id: number, name: string): User {
    const user = this.userById(id);
    if (this.users.some((other) => other !== user && other.name === name)) {
      throw new MeshFault(2, 'updating user: constraint failed: UNIQUE constraint failed: users.name (2067)');
    }
    user.name = name;
    return user;
  }

  deleteUser(id: number): void {
    const user = this.userById(id);
    if (this.nodes.some((node) => node.user === user)) throw new MeshFault(2, 'user not empty: node(s) found');
    this.users = this.users.filter((other) => other !== user);
    this.preAuthKeys = this.preAuthKeys.filter((key) => key.user !== user);
  }

  createPreAuthKey(wanted: { user: number; reusable: boolean; ephemeral: boolean; expiration?: Instant; aclTags: string[] }): PreAuthKey {
    for (const tag of wanted.aclTags) checkTag(tag, 3);
    const user = wanted.user === 0 ? null : this.userById(wanted.user);
    if (!user && wanted.aclTags.length === 0) throw new MeshFault(2, 'auth-key must be either tagged or owned by user');
    const key: PreAuthKey = {
      user,
      id: this.#nextId('key'),
      key: this.minor >= 28 ? `hskey-auth-${token(9)}-${token(48)}` : randomBytes(24).toString('hex'),
      reusable: wanted.reusable,
      ephemeral: wanted.ephemeral,
      used: false,
      expiration: wanted.expiration ?? noTime,
      createdAt: this.time(),
      aclTags: wanted.aclTags,
    };
    this.preAuthKeys.push(key);
    return key;
  }

  /** Up to 0.29 one that does not exist expires as well. */
  expirePreAuthKey(id: number): void {
    const key = this.preAuthKeys.find((each) => each.id === id);
    if (key) key.expiration = this.time();
    else if (this.minor >= 30) throw new MeshFault(5, 'auth-key not found: record not found');
  }

  deletePreAuthKey(id: number): void {
    this.preAuthKeys = this.preAuthKeys.filter((key) => key.id !== id);
  }

  createApiKey(expiration: Instant): string {
    const [prefix, secret] = this.minor >= 28 ? [token(9), token(48)] : [token(5).slice(0, 7), token(32)];
    this.apiKeys.push({ id: this.#nextId('api'), prefix, secret, expiration, createdAt: this.time(), lastSeen: null });
    return this.minor >= 28 ? `hskey-api-${prefix}-${secret}` : `${prefix}.${secret}`;
  }

  /** Whether a bearer's key is one that is in force; otherwise the words for the log. */
  refusalOf(key: string): string | undefined {
    const head = 'hskey-api-';
    if (this.minor >= 28 && !key.startsWith(head)) return 'failed to parse ApiKey';
    const rest = this.minor >= 28 ? key.slice(head.length) : key;
    if (this.minor >= 28 && rest.length < 77) {
      return `failed to parse ApiKey: key too short, expected at least 77 chars after prefix, got ${rest.length}`;
    }
    const found = this.apiKeys.find((each) => rest === `${each.prefix}${this.minor >= 28 ? '-' : '.'}${each.secret}`);
    if (!found) return 'record not found';
    return found.expiration !== noTime && msOf(found.expiration) <= this.#now() ? 'API key expired' : undefined;
  }

  findApiKey({ id, prefix }: { id: number; prefix: string }): ApiKey {
    if (id !== 0 && prefix !== '') throw new MeshFault(3, 'provide either id or prefix, not both');
    if (id === 0 && prefix === '') throw new MeshFault(3, 'must provide id or prefix');
    const bare = prefix.replace(/^hskey-api-/, '').replace(/-\*\*\*$/, '');
    const key = this.apiKeys.find((each) => (id === 0 ? each.prefix === bare : each.id === id));
    if (!key) throw new MeshFault(2, 'record not found');
    return key;
  }

  node(id: number): Node | undefined {
    return this.nodes.find((each) => each.id === id);
  }

  /** @throws MeshFault in the words of calls that change a node */
  nodeToChange(id: number, code: 2 | 3 = 2): Node {
    const node = this.node(id);
    if (!node) throw new MeshFault(code, `node no longer exists in NodeStore: ${id}`);
    return node;
  }

  /** A node that asked to come in, and waits: `headscale debug create-node` makes one without a client. */
  addPending(wanted: { user: string; key: string; name: string; routes: string[] }): Node {
    const user = this.userByName(wanted.user);
    const authId = checkAuthId(wanted.key);
    const node = this.makeNode({ name: wanted.name, user, availableRoutes: wanted.routes });
    this.pending.set(authId, node);
    return node;
  }

  makeNode(wanted: Partial<Node> & { name: string }): Node {
    const node: Node = {
      id: 0,
      machineKey: `mkey:${randomBytes(32).toString('hex')}`,
      nodeKey: `nodekey:${randomBytes(32).toString('hex')}`,
      discoKey: `discokey:${'0'.repeat(64)}`,
      ipAddresses: [],
      user: null,
      lastSeen: noTime,
      expiry: noTime,
      preAuthKey: null,
      createdAt: noTime,
      registerMethod: 0,
      givenName: '',
      online: false,
      approvedRoutes: [],
      availableRoutes: [],
      tags: [],
      ...wanted,
    };
    return node;
  }

  register(authId: string, userName: string): Node {
    const id = checkAuthId(authId);
    const user = (() => {
      const found = this.users.find((each) => each.name === userName);
      if (!found) throw new MeshFault(2, 'looking up user: user not found');
      return found;
    })();
    const waiting = this.pending.get(id);
    if (!waiting) {
      this.log('ERR', 'failed to register node error="node not found in registration cache"');
      throw new MeshFault(2, 'node not found in registration cache');
    }
    this.pending.delete(id);
    // What the client had announced comes anew when it connects.
    const node = this.admit({ ...waiting, user, registerMethod: 2, availableRoutes: [] });
    this.log('INF', `node registered successfully node.id=${node.id} node.name=${node.name} user.name=${user.name}`);
    return node;
  }

  /** Gives a node its number, addresses and a name that nobody has. */
  admit(node: Node): Node {
    const id = this.#nextId('node');
    let givenName = node.name;
    for (let count = 1; this.nodes.some((other) => other.givenName === givenName); count++) givenName = `${node.name}-${count}`;
    const time = this.time();
    const addresses = [`100.64.${id >> 8}.${id & 255}`, `fd7a:115c:a1e0::${id.toString(16)}`];
    const admitted = { ...node, id, givenName, ipAddresses: addresses, createdAt: time, lastSeen: time };
    this.nodes.push(admitted);
    return admitted;
  }

  setTags(id: number, tags: string[]): Node {
    if (tags.length === 0) throw new MeshFault(3, 'cannot remove all tags from a node - tagged nodes must have at least one tag');
    for (const tag of tags) checkTag(tag, 2);
    const node = this.node(id);
    if (!node) throw new MeshFault(5, 'node not found');
    const known = this.#policyInForce()?.tagOwners ?? new Map();
    const strange = tags.filter((tag) => !known.has(tag));
    if (strange.length > 0) throw new MeshFault(3, `requested tags [${strange.join(' ')}] are invalid or not permitted`);
    node.tags = [...new Set(tags)].sort();
    node.user = null;
    return node;
  }

  approveRoutes(id: number, routes: string[]): Node {
    for (const route of routes) {
      if (!route.includes('/')) throw new MeshFault(2, `parsing route: netip.ParsePrefix(${JSON.stringify(route)}): no '/'`);
    }
    const node = this.nodeToChange(id, 3);
    const both = routes.flatMap((route) => (exitRoutes.includes(route) ? exitRoutes : [route]));
    node.approvedRoutes = [...new Set(both)].sort((a, b) => Number(a.includes(':')) - Number(b.includes(':')) || a.localeCompare(b));
    return node;
  }

  /** Numbered once and for all; what is not announced any more stays listed. */
  nodeRoutes(): NodeRoute[] {
    return this.nodes.flatMap((node) =>
      [...new Set([...node.availableRoutes, ...node.approvedRoutes])].map((prefix) => {
        const name = `${node.id} ${prefix}`;
        const id = this.#routeIds.get(name) ?? this.#nextId('route');
        this.#routeIds.set(name, id);
        return { id, node, prefix };
      }),
    );
  }

  /** Both ways out of the mesh are one. */
  enableRoute(id: number, enabled: boolean): void {
    const route = this.nodeRoutes().find((each) => each.id === id);
    if (!route) throw new MeshFault(2, 'record not found');
    const { node, prefix } = route;
    const meant = exitRoutes.includes(prefix) ? exitRoutes : [prefix];
    const missing = enabled ? meant.find((one) => !node.availableRoutes.includes(one)) : undefined;
    if (missing !== undefined)
      throw new MeshFault(2, `route (${node.name}) is not available on node ${missing}: route is not available on node`);
    const others = node.approvedRoutes.filter((one) => !meant.includes(one));
    node.approvedRoutes = enabled ? [...others, ...meant] : others;
  }

  /** What it really serves: approved, announced, and only while it is there. */
  routesOf(node: Node): string[] {
    return node.online ? node.approvedRoutes.filter((route) => node.availableRoutes.includes(route)) : [];
  }

  renameNode(id: number, name: string): Node {
    const node = this.nodeToChange(id);
    const strange = /[^A-Za-z0-9-]/.exec(name)?.[0];
    const reason = name === '' ? 'empty label' : strange ? `contains invalid character '${strange}'` : undefined;
    if (reason) {
      const quoted = JSON.stringify(name);
      throw new MeshFault(2, `renaming node: ${quoted} is not a valid DNS label: ${quoted} is not a valid DNS label: ${reason}`);
    }
    if (this.nodes.some((other) => other !== node && other.givenName === name)) throw new MeshFault(2, `node name is not unique: ${name}`);
    node.givenName = name;
    return node;
  }

  deleteNode(id: number): void {
    if (!this.node(id)) throw new MeshFault(5, 'node not found');
    this.nodes = this.nodes.filter((node) => node.id !== id);
  }

  expireNode(id: number, wanted: { disable: boolean; expiry?: Instant }): Node {
    if (wanted.disable && wanted.expiry !== undefined) throw new MeshFault(3, 'cannot set both disable_expiry and expiry');
    const node = this.nodeToChange(id);
    node.expiry = wanted.disable ? null : (wanted.expiry ?? this.time());
    if (node.expiry !== null && msOf(node.expiry) <= this.#now()) node.online = false;
    return node;
  }

  #world(): PolicyWorld {
    return { users: this.users, nodes: this.nodes };
  }

  #policyInForce(): Policy | undefined {
    return this.policy ? parsePolicy(this.policy.text) : undefined;
  }

  getPolicy(): { policy: string; updatedAt: Instant } {
    if (!this.policy) throw new MeshFault(2, 'loading ACL from database: acl policy not found');
    return { policy: this.policy.text, updatedAt: this.policy.updatedAt };
  }

  /** @throws MeshFault with the first thing that is wrong with it */
  checkPolicy(text: string): void {
    runPolicyTests(parsePolicy(text), this.#world());
  }

  setPolicy(text: string): { policy: string; updatedAt: Instant } {
    if (this.policyMode !== 'database') throw new MeshFault(2, "update is disabled for modes other than 'database'");
    try {
      this.checkPolicy(text);
    } catch (error) {
      throw error instanceof MeshFault ? new MeshFault(2, `setting policy: ${error.message}`) : error;
    }
    this.policy = { text, updatedAt: this.time() };
    return { policy: text, updatedAt: this.policy.updatedAt };
  }
}

/** As long as base64 of so many random bytes. */
function token(bytes: number): string {
  return randomBytes(bytes).toString('base64url');
}

function checkTag(tag: string, code: 2 | 3): void {
  if (!tag.startsWith('tag:')) throw new MeshFault(code, "tag must start with the string 'tag:'");
  if (tag.toLowerCase() !== tag) throw new MeshFault(code, 'tag should be lowercase');
  if (/\s/.test(tag)) throw new MeshFault(code, 'tags must not contain spaces');
}

const authHead = 'hskey-authreq-';

/** @throws MeshFault for what is no id of a waiting node */
export function checkAuthId(text: string): string {
  if (!text.startsWith(authHead)) throw new MeshFault(2, `auth ID has invalid prefix: expected prefix "${authHead}"`);
  if (text.length !== authHead.length + 24) throw new MeshFault(2, `auth ID has invalid length: expected 38, got ${text.length}`);
  return text;
}

export function newAuthId(): string {
  return authHead + token(18);
}
