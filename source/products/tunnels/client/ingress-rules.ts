import { domainToASCII } from 'node:url';
import { RE2JS } from 're2js';
import type { ConfigProblem } from '../../../config-files/problem.ts';
import { type JsonObject, objectOf, textOf } from '../../../text/json-value.ts';
import { namesLoopback } from '../../../text/loopback.ts';
import { nearestName } from '../../../text/nearest-name.ts';
import { unlessThrown } from '../../../text/unless-thrown.ts';
import { fieldText, YamlDocument, type YamlPath } from '../../../yaml/document.ts';

export interface IngressRule {
  line: number;
  hostname: string;
  /** Regular expression in Go's syntax; an empty one matches every path. */
  path: string;
  service: string;
}

const ruleKeys = ['hostname', 'path', 'service', 'originRequest'];
/** Services without an address (cloudflared, ingress/ingress.go). */
const plainServices = /^(?:hello[_-]?world|bastion|socks-proxy)$/;

/** Finds what cloudflared would refuse, and what it accepts with an unintended meaning. Never throws. */
export function readIngress(text: string): { rules: readonly IngressRule[]; problems: readonly ConfigProblem[] } {
  const document = new YamlDocument(text);
  const problems = document.problems.map((problem): ConfigProblem => ({ level: 'error', field: '', ...problem }));
  if (problems.length > 0) return { rules: [], problems };
  const add: Add = (level, path, message, remedy, rule) =>
    problems.push({ level, ...document.position(path), field: fieldText(path), message, remedy, ...(rule !== undefined && { rule }) });
  const top = objectOf(document.value);
  if (!top) {
    add('error', [], 'The file contains no configuration.', 'Add tunnel, credentials-file and ingress.');
    return { rules: [], problems };
  }
  checkCredentials(top, add);
  const list = top['ingress'];
  if (!Array.isArray(list) || list.length === 0) {
    const message = 'The file has no ingress rules, so every request is answered with 503.';
    const remedy = 'Add ingress with a rule for each name and, as the last rule, service: http_status:404';
    add('error', 'ingress' in top ? ['ingress'] : [], message, remedy, 'no-catch-all');
    return { rules: [], problems };
  }
  const rules = list.map((value, at) => {
    const rule = objectOf(value);
    const field = (name: string) => textOf(rule?.[name]);
    const { line } = document.position(['ingress', at]);
    const read = { line, hostname: field('hostname'), path: field('path'), service: field('service') };
    if (rule) checkRule(rule, read, at, add);
    else add('error', ['ingress', at], 'The rule is not a mapping.', 'Set hostname and service, or only service in the last rule.');
    checkCatchAll(read, at, list.length, add);
    return read;
  });
  for (const [at, rule] of rules.entries()) {
    const before = rules.slice(0, at).find((other) => covers(other, rule));
    if (!before || isCatchAll(before)) continue;
    const message = `The rule is never reached, because the rule in line ${before.line} matches the same requests.`;
    add('warning', ['ingress', at], message, 'Put the more specific rule first.');
  }
  return { rules, problems: problems.sort((a, b) => a.line - b.line || a.column - b.column) };
}

type Add = (level: ConfigProblem['level'], path: YamlPath, message: string, remedy: string, rule?: string) => unknown;

function checkCredentials(top: JsonObject, add: Add): void {
  const [hasTunnel, hasFile] = [top['tunnel'] !== undefined, top['credentials-file'] !== undefined];
  const readable = 'The file contains a token, so anyone who can read the file can run the tunnel.';
  for (const name of ['token', 'TUNNEL_TOKEN'].filter((one) => top[one] !== undefined))
    if (hasTunnel || hasFile)
      add('error', [name], 'A token and a tunnel ID with its credentials are mutually exclusive.', 'Remove one of the two.', 'R21');
    else add('warning', [name], readable, 'Set TUNNEL_TOKEN in the environment instead.');
  if (hasFile && !hasTunnel)
    add('error', ['credentials-file'], 'The file has credentials but no tunnel.', 'Set tunnel to the tunnel ID.', 'R21');
  const searched = 'The file has a tunnel ID but no credentials-file, so cloudflared searches its default folders for one.';
  if (hasTunnel && !hasFile) add('warning', ['tunnel'], searched, 'Add credentials-file.', 'R21');
}

function checkRule(rule: JsonObject, { hostname, path, service }: IngressRule, at: number, add: Add): void {
  const wrongHost = (message: string, remedy: string) => add('error', ['ingress', at, 'hostname'], message, remedy);
  for (const key of Object.keys(rule)) {
    if (ruleKeys.includes(key)) continue;
    const near = nearestName(key, ruleKeys);
    const remedy = near === undefined ? `Supported keys: ${ruleKeys.join(', ')}.` : `Did you mean "${near}"?`;
    add('warning', ['ingress', at, key], `Unknown key "${key.slice(0, 40)}" in a rule; cloudflared ignores it.`, remedy);
  }
  if (/^(?:.*[^:]|\[.*\]):\d+$/.test(hostname)) wrongHost('A hostname cannot have a port.', 'Remove the port.');
  else if (hostname.lastIndexOf('*') > 0 || (hostname.startsWith('*') && hostname !== '*' && !hostname.startsWith('*.')))
    wrongHost('A wildcard can only replace the first part of a name.', 'Use *.example.com.');
  else if (/[/\s]/.test(hostname))
    wrongHost(`hostname must be a host name, not "${hostname.slice(0, 60)}".`, 'Use only the name, without https:// or a path.');
  if (!compiled(path)) {
    const message = 'The path is not a valid regular expression in Go syntax.';
    add('error', ['ingress', at, 'path'], message, 'Fix the expression. Lookahead and backreferences are not supported.');
  }
  const problem = serviceProblem(service);
  if (problem) add('error', 'service' in rule ? ['ingress', at, 'service'] : ['ingress', at], ...problem);
  else if (namesLoopback(service)) {
    const message = 'In a container, this address is the container itself, not the host or another container.';
    add('warning', ['ingress', at, 'service'], message, 'Use the name of the other container, or the gateway name for the host.', 'R14');
  }
}

