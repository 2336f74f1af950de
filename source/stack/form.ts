import type { CatalogEntry } from '../catalog/catalog.ts';
import { checkValue } from '../catalog/field-types.ts';
import type { EngineKind } from '../engine/engine.ts';
import { frontPort } from './base-url.ts';
import type { ComponentSource } from './component-source.ts';
import { derivedValue, follows } from './derived-values.ts';
import { envValueProblem } from './env-file.ts';
import type { Deployment } from './model.ts';
import { listOf } from './render.ts';
import { type ComponentVariable, variablesOf } from './variables.ts';

interface Choice {
  value: string;
  label: string;
  detail?: string;
}

/** A line of the form, in the shape that the session asks with: that layer stands above this one. */
interface FormField {
  id: string;
  label: string;
  kind: 'text' | 'secret' | 'choice';
  value: string;
  choices?: readonly Choice[];
  required: boolean;
  generated?: true;
  kept?: true;
  help?: string;
  section: string;
  check: (value: string) => string | undefined;
}

/** What `session.fill` takes. */
export interface ComponentForm {
  id: string;
  title: string;
  fields: readonly FormField[];
  check: (values: Readonly<Record<string, string>>) => Readonly<Record<string, string>>;
}

/** What is known when a component's form is made and when its answers are read. */
export interface FormContext {
  source: ComponentSource;
  /** What stands there already. */
  deployment?: Deployment;
  /** Of the other components of the stack. */
  others: readonly Deployment[];
  /** Newest version of each secret in the vault, by variable. */
  secretsKnown: Readonly<Record<string, string>>;
  /** Secrets that were found in running containers, or that another component has in common with it (R26). In memory only. */
  imported?: Readonly<Record<string, string>>;
  /** A volume, a container or a secret of it exists: nothing is made up then that would have to fit to what is there. */
  hasData: boolean;
  runtime: EngineKind;
  /** Addresses of deployed components that it uses, by variable. */
  suggested?: Readonly<Record<string, string>>;
  /** The sign-on portal that the catalog has, for components that a reverse proxy can put behind it (R36). */
  portal?: { id: string; deployed: boolean };
  /** Is it behind the portal now, or would it be (R42)? */
  behindPortal?: boolean;
  /** What was said already, on the command line or by a remedy. */
  values?: Readonly<Record<string, string>>;
}

/** The name of the line that holds the site, in forms and in `--set`. */
export const siteField = 'site';

/** The line that says whether the site is behind the sign-on portal: `yes` or `no`. */
export const portalField = 'protect';

/** Everything that can be chosen about a component, a line for each variable of its compose.yaml. */
export function formOf(entry: CatalogEntry, context: FormContext): ComponentForm {
  const shown = shownValues(entry, context);
  const variables = variablesOf(entry, context.source).filter(isAsked);
  const sections = ['Settings', 'Secrets', 'Ports'] as const;
  const fields = sections.flatMap((section) =>
    variables.filter((variable) => sectionOf(variable) === section).map((variable) => fieldOf(entry, variable, context, shown)),
  );
  if (canHaveSite(entry)) fields.push(siteLine(entry, context, shown[siteField] ?? ''));
  if (canBeBehindPortal(entry, context)) fields.push(portalLine(context, shown[portalField] ?? 'no'));
  return {
    id: 'deploy',
    title: `${context.deployment ? 'Change' : 'Deploy'} ${entry.id} (${entry.product.name})`,
    fields,
    check: (values) => checkTogether(entry, context, { ...shown, ...values }),
  };
}

/** What stands in the form at first: what was said, what is deployed, what others provide, what follows from ports and site, the default. */
export function shownValues(entry: CatalogEntry, context: FormContext): Record<string, string> {
  const { deployment, suggested = {}, values = {} } = context;
  const site = values[siteField] ?? deployment?.record?.site ?? '';
  const shown: Record<string, string> = { [siteField]: site };
  if (canBeBehindPortal(entry, context)) shown[portalField] = values[portalField] ?? (context.behindPortal ? 'yes' : 'no');
  const variables = variablesOf(entry, context.source).filter(({ kind }) => kind !== 'secret');
  for (const { name, default: fallback } of variables) {
    const present = deployment?.env[name];
    shown[name] = values[name] ?? (present !== undefined && present !== '' ? present : (suggested[name] ?? fallback));
  }
  for (const variable of variables) {
    const said = values[variable.name] ?? deployment?.env[variable.name];
    if (said === undefined || said === '') shown[variable.name] = derivedValue(entry, variable, shown, site) ?? shown[variable.name] ?? '';
  }
  return shown;
}

/** Loopback ports stay where they are (R7, R8), fixed ones keep their number (R88): those two are no questions. */
export function isAsked({ kind, port }: ComponentVariable): boolean {
  if (kind === 'bind') return port?.exposure === 'all';
  return kind !== 'port' || port?.fixed !== true;
}

