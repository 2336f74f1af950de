import { httpEndpointOf } from '../../calls/http-client.ts';
import type { HttpEndpoint } from '../../calls/http-exchange.ts';
import type { CatalogEntry } from '../../catalog/catalog.ts';
import { Fault } from '../../faults/fault.ts';
import type { ComponentView } from '../../fleet/model.ts';
import { apiComponentOf } from '../../flows/api-component.ts';
import { argumentOrPrompt } from '../../flows/argument-or-prompt.ts';
import { componentOf } from '../../flows/components/service-targets.ts';
import { dryRunOf } from '../../flows/dry-run.ts';
import type { FlowContext, FlowInput, Procedure } from '../../flows/flow.ts';
import { optionOf, wordsUpTo } from '../../flows/flow-options.ts';
import { showList } from '../../flows/list-table.ts';
import { unlessCancelled } from '../../flows/prompt-cancelled.ts';
import { promptNewPassword, showGenerated } from '../../flows/secrets/new-password.ts';
import { secretName } from '../../flows/secrets/secret-names.ts';
import type { SecretName } from '../../secrets/secrets.ts';
import type { Session } from '../../session/session.ts';
import { cleanLine } from '../../text/clean.ts';
import { countText } from '../../text/quantities.ts';
import { Directory, type NewPerson } from './client/directory.ts';

const passwordVariable = 'LLDAP_LDAP_USER_PASS';
const addingStep = 'adding';

export const ldapUsers: Procedure = async (session, input, context) => {
  const open = () => openDirectory(session, input, context, input.words[0]);
  const { id, directory, base } = await unlessCancelled(session, 'Not logged in; no users were listed.', open);
  try {
    const people = await directory.people(base);
    showList(session, people, { USER: ({ uid }) => uid, NAME: ({ name }) => name, EMAIL: ({ mail }) => mail, ENTRY: ({ dn }) => dn });
    return { message: `${id} has ${countText(people.length, 'user')} below ${cleanLine(base)}.`, data: { base, people } };
  } finally {
    await directory.close();
  }
};

export const ldapAdd: Procedure = async (session, input, context) => {
  const { id } = componentOf(input);
  const left = `No user was added to ${id}.`;
  const person = await unlessCancelled(session, left, () => askPerson(session, input));
  const open = await unlessCancelled(session, left, () => openDirectory(session, input, context, optionOf(input, 'bind')));
  const { directory, base, endpoint } = open;
  const dn = `uid=${person.uid},ou=people,${base}`;
  try {
    if (session.dryRun)
      return dryRunOf(session, `prompt for a password, add ${dn}, and set its password.`, `the users of ${id} were not changed.`);
    const password = await unlessCancelled(session, left, () =>
      promptNewPassword(session, `Password of ${person.uid}`, `Sends LDAP add ${dn}, then password modify (RFC 3062).`),
    );
    const hasPassword = () => opens(endpoint, dn, password.value, session.signal);
    // An existing user keeps the password, unless an interrupted run of this command added the user.
    const isOwn = session.noted(addingStep).includes(dn);
    if (!isOwn && (await directory.has(dn)) && !(await hasPassword()))
      throw new Fault('usage.user', `User ${person.uid} already exists in ${id} with another password.`, 'Use another name.');
    await session.note(addingStep, dn);
    await session.act({
      id: `add ${person.uid}`,
      right: 'operate',
      request: `LDAP add ${dn} (inetOrgPerson)`,
      done: () => directory.has(dn),
      run: (grant) => directory.add(grant, { ...person, dn }),
    });
    await session.act({
      id: `password ${person.uid}`,
      right: 'operate',
      request: `LDAP password modify (RFC 3062) for ${dn}`,
      done: hasPassword,
      run: (grant) => directory.setPassword(grant, dn, password.value),
    });
    if (!(await hasPassword())) {
      const message = `${person.uid} was added to ${id}, but cannot log in with the password that was set.`;
      throw new Fault('failed.directory', message, 'Check the log of the directory, and set another password.');
    }
    await showGenerated(session, person.uid, password);
    return { message: `Added ${person.uid} to ${id}, and verified the login.`, data: { dn } };
  } finally {
    await directory.close();
  }
};

async function opens(endpoint: HttpEndpoint, dn: string, password: string, signal: AbortSignal): Promise<boolean> {
  const directory = await Directory.open(endpoint, signal);
  return directory.logIn(dn, password).finally(() => directory.close());
}

