import { Fault } from '../faults/fault.ts';
import { makeDigest, matchesDigest } from '../products/password-digest.ts';
import { ableUsers, type PortalUser } from '../products/sso-users.ts';
import type { Session } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { nameRemedy } from '../text/nearest-name.ts';
import { ssoDisableAbout, ssoEnableAbout, ssoPasswordAbout } from './about-sso.ts';
import type { Flow, FlowInput } from './flow.ts';
import { wordsUpTo } from './flow-options.ts';
import { unlessLeft } from './left-early.ts';
import { askNewPassword, showMadeUp } from './new-password.ts';
import { changeUsers, openUsers } from './sso-users.ts';

export const ssoDisable: Flow = {
  ...ssoDisableAbout,
  async run(session, input, world) {
    const open = await openUsers(session, input, world);
    const { name, disabled } = await chooseUser(session, input, open.users.users, ({ disabled: is }) => !is);
    if (!disabled && ableUsers(open.users.users).every((one) => one.name === name)) {
      throw new Fault({
        code: 'refused.lastUser',
        message: `${name} is the last one who can log in: behind the portal nobody would get in any more.`,
        remedy: `Add somebody else first: quarterdeck sso add ${open.id}`,
      });
    }
    const how = await changeUsers(session, open, {
      id: `disable ${name}`,
      what: `disable ${name}`,
      change: (users) => users.setDisabled(name, true),
      isDone: (users) => users.user(name)?.disabled === true,
    });
    if (how === undefined) return { message: `Rehearsed: ${name} can still log in.` };
    return { message: `${name} can no longer log in. ${how} A session that is open goes on until the portal asks again.` };
  },
};

export const ssoEnable: Flow = {
  ...ssoEnableAbout,
  async run(session, input, world) {
    const open = await openUsers(session, input, world);
    const { name } = await chooseUser(session, input, open.users.users, ({ disabled: is }) => is);
    const how = await changeUsers(session, open, {
      id: `enable ${name}`,
      what: `enable ${name}`,
      change: (users) => users.setDisabled(name, false),
      isDone: (users) => users.user(name)?.disabled === false,
    });
    if (how === undefined) return { message: `Rehearsed: ${name} is still disabled.` };
    return { message: `${name} can log in again. ${how}` };
  },
};

export const ssoPassword: Flow = {
  ...ssoPasswordAbout,
  async run(session, input, world) {
    const open = await openUsers(session, input, world);
    const { name, disabled } = await chooseUser(session, input, open.users.users, () => true);
    if (session.rehearsing) {
      session.show({ kind: 'text', text: `Would ask for the new password of ${name}, and write its hash into ${open.file.shown}.` });
      return { message: `Rehearsed: ${name} has the same password as before.` };
    }
    const password = await unlessLeft(() => askNewPassword(session, `New password of ${name}`, `Its hash goes into ${open.file.shown}.`), {
      message: `Nothing was written: ${name} has the same password as before.`,
      remedy: 'Start it again whenever you like.',
    });
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
  },
};

/** The user that is named, or one that is chosen among those for whom it makes sense. Throws `usage.user`. */
export async function chooseUser(
  session: Session,
  input: FlowInput,
  users: readonly PortalUser[],
  suits: (user: PortalUser) => boolean,
): Promise<PortalUser> {
  const [word] = wordsUpTo(1, input, { takes: 'One user at a time', remedy: 'Run it once for each.' });
  const names = users.map(({ name }) => name);
  const named = word ?? (await chosen());
  const found = users.find(({ name }) => name === named);
  if (found && cleanLine(found.name) !== found.name) {
    throw new Fault({
      code: 'usage.user',
      message: `The name ${cleanLine(found.name)} holds characters that cannot be shown.`,
      remedy: 'Write the name anew in the file.',
    });
  }
  if (found) return found;
  throw new Fault({
    code: 'usage.user',
    message: `There is no user "${cleanLine(named)}" in the file.`,
    remedy: nameRemedy(named, names, 'It has no users.'),
  });

  async function chosen(): Promise<string> {
    const suitable = users.filter(suits);
    if (suitable.length === 0)
      throw new Fault({
        code: 'usage.user',
        message: 'There is nobody for whom that would do anything.',
        remedy: 'Nothing has to be done.',
      });
    return unlessLeft(
      () =>
        session.ask.choice({
          id: 'user',
          label: 'Who?',
          choices: suitable.map(({ name, displayName, groups, disabled }) => ({
            value: name,
            label: cleanLine(name),
            detail: cleanLine([displayName, groups.join(', '), disabled ? 'disabled' : ''].filter(Boolean).join(' · ')),
          })),
        }),
      { message: 'Nothing was changed: all users are as before.', remedy: 'Start it again whenever you like.' },
    );
  }
}
