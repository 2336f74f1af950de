import { domainToASCII } from 'node:url';
import { RE2JS } from 're2js';
import { fieldText, YamlDocument, type YamlPath } from '../config/yaml-document.ts';
import { objectOf, textOf } from '../text/json-value.ts';
import { nearestName } from '../text/nearest-name.ts';
import type { ConfigProblem } from './config-problem.ts';

export interface IngressRule {
  line: number;
  /** Empty matches every name. */
  hostname: string;
  /** Regular expression in Go's spelling; empty matches every path. */
  path: string;
  service: string;
}

export interface IngressConfig {
  rules: readonly IngressRule[];
  problems: readonly ConfigProblem[];
}

const ruleKeys = ['hostname', 'path', 'service', 'originRequest'];
/** cloudflared, ingress/ingress.go: what is no address. */
const plainServices = /^(?:hello[_-]?world|bastion|socks-proxy)$/;

/** What cloudflared would refuse, and what it takes and does not mean. Never throws. */
export function readIngress(text: string): IngressConfig {
  const document = new YamlDocument(text);
  const problems: ConfigProblem[] = document.problems.map(({ line, column, message, remedy }) => ({
    level: 'error',
    line,
    column,
    field: '',
    message,
    remedy,
  }));
  if (problems.length > 0) return { rules: [], problems };
  const add = (level: ConfigProblem['level'], path: YamlPath, message: string, remedy: string, rule?: string) =>
    problems.push({ level, ...document.place(path), field: fieldText(path), message, remedy, ...(rule !== undefined && { rule }) });
  const top = objectOf(document.value);
  if (!top) {
    add('error', [], 'There is no configuration in it.', 'Begin with tunnel, credentials-file and ingress.');
    return { rules: [], problems };
  }
  checkCredentials(top, add);
  const list = top['ingress'];
  if (!Array.isArray(list) || list.length === 0) {
    add(
      'error',
      'ingress' in top ? ['ingress'] : [],
      'There are no ingress rules: every request is answered with 503.',
      'Add ingress with a rule for each name, and as the last one: service: http_status:404',
      'R24',
    );
    return { rules: [], problems };
  }
  const rules = list.map((value, at) => {
    const rule = objectOf(value);
    const read = {
      line: document.place(['ingress', at]).line,
      hostname: textOf(rule?.['hostname']),
      path: textOf(rule?.['path']),
      service: textOf(rule?.['service']),
    };
    if (rule) checkRule(rule, read, at, add);
    else add('error', ['ingress', at], 'The rule is no list of names and values.', 'Write hostname and service.');
    checkCatchAll(read, at, list.length, add);
    return read;
  });
  for (const [at, rule] of rules.entries()) {
    const before = rules.slice(0, at).find((other) => covers(other, rule));
    if (before && !isCatchAll(before))
      add(
        'warning',
        ['ingress', at],
        `It is never reached: the rule of line ${before.line} takes all that it would get.`,
        'Put the more special rule first.',
      );
  }
  return { rules, problems: problems.sort((a, b) => a.line - b.line || a.column - b.column) };
}

type Add = (level: ConfigProblem['level'], path: YamlPath, message: string, remedy: string, rule?: string) => void;

/** R21. */
function checkCredentials(top: Readonly<Record<string, unknown>>, add: Add): void {
  const [tunnel, file] = [top['tunnel'], top['credentials-file']];
  for (const name of ['token', 'TUNNEL_TOKEN'])
    if (top[name] !== undefined) {
      if (tunnel !== undefined || file !== undefined)
        add('error', [name], 'A token and a tunnel id with its credentials exclude each other.', 'Keep one of them.', 'R21');
      else
        add(
          'warning',
          [name],
          'A token stands in the file, where everybody who may read it has the tunnel.',
          'Give it through the environment: TUNNEL_TOKEN.',
        );
    }
  if (file !== undefined && tunnel === undefined)
    add('error', ['credentials-file'], 'There are credentials, and no tunnel that they are for.', 'Add tunnel with its id.', 'R21');
  if (tunnel !== undefined && file === undefined)
    add(
      'warning',
      ['tunnel'],
      'There is a tunnel id, and no credentials-file: it is looked for beside the configuration.',
      'Add credentials-file.',
      'R21',
    );
}

function checkRule(rule: Readonly<Record<string, unknown>>, { hostname, path, service }: IngressRule, at: number, add: Add): void {
  for (const key of Object.keys(rule)) {
    if (ruleKeys.includes(key)) continue;
    const near = nearestName(key, ruleKeys);
    add(
      'warning',
      ['ingress', at, key],
      `A rule knows no "${key.slice(0, 40)}": it is ignored.`,
      near === undefined ? `It knows ${ruleKeys.join(', ')}.` : `Is it "${near}"?`,
    );
  }
  if (/^(?:.*[^:]|\[.*\]):\d+$/.test(hostname))
    add('error', ['ingress', at, 'hostname'], 'A hostname has no port.', 'Take the port out: the tunnel answers on 443 alone.');
  else if (hostname.lastIndexOf('*') > 0 || (hostname.startsWith('*') && hostname !== '*' && !hostname.startsWith('*.')))
    add('error', ['ingress', at, 'hostname'], 'A star can only stand in the place of the first part of a name.', 'Write *.example.com');
  else if (/[/\s]/.test(hostname))
    add('error', ['ingress', at, 'hostname'], `"${hostname.slice(0, 60)}" is no name.`, 'Write the name alone, without https:// and path.');
  if (path !== '') {
    try {
      RE2JS.compile(path);
    } catch {
      add(
        'error',
        ['ingress', at, 'path'],
        'The path is a regular expression, and this is none that Go understands.',
        'Look-ahead and back references are not known there.',
      );
    }
  }
  const problem = serviceProblem(service);
  if (problem) add('error', 'service' in rule ? ['ingress', at, 'service'] : ['ingress', at], ...problem);
  else if (/^[a-z+]+:\/\/(?:localhost|127\.|\[::1\])/i.test(service))
    add(
      'warning',
      ['ingress', at, 'service'],
      'In a container this is the container itself, not the host and not another container.',
      'Write the name of the service, or the gateway name of the host.',
      'R14',
    );
}

