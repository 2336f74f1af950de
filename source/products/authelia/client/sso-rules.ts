import { isDeepStrictEqual } from 'node:util';
import { type Document, isMap, isSeq, type Node, type ParsedNode, type Range, stringify } from 'yaml';
import { Fault } from '../../../faults/fault.ts';
import { cleanLine } from '../../../text/clean.ts';
import { parseYamlDocument } from '../../../yaml/text.ts';

export const policies = ['deny', 'bypass', 'one_factor', 'two_factor'] as const;

export interface NewRule {
  domain: string;
  policy: (typeof policies)[number];
  /** Subjects such as `user:mara` or `group:admins`; one match is enough. */
  subjects: readonly string[];
  resources: readonly string[];
}

/**
 * Inserts a rule before the rule at `position` (from 1) or after the last one. The text may contain templates of the product, which are not
 * YAML, so only the lines of the new rule are written. Throws `config.portal` if the position cannot be found.
 */
export function withRule(text: string, rule: NewRule, position: number): string {
  const document = parseYamlDocument(withoutTemplates(text), { prettyErrors: false, logLevel: 'error' });
  const rules = document.errors.length > 0 ? [] : rangesOf(document.get('access_control', true));
  const [range] = rules;
  const last = rules.at(-1);
  if (!range || !last) throw unplaced(document);
  const next = rules[position - 1];
  const start = next ? startOfLine(text, next[0]) : endOfLine(text, last[1]);
  const [first] = range;
  const indent = text.slice(startOfLine(text, first), first).replace(/-\s*$/, '');
  const lines = ruleText(rule)
    .trimEnd()
    .split('\n')
    .map((line, index) => `${indent}${index === 0 ? '- ' : '  '}${line}\n`);
  const before = text.slice(0, start);
  return `${before}${before === '' || before.endsWith('\n') ? '' : '\n'}${lines.join('')}${text.slice(start)}`;
}

/** Returns false if the rule contains templates, because their values are unknown. */
export function isRuleAt(text: string, { domain, policy, subjects, resources }: NewRule, position: number): boolean {
  const document = parseYamlDocument(withoutTemplates(text), { prettyErrors: false, logLevel: 'error' });
  if (document.errors.length > 0) return false;
  const there = (document.toJS() as { access_control?: { rules?: unknown[] } } | null)?.access_control?.rules?.[position - 1];
  const { subject = [], resources: paths = [], ...rest } = (there ?? {}) as Record<string, unknown>;
  return isDeepStrictEqual({ ...rest, subject, resources: paths }, { domain, policy, subject: [...subjects], resources: [...resources] });
}

function ruleText({ domain, policy, subjects, resources }: NewRule): string {
  const rule = { domain, policy, ...(subjects.length > 0 && { subject: subjects }), ...(resources.length > 0 && { resources }) };
  return stringify(rule, { lineWidth: 0, singleQuote: true, defaultStringType: 'QUOTE_SINGLE', defaultKeyType: 'PLAIN' });
}

function rangesOf(control: unknown): readonly Range[] {
  const rules: unknown = isMap(control) ? control.get('rules', true) : undefined;
  if (!isSeq<Node>(rules) || rules.flow) return [];
  return rules.items.flatMap(({ range }) => (range ? [range] : []));
}

/** The text keeps its length, so that offsets stay valid: a line of templates becomes a comment, any other template a word. */
export function withoutTemplates(text: string): string {
  return text
    .split('\n')
    .map((line) => {
      if (/^\s*\{\{.*\}\}\s*$/.test(line)) return '#'.padEnd(line.length, '-');
      return line.replace(/\{\{.*?\}\}/g, (template) => 'x'.repeat(template.length));
    })
    .join('\n');
}

const startOfLine = (text: string, offset: number) => text.lastIndexOf('\n', offset - 1) + 1;

function endOfLine(text: string, offset: number): number {
  // The parser ends a block where the next node begins; the last character of the block itself is before that.
  const within = text.slice(0, offset).trimEnd().length;
  const end = text.indexOf('\n', within);
  return end < 0 ? text.length : end + 1;
}

function unplaced(document: Document.Parsed<ParsedNode>): Fault {
  const written = document.errors[0]?.message.split('\n', 1)[0];
  const why = written ? cleanLine(written).replace(/\.$/, '') : 'the list "access_control.rules" is missing, empty or in brackets';
  const remedy = 'Add the rule manually: quarterdeck edit COMPONENT files/configuration.yml';
  return new Fault('config.portal', `Cannot find where to insert a rule in the configuration: ${why}.`, remedy);
}

export function ruleDomainProblem(domain: string): string | undefined {
  if (domain === '') return 'A host name is required.';
  if (/^\*[^.]/.test(domain)) return `This pattern matches nothing. Use *.${domain.slice(1)}`;
  if (/^https?:\/\//.test(domain) || /[/:]/.test(domain)) return 'Use only the host name, without https://, a port or a path.';
  if (!/^(?:\*\.|\{user\}\.|\{group\}\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/i.test(domain)) return 'Enter a name such as media.example.org.';
  return undefined;
}

export const subjectProblem = (subject: string) => (/^(?:user|group):\S.*$/.test(subject) ? undefined : 'Use user:NAME or group:NAME.');
