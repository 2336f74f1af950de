import { flow, lazyFlows, resumableFlow } from '../../flows/flow.ts';

/** Time for which a key stays on the screen: it is shown only once, and a camera has to scan it. */
export const newKeySeconds = 120;

const expiration = (usual: string) => ({ expiration: { meaning: `validity: 12h, 30d (default: ${usual})`, value: 'DURATION' } });

const plain = { plain: { meaning: 'print only the key, for use in a pipe' } };

export const headscaleFlows = lazyFlows({ about: 'component', speaks: 'headscale' }, [
  resumableFlow('reveal', 'key', {
    title: 'Create a pre-auth key for a node',
    summary:
      'Creates a key that a node can use to join the mesh, and shows it once, as a command for the node and as a QR code. Keeps the key in the secret store until you remove it, unless you pass --no-keep.',
    flags: {
      user: { meaning: 'user that the node will belong to, or "none" if the node belongs to its tags', value: 'NAME' },
      tags: { meaning: 'tags of the node, such as tag:server,tag:media', value: 'TAGS' },
      reusable: { meaning: 'allow more than one node to join with the key' },
      ephemeral: { meaning: 'remove nodes that joined with the key when they go offline' },
      ...expiration('30d'),
      'no-keep': { meaning: 'do not save the key to the secret store' },
      ...plain,
    },
    load: async () => (await import('./mesh-key.ts')).key,
  }),
  flow('read', 'mesh nodes', {
    title: 'List mesh nodes',
    summary: 'Lists every node with its state, user, addresses, tags, login expiry, and routes waiting for approval.',
    load: async () => (await import('./mesh-lists.ts')).meshNodes,
  }),
  resumableFlow('destroy', 'mesh node', {
    title: 'Manage the routes, tags and expiry of a node',
    summary:
      'Approves the routes of a node, sets its tags or expiry, or expires, renames or deletes it. NODE is a name or an ID; ACTION is routes, tags, expire, expires, keep, rename or delete.',
    usage: '[NODE [ACTION [VALUE]]]',
    load: async () => (await import('./mesh-node.ts')).meshNode,
  }),
  resumableFlow('operate', 'mesh register', {
    title: 'Register a waiting node',
    summary:
      'Registers a node that is waiting for login. Requires the address, the command or the key that the client shows, and the user that the node will belong to.',
    usage: '[KEY]',
    flags: { user: { meaning: 'user of the node', value: 'NAME' } },
    load: async () => (await import('./mesh-node.ts')).meshRegister,
  }),
  flow('read', 'mesh users', {
    title: 'List mesh users',
    summary: 'Lists every user with the number of nodes and valid pre-auth keys.',
    load: async () => (await import('./mesh-lists.ts')).meshUsers,
  }),
  resumableFlow('destroy', 'mesh user', {
    title: 'Create, rename or delete a mesh user',
    summary:
      'Creates a user (create USER), renames one (rename USER NEW), or deletes one that has no nodes (delete USER). A user that the policy refers to cannot be renamed or deleted.',
    usage: '[ACTION [USER [NEW]]]',
    load: async () => (await import('./mesh-user.ts')).meshUser,
  }),
  flow('read', 'mesh keys', {
    title: 'List pre-auth keys',
    summary: 'Lists every pre-auth key without its secret part, with its user, its permissions, and whether it is valid, used or expired.',
    load: async () => (await import('./mesh-lists.ts')).meshKeys,
  }),
  resumableFlow('destroy', 'mesh expire-key', {
    title: 'Expire a pre-auth key',
    summary: 'Expires a pre-auth key, so that no more nodes can join with it. Nodes that have joined stay in the mesh.',
    usage: '[ID]',
    load: async () => (await import('./mesh-key.ts')).meshExpireKey,
  }),
  flow('read', 'mesh policy', {
    title: 'Show and check the mesh policy',
    summary:
      'Shows the current policy with its comments, errors with line and column, and the connections that are denied because no rule accepts them.',
    load: async () => (await import('./mesh-policy.ts')).meshPolicy,
  }),
  resumableFlow('operate', 'mesh edit-policy', {
    title: 'Edit the mesh policy',
    summary:
      'Opens the policy in your editor with its comments, checks your changes, shows the difference, sets the policy, and reads it back. With --stdin, reads the new policy from standard input.',
    flags: { stdin: { meaning: 'read the new policy from standard input' } },
    load: async () => (await import('./mesh-policy.ts')).meshEditPolicy,
  }),
  resumableFlow('operate', 'mesh access', {
    title: 'Set up access to the mesh control server',
    summary:
      'Creates an API key for this console with headscale in the container, tests the key, saves it to the secret store, and expires the previous key. With --give, uses an existing API key.',
    flags: {
      give: { meaning: 'use an existing key, entered at the prompt or passed with --answers' },
      renew: { meaning: 'create a new key even if the old one is still valid' },
      ...expiration('90d'),
    },
    load: async () => (await import('./mesh-api-key.ts')).meshAccess,
  }),
  flow('read', 'mesh api-keys', {
    title: 'List the API keys of the mesh control server',
    summary: 'Lists every API key without its secret part, and marks the key of this console.',
    load: async () => (await import('./mesh-lists.ts')).meshApiKeys,
  }),
  resumableFlow('destroy', 'mesh api-key', {
    title: 'Create or expire an API key of the mesh control server',
    summary:
      'Creates an API key for a program or the web UI and shows it once (create), or expires one (expire ID). An API key allows any change in the mesh.',
    usage: '[create|expire [ID]]',
    flags: { ...expiration('90d'), ...plain },
    load: async () => (await import('./mesh-api-key.ts')).meshApiKey,
  }),
]);
