import { flows } from '../../source/app/flow-registry.ts';
import type { ExecResult } from '../../source/engine/engine.ts';
import type { FlowInput, FlowOutcome } from '../../source/flows/flow.ts';
import type { Grant } from '../../source/grants/grant.ts';
import type { Host, HostFacts } from '../../source/hosts/host.ts';
import { openLocalHost } from '../../source/hosts/local-host.ts';
import {
  apiPort,
  createIntrusionPrevention,
  type PracticeIntrusionPrevention,
} from '../../source/products/crowdsec/simulator/intrusion-prevention.ts';
import type { AuditEntry } from '../../source/session/audit-chain.ts';
import { type Listening, listen } from '../contract/listening.ts';
import { catalogEntry, composeLabels } from './container-facts.ts';
import { EngineDouble } from './engine-double.ts';
import { componentView, serviceView } from './fleet-double.ts';
import { FlowFixture } from './flow-fixture.ts';
import { OperatorDouble } from './operator-double.ts';

const id = 'intrusion-prevention';

/** An engine in whose one container a CrowdSec plays: its `cscli`, its credentials. */
class CrowdsecEngine extends EngineDouble {
  readonly #played: PracticeIntrusionPrevention;
  /** Every `cscli` that was run, for whoever wants to know. */
  readonly commands: string[][] = [];
  /** Is called before each of them. */
  before: (argv: readonly string[]) => void = () => {};
  credentials = true;
  /** When what came from the hub was last changed; containers of this engine are started at 0 and after. */
  changedMs = 0;

  constructor(played: PracticeIntrusionPrevention) {
    super();
    this.#played = played;
  }
  async #run(argv: readonly string[]): Promise<ExecResult> {
    if (argv[0] === 'stat')
      return { exitCode: 0, stdout: Buffer.from(`${Math.floor(this.changedMs / 1000)}\n`), stderr: new Uint8Array(), cut: false };
    this.commands.push([...argv]);
    this.before(argv);
    const answer = await this.#played.product.exec?.([...argv], '');
    const { exitCode, stdout, stderr } = answer ?? { exitCode: 127, stdout: '', stderr: '' };
    return { exitCode, stdout: Buffer.from(stdout), stderr: Buffer.from(stderr), cut: false };
  }
  override async execReading(...[, argv]: [string?, (readonly string[])?]): Promise<ExecResult> {
    return this.#run(argv ?? []);
  }
  override async readFile(...[, path]: [string?, string?]): Promise<Uint8Array | undefined> {
    if (path !== '/etc/crowdsec/local_api_credentials.yaml' || !this.credentials) return undefined;
    const { login, password } = this.#played.machine;
    return Buffer.from(`url: http://0.0.0.0:8080\nlogin: ${login}\npassword: ${password}\n`);
  }
  override writer(grant: Grant) {
    return { ...super.writer(grant), exec: async (_: string, argv: readonly string[]) => this.#run(argv) };
  }
}

/** What the machine tells of itself and of who is on it. */
export interface Surroundings {
  ssh: string;
  who: string;
  /** Rows of /proc/net/tcp of connections to its ssh ports. */
  tcp: string;
  route: string;
  route6: string;
  addresses: string[];
  networks: { name: string; subnets: string[] }[];
}

const quiet: Surroundings = {
  ssh: '',
  who: '',
  tcp: '',
  route: '',
  route6: '',
  addresses: ['127.0.0.1', '::1', '192.168.1.10'],
  networks: [],
};

/** Flows on a CrowdSec of either dialect, which really bans, in a container that does not exist. */
export class CrowdsecFixture {
  readonly flow: FlowFixture;
  readonly engine: CrowdsecEngine;
  readonly played: PracticeIntrusionPrevention;
  readonly #api: Listening;
  around: Surroundings;
  operator = new OperatorDouble();

  private constructor(
    flow: FlowFixture,
    engine: CrowdsecEngine,
    played: PracticeIntrusionPrevention,
    api: Listening,
    around: Surroundings,
  ) {
    this.flow = flow;
    this.engine = engine;
    this.played = played;
    this.#api = api;
    this.around = around;
  }

