import { isDeepStrictEqual } from 'node:util';
import { type Document, isMap, isSeq, type Node, type ParsedNode, stringify } from 'yaml';
import { Fault } from '../faults/fault.ts';
import { cleanLine } from '../text/clean.ts';
import { parseYamlDocument } from '../text/yaml-text.ts';

export const policies = ['deny', 'bypass', 'one_factor', 'two_factor'] as const;

/** A rule to be written. What is empty is left out. */
export interface NewRule {
  domain: string;
  policy: (typeof policies)[number];
  /** `user:mara`, `group:admins`: any one of them. */
  subjects: readonly string[];
  /** Regular expressions for path and query. */
  resources: readonly string[];
}

/**
 * Puts a rule into the text of a configuration, before the one at `position` (from 1), or behind all. The text may hold templates of the product, which are no YAML:
 * so nothing is written anew but the lines of the rule. Throws `config.portal` where its place cannot be found.
 */
export function withRule(text: string, rule: NewRule, position: number): string {
  const document = parseYamlDocument(withoutTemplates(text), { prettyErrors: false, logLevel: 'error' });
  const control = document.get('access_control', true);
  if (document.errors.length > 0 || (control !== undefined && !isMap(control))) throw unplaced(document);
  const { rules, last } = placesOf(control);
  if (rules === undefined) throw unplaced(document);
  const at = rules[position - 1] ?? last;
  if (at === undefined) throw unplaced(document);
  const start = rules[position - 1] === undefined ? endOfLine(text, at) : startOfLine(text, at);
  const first = rules[0] ?? 0;
  const indent = text.slice(startOfLine(text, first), first).replace(/-\s*$/, '');
  const lines = ruleText(rule)
    .trimEnd()
    .split('\n')
    .map((line, index) => `${indent}${index === 0 ? '- ' : '  '}${line}\n`);
  const before = text.slice(0, start);
  return `${before}${before === '' || before.endsWith('\n') ? '' : '\n'}${lines.join('')}${text.slice(start)}`;
}

/** Does the rule at this place say just that? Where templates stand in it, nobody can tell. */
export function isRuleAt(text: string, { domain, policy, subjects, resources }: NewRule, position: number): boolean {
  const document = parseYamlDocument(withoutTemplates(text), { prettyErrors: false, logLevel: 'error' });
  if (document.errors.length > 0) return false;
  const there = (document.toJS() as { access_control?: { rules?: unknown[] } } | null)?.access_control?.rules?.[position - 1];
  const { subject = [], resources: paths = [], ...rest } = (there ?? {}) as Record<string, unknown>;
  return isDeepStrictEqual({ ...rest, subject, resources: paths }, { domain, policy, subject: [...subjects], resources: [...resources] });
}

function ruleText({ domain, policy, subjects, resources }: NewRule): string {
  return stringify(
    {
      domain,
      policy,
      ...(subjects.length > 0 && { subject: subjects }),
      ...(resources.length > 0 && { resources }),
    },
    { lineWidth: 0, singleQuote: true, defaultStringType: 'QUOTE_SINGLE', defaultKeyType: 'PLAIN' },
  );
}

/** Where the rules begin, and where the last one is; offsets of their content. */
function placesOf(control: unknown): { rules: readonly number[] | undefined; last: number | undefined } {
  const rules: unknown = isMap(control) ? control.get('rules', true) : undefined;
  if (!isSeq<Node>(rules) || rules.flow || rules.items.length === 0) return { rules: undefined, last: undefined };
  const ranges = rules.items.flatMap(({ range }) => (range ? [range] : []));
  return { rules: ranges.map(([start]) => start), last: ranges.at(-1)?.[1] };
}

/** Of the same length, so that places stay: a line with nothing but templates becomes a comment, another template a word. */
export function withoutTemplates(text: string): string {
  return text
    .split('\n')
    .map((line) => {
      if (/^\s*\{\{.*\}\}\s*$/.test(line)) return '#'.padEnd(line.length, '-');
      return line.replace(/\{\{.*?\}\}/g, (template) => 'x'.repeat(template.length));
    })
    .join('\n');
}

function startOfLine(text: string, offset: number): number {
  return text.lastIndexOf('\n', offset - 1) + 1;
}

/** Behind the newline. */
function endOfLine(text: string, offset: number): number {
  // A block ends where the next thing begins; its own last character lies before.
  const within = text.slice(0, offset).trimEnd().length;
  const end = text.indexOf('\n', within);
  return end < 0 ? text.length : end + 1;
}

function unplaced(document: Document.Parsed<ParsedNode>): Fault {
  const [error] = document.errors;
  const why = error ? cleanLine(error.message.split('\n', 1)[0] ?? '').replace(/\.$/, '') : 'there is no list "access_control.rules" in it';
  return new Fault({
    code: 'config.portal',
    message: `The place for a rule cannot be found in the configuration: ${why}.`,
    remedy: 'Write the rule yourself: quarterdeck edit COMPONENT files/configuration.yml',
  });
}

/** What is wrong with a domain of a rule, or undefined. */
export function ruleDomainProblem(domain: string): string | undefined {
  if (domain === '') return 'Type a name, as browsers ask for it.';
  if (/^\*[^.]/.test(domain)) return `That matches nothing: write *.${domain.slice(1)}`;
  if (/^https?:\/\//.test(domain) || /[/:]/.test(domain)) return 'The name alone, without https:// and without a port.';
  if (!/^(?:\*\.|\{user\}\.|\{group\}\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/i.test(domain)) return 'That is no name of a host.';
  return undefined;
}

/** `user:mara`, `group:admins`. */
export function subjectProblem(subject: string): string | undefined {
  return /^(?:user|group):\S.*$/.test(subject) ? undefined : 'Write user:NAME or group:NAME.';
}
