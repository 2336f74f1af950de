import { Fault } from '../../faults/fault.ts';
import type { FlowOutcome } from '../../flows/flow.ts';
import { optionOf } from '../../flows/flow-options.ts';
import { unlessCancelled } from '../../flows/prompt-cancelled.ts';
import type { Choice, Session } from '../../session/session.ts';
import { parseJson } from '../../text/json-value.ts';
import { countText } from '../../text/quantities.ts';
import { pad, textWidth } from '../../text/width.ts';
import { type MeshNode, type MeshUser, waitingRoutes } from './client/headscale-records.ts';
import { registrationKeyOf, registrationProblem } from './client/mesh-keys.ts';
import { deleteNode, expireNode, keepNode, type NodeStep, renameNode, routeNode, setExpiry, tagNode } from './mesh-node-acts.ts';
import { actOn, type MeshAccess, onMesh } from './mesh-session.ts';
import { chosenUser, createUser } from './mesh-user.ts';
import { isPast, itemNamed, keyOf, nodeState, ownerText, routesText, unknownAction, untilText, wordsOf } from './mesh-words.ts';

interface NodeAction {
  id: string;
  label: string;
  detail?: (node: MeshNode) => string;
  offered?: (node: MeshNode, minor: number) => boolean;
  does: (step: NodeStep) => Promise<string>;
}

const actions: readonly NodeAction[] = [
  {
    id: 'routes',
    label: 'Approve routes',
    detail: routesText,
    offered: ({ routes }) => routes !== undefined && routes.available.length + routes.approved.length > 0,
    does: routeNode,
  },
  { id: 'tags', label: 'Set tags', detail: ({ tags }) => tags.join(' '), does: tagNode },
  { id: 'expires', label: 'Set login expiry', detail: ({ expiryMs }) => untilText(expiryMs, Date.now()), does: setExpiry },
  { id: 'keep', label: 'Never expire', offered: ({ expiryMs }, minor) => expiryMs !== undefined && minor >= 29, does: keepNode },
  { id: 'rename', label: 'Rename', does: renameNode },
  {
    id: 'expire',
    label: 'Expire now',
    detail: () => 'disconnects the node until it logs in again',
    offered: ({ expiryMs }) => !isPast(expiryMs, Date.now()),
    does: expireNode,
  },
  { id: 'delete', label: 'Delete', detail: () => 'removes the node until it joins again', does: deleteNode },
];

export const meshNode = onMesh(async (access) => {
  const { session, input } = access;
  const [written, action, ...values] = wordsOf(input);
  if (written !== undefined && action !== undefined) {
    const nodes = await access.client.nodes(session.signal);
    // The node may have been renamed or deleted meanwhile: a resumed run continues with the same node, by its id.
    const [begun] = session.noted('node');
    const before = begun === undefined ? undefined : (parseJson(begun) as Pick<MeshNode, 'id' | 'name'>);
    const node = before ? nodes.find(({ id }) => id === before.id) : found(nodes, written);
    if (!node) {
      const name = before?.name ?? written;
      if (action === 'delete') return { message: `Deleted ${name} from the mesh.`, data: { id: before?.id, name, action } };
      throw new Fault('usage.node', `${name} is no longer in the mesh.`, 'Choose another node.');
    }
    if (!before) await session.note('node', JSON.stringify({ id: node.id, name: node.name }));
    const value = values.length > 0 ? values.join(',') : undefined;
    const message = await perform(namedAction(access, action, node), { access, node, time: 1, value });
    return { message, data: { id: node.id, name: node.name, action } };
  }
  return goThrough(access, written);
});

async function perform({ does }: NodeAction, step: NodeStep): Promise<string> {
  const done = await does(step);
  return step.access.session.dryRun ? `Dry run: ${step.node.name} was not changed.` : done;
}

// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: one loop, in which Esc returns to the list, and from the list ends the flow
async function goThrough(access: MeshAccess, first: string | undefined) {
  const { session, client, target } = access;
  const done: string[] = [];
  let wanted = first;
  let last: string | undefined;
  for (let time = 1; ; time++) {
    const nodes = await client.nodes(session.signal);
    if (nodes.length === 0 && done.length > 0) return ended(done);
    if (nodes.length === 0)
      return { message: `The mesh has no nodes yet. To create a key for the first node: quarterdeck key ${target.component.id}` };
    const step = time === 1 ? '' : `-${time}`;
    const chosen =
      wanted ??
      (await leftWith(
        session,
        session.ask.choice({
          id: `node${step}`,
          fresh: true,
          label: labelOfList(nodes),
          help: done.length > 0 ? 'Cancel to exit.' : 'Cancel to exit without changes.',
          choices: choicesOf(nodes),
          ...(last !== undefined && { initial: last }),
        }),
      ));
    wanted = undefined;
    if (chosen === undefined) return ended(done);
    last = chosen;
    const node = found(nodes, chosen);
    const offered = actions.filter((action) => action.offered?.(node, client.version.minor) ?? true);
    const action = await leftWith(
      session,
      session.ask.choice({
        id: `action${step}`,
        fresh: true,
        label: `${node.name}: ${nodeState(node, Date.now())}, ${ownerText(node)}, ${node.addresses.join(' ')}`,
        help: detailsOf(node),
        choices: offered.map(({ id: value, label, detail }) => {
          const more = detail?.(node) ?? '';
          return { value, label, ...(more !== '' && { detail: more }) };
        }),
      }),
    );
    if (action === undefined) continue;
    try {
      const message = await perform(namedAction(access, action, node), { access, node, time, value: undefined });
      done.push(message);
      session.show({ kind: 'item', id: `done${step}`, title: message.replace(/\.$/, ''), state: session.dryRun ? 'skipped' : 'ok' });
    } catch (thrown) {
      // A step that was not confirmed or is not possible does not end the list.
      if (session.signal.aborted || !session.attended || !(thrown instanceof Fault)) throw thrown;
      const title = thrown.message.replace(/\.$/, '');
      if (thrown.kind === 'refused' || thrown.kind === 'failed' || thrown.kind === 'usage')
        session.show({ kind: 'item', id: `not${step}`, title, state: 'blocked', evidence: thrown.remedy });
      else if (thrown.code !== 'interrupted.cancelled') throw thrown;
    }
    if (session.dryRun || !session.attended) return ended(done);
  }
}

function ended(done: readonly string[]): FlowOutcome {
  const [only = 'No node was changed.'] = done;
  return { message: done.length > 1 ? `Applied ${countText(done.length, 'change')} to the mesh.` : only, data: { done } };
}

async function leftWith(session: Session, asked: Promise<string>): Promise<string | undefined> {
  return asked.catch((thrown: unknown) => {
    if (!session.signal.aborted && thrown instanceof Fault && thrown.code === 'interrupted.cancelled') return undefined;
    throw thrown;
  });
}

function labelOfList(nodes: readonly MeshNode[]): string {
  const waiting = nodes.filter((node) => waitingRoutes(node).length > 0).map(({ name }) => name);
  return waiting.length > 0 ? `Node (routes waiting for approval: ${waiting.join(', ')})` : 'Node';
}

function choicesOf(nodes: readonly MeshNode[]): readonly Choice[] {
  const now = Date.now();
  const rows = nodes.map((node) => [node.name, nodeState(node, now), node.addresses[0] ?? '', ownerText(node), routesText(node)]);
  const widths = [0, 1, 2, 3].map((column) => Math.min(28, Math.max(...rows.map((row) => textWidth(row[column] ?? '')))));
  return nodes.map((node, at) => {
    const cells = (rows[at] ?? []).map((cell, column) => (column < 4 ? pad(cell, widths[column] ?? 0) : cell));
    return { value: keyOf(nodes, node), label: cells.join('  ').trimEnd() };
  });
}

