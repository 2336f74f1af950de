import { Fault } from '../../faults/fault.ts';
import { unlessFault } from '../../faults/unless-fault.ts';
import { isSealed } from '../../fleet/missing-components.ts';
import type { ComponentView } from '../../fleet/model.ts';
import type { FlowInput } from '../../flows/flow.ts';
import { optionsOf } from '../../flows/flow-options.ts';
import { cleanLine } from '../../text/clean.ts';
import { sealWhenOpened, sendShare } from './seal.ts';
import { type FlowVault, secretsManagerOf } from './vault-open.ts';

/** A sealed server with the same threshold: a node of the same cluster, if the operator says so. */
export type SealedNode = Pick<FlowVault, 'session' | 'component' | 'manager'> & { name: string };

export type NodeOutcome = Awaited<ReturnType<typeof openNode>>;

/** Shares are sent only to servers that the operator named with `--also HOST` or chose from the sealed ones. Throws `usage.host`. */
export async function chooseNodes(vault: FlowVault, input: FlowInput): Promise<readonly SealedNode[]> {
  const { session, status: first } = vault;
  const named = optionsOf(input, 'also') ?? [];
  if (named.length === 0 && !session.attended) return [];
  const nodes = await sealedNodes(vault);
  const unknown = named.find((name) => !nodes.some(({ component }) => isNamed(component, name)));
  if (unknown !== undefined) {
    const message = `"${cleanLine(unknown)}" has no sealed secrets manager that requires ${first.threshold} of ${first.shares} key shares.`;
    const names = nodes.map(({ component: { host, id } }) => cleanLine(host === input.engineName ? id : host)).join(', ');
    throw new Fault('usage.host', message, names === '' ? 'No other such secrets manager was reached.' : `Use one of: ${names}.`);
  }
  if (named.length > 0) return nodes.filter(({ component }) => named.some((name) => isNamed(component, name)));
  if (nodes.length === 0) return [];
  const chosen = await session.ask.several({
    id: 'nodes',
    label: 'Also send the key shares to these nodes',
    help: 'Nodes of one cluster are unsealed individually with the same shares. Select only nodes of this cluster, because every selected server receives the shares.',
    choices: nodes.map(({ component, name }) => ({ value: component.key, label: name, detail: component.state.label })),
    initial: nodes.filter(({ component }) => component.id === vault.component.id).map(({ component }) => component.key),
  });
  return nodes.filter(({ component }) => chosen.includes(component.key));
}

/** Matches `HOST`, or `HOST/PROJECT/COMPONENT` for one of several on a host. */
const isNamed = ({ host, id, key }: ComponentView, name: string) => [host, id, key].includes(name);

const nameOf = ({ id, host, project }: ComponentView, engineName: string) =>
  cleanLine(host === engineName ? `${id} of the project ${project}` : `${id} on ${host}`);

async function sealedNodes({ session, context, component: own, status: first }: FlowVault): Promise<SealedNode[]> {
  const found: SealedNode[] = [];
  for (const component of context.fleet.snapshot().components) {
    if (component.key === own.key || !isSealed(component)) continue;
    // An unreachable server does not stop the unsealing of the others; the list shows it.
    const manager = await unlessFault(session.signal, secretsManagerOf(context, component, session.signal));
    const status = manager && (await unlessFault(session.signal, manager.seal(session.signal)));
    if (!manager || !status?.sealed || !status.initialized) continue;
    if (status.threshold === first.threshold && status.shares === first.shares)
      found.push({ session, component, manager, name: nameOf(component, own.host) });
  }
  return found;
}

/** Sends the entered shares to one more node. A node of another cluster is detected by the result. */
export async function openNode(node: SealedNode, shares: readonly string[], number: number) {
  const { session, component, manager, name } = node;
  const id = `node-${number}`;
  const tell = (state: 'running' | 'ok' | 'warning', evidence?: string) =>
    session.show({ kind: 'item', id, title: name, state, ...(evidence !== undefined && { evidence }) });
  tell('running');
  try {
    // A share that was entered there before may have spoiled the first round, and is dropped now.
    const dropped = (await round(node, shares, `${id}-share`)) && (await round(node, shares, `${id}-again`));
    const { sealed, progress, threshold } = dropped ? await manager.seal(session.signal) : await sealWhenOpened(node);
    const foreign = 'the shares do not unseal this node; it may belong to another cluster';
    if (sealed) tell('warning', dropped ? foreign : `${progress} of ${threshold} key shares accepted`);
    else tell('ok', 'unsealed');
    return { host: component.host, component: component.id, name, sealed, progress: sealed ? progress : threshold, threshold };
  } catch (thrown) {
    if (!(thrown instanceof Fault) || session.signal.aborted || thrown.kind !== 'unreachable') throw thrown;
    tell('warning', thrown.message);
    return { host: component.host, component: component.id, name, sealed: true, progress: 0, threshold: 0 };
  }
}

async function round(node: SealedNode, shares: readonly string[], id: string): Promise<boolean> {
  const target = { host: node.component.host, component: node.component.key };
  for (const [at, share] of shares.entries()) {
    const before = await node.manager.seal(node.session.signal);
    if (!before.sealed) return false;
    const outcome = await sendShare(node, share, before, { id: `${id}-${at + 1}`, target });
    if (outcome.kind === 'dropped') return true;
  }
  return false;
}
