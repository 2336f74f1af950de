import type { CatalogEntry } from '../../catalog/catalog.ts';
import { readInterpolation, variablesIn } from '../../catalog/interpolation.ts';
import { portVariable } from '../../catalog/port-mapping.ts';
import type { ContainerDetail } from '../../engine/engine.ts';
import { Fault } from '../../faults/fault.ts';
import { nameRemedy } from '../../text/nearest-name.ts';
import { splitAssignment } from '../../text/words.ts';
import type { ComponentSource } from '../component-source.ts';
import type { Answers, SecretAnswer, Values } from '../model.ts';
import {
  canBeBehindPortal,
  canHaveSite,
  checkPortalAnswer,
  checkSite,
  checkVariable,
  derivedValue,
  type FormContext,
  follows,
  importedSecret,
  isAsked,
  portalField,
  secretSource,
  shownValues,
  siteField,
} from './form.ts';
import { bindVariable } from './ports.ts';
import { type ComponentVariable, variablesOf } from './variables.ts';

/** Converts form values to answers. An unchanged value that follows ports or site is derived from them again (R31, R89). */
export function answersOf(entry: CatalogEntry, context: FormContext, filled: Values): Answers {
  const shown = shownValues(entry, context);
  const said = { ...shown, ...filled };
  const site = canHaveSite(entry) ? (said[siteField] ?? '').trim().toLowerCase() : '';
  const values: Record<string, string> = {};
  const secrets: Record<string, SecretAnswer> = {};
  for (const variable of variablesOf(entry, context.source)) {
    const { name } = variable;
    if (variable.kind === 'secret') {
      const answer = secretAnswer(variable, context, filled[name] ?? '');
      if (answer) secrets[name] = answer;
      continue;
    }
    let value = said[name] ?? '';
    if (follows(variable) !== undefined && value === shown[name] && !isChosen(entry, variable, context))
      value = derivedValue(entry, variable, said, site) ?? value;
    // Compose treats an empty value as unset.
    if (value !== '' && value !== variable.default) values[name] = value;
  }
  return { values, secrets, site, ...(canBeBehindPortal(entry, context) && { protect: said[portalField] === 'yes' }) };
}

/** Returns the answers of the present deployment, without a form: for an update, a rollback, a rotated secret. */
export const answersOfDeployment = (entry: CatalogEntry, context: FormContext): Answers => answersOf(entry, context, {});

/** A deployed value that equals the one derived from ports and site at that time was not chosen. */
function isChosen(entry: CatalogEntry, variable: ComponentVariable, { deployment, values = {} }: FormContext): boolean {
  if (values[variable.name] !== undefined) return true;
  const present = deployment?.env[variable.name];
  if (present === undefined || present === '') return false;
  return present !== derivedValue(entry, variable, deployment?.env ?? {}, deployment?.record?.site ?? '');
}

function secretAnswer(variable: ComponentVariable, context: FormContext, typed: string): SecretAnswer | undefined {
  if (typed !== '') return { from: 'given', value: typed };
  const from = secretSource(variable, context);
  if (from === 'keep') return { from, version: context.secretsKnown[variable.name] ?? '' };
  if (from === 'imported') return { from: 'given', value: importedSecret(variable, context) ?? '' };
  return from === 'missing' ? undefined : { from };
}

/**
 * `--set NAME=VALUE`: by variable. NAME is a variable, the name of a field, `site` or `protect`. Throws `usage.set` for an unknown name or
 * an invalid value, `usage.secretOnCommandLine` for a secret, `refused.exposure` and `refused.port` for settings that cannot be changed
 * (R7, R8, R88).
 */
export function parseSet(words: readonly string[], entry: CatalogEntry, source: ComponentSource): Record<string, string> {
  const variables = variablesOf(entry, source);
  const values: Record<string, string> = {};
  for (const word of words) {
    const [assigned, value] = splitAssignment(word);
    const written = assigned.trim();
    if (written === '' || value === undefined)
      throw usage('--set requires NAME=VALUE.', `${example(variables)} sets one value; repeat --set for another.`);
    const put = (name: string, text: string, problem: string | undefined, remedy: string) => {
      if (problem !== undefined) throw usage(`--set ${name}: ${problem}`, remedy, name);
      values[name] = text;
    };
    const own = canHaveSite(entry) ? written.toLowerCase() : '';
    if (own === siteField)
      put(own, value.toLowerCase(), checkSite(value, new Map()), 'Use a name such as vault.lan, or leave the name empty.');
    else if (own === portalField) put(own, value, checkPortalAnswer(value), `To require the sign-on portal: --set ${portalField}=yes.`);
    else {
      const variable = named(written, variables, entry);
      refuse(variable, entry, value);
      const problem = checkVariable(variable, value);
      const rule = variable.field?.rule;
      put(variable.name, value, problem, rule && !problem?.includes(rule) ? `Required format: ${rule}.` : 'Use another value.');
    }
  }
  return values;
}

