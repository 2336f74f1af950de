import type { CatalogEntry } from '../../catalog/catalog.ts';
import { checkValue, portProblem } from '../../catalog/field-types.ts';
import type { EngineKind } from '../../engine/engine.ts';
import type { Choice, Form, FormField } from '../../session/session.ts';
import { isLoopback } from '../../text/loopback.ts';
import { asSentence } from '../../text/sentence.ts';
import type { ComponentSource } from '../component-source.ts';
import type { Deployment, Values } from '../model.ts';
import { envValueProblem } from './env-file.ts';
import { frontPort, hostPortOf } from './ports.ts';
import { isPrivateName } from './proxy-site.ts';
import { listOf } from './render.ts';
import { type ComponentVariable, variablesOf } from './variables.ts';

/** The known facts for a component's form and for reading its answers. */
export interface FormContext {
  source: ComponentSource;
  deployment?: Deployment;
  others: readonly Deployment[];
  /** Newest version of each secret in the keychain, by variable. */
  secretsKnown: Readonly<Record<string, string>>;
  /** Secrets found in running containers, or shared with another component (R26). In memory only. */
  imported?: Readonly<Record<string, string>>;
  /** A volume, a container or a secret of it exists: then no value is generated that would have to match existing data. */
  hasData: boolean;
  runtime: EngineKind;
  suggested?: Values;
  /** The catalog's sign-on portal, for components that a reverse proxy can put behind it (R36). */
  portal?: { id: string; deployed: boolean };
  /** Whether the component is behind the portal now, or would be (R42). */
  behindPortal?: boolean;
  values?: Values;
}

/** The name of the site's field, in forms and in `--set`. */
export const siteField = 'site';

/** The field for whether the site is behind the sign-on portal: `yes` or `no`. */
export const portalField = 'protect';

