import { Fault, messageOf } from '../../../faults/fault.ts';
import type { DigestCost } from '../../../secrets/password-digest.ts';
import { cleanLine } from '../../../text/clean.ts';
import { type JsonObject, mapOf, objectOf, oneOrMore, textOf } from '../../../text/json-value.ts';
import { parseYamlDocuments } from '../../../yaml/text.ts';

export type PortalConfig = ReturnType<typeof readPortalConfig>;

const usualFile = '/config/users_database.yml';
/** Defaults of the product (reference/authelia.md). */
export const usualDigestCost: DigestCost = { memoryKiB: 65_536, passes: 3, parallelism: 4, keyBytes: 32, saltBytes: 16 };
const usualAuthz = { 'forward-auth': 'ForwardAuth', 'ext-authz': 'ExtAuthz', 'auth-request': 'AuthRequest', legacy: 'Legacy' };

/** Reads a rendered configuration: the output of `authelia config template`, or a file without templates. Throws `config.portal`. */
export function readPortalConfig(text: string) {
  const root = rootOf(text);
  const backend = mapOf(root['authentication_backend']);
  const file = mapOf(backend['file']);
  const ldap = mapOf(backend['ldap']);
  const search = mapOf(file['search']);
  const control = mapOf(root['access_control']);
  const log = mapOf(root['log']);
  const isInDirectory = backend['ldap'] !== undefined && backend['ldap'] !== null;
  return {
    /** Path in the container; undefined if users are in a directory. */
    usersFile: isInDirectory ? undefined : textOf(file['path']) || usualFile,
    /** The portal reads a changed users file at once. */
    watches: file['watch'] === true,
    /** The portal logs to the container's log and reports reloads there. */
    tellsReloads: !textOf(log['file_path']) && !/^(?:warn|warning|error)$/.test(textOf(log['level'])),
    directory: isInDirectory ? textOf(ldap['address']) || textOf(ldap['url']) : undefined,
    userRules: { caseInsensitive: search['case_insensitive'] === true, byEmail: search['email'] === true },
    digestCost: digestCostOf(mapOf(mapOf(file['password'])['argon2'])),
    defaultPolicy: textOf(control['default_policy']) || 'deny',
    rules: oneOrMore(control['rules']).map(ruleOf),
    domains: domainsOf(root),
    /** Endpoints for proxies, from name to implementation. */
    authz: authzOf(mapOf(mapOf(mapOf(root['server'])['endpoints'])['authz'])),
  };
}

/** Merges the documents of the rendered configuration: the product prints one for each of its files, and one with only a comment. */
function rootOf(text: string): JsonObject {
  const documents = parseYamlDocuments(text, { prettyErrors: false, logLevel: 'error' });
  const all = Array.isArray(documents) ? documents : [];
  const error = all.flatMap(({ errors }) => errors)[0];
  if (error) {
    const message = `The configuration of the portal cannot be read: ${cleanLine(messageOf(error)).replace(/[.:]?$/, '')}.`;
    throw new Fault('config.portal', message, 'Validate the configuration: quarterdeck exec COMPONENT -- authelia config validate');
  }
  return all.map((document) => mapOf(document.toJS())).reduce(merged, {});
}

function merged(one: JsonObject, other: JsonObject): JsonObject {
  const added = Object.entries(other).map(([name, value]): [string, unknown] => {
    const [before, after] = [objectOf(one[name]), objectOf(value)];
    return [name, before && after ? merged(before, after) : value];
  });
  return { ...one, ...Object.fromEntries(added) };
}

function digestCostOf(argon2: JsonObject): DigestCost {
  const { memory, iterations, parallelism, key_length: keyBytes, salt_length: saltBytes } = argon2;
  const set = Object.entries({ memoryKiB: memory, passes: iterations, parallelism, keyBytes, saltBytes });
  return { ...usualDigestCost, ...Object.fromEntries(set.filter(([, value]) => typeof value === 'number' && value > 0)) };
}

/** An access control rule. Its criteria are all except domain and policy, such as `methods: GET, HEAD`. */
function ruleOf(written: unknown) {
  const rule = mapOf(written);
  const domains = [...wordsOf(rule['domain']), ...wordsOf(rule['domain_regex']).map((pattern) => `/${pattern}/`)];
  const criteria = ['subject', 'networks', 'methods', 'resources', 'query'].flatMap((name) => {
    const value = rule[name];
    if (value === undefined || value === null) return [];
    return [`${name}: ${typeof value === 'string' ? value : oneOrMore(value).map(criterionText).join(', ')}`];
  });
  return { domains, policy: textOf(rule['policy']), criteria };
}

/** A nested list means that all its criteria must match. */
function criterionText(value: unknown): string {
  if (Array.isArray(value)) return value.map(criterionText).join(' and ');
  if (typeof value !== 'object' || value === null) return String(value);
  const { key, operator, value: wanted } = value as JsonObject;
  return [textOf(key), textOf(operator), textOf(wanted)].filter(Boolean).join(' ');
}

function domainsOf(root: JsonObject): { domain: string; portal: string }[] {
  const session = mapOf(root['session']);
  const cookies = oneOrMore(session['cookies']).map(mapOf);
  if (cookies.length > 0) return cookies.map((cookie) => ({ domain: textOf(cookie['domain']), portal: textOf(cookie['authelia_url']) }));
  // The form of the setting before 4.38.
  const domain = textOf(session['domain']);
  return domain === '' ? [] : [{ domain, portal: textOf(root['default_redirection_url']) }];
}

function authzOf(declared: JsonObject): Readonly<Record<string, string>> {
  const endpoints = Object.entries(declared).map(([name, value]): [string, string] => [name, textOf(mapOf(value)['implementation'])]);
  return endpoints.length === 0 ? usualAuthz : Object.fromEntries(endpoints);
}

const wordsOf = (value: unknown) => oneOrMore(value).map(textOf).filter(Boolean);
