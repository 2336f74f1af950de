import { Fault } from '../../faults/fault.ts';
import { argumentOrPrompt } from '../../flows/argument-or-prompt.ts';
import { dryRunOf } from '../../flows/dry-run.ts';
import type { FlowInput, Procedure } from '../../flows/flow.ts';
import { optionOf, optionsOf, wordsUpTo } from '../../flows/flow-options.ts';
import { unlessCancelled } from '../../flows/prompt-cancelled.ts';
import { promptNewPassword, showGenerated } from '../../flows/secrets/new-password.ts';
import { makeDigest, matchesDigest } from '../../secrets/password-digest.ts';
import type { Session } from '../../session/session.ts';
import { cleanLine } from '../../text/clean.ts';
import { nameRemedy } from '../../text/nearest-name.ts';
import { partsOf } from '../../text/words.ts';
import { ableUsers, type PortalUser, type UsersFile, userNameProblem } from './client/sso-users.ts';
import { changeUsers, type OpenUsers, openUsers } from './sso-users.ts';

export const ssoAdd: Procedure = async (session, input, context) => {
  const open = await openUsers(session, input, context);
  const left = `Nothing was written. The users of ${open.id} were not changed.`;
  const person = await unlessCancelled(session, left, () => askPerson(open, input));
  const there = open.users.user(person.name);
  if (session.dryRun) {
    const would = there ? 'check it, because the user already exists.' : `add the user to ${open.file.shown}.`;
    return dryRunOf(session, `prompt for the password of ${person.name}, and ${would}`, `the users of ${open.id} were not changed.`);
  }
  const label = there ? `${person.name} already exists. Current password` : `Password of ${person.name}`;
  const { password, digest, isDone } = await newPassword(open, person.name, label, left);
  if (there && !(await matchesDigest(there.digest, password.value))) {
    const message = `User ${person.name} already exists with another password.`;
    throw new Fault('usage.user', message, `Use another name, or reset the password: quarterdeck sso password ${open.id} ${person.name}`);
  }
  const how = await changeUsers(open, {
    id: `add ${person.name}`,
    change: (users) => {
      if (!there) users.add({ ...person, digest });
    },
    isDone,
  });
  await showGenerated(session, person.name, password);
  const title = `Have ${person.name} log in and register a second factor`;
  const detail = 'Rules with two_factor deny access without a second factor.';
  return {
    message: `${there ? `User ${person.name} already exists in` : `Added user ${person.name} to`} ${open.id}. ${how ?? ''}`.trim(),
    data: { user: person.name, groups: person.groups },
    todo: { component: open.id, items: [{ id: 'second-factor', title, detail, byHand: false }] },
  };
};

/** Prompts for a password of a user, and hashes it. `isDone` reports whether the user has it. */
async function newPassword({ session, config, file }: OpenUsers, name: string, label: string, left: string) {
  const help = `The hash of the password is written to ${file.shown}.`;
  const password = await unlessCancelled(session, left, () => promptNewPassword(session, label, help));
  const digest = await makeDigest(password.value, config.digestCost);
  session.hide(digest);
  const isDone = async (users: UsersFile) => (await matchesDigest(users.user(name)?.digest ?? '', password.value)) === true;
  return { password, digest, isDone };
}

async function askPerson({ session, users, config }: OpenUsers, input: FlowInput): Promise<Omit<PortalUser, 'disabled' | 'digest'>> {
  const [word] = wordsUpTo(1, input, { takes: 'Specify one user at a time', remedy: 'Run the command once for each user.' });
  const name = await argumentOrPrompt(session, {
    ...{ id: 'user', label: 'Login name', help: `Users: ${users.users.map((one) => cleanLine(one.name)).join(', ') || 'none'}.` },
    ...{ given: word, code: 'usage.user', remedy: 'Specify another name.' },
    check: (text) => userNameProblem(text.trim(), config.userRules),
  });
  const there = users.user(name);
  // A resumed run reads the remaining answers from the file.
  if (there) return there;
  const displayName = await argumentOrPrompt(session, {
    ...{ id: 'name', label: 'Display name', initial: name },
    ...{ given: optionOf(input, 'name'), code: 'usage.user', remedy: 'Pass --name NAME.' },
    check: (text) => (text.trim() === '' ? 'The portal requires a display name.' : undefined),
  });
  const email = await argumentOrPrompt(session, {
    ...{ id: 'email', label: 'Email address', help: 'The portal sends messages about password resets and second factors to this address.' },
    ...{ given: optionOf(input, 'email'), code: 'usage.user', remedy: 'Pass another address: --email ADDRESS.' },
    check: (text) => emailProblem(text.trim(), { users, config }),
  });
  const known = users.users.flatMap((one) => one.groups);
  return { name, displayName: cleanLine(displayName), email, groups: await askGroups(session, input, known) };
}

