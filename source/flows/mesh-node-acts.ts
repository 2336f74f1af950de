import ipaddr from 'ipaddr.js';
import { Fault } from '../faults/fault.ts';
import { exitRoutes, type MeshNode } from '../products/headscale-things.ts';
import { tagProblem, tagsOf } from '../products/mesh-keys.ts';
import { tagsDefined } from '../products/mesh-policy.ts';
import { parseDuration } from '../session/answer-checks.ts';
import type { Act, Choice, Session } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import type { MeshAccess } from './mesh-session.ts';
import { ownWayOf } from './mesh-target.ts';
import { dateText, expirationProblem, isPast } from './mesh-words.ts';

/** One thing that is done with one node. */
export interface NodeStep {
  session: Session;
  access: MeshAccess;
  node: MeshNode;
  /** The how manieth of this run: names questions and acts. */
  time: number;
  /** What the command line said, where it said something. */
  value: string | undefined;
}

const usualExpiry = '180d';

function stepped({ time }: NodeStep, id: string): string {
  return time === 1 ? id : `${id}-${time}`;
}

async function act(step: NodeStep, id: string, rest: Omit<Act<unknown>, 'id' | 'target'>): Promise<void> {
  const { component } = step.access.target;
  await step.session.act({ ...rest, id: stepped(step, id), target: { host: component.host, component: component.id } });
}

/** The node as it is now; undefined where it is gone. */
async function now({ access, session, node }: NodeStep): Promise<MeshNode | undefined> {
  return (await access.client.nodes(session.signal)).find(({ id }) => id === node.id);
}

/** Throws `refused.lockOut` where the operator's own way to the host goes over this node. */
async function throwIfOwnWay({ access, node }: NodeStep, what: string): Promise<void> {
  const way = await ownWayOf(access.target, [node]);
  if (!way) return;
  throw new Fault({
    code: 'refused.lockOut',
    message: `Your own connection to ${access.target.host.name} goes over ${node.name} (${way.address}): ${what} would cut it off.`,
    remedy: 'Reach the host in another way first, by its address outside the mesh.',
  });
}

export async function expireNode(step: NodeStep): Promise<string> {
  const { session, access, node } = step;
  await throwIfOwnWay(step, 'expiring it');
  await act(step, 'expire', {
    right: 'destroy',
    title: `Expire ${node.name}`,
    request: `POST /api/v1/node/${node.id}/expire`,
    consequences: [
      `${node.name} is cut off at once, until somebody logs it in again on the machine itself.`,
      ...(node.routes && node.routes.serving.length > 0 ? [`What it leads to is out of reach: ${node.routes.serving.join(', ')}`] : []),
    ],
    done: async () => isPast((await now(step))?.expiryMs, Date.now()),
    run: (grant) => access.client.expireNode(grant, node),
  });
  return session.rehearsing ? `Rehearsed: ${node.name} is as before.` : `${node.name} is expired: it has to log in again.`;
}

export async function setExpiry(step: NodeStep): Promise<string> {
  const { session, access, node } = step;
  const written =
    step.value ??
    (await session.ask.text({
      id: stepped(step, 'expires'),
      fresh: true,
      label: `For how long is ${node.name} to stay logged in?`,
      help: `Sends POST /api/v1/node/${node.id}/expire with a day to come. 30d, 26w.`,
      initial: usualExpiry,
      check: expirationProblem,
    }));
  const problem = expirationProblem(written);
  if (problem !== undefined)
    throw new Fault({ code: 'usage.duration', message: `"${cleanLine(written)}": ${problem}`, remedy: 'For example 180d.' });
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
  if (session.rehearsing) return `Rehearsed: ${node.name} is as before.`;
  const seen = await now(step);
  // Up to 0.29 a body is ignored without a word, and the node expired at once: what counts is what it says afterwards.
  if (!isSet(seen)) {
    throw new Fault({
      code: 'failed.mesh',
      message: `The control server was told ${dateText(atMs)}, and says that ${node.name} expires ${dateText(seen?.expiryMs)}.`,
      remedy: 'Set it with its own command: headscale nodes expire --help',
    });
  }
  return `${node.name} stays logged in until ${dateText(atMs)}.`;
}

