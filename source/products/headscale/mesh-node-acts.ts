import ipaddr from 'ipaddr.js';
import { tagsDefined } from '../../config-files/headscale-policy/policy.ts';
import { Fault } from '../../faults/fault.ts';
import { type ArgumentQuestion, argumentOrPrompt } from '../../flows/argument-or-prompt.ts';
import { parseDuration } from '../../session/answer-checks.ts';
import type { Act, Choice } from '../../session/session.ts';
import { cleanLine } from '../../text/clean.ts';
import { dateText } from '../../text/quantities.ts';
import { exitRoutes, type MeshNode } from './client/headscale-records.ts';
import { tagProblem, tagsOf } from './client/mesh-keys.ts';
import { actOn, type MeshAccess } from './mesh-session.ts';
import { ownConnectionOf } from './mesh-target.ts';
import { expirationProblem, isPast } from './mesh-words.ts';

export interface NodeStep {
  access: MeshAccess;
  node: MeshNode;
  /** Counts the steps of this run, for the ids of prompts and actions. */
  time: number;
  value: string | undefined;
}

const stepped = ({ time }: NodeStep, id: string): string => (time === 1 ? id : `${id}-${time}`);

async function act(step: NodeStep, id: string, rest: Omit<Act<unknown>, 'id' | 'target'>): Promise<void> {
  await actOn(step.access, stepped(step, id), rest);
}

function textFor(step: NodeStep, question: Omit<ArgumentQuestion, 'given'>): Promise<string> {
  return argumentOrPrompt(step.access.session, { ...question, id: stepped(step, question.id), fresh: true, given: step.value });
}

async function now({ access: { client, session }, node }: NodeStep): Promise<MeshNode | undefined> {
  return (await client.nodes(session.signal)).find(({ id }) => id === node.id);
}

/** Throws `refused.lockOut` if the operator's own connection to the host goes through this node. */
async function throwIfOwnConnection({ access, node }: NodeStep, what: string): Promise<void> {
  const connection = await ownConnectionOf(access.target, [node]);
  if (!connection) return;
  const message = `Your own connection to ${access.target.host.name} goes over ${node.name} (${connection.address}), so ${what} would disconnect you.`;
  throw new Fault('refused.lockOut', message, 'First connect to the host by an address outside the mesh.');
}

export async function expireNode(step: NodeStep): Promise<string> {
  const { access, node } = step;
  await throwIfOwnConnection(step, 'expiring it');
  await act(step, 'expire', {
    right: 'destroy',
    title: `Expire ${node.name}`,
    request: `POST /api/v1/node/${node.id}/expire`,
    consequences: [
      `${node.name} is disconnected immediately. To reconnect it, log in again on the node.`,
      ...(node.routes && node.routes.serving.length > 0
        ? [`Routes through ${node.name} become unreachable: ${node.routes.serving.join(', ')}.`]
        : []),
    ],
    done: async () => isPast((await now(step))?.expiryMs, Date.now()),
    run: (grant) => access.client.expireNode(grant, node),
  });
  return `Expired ${node.name}. The node must log in again.`;
}

export async function setExpiry(step: NodeStep): Promise<string> {
  const { access, node } = step;
  const { session } = access;
  const written = await textFor(step, {
    id: 'expires',
    label: `Login expiry of ${node.name}`,
    help: `Sends POST /api/v1/node/${node.id}/expire with the new expiry, such as 30d or 26w.`,
    initial: '180d',
    check: expirationProblem,
    ...{ code: 'usage.duration', remedy: 'For example: 180d' },
  });
  const [begun] = step.value === undefined ? [] : session.noted('expires-at');
  const atMs = begun === undefined ? Date.now() + (parseDuration(written) ?? 0) * 1000 : Number(begun);
  if (begun === undefined) await session.note('expires-at', String(atMs));
  const isSet = (seen: MeshNode | undefined) => seen?.expiryMs !== undefined && Math.abs(seen.expiryMs - atMs) <= 60_000;
  await act(step, 'set-expiry', {
    right: 'operate',
    request: `POST /api/v1/node/${node.id}/expire: ${dateText(atMs)}`,
    done: async () => begun !== undefined && isSet(await now(step)),
    run: (grant) => access.client.expireNode(grant, node, atMs),
  });
  const seen = session.dryRun ? undefined : await now(step);
  // Up to 0.29 the server silently ignores the body and expires the node at once, so the node's state is checked afterwards.
  if (!session.dryRun && !isSet(seen)) {
    const message = `${node.name} was set to expire ${dateText(atMs)}, but the control server reports ${dateText(seen?.expiryMs)}.`;
    throw new Fault('failed.mesh', message, 'Set the expiry with the headscale command: headscale nodes expire --help');
  }
  return `${node.name} stays logged in until ${dateText(atMs)}.`;
}

