import type { ClusterNode } from '../cluster/cluster-facts.ts';
import type { DistributionKind } from '../cluster/distribution.ts';
import type { NodeOutcome, NodeWay } from '../cluster/node-way.ts';
import { Fault } from '../faults/fault.ts';
import type { Grant } from '../grants/grant.ts';
import type { ExecOutcome, Host } from '../hosts/host.ts';
import { cleanLine } from '../text/clean.ts';
import type { FlowWorld } from './flow.ts';

/** Fetching packages takes minutes on a slow line. */
const runLimitMs = 900_000;
const readLimitMs = 60_000;
const outputLimitBytes = 4 * 1024 * 1024;

const textOf = ({ exitCode, stdout, stderr }: Pick<ExecOutcome, 'exitCode' | 'stdout' | 'stderr'>): NodeOutcome => ({
  exitCode,
  stdout: Buffer.from(stdout).toString('utf8'),
  stderr: Buffer.from(stderr).toString('utf8'),
});

/** What a machine answers for a program that it does not have. */
function missing(argv: readonly string[], thrown: unknown): NodeOutcome {
  if (thrown instanceof Fault && thrown.code === 'unreachable.program')
    return { exitCode: 127, stdout: '', stderr: `${argv[0] ?? ''}: not found` };
  throw thrown;
}

/** A node that is a machine of the operator's: this one, or one over ssh. */
export function wayOverHost(host: Host, shown: string, root: boolean): NodeWay {
  // Without -n sudo would wait for a password that nobody is asked for.
  const asRoot = (argv: readonly string[], env: Readonly<Record<string, string>> = {}) =>
    root ? argv : ['sudo', '-n', ...Object.entries(env).map(([name, value]) => `${name}=${value}`), ...argv];
  return {
    shown,
    read: async (argv, signal, env) =>
      host
        .exec(asRoot(argv, env), { signal, limitMs: readLimitMs, limitBytes: outputLimitBytes, ...(root && env && { env }) })
        .then(textOf, (thrown: unknown) => missing(argv, thrown)),
    run: async (grant, argv, env) =>
      host
        .run(grant, asRoot(argv, env), {
          signal: grant.signal,
          limitMs: runLimitMs,
          limitBytes: outputLimitBytes,
          ...(root && env && { env }),
        })
        .then(textOf, (thrown: unknown) => missing(argv, thrown)),
  };
}

/** A node that is a container of the engine here, as kind makes them. */
function wayIntoContainer(world: FlowWorld, place: string, id: string, name: string): NodeWay {
  const engine = world.engineOf(place);
  const withEnv = (argv: readonly string[], env: Readonly<Record<string, string>> = {}) => {
    const set = Object.entries(env).map(([key, value]) => `${key}=${value}`);
    return set.length === 0 ? argv : ['env', ...set, ...argv];
  };
  return {
    shown: `in the container ${name}`,
    read: async (argv, signal, env) => textOf(await engine.execReading(id, withEnv(argv, env), { signal, limitBytes: outputLimitBytes })),
    run: async (grant, argv, env) => textOf(await engine.writer(grant).exec(id, withEnv(argv, env))),
  };
}

function wayInPractice(run: NonNullable<NonNullable<FlowWorld['practice']>['runOnNode']>, node: string): NodeWay {
  return {
    shown: 'in practice',
    read: (argv, signal) => run(node, argv, signal),
    run: (grant: Grant, argv) => run(node, argv, grant.signal),
  };
}

/**
 * Finds how programs are run on the nodes of a cluster: on this machine where it is one, over ssh where a host of the configuration is one (by name or address), in
 * a container where kind made it; for Talos by its own program. Undefined for a node that is none of them: its commands are shown, and a person runs them.
 */
export class NodeWays {
  readonly #world: FlowWorld;
  readonly #place: string;
  readonly #signal: AbortSignal;
  readonly #kind: DistributionKind | undefined;
  readonly #known = new Map<string, Promise<NodeWay | undefined>>();
  readonly #why = new Map<string, string>();

