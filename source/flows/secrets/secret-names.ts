import type { CatalogEntry } from '../../catalog/catalog.ts';
import type { ComponentField } from '../../catalog/schema.ts';
import { Fault } from '../../faults/fault.ts';
import type { SecretEntry, SecretName } from '../../secrets/secrets.ts';
import type { Session } from '../../session/session.ts';
import { cleanLine } from '../../text/clean.ts';
import { nameRemedy } from '../../text/nearest-name.ts';
import type { FlowContext, FlowInput } from '../flow.ts';

export interface SecretParts {
  /** May contain a slash: `local/podman`. */
  engineName: string;
  component: string;
  variable: string;
}

/** `nas/podman/rss-reader/DB_PASSWORD`: neither component ids nor variables of compose files contain a slash. */
export function partsOf(name: string): SecretParts {
  const parts = name.split('/');
  return { engineName: parts.slice(0, -2).join('/'), component: parts.at(-2) ?? '', variable: parts.at(-1) ?? '' };
}

export function secretName(engineName: string, component: string, variable: string): SecretName {
  return `${engineName}/${component}/${variable}`;
}

export function secretFields(entry: CatalogEntry): readonly ComponentField[] {
  return entry.fields.filter(({ secret }) => secret);
}

/** Credentials of `login` are beside the secrets of the deployment, which have no colon in their names. */
export const loginPrefix = 'login:';

export const variableOf = (field: ComponentField): string => field.env ?? field.name;

/** Where a credential that a call takes may be stored, as variables, first what `login` stored. */
export function credentialVariables(input: string, field: ComponentField | undefined): readonly string[] {
  return [`${loginPrefix}${input}`, ...(field ? [variableOf(field)] : [])];
}

export function fieldOf(entry: CatalogEntry | undefined, variable: string): ComponentField | undefined {
  return entry && secretFields(entry).find((field) => variableOf(field) === variable || field.name === variable);
}

/** `New value of Session key (nas/bread-book/SESSION_KEY)` */
export function newValueLabel(name: SecretName, { label }: Pick<ComponentField, 'label'> = {}): string {
  return cleanLine(`New value of ${label === undefined ? name : `${label} (${name})`}`);
}

export async function chooseKept(session: Session, input: FlowInput, entries: readonly SecretEntry[]): Promise<SecretEntry> {
  if (entries.length === 0)
    throw new Fault('usage.secret', 'No secrets are stored.', 'Add a secret: quarterdeck secrets set COMPONENT VARIABLE');
  if (input.words.length === 0 && session.attended) {
    const name = await session.ask.choice({
      id: 'secret',
      label: 'Secret',
      choices: entries.map((entry) => ({ value: entry.name, label: cleanLine(entry.name) })),
    });
    return entries.find((entry) => entry.name === name) ?? unknownSecret(name, entries);
  }
  const written = writtenName(input);
  const matches = entries.filter(({ name }) => name === written || name === `${input.engineName}/${written}`);
  const [found, other] = matches.length > 0 ? matches : entries.filter(({ name }) => name.endsWith(`/${written}`));
  if (found && other) {
    const message = `"${cleanLine(written)}" is stored more than once.`;
    throw new Fault('usage.secret', message, `Use the full name: ${cleanLine(found.name)} or ${cleanLine(other.name)}.`);
  }
  return found ?? unknownSecret(written, entries);
}

/** Components deployed by Quarterdeck have the plain id of the catalog; `@` distinguishes those deployed by others. */
export const isInstanceOfOthers = (component: string) => component.includes('@');

/** Throws `usage.component` before another name is suggested, which would be the name of another instance. */
function throwIfOfOthers({ component }: SecretParts): void {
  if (!isInstanceOfOthers(component)) return;
  const remedy = 'Change the secret where the component was deployed. To list stored secrets: quarterdeck secrets list';
  throw new Fault('usage.component', `${cleanLine(component)} was not deployed by Quarterdeck, so its secrets are not stored.`, remedy);
}

function unknownSecret(written: string, entries: readonly SecretEntry[]): never {
  throwIfOfOthers(partsOf(written));
  const names = entries.map(({ name }) => partsOf(name)).map(({ component, variable }) => `${component}/${variable}`);
  const remedy = nameRemedy(written, names, 'List the secrets: quarterdeck secrets list');
  throw new Fault('usage.secret', `No secret "${cleanLine(written)}" is stored.`, remedy);
}

/** Accepts one word with slashes, or component and variable separately. A third word could be the value itself. */
function writtenName({ words }: FlowInput): string {
  const [first, second] = words;
  if (first === undefined)
    throw new Fault('usage.secret', 'A secret is required.', 'Pass COMPONENT VARIABLE. To list the secrets: quarterdeck secrets list');
  if (words.length > 2) {
    const message = 'Too many arguments: secrets are not accepted on the command line, where other programs can see them.';
    const remedy =
      'If the last argument is a secret, choose another one, because the shell may have saved it. Run the command without the value, and type it when prompted.';
    throw new Fault('usage.words', message, remedy);
  }
  return second === undefined ? first : `${first}/${second}`;
}

export async function chooseName(session: Session, input: FlowInput, context: FlowContext, entries: readonly SecretEntry[]) {
  if (input.words.length === 0 && session.attended) return chooseOfCatalog(session, input, context);
  const written = writtenName(input);
  const kept = entries.find(({ name }) => name === written || name === `${input.engineName}/${written}`);
  if (kept) return kept.name;
  const parts = partsOf(written);
  throwIfOfOthers(parts);
  // A component alone lacks the name of its secret.
  const alone = parts.component === '' && context.catalog.get(parts.variable);
  const { engineName, component, variable } = alone ? { engineName: '', component: alone.id, variable: '' } : parts;
  const entry = context.catalog.get(component);
  if (!entry) {
    const name = component || written;
    const ids = context.catalog.entries.map(({ id }) => id);
    const remedy = nameRemedy(name, ids, 'List the components: quarterdeck catalog list');
    throw new Fault('usage.component', `The catalog has no component "${cleanLine(name)}".`, remedy);
  }
  const field = fieldOf(entry, variable);
  if (!field) {
    const remedy = nameRemedy(variable, secretFields(entry).map(variableOf), 'The component has no secrets.');
    const message = variable === '' ? `Specify a secret of ${entry.id}.` : `${entry.id} has no secret "${cleanLine(variable)}".`;
    throw new Fault('usage.secret', message, remedy);
  }
  return secretName(engineName || input.engineName, entry.id, variableOf(field));
}

async function chooseOfCatalog(session: Session, input: FlowInput, context: FlowContext): Promise<SecretName> {
  const choices = context.catalog.entries.flatMap((entry) =>
    secretFields(entry).map((field) => ({
      value: `${entry.id}/${variableOf(field)}`,
      label: `${entry.id} ${field.label ?? field.name}`,
      ...(field.description !== undefined && { detail: field.description }),
    })),
  );
  const chosen = await session.ask.choice({ id: 'secret', label: 'Secret', choices });
  return `${input.engineName}/${chosen}` as SecretName;
}