export async function keepNode(step: NodeStep): Promise<string> {
  const { access, node } = step;
  await act(step, 'keep', {
    right: 'operate',
    request: `POST /api/v1/node/${node.id}/expire with disableExpiry`,
    done: async () => {
      const seen = await now(step);
      return seen !== undefined && seen.expiryMs === undefined;
    },
    run: (grant) => access.client.keepNode(grant, node),
  });
  return `The login of ${node.name} no longer expires.`;
}

export async function renameNode(step: NodeStep): Promise<string> {
  const { access, node } = step;
  const isName = (text: string) => /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i.test(text.trim());
  const wanted = await textFor(step, {
    id: 'name',
    label: `New name of ${node.name}`,
    help: 'Other nodes reach the node by this name. The host name of the node does not change.',
    initial: node.name,
    check: (text) => (isName(text) ? undefined : 'Use up to 63 letters, digits and hyphens, because the name is used in DNS.'),
    ...{ code: 'usage.name', remedy: 'Choose another name.' },
  });
  await act(step, 'rename', {
    right: 'operate',
    request: `POST /api/v1/node/${node.id}/rename/${wanted}`,
    done: async () => (await now(step))?.name === wanted,
    run: (grant) => access.client.renameNode(grant, node, wanted),
  });
  return `Renamed ${node.name} to ${wanted}.`;
}

export async function tagNode(step: NodeStep): Promise<string> {
  const { access, node } = step;
  const policy = await access.client.policy(access.session.signal);
  const known = policy ? tagsDefined(policy.text) : [];
  const check = (text: string) => {
    const tags = tagsOf(text);
    if (tags.length === 0) return 'Enter at least one tag. A tagged node must keep at least one tag.';
    const strange = tags.find((tag) => !known.includes(tag));
    return (
      tags.map(tagProblem).find(Boolean) ?? (strange !== undefined ? `The policy does not list ${strange} under tagOwners.` : undefined)
    );
  };
  const help =
    known.length > 0
      ? `All tags of the node, comma-separated. Tags of the policy: ${known.join(' ')}.`
      : 'The policy has no tags yet. Add them under tagOwners first.';
  const remedy =
    known.length > 0 ? `Use one of: ${known.join(', ')}.` : `Add the tag: quarterdeck mesh edit-policy ${access.target.component.id}`;
  const question = { id: 'tags', label: `Tags of ${node.name}`, help, initial: node.tags.join(','), check };
  const written = await textFor(step, { ...question, code: 'usage.tags', remedy });
  const tags = tagsOf(written);
  await act(step, 'tag', {
    right: node.owner === '' ? 'operate' : 'destroy',
    title: `Tag ${node.name}: ${tags.join(' ')}`,
    request: `POST /api/v1/node/${node.id}/tags: ${tags.join(' ')}`,
    ...(node.owner !== '' && {
      consequences: [`${node.name} will belong to its tags instead of ${node.owner}, so rules for ${node.owner} no longer apply to it.`],
    }),
    done: async () => isSameSet((await now(step))?.tags ?? [], tags),
    run: (grant) => access.client.setTags(grant, node, tags),
  });
  return `Set the tags of ${node.name}: ${tags.join(' ')}.`;
}

