import { Fault } from '../../faults/fault.ts';
import type { FlowContext } from '../../flows/flow.ts';
import type { ExecOutcome, Host } from '../../hosts/host.ts';
import { cleanLine } from '../../text/clean.ts';
import { isLoopback } from '../../text/loopback.ts';
import type { ClusterNode } from './client/cluster-facts.ts';
import type { DistributionKind } from './client/distribution.ts';
import type { NodeExec, NodeOutcome } from './client/node-exec.ts';

/** Fetching packages takes minutes on a slow connection. */
const runLimitMs = 900_000;
const readLimitMs = 60_000;
const outputLimitBytes = 4 * 1024 * 1024;

export const outcomeOf = ({ exitCode, stdout, stderr }: ExecOutcome): NodeOutcome => ({
  exitCode,
  stdout: Buffer.from(stdout).toString('utf8'),
  stderr: Buffer.from(stderr).toString('utf8'),
});

/** Runs programs on a node that is the operator's machine: this one, or one over ssh. */
export function execOverHost(host: Host, shown: string, root: boolean): NodeExec {
  // Without -n, sudo would wait for a password that cannot be entered.
  const asRoot = (argv: readonly string[], env: Readonly<Record<string, string>> = {}) =>
    root ? argv : ['sudo', '-n', ...Object.entries(env).map(([name, value]) => `${name}=${value}`), ...argv];
  const options = (signal: AbortSignal, limitMs: number, env: Readonly<Record<string, string>> | undefined) => ({
    ...{ signal, limitMs, limitBytes: outputLimitBytes },
    ...(root && env && { env }),
  });
  const ending = ([program = '']: readonly string[], outcome: Promise<ExecOutcome>) =>
    outcome.then(outcomeOf, (thrown: unknown): NodeOutcome => {
      if (!(thrown instanceof Fault) || thrown.code !== 'unreachable.program') throw thrown;
      return { exitCode: 127, stdout: '', stderr: `${program}: not found` };
    });
  return {
    shown,
    read: async (argv, signal, env) => ending(argv, host.exec(asRoot(argv, env), options(signal, readLimitMs, env))),
    run: async (grant, argv, env) => ending(argv, host.run(grant, asRoot(argv, env), options(grant.signal, runLimitMs, env))),
  };
}

/** Runs programs on a node that is a container of the local engine, as kind creates them. */
function execInContainer(flowContext: FlowContext, engineName: string, id: string, name: string): NodeExec {
  const engine = flowContext.engineOf(engineName);
  const withEnv = (argv: readonly string[], env: Readonly<Record<string, string>> = {}) => {
    const set = Object.entries(env).map(([key, value]) => `${key}=${value}`);
    return set.length === 0 ? argv : ['env', ...set, ...argv];
  };
  return {
    shown: `in the container ${name}`,
    read: async (argv, signal, env) =>
      outcomeOf(await engine.execReading(id, withEnv(argv, env), { signal, limitBytes: outputLimitBytes })),
    run: async (grant, argv, env) => outcomeOf(await engine.writer(grant).exec(id, withEnv(argv, env))),
  };
}

export type NodeExecs = ReturnType<typeof findNodeExecs>;

/**
 * Finds how to run programs on the nodes of a cluster: on this machine if it is the node, over ssh if a host of the configuration is the
 * node (by name or address), in a container if kind created it; on Talos through talosctl. The commands for any other node are shown.
 */
export function findNodeExecs(flowContext: FlowContext, engineName: string, signal: AbortSignal, kind?: DistributionKind) {
  const reasons = new Map<string, string>();
  const find = async (node: ClusterNode): Promise<NodeExec | undefined> => {
    const { practice } = flowContext;
    if (practice) {
      const run = practice.runOnNode?.bind(practice, node.name);
      return run && { shown: 'in practice', read: run, run: (grant, argv) => run(argv, grant.signal) };
    }
    if (kind === 'talos') return throughTalosctl(node);
    return (await onOwnHost(node)) ?? (await overSsh(node)) ?? (await inContainer(node));
  };

  /** Talos has no shell: talosctl connects to its API from the operated host. */
  async function throughTalosctl({ name }: ClusterNode): Promise<NodeExec | undefined> {
    const host = flowContext.hostOf(engineName);
    const where = host.kind === 'ssh' ? cleanLine(host.name) : 'this machine';
    const nodeExec = execOverHost(host, `with talosctl on ${where}`, true);
    if ((await nodeExec.read(['talosctl', 'version', '--client'], signal)).exitCode === 0) return nodeExec;
    reasons.set(name, `talosctl is not installed on ${where}`);
    return undefined;
  }

  async function onOwnHost({ name, addresses }: ClusterNode): Promise<NodeExec | undefined> {
    const host = flowContext.hostOf(engineName);
    const facts = await host.facts(signal);
    const own = facts.addresses.filter((address) => !isLoopback(address) && !/^fe80:/.test(address));
    if (facts.hostname !== name && !addresses.some((address) => own.includes(address))) return undefined;
    return asRoot(name, host, host.kind === 'ssh' ? `over ssh on ${cleanLine(host.name)}` : 'on this machine', facts.uid);
  }

  async function overSsh({ name, addresses }: ClusterNode): Promise<NodeExec | undefined> {
    const { hosts } = flowContext;
    if (!hosts) return undefined;
    const { parseDestination } = await import('../../hosts/ssh/destination.ts');
    for (const [known, settings] of Object.entries(await hosts.list())) {
      const target = parseDestination(settings.ssh).target.replace(/^.*@/, '');
      if (known !== name && target !== name && !addresses.includes(target)) continue;
      try {
        const host = await hosts.open(known, settings);
        await host.link.ready(signal);
        const { uid } = await host.facts(signal);
        return await asRoot(name, host, `over ssh on ${cleanLine(known)}`, uid);
      } catch (thrown) {
        signal.throwIfAborted();
        if (!(thrown instanceof Fault)) throw thrown;
        reasons.set(name, `${cleanLine(known)} cannot be used: ${thrown.message.replace(/\.$/, '')}`);
      }
    }
    return undefined;
  }

  /** A user other than root requires a sudo without a password prompt, which could not be answered. */
  async function asRoot(name: string, host: Host, shown: string, uid: number | undefined): Promise<NodeExec | undefined> {
    const nodeExec = execOverHost(host, shown, uid === 0);
    if (uid === 0 || (await nodeExec.read(['true'], signal)).exitCode === 0) return nodeExec;
    reasons.set(name, `no passwordless sudo ${shown}`);
    return undefined;
  }

  async function inContainer({ name }: ClusterNode): Promise<NodeExec | undefined> {
    const list = async () => flowContext.engineOf(engineName).list(signal);
    const listed = await list().catch((thrown: unknown) => {
      // Without an engine the node cannot be one of its containers.
      if (thrown instanceof Fault && thrown.kind === 'unreachable') return [];
      throw thrown;
    });
    const found = listed.find((one) => one.name === name && one.labels['io.x-k8s.kind.cluster'] !== undefined);
    return found && execInContainer(flowContext, engineName, found.id, name);
  }

  const known = new Map<string, Promise<NodeExec | undefined>>();
  return {
    to(node: ClusterNode): Promise<NodeExec | undefined> {
      const nodeExec = known.get(node.name) ?? find(node);
      known.set(node.name, nodeExec);
      return nodeExec;
    },
    why: ({ name }: ClusterNode): string => reasons.get(name) ?? 'not a configured host',
  };
}
