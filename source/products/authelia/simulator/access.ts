import type { Configuration, Rule } from './configuration.ts';

export interface Subject {
  /** Empty for an anonymous request. */
  user: string;
  groups: readonly string[];
  ip: string;
}

type Requested = { url: URL; method: string };

export type Match = ReturnType<typeof matchOf>;

/** Returns which criteria of a rule match. The subject of an anonymous request may match later: then `subject` is true, and `exact` is not. */
export function matchOf(rule: Rule, subject: Subject, { url, method }: Requested) {
  const anonymous = subject.user === '';
  const exact = rule.subjects.length === 0 || (!anonymous && rule.subjects.some((all) => all.every((one) => isSubject(one, subject))));
  return {
    domain: rule.domains.length === 0 || rule.domains.some((domain) => isDomain(domain.toLowerCase(), url.hostname, subject)),
    resource:
      rule.resources.length === 0 || rule.resources.some((pattern) => new RegExp(pattern, 'u').test(`${url.pathname}${url.search}`)),
    method: rule.methods.length === 0 || rule.methods.includes(method),
    network: rule.networks.length === 0 || rule.networks.includes(subject.ip),
    subject: anonymous || exact,
    exact,
  };
}

export function isMatch({ exact: _, ...criteria }: Match): boolean {
  return Object.values(criteria).every(Boolean);
}

export function policyFor({ rules, defaultPolicy }: Configuration, subject: Subject, requested: Requested): string {
  return rules.find((rule) => isMatch(matchOf(rule, subject, requested)))?.policy ?? defaultPolicy;
}

function isSubject(written: string, { user, groups }: Subject): boolean {
  if (written.startsWith('user:')) return written.slice(5).trim() === user;
  return written.startsWith('group:') && groups.includes(written.slice(6).trim());
}

function isDomain(domain: string, host: string, { user, groups }: Subject): boolean {
  if (domain.startsWith('*.')) return host.endsWith(domain.slice(1));
  if (domain.startsWith('{user}')) return user === '' ? host.endsWith(domain.slice(6)) : host === `${user}${domain.slice(6)}`;
  if (domain.startsWith('{group}'))
    return user === '' ? host.endsWith(domain.slice(7)) : groups.some((group) => host === `${group}${domain.slice(7)}`);
  return host === domain;
}