/** Is it something that a reverse proxy can stand in front of? */
export function canHaveSite(entry: CatalogEntry): boolean {
  return (
    !entry.fields.some(({ goes, name }) => goes === 'proxy' && !entry.site?.names.some(({ field }) => field === name)) &&
    (entry.site !== undefined || entry.ports.some(({ web }) => web)) &&
    frontPort(entry) !== undefined
  );
}

/** The portal itself is what one signs on at. */
export function canBeBehindPortal(entry: CatalogEntry, { portal }: Pick<FormContext, 'portal'>): boolean {
  return canHaveSite(entry) && portal !== undefined && portal.id !== entry.id;
}

function sectionOf({ kind }: ComponentVariable): 'Settings' | 'Secrets' | 'Ports' {
  return kind === 'secret' ? 'Secrets' : kind === 'port' || kind === 'bind' ? 'Ports' : 'Settings';
}

/** What is wrong with a value of this variable, whoever gave it. Empty means that nothing was said. */
export function checkVariable(variable: ComponentVariable, value: string): string | undefined {
  if (value === '') return undefined;
  const { kind, field, port, profiles } = variable;
  if (kind === 'port') {
    const number = Number(value);
    return /^\d{1,5}$/.test(value) && number >= 1 && number <= 65535 ? undefined : 'A port is a whole number from 1 to 65535.';
  }
  if (kind === 'bind') return checkValue({ type: 'ip-address' }, value) ?? (port?.exposure === 'all' ? undefined : loopbackOnly(value));
  if (kind === 'profiles') {
    const unknown = listOf(value).find((profile) => !profiles.includes(profile));
    return unknown === undefined ? undefined : `There is no "${unknown}" here, only ${profiles.join(', ')}.`;
  }
  const problem = field && checkValue(field, value);
  return problem ?? (kind === 'secret' ? (/[\n\r\0]/.test(value) ? 'A secret is one line.' : undefined) : envValueProblem(value));
}

function loopbackOnly(address: string): string | undefined {
  return /^127\.|^::1$/.test(address) ? undefined : 'This port stays on loopback; the reverse proxy makes it reachable (R7).';
}

function fieldOf(
  entry: CatalogEntry,
  variable: ComponentVariable,
  context: FormContext,
  shown: Readonly<Record<string, string>>,
): FormField {
  const { name, field } = variable;
  if (variable.kind === 'secret') return secretLine(entry, variable, context);
  const choices = choicesOf(variable);
  const required = variable.required && !variable.mayBeEmpty && follows(variable) === undefined;
  return {
    id: name,
    label: labelOf(variable),
    kind: choices ? 'choice' : 'text',
    value: shown[name] ?? '',
    ...(choices && { choices }),
    required,
    ...helpOf(variable),
    section: sectionOf(variable),
    check: (value) =>
      value === '' && required ? `${sentence(variable.message || `${field?.name ?? name} is needed`)}` : checkVariable(variable, value),
  };
}

function labelOf({ kind, name, field, port }: ComponentVariable): string {
  if (kind === 'port') return port ? `${port.role}, ${port.protocol} port` : name;
  if (kind === 'bind') return port ? `${port.role}, address` : name;
  if (kind === 'profiles') return 'optional services';
  return field?.name ?? name;
}

function helpOf({ kind, name, field, port, services }: ComponentVariable): { help?: string } {
  const parts: string[] = [];
  if (kind === 'port' && port) parts.push(`On this host; inside the container it is ${port.container}.`);
  if (kind === 'bind')
    parts.push('0.0.0.0 listens on every address of the host (R7); one of its own addresses, or 127.0.0.1, is narrower.');
  if (kind === 'profiles') parts.push(`Not started unless asked for: ${services.join(', ')}.`);
  if (field?.meaning) parts.push(sentence(field.meaning));
  if (field?.rule) parts.push(sentence(field.rule));
  if (field && field.name !== name) parts.push(`Variable ${name}.`);
  return parts.length > 0 ? { help: parts.join(' ') } : {};
}

function sentence(text: string): string {
  const upper = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(upper) ? upper : `${upper}.`;
}

function choicesOf({ kind, field, profiles, default: fallback, required }: ComponentVariable): Choice[] | undefined {
  if (kind === 'profiles' && profiles.length === 1) {
    return ['', ...profiles].map((value) => ({ value, label: value === '' ? 'none' : value }));
  }
  const values = field?.enum ?? (field?.type === 'string-boolean' || field?.type === 'boolean' ? ['true', 'false'] : undefined);
  if (values === undefined) return undefined;
  const open = fallback === '' && !required ? [{ value: '', label: 'not set' }] : [];
  return [...open, ...values.map((value) => ({ value, label: value, ...(value === fallback && { detail: 'default' }) }))];
}

/** A secret that is in use already, but not in the vault: known from a running container, or written into `.env` by somebody, from where it goes. */
export function importedSecret({ name }: ComponentVariable, { imported, deployment }: FormContext): string | undefined {
  return imported?.[name] || deployment?.env[name] || undefined;
}

