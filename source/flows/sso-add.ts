import { Fault } from '../faults/fault.ts';
import { makeDigest, matchesDigest } from '../products/password-digest.ts';
import { userNameProblem } from '../products/sso-users.ts';
import type { Session } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { ssoAddAbout } from './about-sso.ts';
import type { Flow, FlowInput } from './flow.ts';
import { optionOf, wordsUpTo } from './flow-options.ts';
import { unlessLeft } from './left-early.ts';
import { askNewPassword, showMadeUp } from './new-password.ts';
import { changeUsers, type OpenUsers, openUsers } from './sso-users.ts';

export const ssoAdd: Flow = {
  ...ssoAddAbout,
  async run(session, input, world) {
    const open = await openUsers(session, input, world);
    const left = { message: `Nothing was written: the users of ${open.id} are as before.`, remedy: 'Start it again whenever you like.' };
    const person = await unlessLeft(() => askPerson(session, input, open), left);
    if (session.rehearsing) {
      session.show({ kind: 'text', text: `Would ask for the password of ${person.name}, and add them to ${open.file.shown}.` });
      return { message: `Rehearsed: ${open.id} has the same users as before.` };
    }
    const there = open.users.user(person.name);
    const label = there ? `${person.name} is in the file already. The password that it was to be` : `Password of ${person.name}`;
    const password = await unlessLeft(() => askNewPassword(session, label, `Its hash goes into ${open.file.shown}.`), left);
    if (there && !(await matchesDigest(there.digest, password.value))) {
      throw new Fault({
        code: 'usage.user',
        message: `There is a user ${person.name} already, with another password.`,
        remedy: `Name somebody else, or reset it: quarterdeck sso password ${open.id} ${person.name}`,
      });
    }
    const digest = await makeDigest(password.value, open.config.digestCost);
    session.hide(digest);
    const how = await changeUsers(session, open, {
      id: `add ${person.name}`,
      what: `add ${person.name}`,
      change: (users) => {
        if (!there) users.add({ ...person, digest });
      },
      isDone: async (users) => {
        const written = users.user(person.name);
        return written !== undefined && (await matchesDigest(written.digest, password.value)) === true;
      },
    });
    await showMadeUp(session, person.name, password);
    return {
      message: `${person.name} is a user of ${open.id}. ${how ?? ''}`.trim(),
      data: { user: person.name, groups: person.groups },
      todo: {
        component: open.id,
        items: [
          {
            id: 'second-factor',
            title: `Have ${person.name} log in and register a second factor`,
            detail: 'Rules with two_factor let nobody through without one.',
            byHand: false,
          },
        ],
      },
    };
  },
};

interface Person {
  name: string;
  displayName: string;
  email: string;
  groups: readonly string[];
}

async function askPerson(session: Session, input: FlowInput, { users, config }: OpenUsers): Promise<Person> {
  const checkName = (text: string) => userNameProblem(text.trim(), config.userRules);
  const [word] = wordsUpTo(1, input, { takes: 'One user at a time', remedy: 'Run it once for each.' });
  const problem = word === undefined ? undefined : checkName(word);
  if (problem !== undefined) throw new Fault({ code: 'usage.user', message: problem, remedy: 'Name another one.' });
  const name =
    word ??
    (
      await session.ask.text({
        id: 'user',
        label: 'Name to log in with',
        help: `There are: ${users.users.map((one) => cleanLine(one.name)).join(', ')}.`,
        check: checkName,
      })
    ).trim();
  const there = users.user(name);
  // Of a run that is gone on with: what else was answered stands in the file.
  if (there) return there;
  const displayName =
    optionOf(input, 'name') ??
    (await session.ask.text({
      id: 'name',
      label: 'How they are called on screens',
      initial: name,
      check: (text) => (text.trim() === '' ? 'The portal refuses a user without one.' : undefined),
    }));
  const email =
    optionOf(input, 'email') ??
    (await session.ask.text({
      id: 'email',
      label: 'Mail address',
      help: 'Links for a new password and a second factor go there.',
      check: (text) => emailProblem(text.trim(), { users, config }),
    }));
  const wrong = emailProblem(email.trim(), { users, config });
  if (wrong !== undefined) throw new Fault({ code: 'usage.user', message: wrong, remedy: 'Give another address: --email' });
  const groups = await askGroups(
    session,
    input,
    users.users.flatMap((one) => one.groups),
  );
  return { name, displayName: cleanLine(displayName.trim()), email: email.trim(), groups };
}

function emailProblem(email: string, { users, config }: Pick<OpenUsers, 'users' | 'config'>): string | undefined {
  if (!/^[^\s@]+@[^\s@]+$/.test(email)) return 'That is no mail address.';
  const same = config.userRules.byEmail && users.users.find((one) => one.email.toLowerCase() === email.toLowerCase());
  return same ? `${cleanLine(same.name)} has that address, and this portal wants each once.` : undefined;
}

async function askGroups(session: Session, input: FlowInput, known: readonly string[]): Promise<readonly string[]> {
  const { group } = input.options;
  if (group !== undefined) return (Array.isArray(group) ? group : [group]).map(String);
  const there = [...new Set(known)].sort();
  const written = await session.ask.text({
    id: 'groups',
    label: 'Groups, with commas between them',
    initial: '',
    help: there.length === 0 ? 'Empty for none.' : `Empty for none. In use: ${there.map(cleanLine).join(', ')}.`,
  });
  return written
    .split(',')
    .map((one) => one.trim())
    .filter(Boolean);
}
