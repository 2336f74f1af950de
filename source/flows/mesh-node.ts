import { Fault } from '../faults/fault.ts';
import { type MeshNode, waitingRoutes } from '../products/headscale-things.ts';
import type { Choice, Session } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { parseJson } from '../text/json-value.ts';
import { nameRemedy } from '../text/nearest-name.ts';
import { countText } from '../text/quantities.ts';
import { pad, textWidth } from '../text/width.ts';
import { meshNodeAbout } from './about-mesh.ts';
import type { Flow } from './flow.ts';
import { deleteNode, expireNode, keepNode, type NodeStep, renameNode, routeNode, setExpiry, tagNode } from './mesh-node-acts.ts';
import { type MeshAccess, meshOf } from './mesh-session.ts';
import { isPast, nodeState, ownerText, routesText, untilText, wordsOf } from './mesh-words.ts';

type Does = (step: NodeStep) => Promise<string>;

interface NodeAction {
  id: string;
  label: (node: MeshNode) => string;
  detail?: (node: MeshNode) => string;
  offered?: (node: MeshNode, minor: number) => boolean;
  does: Does;
}

const actions: readonly NodeAction[] = [
  {
    id: 'routes',
    label: () => 'Approve its routes',
    detail: (node) => routesText(node),
    offered: ({ routes }) => routes !== undefined && routes.available.length + routes.approved.length > 0,
    does: routeNode,
  },
  { id: 'tags', label: () => 'Tag it', detail: ({ tags }) => tags.join(' '), does: tagNode },
  {
    id: 'expires',
    label: () => 'Set when it has to log in again',
    detail: ({ expiryMs }) => untilText(expiryMs, Date.now()),
    does: setExpiry,
  },
  {
    id: 'keep',
    label: () => 'Let it never expire',
    offered: ({ expiryMs }, minor) => expiryMs !== undefined && minor >= 29,
    does: keepNode,
  },
  { id: 'rename', label: () => 'Rename it', does: renameNode },
  {
    id: 'expire',
    label: () => 'Expire it now',
    detail: () => 'it is cut off until somebody logs it in again',
    offered: ({ expiryMs }) => !isPast(expiryMs, Date.now()),
    does: expireNode,
  },
  { id: 'delete', label: () => 'Delete it', detail: () => 'it has to join anew', does: deleteNode },
];

export const meshNode: Flow = {
  ...meshNodeAbout,
  async run(session, input, world) {
    const access = await meshOf(session, input, world);
    const [written, action, ...values] = wordsOf(input);
    if (written !== undefined && action !== undefined) {
      const nodes = await access.client.nodes(session.signal);
      // Under another name by now, or gone: what broke off goes on with the node that it was about.
      const [begun] = session.noted('node');
      const before = begun === undefined ? undefined : (parseJson(begun) as Pick<MeshNode, 'id' | 'name'>);
      const node = before ? nodes.find(({ id }) => id === before.id) : found(nodes, written);
      if (!node) {
        const name = before?.name ?? written;
        if (action === 'delete') return { message: `${name} is gone from the mesh.`, data: { id: before?.id, name, action } };
        throw new Fault({ code: 'usage.node', message: `${name} has left the mesh meanwhile.`, remedy: 'There is nothing to go on with.' });
      }
      if (!before) await session.note('node', JSON.stringify({ id: node.id, name: node.name }));
      const { does } = namedAction(access, action, node);
      const message = await does({ session, access, node, time: 1, value: values.length > 0 ? values.join(',') : undefined });
      return { message, data: { id: node.id, name: node.name, action } };
    }
    return goThrough(session, access, written);
  },
};

/** One node after the other, until the operator has enough: Esc goes back to the list, and from there away. */
async function goThrough(session: Session, access: MeshAccess, first: string | undefined) {
  const { client, target } = access;
  const done: string[] = [];
  let wanted = first;
  let last: string | undefined;
  for (let time = 1; ; time++) {
    const nodes = await client.nodes(session.signal);
    if (nodes.length === 0)
      return { message: `The mesh has no nodes yet. A key lets the first one in: quarterdeck key ${target.component.id}` };
    const step = time === 1 ? '' : `-${time}`;
    const chosen =
      wanted ??
      (await leftWith(session, () =>
        session.ask.choice({
          id: `node${step}`,
          fresh: true,
          label: labelOfList(nodes),
          help: helpOf(done),
          choices: choicesOf(nodes),
          ...(last !== undefined && { initial: last }),
        }),
      ));
    wanted = undefined;
    if (chosen === undefined) return ended(done);
    last = chosen;
    const node = found(nodes, chosen);
    const offered = actions.filter((action) => action.offered?.(node, client.version.minor) ?? true);
    const action = await leftWith(session, () =>
      session.ask.choice({
        id: `action${step}`,
        fresh: true,
        label: `${node.name}: ${nodeState(node, Date.now())}, ${ownerText(node)}, ${node.addresses.join(' ')}`,
        help: detailsOf(node),
        choices: offered.map(({ id, label, detail }) => choice(id, label(node), detail?.(node))),
      }),
    );
    if (action === undefined) continue;
    try {
      const message = await namedAction(access, action, node).does({ session, access, node, time, value: undefined });
      done.push(message);
      session.show({ kind: 'item', id: `done${step}`, title: message.replace(/\.$/, ''), state: session.rehearsing ? 'skipped' : 'ok' });
    } catch (thrown) {
      // What was not confirmed, or is not possible, is no reason to leave the list.
      if (session.signal.aborted || !session.attended || !(thrown instanceof Fault)) throw thrown;
      if (thrown.kind === 'refused' || thrown.kind === 'failed' || thrown.kind === 'usage')
        session.show({
          kind: 'item',
          id: `not${step}`,
          title: thrown.message.replace(/\.$/, ''),
          state: 'blocked',
          evidence: thrown.remedy,
        });
      else if (thrown.code !== 'interrupted.cancelled') throw thrown;
    }
    if (session.rehearsing || !session.attended) return ended(done);
  }
}