function serviceProblem(service: string): [message: string, remedy: string] | undefined {
  if (service === '') return ['The rule has no service.', 'Say where it leads: service: http://name:8080'];
  if (plainServices.test(service)) return undefined;
  const [, status] = /^http_status:(.*)$/.exec(service) ?? [];
  if (status !== undefined)
    return /^[1-9]\d\d$/.test(status) ? undefined : [`"${status.slice(0, 20)}" is no HTTP status.`, 'For example: http_status:404'];
  if (/^unix(?:\+tls)?:/.test(service))
    return /^unix(?:\+tls)?:\/*[^/]/.test(service) ? undefined : ['The path of the socket is missing.', 'For example: unix:/run/app.sock'];
  const url = URL.canParse(service) ? new URL(service) : undefined;
  if (!url || !/^[a-z][a-z0-9+.-]*:\/\//i.test(service) || url.hostname === '')
    return [`"${service.slice(0, 60)}" is no address.`, 'It needs a scheme and a name: http://name:8080'];
  // Looked for in the text: a parser adds the slash by itself.
  return /^[a-z][a-z0-9+.-]*:\/\/[^/?#]+[/?#]/i.test(service)
    ? ['A service has no path: the path of the request is kept.', 'Leave off everything behind the port, the slash too.']
    : undefined;
}

/** R24. */
function checkCatchAll(rule: IngressRule, at: number, count: number, add: Add): void {
  const isLast = at === count - 1;
  if (isLast && !isCatchAll(rule))
    add(
      'error',
      ['ingress', at],
      'The last rule has to take all that is left: it may have neither hostname nor path.',
      'Add as the last one: service: http_status:404',
      'R24',
    );
  if (!isLast && isCatchAll(rule))
    add(
      'error',
      ['ingress', at],
      `It takes every request: the ${count - at - 1} behind it are never reached.`,
      'Give it a hostname, or put it last.',
      'R24',
    );
  if (isLast && isCatchAll(rule) && rule.service !== 'http_status:404' && rule.service !== '')
    add(
      'warning',
      ['ingress', at, 'service'],
      'What has no rule of its own gets this service, whatever name it was asked by.',
      'Usually the last one is service: http_status:404',
      'R24',
    );
}

function isCatchAll({ hostname, path }: IngressRule): boolean {
  return (hostname === '' || hostname === '*') && path === '';
}

/** Takes the first every request that the second would? Paths are compared by their text alone. */
function covers(first: IngressRule, second: IngressRule): boolean {
  if (first.path !== '' && first.path !== second.path) return false;
  if (first.hostname === '' || first.hostname === '*') return true;
  return (
    first.hostname === second.hostname ||
    (second.hostname !== '' && second.hostname !== '*' && matchesHost(first.hostname, second.hostname.replace(/^\*/, 'x')))
  );
}

function matchesHost(pattern: string, host: string): boolean {
  if (pattern === '' || pattern === '*') return true;
  const [rule, wanted] = [pattern.toLowerCase(), host.toLowerCase()];
  if (rule === wanted) return true;
  if (rule.startsWith('*.')) return wanted.endsWith(asciiName(rule.slice(1))) || wanted.endsWith(rule.slice(1));
  return asciiName(rule) === wanted;
}

/** A name as it comes over the wire. */
function asciiName(name: string): string {
  const dot = name.startsWith('.') ? '.' : '';
  return `${dot}${domainToASCII(name.slice(dot.length)) || name.slice(dot.length)}`;
}

/** Which rule a request for this address gets, by its place in the list; undefined for what is no address. The last one gets what is left. */
export function ruleFor(rules: readonly IngressRule[], address: string): number | undefined {
  const written = /^[a-z][a-z0-9+.-]*:\/\//i.test(address) ? address : `https://${address}`;
  if (!URL.canParse(written) || rules.length === 0) return undefined;
  const { hostname, pathname } = new URL(written);
  let path = pathname;
  try {
    path = decodeURIComponent(pathname);
  } catch {
    // What cannot be decoded is compared as it is.
  }
  const found = rules.findIndex((rule) => matchesHost(rule.hostname, hostname) && matchesPath(rule.path, path));
  return found < 0 ? rules.length - 1 : found;
}

function matchesPath(pattern: string, path: string): boolean {
  if (pattern === '') return true;
  try {
    return RE2JS.compile(pattern).matcher(path).find();
  } catch {
    return false;
  }
}
