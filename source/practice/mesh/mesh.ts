import { randomBytes } from 'node:crypto';
import type { PracticeProduct, ProductSurroundings } from '../practice.ts';
import { runCommand } from './command.ts';
import { MeshState, type Node, newAuthId, type PolicyMode } from './mesh-state.ts';
import { Rest, type VersionInfo } from './rest.ts';
import { instantOf } from './wire.ts';

export interface MeshOptions {
  /** Which minor version of 0.x is spoken: 23 to 30; 29 where nothing is said. */
  minor?: number;
  /** Where the policy lives; in `file` mode it cannot be set. */
  policyMode?: PolicyMode;
  /** Without users, nodes, keys and policy. */
  empty?: boolean;
}

export interface Mesh {
  readonly product: PracticeProduct;
  /** Opens the API; made anew with every practice stack. */
  readonly apiKey: string;
  /** Under which a node waits to be registered; none in an empty mesh. */
  readonly pendingAuthId: string | undefined;
  /** Makes a node wait for registration, as a client would that was told to log in. Gives the auth id. */
  knock(name: string, user: string): string;
}

const dayMs = 86_400_000;
const heartbeatMs = 20_000;
const newcomer = 'new-tablet';
const patches: Record<number, string> = {
  23: '0.23.0',
  24: '0.24.3',
  25: '0.25.1',
  26: '0.26.1',
  27: '0.27.1',
  28: '0.28.0',
  29: '0.29.2',
  30: '0.30.0',
};

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

/**
 * A mesh control server to practise on, in the dialects that reference/headscale.md tells apart. Answers of 0.29 follow a running 0.29.2;
 * those of other versions the sheet.
 */
export function createMesh(options: MeshOptions = {}): Mesh {
  let surroundings: ProductSurroundings | undefined;
  let heartbeat: NodeJS.Timeout | undefined;
  const now = () => surroundings?.now() ?? Date.now();
  const { minor = 29, policyMode = 'database', empty = false } = options;
  const state = new MeshState(minor, policyMode, now);
  const version: VersionInfo = {
    version: `v${patches[minor] ?? `0.${minor}.0`}`,
    commit: randomBytes(20).toString('hex'),
    buildTime: '2026-08-11T09:12:44Z',
    go: { version: 'go1.26.4', os: 'linux', arch: 'amd64' },
    dirty: false,
  };
  const rest = new Rest(state, version, `mkey:${randomBytes(32).toString('hex')}`);
  const knock = (name: string, user: string) => {
    const authId = newAuthId();
    state.addPending({ user, key: authId, name, routes: [] });
    state.log('INF', `starting node registration using auth id: ${authId}`);
    return authId;
  };
  if (!empty) settleCrew(state);
  const apiKey = state.createApiKey(instantOf(now() + 90 * dayMs));
  const pendingAuthId = empty ? undefined : knock(newcomer, 'guest');
  const logAt = (ms: number, level: string, text: string) =>
    surroundings?.log(`${new Date(ms).toISOString().slice(0, 19)}Z ${level} ${text}`, 'stderr', ms);
  state.log = (level, text) => logAt(now(), level, text);

  const beat = () => {
    const online = state.nodes.filter((node) => node.online);
    for (const node of online) node.lastSeen = state.time();
    // Somebody's link is always a little loose.
    const restless = online.find((node) => node.givenName === 'galley-tablet');
    if (!restless || Math.random() > 0.2) return;
    state.log('INF', `node has disconnected ${describe(restless)}`);
    state.log('INF', `node has connected ${describe(restless)}`);
  };

  const product: PracticeProduct = {
    // Whoever hangs up in the middle is not answered.
    listeners: { 8080: (request, response) => void rest.handle(request, response).catch(() => response.destroy()) },
    start(given) {
      surroundings = given;
      rest.unwell = false;
      // A client whose log-in was forgotten asks again.
      const joined = state.nodes.some((node) => node.name === newcomer);
      if (pendingAuthId && !joined) state.addPending({ user: 'guest', key: pendingAuthId, name: newcomer, routes: [] });
      const startedMs = given.startedMs ?? now();
      for (const line of startLines(version)) logAt(startedMs, 'INF', line);
      for (const node of state.nodes.filter((each) => each.online)) logAt(startedMs, 'INF', `node has connected ${describe(node)}`);
      heartbeat = setInterval(beat, heartbeatMs);
      heartbeat.unref();
    },
    stop() {
      clearInterval(heartbeat);
      // What waits for registration is kept in memory only.
      state.pending.clear();
      for (const line of stopLines) state.log('INF', line);
      surroundings = undefined;
    },
    exec(argv, stdin) {
      if (!/(?:^|\/)headscale$/.test(argv[0] ?? '')) return undefined;
      return Promise.resolve(runCommand(state, version, argv, stdin));
    },
    incidents: [
      {
        name: 'mesh-database',
        title: 'The control server lost its database',
        summary:
          'Its health check fails. Nodes that are connected keep talking to each other, new ones cannot join. A restart brings it back.',
        play() {
          rest.unwell = true;
          state.log('ERR', 'health check failed error="pinging database: sql: database is closed"');
        },
      },
      {
        name: 'mesh-node-expired',
        title: "A node's key expired",
        summary: 'The nas has to log in again; until then nothing reaches it, nor the network behind it.',
        play() {
          const node = state.nodes.find((each) => each.givenName === 'nas');
          if (!node) return;
          state.expireNode(node.id, { disable: false });
          state.log('INF', `node expired ${describe(node)}`);
        },
      },
    ],
  };
  return { product, apiKey, pendingAuthId, knock };
}

