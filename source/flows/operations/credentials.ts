import { evaluate } from '../../calls/conditions.ts';
import type { CatalogEntry } from '../../catalog/catalog.ts';
import { credentialInputs } from '../../catalog/credential-inputs.ts';
import type { ComponentCall } from '../../catalog/schema.ts';
import { Fault } from '../../faults/fault.ts';
import type { ComponentView } from '../../fleet/model.ts';
import type { SecretName } from '../../secrets/secrets.ts';
import type { Session } from '../../session/session.ts';
import type { FlowContext } from '../flow.ts';
import { readKept } from '../secrets/kept-secret.ts';
import { credentialVariables, loginPrefix, secretName, variableOf } from '../secrets/secret-names.ts';

export type Credentials = Readonly<Record<string, string>>;

type Holder = Pick<ComponentView, 'host' | 'id'>;

/** Returns where the value of an input is stored. A secret of the deployment is never replaced by a login, which would change the next deploy. */
export function credentialName({ host, id }: Holder, { fields }: CatalogEntry, input: string, field: string | undefined): SecretName {
  const declared = fields.find(({ name }) => name === field);
  return secretName(host, id, declared?.target === 'credential' ? variableOf(declared) : `${loginPrefix}${input}`);
}

/** Returns the call that gives a credential, such as a token for a password, if there is one. */
export function signInFor({ calls }: CatalogEntry, input: string): [name: string, call: ComponentCall] | undefined {
  return Object.entries(calls).find(([, { gives }]) => gives !== undefined && Object.hasOwn(gives, input));
}

/** Returns what `login` stored, or nothing if the secret store cannot be opened: the operator may know it. */
export async function storedCredentials(
  session: Session,
  context: FlowContext,
  { host, id }: Holder,
  entry: CatalogEntry,
  call: Pick<ComponentCall, 'inputs' | 'http'>,
): Promise<Record<string, string>> {
  const names = credentialInputs(call);
  const found: Record<string, string> = {};
  if (names.length === 0) return found;
  await readKept(session, context, async (vault) => {
    for (const name of names) {
      const declared = entry.fields.find((one) => one.name === call.inputs[name]?.field);
      for (const variable of credentialVariables(name, declared)) {
        const value = found[name] ?? (await vault.read(secretName(host, id, variable), session.signal));
        if (value !== undefined) found[name] = value;
      }
    }
  });
  return found;
}

/** Returns the value of an expression about a response alone. */
export function valueIn(source: string, answer: Parameters<typeof evaluate>[1]['answer']): unknown {
  return evaluate(source, { ...noFacts, answer }).value;
}

const noFacts = { ageSeconds: 0, env: {}, fields: {}, ports: [], calls: {}, services: {} } as const;

/** Returns the credentials in a response, by input. Throws `refused.login` if one is missing: a second factor, or a refusal with status 200. */
export function givenBy(call: ComponentCall, answer: Parameters<typeof evaluate>[1]['answer'], component: string): Credentials {
  return Object.fromEntries(
    Object.entries(call.gives ?? {}).map(([input, source]) => {
      const value = valueIn(source, answer);
      if (typeof value === 'string' && value !== '') return [input, value];
      const message = `${component} did not accept the login: its response contains no ${input}.`;
      const remedy = 'Check the user name and the password. Accounts with a second factor need a token instead.';
      throw new Fault('refused.login', message, remedy);
    }),
  );
}
