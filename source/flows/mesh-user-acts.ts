import { Fault } from '../faults/fault.ts';
import type { MeshUser } from '../products/headscale-things.ts';
import { namesUser } from '../products/mesh-policy.ts';
import type { Session } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { countText } from '../text/quantities.ts';
import type { MeshAccess } from './mesh-session.ts';
import { isPast } from './mesh-words.ts';

/** What can be done with users, each with its questions. What is not given is asked for. */

/** Undefined where it may be the name of a user: as policies name users, without a mark of its own. */
export function userNameProblem(name: string, users: readonly MeshUser[]): string | undefined {
  const text = name.trim();
  if (text.length < 2) return 'A name has at least two characters.';
  if (!/^[A-Za-z][A-Za-z0-9._@-]*$/.test(text) || (text.match(/@/g) ?? []).length > 1)
    return 'Letters, digits, dots, hyphens, underscores and one @, a letter first.';
  return users.some((user) => user.name === text) ? `There is a user ${text} already.` : undefined;
}

export async function createUser(
  session: Session,
  { client, target }: MeshAccess,
  { name, label }: { name?: string; label?: string },
): Promise<string> {
  const users = await client.users(session.signal);
  const wanted = (
    name ??
    session.noted('new-user').at(-1) ??
    (await session.ask.text({
      id: 'new-user',
      label: label ?? 'What is the user called?',
      fresh: true,
      check: (text) => userNameProblem(text, users),
    }))
  ).trim();
  const taken = users.some((user) => user.name === wanted);
  const problem = taken ? undefined : userNameProblem(wanted, users);
  if (problem !== undefined)
    throw new Fault({ code: 'usage.user', message: `"${cleanLine(wanted)}": ${problem}`, remedy: 'Choose another name.' });
  await session.note('new-user', wanted);
  await session.act({
    id: 'create-user',
    right: 'operate',
    request: `POST /api/v1/user: ${wanted}`,
    target: { host: target.component.host, component: target.component.id },
    done: async () => (await client.users(session.signal)).some((user) => user.name === wanted),
    run: (grant) => client.createUser(grant, { name: wanted }),
  });
  return wanted;
}

/** Throws `refused.policyNames` where the policy would not be understood any more: the control server then does not start again. */
async function throwIfNamed(session: Session, { client, target }: MeshAccess, user: MeshUser, what: string): Promise<void> {
  const policy = await client.policy(session.signal);
  if (!policy || !namesUser(policy.text, user)) return;
  throw new Fault({
    code: 'refused.policyNames',
    message: `The policy names ${user.name}: with the user ${what} it would make no sense, and the control server might not start again.`,
    remedy: `Change the policy first: quarterdeck mesh edit-policy ${target.component.id}`,
  });
}

export async function renameUser(session: Session, access: MeshAccess, user: MeshUser, name: string | undefined): Promise<string> {
  const { client, target } = access;
  await throwIfNamed(session, access, user, 'renamed');
  const users = await client.users(session.signal);
  const check = (text: string) => userNameProblem(text, users);
  const wanted = (
    name ??
    session.noted('new-name').at(-1) ??
    (await session.ask.text({ id: 'new-name', label: `What is ${user.name} to be called?`, fresh: true, initial: user.name, check }))
  ).trim();
  const isDone = async () => (await client.users(session.signal)).some(({ id, name: now }) => id === user.id && now === wanted);
  const problem = (await isDone()) ? undefined : check(wanted);
  if (problem !== undefined)
    throw new Fault({ code: 'usage.user', message: `"${cleanLine(wanted)}": ${problem}`, remedy: 'Choose another name.' });
  await session.note('new-name', wanted);
  await session.act({
    id: 'rename-user',
    right: 'operate',
    request: `POST /api/v1/user/${user.id}/rename/${wanted}`,
    target: { host: target.component.host, component: target.component.id },
    done: isDone,
    run: (grant) => client.renameUser(grant, user, wanted),
  });
  return wanted;
}

export async function deleteUser(session: Session, access: MeshAccess, user: MeshUser): Promise<void> {
  const { client, target } = access;
  const [nodes, keys] = [await client.nodes(session.signal), await client.keys(session.signal)];
  const theirs = nodes.filter(({ owner }) => owner === user.name);
  if (theirs.length > 0) {
    throw new Fault({
      code: 'refused.hasNodes',
      message: `${user.name} still has ${countText(theirs.length, 'node')}: ${theirs.map(({ name }) => name).join(', ')}.`,
      remedy: `Delete them first: quarterdeck mesh node ${target.component.id}`,
    });
  }
  await throwIfNamed(session, access, user, 'gone');
  const open = keys.filter(({ owner, expiryMs }) => owner === user.name && !isPast(expiryMs, Date.now()));
  await session.act({
    id: 'delete-user',
    right: 'destroy',
    title: `Delete the user ${user.name}`,
    request: `DELETE /api/v1/user/${user.id}`,
    target: { host: target.component.host, component: target.component.id },
    consequences: [
      `The user ${user.name} is gone, and nobody logs in as ${user.name} any more.`,
      open.length > 0
        ? `${countText(open.length, 'pre-auth key')} that nodes could still join with are gone too.`
        : 'No pre-auth key is lost that is still valid.',
    ],
    done: async () => !(await client.users(session.signal)).some(({ id }) => id === user.id),
    run: (grant) => client.deleteUser(grant, user),
  });
}