async function openDirectory(session: Session, input: FlowInput, context: FlowContext, bind: string | undefined) {
  const { component, entry, api, target } = await apiComponentOf(session, input, context, { name: 'ldap', what: 'directory' });
  const { id } = component;
  const endpoint = httpEndpointOf(target, api.port ?? 'ldap');
  const directory = await Directory.open(endpoint, session.signal);
  try {
    const env = new Map([...target.containers.values()].flatMap((container) => container.env));
    const base = env.get('LLDAP_LDAP_BASE_DN') ?? (await directory.base());
    if (base === undefined) throw new Fault('failed.directory', `${id} does not report its base DN.`, 'Set the base DN of the component.');
    const admin = `uid=${env.get('LLDAP_LDAP_USER_DN') ?? 'admin'},ou=people,${base}`;
    const dn = bind ?? admin;
    const open = { id, endpoint, directory, base };
    if (session.dryRun) return open;
    const name = dn === admin ? keptName(component, entry) : undefined;
    const { password, isKept } = await askBindPassword(session, context, dn, name);
    if (await directory.logIn(dn, password)) return open;
    const message = isKept
      ? `${id} rejects the stored password of ${cleanLine(dn)}; it may have been changed since it was stored.`
      : `${id} rejects the password of ${cleanLine(dn)}.`;
    const remedy = isKept
      ? 'Enter the current password; the stored one is the initial password of the directory.'
      : 'Check the password before you try again: some directories lock accounts after a few failed attempts.';
    throw new Fault('refused.login', message, remedy);
  } catch (thrown) {
    await directory.close();
    throw thrown;
  }
}

/** The administrator password is stored only for a component that was deployed from here. */
function keptName({ host, id }: ComponentView, entry: CatalogEntry): SecretName | undefined {
  const isKept = id === entry.id && entry.fields.some(({ env, secret }) => env === passwordVariable && secret);
  return isKept ? secretName(host, id, passwordVariable) : undefined;
}

async function askBindPassword(session: Session, context: FlowContext, dn: string, name: SecretName | undefined) {
  const typed = await session.ask.secret({
    id: 'bind-password',
    label: `Password of ${cleanLine(dn)}`,
    help: name === undefined ? 'Password of this user.' : 'Leave empty to use the stored password. To use another user, pass its DN.',
    check: (text) => (text === '' && name === undefined ? 'Enter the password, or cancel.' : undefined),
  });
  if (typed !== '' || name === undefined) return { password: typed, isKept: false };
  const kept = await (await context.vault(session)).read(name, session.signal);
  if (kept) {
    session.hide(kept);
    return { password: kept, isKept: true };
  }
  const remedy = `Enter the password when prompted, or store it: quarterdeck secrets set ${name.split('/').slice(1).join(' ')}`;
  throw new Fault('usage.answer', `No password is stored for ${cleanLine(dn)}.`, remedy);
}

async function askPerson(session: Session, input: FlowInput): Promise<Omit<NewPerson, 'dn'>> {
  const [word] = wordsUpTo(1, input, { takes: 'Add one user at a time', remedy: 'Run the command once for each.' });
  const uid = await argumentOrPrompt(session, {
    ...{ id: 'user', label: 'Login name', given: word, check: uidProblem },
    ...{ code: 'usage.user', remedy: 'Use another name.' },
  });
  const displayName = await argumentOrPrompt(session, {
    ...{ id: 'name', label: 'Full name', given: optionOf(input, 'name'), initial: uid },
    check: (text) => (text.trim() === '' ? 'A name is required.' : undefined),
    ...{ code: 'usage.user', remedy: 'Pass another name: --name NAME.' },
  });
  const mail = await argumentOrPrompt(session, {
    ...{ id: 'email', label: 'Email address', given: optionOf(input, 'email') },
    check: (text) => (/^[^\s@]+@[^\s@]+$/.test(text.trim()) ? undefined : 'Enter a valid email address.'),
    ...{ code: 'usage.user', remedy: 'Pass another address: --email ADDRESS.' },
  });
  const [givenName = '', ...rest] = displayName.split(/\s+/);
  return { uid, displayName, mail, givenName: rest.length > 0 ? givenName : '', surname: rest.length > 0 ? rest.join(' ') : displayName };
}

/** Returns the problem with a user id, which must not contain characters that a DN has to escape. */
function uidProblem(text: string): string | undefined {
  if (/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(text.trim())) return undefined;
  return 'Use only letters, digits, dots, underscores and hyphens, and start with a letter or a digit.';
}