function named(written: string, variables: readonly ComponentVariable[], entry: CatalogEntry): ComponentVariable {
  const variable =
    variables.find(({ name }) => name === written) ??
    variables.find(({ field }) => field?.name === written) ??
    variables.find(({ name, field }) => [name, field?.name].some((known) => known?.toLowerCase() === written.toLowerCase()));
  if (variable) return variable;
  const elsewhere = entry.fields.find(({ name }) => name.toLowerCase() === written.toLowerCase());
  if (elsewhere?.target === 'config')
    throw usage(`${written} is set in the configuration file of ${entry.id}.`, `Edit the file: quarterdeck edit ${entry.id}`, written);
  const names = [
    ...variables.filter((one) => one.kind !== 'secret' && isAsked(one)).map(({ name }) => name),
    ...(canHaveSite(entry) ? [siteField, portalField] : []),
  ];
  throw usage(`${entry.id} has no setting named "${written.slice(0, 60)}".`, nameRemedy(written, names, `${entry.id} has no settings.`));
}

function refuse(variable: ComponentVariable, entry: CatalogEntry, value: string): void {
  const { kind, name, port } = variable;
  const where = { where: { field: name } };
  if (kind === 'secret') {
    const message = `${name} is a secret, and other users of this machine can read command lines.`;
    const remedy = `Omit ${name} to be prompted, or store the secret first: quarterdeck secrets set ${entry.id} ${name}`;
    throw new Fault('usage.secretOnCommandLine', message, remedy, where);
  }
  if (kind === 'bind' && port?.exposure !== 'all' && checkVariable(variable, value) !== undefined) {
    const message = `${name} must be a loopback address, because this port must not be published on the network.`;
    const remedy = canHaveSite(entry) ? 'To reach the component from other machines, set a site: --set site=NAME.' : 'Use 127.0.0.1.';
    throw new Fault('refused.exposure', message, remedy, where);
  }
  if (kind === 'port' && port?.fixed && value !== String(port.host)) {
    const message = `${name} must be ${port.host}, because clients of this protocol expect this port.`;
    throw new Fault('refused.port', message, 'If another program uses the port, bind one of the programs to a separate address.', where);
  }
}

function example(variables: readonly ComponentVariable[]): string {
  const one = variables.find((variable) => variable.kind !== 'secret' && isAsked(variable) && variable.default !== '');
  return one ? `--set ${one.name}=${one.default}` : '--set NAME=VALUE';
}

const usage = (message: string, remedy: string, field?: string): Fault =>
  new Fault('usage.set', message, remedy, field === undefined ? {} : { where: { field } });

/**
 * Reads the answers from containers, by service of the component's compose.yaml: `DATABASE_URL: postgres://app:${DB_PASSWORD}@db/app`
 * yields `DB_PASSWORD`. Texts that do not match are skipped, never guessed. `values` are plain variables that differ from the defaults;
 * `secrets` must be masked, then stored in the keychain.
 */
export function answersOfContainers(entry: CatalogEntry, source: ComponentSource, containers: Readonly<Record<string, ContainerDetail>>) {
  const values: Record<string, string> = {};
  const secrets: Record<string, string> = {};
  const variables = new Map(variablesOf(entry, source).map((variable) => [variable.name, variable]));
  const learn = (name: string, value: string) => {
    const variable = variables.get(name);
    if (!variable || value === '') return;
    if (variable.kind === 'secret') secrets[name] ??= value;
    else if (checkVariable(variable, value) === undefined && value !== variable.default) values[name] = value;
  };
  for (const service of entry.services) {
    const container = containers[service.name];
    if (!container) continue;
    const env = new Map(container.env);
    for (const [name, written] of Object.entries(service.environment)) {
      const found = matchTemplate(written, env.get(name));
      for (const [variable, value] of Object.entries(found ?? {})) learn(variable, value);
    }
    for (const port of entry.ports.filter((one) => one.service === service.name)) {
      const published = container.ports.find(
        (one) => one.containerPort === port.container && one.protocol === port.protocol && one.hostPort !== undefined,
      );
      if (!published) continue;
      learn(portVariable(port.name), String(published.hostPort));
      if (port.exposure === 'all') learn(bindVariable(port.name), published.address ?? '0.0.0.0');
    }
  }
  return { values, secrets };
}

function matchTemplate(text: string, actual: string | undefined): Record<string, string> | undefined {
  if (actual === undefined) return undefined;
  const names: string[] = [];
  const pattern = readInterpolation(text)
    .parts.map((part) => {
      if (typeof part === 'string') return part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
      names.push(part.name);
      return '([\\s\\S]*?)';
    })
    .join('');
  const match = new RegExp(`^${pattern}$`).exec(actual);
  if (!match || variablesIn(text).length !== names.length) return undefined;
  const found = Object.fromEntries(names.map((name, index) => [name, match[index + 1] ?? '']));
  return names.every((name, index) => found[name] === (match[index + 1] ?? '')) ? found : undefined;
}