/** How a secret comes about when nobody types one. */
export function secretSource(variable: ComponentVariable, context: FormContext): 'keep' | 'imported' | 'generate' | 'none' | 'missing' {
  if (context.secretsKnown[variable.name] !== undefined) return 'keep';
  if (importedSecret(variable, context) !== undefined) return 'imported';
  if (variable.field?.generator !== undefined && !context.hasData) return 'generate';
  return !variable.required || variable.mayBeEmpty ? 'none' : 'missing';
}

function secretLine(entry: CatalogEntry, variable: ComponentVariable, context: FormContext): FormField {
  const { name, field } = variable;
  const from = secretSource(variable, context);
  const remarks: Record<typeof from, string> = {
    keep: '',
    imported: 'Taken over from what runs already.',
    generate: '',
    none: 'May stay empty.',
    missing: field?.generator ? `${entry.id} has data already: the one in use is needed, a new one would not fit.` : '',
  };
  const help = [helpOf(variable).help, remarks[from]].filter(Boolean).join(' ');
  return {
    id: name,
    label: labelOf(variable),
    kind: 'secret',
    value: '',
    required: from === 'missing',
    ...(from === 'generate' && { generated: true }),
    ...((from === 'keep' || from === 'imported') && { kept: true }),
    ...(help !== '' && { help }),
    section: 'Secrets',
    check: (value) => (value === '' && from === 'missing' ? 'This secret is needed.' : checkVariable(variable, value)),
  };
}

function siteLine(entry: CatalogEntry, context: FormContext, value: string): FormField {
  const taken = new Map(context.others.flatMap(({ component, record }) => (record?.site ? [[record.site.toLowerCase(), component]] : [])));
  return {
    id: siteField,
    label: 'name at the reverse proxy',
    kind: 'text',
    value,
    required: false,
    help: `Such as ${entry.id.split('-')[0]}.lan or a public name; https is the proxy’s. Empty: only this machine reaches it.`,
    section: 'Address',
    check: (site) => checkSite(site, taken),
  };
}

function portalLine({ portal }: FormContext, value: string): FormField {
  const { id = '', deployed = false } = portal ?? {};
  return {
    id: portalField,
    label: 'behind the sign-on portal',
    kind: 'choice',
    value,
    choices: [
      { value: 'no', label: 'no', detail: 'whoever reaches the name reaches its own login' },
      { value: 'yes', label: 'yes', detail: deployed ? `${id} lets in who has signed on` : `${id} is not deployed yet` },
    ],
    required: true,
    help: 'Counts where it has a name at the reverse proxy (R36). Programs that sign on by themselves, such as apps, do not get through a portal.',
    section: 'Address',
    check: checkPortalAnswer,
  };
}

export function checkPortalAnswer(value: string): string | undefined {
  return value === 'yes' || value === 'no' ? undefined : 'Answer yes or no.';
}

export function checkSite(site: string, taken: ReadonlyMap<string, string>): string | undefined {
  if (site === '') return undefined;
  const problem = checkValue({ type: 'domain' }, site);
  if (problem !== undefined) return problem;
  const owner = taken.get(site.toLowerCase());
  return owner === undefined ? undefined : `${site} is the name of ${owner} already.`;
}

/** What no single line can tell: values that exclude each other (R21), one port twice, what has neither value nor site. */
function checkTogether(entry: CatalogEntry, context: FormContext, values: Readonly<Record<string, string>>): Record<string, string> {
  const wrong: Record<string, string> = {};
  const variables = variablesOf(entry, context.source);
  for (const field of entry.fields) {
    for (const other of field.excludes) {
      const [one, two] = [setUnder(field.name, variables, values), setUnder(other, variables, values)];
      if (one === undefined || two === undefined) continue;
      wrong[one] = wrong[two] = `Set ${field.name} or ${other}, not both (R21).`;
    }
  }
  const ports = variables.filter(({ kind, port }) => kind === 'port' && port !== undefined);
  for (const [index, one] of ports.entries()) {
    const twin = ports
      .slice(0, index)
      .find((other) => other.port?.protocol === one.port?.protocol && values[other.name] === values[one.name]);
    if (twin && isAsked(one)) wrong[one.name] = `${twin.port?.role ?? twin.name} has port ${values[one.name]} already.`;
  }
  const site = values[siteField] ?? '';
  for (const variable of variables) {
    if (!variable.required || variable.mayBeEmpty || variable.kind === 'secret' || follows(variable) === undefined) continue;
    if ((values[variable.name] ?? '') === '' && site === '')
      wrong[variable.name] = `${sentence(variable.message)} Or give it a name at the reverse proxy.`;
  }
  return wrong;
}

/** The first variable that says something of this field, or of one below it: `storage.postgres` is set by `storage.postgres.host`. */
function setUnder(name: string, variables: readonly ComponentVariable[], values: Readonly<Record<string, string>>): string | undefined {
  return variables.find(({ name: variable, kind, field, default: fallback }) => {
    if (kind !== 'setting' || !field || (field.name !== name && !field.name.startsWith(`${name}.`))) return false;
    const value = values[variable] ?? '';
    return value !== '' && value !== fallback;
  })?.name;
}
