import type { CatalogEntry } from '../catalog/catalog.ts';
import { followedByContainer } from '../catalog/exchange-references.ts';
import { namesLoopback } from '../catalog/names-loopback.ts';
import type { ComponentField } from '../catalog/schema.ts';
import { agoText } from '../text/quantities.ts';
import type { Finding } from './finding.ts';
import { missingProviders, providedAddress, valueInForce, variableOf } from './networks.ts';
import { blocking, type PreflightCheck, type PreflightContext, warning } from './preflight-context.ts';
import { isPublic } from './preflight-exposure.ts';
import { isPrivateName } from './proxy-site.ts';

/** What is wrong with the answers, as far as they can be judged without asking anybody. */
export const valueChecks: readonly PreflightCheck[] = [
  { id: 'required', what: 'Required fields and secrets', run: checkRequired },
  { id: 'localhost', what: 'Addresses that containers follow', run: checkLocalhost },
  { id: 'webhook', what: 'Address of webhooks', run: checkWebhook },
  { id: 'setup-only', what: 'Settings for setting up', run: checkSetupOnly },
  { id: 'mtu', what: 'Packet size of the tunnel', run: checkMtu },
  { id: 'token-age', what: 'Age of tokens', run: checkTokenAge },
  { id: 'providers', what: 'Components that it uses', run: checkProviders },
];

function checkRequired({ plan, entry, secretsKnown, values }: PreflightContext): Finding[] {
  const secrets = plan.secrets.flatMap(({ variable, label, what, version }): Finding[] => {
    const required = entry.fields.some((field) => field.required && field.secret && variableOf(entry, field.name) === variable);
    if (what === 'missing' || (what === 'none' && required))
      return [
        blocking(
          `secret-missing:${variable}`,
          `The secret ${label} is required and has no value.`,
          'Type it, or let it be generated where the form offers that.',
        ),
      ];
    if (what === 'keep' && version !== undefined && secretsKnown[variable] === undefined)
      return [
        blocking(
          `secret-gone:${variable}`,
          `The secret ${label} is to stay as it is, and is not in the secret store any more.`,
          `Import it from a backup, or type it: quarterdeck secrets set ${entry.id} ${variable}`,
        ),
      ];
    return [];
  });
  const fields = entry.fields.flatMap(({ name, required, secret, goes, rule }): Finding[] => {
    const variable = variableOf(entry, name);
    if (!required || secret || goes !== 'environment' || variable === undefined || valueInForce(entry, name, values) !== '') return [];
    return [
      blocking(
        `field-missing:${variable}`,
        `The field "${name}" is required and has no value.`,
        rule ? `Give it one: ${rule}.` : 'Give it one.',
      ),
    ];
  });
  return [...secrets, ...fields];
}

/** Names under which containers find programs on the host (R13). */
const gateways = { docker: 'host-gateway', podman: 'host.containers.internal' } as const;

function checkLocalhost({ entry, values, answers, facts, project, catalog }: PreflightContext): Finding[] {
  if (project.services.length > 0 && project.services.every(({ networkMode }) => networkMode === 'host')) return [];
  return entry.fields.flatMap((field): Finding[] => {
    const variable = variableOf(entry, field.name);
    if (variable === undefined || !followedByContainer(field)) return [];
    const secret = answers.secrets[variable];
    const value = secret?.from === 'given' ? secret.value : field.secret ? '' : valueInForce(entry, field.name, values);
    if (!namesLoopback(value)) return [];
    const use = entry.uses?.find((candidate) => candidate.field === field.name);
    const provided = use && providedAddress(catalog.get(use.component), use.what);
    const gateway = gateways[facts.kind];
    const better = provided ?? value.replace(/localhost|127(?:\.\d{1,3}){3}|\[?::1\]?|0:0:0:0:0:0:0:1/i, gateway);
    return [
      blocking(
        `localhost:${variable}`,
        `"${field.name}" names ${field.secret ? 'localhost' : value}, which inside the container is the container itself.`,
        field.secret
          ? `Use the name of a service, or ${gateway} for a program on the host.`
          : `Use ${better}${provided === undefined ? ', which is for programs on the host itself: a port published on 127.0.0.1 is not reached that way' : ''}.`,
        { rule: 'R14', ...(!field.secret && { remedy: { kind: 'set', label: `Set it to ${better}`, values: { [variable]: better } } }) },
      ),
    ];
  });
}

function checkWebhook({ entry, values, plan }: PreflightContext): Finding[] {
  return entry.fields.flatMap((field): Finding[] => {
    const variable = variableOf(entry, field.name);
    if (variable === undefined || field.type !== 'url' || (field.reach !== 'internet' && variable !== 'WEBHOOK_URL')) return [];
    const value = valueInForce(entry, field.name, values);
    const url = URL.canParse(value) ? new URL(value) : undefined;
    const host = url?.hostname.replace(/^\[|\]$/g, '') ?? '';
    if (url?.protocol === 'https:' && host !== '' && !isPrivateName(host)) return [];
    const site = plan.site !== '' && !isPrivateName(plan.site) ? `https://${plan.site}/` : undefined;
    return [
      warning(
        `webhook:${variable}`,
        `${variable} is ${value === '' ? 'not set' : value}: webhooks from the internet will not trigger.`,
        'It must be https, at a public name of the reverse proxy or of a tunnel.',
        { rule: 'R53', ...(site !== undefined && { remedy: { kind: 'set', label: `Set it to ${site}`, values: { [variable]: site } } }) },
      ),
    ];
  });
}

