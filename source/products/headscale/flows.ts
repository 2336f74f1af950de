import { lazyFlows, resumable } from '../../flows/flow.ts';

/** Time for which a key stays on the screen: it is shown only once, and a camera has to scan it. */
export const newKeySeconds = 120;

const expiration = (usual: string) => ({
  expiration: { meaning: `how long it is valid: 12h, 30d (default: ${usual})`, value: 'DURATION' },
});

const change = resumable('operate');
const removal = resumable('destroy');
const plain = { plain: { meaning: 'the key alone, into a pipe' } };

export const headscaleFlows = lazyFlows({ about: 'component', speaks: 'headscale' }, [
  {
    verb: 'key',
    title: 'Make a pre-auth key for a node',
    summary:
      'Makes a key with which a node joins the mesh, and shows it once: as the line to run on the node, and as a code for a camera. It is kept among the secrets until it is removed there, unless you say otherwise.',
    ...resumable('reveal'),
    flags: {
      user: { meaning: 'whom the node will belong to; "none" for a key that belongs to its tags', value: 'NAME' },
      tags: { meaning: 'tags that the node gets: tag:server,tag:media', value: 'TAGS' },
      reusable: { meaning: 'more than one node may join with it' },
      ephemeral: { meaning: 'nodes that joined with it are removed when they go away' },
      ...expiration('30d'),
      'no-keep': { meaning: 'do not keep it among the secrets' },
      ...plain,
    },
    load: async () => (await import('./mesh-key.ts')).key,
  },
  {
    verb: 'mesh nodes',
    title: 'List the nodes of the mesh',
    summary:
      'Lists every node: whether it is there, whose it is, its addresses and tags, when it has to log in again, and routes that wait for approval.',
    right: 'read',
    load: async () => (await import('./mesh-lists.ts')).meshNodes,
  },
  {
    verb: 'mesh node',
    title: 'Change a node: routes, tags, expiry, delete',
    summary:
      'Goes through the nodes of the mesh and does with one what is needed: approve its routes, tag it, expire it, set when it expires, rename it, delete it. NODE is a name or a number; ACTION one of routes, tags, expire, expires, keep, rename, delete.',
    ...removal,
    usage: '[NODE [ACTION [VALUE]]]',
    load: async () => (await import('./mesh-node.ts')).meshNode,
  },
  {
    verb: 'mesh register',
    title: 'Register a node that waits',
    summary:
      'Lets in a node that was told to log in: takes what its client shows (the address, the command, or the key alone), and whose it is to be.',
    ...change,
    usage: '[KEY]',
    flags: { user: { meaning: 'whose node it will be', value: 'NAME' } },
    load: async () => (await import('./mesh-node.ts')).meshRegister,
  },
  {
    verb: 'mesh users',
    title: 'List the users of the mesh',
    summary: 'Lists every user with the number of their nodes and of the keys that are still valid.',
    right: 'read',
    load: async () => (await import('./mesh-lists.ts')).meshUsers,
  },
  {
    verb: 'mesh user',
    title: 'Create, rename or delete a user of the mesh',
    summary:
      'Creates a user (create USER), renames one (rename USER NEW), or deletes one that has no nodes (delete USER). A user that the policy names stays until the policy does not.',
    ...removal,
    usage: '[ACTION [USER [NEW]]]',
    load: async () => (await import('./mesh-user.ts')).meshUser,
  },
  {
    verb: 'mesh keys',
    title: 'List the pre-auth keys of the mesh',
    summary: 'Lists every pre-auth key without its secret part: whose it is, what it may, whether it is valid, used or expired.',
    right: 'read',
    load: async () => (await import('./mesh-lists.ts')).meshKeys,
  },
  {
    verb: 'mesh expire-key',
    title: 'Expire a pre-auth key',
    summary: 'From then on no node joins with the key. Nodes that joined with it stay.',
    ...removal,
    usage: '[ID]',
    load: async () => (await import('./mesh-key.ts')).meshExpireKey,
  },
  {
    verb: 'mesh policy',
    title: 'Show and check the policy of the mesh',
    summary:
      'Shows the policy in force with its comments, and what can be said of it: mistakes with line and column, and what is denied because no rule accepts it.',
    right: 'read',
    load: async () => (await import('./mesh-policy.ts')).meshPolicy,
  },
  {
    verb: 'mesh edit-policy',
    title: 'Edit the policy of the mesh',
    summary:
      'Opens the policy in your editor, comments and all, checks what you wrote, shows what would change, sets it, and reads it back. With --stdin the new policy is piped in.',
    ...change,
    flags: { stdin: { meaning: 'take the new policy from a pipe' } },
    load: async () => (await import('./mesh-policy.ts')).meshEditPolicy,
  },
  {
    verb: 'mesh access',
    title: 'Let this console into the mesh control server',
    summary:
      'Makes an API key for this console with the command of the server, in its container, tries it, and keeps it among the secrets. One that it had before is expired. With --give it takes a key that you have.',
    ...change,
    flags: {
      give: { meaning: 'take a key that you have: typed, or piped in as an answer' },
      renew: { meaning: 'make a new one although the old one is still good' },
      ...expiration('90d'),
    },
    load: async () => (await import('./mesh-api-key.ts')).meshAccess,
  },
  {
    verb: 'mesh api-keys',
    title: 'List the API keys of the mesh control server',
    summary: 'Lists every API key without its secret part, with the one of this console marked.',
    right: 'read',
    load: async () => (await import('./mesh-lists.ts')).meshApiKeys,
  },
  {
    verb: 'mesh api-key',
    title: 'Make or expire an API key of the mesh control server',
    summary:
      'Makes an API key for a program or the web page and shows it once (create), or expires one (expire ID). Whoever has one may change everything in the mesh.',
    ...removal,
    usage: '[create|expire [ID]]',
    flags: { ...expiration('90d'), ...plain },
    load: async () => (await import('./mesh-api-key.ts')).meshApiKey,
  },
]);