function serviceProblem(service: string): [message: string, remedy: string] | undefined {
  if (service === '') return ['The rule has no service.', 'Set the target of the rule, e.g. service: http://name:8080'];
  if (plainServices.test(service)) return undefined;
  const [, status] = /^http_status:(.*)$/.exec(service) ?? [];
  if (status !== undefined)
    return /^[1-9]\d\d$/.test(status) ? undefined : [`Unknown HTTP status "${status.slice(0, 20)}".`, 'For example: http_status:404'];
  if (/^unix(?:\+tls)?:/.test(service))
    return /^unix(?:\+tls)?:\/*[^/]/.test(service) ? undefined : ['The socket path is missing.', 'For example: unix:/run/app.sock'];
  const url = URL.canParse(service) ? new URL(service) : undefined;
  if (!url || !/^[a-z][a-z0-9+.-]*:\/\//i.test(service) || url.hostname === '')
    return [`service must be an address, not "${service.slice(0, 60)}".`, 'Use a scheme and a name, e.g. http://name:8080'];
  // Searched in the text: a URL parser adds the slash itself.
  return /^[a-z][a-z0-9+.-]*:\/\/[^/?#]+[/?#]/i.test(service)
    ? ['A service must not contain a path; the request path is kept.', 'Remove everything after the port, including the slash.']
    : undefined;
}

function checkCatchAll(rule: IngressRule, at: number, count: number, add: Add): void {
  const isLast = at === count - 1;
  const path = ['ingress', at];
  if (isLast && !isCatchAll(rule)) {
    const message = 'The last rule must match all requests, so it must have neither hostname nor path.';
    add('error', path, message, 'As the last rule, add service: http_status:404', 'no-catch-all');
  }
  if (!isLast && isCatchAll(rule)) {
    const message = 'The rule matches every request, so the rules after it are never reached.';
    add('error', path, message, 'Add a hostname to the rule, or move the rule to the end.', 'rules-after-catch-all');
  }
  if (isLast && isCatchAll(rule) && rule.service !== 'http_status:404' && rule.service !== '') {
    const message = 'Requests that match no other rule reach this service, regardless of the host name.';
    add('warning', [...path, 'service'], message, 'The last rule is usually service: http_status:404', 'catch-all-service');
  }
}

const isEveryName = (hostname: string) => hostname === '' || hostname === '*';
const isCatchAll = ({ hostname, path }: IngressRule) => isEveryName(hostname) && path === '';

/** Reports whether the first rule matches every request of the second. Paths are compared as text. */
function covers(first: IngressRule, second: IngressRule): boolean {
  if (first.path !== '' && first.path !== second.path) return false;
  if (isEveryName(first.hostname) || first.hostname === second.hostname) return true;
  return !isEveryName(second.hostname) && matchesHost(first.hostname, second.hostname.replace(/^\*/, 'x'));
}

function matchesHost(pattern: string, host: string): boolean {
  if (isEveryName(pattern)) return true;
  const [rule, wanted] = [pattern.toLowerCase(), host.toLowerCase()];
  if (rule === wanted) return true;
  if (rule.startsWith('*.')) return wanted.endsWith(asciiName(rule.slice(1))) || wanted.endsWith(rule.slice(1));
  return asciiName(rule) === wanted;
}

function asciiName(name: string): string {
  const dot = name.startsWith('.') ? '.' : '';
  return `${dot}${domainToASCII(name.slice(dot.length)) || name.slice(dot.length)}`;
}

/** Returns the position of the matching rule; undefined if this is not an address. The last rule matches all remaining requests. */
export function ruleFor(rules: readonly IngressRule[], address: string): number | undefined {
  const written = /^[a-z][a-z0-9+.-]*:\/\//i.test(address) ? address : `https://${address}`;
  if (!URL.canParse(written) || rules.length === 0) return undefined;
  const { hostname, pathname } = new URL(written);
  // A path that cannot be decoded is compared as it is.
  const path = unlessThrown(() => decodeURIComponent(pathname), pathname);
  const found = rules.findIndex((rule) => matchesHost(rule.hostname, hostname) && (compiled(rule.path)?.matcher(path).find() ?? false));
  return found < 0 ? rules.length - 1 : found;
}

const compiled = (pattern: string) => unlessThrown(() => RE2JS.compile(pattern), undefined);
