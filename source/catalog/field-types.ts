import { CronPattern } from 'croner';
import ipaddr from 'ipaddr.js';
import { isAddress as isIp } from '../text/address-span.ts';
import { parsedJson } from '../text/json-value.ts';
import { shownValue } from '../text/shown-value.ts';
import { unlessThrown } from '../text/unless-thrown.ts';

/** The properties that decide whether a value is valid; `pattern`, `enum` and `length` narrow the type further. */
export interface FieldRule {
  type: FieldType;
  name?: string;
  env?: string;
  enum?: readonly string[];
  pattern?: string;
  rule?: string;
  length?: number;
  secret?: boolean;
}

/** Returns a sentence that names what is expected (R17), never a secret. Values are text from a command line or a form, or YAML values. */
export function checkValue(rule: FieldRule, value: unknown): string | undefined {
  const check: Check = checks[rule.type];
  const problem = check(value, rule) ?? checkNarrowing(rule, value);
  if (problem === undefined) return undefined;
  return rule.secret || rule.type === 'secret-string' ? `The value ${problem}.` : `${shownValue(value)} ${problem}.`;
}

/** Continuation of a sentence that begins with the value. */
type Check = (value: unknown, rule: FieldRule) => string | undefined;

function checkNarrowing(rule: FieldRule, value: unknown): string | undefined {
  const text = textOf(value);
  if (rule.enum && rule.type !== 'enum' && !rule.enum.includes(text ?? '')) return `must be one of ${rule.enum.join(', ')}`;
  if (rule.length !== undefined && text?.length !== rule.length)
    return `must have exactly ${rule.length} characters, not ${text?.length ?? 0}`;
  // Programs count bytes, and a letter with an accent has two.
  if (rule.length !== undefined && !/^[ -~]*$/.test(text ?? ''))
    return 'must contain only ASCII characters, because its length is counted in bytes';
  // A regular expression is no help for most people.
  if (rule.pattern !== undefined && !new RegExp(rule.pattern).test(text ?? ''))
    return rule.rule === undefined ? `must match ${rule.pattern}` : `does not follow the rule: ${rule.rule}`;
  return undefined;
}

const ofText =
  (check: (text: string, rule: FieldRule) => string | undefined): Check =>
  (value, rule) => {
    const text = textOf(value);
    if (text === undefined) return 'must be text';
    if (text === '') return 'is empty';
    if (/[\u0000-\u0008\u000b-\u001f\u007f]/.test(text)) return 'must not contain control characters';
    return check(text, rule);
  };

const unless = (holds: boolean, otherwise: string) => (holds ? undefined : otherwise);

const ofItems =
  (fits: (item: string) => boolean, what: string, misfit: string): Check =>
  (value, { secret }) => {
    const items = itemsOf(value);
    const wrong = items.find((item) => !fits(item));
    if (items.length === 0) return `must be a comma-separated list of ${what}`;
    return wrong === undefined ? undefined : `contains ${secret ? 'an entry that' : `${shownValue(wrong)}, which`} is ${misfit}`;
  };

const ofForm = (form: RegExp, otherwise: string) => ofText((text) => unless(form.test(text), otherwise));
const ofLine = ofForm(/^[^\n]*$/, 'must be one line');
const checkDuration = ofForm(/^(?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h|d|w|y))+$/, 'must be a duration, such as 24h or 30d');

