import type { PracticeProduct, ProductSurroundings } from '../../../practice/practice.ts';
import { meshApi } from './api.ts';
import { runCommand } from './command.ts';
import { type MeshOptions, MeshState, type Node, newAuthId } from './mesh-state.ts';

export type Mesh = ReturnType<typeof createMesh>;

const dayMs = 86_400_000;
const newcomer = 'new-tablet';
const policyText = `// Who reaches what. What is not allowed here is denied.
{
  "groups": {
    "group:crew": ["captain@", "mate@"],
  },
  "tagOwners": {
    "tag:server": ["group:crew"],
    "tag:media": ["captain@"],
  },
  "acls": [
    // The crew reaches everything, guests only films.
    {"action": "accept", "src": ["group:crew"], "dst": ["*:*"]},
    {"action": "accept", "src": ["guest@"], "dst": ["tag:media:8096"]},
  ],
  "ssh": [
    {"action": "check", "src": ["group:crew"], "dst": ["tag:server"], "users": ["autogroup:nonroot"]},
  ],
}
`;

/** A mesh control server for practice. Answers of 0.29 follow a running 0.29.2, those of other versions reference/headscale.md. */
export function createMesh(options: MeshOptions = {}) {
  let surroundings: ProductSurroundings | undefined;
  const state = new MeshState(options);
  if (!options.empty) settleCrew(state);
  const apiKey = state.createApiKey(state.time(90 * dayMs));
  const pendingAuthId = options.empty ? undefined : newAuthId();
  state.log = (text, ms = Date.now(), level = 'INF') =>
    surroundings?.log(`${new Date(ms).toISOString().slice(0, 19)}Z ${level} ${text}`, 'stderr', ms);

  const product: PracticeProduct = {
    listeners: { 8080: meshApi(state) },
    start(given) {
      surroundings = given;
      state.unwell = false;
      // A client whose login was forgotten asks again.
      const joined = state.nodes.some((node) => node.name === newcomer);
      if (pendingAuthId && !joined) state.pending.set(pendingAuthId, newcomer);
      const { version, commit } = state.version;
      state.log('Opening database database=sqlite3 path=/var/lib/headscale/db.sqlite', given.startedMs);
      state.log(`starting headscale commit=${commit} version=${version}`, given.startedMs);
      for (const { id, name, online } of state.nodes)
        if (online) state.log(`node has connected node.id=${id} node.name=${name} node.online=true`, given.startedMs);
    },
    stop() {
      state.pending.clear();
      state.log('Headscale stopped');
      surroundings = undefined;
    },
    exec: (argv) => (/(?:^|\/)headscale$/.test(argv[0] ?? '') ? Promise.resolve(runCommand(state, argv)) : undefined),
    play(incident) {
      if (incident === 'mesh-database') {
        state.unwell = true;
        state.log('health check failed error="pinging database: sql: database is closed"', undefined, 'ERR');
      }
      const nas = state.nodes.find(({ givenName }) => givenName === 'nas');
      if (incident !== 'mesh-node-expired' || !nas) return;
      state.expireNode(nas);
      state.log(`node expired node.id=${nas.id} node.name=${nas.name} node.online=false`);
    },
  };
  /** The auth id is that of the node that waits to be registered; undefined in an empty mesh. Both are new in every practice stack. */
  return { product, apiKey, pendingAuthId };
}

/** A household's mesh: three people, six nodes of every kind, keys old and new, and a policy. */
function settleCrew(state: MeshState): void {
  const ago = (days: number) => state.time(-days * dayMs);
  const [captain, mate, guest] = [
    state.createUser({ name: 'captain', displayName: 'Captain', email: 'captain@example.com' }),
    state.createUser({ name: 'mate' }),
    state.createUser({ name: 'guest' }),
  ];
  for (const [at, days] of [400, 380, 60].entries()) Object.assign(state.users[at] ?? {}, { createdAt: ago(days) });
  const once = { reusable: false, ephemeral: false };
  const key = state.createPreAuthKey({ ...once, user: null, reusable: true, aclTags: ['tag:server'], expiration: ago(-21) });
  const spent = state.createPreAuthKey({ ...once, user: mate, aclTags: [], expiration: ago(299) });
  spent.used = true;
  const add = (name: string, days: number, wanted: Partial<Node>) =>
    state.admit({ name, createdAt: ago(days), registerMethod: 'REGISTER_METHOD_CLI', ...wanted });
  const byKey = 'REGISTER_METHOD_AUTH_KEY';
  const home = ['192.168.20.0/24'];
  add('bridge-laptop', 390, { user: captain, online: true, expiry: ago(-97) });
  add('galley-tablet', 300, { user: mate, online: true, preAuthKey: spent, registerMethod: byKey });
  add('nas', 200, {
    tags: ['tag:server'],
    online: true,
    preAuthKey: key,
    registerMethod: byKey,
    availableRoutes: home,
    approvedRoutes: home,
  });
  add('engine-room', 190, { tags: ['tag:media'], lastSeen: ago(3), availableRoutes: ['0.0.0.0/0', '::/0'] });
  add('old-phone', 380, { user: captain, lastSeen: ago(35), expiry: ago(14) });
  add('guest-phone', 20, { user: guest, online: true, expiry: ago(-12) });
  state.policy = { policy: policyText, updatedAt: ago(40) };
}
