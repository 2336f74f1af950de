import type { CatalogEntry } from '../catalog/catalog.ts';
import type { ComponentField } from '../catalog/schema.ts';
import { Fault } from '../faults/fault.ts';
import type { SecretEntry, SecretName } from '../secrets/vault.ts';
import type { Session } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { nameRemedy } from '../text/nearest-name.ts';
import type { FlowInput, FlowWorld } from './flow.ts';

export interface SecretParts {
  /** May hold a slash: `local/podman`. */
  place: string;
  component: string;
  variable: string;
}

/** `nas/podman/rss-reader/DB_PASSWORD`: a component's id has no slash, and neither has what a compose file calls a variable. */
export function partsOf(name: string): SecretParts {
  const parts = name.split('/');
  return { place: parts.slice(0, -2).join('/'), component: parts.at(-2) ?? '', variable: parts.at(-1) ?? '' };
}

export function secretFields(entry: CatalogEntry): readonly ComponentField[] {
  return entry.fields.filter(({ secret }) => secret);
}

export function variableOf(field: ComponentField): string {
  return field.env ?? field.name;
}

export function fieldOf(entry: CatalogEntry | undefined, variable: string): ComponentField | undefined {
  return entry && secretFields(entry).find((field) => variableOf(field) === variable || field.name === variable);
}

/** One of the names that were kept: by its words, or chosen from all. Throws `usage.secret`. */
export async function chooseKept(session: Session, input: FlowInput, entries: readonly SecretEntry[]): Promise<SecretEntry> {
  if (entries.length === 0) {
    throw new Fault({
      code: 'usage.secret',
      message: 'No secret is kept yet.',
      remedy: 'quarterdeck secrets set COMPONENT VARIABLE, or deploy something.',
    });
  }
  if (input.words.length === 0 && session.attended) {
    const name = await session.ask.choice({
      id: 'secret',
      label: 'Which secret?',
      choices: entries.map((entry) => ({ value: entry.name, label: cleanLine(entry.name) })),
    });
    return entries.find((entry) => entry.name === name) ?? unknownSecret(name, entries);
  }
  const written = writtenName(input);
  const matches = entries.filter(({ name }) => name === written || name === `${input.place}/${written}`);
  const [found, other] = matches.length > 0 ? matches : entries.filter(({ name }) => name.endsWith(`/${written}`));
  if (found && other) {
    throw new Fault({
      code: 'usage.secret',
      message: `"${cleanLine(written)}" is kept more than once.`,
      remedy: `Write the whole name: ${cleanLine(found.name)} or ${cleanLine(other.name)}.`,
    });
  }
  return found ?? unknownSecret(written, entries);
}

/** What Quarterdeck deploys has the plain id of the catalog; `@` tells apart what others deployed. */
export const isInstanceOfOthers = (component: string) => component.includes('@');

/** Throws `usage.component` before another name is suggested, which would be that of another instance. */
function throwIfOfOthers({ component }: SecretParts): void {
  if (!isInstanceOfOthers(component)) return;
  throw new Fault({
    code: 'usage.component',
    message: `${cleanLine(component)} was not deployed by Quarterdeck, which keeps no secrets of it.`,
    remedy: 'Change the secret where it was deployed. "quarterdeck secrets list" lists those that are kept.',
  });
}

function unknownSecret(written: string, entries: readonly SecretEntry[]): never {
  throwIfOfOthers(partsOf(written));
  throw new Fault({
    code: 'usage.secret',
    message: `No secret "${cleanLine(written)}" is kept.`,
    remedy: nameRemedy(
      written,
      entries.map(({ name }) => partsOf(name)).map(({ component, variable }) => `${component}/${variable}`),
      '"quarterdeck secrets list" lists them.',
    ),
  });
}

/** One word with slashes, or component and variable apart. A third word could be the value itself. */
function writtenName({ words }: FlowInput): string {
  const [first, second] = words;
  if (first === undefined) {
    throw new Fault({
      code: 'usage.secret',
      message: 'Name a secret.',
      remedy: 'COMPONENT VARIABLE, or COMPONENT/VARIABLE; "quarterdeck secrets list" lists them.',
    });
  }
  if (words.length > 2) {
    throw new Fault({
      code: 'usage.words',
      message: 'That is a word too many: a secret is never given on the command line, where other programs see it.',
      remedy: 'If the last word is one, take another: the shell may have written it down. Run it again without, and type it when asked.',
    });
  }
  return second === undefined ? first : `${first}/${second}`;
}

/** A name to be written to, kept already or of the catalog. Throws `usage.secret`. */
export async function chooseName(
  session: Session,
  input: FlowInput,
  world: FlowWorld,
  entries: readonly SecretEntry[],
): Promise<SecretName> {
  if (input.words.length === 0 && session.attended) return chooseOfCatalog(session, input, world);
  const written = writtenName(input);
  const kept = entries.find(({ name }) => name === written || name === `${input.place}/${written}`);
  if (kept) return kept.name;
  const parts = partsOf(written);
  throwIfOfOthers(parts);
  const { place, component, variable } = parts;
  const entry = world.catalog.get(component);
  if (!entry || variable === '') {
    throw new Fault({
      code: 'usage.component',
      message: `The catalog has no component "${cleanLine(component || written)}".`,
      remedy: nameRemedy(
        component || written,
        world.catalog.entries.map(({ id }) => id),
        'quarterdeck catalog list',
      ),
    });
  }
  const field = fieldOf(entry, variable);
  if (!field) {
    throw new Fault({
      code: 'usage.secret',
      message: `${entry.id} has no secret "${cleanLine(variable)}".`,
      remedy: nameRemedy(variable, secretFields(entry).map(variableOf), 'It has none at all.'),
    });
  }
  return `${place || input.place}/${entry.id}/${variableOf(field)}`;
}

async function chooseOfCatalog(session: Session, input: FlowInput, world: FlowWorld): Promise<SecretName> {
  const choices = world.catalog.entries.flatMap((entry) =>
    secretFields(entry).map((field) => ({
      value: `${entry.id}/${variableOf(field)}`,
      label: `${entry.id} ${field.name}`,
      ...(field.meaning !== undefined && { detail: field.meaning }),
    })),
  );
  const chosen = await session.ask.choice({ id: 'secret', label: 'Which secret?', choices });
  return `${input.place}/${chosen}` as SecretName;
}