export async function keepNode(step: NodeStep): Promise<string> {
  const { session, access, node } = step;
  await act(step, 'keep', {
    right: 'operate',
    request: `POST /api/v1/node/${node.id}/expire with disableExpiry`,
    done: async () => {
      const seen = await now(step);
      return seen !== undefined && seen.expiryMs === undefined;
    },
    run: (grant) => access.client.keepNode(grant, node),
  });
  return session.rehearsing ? `Rehearsed: ${node.name} is as before.` : `${node.name} never has to log in again.`;
}

export async function renameNode(step: NodeStep): Promise<string> {
  const { session, access, node } = step;
  const check = (text: string) =>
    /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i.test(text.trim())
      ? undefined
      : 'Letters, digits and hyphens, 63 at most: it is a name in DNS.';
  const wanted = (
    step.value ??
    (await session.ask.text({
      id: stepped(step, 'name'),
      fresh: true,
      label: `What is ${node.name} to be called?`,
      help: 'Others reach it under this name. What the machine calls itself stays.',
      initial: node.name,
      check,
    }))
  ).trim();
  const problem = check(wanted);
  if (problem !== undefined)
    throw new Fault({ code: 'usage.name', message: `"${cleanLine(wanted)}": ${problem}`, remedy: 'Choose another name.' });
  await act(step, 'rename', {
    right: 'operate',
    request: `POST /api/v1/node/${node.id}/rename/${wanted}`,
    done: async () => (await now(step))?.name === wanted,
    run: (grant) => access.client.renameNode(grant, node, wanted),
  });
  return session.rehearsing ? `Rehearsed: ${node.name} is as before.` : `${node.name} is called ${wanted} now.`;
}

export async function tagNode(step: NodeStep): Promise<string> {
  const { session, access, node } = step;
  const policy = await access.client.policy(session.signal);
  const known = policy ? tagsDefined(policy.text) : [];
  const check = (text: string) => {
    const tags = tagsOf(text);
    if (tags.length === 0) return 'Name a tag: a node that has tags keeps at least one.';
    const strange = tags.find((tag) => !known.includes(tag));
    return tags.map(tagProblem).find(Boolean) ?? (strange !== undefined ? `The policy has no ${strange} under tagOwners.` : undefined);
  };
  const written =
    step.value ??
    (await session.ask.text({
      id: stepped(step, 'tags'),
      fresh: true,
      label: `Tags of ${node.name}`,
      help:
        known.length > 0
          ? `The policy knows ${known.join(' ')}. All that it is to have, with commas.`
          : 'The policy knows no tags yet: add them under tagOwners first.',
      initial: node.tags.join(','),
      check,
    }));
  const problem = check(written);
  if (problem !== undefined) {
    throw new Fault({
      code: 'usage.tags',
      message: problem,
      remedy: known.length > 0 ? `It knows ${known.join(', ')}.` : `Add it: quarterdeck mesh edit-policy ${access.target.component.id}`,
    });
  }
  const tags = tagsOf(written);
  const isSame = (one: readonly string[]) => one.length === tags.length && tags.every((tag) => one.includes(tag));
  await act(step, 'tag', {
    right: node.owner === '' ? 'operate' : 'destroy',
    title: `Tag ${node.name}: ${tags.join(' ')}`,
    request: `POST /api/v1/node/${node.id}/tags: ${tags.join(' ')}`,
    ...(node.owner !== '' && {
      consequences: [
        `${node.name} belongs to its tags from then on, and no more to ${node.owner}: rules for ${node.owner} do not hold for it.`,
      ],
    }),
    done: async () => isSame((await now(step))?.tags ?? []),
    run: (grant) => access.client.setTags(grant, node, tags),
  });
  return session.rehearsing ? `Rehearsed: ${node.name} is as before.` : `${node.name} has the tags ${tags.join(' ')}.`;
}

