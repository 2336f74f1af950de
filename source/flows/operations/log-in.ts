import type { CallTarget } from '../../calls/call.ts';
import type { CatalogEntry } from '../../catalog/catalog.ts';
import { credentialInputs } from '../../catalog/credential-inputs.ts';
import type { ComponentCall } from '../../catalog/schema.ts';
import { Fault } from '../../faults/fault.ts';
import type { Grant } from '../../grants/grant.ts';
import { namesText } from '../../text/words.ts';
import { entryOf, targetOf } from '../call-target.ts';
import { componentOf } from '../components/service-targets.ts';
import type { Procedure } from '../flow.ts';
import { loginPrefix, secretName, variableOf } from '../secrets/secret-names.ts';
import { type Credentials, credentialName, givenBy, signInFor, storedCredentials } from './credentials.ts';
import { failureOf } from './failure-of.ts';
import { completeInputs } from './operation-inputs.ts';

const limitMs = 60_000;

/** One set of credentials that operations of a component require, typed or given by a call that signs in. */
interface Way {
  id: string;
  title: string;
  signIn?: ComponentCall;
  /** What is typed. */
  inputs: ComponentCall['inputs'];
  /** Reads with these credentials and nothing else: the proof that they are accepted. */
  proof?: [name: string, call: ComponentCall];
}

function waysOf(entry: CatalogEntry): Way[] {
  const ways = new Map<string, Way>();
  for (const { call: name } of entry.operations) {
    const call = entry.calls[name] as ComponentCall;
    const names = credentialInputs(call);
    if (names.length === 0 || call.gives) continue;
    const [signInName, signIn] = names.map((one) => signInFor(entry, one)).find(Boolean) ?? [];
    if (signInName !== undefined && signIn)
      ways.set(signInName, { id: signInName, title: namesText(Object.keys(signIn.inputs)), signIn, inputs: signIn.inputs });
    // An account with a second factor has only this way.
    const id = names.join(',');
    const inputs = Object.fromEntries(Object.entries(call.inputs).filter(([one]) => names.includes(one)));
    const known = ways.get(id) ?? { id, title: namesText(names), inputs };
    const isProof = call.reads && Object.entries(call.inputs).every(([one, { required }]) => names.includes(one) || !required);
    ways.set(id, { ...known, ...(isProof && !known.proof && { proof: [name, call] }) });
  }
  return [...ways.values()];
}

/** Stores credentials only after the component has accepted them. A refused login is not repeated: some components ban after a few. */
export const logIn: Procedure = async (session, input, context) => {
  const component = componentOf(input);
  const entry = entryOf(context, component);
  const ways = entry ? waysOf(entry) : [];
  const [first] = ways;
  if (!entry || !first) {
    const remedy = `List its operations: quarterdeck ops ${component.id}`;
    throw new Fault('usage.login', `No operation of ${component.id} requires a login.`, remedy);
  }
  const choices = ways.map(({ id, title }) => ({ value: id, label: title }));
  const id = ways.length === 1 ? first.id : await session.ask.choice({ id: 'way', label: 'Log in with', choices });
  const way = ways.find((one) => one.id === id) ?? first;
  // The password of a deployment is known, and its token is what is missing.
  const known = way.signIn ? await storedCredentials(session, context, component, entry, way.signIn) : {};
  const typed = session.dryRun
    ? {}
    : await completeInputs(session, { title: `Log in to ${component.id}`, inputs: way.inputs }, 'login', known);
  for (const [name, { secret }] of Object.entries(way.inputs)) if (secret && typed[name]) session.hide(typed[name]);
  const vault = await context.vault(session);
  const names = Object.keys(way.signIn?.gives ?? way.inputs);
  await session.act({
    id: 'login',
    right: 'operate',
    request: `log in to ${component.id}, and store ${namesText(names)} in ${vault.where}`,
    limitMs,
    run: async (grant) => {
      const target = await targetOf(context, input.engineName, entry, grant.signal, component);
      const credentials = await proven(target, way, typed, grant, component.id);
      for (const [name, value] of Object.entries(credentials)) {
        session.hide(value);
        const secret = credentialName(component, entry, name, way.inputs[name]?.field);
        if ((await vault.read(secret, grant.signal)) !== value) await vault.write(grant, secret, value, 'login');
      }
    },
  });
  if (session.dryRun) return { message: 'Dry run: nothing was sent or stored.' };
  const doubt =
    way.signIn || way.proof ? '' : ' They were not verified, because the component has no read-only operation that requires a login.';
  return {
    message: `Stored ${namesText(names)} for ${component.id} in ${vault.where}.${doubt}`,
    data: { component: component.id, stored: names },
  };
};

async function proven(target: CallTarget, { signIn, proof, id }: Way, typed: Credentials, grant: Grant, component: string) {
  const { runCall } = await import('../../calls/run-call.ts');
  const [name, call] = signIn ? [id, signIn] : (proof ?? []);
  if (!name || !call) return typed;
  const answer = await runCall(target, { name, call, inputs: typed, signal: grant.signal, grant });
  const failure = failureOf(call, answer, component);
  if (failure) throw failure;
  return signIn ? givenBy(signIn, answer, component) : typed;
}

export const logOut: Procedure = async (session, input, context) => {
  const component = componentOf(input);
  const vault = await context.vault(session);
  const prefix = secretName(component.host, component.id, '');
  const held = new Set(entryOf(context, component)?.fields.flatMap((field) => (field.target === 'credential' ? [variableOf(field)] : [])));
  const isCredential = (variable: string) => variable.startsWith(loginPrefix) || held.has(variable);
  const names = (await vault.list(session.signal)).flatMap(({ name }) =>
    name.startsWith(prefix) && isCredential(name.slice(prefix.length)) ? [name] : [],
  );
  const shown = namesText(names.map((name) => name.slice(prefix.length).replace(loginPrefix, '')));
  if (names.length === 0)
    return { message: `No credentials are stored for ${component.id}.`, data: { component: component.id, removed: [] } };
  await session.act({
    id: 'logout',
    right: 'operate',
    request: `remove ${shown} of ${component.id} from ${vault.where}`,
    run: async (grant) => {
      for (const name of names) await vault.remove(grant, name);
    },
  });
  if (session.dryRun) return { message: 'Dry run: nothing was removed.' };
  return {
    message: `Removed ${shown} for ${component.id} from the secret store. The component still accepts the removed credentials.`,
    data: { component: component.id, removed: names.length },
  };
};