export function formOf(entry: CatalogEntry, context: FormContext): Form & Required<Pick<Form, 'check'>> {
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

/** In this order: set values, deployed values, suggestions of other components, values derived from ports and site, the default. */
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

/** Loopback ports keep their address (R7, R8), fixed ones their number (R88): the form has no field for those two. */
export function isAsked({ kind, port }: ComponentVariable): boolean {
  if (kind === 'bind') return port?.exposure === 'all';
  return kind !== 'port' || port?.fixed !== true;
}

export function canHaveSite(entry: CatalogEntry): boolean {
  return (
    !entry.fields.some(({ target, name }) => target === 'proxy' && !entry.site?.names.some(({ field }) => field === name)) &&
    (entry.site !== undefined || entry.ports.some(({ web }) => web)) &&
    frontPort(entry) !== undefined
  );
}

/** The portal itself is excluded: users sign on there. */
export function canBeBehindPortal(entry: CatalogEntry, { portal }: Pick<FormContext, 'portal'>): boolean {
  return canHaveSite(entry) && portal !== undefined && portal.id !== entry.id;
}

function sectionOf({ kind }: ComponentVariable): 'Settings' | 'Secrets' | 'Ports' {
  return kind === 'secret' ? 'Secrets' : kind === 'port' || kind === 'bind' ? 'Ports' : 'Settings';
}

/** Returns the problem of a value of this variable, from any source. Empty means that no value is set. */
export function checkVariable(variable: ComponentVariable, value: string): string | undefined {
  if (value === '') return undefined;
  const { kind, field, port, profiles } = variable;
  if (kind === 'port') return portProblem(value);
  if (kind === 'bind') {
    const isAllowed = port?.exposure === 'all' || isLoopback(value);
    const problem = isAllowed ? undefined : 'This port must stay on loopback. Use 127.0.0.1.';
    return checkValue({ type: 'ip-address' }, value) ?? problem;
  }
  if (kind === 'profiles') {
    const unknown = listOf(value).find((profile) => !profiles.includes(profile));
    return unknown === undefined ? undefined : `Unknown profile "${unknown}". Use ${profiles.join(', ')}.`;
  }
  const problem = field && checkValue(field, value);
  return problem ?? (kind === 'secret' ? (/[\n\r\0]/.test(value) ? 'A secret must be one line.' : undefined) : envValueProblem(value));
}

function fieldOf(entry: CatalogEntry, variable: ComponentVariable, context: FormContext, shown: Values): FormField {
  const { name } = variable;
  if (variable.kind === 'secret') return secretLine(entry, variable, context);
  const choices = choicesOf(variable);
  const required = variable.required && !variable.mayBeEmpty && follows(variable) === undefined;
  const missing = asSentence(variable.message || `${labelOf(variable)} is required`);
  return {
    id: name,
    label: labelOf(variable),
    kind: choices ? 'choice' : 'text',
    value: shown[name] ?? '',
    choices,
    required,
    help: helpOf(variable),
    section: sectionOf(variable),
    check: (value) => (value === '' && required ? missing : checkVariable(variable, value)),
  };
}

function labelOf({ kind, name, field, port }: ComponentVariable): string {
  if (kind === 'profiles') return 'Optional services';
  if (kind !== 'port' && kind !== 'bind') return field?.label ?? field?.name ?? name;
  // A role such as gRPC keeps its letters.
  const role = port?.role.replace(/^[a-z](?=[a-z])/, (first) => first.toUpperCase());
  return role ? `${role}, ${kind === 'port' ? `${port?.protocol} port` : 'address'}` : name;
}

function helpOf({ kind, field, port, services }: ComponentVariable): string | undefined {
  const parts: string[] = [];
  if (kind === 'port' && port) parts.push(`Port on this host; the port inside the container is ${port.container}.`);
  if (kind === 'bind')
    parts.push('0.0.0.0 listens on all addresses of the host. To restrict access, use a single host address or 127.0.0.1.');
  if (kind === 'profiles') parts.push(`Started only if selected: ${services.join(', ')}.`);
  if (field?.description) parts.push(asSentence(field.description));
  if (field?.rule) parts.push(asSentence(field.rule));
  return parts.join(' ') || undefined;
}

function choicesOf({ kind, field, profiles, default: fallback, required }: ComponentVariable): Choice[] | undefined {
  if (kind === 'profiles' && profiles.length === 1) return ['', ...profiles].map((value) => ({ value, label: value || 'none' }));
  const values = field?.enum ?? (field?.type === 'string-boolean' || field?.type === 'boolean' ? ['true', 'false'] : undefined);
  if (values === undefined) return undefined;
  const open = fallback === '' && !required ? [{ value: '', label: 'not set' }] : [];
  return [...open, ...values.map((value) => ({ value, label: value, ...(value === fallback && { detail: 'default' }) }))];
}

/** In use but not stored yet: from a running container, or from a plaintext line of `.env`, which is removed there. */
export const importedSecret = ({ name }: ComponentVariable, { imported, deployment }: FormContext): string | undefined =>
  imported?.[name] || deployment?.env[name] || undefined;

export function secretSource(variable: ComponentVariable, context: FormContext): 'keep' | 'imported' | 'generate' | 'none' | 'missing' {
  if (context.secretsKnown[variable.name] !== undefined) return 'keep';
  if (importedSecret(variable, context) !== undefined) return 'imported';
  if (variable.field?.generator !== undefined && !context.hasData) return 'generate';
  return !variable.required || variable.mayBeEmpty ? 'none' : 'missing';
}

function secretLine(entry: CatalogEntry, variable: ComponentVariable, context: FormContext): FormField {
  const { name, field } = variable;
  const from = secretSource(variable, context);
  const remarks: Partial<Record<typeof from, string>> = {
    imported: 'Imported from the existing setup.',
    none: 'Optional.',
    missing: field?.generator && `${entry.id} already has data. Enter the secret in use; a new one would not match.`,
  };
  return {
    id: name,
    label: labelOf(variable),
    kind: 'secret',
    value: '',
    required: from === 'missing',
    generated: from === 'generate' || undefined,
    kept: from === 'keep' || from === 'imported' || undefined,
    help: [helpOf(variable), remarks[from]].filter(Boolean).join(' ') || undefined,
    section: 'Secrets',
    check: (value) => (value === '' && from === 'missing' ? 'This secret is required.' : checkVariable(variable, value)),
  };
}

function siteLine(entry: CatalogEntry, context: FormContext, value: string): FormField {
  const taken = new Map(context.others.flatMap(({ component, record }) => (record?.site ? [[record.site.toLowerCase(), component]] : [])));
  return {
    id: siteField,
    label: 'Host name in the reverse proxy',
    kind: 'text',
    value,
    required: false,
    help: `Such as ${entry.id.split('-')[0]}.lan or a public name. The proxy provides HTTPS. If empty, the component has no site at the reverse proxy.`,
    section: 'Address',
    check: (site) => checkSite(site, taken),
  };
}

function portalLine({ portal }: FormContext, value: string): FormField {
  const { id = '', deployed = false } = portal ?? {};
  return {
    id: portalField,
    label: 'Behind the sign-on portal',
    kind: 'choice',
    value,
    choices: [
      { value: 'no', label: 'no', detail: 'anyone who can reach the site can open it without the portal' },
      { value: 'yes', label: 'yes', detail: deployed ? `${id} allows only signed-in users` : `${id} is not deployed yet` },
    ],
    required: true,
    help: 'Applies only to a component with a site at the reverse proxy. Mobile and desktop apps that log in to the component itself cannot pass the portal, unless a rule of the portal exempts their paths.',
    section: 'Address',
    check: checkPortalAnswer,
  };
}

export const checkPortalAnswer = (value: string): string | undefined =>
  value === 'yes' || value === 'no' ? undefined : 'Enter yes or no.';

export function checkSite(site: string, taken: ReadonlyMap<string, string>): string | undefined {
  if (site === '') return undefined;
  const problem = checkValue({ type: 'domain' }, site);
  if (problem !== undefined) return problem;
  const owner = taken.get(site.toLowerCase());
  return owner === undefined ? undefined : `${site} is already used by ${owner}.`;
}

/** Checks rules between fields: values that exclude each other (R21), duplicate ports, a missing value or site. */
function checkTogether(entry: CatalogEntry, context: FormContext, values: Values): Record<string, string> {
  const wrong: Record<string, string> = {};
  const variables = variablesOf(entry, context.source);
  for (const [name, other] of entry.fields.flatMap((field) => field.excludes.map((excluded) => [field.name, excluded] as const))) {
    const [one, two] = [setUnder(name, variables, values), setUnder(other, variables, values)];
    if (one !== undefined && two !== undefined) wrong[one] = wrong[two] = `Set ${name} or ${other}, not both.`;
  }
  const ports = variables.filter(({ kind, port }) => kind === 'port' && port !== undefined);
  for (const [index, variable] of ports.entries()) {
    const { name, port } = variable;
    const twin = ports.slice(0, index).find((other) => other.port?.protocol === port?.protocol && values[other.name] === values[name]);
    if (twin && isAsked(variable)) wrong[name] = `${twin.port?.role ?? twin.name} already uses port ${values[name]}.`;
  }
  if (values[siteField]) return wrong;
  for (const variable of variables) {
    if (!variable.required || variable.mayBeEmpty || variable.kind === 'secret' || follows(variable) === undefined) continue;
    if (!values[variable.name])
      wrong[variable.name] = `${asSentence(variable.message)} Alternatively, set a host name in the reverse proxy.`;
  }
  return wrong;
}

/** Returns the first variable that sets this field, or one below it: `storage.postgres` is set by `storage.postgres.host`. */
function setUnder(name: string, variables: readonly ComponentVariable[], values: Values): string | undefined {
  return variables.find(({ name: variable, kind, field, default: fallback }) => {
    if (kind !== 'setting' || !field || (field.name !== name && !field.name.startsWith(`${name}.`))) return false;
    const value = values[variable] ?? '';
    return value !== '' && value !== fallback;
  })?.name;
}

/** The variable may contain the component's address for browsers: its whole `address`, or only its `host` (R31). */
export function follows({ kind, field }: ComponentVariable): 'address' | 'host' | undefined {
  if (kind !== 'setting' || (field?.audience !== 'browser' && field?.audience !== 'internet')) return undefined;
  if (field.type === 'url') return 'address';
  return field.type === 'hostname' || field.type === 'domain' ? 'host' : undefined;
}

/** The site's address, or the default with the component's actual port (R89). Undefined for variables that are not derived. */
export function derivedValue(entry: CatalogEntry, variable: ComponentVariable, values: Values, site: string): string | undefined {
  const what = follows(variable);
  if (what === undefined) return undefined;
  const further = entry.site?.names.find(({ field }) => field === variable.field?.name);
  if (further) return site === '' || further.suggest === undefined ? variable.default : `${further.suggest}.${site}`;
  // A name of this network cannot be resolved from the internet.
  if (what === 'host') return site === '' || (variable.field?.audience === 'internet' && isPrivateName(site)) ? variable.default : site;
  const written = URL.parse(variable.default);
  if (written === null) return site === '' ? variable.default : `https://${site}`;
  const named = Number(written.port);
  const port = entry.ports.find((candidate) => candidate.host === named && candidate.protocol === 'tcp');
  if (port === undefined) return variable.default;
  if (site !== '' && port.name === frontPort(entry)?.name) return `https://${site}`;
  const effective = hostPortOf(port, values);
  return effective === undefined || effective === named ? variable.default : variable.default.replace(`:${named}`, `:${effective}`);
}
