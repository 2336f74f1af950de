import type { CatalogEntry } from '../catalog/catalog.ts';
import { Fault } from '../faults/fault.ts';
import type { ComponentView } from '../fleet/model.ts';
import { type HttpPlace, httpPlaceOf } from '../products/component-http.ts';
import { Directory } from '../products/directory.ts';
import type { SecretName } from '../secrets/vault.ts';
import type { Session } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { countText } from '../text/quantities.ts';
import { ldapAddAbout, ldapUsersAbout } from './about-identity.ts';
import type { Flow, FlowInput, FlowWorld } from './flow.ts';
import { optionOf, wordsUpTo } from './flow-options.ts';
import { unlessLeft } from './left-early.ts';
import { askNewPassword, showMadeUp } from './new-password.ts';
import { entryOf, targetOf } from './secret-proof.ts';
import { componentOf } from './service-targets.ts';
import { secretName } from './stack-facts.ts';

/** Of what the administrator logs in with at first. */
const passwordVariable = 'LLDAP_LDAP_USER_PASS';

export const ldapUsers: Flow = {
  ...ldapUsersAbout,
  async run(session, input, world) {
    const { id, directory, base } = await unlessLeft(() => openDirectory(session, input, world, input.words[0]), {
      message: 'Nobody was logged in, and nobody is listed.',
      remedy: 'Start it again whenever you like.',
    });
    try {
      const people = await directory.people(base);
      session.show({
        kind: 'table',
        columns: ['user', 'name', 'mail', 'entry'],
        rows: people.map(({ uid, name, mail, dn }) => [uid, name, mail, dn]),
      });
      return { message: `${id} has ${countText(people.length, 'person', 'people')} below ${cleanLine(base)}.`, data: { base, people } };
    } finally {
      await directory.close();
    }
  },
};

export const ldapAdd: Flow = {
  ...ldapAddAbout,
  async run(session, input, world) {
    const { id } = componentOf(input);
    const left = { message: `Nobody was added to ${id}.`, remedy: 'Start it again whenever you like.' };
    const person = await unlessLeft(() => askPerson(session, input), left);
    const open = await unlessLeft(() => openDirectory(session, input, world, optionOf(input, 'bind')), left);
    const { directory, base, place } = open;
    const dn = `uid=${person.uid},ou=people,${base}`;
    const target = { host: input.place, component: id };
    try {
      if (session.rehearsing) {
        session.show({ kind: 'text', text: `Would add ${dn}, and set a password that is asked for.` });
        return { message: `Rehearsed: ${id} has the same people as before.` };
      }
      const password = await unlessLeft(
        () => askNewPassword(session, `Password of ${person.uid}`, `Sends LDAP add ${dn}, then password modify (RFC 3062).`),
        left,
      );
      await session.act({
        id: `add ${person.uid}`,
        right: 'operate',
        request: `LDAP add ${dn} (inetOrgPerson)`,
        target,
        done: () => directory.has(dn),
        run: (grant) => directory.add(grant, { ...person, dn }),
      });
      await session.act({
        id: `password ${person.uid}`,
        right: 'operate',
        request: `LDAP password modify (RFC 3062) for ${dn}`,
        target,
        done: () => opens(place, dn, password.value, session.signal),
        run: (grant) => directory.setPassword(grant, dn, password.value),
      });
      if (!(await opens(place, dn, password.value, session.signal))) {
        throw new Fault({
          code: 'failed.directory',
          message: `${person.uid} is in ${id}, and cannot log in with the password that was set.`,
          remedy: 'Look at the log of the directory, and set another one.',
        });
      }
      await showMadeUp(session, person.uid, password);
      return { message: `${person.uid} is in ${id}, and was seen to log in.`, data: { dn } };
    } finally {
      await directory.close();
    }
  },
};

async function opens(place: HttpPlace, dn: string, password: string, signal: AbortSignal): Promise<boolean> {
  const directory = await Directory.open(place, signal);
  try {
    return await directory.logIn(dn, password);
  } finally {
    await directory.close();
  }
}

interface OpenDirectory {
  id: string;
  place: HttpPlace;
  directory: Directory;
  base: string;
}