export async function routeNode(step: NodeStep): Promise<string> {
  const { access, node } = step;
  const { session, client } = access;
  const { available = [], approved = [] } = node.routes ?? {};
  const offered = [...new Set([...available, ...approved])];
  // The two exit routes belong together: the server approves the second with the first.
  const exit = exitRoutes.find((route) => offered.includes(route));
  const plain = offered.filter((route) => !exitRoutes.includes(route));
  const detail = (route: string) => (!available.includes(route) ? 'not advertised' : approved.includes(route) ? 'approved' : 'waiting');
  const choices: Choice[] = plain.map((route) => ({ value: route, label: route, detail: detail(route) }));
  if (exit !== undefined) choices.push({ value: 'exit', label: 'Exit node: all other traffic (0.0.0.0/0 and ::/0)', detail: detail(exit) });
  // Before 0.26 each route requires its own request.
  const sends =
    client.version.minor >= 26
      ? `POST /api/v1/node/${node.id}/approve_routes`
      : 'POST /api/v1/routes/NUMBER/enable or /disable for each route';
  const written =
    step.value === undefined
      ? await session.ask.several({
          id: stepped(step, 'routes'),
          fresh: true,
          label: `Approved routes of ${node.name}`,
          help: `Selected routes are approved; all others are not. Sends ${sends}.`,
          choices,
          initial: choices.map(({ value }) => value).filter((value) => value === 'exit' || available.includes(value)),
        })
      : routesWritten(step.value, offered, node.name);
  const wanted = [...new Set(written.flatMap((route) => (route === 'exit' ? exitRoutes : [route])))];
  const unheard = client.version.minor < 26 ? wanted.find((route) => !available.includes(route)) : undefined;
  if (unheard !== undefined) {
    const message = `${node.name} does not advertise ${unheard}. Before Headscale 0.26, only advertised routes can be approved.`;
    throw new Fault('refused.version', message, `Advertised by ${node.name}: ${available.join(', ') || 'none'}.`);
  }
  const dropped = approved.filter((route) => !wanted.includes(route));
  const paths = client.routePaths(node, wanted).map((path) => `POST /api/v1/${path}`);
  await act(step, 'routes', {
    right: dropped.length > 0 ? 'destroy' : 'operate',
    title: `Routes of ${node.name}: ${wanted.join(', ') || 'none'}`,
    request: `${paths.join(', ')}: ${wanted.join(', ') || 'none'}`,
    ...(dropped.length > 0 && { consequences: [`No longer reachable through ${node.name}: ${dropped.join(', ')}`] }),
    done: async () => isSameSet((await now(step))?.routes?.approved ?? approved, wanted),
    run: (grant) => client.approveRoutes(grant, node, wanted),
  });
  const everywhere = wanted.some((route) => exitRoutes.includes(route)) ? ['exit node'] : [];
  const led = [...wanted.filter((route) => !exitRoutes.includes(route)), ...everywhere];
  return led.length === 0 ? `${node.name} has no approved routes.` : `Approved routes of ${node.name}: ${led.join(', ')}.`;
}

export async function deleteNode(step: NodeStep): Promise<string> {
  const { access, node } = step;
  await throwIfOwnConnection(step, 'deleting it');
  await act(step, 'delete', {
    right: 'destroy',
    title: `Delete ${node.name}`,
    request: `DELETE /api/v1/node/${node.id}`,
    consequences: [
      `${node.name} leaves the mesh immediately and loses its addresses: ${node.addresses.join(', ')}`,
      'To return, the node must join again, with a key or by registration.',
    ],
    done: async () => (await now(step)) === undefined,
    run: (grant) => access.client.deleteNode(grant, node),
  });
  return `Deleted ${node.name} from the mesh.`;
}

const isSameSet = (one: readonly string[], other: readonly string[]) =>
  one.length === other.length && other.every((item) => one.includes(item));

function routesWritten(written: string, offered: readonly string[], name: string): readonly string[] {
  if (written === 'none') return [];
  if (written === 'all') return offered;
  const wanted = written.split(/[\s,]+/).filter(Boolean);
  const strange = wanted.find((route) => route !== 'exit' && !ipaddr.isValidCIDR(route));
  if (strange !== undefined) {
    const message = `Unknown route "${cleanLine(strange)}".`;
    throw new Fault('usage.route', message, `Routes of ${name}: ${offered.join(', ') || 'none'}. You can also use all, none or exit.`);
  }
  return wanted;
}
