import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Flow, FlowContext, FlowInput, FlowOutcome } from '../../source/flows/flow.ts';
import { openLocalHost } from '../../source/hosts/local-host.ts';
import { notStarted } from '../../source/hosts/program.ts';
import { kubernetesFlows } from '../../source/products/kubernetes/flows.ts';
import {
  type ClusterOptions,
  clusterPort,
  createCluster,
  type PracticeCluster,
} from '../../source/products/kubernetes/simulator/cluster.ts';
import { nodes } from '../../source/products/kubernetes/simulator/kube-object.ts';
import { upgradeCluster } from '../../source/products/kubernetes/upgrade-cluster.ts';
import { openAudit } from '../../source/session/audit.ts';
import type { AuditEntry } from '../../source/session/audit-chain.ts';
import { openJournal } from '../../source/session/journal.ts';
import { openSession } from '../../source/session/open-session.ts';
import type { Session } from '../../source/session/session.ts';
import { type ServedProduct, serveProduct } from '../contract/serve-product.ts';
import { backupKeysDouble } from './backup-keys-double.ts';
import { type Maker, makers } from './cluster-makers.ts';
import { FleetDouble } from './fleet-double.ts';
import { OperatorDouble } from './operator-double.ts';
import { SecretStoreDouble } from './secret-store-double.ts';

/** Nothing waits for long. */
const pace = { drain: { everyMs: 20, againMs: 30, stalledMs: 20_000 }, lookMs: 20, backMs: 10_000 };

export type FixtureOptions = Omit<ClusterOptions, 'maker'> & { maker?: Maker };

/** A practice cluster in a hurry behind a real socket, and the walk on it with a real session. */
export class ClusterFixture {
  readonly cluster: PracticeCluster;
  readonly folder: string;
  #served: ServedProduct | undefined;
  readonly #store = new SecretStoreDouble();
  operator = new OperatorDouble('unattended');
  dryRun = false;
  readOnly = false;
  who = 'ada@desk';
  /** Every program that was run on a node, as `node: words`. */
  readonly ran: string[] = [];
  /** Called before each of them. */
  before: ((node: string, argv: readonly string[]) => Promise<void> | void) | undefined;
  /** Called before and after each act, with its id. */
  onAct: ((id: string, when: 'before' | 'after') => void) | undefined;
  /** What a program on the operator's host answers; none is there otherwise. */
  checker:
    | ((argv: readonly string[], env: Readonly<Record<string, string>>) => { exitCode: number; stdout: string } | undefined)
    | undefined;
  /** What `/metrics` answers. */
  metrics = 200;
  /** The identity of the cluster, if it tells it. */
  uid: string | undefined;
  /** Paths that answer 404. */
  hidden: RegExp | undefined;
  /** How long a node may take to be back. */
  backMs = pace.backMs;
  /** Without it there is no way to the nodes. */
  reached = true;

  private constructor(cluster: PracticeCluster, folder: string) {
    this.cluster = cluster;
    this.folder = folder;
  }