export async function routeNode(step: NodeStep): Promise<string> {
  const { session, access, node } = step;
  const { available = [], approved = [] } = node.routes ?? {};
  const offered = [...new Set([...available, ...approved])];
  // Both ways out are one thing: the server approves the other with the first.
  const isExit = offered.some((route) => exitRoutes.includes(route));
  const plain = offered.filter((route) => !exitRoutes.includes(route));
  const detail = (route: string) =>
    !available.includes(route) ? 'it does not offer that any more' : approved.includes(route) ? 'approved' : 'waits';
  const choices: Choice[] = [
    ...plain.map((route) => ({ value: route, label: route, detail: detail(route) })),
    ...(isExit
      ? [
          {
            value: 'exit',
            label: 'Way out to everywhere (0.0.0.0/0 and ::/0)',
            detail: detail(exitRoutes.find((route) => offered.includes(route)) ?? ''),
          },
        ]
      : []),
  ];
  // Before 0.26 each route has a call of its own.
  const { client } = access;
  const sends =
    client.version.minor >= 26 ? `POST /api/v1/node/${node.id}/approve_routes` : 'POST /api/v1/routes/NUMBER/enable or /disable for each';
  const written =
    step.value === undefined
      ? await session.ask.several({
          id: stepped(step, 'routes'),
          fresh: true,
          label: `Which routes of ${node.name} are approved?`,
          help: `All that are marked lead through it afterwards, the others do not. Sends ${sends}.`,
          choices,
          initial: choices.map(({ value }) => value).filter((value) => value === 'exit' || available.includes(value)),
        })
      : routesWritten(step.value, offered, node.name);
  const wanted = [...new Set(written.flatMap((route) => (route === 'exit' ? exitRoutes : [route])))];
  const unheard = client.version.minor < 26 ? wanted.find((route) => !available.includes(route)) : undefined;
  if (unheard !== undefined) {
    throw new Fault({
      code: 'refused.version',
      message: `${node.name} does not offer ${unheard}. Before 0.26 only what a node offers can be approved.`,
      remedy: `It offers ${available.join(', ') || 'nothing'}.`,
    });
  }
  const dropped = approved.filter((route) => !wanted.includes(route));
  const isSame = (one: readonly string[]) => one.length === wanted.length && wanted.every((route) => one.includes(route));
  await act(step, 'routes', {
    right: dropped.length > 0 ? 'destroy' : 'operate',
    title: `Routes of ${node.name}: ${wanted.join(', ') || 'none'}`,
    request: `${client
      .routePaths(node, wanted)
      .map((path) => `POST /api/v1/${path}`)
      .join(', ')}: ${wanted.join(', ') || 'none'}`,
    ...(dropped.length > 0 && { consequences: [`What is reached through ${node.name} no more: ${dropped.join(', ')}`] }),
    done: async () => isSame((await now(step))?.routes?.approved ?? approved),
    run: (grant) => client.approveRoutes(grant, node, wanted),
  });
  if (session.rehearsing) return `Rehearsed: ${node.name} is as before.`;
  return wanted.length === 0
    ? `${node.name} leads nowhere any more.`
    : `${node.name} leads to ${[...wanted.filter((route) => !exitRoutes.includes(route)), ...(wanted.some((route) => exitRoutes.includes(route)) ? ['everywhere'] : [])].join(', ')}.`;
}

export async function deleteNode(step: NodeStep): Promise<string> {
  const { session, access, node } = step;
  await throwIfOwnWay(step, 'deleting it');
  await act(step, 'delete', {
    right: 'destroy',
    title: `Delete ${node.name}`,
    request: `DELETE /api/v1/node/${node.id}`,
    consequences: [
      `${node.name} leaves the mesh at once, and loses its addresses: ${node.addresses.join(', ')}`,
      'To come back it joins anew, with a key or registered by hand.',
    ],
    done: async () => (await now(step)) === undefined,
    run: (grant) => access.client.deleteNode(grant, node),
  });
  return session.rehearsing ? `Rehearsed: ${node.name} is as before.` : `${node.name} is gone from the mesh.`;
}

function routesWritten(written: string, offered: readonly string[], name: string): readonly string[] {
  if (written === 'none') return [];
  if (written === 'all') return offered;
  const wanted = written.split(/[\s,]+/).filter(Boolean);
  const strange = wanted.find((route) => route !== 'exit' && !ipaddr.isValidCIDR(route));
  if (strange !== undefined) {
    throw new Fault({
      code: 'usage.route',
      message: `"${cleanLine(strange)}" is no route.`,
      remedy: `${name} offers ${offered.join(', ')}; all, none and exit can be written too.`,
    });
  }
  return wanted;
}