const checks = {
  string: (value) =>
    textOf(value) === undefined
      ? 'must be text'
      : unless(!/[\u0000-\u0008\u000b-\u001f\u007f]/.test(textOf(value) ?? ''), 'must not contain control characters'),
  'secret-string': ofLine,
  'string-boolean': (value) => unless(value === 'true' || value === 'false', 'must be the string "true" or "false"'),
  boolean: (value) => unless(typeof value === 'boolean' || value === 'true' || value === 'false', 'must be true or false'),
  integer: checkInteger,
  'string-integer': checkInteger,
  enum: (value, { enum: allowed = [] }) => unless(allowed.includes(textOf(value) ?? ''), `must be one of ${allowed.join(', ')}`),
  url: ofText((text) => checkUrl(text, undefined)),
  'jdbc-url': ofText((text) =>
    /^jdbc:[a-z0-9]+:/.test(text)
      ? unless(
          /^jdbc:[a-z0-9]+:\/\/[^/\s]+\/\S+$/.test(text) || /^jdbc:(?:h2|sqlite):\S+$/.test(text),
          'must contain a host and a database, such as jdbc:postgresql://db/app',
        )
      : 'must begin with jdbc:, such as jdbc:postgresql://db/app',
  ),
  'database-url': ofText((text) => checkUrl(text, databaseSchemes)),
  path: ofForm(/^\.{0,2}\/[^\n]*$/, 'must be a path that begins with /, ./ or ../'),
  hostname: ofText((text) => unless(isHostname(text) || isIp(text), 'must be a host name or an IP address')),
  domain: ofText((text) => unless(isHostname(text), 'must be a domain name, such as example.org')),
  address: ofText((text) => unless(isAddress(text), 'must be an address, a port or both, such as 0.0.0.0:8080 or :8080')),
  'ip-address': ofText((text) => unless(isIp(text), 'must be an IPv4 or IPv6 address')),
  cidr: ofText((text) => unless(isCidr(text), 'must be a network in CIDR notation, such as 10.8.0.0/24')),
  email: ofText((text) => unless(isEmail(text), 'must be an email address')),
  timezone: ofText((text) => unless(isTimezone(text), 'must be a time zone, such as Europe/Berlin')),
  duration: checkDuration,
  cron: ofText(checkCron),
  dn: ofText((text) => unless(isDn(text), 'must be a distinguished name, such as dc=example,dc=org')),
  'ldap-filter': ofText((text) =>
    unless(filterEnd(text, 0) === text.length, 'must be an LDAP filter, such as (&(uid={input})(objectClass=person))'),
  ),
  list: (value) => unless(itemsOf(value).length > 0 && itemsOf(value).every((item) => item !== ''), 'must be a comma-separated list'),
  // As the program parses it: one value with commas in it.
  'comma-separated-list': (value) =>
    unless(typeof value === 'string' && value.split(',').every((item) => item.trim() !== ''), 'must be a comma-separated list'),
  'list of ip-address': ofItems(isIp, 'addresses', 'not an IPv4 or IPv6 address'),
  'cidr-list': ofItems(isCidr, 'networks', 'not a network in CIDR notation, such as 10.8.0.0/24'),
  map: (value) => unless(isObject(value), 'must be names with values, such as {"10.1.0.1": ["192.0.2.1:4242"]}'),
  object: (value) => unless(isObject(value), 'must be an object, such as {"key": "value"}'),
  // As in Kubernetes: a request is never negative.
  quantity: (value) =>
    unless(
      /^(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+|m|k|[MGTPE]|[KMGTPE]i)?$/.test(textOf(value) ?? ''),
      'must be a quantity, such as 500m, 2 or 512Mi',
    ),
  size: (value) => unless(/^\d+(?: ?[KMGT]i?B)?$/i.test(textOf(value) ?? ''), 'must be a size, such as 512 MB'),
  schedule: ofText((text, rule) => {
    const isDuration = (written: string) => checkDuration(written, rule) === undefined;
    if (text.startsWith('@every '))
      return unless(isDuration(text.slice('@every '.length)), 'must have a duration after @every, such as @every 1h');
    return isDuration(text) ? undefined : checkCron(text) && 'must be a cron schedule such as 0 2 * * * or a duration such as 1h';
  }),
  command: ofLine,
  line: ofLine,
  lines: (value) =>
    unless(
      Array.isArray(value) ? value.every((item) => (textOf(item) ?? '') !== '') && value.length > 0 : (textOf(value) ?? '').trim() !== '',
      'must contain at least one line',
    ),
  credentials: ofForm(/^[^:\s]+:\S+$/, 'must be a user name and a password separated by a colon'),
  // The kernel's own limit (IFNAMSIZ).
  'interface-name': ofForm(/^(?!\.{1,2}$)[^\s/:]{1,15}$/, 'must be the name of a network interface, such as eth0'),
  group: () => 'contains several settings; set each one separately',
} satisfies Record<string, Check>;

export type FieldType = keyof typeof checks;
export const fieldTypes = Object.keys(checks) as FieldType[];

const databaseSchemes = ['postgres', 'postgresql', 'mysql', 'mariadb', 'mongodb', 'mongodb+srv', 'redis', 'rediss', 'sqlite', 'sqlite3'];

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined;
}

/** The specification has no type for ports: they are integers, or strings of one, with a port name. */
function checkInteger(value: unknown, { name, env }: FieldRule): string | undefined {
  const text = textOf(value);
  if (text === undefined || !/^-?\d+$/.test(text) || !Number.isSafeInteger(Number(text))) return 'must be a whole number';
  // In YAML, 010 is 8, and JSON has no such numbers.
  if (/^-?0\d/.test(text)) return 'must be a whole number without leading zeros';
  const isOfPort = [name, env].some((called) => called !== undefined && /port$/i.test(called));
  return unless(!isOfPort || isPort(text), 'must be a port from 1 to 65535');
}