function emailProblem(email: string, { users, config }: Pick<OpenUsers, 'users' | 'config'>): string | undefined {
  if (!/^[^\s@]+@[^\s@]+$/.test(email)) return `Email addresses must have the form name@example.org, not "${cleanLine(email)}".`;
  const same = config.userRules.byEmail && users.users.find((one) => one.email.toLowerCase() === email.toLowerCase());
  return same ? `${cleanLine(same.name)} already has that address. This portal requires unique addresses.` : undefined;
}

async function askGroups(session: Session, input: FlowInput, known: readonly string[]): Promise<readonly string[]> {
  const given = optionsOf(input, 'group');
  if (given !== undefined) return given;
  const there = [...new Set(known)].sort();
  const existing = there.length === 0 ? '' : ` Existing groups: ${there.map(cleanLine).join(', ')}.`;
  const help = `Leave empty for no groups.${existing}`;
  return partsOf(await session.ask.text({ id: 'groups', label: 'Groups, separated by commas', initial: '', help }));
}

export const ssoDisable = setDisabled(true, 'disable');
export const ssoEnable = setDisabled(false, 'enable');

function setDisabled(wanted: boolean, verb: string): Procedure {
  return async (session, input, context) => {
    const open = await openUsers(session, input, context);
    const { name, disabled } = await chooseUser(open, input, (user) => user.disabled !== wanted);
    if (wanted && !disabled && ableUsers(open.users.users).every((one) => one.name === name)) {
      const message = `${name} is the last user who can log in.`;
      throw new Fault('refused.lastUser', message, `Add another user first: quarterdeck sso add ${open.id}`);
    }
    const how = await changeUsers(open, {
      id: `${verb} ${name}`,
      change: (users) => users.setDisabled(name, wanted),
      isDone: (users) => users.user(name)?.disabled === wanted,
    });
    if (how === undefined) return { message: `Dry run: ${name} ${wanted ? 'can still log in' : 'is still disabled'}.` };
    if (!wanted) return { message: `Enabled ${name}. ${how}` };
    return { message: `Disabled ${name}. ${how} Open sessions stay valid until the portal checks them again.` };
  };
}

export const ssoPassword: Procedure = async (session, input, context) => {
  const open = await openUsers(session, input, context);
  const { name, disabled } = await chooseUser(open, input);
  if (session.dryRun) {
    const would = `prompt for the new password of ${name}, and write its hash to ${open.file.shown}.`;
    return dryRunOf(session, would, `the password of ${name} was not changed.`);
  }
  const left = `Nothing was written. The password of ${name} was not changed.`;
  const { password, digest, isDone } = await newPassword(open, name, `New password of ${name}`, left);
  const how = await changeUsers(open, {
    id: `password ${name}`,
    what: `write a new password hash of ${name}`,
    change: (users) => users.setDigest(name, digest),
    isDone,
  });
  await showGenerated(session, name, password);
  return { message: `Set the password of ${name}. ${how ?? ''}${disabled ? ' The user is disabled and still cannot log in.' : ''}` };
};

/** `suits` selects the users that a prompt offers. */
export async function chooseUser({ session, users: { users } }: OpenUsers, input: FlowInput, suits = (_: PortalUser) => true) {
  const [word] = wordsUpTo(1, input, { takes: 'Specify one user at a time', remedy: 'Run the command once for each user.' });
  const names = users.map(({ name }) => name);
  const named = word ?? (await askUser(session, users.filter(suits)));
  const found = users.find(({ name }) => name === named);
  if (found && cleanLine(found.name) !== found.name) {
    const message = `The name ${cleanLine(found.name)} contains characters that cannot be shown.`;
    throw new Fault('usage.user', message, 'Rename the user in the file.');
  }
  if (found) return found;
  throw new Fault('usage.user', `User "${cleanLine(named)}" is not in the file.`, nameRemedy(named, names, 'The file has no users.'));
}

async function askUser(session: Session, users: readonly PortalUser[]): Promise<string> {
  if (users.length === 0)
    throw new Fault('usage.user', 'No user can be changed in this way.', 'List the users: quarterdeck sso users COMPONENT');
  const choices = users.map(({ name, displayName, groups, disabled }) => ({
    value: name,
    label: cleanLine(name),
    detail: cleanLine([displayName, groups.join(', '), disabled ? 'disabled' : ''].filter(Boolean).join(' · ')),
  }));
  return unlessCancelled(session, 'No user was changed.', () => session.ask.choice({ id: 'user', label: 'Who?', choices }));
}