function detailsOf({ hostname, joined, createdMs, lastSeenMs, routes }: MeshNode): string {
  const now = Date.now();
  const parts = [
    ...(hostname !== '' ? [`reports the host name ${hostname}`] : []),
    ...(joined !== '' ? [`joined by ${joined.replace(/^by /, '')}${createdMs === undefined ? '' : ` ${untilText(createdMs, now)}`}`] : []),
    ...(lastSeenMs !== undefined ? [`last seen ${untilText(lastSeenMs, now)}`] : []),
    ...(routes && routes.serving.length > 0 ? [`routes to ${routes.serving.join(', ')}`] : []),
  ];
  return parts.join('; ');
}

/** Finds a node. Its name in the mesh takes precedence over host names that nodes set themselves. */
function found(nodes: readonly MeshNode[], written: string): MeshNode {
  const words = { noun: 'node', none: 'The mesh has no nodes yet.' } as const;
  return itemNamed(nodes, written, words, ({ hostname, addresses }) => [hostname, ...addresses]);
}

function namedAction({ target, client }: MeshAccess, written: string, node: MeshNode): NodeAction {
  const action = actions.find(({ id }) => id === written);
  const known = actions.map(({ id }) => id);
  if (!action) throw unknownAction(written, 'a node', known);
  if (action.id === 'routes' && node.routes && node.routes.available.length + node.routes.approved.length === 0) {
    const remedy = 'On the node, run tailscale set --advertise-routes 192.168.1.0/24, or use --advertise-exit-node.';
    throw new Fault('refused.noRoutes', `${node.name} advertises no routes.`, remedy);
  }
  if (action.id === 'keep' && client.version.minor < 29) {
    const remedy = `Set a distant expiry instead: quarterdeck mesh node ${target.component.id} ${node.name} expires 3650d`;
    throw new Fault('refused.version', 'Disabling the expiry of a node requires Headscale 0.29 or later.', remedy);
  }
  return action;
}

export const meshRegister = onMesh((access) => {
  const { session, input, client } = access;
  return unlessCancelled(session, 'No node was registered. The node continues to wait for a while.', async () => {
    const key = await askKey(session, wordsOf(input));
    const user = await askUser(access, optionOf(input, 'user'));
    const [before] = session.noted('nodes');
    const nodes = await client.nodes(session.signal);
    // A new node of this user that was registered by hand is the one that the interrupted run registered.
    const came =
      before === undefined
        ? undefined
        : nodes.find(({ id, owner, joined }) => owner === user.name && joined === 'by hand' && !before.split(' ').includes(id));
    if (before === undefined) await session.note('nodes', nodes.map(({ id }) => id).join(' '));
    const made = await actOn(access, 'register', {
      right: 'operate',
      request: `POST ${client.version.minor >= 29 ? '/api/v1/auth/register' : '/api/v1/node/register'}: ${key} for ${user.name}`,
      done: async () => came !== undefined,
      run: (grant) => client.register(grant, key, user),
    });
    const node = made ?? came;
    if (!node) return { message: 'Dry run: no node was registered.' };
    const address = node.addresses[0];
    return {
      message: `${node.name} joined the mesh${address === undefined ? '' : ` with address ${address}`} and belongs to ${user.name}.`,
      data: { id: node.id, name: node.name, user: user.name, addresses: node.addresses },
    };
  });
});

async function askKey(session: Session, words: readonly string[]): Promise<string> {
  const question = {
    id: 'key',
    label: 'Registration key shown by the client',
    help: 'Paste the address, the command on its page, or only the key. To show them, run on the node: tailscale up --login-server ...',
    check: registrationProblem,
  };
  const written = words.length > 0 ? words.join(' ') : await session.ask.text(question);
  const key = registrationKeyOf(written);
  if (key !== undefined) return key;
  throw new Fault('usage.key', registrationProblem(written) ?? 'No key found.', 'Copy the registration key again.');
}

async function askUser(access: MeshAccess, named: string | undefined): Promise<MeshUser> {
  const { session, client } = access;
  const users = await client.users(session.signal);
  const isFirst = users.length === 0 && session.attended && !session.dryRun && named === undefined;
  const name = isFirst ? await createUser(access, { label: 'Name of the first user' }) : named;
  return chosenUser(access, name ?? (users.length === 1 ? users[0]?.id : undefined));
}
