import type { ExecResult } from '../../../source/engine/engine.ts';
import type { Grant } from '../../../source/grants/grant.ts';
import { createMesh, type Mesh } from '../../../source/products/headscale/simulator/mesh.ts';
import { catalogEntry, composeLabels } from '../../doubles/container-facts.ts';
import { EngineDouble } from '../../doubles/engine-double.ts';
import { componentView, serviceView } from '../../doubles/fleet-double.ts';
import { FlowFixture } from '../../doubles/flow-fixture.ts';
import { type Listening, listen } from '../listening.ts';
import { DoubleFixture } from './double-fixture.ts';
import type { Family, FlowRow } from './flow.contract.ts';
import { Person } from './person.ts';
import { flowOf } from './registry.ts';

const id = 'mesh-control-server';
const apiPort = 8080;
const configuration = 'server_url: https://mesh.example.net\npolicy:\n  mode: database\n';

/** An engine in whose one container a control server of practice plays. */
class MeshEngine extends EngineDouble {
  readonly #mesh: Mesh;

  constructor(mesh: Mesh) {
    super();
    this.#mesh = mesh;
  }
  async #run(argv: readonly string[], stdin = ''): Promise<ExecResult> {
    const answer = await this.#mesh.product.exec?.([...argv], stdin);
    const { exitCode, stdout, stderr } = answer ?? { exitCode: 127, stdout: '', stderr: '' };
    return { exitCode, stdout: Buffer.from(stdout), stderr: Buffer.from(stderr), cut: false };
  }
  override async execReading(...[, argv]: [string?, (readonly string[])?]): Promise<ExecResult> {
    return this.#run(argv ?? []);
  }
  override async readFile(): Promise<Uint8Array> {
    return Buffer.from(configuration);
  }
  override writer(grant: Grant) {
    return { ...super.writer(grant), exec: async (_: string, argv: readonly string[]) => this.#run(argv) };
  }
}

type Item = Record<string, unknown>;

class MeshServer extends DoubleFixture {
  readonly mesh: Mesh;
  readonly #api: Listening;

  private constructor(fixture: FlowFixture, mesh: Mesh, api: Listening) {
    super(fixture);
    this.mesh = mesh;
    this.#api = api;
  }
  /** With a console that has an API key of its own, unless it is new to the server. */
  static async open({ isNew = false } = {}): Promise<MeshServer> {
    const mesh = createMesh();
    const [fixture, api] = await Promise.all([FlowFixture.open(), listen(mesh.product, apiPort)]);
    const engine = new MeshEngine(mesh);
    const { id: containerId } = engine.add('headscale', {
      labels: composeLabels(id, 'headscale'),
      ports: [{ address: '127.0.0.1', hostPort: Number(new URL(api.url).port), containerPort: apiPort, protocol: 'tcp' }],
    });
    const port = { name: 'api', role: 'API', exposure: 'loopback', fixed: false, web: true, tls: false, protocol: 'tcp' } as const;
    const entry = catalogEntry(
      id,
      { headscale: { image: 'headscale/headscale', main: true } },
      {
        api: { name: 'headscale', service: 'headscale', port: 'api' },
        ports: [{ ...port, service: 'headscale', host: apiPort, container: apiPort }],
      },
    );
    const view = componentView(id, {
      ...{ speaks: 'headscale', project: id },
      services: [serviceView('headscale', { main: true, containerId })],
    });
    Object.assign(fixture, {
      engine,
      catalog: { entries: [entry], get: (wanted: string) => (wanted === id ? entry : undefined), problems: [] },
    });
    fixture.fleet.current = { ...fixture.fleet.current, components: [view] };
    const server = new MeshServer(fixture, mesh, api);
    if (!isNew) await server.run('mesh-access', [], { access: 'make' });
    return server;
  }