function startLines({ version, commit }: VersionInfo): string[] {
  return [
    'Opening database database=sqlite3 path=/var/lib/headscale/db.sqlite',
    `starting headscale commit=${commit} version=${version}`,
    'Clients with a lower minimum version will be rejected minimum_version=v1.80',
    'HA subnet router health probing enabled interval=10000 timeout=5000',
    'listening and serving HTTP on: 0.0.0.0:8080',
    'listening and serving debug and metrics on: 127.0.0.1:9095',
  ];
}

const stopLines: readonly string[] = [
  'shutting down debug http server',
  'shutting down main http server',
  'closing batcher',
  'waiting for netmap stream to close',
  'shutting down grpc server (socket)',
  'closing network listeners',
  'closing state and database',
  'Headscale stopped',
];

function describe(node: Node): string {
  const facts = [`node.id=${node.id}`, `node.is_tagged=${node.tags.length > 0}`, `node.name=${node.name}`, `node.online=${node.online}`];
  return facts.join(' ');
}

/** A household's mesh: three people, six nodes of every kind, keys old and new, and a policy. */
function settleCrew(state: MeshState): void {
  const now = Number(state.time() / 1_000_000n);
  const ago = (days: number) => instantOf(now - days * dayMs);
  const captain = state.createUser({ name: 'captain', displayName: 'Captain', email: 'captain@example.com' });
  const mate = state.createUser({ name: 'mate' });
  const guest = state.createUser({ name: 'guest' });
  for (const [user, days] of [
    [captain, 400],
    [mate, 380],
    [guest, 60],
  ] as const)
    user.createdAt = ago(days);
  const soon = (days: number) => instantOf(now + days * dayMs);
  const key = state.createPreAuthKey({ user: 0, reusable: true, ephemeral: false, aclTags: ['tag:server'], expiration: soon(21) });
  const spent = state.createPreAuthKey({ user: mate.id, reusable: false, ephemeral: false, aclTags: [], expiration: ago(299) });
  spent.used = true;
  const add = (name: string, wanted: Partial<Node>, days: number) => {
    const node = state.admit(state.makeNode({ name, registerMethod: 2, expiry: null, ...wanted }));
    Object.assign(node, { createdAt: ago(days), lastSeen: wanted.lastSeen ?? state.time() });
  };
  add('bridge-laptop', { user: captain, online: true, expiry: soon(97) }, 390);
  add('galley-tablet', { user: mate, online: true, preAuthKey: spent, registerMethod: 1 }, 300);
  add(
    'nas',
    {
      tags: ['tag:server'],
      online: true,
      preAuthKey: key,
      registerMethod: 1,
      availableRoutes: ['192.168.20.0/24'],
      approvedRoutes: ['192.168.20.0/24'],
    },
    200,
  );
  add('engine-room', { tags: ['tag:media'], online: false, lastSeen: ago(3), availableRoutes: ['0.0.0.0/0', '::/0'] }, 190);
  add('old-phone', { user: captain, online: false, lastSeen: ago(35), expiry: ago(14) }, 380);
  add('guest-phone', { user: guest, online: true, expiry: soon(12) }, 20);
  state.policy = { text: policyText, updatedAt: ago(40) };
}
