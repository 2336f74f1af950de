import { type Columns, jsonTime, showList } from '../../flows/list-table.ts';
import { countText, dateText } from '../../text/quantities.ts';
import { type MeshApiKey, type MeshKey, type MeshNode, waitingRoutes } from './client/headscale-records.ts';
import { onMesh } from './mesh-session.ts';
import { apiKeyStatus, isPast, keyKind, keyStatus, nodeState, ownerText, routesText, untilText } from './mesh-words.ts';

export const meshNodes = onMesh(async ({ session, client, target }) => {
  const nodes = await client.nodes(session.signal);
  const now = Date.now();
  const columns: Columns<MeshNode> = {
    NAME: ({ name }) => name,
    STATE: (node) => nodeState(node, now),
    OWNER: ownerText,
    ADDRESS: ({ addresses }) => addresses[0] ?? '',
    'LOGIN ENDS': ({ expiryMs }) => untilText(expiryMs, now),
    ROUTES: routesText,
    ID: ({ id }) => id,
  };
  showList(session, nodes, columns, { title: `Nodes of ${target.component.id}`, right: ['ID'] });
  return { message: nodesSentence(target.component.id, nodes, now), data: { nodes: nodes.map((node) => nodeData(node, now)) } };
});

function nodesSentence(id: string, nodes: readonly MeshNode[], now: number): string {
  if (nodes.length === 0) return `The mesh has no nodes yet. To create a key for the first node: quarterdeck key ${id}`;
  const online = nodes.filter(({ online: isOnline }) => isOnline).length;
  const expired = nodes.filter(({ expiryMs }) => isPast(expiryMs, now)).length;
  const waiting = nodes.filter((node) => waitingRoutes(node).length > 0).length;
  const parts = [
    countText(nodes.length, 'node'),
    `${online} online`,
    ...(expired > 0 ? [`${expired} expired`] : []),
    ...(waiting > 0 ? [`${waiting} with routes to approve`] : []),
  ];
  return `${parts.join(', ')}.`;
}

function nodeData({ owner, expiryMs, lastSeenMs, createdMs, ...node }: MeshNode, now: number): object {
  return {
    ...node,
    user: owner === '' ? null : owner,
    expired: isPast(expiryMs, now),
    lastSeen: jsonTime(lastSeenMs),
    expiresAt: jsonTime(expiryMs),
    createdAt: jsonTime(createdMs),
    routes: node.routes ? { ...node.routes, waiting: waitingRoutes(node) } : null,
  };
}

export const meshUsers = onMesh(async ({ session, client, target }) => {
  const users = await client.users(session.signal);
  const [nodes, keys] = [await client.nodes(session.signal), await client.keys(session.signal)];
  const now = Date.now();
  const reported = users.map((user) => ({
    user,
    nodes: nodes.filter(({ owner }) => owner === user.name).length,
    keys: keys.filter((key) => key.owner === user.name && keyStatus(key, now) === 'valid').length,
  }));
  const columns: Columns<(typeof reported)[number]> = {
    NAME: ({ user }) => user.name,
    NODES: (one) => String(one.nodes),
    'VALID KEYS': (one) => String(one.keys),
    'FULL NAME': ({ user }) => user.displayName,
    EMAIL: ({ user }) => user.email,
    FROM: ({ user }) => user.provider,
    CREATED: ({ user }) => (user.createdMs === undefined ? '' : dateText(user.createdMs)),
    ID: ({ user }) => user.id,
  };
  showList(session, reported, columns, { title: `Users of ${target.component.id}`, right: ['NODES', 'VALID KEYS', 'ID'] });
  return {
    message:
      users.length === 0
        ? `No users yet. To create one: quarterdeck mesh user ${target.component.id} create NAME`
        : `${countText(users.length, 'user')}.`,
    data: {
      users: reported.map(({ user: { createdMs, ...user }, nodes: own, keys: open }) => ({
        ...user,
        createdAt: jsonTime(createdMs),
        nodes: own,
        validKeys: open,
      })),
    },
  };
});

export const meshKeys = onMesh(async ({ session, client, target }) => {
  const keys = await client.keys(session.signal);
  const now = Date.now();
  const columns: Columns<MeshKey> = {
    ID: ({ id }) => id,
    STATE: (key) => keyStatus(key, now),
    EXPIRES: ({ expiryMs }) => untilText(expiryMs, now),
    OWNER: ownerText,
    KIND: keyKind,
    KEY: ({ masked }) => masked,
  };
  showList(session, keys, columns, { title: `Pre-auth keys of ${target.component.id}`, right: ['ID'] });
  const valid = keys.filter((key) => keyStatus(key, now) === 'valid').length;
  return {
    message: keys.length === 0 ? 'No pre-auth keys.' : `${countText(keys.length, 'pre-auth key')}, ${valid} valid.`,
    data: { keys: keys.map((key) => keyData(key, now)) },
  };
});

function keyData(key: MeshKey, now: number): object {
  const { owner, masked, expiryMs, createdMs, ...rest } = key;
  return {
    ...rest,
    key: masked,
    user: owner === '' ? null : owner,
    state: keyStatus(key, now),
    expiresAt: jsonTime(expiryMs),
    createdAt: jsonTime(createdMs),
  };
}

export const meshApiKeys = onMesh(async ({ session, client, target, ownKey }) => {
  const keys = await client.apiKeys(session.signal);
  const now = Date.now();
  const columns: Columns<MeshApiKey> = {
    ID: ({ id }) => id,
    STATE: (key) => apiKeyStatus(key, now),
    EXPIRES: ({ expiryMs }) => untilText(expiryMs, now),
    'LAST USED': ({ lastSeenMs }) => untilText(lastSeenMs, now),
    KEY: ({ prefix }) => prefix,
    '': ({ id }) => (id === ownKey?.id ? 'this console' : ''),
  };
  showList(session, keys, columns, { title: `API keys of ${target.component.id}`, right: ['ID'] });
  return {
    message: `${countText(keys.length, 'API key')}, ${keys.filter((key) => apiKeyStatus(key, now) === 'valid').length} valid.`,
    data: {
      keys: keys.map((key) => ({
        id: key.id,
        prefix: key.prefix,
        state: apiKeyStatus(key, now),
        expiresAt: jsonTime(key.expiryMs),
        createdAt: jsonTime(key.createdMs),
        lastSeen: jsonTime(key.lastSeenMs),
        thisConsole: key.id === ownKey?.id,
      })),
    },
  };
});
