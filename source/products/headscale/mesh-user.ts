import { namesUser } from '../../config-files/headscale-policy/policy.ts';
import { Fault } from '../../faults/fault.ts';
import { askChoice } from '../../flows/ask-choice.ts';
import { unlessCancelled } from '../../flows/prompt-cancelled.ts';
import type { Session } from '../../session/session.ts';
import { cleanLine } from '../../text/clean.ts';
import { parseJson } from '../../text/json-value.ts';
import { countText } from '../../text/quantities.ts';
import type { MeshUser } from './client/headscale-records.ts';
import { actOn, type MeshAccess, onMesh } from './mesh-session.ts';
import { isPast, itemNamed, keyOf, unknownAction, wordsOf } from './mesh-words.ts';

const actions = { create: 'Create a user', rename: 'Rename a user', delete: ['Delete a user', 'only a user without nodes'] } as const;

export const meshUser = onMesh((access) => {
  const { session } = access;
  const [given, name, newName] = wordsOf(access.input);
  const outcome = (done: string, message: string, data: object) => ({
    message: session.dryRun ? `Dry run: no user was ${done}.` : message,
    data,
  });
  return unlessCancelled(session, 'No user was changed.', async () => {
    const unknown = (written: string) => unknownAction(written, 'a user', Object.keys(actions));
    const action = await askChoice(session, { id: 'action', label: 'Action', choices: actions }, { given, unknown });
    if (action === 'create') {
      const made = await createUser(access, name === undefined ? {} : { name });
      const message = `Created user ${made}. To create a key for the nodes of this user: quarterdeck key ${access.target.component.id}`;
      return outcome('created', message, { user: made });
    }
    // The user may have been renamed or deleted meanwhile: a resumed run continues with the same user.
    const begun = session.noted('user').at(-1);
    const user = begun === undefined ? await chosenUser(access, name) : (parseJson(begun) as MeshUser);
    if (begun === undefined) await session.note('user', JSON.stringify(user));
    if (action === 'rename') {
      const wanted = await renameUser(access, user, newName);
      return outcome('renamed', `Renamed ${user.name} to ${wanted}.`, { user: wanted, before: user.name });
    }
    await deleteUser(access, user);
    return outcome('deleted', `Deleted user ${user.name}.`, { user: user.name });
  });
});

export async function chosenUser({ session, client, target }: MeshAccess, written: string | undefined): Promise<MeshUser> {
  const users = await client.users(session.signal);
  const choices = users.map((user) => ({
    value: keyOf(users, user),
    label: user.name,
    ...(user.displayName !== '' && { detail: user.displayName }),
  }));
  const wanted = written ?? (await session.ask.choice({ id: 'user', label: 'User', choices }));
  const words = { noun: 'user', none: `Create a user: quarterdeck mesh user ${target.component.id} create NAME` } as const;
  return itemNamed(users, wanted, words, ({ name }) => [`${name}@`]);
}

/** Returns undefined if the text can be the name of a user, in the form of policies but without a marker. */
function userNameProblem(name: string, users: readonly MeshUser[]): string | undefined {
  const text = name.trim();
  if (text.length < 2) return 'Use at least two characters.';
  if (!/^[A-Za-z][A-Za-z0-9._@-]*$/.test(text) || (text.match(/@/g) ?? []).length > 1)
    return 'Use letters, digits, dots, hyphens, underscores and at most one @, starting with a letter.';
  return users.some((user) => user.name === text) ? `User ${text} already exists.` : undefined;
}

