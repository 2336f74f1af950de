import { Fault } from '../faults/fault.ts';
import { pauseFor } from '../faults/waits.ts';
import type { ComponentView } from '../fleet/model.ts';
import type { SealStatus, SecretsManager, ShareOutcome } from '../products/secrets-manager.ts';
import type { Session } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import type { FlowInput, FlowWorld } from './flow.ts';
import { secretsManagerOf } from './vault-target.ts';

/** A node that joins says "sealed" for a moment after its last share. */
const finishingMs = 30_000;
const againMs = 500;

/** Another server that is sealed, and opens with as many shares: a node of the same cluster, where somebody says so. */
export interface SealedNode {
  component: ComponentView;
  manager: SecretsManager;
  /** Tells it apart from the one that is unsealed first. */
  name: string;
}

export interface NodeOutcome {
  host: string;
  component: string;
  /** For sentences. */
  name: string;
  sealed: boolean;
  progress: number;
  threshold: number;
}

/**
 * The nodes that are to get the same shares. A share is given to no server that nobody named: with `--also HOST`, or chosen from those that are sealed. Throws
 * `usage.host` for a host where none is.
 */
export async function chooseNodes(session: Session, input: FlowInput, world: FlowWorld, first: SealStatus): Promise<readonly SealedNode[]> {
  const written = input.options['also'];
  const named = Array.isArray(written) ? (written as readonly string[]) : typeof written === 'string' ? [written] : [];
  if (named.length === 0 && !session.attended) return [];
  const nodes = await sealedNodes(session, input, world, first);
  const unknown = named.find((name) => !nodes.some(({ component }) => isNamed(component, name)));
  if (unknown !== undefined) {
    throw new Fault({
      code: 'usage.host',
      message: `No sealed secrets manager with ${first.threshold} of ${first.shares} key shares is on "${cleanLine(unknown)}".`,
      remedy:
        nodes.length === 0
          ? 'No other host has one.'
          : `These have one: ${nodes.map(({ component }) => cleanLine(component.host === input.place ? component.id : component.host)).join(', ')}.`,
    });
  }
  if (named.length > 0) return nodes.filter(({ component }) => named.some((name) => isNamed(component, name)));
  if (nodes.length === 0) return [];
  const same = nodes.filter(({ component }) => component.id === input.component?.id);
  const chosen = await session.ask.several({
    id: 'nodes',
    label: 'Give the same key shares to these too?',
    help: 'Nodes of one cluster open with the same shares, each for itself. Choose none that is not of this cluster: it would be given shares that are not its own.',
    choices: nodes.map(({ component, name }) => ({
      value: component.key,
      label: name,
      detail: component.word,
    })),
    initial: same.map(({ component }) => component.key),
  });
  return nodes.filter(({ component }) => chosen.includes(component.key));
}

/** `HOST`, or for one of several on a host `HOST/PROJECT/COMPONENT`. */
function isNamed({ host, id, key }: ComponentView, name: string): boolean {
  return name === host || name === id || name === key;
}

function nameOf({ id, host, project }: ComponentView, place: string): string {
  return cleanLine(host === place ? `${id} of the project ${project}` : `${id} on ${host}`);
}

async function sealedNodes(session: Session, input: FlowInput, world: FlowWorld, first: SealStatus): Promise<SealedNode[]> {
  const found: SealedNode[] = [];
  for (const component of world.fleet.snapshot().components) {
    if (component.speaks !== 'vault' || component.key === input.component?.key || !component.word.startsWith('sealed')) continue;
    try {
      const manager = await secretsManagerOf(world, component, session.signal);
      const { sealed, initialized, threshold, shares } = await manager.seal(session.signal);
      if (sealed && initialized && threshold === first.threshold && shares === first.shares) {
        found.push({ component, manager, name: nameOf(component, input.place) });
      }
    } catch (thrown) {
      // One that does not answer is no reason to leave the others sealed; it is seen in the list.
      if (!(thrown instanceof Fault) || session.signal.aborted) throw thrown;
    }
  }
  return found;
}

/** Gives what was typed to one more node. What others gave there is used, and what does not belong to it shows as it does everywhere. */
export async function openNode(
  session: Session,
  { component, manager, name }: SealedNode,
  shares: readonly string[],
  number: number,
): Promise<NodeOutcome> {
  const title = name;
  const id = `node-${number}`;
  session.show({ kind: 'item', id, title, state: 'running' });
  try {
    let dropped = await round(session, { component, manager, name }, shares, `${id}-share`);
    // A share that somebody else had left there can have spoiled the first round, and is gone now.
    if (dropped) dropped = await round(session, { component, manager, name }, shares, `${id}-again`);
    const status = dropped ? await manager.seal(session.signal) : await settled(session, manager);
    session.show({
      kind: 'item',
      id,
      title,
      state: status.sealed ? 'warning' : 'ok',
      evidence: dropped
        ? 'these shares do not open it: is it a node of this cluster?'
        : status.sealed
          ? `${status.progress} of ${status.threshold} key shares accepted`
          : 'unsealed',
    });
    return outcomeOf({ component, manager, name }, status);
  } catch (thrown) {
    if (!(thrown instanceof Fault) || session.signal.aborted || thrown.kind !== 'unreachable') throw thrown;
    session.show({ kind: 'item', id, title, state: 'warning', evidence: thrown.message });
    return { host: component.host, component: component.id, name, sealed: true, progress: 0, threshold: 0 };
  }
}

/** For the audit: why a share that was sent does not count. */
export function shareFailure(outcome: ShareOutcome, before: Pick<SealStatus, 'progress' | 'threshold'>): string | undefined {
  if (outcome.kind === 'refused') return `the server rejected the share: ${outcome.words}`;
  if (outcome.kind === 'dropped') return `the server rejected all ${before.threshold} shares: ${outcome.words}`;
  const { sealed, progress } = outcome.status;
  const isLast = !sealed || (progress === 0 && before.progress + 1 >= before.threshold);
  return !isLast && progress <= before.progress ? 'the share was sent before: it counts once' : undefined;
}

/** True where the server dropped them all. */
async function round(session: Session, { component, manager }: SealedNode, shares: readonly string[], id: string): Promise<boolean> {
  for (const [at, share] of shares.entries()) {
    const before = await manager.seal(session.signal);
    if (!before.sealed) return false;
    const outcome = await session.act({
      id: `${id}-${at + 1}`,
      right: 'operate',
      request: `PUT /v1/sys/unseal with a key share (${before.progress} of ${before.threshold} were given)`,
      target: { host: component.host, component: component.id },
      run: (grant) => manager.give(grant, share),
      failure: (one) => shareFailure(one, before),
    });
    if (outcome?.kind === 'dropped') return true;
  }
  return false;
}

/** Its state once it has opened its storage, or says that it wants more shares. */
async function settled(session: Session, manager: SecretsManager): Promise<SealStatus> {
  const endMs = performance.now() + finishingMs;
  let status = await manager.seal(session.signal);
  while (status.sealed && status.progress === 0 && performance.now() < endMs) {
    await pauseFor(againMs, session.signal);
    status = await manager.seal(session.signal);
  }
  return status;
}

function outcomeOf({ component: { host, id }, name }: SealedNode, { sealed, progress, threshold }: SealStatus): NodeOutcome {
  return { host, component: id, name, sealed, progress: sealed ? progress : threshold, threshold };
}