/** Logged in. Throws `refused.login` for a wrong password: no second try, as directories count them. */
async function openDirectory(session: Session, input: FlowInput, world: FlowWorld, bind: string | undefined): Promise<OpenDirectory> {
  const component = componentOf(input);
  const { id } = component;
  const entry = entryOf(world, component);
  if (entry?.speaks?.api !== 'ldap') {
    throw new Fault({
      code: 'usage.component',
      message: `${id} is no directory that is known here.`,
      remedy: 'Name one: quarterdeck catalog list',
    });
  }
  const target = await targetOf(world, input.place, entry, session.signal, component);
  const place = httpPlaceOf(target, entry.speaks.port ?? 'ldap');
  const directory = await Directory.open(place, session.signal);
  try {
    const env = new Map([...target.containers.values()].flatMap((container) => container.env));
    const base = env.get('LLDAP_LDAP_BASE_DN') ?? (await directory.base());
    if (base === undefined) {
      throw new Fault({
        code: 'failed.directory',
        message: `${id} does not tell its base DN.`,
        remedy: 'Set the base DN of the component.',
      });
    }
    const admin = `uid=${env.get('LLDAP_LDAP_USER_DN') ?? 'admin'},ou=people,${base}`;
    const dn = bind ?? admin;
    if (session.rehearsing) return { id, place, directory, base };
    const { password, isKept } = await askBindPassword(session, world, { dn, name: dn === admin ? keptName(component, entry) : undefined });
    if (!(await directory.logIn(dn, password))) {
      throw new Fault({
        code: 'refused.login',
        message: `${id} does not let ${cleanLine(dn)} in with ${isKept ? 'the password that is kept: it was changed since' : 'that password'}.`,
        remedy: isKept
          ? 'Type the one of now; the kept one is what the directory was first started with.'
          : 'Directories lock accounts after a few tries: look the password up before the next one.',
      });
    }
    return { id, place, directory, base };
  } catch (thrown) {
    await directory.close();
    throw thrown;
  }
}

/** The administrator's password, as it was given to the component that was deployed from here; that of another instance is not known. */
function keptName({ host, id }: ComponentView, entry: CatalogEntry): SecretName | undefined {
  const isKept = id === entry.id && entry.fields.some(({ env, secret }) => env === passwordVariable && secret);
  return isKept ? secretName(host, id, passwordVariable) : undefined;
}

/** Typed, or, where nothing is typed, the one that is kept. Throws `usage.answer` where none is. */
async function askBindPassword(
  session: Session,
  world: FlowWorld,
  { dn, name }: { dn: string; name: SecretName | undefined },
): Promise<{ password: string; isKept: boolean }> {
  const typed = await session.ask.secret({
    id: 'bind-password',
    label: `Password of ${cleanLine(dn)}`,
    help: name === undefined ? 'Of whoever may do this.' : 'Empty takes the one that is kept with the secrets. --bind names somebody else.',
    check: (text) => (text === '' && name === undefined ? 'Type it, or leave with Esc.' : undefined),
  });
  if (typed !== '' || name === undefined) return { password: typed, isKept: false };
  const kept = await (await world.vault(session)).read(name, session.signal);
  if (kept !== undefined && kept !== '') {
    session.hide(kept);
    return { password: kept, isKept: true };
  }
  throw new Fault({
    code: 'usage.answer',
    message: `No password of ${cleanLine(dn)} is kept.`,
    remedy: `Type it, or keep it: quarterdeck secrets set ${name.split('/').slice(1).join(' ')}`,
  });
}

interface AskedPerson {
  uid: string;
  displayName: string;
  givenName: string;
  surname: string;
  mail: string;
}

async function askPerson(session: Session, input: FlowInput): Promise<AskedPerson> {
  const [word] = wordsUpTo(1, input, { takes: 'One person at a time', remedy: 'Run it once for each.' });
  const uid = (word ?? (await session.ask.text({ id: 'user', label: 'Name to log in with', check: uidProblem }))).trim();
  const problem = uidProblem(uid);
  if (problem !== undefined) throw new Fault({ code: 'usage.user', message: problem, remedy: 'Name another one.' });
  const displayName = (
    optionOf(input, 'name') ??
    (await session.ask.text({
      id: 'name',
      label: 'How they are called',
      initial: uid,
      check: (text) => (text.trim() === '' ? 'Everybody has a name.' : undefined),
    }))
  ).trim();
  const mail = (optionOf(input, 'email') ?? (await session.ask.text({ id: 'email', label: 'Mail address', check: mailProblem }))).trim();
  const wrong = mailProblem(mail);
  if (wrong !== undefined) throw new Fault({ code: 'usage.user', message: wrong, remedy: 'Give another address: --email' });
  const [givenName = '', ...rest] = displayName.split(/\s+/);
  return { uid, displayName, mail, givenName: rest.length > 0 ? givenName : '', surname: rest.length > 0 ? rest.join(' ') : displayName };
}

/** What can stand in a DN as it is: nothing has to be escaped. */
function uidProblem(text: string): string | undefined {
  return /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(text.trim())
    ? undefined
    : 'Letters, digits and . _ - only, beginning with a letter or a digit.';
}

function mailProblem(text: string): string | undefined {
  return /^[^\s@]+@[^\s@]+$/.test(text.trim()) ? undefined : 'That is no mail address.';
}