  static async open({
    version = '1.7.8',
    around = {},
    blocklist = 0,
  }: {
    version?: '1.4.6' | '1.7.8';
    around?: Partial<Surroundings>;
    blocklist?: number;
  } = {}): Promise<CrowdsecFixture> {
    const flow = await FlowFixture.open();
    const played = createIntrusionPrevention({ version, living: false, blocklist });
    const engine = new CrowdsecEngine(played);
    const api = await listen(played.product, apiPort);
    const fixture = new CrowdsecFixture(flow, engine, played, api, { ...quiet, ...around });
    const port = Number(new URL(api.url).port);
    const container = engine.add('crowdsec', {
      labels: composeLabels(id, 'crowdsec'),
      ports: [{ address: '127.0.0.1', hostPort: port, containerPort: apiPort, protocol: 'tcp' }],
    });
    for (const { name, subnets } of fixture.around.networks) engine.networkList.push({ name, driver: 'bridge', labels: {}, subnets });
    Object.assign(flow, { engine });
    flow.host = fixture.#host();
    flow.catalog = catalogOf();
    flow.fleet.current = {
      ...flow.fleet.current,
      components: [
        componentView(id, { speaks: 'crowdsec', services: [serviceView('crowdsec', { main: true, containerId: container.id })] }),
      ],
    };
    return fixture;
  }

  async close(): Promise<void> {
    await this.#api.close();
    await this.flow.close();
  }

  /** The machine, with this of it otherwise. */
  playHost(otherwise: Partial<Host>): void {
    this.flow.host = { ...this.#host(), ...otherwise };
  }

  #host(): Host {
    const local = openLocalHost();
    return {
      ...local,
      facts: async (): Promise<HostFacts> => ({
        hostname: 'box',
        platform: 'linux',
        architecture: 'x64',
        cpus: 2,
        memoryBytes: 1e9,
        uid: 0,
        home: '/root',
        runtimeDir: undefined,
        addresses: this.around.addresses,
        env: {},
      }),
      exec: async () => {
        const { ssh, who, tcp, route, route6 } = this.around;
        const text = `== ssh\n${ssh}\n== who\n${who}\n== tcp\n${tcp}\n== route\n${route}\n== route6\n${route6}\n`;
        return { exitCode: 0, stdout: Buffer.from(text), stderr: new Uint8Array(), cut: false };
      },
    };
  }

  async run(
    flowId: string,
    words: readonly string[] = [],
    { options = {}, operator = new OperatorDouble() }: { options?: FlowInput['options']; operator?: OperatorDouble } = {},
  ): Promise<FlowOutcome> {
    const flow = flows.find((one) => one.id === flowId);
    if (!flow) throw new Error(`no flow ${flowId}`);
    this.operator = operator;
    this.flow.operator = operator;
    return this.flow.run(flow, undefined, { words, options });
  }

  audited(): Promise<AuditEntry[]> {
    return this.flow.audited();
  }

  /** What changes something, as `cscli` was told. */
  changes(): string[] {
    return this.engine.commands
      .map((argv) => argv.slice(1).join(' '))
      .filter((words) => / (?:add|delete|create|remove|install|validate|update|upgrade)\b/.test(words) && !words.includes('--dry-run'));
  }

  async cscli(...words: string[]): Promise<string> {
    const answer = await this.played.product.exec?.(['cscli', ...words], '');
    return `${answer?.stdout ?? ''}${answer?.stderr ?? ''}`;
  }
}

function catalogOf(): FlowFixture['catalog'] {
  const entry = catalogEntry(
    id,
    { crowdsec: { image: 'crowdsecurity/crowdsec', main: true } },
    {
      api: { name: 'crowdsec', service: 'crowdsec', port: 'api' },
      ports: [
        {
          name: 'api',
          role: 'local API',
          exposure: 'loopback',
          fixed: false,
          web: false,
          tls: false,
          service: 'crowdsec',
          host: apiPort,
          container: apiPort,
          protocol: 'tcp',
        },
      ],
    },
  );
  return { entries: [entry], get: (wanted) => (wanted === id ? entry : undefined), problems: [] };
}
