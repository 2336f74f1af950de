import { Fault, messageOf } from '../faults/fault.ts';
import { cleanLine } from '../text/clean.ts';
import { type JsonObject, listOf, objectOf, textOf } from '../text/json-value.ts';
import { parseYamlDocuments } from '../text/yaml-text.ts';
import type { DigestCost } from './password-digest.ts';
import type { UserRules } from './sso-users.ts';

/** What the configuration of the portal says of its users. */
export interface PortalConfig {
  /** Path in its container; undefined where people are in a directory. */
  usersFile: string | undefined;
  /** It reads a changed users file at once. */
  watches: boolean;
  /** Its log goes to the container's log, and tells what it read. */
  tellsReloads: boolean;
  /** Address of the directory where people are. */
  directory: string | undefined;
  userRules: UserRules;
  /** Of new password hashes. */
  digestCost: DigestCost;
  defaultPolicy: string;
  rules: readonly PortalRule[];
  /** Addresses of the portal by cookie domain. */
  domains: readonly { domain: string; portal: string }[];
  /** Endpoints that proxies ask, name to implementation; those of the product where the configuration names none. */
  authz: Readonly<Record<string, string>>;
}

/** A rule of access control, as it was written. */
export interface PortalRule {
  domains: readonly string[];
  policy: string;
  /** All criteria but domain and policy, `methods: GET, HEAD`. */
  criteria: readonly string[];
}

const usualFile = '/config/users_database.yml';
/** reference/authelia.md: what the product takes where nothing is said. */
export const usualDigestCost: DigestCost = { memoryKiB: 65_536, passes: 3, parallelism: 4, keyBytes: 32, saltBytes: 16 };
/** What the product defines where the configuration names no endpoint. */
const usualAuthz = { 'forward-auth': 'ForwardAuth', 'ext-authz': 'ExtAuthz', 'auth-request': 'AuthRequest', legacy: 'Legacy' };

/** Reads a rendered configuration: `authelia config template`, or a file without templates. Throws `config.portal`. */
export function readPortalConfig(text: string): PortalConfig {
  const root = rootOf(text);
  const backend = mapOf(root['authentication_backend']);
  const file = mapOf(backend['file']);
  const ldap = mapOf(backend['ldap']);
  const search = mapOf(file['search']);
  const control = mapOf(root['access_control']);
  const log = mapOf(root['log']);
  const isInDirectory = backend['ldap'] !== undefined && backend['ldap'] !== null;
  return {
    usersFile: isInDirectory ? undefined : textOf(file['path']) || usualFile,
    watches: file['watch'] === true,
    tellsReloads: !textOf(log['file_path']) && !/^(?:warn|warning|error)$/.test(textOf(log['level'])),
    directory: isInDirectory ? textOf(ldap['address']) || textOf(ldap['url']) : undefined,
    userRules: { caseInsensitive: search['case_insensitive'] === true, byEmail: search['email'] === true },
    digestCost: digestCostOf(mapOf(mapOf(file['password'])['argon2'])),
    defaultPolicy: textOf(control['default_policy']) || 'deny',
    rules: oneOrMore(control['rules']).map(ruleOf),
    domains: domainsOf(root),
    authz: authzOf(mapOf(mapOf(mapOf(root['server'])['endpoints'])['authz'])),
  };
}

/** The product prints a document for each of its files, and one that holds a comment alone; what several files say it takes together. */
function rootOf(text: string): JsonObject {
  const documents = parseYamlDocuments(text, { prettyErrors: false, logLevel: 'error' });
  const all = Array.isArray(documents) ? documents : [];
  const error = all.flatMap(({ errors }) => errors)[0];
  if (error) {
    throw new Fault({
      code: 'config.portal',
      message: `The configuration of the portal cannot be read: ${cleanLine(messageOf(error)).replace(/[.:]?$/, '')}.`,
      remedy: 'Check it: quarterdeck exec COMPONENT -- authelia config validate',
    });
  }
  return all.map((document) => mapOf(document.toJS())).reduce(merged, {});
}

function merged(one: JsonObject, other: JsonObject): JsonObject {
  const both: Record<string, unknown> = { ...one };
  for (const [name, value] of Object.entries(other)) {
    const before = both[name];
    const [inside, added] = [objectOf(before), objectOf(value)];
    both[name] = inside && added ? merged(inside, added) : value;
  }
  return both;
}

function digestCostOf(argon2: JsonObject): DigestCost {
  const number = (name: string, usual: number) => {
    const value = argon2[name];
    return typeof value === 'number' && value > 0 ? value : usual;
  };
  return {
    memoryKiB: number('memory', usualDigestCost.memoryKiB),
    passes: number('iterations', usualDigestCost.passes),
    parallelism: number('parallelism', usualDigestCost.parallelism),
    keyBytes: number('key_length', usualDigestCost.keyBytes),
    saltBytes: number('salt_length', usualDigestCost.saltBytes),
  };
}

function ruleOf(written: unknown): PortalRule {
  const rule = mapOf(written);
  const domains = [...wordsOf(rule['domain']), ...wordsOf(rule['domain_regex']).map((pattern) => `/${pattern}/`)];
  const criteria = ['subject', 'networks', 'methods', 'resources', 'query'].flatMap((name) => {
    const value = rule[name];
    if (value === undefined || value === null) return [];
    return [`${name}: ${typeof value === 'string' ? value : oneOrMore(value).map(criterionText).join(', ')}`];
  });
  return { domains, policy: textOf(rule['policy']), criteria };
}

/** A list in a list means that all of it has to hold. */
function criterionText(value: unknown): string {
  if (Array.isArray(value)) return value.map(criterionText).join(' and ');
  if (typeof value !== 'object' || value === null) return String(value);
  const { key, operator, value: wanted } = value as JsonObject;
  return [textOf(key), textOf(operator), textOf(wanted)].filter(Boolean).join(' ');
}

function domainsOf(root: JsonObject): PortalConfig['domains'] {
  const session = mapOf(root['session']);
  const cookies = oneOrMore(session['cookies']).map(mapOf);
  if (cookies.length > 0) return cookies.map((cookie) => ({ domain: textOf(cookie['domain']), portal: textOf(cookie['authelia_url']) }));
  // Before 4.38.
  const domain = textOf(session['domain']);
  return domain === '' ? [] : [{ domain, portal: textOf(root['default_redirection_url']) }];
}

function authzOf(declared: JsonObject): Readonly<Record<string, string>> {
  const endpoints = Object.entries(declared);
  if (endpoints.length === 0) return usualAuthz;
  return Object.fromEntries(endpoints.map(([name, value]) => [name, textOf(mapOf(value)['implementation'])]));
}

function mapOf(value: unknown): JsonObject {
  return objectOf(value) ?? {};
}

/** The product takes one where a list may stand. */
function oneOrMore(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? listOf(value) : value === undefined || value === null ? [] : [value];
}

function wordsOf(value: unknown): readonly string[] {
  return oneOrMore(value).map(textOf).filter(Boolean);
}
