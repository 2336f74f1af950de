import { Fault } from '../faults/fault.ts';
import type { MeshUser } from '../products/headscale-things.ts';
import type { Session } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { parseJson } from '../text/json-value.ts';
import { nameRemedy } from '../text/nearest-name.ts';
import { meshUserAbout } from './about-mesh.ts';
import type { Flow } from './flow.ts';
import { type MeshAccess, meshOf } from './mesh-session.ts';
import { createUser, deleteUser, renameUser } from './mesh-user-acts.ts';
import { leavingSays, wordsOf } from './mesh-words.ts';

const actions = [
  { value: 'create', label: 'Create a user' },
  { value: 'rename', label: 'Rename a user' },
  { value: 'delete', label: 'Delete a user', detail: 'one that has no nodes' },
] as const;

export const meshUser: Flow = {
  ...meshUserAbout,
  async run(session, input, world) {
    const access = await meshOf(session, input, world);
    const [written, name, newName] = wordsOf(input);
    return leavingSays(session, 'No user was changed.', async () => {
      const action = written ?? (await session.ask.choice({ id: 'action', label: 'What is to be done?', choices: actions }));
      if (!actions.some(({ value }) => value === action)) {
        throw new Fault({
          code: 'usage.action',
          message: `"${cleanLine(action)}" is nothing that is done with a user.`,
          remedy: `One of ${actions.map(({ value }) => value).join(', ')}.`,
        });
      }
      if (action === 'create') {
        const made = await createUser(session, access, name === undefined ? {} : { name });
        return {
          message: session.rehearsing
            ? 'Rehearsed: nobody was created.'
            : `There is a user ${made}. A key lets their nodes in: quarterdeck key ${access.target.component.id}`,
          data: { user: made },
        };
      }
      // Under another name by now, or gone: what broke off goes on with whom it was about.
      const begun = session.noted('user').at(-1);
      const user = begun === undefined ? await chosenUser(session, access, name) : (parseJson(begun) as MeshUser);
      if (begun === undefined) await session.note('user', JSON.stringify(user));
      if (action === 'rename') {
        const wanted = await renameUser(session, access, user, newName);
        return {
          message: session.rehearsing ? 'Rehearsed: nobody was renamed.' : `${user.name} is called ${wanted} now.`,
          data: { user: wanted, before: user.name },
        };
      }
      await deleteUser(session, access, user);
      return {
        message: session.rehearsing ? 'Rehearsed: nobody was deleted.' : `The user ${user.name} is gone.`,
        data: { user: user.name },
      };
    });
  },
};

/** By name or number, or chosen. Throws `usage.user`. */
export async function chosenUser(session: Session, { client }: MeshAccess, written: string | undefined): Promise<MeshUser> {
  const users = await client.users(session.signal);
  const isAlone = (one: string) => users.filter(({ name }) => name === one).length === 1;
  const choices = users.map(({ id, name, displayName }) => ({
    value: isAlone(name) ? name : id,
    label: name,
    ...(displayName !== '' && { detail: displayName }),
  }));
  const wanted = written ?? (await session.ask.choice({ id: 'user', label: 'Which user?', choices }));
  const found = users.filter(({ id, name }) => id === wanted || name === wanted || `${name}@` === wanted);
  const [user, other] = found;
  if (user && (!other || user.id === wanted)) return user;
  const several = found.map(({ id }) => id).join(', ');
  throw new Fault({
    code: 'usage.user',
    message: other ? `Several users are called ${cleanLine(wanted)}.` : `There is no user "${cleanLine(wanted)}".`,
    remedy: other
      ? `Name one by its number: ${several}.`
      : nameRemedy(
          wanted,
          users.map(({ name }) => name),
          'There are no users yet.',
        ),
  });
}
