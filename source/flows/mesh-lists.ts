import type { MeshKey, MeshNode } from '../products/headscale-things.ts';
import { waitingRoutes } from '../products/headscale-things.ts';
import { countText } from '../text/quantities.ts';
import { meshApiKeysAbout, meshKeysAbout, meshNodesAbout, meshUsersAbout } from './about-mesh.ts';
import type { Flow } from './flow.ts';
import { meshOf } from './mesh-session.ts';
import { apiKeyStanding, dateText, isPast, keyKind, keyStanding, nodeState, ownerText, routesText, untilText } from './mesh-words.ts';

const iso = (ms: number | undefined): string | null => (ms === undefined ? null : new Date(ms).toISOString());

export const meshNodes: Flow = {
  ...meshNodesAbout,
  async run(session, input, world) {
    const { client, target } = await meshOf(session, input, world);
    const nodes = await client.nodes(session.signal);
    const now = Date.now();
    if (nodes.length > 0) {
      session.show({
        kind: 'table',
        title: `Nodes of ${target.component.id}`,
        columns: ['Name', 'State', 'Owner', 'Address', 'Login ends', 'Routes', 'Number'],
        align: ['left', 'left', 'left', 'left', 'left', 'left', 'right'],
        rows: nodes.map((node) => [
          node.name,
          nodeState(node, now),
          ownerText(node),
          node.addresses[0] ?? '',
          untilText(node.expiryMs, now),
          routesText(node),
          node.id,
        ]),
      });
    }
    return { message: nodesSentence(target.component.id, nodes, now), data: { nodes: nodes.map((node) => nodeData(node, now)) } };
  },
};

function nodesSentence(id: string, nodes: readonly MeshNode[], now: number): string {
  if (nodes.length === 0) return `The mesh has no nodes yet. A key lets the first one in: quarterdeck key ${id}`;
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

function nodeData(node: MeshNode, now: number): object {
  const { id, name, hostname, owner, tags, addresses, online, joined, routes } = node;
  return {
    id,
    name,
    hostname,
    user: owner === '' ? null : owner,
    tags,
    addresses,
    online,
    expired: isPast(node.expiryMs, now),
    lastSeen: iso(node.lastSeenMs),
    expiresAt: iso(node.expiryMs),
    createdAt: iso(node.createdMs),
    joined,
    routes: routes ? { ...routes, waiting: waitingRoutes(node) } : null,
  };
}

export const meshUsers: Flow = {
  ...meshUsersAbout,
  async run(session, input, world) {
    const { client, target } = await meshOf(session, input, world);
    const users = await client.users(session.signal);
    const [nodes, keys] = [await client.nodes(session.signal), await client.keys(session.signal)];
    const now = Date.now();
    const told = users.map((user) => ({
      user,
      nodes: nodes.filter(({ owner }) => owner === user.name).length,
      keys: keys.filter((key) => key.owner === user.name && keyStanding(key, now) === 'valid').length,
    }));
    if (users.length > 0) {
      session.show({
        kind: 'table',
        title: `Users of ${target.component.id}`,
        columns: ['Name', 'Nodes', 'Valid keys', 'Called', 'Mail', 'From', 'Since', 'Number'],
        align: ['left', 'right', 'right', 'left', 'left', 'left', 'left', 'right'],
        rows: told.map(({ user, nodes: own, keys: open }) => [
          user.name,
          String(own),
          String(open),
          user.displayName,
          user.email,
          user.provider,
          dateText(user.createdMs),
          user.id,
        ]),
      });
    }
    return {
      message:
        users.length === 0
          ? `There are no users yet. Create the first one: quarterdeck mesh user ${target.component.id} create NAME`
          : `${countText(users.length, 'user')}.`,
      data: {
        users: told.map(({ user: { createdMs, ...user }, nodes: own, keys: open }) => ({
          ...user,
          createdAt: iso(createdMs),
          nodes: own,
          validKeys: open,
        })),
      },
    };
  },
};

export const meshKeys: Flow = {
  ...meshKeysAbout,
  async run(session, input, world) {
    const { client, target } = await meshOf(session, input, world);
    const keys = await client.keys(session.signal);
    const now = Date.now();
    if (keys.length > 0) {
      session.show({
        kind: 'table',
        title: `Pre-auth keys of ${target.component.id}`,
        columns: ['Number', 'State', 'Ends', 'Owner', 'May', 'Key'],
        align: ['right', 'left', 'left', 'left', 'left', 'left'],
        rows: keys.map((key) => [key.id, keyStanding(key, now), untilText(key.expiryMs, now), ownerText(key), keyKind(key), key.masked]),
      });
    }
    const valid = keys.filter((key) => keyStanding(key, now) === 'valid').length;
    return {
      message: keys.length === 0 ? 'There are no pre-auth keys.' : `${countText(keys.length, 'pre-auth key')}, ${valid} valid.`,
      data: { keys: keys.map((key) => keyData(key, now)) },
    };
  },
};

function keyData(key: MeshKey, now: number): object {
  const { id, owner, masked, reusable, ephemeral, used, tags } = key;
  return {
    id,
    key: masked,
    user: owner === '' ? null : owner,
    tags,
    reusable,
    ephemeral,
    used,
    state: keyStanding(key, now),
    expiresAt: iso(key.expiryMs),
    createdAt: iso(key.createdMs),
  };
}

export const meshApiKeys: Flow = {
  ...meshApiKeysAbout,
  async run(session, input, world) {
    const { client, target, ownKey } = await meshOf(session, input, world);
    const keys = await client.apiKeys(session.signal);
    const now = Date.now();
    session.show({
      kind: 'table',
      title: `API keys of ${target.component.id}`,
      columns: ['Number', 'State', 'Ends', 'Last used', 'Key', ''],
      align: ['right', 'left', 'left', 'left', 'left', 'left'],
      rows: keys.map((key) => [
        key.id,
        apiKeyStanding(key, now),
        untilText(key.expiryMs, now),
        untilText(key.lastSeenMs, now),
        key.prefix,
        key.id === ownKey?.id ? 'this console' : '',
      ]),
    });
    return {
      message: `${countText(keys.length, 'API key')}, ${keys.filter((key) => apiKeyStanding(key, now) === 'valid').length} valid.`,
      data: {
        keys: keys.map((key) => ({
          id: key.id,
          prefix: key.prefix,
          state: apiKeyStanding(key, now),
          expiresAt: iso(key.expiryMs),
          createdAt: iso(key.createdMs),
          lastSeen: iso(key.lastSeenMs),
          thisConsole: key.id === ownKey?.id,
        })),
      },
    };
  },
};