/** Throws `usage.user` if the name exists, unless an interrupted run created it: `isDone`. */
async function userName(
  session: Session,
  question: { id: string; label: string; initial?: string },
  { name, users, isDone }: { name: string | undefined; users: readonly MeshUser[]; isDone: (wanted: string) => boolean },
): Promise<string> {
  const check = (text: string) => userNameProblem(text, users);
  const wanted = (name ?? session.noted(question.id).at(-1) ?? (await session.ask.text({ ...question, fresh: true, check }))).trim();
  const problem = isDone(wanted) ? undefined : check(wanted);
  if (problem !== undefined) throw new Fault('usage.user', `"${cleanLine(wanted)}": ${problem}`, 'Choose another name.');
  await session.note(question.id, wanted);
  return wanted;
}

export async function createUser(access: MeshAccess, { name, label = 'User name' }: { name?: string; label?: string }): Promise<string> {
  const { session, client } = access;
  const users = await client.users(session.signal);
  const isDone = (wanted: string) => users.some((user) => user.name === wanted);
  const wanted = await userName(session, { id: 'new-user', label }, { name, users, isDone });
  await actOn(access, 'create-user', {
    right: 'operate',
    request: `POST /api/v1/user: ${wanted}`,
    done: async () => (await client.users(session.signal)).some((user) => user.name === wanted),
    run: (grant) => client.createUser(grant, { name: wanted }),
  });
  return wanted;
}

/** Throws `refused.policyNames` if the policy would become invalid: the control server would not start again. */
async function throwIfNamed({ session, client, target }: MeshAccess, user: MeshUser, what: string): Promise<void> {
  const policy = await client.policy(session.signal);
  if (!policy || !namesUser(policy.text, user)) return;
  const message = `The policy refers to ${user.name}. If the user is ${what}, the policy becomes invalid, and the control server might not start again.`;
  throw new Fault('refused.policyNames', message, `Change the policy first: quarterdeck mesh edit-policy ${target.component.id}`);
}

async function renameUser(access: MeshAccess, user: MeshUser, name: string | undefined): Promise<string> {
  const { session, client } = access;
  await throwIfNamed(access, user, 'renamed');
  const users = await client.users(session.signal);
  const isIn = (list: readonly MeshUser[], wanted: string) => list.some((one) => one.id === user.id && one.name === wanted);
  const question = { id: 'new-name', label: `New name of ${user.name}`, initial: user.name };
  const wanted = await userName(session, question, { name, users, isDone: (text) => isIn(users, text) });
  await actOn(access, 'rename-user', {
    right: 'operate',
    request: `POST /api/v1/user/${user.id}/rename/${wanted}`,
    done: async () => isIn(await client.users(session.signal), wanted),
    run: (grant) => client.renameUser(grant, user, wanted),
  });
  return wanted;
}

async function deleteUser(access: MeshAccess, user: MeshUser): Promise<void> {
  const { session, client, target } = access;
  const [nodes, keys] = [await client.nodes(session.signal), await client.keys(session.signal)];
  const theirs = nodes.filter(({ owner }) => owner === user.name);
  if (theirs.length > 0) {
    const message = `${user.name} still has ${countText(theirs.length, 'node')}: ${theirs.map(({ name }) => name).join(', ')}.`;
    throw new Fault('refused.hasNodes', message, `Delete these nodes first: quarterdeck mesh node ${target.component.id}`);
  }
  await throwIfNamed(access, user, 'deleted');
  const open = keys.filter(({ owner, expiryMs }) => owner === user.name && !isPast(expiryMs, Date.now()));
  await actOn(access, 'delete-user', {
    right: 'destroy',
    title: `Delete the user ${user.name}`,
    request: `DELETE /api/v1/user/${user.id}`,
    consequences: [
      `The user ${user.name} is deleted. ${user.provider === 'oidc' ? 'The next login with the identity provider creates it again.' : 'Nodes can no longer be registered for it.'}`,
      open.length > 0 ? `${countText(open.length, 'valid pre-auth key')} will be deleted too.` : 'The user has no valid pre-auth keys.',
    ],
    done: async () => !(await client.users(session.signal)).some(({ id }) => id === user.id),
    run: (grant) => client.deleteUser(grant, user),
  });
}