function checkSetupOnly(context: PreflightContext): Finding[] {
  const { entry, values } = context;
  return entry.fields.flatMap((field): Finding[] => {
    const variable = variableOf(entry, field.name);
    const value = valueInForce(entry, field.name, values);
    if (variable === undefined || !field.setupOnly?.includes(value)) return [];
    const better = field.enum?.find((candidate) => !field.setupOnly?.includes(candidate));
    const more: Partial<Finding> = {
      rule: 'R23',
      ...(better !== undefined && { remedy: { kind: 'set', label: `Set it to ${better}`, values: { [variable]: better } } }),
    };
    const advice = better === undefined ? 'Choose another value.' : `Use ${better}.`;
    return isPublic(context)
      ? [
          blocking(
            `setup-only:${variable}`,
            `"${field.name}" is ${value}, which is for setting up only, and the component can be reached publicly.`,
            advice,
            more,
          ),
        ]
      : [warning(`setup-only:${variable}`, `"${field.name}" is ${value}, which is for setting up only.`, advice, more)];
  });
}

/** What fits through a tunnel on a path of 1500 bytes (R77). */
const tunnelMtu = 1420;

function checkMtu({ entry, values }: PreflightContext): Finding[] {
  const isSet = (value: string) => !/^(?:|0|no|off|false)$/i.test(value);
  if (entry.fields.some(({ name }) => /(?:^|[^a-z])mss/i.test(name) && isSet(valueInForce(entry, name, values)))) return [];
  return entry.fields.flatMap(({ name }): Finding[] => {
    const variable = variableOf(entry, name);
    const value = Number(valueInForce(entry, name, values));
    if (!/(?:^|[^a-z])mtu$/i.test(name) || !(value > tunnelMtu)) return [];
    return [
      warning(
        `mtu:${name}`,
        `"${name}" is ${value}: with the tunnel's own header large packets do not fit the usual 1500 bytes and are dropped.`,
        `Use ${tunnelMtu}, less where the path is narrower, or clamp the MSS.`,
        {
          rule: 'R77',
          ...(variable !== undefined && {
            remedy: { kind: 'set', label: `Set it to ${tunnelMtu}`, values: { [variable]: String(tunnelMtu) } },
          }),
        },
      ),
    ];
  });
}

const unitMs: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 };

/** Only a first start uses such a token: afterwards nobody looks at it. */
function checkTokenAge({ entry, plan, answers, secretsMadeMs = {}, nowMs, deployment }: PreflightContext): Finding[] {
  if (plan.kind !== 'deploy' || deployment?.record !== undefined) return [];
  return entry.fields.flatMap((field): Finding[] => {
    const variable = variableOf(entry, field.name);
    if (field.validFor === undefined || variable === undefined || answers.secrets[variable]?.from !== 'keep') return [];
    const madeMs = secretsMadeMs[variable];
    const validMs = validMsOf(field);
    if (madeMs !== undefined && nowMs - madeMs <= validMs) return [];
    const age = madeMs === undefined ? 'nobody knows how old it is' : `it was given ${agoText(nowMs - madeMs)}`;
    return [
      blocking(
        `token-age:${variable}`,
        `"${field.name}" is worth something for ${field.validFor} only, and ${age}.`,
        'Get a new one and type it just before it is deployed.',
        {
          rule: 'R76',
        },
      ),
    ];
  });
}

function validMsOf({ validFor = '' }: Pick<ComponentField, 'validFor'>): number {
  return Number.parseInt(validFor, 10) * (unitMs[validFor.slice(-1)] ?? 0);
}

function checkProviders({ entry, values, deployments }: PreflightContext): Finding[] {
  const deployed = deployments.map(({ component }) => component);
  return missingProviders(entry, values, deployed).map(({ component, address }) =>
    warning(
      `provider-missing:${component}`,
      `${entry.id} looks for ${address}, and ${component} is not deployed on this host.`,
      `Deploy ${component}: they find each other, whichever comes first. Or name another address.`,
      { remedy: { kind: 'deploy', label: `Deploy ${component} first`, component } },
    ),
  );
}

/** What a language model of so many billion parameters needs about, in bytes (R78). */
export function modelMemoryBytes(billions: number): number {
  const [, gibibytes] = [
    [7, 8],
    [13, 16],
    [70, 40],
  ].find(([most = 0]) => billions <= most) ?? [0, (billions / 70) * 40];
  return (gibibytes ?? 0) * 1024 ** 3;
}

/** Billions of parameters that a model's name tells: `llama3.1:8b`, `qwen2.5-coder:32b-instruct`, `phi3:3.8b`. */
export function modelSize(name: string): number | undefined {
  const found = /(?:^|[:/_-])(\d+(?:\.\d+)?)b(?=$|[^a-z0-9])/i.exec(name);
  return found ? Number(found[1]) : undefined;
}

/** Fields that name a model. */
export function modelsOf(entry: CatalogEntry, values: Readonly<Record<string, string>>): string[] {
  return entry.fields
    .flatMap(({ name }) => (/model/i.test(name) ? [valueInForce(entry, name, values)] : []))
    .filter((value) => value !== '');
}
