import type { CatalogEntry } from '../catalog/catalog.ts';
import { Fault } from '../faults/fault.ts';
import { nameRemedy } from '../text/nearest-name.ts';
import type { ComponentSource } from './component-source.ts';
import { derivedValue, follows } from './derived-values.ts';
import {
  canBeBehindPortal,
  canHaveSite,
  checkPortalAnswer,
  checkSite,
  checkVariable,
  type FormContext,
  importedSecret,
  isAsked,
  portalField,
  secretSource,
  shownValues,
  siteField,
} from './form.ts';
import type { Answers, SecretAnswer } from './model.ts';
import { type ComponentVariable, variablesOf } from './variables.ts';

/** What was filled in, as answers. A value that nobody touched and that follows ports or site follows them again (R31, R89). */
export function answersOf(entry: CatalogEntry, context: FormContext, filled: Readonly<Record<string, string>>): Answers {
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
    if (follows(variable) !== undefined && value === shown[name] && !isChosen(entry, variable, context)) {
      value = derivedValue(entry, variable, said, site) ?? value;
    }
    // Empty is what compose takes for unset.
    if (value !== '' && value !== variable.default) values[name] = value;
  }
  return { values, secrets, site, ...(canBeBehindPortal(entry, context) && { protect: said[portalField] === 'yes' }) };
}

/** As it stands there, with nothing asked: for an update, a rollback, a rotated secret. */
export function answersOfDeployment(entry: CatalogEntry, context: FormContext): Answers {
  return answersOf(entry, context, {});
}

/** Did somebody write this value on purpose? What is deployed and only repeats what followed from ports and site then was not chosen. */
function isChosen(entry: CatalogEntry, variable: ComponentVariable, { deployment, values = {} }: FormContext): boolean {
  if (values[variable.name] !== undefined) return true;
  const present = deployment?.env[variable.name];
  if (present === undefined || present === '') return false;
  return present !== derivedValue(entry, variable, deployment?.env ?? {}, deployment?.record?.site ?? '');
}

function secretAnswer(variable: ComponentVariable, context: FormContext, typed: string): SecretAnswer | undefined {
  if (typed !== '') return { from: 'given', value: typed };
  switch (secretSource(variable, context)) {
    case 'keep':
      return { from: 'keep', version: context.secretsKnown[variable.name] ?? '' };
    case 'imported':
      return { from: 'given', value: importedSecret(variable, context) ?? '' };
    case 'generate':
      return { from: 'generate' };
    case 'none':
      return { from: 'none' };
    default:
      return undefined;
  }
}

/**
 * `--set NAME=VALUE`: by variable. NAME is a variable, the name of a field, `site` or `protect`. Throws `usage.set` for what is no such thing or does not fit,
 * `usage.secretOnCommandLine` for a secret, `refused.exposure` and `refused.port` for what stays as it is (R7, R8, R88).
 */
export function parseSet(words: readonly string[], entry: CatalogEntry, source: ComponentSource): Record<string, string> {
  const variables = variablesOf(entry, source);
  const values: Record<string, string> = {};
  for (const word of words) {
    const equals = word.indexOf('=');
    if (equals <= 0) throw usage('--set needs NAME=VALUE.', `${example(variables)} sets one value; say --set again for another.`);
    const written = word.slice(0, equals).trim();
    const value = word.slice(equals + 1);
    if (written.toLowerCase() === siteField && canHaveSite(entry)) {
      const problem = checkSite(value, new Map());
      if (problem !== undefined)
        throw usage(`--set ${siteField}: ${problem}`, 'Give a name such as vault.lan, or nothing for none.', siteField);
      values[siteField] = value.toLowerCase();
      continue;
    }
    if (written.toLowerCase() === portalField && canHaveSite(entry)) {
      const problem = checkPortalAnswer(value);
      if (problem !== undefined)
        throw usage(`--set ${portalField}: ${problem}`, `--set ${portalField}=yes puts it behind the portal.`, portalField);
      values[portalField] = value;
      continue;
    }
    const variable = named(written, variables, entry);
    refuse(variable, entry, value);
    const problem = checkVariable(variable, value);
    if (problem !== undefined) {
      const rule = variable.field?.rule;
      throw usage(
        `--set ${variable.name}: ${problem}`,
        rule && !problem.includes(rule) ? `Its rule: ${rule}.` : 'Give another value.',
        variable.name,
      );
    }
    values[variable.name] = value;
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
  if (elsewhere?.goes === 'config') {
    throw usage(`${written} is a line of its configuration file.`, `Edit it with "quarterdeck edit ${entry.id}".`, written);
  }
  const names = [
    ...variables.filter((one) => one.kind !== 'secret' && isAsked(one)).map(({ name }) => name),
    ...(canHaveSite(entry) ? [siteField, portalField] : []),
  ];
  throw usage(`${entry.id} has nothing called "${written.slice(0, 60)}".`, nameRemedy(written, names, 'Nothing can be set.'));
}

function refuse(variable: ComponentVariable, entry: CatalogEntry, value: string): void {
  const { kind, name, port } = variable;
  if (kind === 'secret') {
    throw new Fault({
      code: 'usage.secretOnCommandLine',
      message: `${name} is a secret: other users of this machine can read a command line.`,
      remedy: `Leave it out to be asked, or keep it first: quarterdeck secrets set ${entry.id} ${name}.`,
      where: { field: name },
    });
  }
  if (kind === 'bind' && port?.exposure !== 'all' && checkVariable(variable, value) !== undefined) {
    throw new Fault({
      code: 'refused.exposure',
      message: `${name} stays on loopback: this port is not for the network (R7, R8).`,
      remedy: 'Give it a name at the reverse proxy: --set site=NAME.',
      where: { field: name },
    });
  }
  if (kind === 'port' && port?.fixed && value !== String(port.host)) {
    throw new Fault({
      code: 'refused.port',
      message: `${name} stays ${port.host}: clients of this protocol look for it there (R88).`,
      remedy: 'Bind it to an address of its own where another program has the port.',
      where: { field: name },
    });
  }
}

function example(variables: readonly ComponentVariable[]): string {
  const one = variables.find((variable) => variable.kind !== 'secret' && isAsked(variable) && variable.default !== '');
  return one ? `--set ${one.name}=${one.default}` : '--set NAME=VALUE';
}

function usage(message: string, remedy: string, field?: string): Fault {
  return new Fault({ code: 'usage.set', message, remedy, ...(field !== undefined && { where: { field } }) });
}