  constructor(world: FlowWorld, place: string, signal: AbortSignal, kind?: DistributionKind) {
    this.#world = world;
    this.#place = place;
    this.#signal = signal;
    this.#kind = kind;
  }

  to(node: ClusterNode): Promise<NodeWay | undefined> {
    let way = this.#known.get(node.name);
    if (!way) {
      way = this.#find(node);
      this.#known.set(node.name, way);
    }
    return way;
  }

  /** Why there is no way to it. */
  why({ name }: Pick<ClusterNode, 'name'>): string {
    return this.#why.get(name) ?? 'there is no way to it from here';
  }

  async #find(node: ClusterNode): Promise<NodeWay | undefined> {
    const { practice } = this.#world;
    if (practice) return practice.runOnNode && wayInPractice(practice.runOnNode.bind(practice), node.name);
    if (this.#kind === 'talos') return this.#talosctl(node);
    return (await this.#here(node)) ?? (await this.#overSsh(node)) ?? (await this.#container(node));
  }

  /** Talos has no shell: its program asks its API, from the host that is operated. */
  async #talosctl({ name }: ClusterNode): Promise<NodeWay | undefined> {
    const host = this.#world.hostOf(this.#place);
    const way = wayOverHost(host, host.kind === 'ssh' ? `by talosctl on ${cleanLine(host.name)}` : 'by talosctl on this machine', true);
    if ((await way.read(['talosctl', 'version', '--client'], this.#signal)).exitCode === 0) return way;
    this.#why.set(name, 'there is no talosctl on this machine');
    return undefined;
  }

  async #here({ name, addresses }: ClusterNode): Promise<NodeWay | undefined> {
    const host = this.#world.hostOf(this.#place);
    const facts = await host.facts(this.#signal);
    const own = facts.addresses.filter((address) => !/^(?:127\.|::1$|fe80:)/.test(address));
    if (facts.hostname !== name && !addresses.some((address) => own.includes(address))) return undefined;
    return this.#asRoot(name, host, host.kind === 'ssh' ? `over ssh on ${cleanLine(host.name)}` : 'on this machine', facts.uid);
  }

  async #overSsh({ name, addresses }: ClusterNode): Promise<NodeWay | undefined> {
    const { hosts } = this.#world;
    if (!hosts) return undefined;
    const { parseDestination } = await import('../hosts/ssh/destination.ts');
    for (const [known, settings] of Object.entries(await hosts.list())) {
      const target = parseDestination(settings.ssh).target.replace(/^.*@/, '');
      if (known !== name && target !== name && !addresses.includes(target)) continue;
      try {
        const host = await hosts.open(known, settings);
        await host.link.ready(this.#signal);
        const { uid } = await host.facts(this.#signal);
        return await this.#asRoot(name, host, `over ssh on ${cleanLine(known)}`, uid);
      } catch (thrown) {
        this.#signal.throwIfAborted();
        if (!(thrown instanceof Fault)) throw thrown;
        this.#why.set(name, `${cleanLine(known)} cannot be reached now: ${thrown.message}`);
      }
    }
    return undefined;
  }

  /** Who is not root needs a sudo that does not ask: nobody could answer. */
  async #asRoot(name: string, host: Host, shown: string, uid: number | undefined): Promise<NodeWay | undefined> {
    const way = wayOverHost(host, shown, uid === 0);
    if (uid === 0 || (await way.read(['true'], this.#signal)).exitCode === 0) return way;
    this.#why.set(name, `sudo asks for a password ${shown}`);
    return undefined;
  }

  async #container({ name }: ClusterNode): Promise<NodeWay | undefined> {
    let listed: Awaited<ReturnType<ReturnType<FlowWorld['engineOf']>['list']>>;
    try {
      listed = await this.#world.engineOf(this.#place).list(this.#signal);
    } catch (thrown) {
      // Without an engine no node is a container of it.
      if (thrown instanceof Fault && thrown.kind === 'unreachable') return undefined;
      throw thrown;
    }
    const found = listed.find((one) => one.name === name && one.labels['io.x-k8s.kind.cluster'] !== undefined);
    return found && wayIntoContainer(this.#world, this.#place, found.id, name);
  }
}