function ended(done: readonly string[]) {
  return {
    message:
      done.length === 0
        ? 'No node was changed.'
        : done.length === 1
          ? (done[0] ?? '')
          : `${countText(done.length, 'change')} made in the mesh.`,
    data: { done },
  };
}

/** Undefined for who walked away from the question, or where nobody is left to answer it. */
async function leftWith(session: Session, ask: () => Promise<string>): Promise<string | undefined> {
  try {
    return await ask();
  } catch (thrown) {
    if (!session.signal.aborted && thrown instanceof Fault && thrown.code === 'interrupted.cancelled') return undefined;
    throw thrown;
  }
}

function labelOfList(nodes: readonly MeshNode[]): string {
  const waiting = nodes.filter((node) => waitingRoutes(node).length > 0).map(({ name }) => name);
  return waiting.length > 0 ? `Which node? Routes wait for approval: ${waiting.join(', ')}` : 'Which node?';
}

function helpOf(done: readonly string[]): string {
  return done.length > 0 ? 'Esc leaves.' : 'Esc leaves, with nothing changed.';
}

/** In columns, as a list of nodes is read. */
function choicesOf(nodes: readonly MeshNode[]): readonly Choice[] {
  const now = Date.now();
  const rows = nodes.map((node) => [node.name, nodeState(node, now), node.addresses[0] ?? '', ownerText(node), routesText(node)]);
  const widths = [0, 1, 2, 3].map((column) => Math.min(28, Math.max(...rows.map((row) => textWidth(row[column] ?? '')))));
  const isAlone = (name: string) => nodes.filter((node) => node.name === name).length === 1;
  return nodes.map(({ id, name }, at) => {
    const cells = (rows[at] ?? []).map((cell, column) => (column < 4 ? pad(cell, widths[column] ?? 0) : cell));
    return { value: isAlone(name) ? name : id, label: cells.join('  ').trimEnd() };
  });
}

function detailsOf({ hostname, joined, createdMs, lastSeenMs, routes }: MeshNode): string {
  const now = Date.now();
  const parts = [
    ...(hostname !== '' ? [`calls itself ${hostname}`] : []),
    ...(joined !== '' ? [`joined by ${joined.replace(/^by /, '')}${createdMs === undefined ? '' : ` ${untilText(createdMs, now)}`}`] : []),
    ...(lastSeenMs !== undefined ? [`last seen ${untilText(lastSeenMs, now)}`] : []),
    ...(routes && routes.serving.length > 0 ? [`leads to ${routes.serving.join(', ')}`] : []),
  ];
  return parts.join('; ');
}

function choice(value: string, label: string, detail: string | undefined): Choice {
  return { value, label, ...(detail ? { detail } : {}) };
}

function found(nodes: readonly MeshNode[], written: string): MeshNode {
  const matches = nodes.filter(({ id, name, hostname, addresses }) => [id, name, hostname, ...addresses].includes(written));
  // Names that others gave themselves do not hide the one that is called so.
  const [node, other] = matches.some(({ id }) => id === written) ? matches.filter(({ id }) => id === written) : matches;
  const named = matches.filter(({ name }) => name === written);
  if (named.length === 1 && named[0]) return named[0];
  if (node && !other) return node;
  throw new Fault({
    code: 'usage.node',
    message: other ? `Several nodes are called ${cleanLine(written)}.` : `There is no node "${cleanLine(written)}".`,
    remedy: other
      ? `Name one by its number: ${matches.map(({ id }) => id).join(', ')}.`
      : nameRemedy(
          written,
          nodes.map(({ name }) => name),
          'The mesh has no nodes yet.',
        ),
  });
}

function namedAction({ target, client }: MeshAccess, written: string, node: MeshNode): NodeAction {
  const action = actions.find(({ id }) => id === written);
  if (!action) {
    throw new Fault({
      code: 'usage.action',
      message: `"${cleanLine(written)}" is nothing that is done with a node.`,
      remedy: `One of ${actions.map(({ id }) => id).join(', ')}.`,
    });
  }
  if (action.id === 'routes' && node.routes && node.routes.available.length + node.routes.approved.length === 0) {
    throw new Fault({
      code: 'refused.noRoutes',
      message: `${node.name} offers no routes.`,
      remedy: 'On the node: tailscale set --advertise-routes 192.168.1.0/24, or --advertise-exit-node.',
    });
  }
  if (action.id === 'keep' && client.version.minor < 29) {
    throw new Fault({
      code: 'refused.version',
      message: 'That a node never expires can be said from Headscale 0.29 on.',
      remedy: `Set a late day instead: quarterdeck mesh node ${target.component.id} ${node.name} expires 3650d`,
    });
  }
  return action;
}
