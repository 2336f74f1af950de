import { cleanLine } from '../text/clean.ts';
import { type JsonObject, objectOf, textOf as plainText, listOf as valuesOf } from '../text/json-value.ts';
import { maskedKey } from './mesh-keys.ts';

/** Whom nodes belong to. */
export interface MeshUser {
  id: string;
  name: string;
  displayName: string;
  email: string;
  /** `oidc` where an identity provider made it; it cannot be changed here then. */
  provider: string;
  createdMs: number | undefined;
}

/** With which nodes join. */
export interface MeshKey {
  id: string;
  /** Name of the user; empty where the key belongs to its tags. */
  owner: string;
  /** As far as it may be seen: never the whole key. */
  masked: string;
  reusable: boolean;
  ephemeral: boolean;
  used: boolean;
  tags: readonly string[];
  /** Undefined: never. */
  expiryMs: number | undefined;
  createdMs: number | undefined;
}

export interface MeshNode {
  id: string;
  /** Under which others reach it. */
  name: string;
  /** As it calls itself. */
  hostname: string;
  /** Name of the user; empty where it belongs to its tags. */
  owner: string;
  addresses: readonly string[];
  tags: readonly string[];
  online: boolean;
  lastSeenMs: number | undefined;
  /** When it has to log in again; undefined: never. */
  expiryMs: number | undefined;
  createdMs: number | undefined;
  /** `a key`, `by hand`, `OIDC`, or empty. */
  joined: string;
  /** What it offers to lead to, what of that was approved, and what it leads to now. Undefined where nothing tells. */
  routes: MeshRoutes | undefined;
}

export interface MeshRoutes {
  available: readonly string[];
  approved: readonly string[];
  serving: readonly string[];
  /** Before 0.26 each route has a number of its own. */
  numbers?: ReadonlyMap<string, string>;
}

export interface MeshApiKey {
  id: string;
  /** As it is listed: no secret. */
  prefix: string;
  expiryMs: number | undefined;
  createdMs: number | undefined;
  lastSeenMs: number | undefined;
}

/** Both ways out of the mesh to everywhere: approved together. */
export const exitRoutes: readonly string[] = ['0.0.0.0/0', '::/0'];

/** The user that tagged nodes are listed under. */
const nobody = 'tagged-devices';
const joinedBy: Readonly<Record<string, string>> = {
  REGISTER_METHOD_AUTH_KEY: 'a key',
  REGISTER_METHOD_CLI: 'by hand',
  REGISTER_METHOD_OIDC: 'OIDC',
};

/** What the server lists under a name, one by one; what is none is left out. */
export function listOf<T>(json: unknown, name: string, read: (told: JsonObject) => T): readonly T[] {
  return valuesOf(told(json)[name]).flatMap((one) => {
    const thing = objectOf(one);
    return thing ? [read(thing)] : [];
  });
}

export function told(json: unknown): JsonObject {
  return objectOf(json) ?? {};
}

export function userOf(user: JsonObject): MeshUser {
  return {
    id: textOf(user['id']),
    name: textOf(user['name']),
    displayName: textOf(user['displayName']),
    email: textOf(user['email']),
    provider: textOf(user['provider']),
    createdMs: timeOf(user['createdAt']),
  };
}

/** Up to 0.25 a key names its user, afterwards it holds it. */
export function keyOf(key: JsonObject): MeshKey {
  return {
    id: textOf(key['id']),
    owner: ownerOf(key['user']),
    masked: maskedKey(textOf(key['key'])),
    reusable: key['reusable'] === true,
    ephemeral: key['ephemeral'] === true,
    used: key['used'] === true,
    tags: textsOf(key['aclTags']),
    expiryMs: timeOf(key['expiration']),
    createdMs: timeOf(key['createdAt']),
  };
}

/** From 0.28 on a node has `tags`; before, those that were set and those that its client asked for and may have. */
export function nodeOf(node: JsonObject): MeshNode {
  const tags = textsOf(node['tags'] ?? [...valuesOf(node['forcedTags']), ...valuesOf(node['validTags'])]);
  const isTold = Array.isArray(node['availableRoutes']);
  return {
    id: textOf(node['id']),
    name: textOf(node['givenName']) || textOf(node['name']),
    hostname: textOf(node['name']),
    owner: ownerOf(node['user']),
    addresses: textsOf(node['ipAddresses']),
    tags: [...new Set(tags)],
    online: node['online'] === true,
    lastSeenMs: timeOf(node['lastSeen']),
    expiryMs: timeOf(node['expiry']),
    createdMs: timeOf(node['createdAt']),
    joined: joinedBy[textOf(node['registerMethod'])] ?? '',
    routes: isTold
      ? { available: textsOf(node['availableRoutes']), approved: textsOf(node['approvedRoutes']), serving: textsOf(node['subnetRoutes']) }
      : undefined,
  };
}

export function apiKeyOf(key: JsonObject): MeshApiKey {
  return {
    id: textOf(key['id']),
    prefix: textOf(key['prefix']),
    expiryMs: timeOf(key['expiration']),
    createdMs: timeOf(key['createdAt']),
    lastSeenMs: timeOf(key['lastSeen']),
  };
}

/** Before 0.26 routes are told by themselves, one by one: those of each node, by its number. */
export function routesByNode(json: unknown): ReadonlyMap<string, MeshRoutes> {
  const rows = listOf(json, 'routes', (route) => ({
    node: textOf(told(route['node'])['id']),
    number: textOf(route['id']),
    prefix: textOf(route['prefix']),
    advertised: route['advertised'] === true,
    enabled: route['enabled'] === true,
    isPrimary: route['isPrimary'] === true,
    online: told(route['node'])['online'] === true,
  }));
  const nodes = [...new Set(rows.map(({ node }) => node))];
  return new Map(
    nodes.map((id): [string, MeshRoutes] => {
      const own = rows.filter(({ node, advertised, enabled }) => node === id && (advertised || enabled));
      const prefixes = (which: (row: (typeof own)[number]) => boolean) => own.filter(which).map(({ prefix }) => prefix);
      const leads = (row: (typeof own)[number]) =>
        row.advertised && row.enabled && (exitRoutes.includes(row.prefix) ? row.online : row.isPrimary);
      return [
        id,
        {
          available: prefixes(({ advertised }) => advertised),
          approved: prefixes(({ enabled }) => enabled),
          serving: prefixes(leads),
          numbers: new Map(own.map(({ prefix, number }) => [prefix, number])),
        },
      ];
    }),
  );
}

/** What it offers and nobody has approved yet. */
export function waitingRoutes({ routes }: MeshNode): readonly string[] {
  return routes ? routes.available.filter((route) => !routes.approved.includes(route)) : [];
}

/** Go's first day of the year one stands for "not set". */
export function timeOf(text: unknown): number | undefined {
  if (typeof text !== 'string') return undefined;
  const ms = Date.parse(text);
  return Number.isNaN(ms) || ms < 0 ? undefined : ms;
}

function ownerOf(user: unknown): string {
  const name = typeof user === 'string' ? cleanLine(user) : textOf(told(user)['name']);
  return name === nobody ? '' : name;
}

function textOf(value: unknown): string {
  return cleanLine(plainText(value));
}

function textsOf(value: unknown): readonly string[] {
  return valuesOf(value)
    .filter((one) => typeof one === 'string')
    .map(cleanLine);
}