function checkUrl(text: string, schemes: readonly string[] | undefined): string | undefined {
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(text)?.[1]?.toLowerCase();
  if (schemes && !(scheme && schemes.includes(scheme))) return 'must be a database URL, such as postgres://user@db/name';
  if (scheme === undefined) return 'must be a URL with a scheme, such as https://example.org';
  if (/\s/.test(text)) return 'must not contain spaces';
  const url = URL.parse(text);
  if (url === null) return 'is not a valid URL';
  return unless(url.host !== '' || scheme === 'file' || scheme.startsWith('sqlite') || scheme === 'unix', 'must contain a host name');
}

function isHostname(text: string): boolean {
  return text.length <= 253 && /^(?!-)[a-z0-9-]{1,63}(?<!-)(?:\.(?!-)[a-z0-9-]{1,63}(?<!-))*\.?$/i.test(text) && !/^[\d.]+$/.test(text);
}

export const portProblem = (text: string) => unless(isPort(text), 'Use a port between 1 and 65535.');

export const isPort = (text: string): boolean => /^\d{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= 65_535;

function isAddress(text: string): boolean {
  const match = /^(?:\[([^\]]+)\]|([^:]*))(?::(\d{1,5}))?$/.exec(text);
  if (!match) return ipaddr.isValid(text);
  const [, six, host = '', port] = match;
  if (port !== undefined && !isPort(port)) return false;
  if (six !== undefined) return ipaddr.IPv6.isValid(six);
  return host === '' ? port !== undefined : isIp(host) || isHostname(host);
}

function isCidr(text: string): boolean {
  return (ipaddr.IPv4.isValidCIDR(text) && isIp(text.split('/')[0] ?? '')) || ipaddr.IPv6.isValidCIDR(text);
}

function isEmail(text: string): boolean {
  const at = text.lastIndexOf('@');
  return at > 0 && at <= 64 && !/[\s<>()[\],;:\\"]/.test(text.slice(0, at)) && isHostname(text.slice(at + 1));
}

let zones: readonly string[] | undefined;

function isTimezone(text: string): boolean {
  // Offsets such as +02:00 are valid for Intl, but not for TZ in a container, which looks for a file of that name and falls back to UTC.
  if (!/^[A-Za-z]/.test(text)) return false;
  const lower = text.toLowerCase();
  zones ??= [...Intl.supportedValuesOf('timeZone'), 'UTC', 'Etc/UTC', 'GMT'];
  if (zones.some((zone) => zone !== text && zone.toLowerCase() === lower)) return false;
  return unlessThrown(() => new Intl.DateTimeFormat('en', { timeZone: text }), undefined) !== undefined;
}

function checkCron(text: string): string | undefined {
  if (!/^@/.test(text) && text.trim().split(/\s+/).length !== 5)
    return 'must have five fields: minute, hour, day of month, month, day of week';
  return unlessThrown(() => new CronPattern(text), undefined) ? undefined : 'must be a valid cron schedule, such as 0 2 * * *';
}

function isDn(text: string): boolean {
  const attribute = String.raw`(?:[a-z][a-z0-9-]*|\d+(?:\.\d+)*)`;
  const value = String.raw`(?:\\[0-9a-f]{2}|\\[ "#+,;<=>\\]|[^\\,+"<>;\n])+`;
  const part = `${attribute}\\s*=\\s*${value}`;
  return new RegExp(`^${part}(?:[,+]\\s*${part})*$`, 'i').test(text);
}

/** Returns the index after the filter that begins at `at`, -1 if there is none. Products put `{placeholders}` into it. */
function filterEnd(text: string, at: number, depth = 0): number {
  if (text[at] !== '(' || depth > 50) return -1;
  let next = at + 1;
  const operator = text[next];
  if (operator === '&' || operator === '|' || operator === '!') {
    next++;
    let count = 0;
    while (text[next] === '(') {
      next = filterEnd(text, next, depth + 1);
      if (next < 0) return -1;
      count++;
    }
    return text[next] === ')' && count > 0 && (operator !== '!' || count === 1) ? next + 1 : -1;
  }
  const item = /^[a-z0-9{}_.;:-]+[~<>:]?=[^()]*/i.exec(text.slice(next));
  if (!item) return -1;
  next += item[0].length;
  return text[next] === ')' ? next + 1 : -1;
}

function itemsOf(value: unknown): string[] {
  if (Array.isArray(value)) return value.map((item) => textOf(item) ?? '');
  const text = textOf(value);
  return text === undefined || text.trim() === '' ? [] : text.split(',').map((item) => item.trim());
}

function isObject(value: unknown): boolean {
  if (typeof value !== 'string') return typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject(parsedJson(value)) && value.trim().startsWith('{');
}
