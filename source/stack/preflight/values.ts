import type { CatalogEntry } from '../../catalog/catalog.ts';
import { followedByContainer } from '../../catalog/exchange-references.ts';
import { namesLoopback, replaceLoopback } from '../../text/loopback.ts';
import { agoText, durationMs } from '../../text/quantities.ts';
import { blocking, deployFirst, type Finding, setTo, warning } from '../finding.ts';
import type { Values } from '../model.ts';
import { missingProviders, providedAddress, valueInForce, variableOf } from '../plan/networks.ts';
import { isPrivateName } from '../plan/proxy-site.ts';
import { gateways } from '../plan/render.ts';
import type { PreflightContext } from './context.ts';
import { isPublic } from './exposure.ts';

export function* checkRequired({ plan, entry, secretsKnown, values }: PreflightContext): Iterable<Finding> {
  for (const { variable, label, what, version } of plan.secrets) {
    const required = entry.fields.some((field) => field.required && field.secret && variableOf(entry, field.name) === variable);
    if (what === 'missing' || (what === 'none' && required)) {
      const message = `The secret ${label} is required and has no value.`;
      const advice = `Enter the secret in the form, or store it first: quarterdeck secrets set ${entry.id} ${variable}`;
      yield blocking(`secret-missing:${variable}`, message, advice);
    } else if (what === 'keep' && version !== undefined && secretsKnown[variable] === undefined)
      yield blocking(
        `secret-gone:${variable}`,
        `The secret ${label} is in use, but is no longer in the secret store.`,
        `Import the secret from a backup, or enter it: quarterdeck secrets set ${entry.id} ${variable}`,
      );
  }
  for (const { name, required, secret, target, rule } of entry.fields) {
    const variable = variableOf(entry, name);
    if (!required || secret || target !== 'environment' || variable === undefined || valueInForce(entry, name, values) !== '') continue;
    const advice = rule ? `Set the field: ${rule}.` : 'Set the field.';
    yield blocking(`field-missing:${variable}`, `The field "${name}" is required and has no value.`, advice);
  }
}

function variableFields({ entry, values }: Pick<PreflightContext, 'entry' | 'values'>) {
  return entry.fields.flatMap((field) => {
    const variable = variableOf(entry, field.name);
    return variable === undefined ? [] : [{ field, variable, value: valueInForce(entry, field.name, values) }];
  });
}

// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: what is said depends on the secret, the provider and the engine
export function* checkLocalhost(context: PreflightContext): Iterable<Finding> {
  const { entry, answers, facts, services, catalog } = context;
  if (services.length > 0 && services.every(({ networkMode }) => networkMode === 'host')) return;
  for (const { field, variable, value: inEffect } of variableFields(context)) {
    const secret = answers.secrets[variable];
    const value = secret?.from === 'given' ? secret.value : field.secret ? '' : inEffect;
    if (!followedByContainer(field) || !namesLoopback(value)) continue;
    const use = entry.uses?.find((candidate) => candidate.field === field.name);
    const provided = use && providedAddress(catalog.get(use.component), use.what);
    const gateway = gateways[facts.kind];
    const better = provided ?? replaceLoopback(value, gateway);
    yield blocking(
      `localhost:${variable}`,
      `"${field.name}" is set to ${field.secret ? 'localhost' : value}, which inside the container is the container itself.`,
      field.secret
        ? `Use the name of a service, or ${gateway} for a program on the host.`
        : `Use ${better}${provided === undefined ? ' (only for programs on the host; a port published on 127.0.0.1 is not reachable at this address)' : ''}.`,
      { rule: 'R14', remedy: field.secret ? undefined : setTo(variable, better) },
    );
  }
}

