import { randomBytes } from 'node:crypto';
import { Fault } from '../../source/faults/fault.ts';
import type { ComponentView } from '../../source/fleet/model.ts';
import type { Flow, FlowInput, FlowOutcome } from '../../source/flows/flow.ts';
import { openLocalHost } from '../../source/hosts/local-host.ts';
import {
  createSecretsManager,
  type SecretsManager,
  type SecretsManagerOptions,
} from '../../source/products/vault/simulator/secrets-manager.ts';
import type { Question } from '../../source/session/session.ts';
import { listen } from '../contract/listening.ts';
import { catalogEntry, composeLabels } from './container-facts.ts';
import { EngineDouble } from './engine-double.ts';
import { componentView, stateOf } from './fleet-double.ts';
import { FlowFixture } from './flow-fixture.ts';
import { OperatorDouble } from './operator-double.ts';

export const vaultId = 'vault';

type Answer = string | readonly string[] | ((question: Question) => string | readonly string[] | Promise<string>);

/** A key share of the right length that belongs to nothing, and has the number (its last byte) of none of `others`: those are hex. */
export function foreignShare(others: readonly string[]): string {
  const used = new Set(others.map((one) => Buffer.from(one, 'hex').at(-1)));
  const number = Array.from({ length: 255 }, (_, at) => at + 1).find((free) => !used.has(free)) as number;
  return Buffer.concat([randomBytes(32), Buffer.of(number)]).toString('hex');
}

/** People around a secrets manager: each question has its answers in turn, the last one for good; what is revealed is written down and verified. */
export class Holders extends OperatorDouble {
  readonly seen: Record<string, string> = {};
  readonly #given: Record<string, Answer[]>;
  #last = '';

  constructor(given: Record<string, Answer | Answer[]> = {}, kind: OperatorDouble['kind'] = 'terminal') {
    super(kind);
    this.#given = Object.fromEntries(
      Object.entries(given).map(([step, answer]) => [step, Array.isArray(answer) ? [...(answer as Answer[])] : [answer as Answer]]),
    );
  }

  override async ask(question: Question): Promise<string | readonly string[]> {
    this.asked.push(question);
    if (question.reveals) {
      this.#last = question.reveals.value;
      this.seen[question.reveals.label] = question.reveals.value;
    }
    const given = this.#given[question.id];
    const next = given && given.length > 1 ? given.shift() : given?.[0];
    if (typeof next === 'function') return next(question);
    if (next !== undefined) return next;
    if (this.kind === 'unattended') throw new Fault('usage.unanswered', `Nobody answers ${question.id}.`, 'Answer.');
    if (question.id.includes('-proof')) return this.#last;
    if ('initial' in question && question.initial !== undefined) return question.initial;
    throw new Error(`nobody answers ${question.id}`);
  }

  /** What a person could read afterwards, but for what was revealed to them. */
  get reported(): string {
    return JSON.stringify([
      this.shown.filter(({ kind }) => kind !== 'secret'),
      this.steps,
      this.confirmations,
      this.reviews,
      this.asked.map(({ reveals: _, ...rest }) => rest),
    ]);
  }
}

export const walkAway = (): never => {
  throw new Fault('interrupted.cancelled', 'Left.', 'Come back.');
};

/** What listens: a server of practice, or a real one. */
export interface VaultServer {
  url: string;
  restart(): void | Promise<void>;
  close(): Promise<void>;
}

/** A secrets manager behind a real socket, and the flows about it with a real session. */
export class VaultFixture {
  readonly fixture: FlowFixture;
  readonly server: VaultServer;
  /** Hex, and how many of them open it; of a new server there are none yet. */
  shares: readonly string[];
  threshold: number;
  /** The root token. */
  token: string;

  private constructor(fixture: FlowFixture, server: VaultServer, keys: Pick<SecretsManager, 'shares' | 'threshold' | 'rootToken'>) {
    this.fixture = fixture;
    this.server = server;
    this.shares = keys.shares;
    this.threshold = keys.threshold;
    this.token = keys.rootToken;
  }