  async run(flow: string, words: readonly string[] = [], answers = {}) {
    const operator = new Person({ answers, forms: undefined, edited: () => undefined, reveal: () => {} });
    return this.play(flowOf(flow), id, { words, options: {} }, { operator, mode: undefined, resume: undefined });
  }
  /** Sends a request past the flows. */
  async ask(method: string, path: string, body?: unknown): Promise<Item> {
    const response = await fetch(`${this.#api.url}/api/v1/${path}`, {
      ...{ method, headers: { authorization: `Bearer ${this.mesh.apiKey}` } },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return (await response.json()) as Item;
  }
  async list(path: string, key: string): Promise<Item[]> {
    return (await this.ask('GET', path))[key] as Item[];
  }
  override async close(): Promise<void> {
    await this.#api.close();
    await super.close();
  }
}

const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
type Row = FlowRow<MeshServer>;

const isValid = ({ expiration }: Item) => Date.parse(String(expiration)) > Date.now();
const keys = async (server: MeshServer) => (await server.list('preauthkey', 'preAuthKeys')).filter(isValid);
const apiKeys = async (server: MeshServer) => (await server.list('apikey', 'apiKeys')).filter(isValid);
const users = async (server: MeshServer) => (await server.list('user', 'users')).map(({ name }) => name);
/** To the day: the time of an expiry is another one each time. */
const nodes = async (server: MeshServer) =>
  (await server.list('node', 'nodes')).map(({ givenName, tags, approvedRoutes, expiry }) => ({
    ...{ givenName, tags, approvedRoutes },
    expires: expiry === null ? 'never' : Math.round((Date.parse(String(expiry)) - Date.now()) / 86_400_000),
  }));
const kept = async (server: MeshServer) => (await server.fixture.vault.list()).map(({ name }) => name);
const waiting = `hskey-authreq-${'w'.repeat(24)}`;
const knocks = (server: MeshServer) => server.ask('POST', 'debug/node', { user: 'guest', key: waiting, name: 'visitor', routes: [] });
const policy = async (server: MeshServer) => String((await server.ask('GET', 'policy'))['policy']);

const anotherKey = { says: /is valid until/, end: 'same' } as const;
const reading = (flow: string): Row => ({ flow, acts: [], secrets: 1 });
const ofNode = (words: readonly string[], act: string): Row => ({
  flow: 'mesh-node',
  title: words.join(' '),
  words,
  acts: [act],
  end: nodes,
});
const ofUser = (words: readonly string[], act: string): Row => ({
  flow: 'mesh-user',
  title: words.join(' '),
  words,
  acts: [act],
  end: users,
});

export const meshFlows: Family<MeshServer> = {
  name: 'the mesh control server',
  component: id,
  open: () => MeshServer.open(),
  rows: [
    {
      flow: 'key',
      forms: () => ({ key: { user: 'guest', reusable: 'yes' } }),
      acts: ['make-key', 'keep-key'],
      dryRunShows: { requests: [`POST /api/v1/preauthkey: user guest, reusable, until ${inDays(30)}`], text: /Would do/ },
      secrets: 2,
      // A key that nobody has is expired, and another is made.
      otherwise: { 'make-key/after': anotherKey, 'keep-key/before': anotherKey },
      end: async (server) => [(await keys(server)).map(({ reusable, used }) => ({ reusable, used })), await kept(server)],
    },
    {
      flow: 'mesh-access',
      open: () => MeshServer.open({ isNew: true }),
      answers: () => ({ access: 'make' }),
      acts: ['make-api-key'],
      dryRunShows: { text: /Would create an API key in the container/ },
      secrets: 1,
      end: async (server) => [(await apiKeys(server)).length, await kept(server)],
    },
    {
      flow: 'mesh-access',
      title: 'renewed',
      options: { renew: true },
      acts: ['make-api-key', 'expire-old'],
      dryRunShows: { text: /Would create an API key in the container/ },
      secrets: 2,
      end: async (server) => (await apiKeys(server)).length,
    },
    reading('mesh-nodes'),
    ofNode(['nas', 'routes', 'none'], 'routes'),
    ofNode(['nas', 'tags', 'tag:server,tag:media'], 'tag'),
    ofNode(['nas', 'rename', 'store'], 'rename'),
    ofNode(['guest-phone', 'expires', '30d'], 'set-expiry'),
    ofNode(['guest-phone', 'keep'], 'keep'),
    ofNode(['guest-phone', 'expire'], 'expire'),
    ofNode(['old-phone', 'delete'], 'delete'),
    { flow: 'mesh-register', words: [waiting], options: { user: 'guest' }, acts: ['register'], first: knocks, end: nodes },
    reading('mesh-users'),
    ofUser(['create', 'steward'], 'create-user'),
    { ...ofUser(['rename', 'cook', 'baker'], 'rename-user'), first: (server) => server.ask('POST', 'user', { name: 'cook' }) },
    { ...ofUser(['delete', 'baker'], 'delete-user'), first: (server) => server.ask('POST', 'user', { name: 'baker' }) },
    reading('mesh-keys'),
    {
      flow: 'mesh-expire-key',
      answers: () => ({ key: '1' }),
      acts: ['expire-key'],
      end: async (server) => (await keys(server)).length,
    },
    reading('mesh-policy'),
    {
      flow: 'mesh-edit-policy',
      edited: () => '// Mine.\n{}\n',
      unattended: 'refused.noTerminal',
      acts: ['set-policy'],
      dryRunShows: { text: /2 lines added, 18 removed/ },
      end: policy,
    },
    reading('mesh-api-keys'),
    {
      flow: 'mesh-api-key',
      words: ['create'],
      acts: ['create-api-key'],
      secrets: 1,
      unattended: 'refused.unattended',
      otherwise: { 'create-api-key/after': anotherKey },
      end: async (server) => (await apiKeys(server)).length,
    },
    {
      flow: 'mesh-api-key',
      title: 'expire',
      words: ['expire', '3'],
      first: (server) => server.run('mesh-api-key', ['create']),
      acts: ['expire-api-key'],
      end: async (server) => (await apiKeys(server)).length,
    },
  ],
};
