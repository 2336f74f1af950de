import { cleanLine } from '../../../text/clean.ts';
import { type JsonObject, mapOf, objectsOf, textOf as plainText, timeOf, listOf as valuesOf } from '../../../text/json-value.ts';
import { maskedKey } from './mesh-keys.ts';

export type MeshUser = ReturnType<typeof userOf>;
export type MeshKey = ReturnType<typeof keyOf>;
export type MeshNode = ReturnType<typeof nodeOf>;
export type MeshApiKey = ReturnType<typeof apiKeyOf>;

export interface MeshRoutes {
  available: readonly string[];
  approved: readonly string[];
  serving: readonly string[];
  /** Ids of the routes. Before 0.26 each route has one. */
  numbers?: ReadonlyMap<string, string>;
}

/** The two exit routes, for all traffic out of the mesh: they are approved together. */
export const exitRoutes: readonly string[] = ['0.0.0.0/0', '::/0'];

/** The user name under which tagged nodes are listed. */
const nobody = 'tagged-devices';
const joinedBy: Readonly<Record<string, string>> = {
  REGISTER_METHOD_AUTH_KEY: 'a key',
  REGISTER_METHOD_CLI: 'by hand',
  REGISTER_METHOD_OIDC: 'OIDC',
};

export function listOf<T>(json: unknown, name: string, read: (record: JsonObject) => T): readonly T[] {
  return objectsOf(mapOf(json)[name]).map(read);
}

export function userOf(user: JsonObject) {
  return {
    id: textOf(user['id']),
    name: textOf(user['name']),
    displayName: textOf(user['displayName']),
    email: textOf(user['email']),
    /** `oidc` if an identity provider created the user, who then cannot be changed here. */
    provider: textOf(user['provider']),
    createdMs: timeOf(user['createdAt']),
  };
}

/** Parses a key. Up to 0.25 it contains the name of its user, later the user itself. */
export function keyOf(key: JsonObject) {
  return {
    id: textOf(key['id']),
    owner: ownerOf(key['user']),
    /** The visible part of the key: never the whole key. */
    masked: maskedKey(textOf(key['key'])),
    reusable: key['reusable'] === true,
    ephemeral: key['ephemeral'] === true,
    used: key['used'] === true,
    tags: textsOf(key['aclTags']),
    expiryMs: timeOf(key['expiration']),
    createdMs: timeOf(key['createdAt']),
  };
}

/** Parses a node. From 0.28 on it has `tags`; before, it has the forced tags and the valid ones that its client requested. */
export function nodeOf(node: JsonObject) {
  const tags: readonly string[] = [...new Set(textsOf(node['tags'] ?? [...valuesOf(node['forcedTags']), ...valuesOf(node['validTags'])]))];
  const routes: MeshRoutes | undefined = Array.isArray(node['availableRoutes'])
    ? { available: textsOf(node['availableRoutes']), approved: textsOf(node['approvedRoutes']), serving: textsOf(node['subnetRoutes']) }
    : undefined;
  return {
    id: textOf(node['id']),
    /** Name under which other nodes reach it. */
    name: textOf(node['givenName']) || textOf(node['name']),
    /** Host name that the node reports. */
    hostname: textOf(node['name']),
    owner: ownerOf(node['user']),
    addresses: textsOf(node['ipAddresses']),
    tags,
    online: node['online'] === true,
    lastSeenMs: timeOf(node['lastSeen']),
    /** When the node must log in again; undefined if never. */
    expiryMs: timeOf(node['expiry']),
    createdMs: timeOf(node['createdAt']),
    /** `a key`, `by hand`, `OIDC`, or empty. */
    joined: joinedBy[textOf(node['registerMethod'])] ?? '',
    /** Undefined if the server does not report them. */
    routes,
  };
}

export function apiKeyOf(key: JsonObject) {
  return {
    id: textOf(key['id']),
    /** Prefix under which the key is listed, which is not secret. */
    prefix: textOf(key['prefix']),
    expiryMs: timeOf(key['expiration']),
    createdMs: timeOf(key['createdAt']),
    lastSeenMs: timeOf(key['lastSeen']),
  };
}

/** Reads the routes of each node, by its id. Before 0.26 routes are listed separately, one by one. */
export function routesByNode(json: unknown): ReadonlyMap<string, MeshRoutes> {
  const rows = listOf(json, 'routes', (route) => ({
    node: textOf(mapOf(route['node'])['id']),
    number: textOf(route['id']),
    prefix: textOf(route['prefix']),
    advertised: route['advertised'] === true,
    enabled: route['enabled'] === true,
    isPrimary: route['isPrimary'] === true,
    online: mapOf(route['node'])['online'] === true,
  }));
  const byNode = Map.groupBy(rows, ({ node }) => node);
  return new Map(
    [...byNode].map(([id, all]): [string, MeshRoutes] => {
      const own = all.filter(({ advertised, enabled }) => advertised || enabled);
      const prefixes = (which: (row: (typeof own)[number]) => boolean) => own.filter(which).map(({ prefix }) => prefix);
      const routes = {
        available: prefixes(({ advertised }) => advertised),
        approved: prefixes(({ enabled }) => enabled),
        serving: prefixes((row) => row.advertised && row.enabled && (exitRoutes.includes(row.prefix) ? row.online : row.isPrimary)),
        numbers: new Map(own.map(({ prefix, number }) => [prefix, number])),
      };
      return [id, routes];
    }),
  );
}

export function waitingRoutes({ routes }: Pick<MeshNode, 'routes'>): readonly string[] {
  return routes ? routes.available.filter((route) => !routes.approved.includes(route)) : [];
}

function ownerOf(user: unknown): string {
  const name = typeof user === 'string' ? cleanLine(user) : textOf(mapOf(user)['name']);
  return name === nobody ? '' : name;
}

const textOf = (value: unknown): string => cleanLine(plainText(value));

function textsOf(value: unknown): readonly string[] {
  return valuesOf(value)
    .filter((one) => typeof one === 'string')
    .map(cleanLine);
}