export function* checkWebhook(context: PreflightContext): Iterable<Finding> {
  const { site } = context.plan;
  for (const { field, variable, value } of variableFields(context)) {
    if (field.type !== 'url' || (field.audience !== 'internet' && variable !== 'WEBHOOK_URL')) continue;
    const url = URL.parse(value);
    const host = url?.hostname.replace(/^\[|\]$/g, '') ?? '';
    if (url?.protocol === 'https:' && host !== '' && !isPrivateName(host)) continue;
    const message = `${variable} is ${value === '' ? 'not set' : value}, so webhooks from the internet will not arrive.`;
    const advice = 'Use an https address with a public name of the reverse proxy or of a tunnel.';
    const remedy = setTo(variable, site === '' || isPrivateName(site) ? undefined : `https://${site}/`);
    yield warning(`webhook:${variable}`, message, advice, { rule: 'R53', remedy });
  }
}

export function* checkSetupOnly(context: PreflightContext): Iterable<Finding> {
  for (const { field, variable, value } of variableFields(context)) {
    if (!field.setupOnly?.includes(value)) continue;
    const better = field.enum?.find((candidate) => !field.setupOnly?.includes(candidate));
    const exposed = isPublic(context);
    const finding = exposed ? blocking : warning;
    const reach = exposed ? ', and the component can be reached from other machines' : '';
    const message = `"${field.name}" is ${value}, which is for setup only${reach}.`;
    const advice = better === undefined ? 'Choose another value.' : `Use ${better}.`;
    yield finding(`setup-only:${variable}`, message, advice, { rule: 'R23', remedy: setTo(variable, better) });
  }
}

/** The largest packet for a tunnel over a path MTU of 1500 bytes (R77). */
const tunnelMtu = 1420;

export function* checkMtu({ entry, values }: PreflightContext): Iterable<Finding> {
  const isSet = (value: string) => !/^(?:|0|no|off|false)$/i.test(value);
  if (entry.fields.some(({ name }) => /(?:^|[^a-z])mss/i.test(name) && isSet(valueInForce(entry, name, values)))) return;
  for (const { name } of entry.fields) {
    const value = Number(valueInForce(entry, name, values));
    if (!/(?:^|[^a-z])mtu$/i.test(name) || !(value > tunnelMtu)) continue;
    const message = `"${name}" is ${value}. With the tunnel header, large packets can exceed the usual 1500 bytes, and are then dropped.`;
    const advice = `Use ${tunnelMtu}, or less if the path has a smaller MTU, or clamp the MSS.`;
    yield warning(`mtu:${name}`, message, advice, { rule: 'R77', remedy: setTo(variableOf(entry, name), String(tunnelMtu)) });
  }
}

/** Such a token is only used by the first start. */
export function* checkTokenAge(context: PreflightContext): Iterable<Finding> {
  const { plan, answers, secretsMadeMs = {}, nowMs, deployment } = context;
  if (plan.kind !== 'deploy' || deployment?.record !== undefined) return;
  for (const { field, variable } of variableFields(context)) {
    if (field.validFor === undefined || answers.secrets[variable]?.from !== 'keep') continue;
    const madeMs = secretsMadeMs[variable];
    if (madeMs !== undefined && nowMs - madeMs <= durationMs(field.validFor)) continue;
    const age = madeMs === undefined ? 'its age is unknown' : `was stored ${agoText(nowMs - madeMs)}`;
    const message = `"${field.name}" is valid for ${field.validFor} only, and ${age}.`;
    yield blocking(`token-age:${variable}`, message, 'Get a new token just before you deploy.', { rule: 'R76' });
  }
}

export function* checkProviders({ entry, values, deployments }: PreflightContext): Iterable<Finding> {
  const deployed = deployments.map(({ component }) => component);
  for (const { component, address } of missingProviders(entry, values, deployed))
    yield warning(
      `provider-missing:${component}`,
      `${entry.id} connects to ${address}, but ${component} is not deployed on this host.`,
      `Deploy ${component} as well, or use another address.`,
      { remedy: deployFirst(component) },
    );
}

export function modelsOf(entry: CatalogEntry, values: Values): string[] {
  const named = entry.fields.filter(({ name }) => /model/i.test(name));
  return named.map(({ name }) => valueInForce(entry, name, values)).filter((value) => value !== '');
}
