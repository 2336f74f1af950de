import { Fault } from '../../faults/fault.ts';
import type { FlowInput, Procedure } from '../../flows/flow.ts';
import { wordsUpTo } from '../../flows/flow-options.ts';
import { unlessCancelled } from '../../flows/prompt-cancelled.ts';
import { askNewPassword, showMadeUp } from '../../flows/secrets/new-password.ts';
import { makeDigest, matchesDigest } from '../../secrets/password-digest.ts';
import type { Session } from '../../session/session.ts';
import { cleanLine } from '../../text/clean.ts';
import { nameRemedy } from '../../text/nearest-name.ts';
import { ableUsers, type PortalUser } from './client/sso-users.ts';
import { changeUsers, openUsers } from './sso-users.ts';

export const ssoDisable = setDisabled(true, 'disable');
export const ssoEnable = setDisabled(false, 'enable');

function setDisabled(wanted: boolean, verb: string): Procedure {
  return async (session, input, context) => {
    const open = await openUsers(session, input, context);
    const { name, disabled } = await chooseUser(session, input, open.users.users, (user) => user.disabled !== wanted);
    if (wanted && !disabled && ableUsers(open.users.users).every((one) => one.name === name)) {
      throw new Fault(
        'refused.lastUser',
        `${name} is the last one who can log in: behind the portal nobody would get in any more.`,
        `Add somebody else first: quarterdeck sso add ${open.id}`,
      );
    }
    const how = await changeUsers(session, open, {
      id: `${verb} ${name}`,
      what: `${verb} ${name}`,
      change: (users) => users.setDisabled(name, wanted),
      isDone: (users) => users.user(name)?.disabled === wanted,
    });
    if (how === undefined) return { message: `Dry run: ${name} ${wanted ? 'can still log in' : 'is still disabled'}.` };
    if (!wanted) return { message: `${name} can log in again. ${how}` };
    return { message: `${name} can no longer log in. ${how} A session that is open goes on until the portal asks again.` };
  };
}

export const ssoPassword: Procedure = async (session, input, context) => {
  const open = await openUsers(session, input, context);
  const { name, disabled } = await chooseUser(session, input, open.users.users, () => true);
  if (session.dryRun) {
    session.show({ kind: 'text', text: `Would ask for the new password of ${name}, and write its hash into ${open.file.shown}.` });
    return { message: `Dry run: ${name} has the same password as before.` };
  }
  const password = await unlessCancelled(session, `Nothing was written: ${name} has the same password as before.`, () =>
    askNewPassword(session, `New password of ${name}`, `Its hash goes into ${open.file.shown}.`),
  );
  const digest = await makeDigest(password.value, open.config.digestCost);
  session.hide(digest);
  const how = await changeUsers(session, open, {
    id: `password ${name}`,
    what: `write a new password hash of ${name}`,
    change: (users) => users.setDigest(name, digest),
    isDone: async (users) => (await matchesDigest(users.user(name)?.digest ?? '', password.value)) === true,
  });
  await showMadeUp(session, name, password);
  return { message: `${name} has a new password. ${how ?? ''}${disabled ? ' They are disabled, and cannot log in with it.' : ''}` };
};

export async function chooseUser(
  session: Session,
  input: FlowInput,
  users: readonly PortalUser[],
  suits: (user: PortalUser) => boolean,
): Promise<PortalUser> {
  const [word] = wordsUpTo(1, input, { takes: 'One user at a time', remedy: 'Run it once for each.' });
  const names = users.map(({ name }) => name);
  const named = word ?? (await askUser(session, users.filter(suits)));
  const found = users.find(({ name }) => name === named);
  if (found && cleanLine(found.name) !== found.name) {
    throw new Fault(
      'usage.user',
      `The name ${cleanLine(found.name)} holds characters that cannot be shown.`,
      'Write the name anew in the file.',
    );
  }
  if (found) return found;
  throw new Fault('usage.user', `There is no user "${cleanLine(named)}" in the file.`, nameRemedy(named, names, 'It has no users.'));
}

async function askUser(session: Session, users: readonly PortalUser[]): Promise<string> {
  if (users.length === 0) throw new Fault('usage.user', 'There is nobody for whom that would do anything.', 'Nothing has to be done.');
  const choices = users.map(({ name, displayName, groups, disabled }) => ({
    value: name,
    label: cleanLine(name),
    detail: cleanLine([displayName, groups.join(', '), disabled ? 'disabled' : ''].filter(Boolean).join(' · ')),
  }));
  return unlessCancelled(session, 'Nothing was changed: all users are as before.', () =>
    session.ask.choice({ id: 'user', label: 'Who?', choices }),
  );
}