  static async open(options: SecretsManagerOptions = {}): Promise<VaultFixture> {
    const practice = await createSecretsManager(options);
    return VaultFixture.over(await listen(practice.product, 8200), practice);
  }

  static async over(server: VaultServer, keys = { shares: [] as readonly string[], threshold: 3, rootToken: '' }): Promise<VaultFixture> {
    const fixture = await FlowFixture.open();
    fixture.host = openLocalHost();
    const port = {
      name: 'api',
      role: 'API',
      exposure: 'loopback',
      fixed: false,
      web: true,
      tls: false,
      service: 'openbao',
      host: 8200,
      container: 8200,
      protocol: 'tcp',
    } as const;
    const entry = catalogEntry(
      vaultId,
      { openbao: { image: 'openbao/openbao', main: true } },
      { api: { name: 'vault', port: 'api' }, ports: [port] },
    );
    fixture.catalog = { entries: [entry], get: (wanted) => (wanted === vaultId ? entry : undefined), problems: [] };
    publish(fixture.engine, server.url);
    return new VaultFixture(fixture, server, keys);
  }

  /** One more node of it, on another host, that is at this address. */
  addNode(host: string, url: string): ComponentView {
    const engine = new EngineDouble();
    publish(engine, url);
    this.fixture.engines.set(host, engine);
    const node = vaultView('sealed 0/3', host);
    this.fixture.fleet.current = { ...this.fixture.fleet.current, components: [...this.fixture.fleet.current.components, node] };
    return node;
  }

  /** One more on the same host: a compose project of its own. */
  addBeside(project: string, url: string): ComponentView {
    publish(this.fixture.engine, url, project);
    const node = vaultView('sealed 0/3', 'local', project);
    this.fixture.fleet.current = {
      ...this.fixture.fleet.current,
      components: [...this.fixture.fleet.current.components, vaultView('sealed 0/3'), node],
    };
    return node;
  }

  async close(): Promise<void> {
    await this.server.close();
    await this.fixture.host?.close();
    await this.fixture.close();
  }

  /** Speaks to the server behind everybody's back. */
  async ask(method: string, path: string, body?: unknown, token = this.token): Promise<Record<string, unknown> & { status: number }> {
    const response = await fetch(`${this.server.url}/v1/${path}`, {
      method,
      headers: { 'X-Vault-Token': token },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { ...(text.startsWith('{') ? (JSON.parse(text) as object) : {}), status: response.status };
  }

  async unseal(): Promise<void> {
    for (const key of this.shares.slice(0, this.threshold)) await this.ask('PUT', 'sys/unseal', { key });
  }

  run(
    flow: Flow | string,
    operator: OperatorDouble,
    input: Partial<FlowInput> = {},
    label = 'healthy',
    signal = new AbortController().signal,
  ): Promise<FlowOutcome> {
    this.fixture.operator = operator;
    return this.fixture.run(flow, vaultView(label), input, signal);
  }

  /** Audit and journals, as they lie on the disk. */
  async written(): Promise<string> {
    const { readdir, readFile } = await import('node:fs/promises');
    const { join } = await import('node:path');
    const files = await readdir(this.fixture.folder, { recursive: true, withFileTypes: true });
    const texts = await Promise.all(
      files.filter((file) => file.isFile()).map((file) => readFile(join(file.parentPath, file.name), 'utf8')),
    );
    return texts.join('\n');
  }
}

export function vaultView(label: string, host = 'local', project = vaultId): ComponentView {
  return componentView(vaultId, { key: `${host}/${project}/${vaultId}`, host, project, speaks: 'vault', state: stateOf(label) });
}

function publish(engine: EngineDouble, url: string, project = vaultId): void {
  engine.add(project === vaultId ? 'openbao' : `${project}-openbao`, {
    labels: composeLabels(project, 'openbao'),
    ports: [{ address: '127.0.0.1', hostPort: Number(new URL(url).port), containerPort: 8200, protocol: 'tcp' }],
  });
}