  static async open({ maker = 'kubeadm', ...options }: FixtureOptions = {}): Promise<ClusterFixture> {
    const folder = await mkdtemp(join(tmpdir(), 'quarterdeck-cluster-'));
    const cluster = createCluster({ podStartMs: 5, terminationMs: 10, nodeRestartMs: 15, ...options, maker: makers[maker] });
    const fixture = new ClusterFixture(cluster, folder);
    const [port = clusterPort, listener] = Object.entries(cluster.product.listeners)[0] ?? [];
    const guarded: RequestListener = (request, response) => {
      if (request.url === '/metrics' && fixture.metrics !== 200) {
        const message = 'forbidden: User "practice" cannot get path "/metrics"';
        response.writeHead(fixture.metrics, { 'Content-Type': 'application/json' }).end(JSON.stringify({ kind: 'Status', message }));
      } else if (request.url === '/api/v1/namespaces/kube-system' && fixture.uid !== undefined) {
        response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify({ metadata: { uid: fixture.uid } }));
      } else if (fixture.hidden?.test(request.url ?? '')) {
        response.writeHead(404, { 'Content-Type': 'application/json' }).end(JSON.stringify({ kind: 'Status', reason: 'NotFound' }));
      } else listener?.(request, response);
    };
    fixture.#served = await serveProduct({ ...cluster.product, listeners: { [port]: guarded } });
    await writeFile(join(folder, 'kubeconfig'), cluster.kubeconfig(fixture.url), { mode: 0o600 });
    return fixture;
  }

  async close(): Promise<void> {
    await this.#served?.close();
    await rm(this.folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }

  get url(): string {
    return this.#served?.url(clusterPort) ?? '';
  }
  /** Its API, behind everybody's back. */
  async ask(path: string, init: RequestInit = {}): Promise<Response> {
    return fetch(`${this.url}${path}`, {
      ...init,
      headers: { Authorization: `Bearer ${this.cluster.token}`, 'Content-Type': 'application/merge-patch+json' },
    });
  }
  async nodes(): Promise<Record<string, { kubelet: string; cordoned: boolean }>> {
    const { items } = (await (await this.ask('/api/v1/nodes')).json()) as {
      items: { metadata: { name: string }; spec: { unschedulable?: boolean }; status: { nodeInfo: { kubeletVersion: string } } }[];
    };
    return Object.fromEntries(
      items.map(({ metadata, spec, status }) => [
        metadata.name,
        { kubelet: status.nodeInfo.kubeletVersion, cordoned: spec.unschedulable === true },
      ]),
    );
  }

  /** As a package manager on the node would: behind everybody's back, whatever the skew. */
  setKubelet(name: string, kubeletVersion: string): void {
    this.cluster.store.update(nodes, this.cluster.store.get(nodes, name), (copy) => {
      copy.status.nodeInfo = { ...copy.status.nodeInfo, kubeletVersion, kubeProxyVersion: kubeletVersion };
    });
  }

  /** As a kubelet that reports, or stopped reporting. */
  setReady(name: string, ready: boolean): void {
    this.cluster.store.update(nodes, this.cluster.store.get(nodes, name), (copy) => {
      for (const condition of copy.status.conditions) if (condition.type === 'Ready') condition.status = ready ? 'True' : 'False';
    });
  }

  get #context(): FlowContext {
    const env = { KUBECONFIG: join(this.folder, 'kubeconfig') };
    const host = openLocalHost({ env });
    return {
      fleet: new FleetDouble(),
      engineOf: () => {
        throw new Error('no engine on this stage');
      },
      engineFactsOf: () => {
        throw new Error('no engine on this stage');
      },
      // Its own programs are none of this cluster's.
      hostOf: () => ({
        ...host,
        exec: async (argv, options) => {
          const answer = this.checker?.(argv, options.env ?? {});
          options.signal.throwIfAborted();
          if (!answer) throw notStarted(`/nowhere/${argv[0]}`, undefined, Object.assign(new Error('spawn ENOENT'), { code: 'ENOENT' }));
          return { exitCode: answer.exitCode, stdout: Buffer.from(answer.stdout), stderr: Buffer.from(''), cut: false };
        },
      }),
      catalog: { entries: [], get: () => undefined, problems: [] },
      vault: () => Promise.reject(new Error('no vault on this stage')),
      backupKeys: async () => backupKeysDouble(),
      stackFolderOf: async () => this.folder,
      dataFolder: join(this.folder, 'data'),
      checklists: async () => ({ folder: join(this.folder, 'checklists'), who: this.who }),
      practice: {
        incidents: [],
        play: async () => undefined,
        ...(this.reached && {
          runOnNode: async (node, argv, signal) => {
            signal.throwIfAborted();
            await this.before?.(node, argv);
            this.ran.push(`${node}: ${argv.join(' ')}`);
            return (await this.cluster.onNode(node, argv)) ?? { exitCode: 127, stdout: '', stderr: `${argv[0]}: not found` };
          },
        }),
      },
    };
  }

  async run(
    words: readonly string[] = [],
    options: FlowInput['options'] = {},
    signal = new AbortController().signal,
  ): Promise<FlowOutcome> {
    const [upgrade] = kubernetesFlows;
    if (!upgrade) throw new Error('there is the flow for upgrades');
    const flow: Flow = {
      ...upgrade,
      run: (session, input, context) => upgradeCluster(session, input, context, input.words[0], { ...pace, backMs: this.backMs }),
    };
    const { session } = openSession({
      flow: flow.id,
      operator: this.operator,
      policy: { readOnly: this.readOnly, dryRun: this.dryRun, productionHosts: new Set() },
      journal: await openJournal({ folder: join(this.folder, 'runs'), flow: flow.id, engineName: 'local' }),
      audit: this.#audit,
      signal,
    });
    const watched: Session = {
      ...session,
      act: async (request) => {
        this.onAct?.(request.id, 'before');
        const result = await session.act(request);
        this.onAct?.(request.id, 'after');
        return result;
      },
    };
    return flow.run(watched, { engineName: 'local', words, options }, this.#context);
  }

  get #audit() {
    return openAudit({ path: join(this.folder, 'audit.jsonl'), stores: [this.#store], identity: { user: 'ada', machine: 'desk' } });
  }
  async audited(): Promise<AuditEntry[]> {
    const entries = [];
    for await (const entry of this.#audit.entries()) entries.push(entry);
    return entries;
  }
  async text(name: string): Promise<string> {
    return readFile(join(this.folder, name), 'utf8');
  }
}
