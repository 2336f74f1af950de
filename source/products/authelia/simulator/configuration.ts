import { parse } from 'yaml';
import { mapOf } from '../../../text/json-value.ts';

export type Configuration = ReturnType<typeof readConfiguration>;
export type Rule = Configuration['rules'][number];

const policyNames = ['bypass', 'one_factor', 'two_factor', 'deny'];

/** Renders the templates that the catalog's file uses: `env`, `mustEnv`, `printf`, `default`, `replace`, `squote`, `if` with `else`, also in a comment. */
export function rendered(text: string, environment: Readonly<Record<string, string>>): string {
  const open: boolean[] = [];
  const lines: string[] = [];
  for (const line of text.split('\n')) {
    const control = /^\s*(?:#\s*)?\{\{-?\s*(if|else|end)\b(.*?)-?\}\}\s*$/.exec(line);
    if (control) {
      const [, word, rest = ''] = control;
      const last = word === 'if' ? undefined : open.pop();
      if (word === 'if') open.push(filled(rest.trim(), environment) !== '');
      else if (word === 'else') open.push(!last);
      continue;
    }
    if (!open.includes(false))
      lines.push(line.replace(/\{\{-?\s*(.*?)\s*-?\}\}/g, (_, expression: string) => filled(expression, environment)));
  }
  return lines.join('\n');
}

function filled(expression: string, environment: Readonly<Record<string, string>>): string {
  // A pipe in quotes is text.
  const [first = '', ...pipes] = (expression.match(/(?:"(?:\\.|[^"\\])*"|[^|"])+/g) ?? []).map((part) => part.trim());
  let value = termOf(first, environment);
  for (const pipe of pipes) {
    const [word = '', ...given] = wordsOf(pipe);
    const values = given.map((term) => termOf(term, environment));
    if (word === 'default' && value === '') value = values[0] ?? '';
    if (word === 'replace') value = value.replaceAll(values[0] ?? '', values[1] ?? '');
    if (word === 'squote') value = `'${value}'`;
  }
  return value;
}

/** Returns words, quoted texts and parentheses. */
function wordsOf(text: string): readonly string[] {
  return text.match(/"(?:\\.|[^"\\])*"|\((?:"(?:\\.|[^"\\])*"|\([^()]*\)|[^()"])*\)|[^\s"()]+/g) ?? [];
}

function termOf(term: string, environment: Readonly<Record<string, string>>): string {
  if (term.startsWith('"')) return JSON.parse(term.replaceAll(/\\x([0-9a-f]{2})/gi, '\\u00$1')) as string;
  if (term.startsWith('(')) return termOf(term.slice(1, -1), environment);
  const [word = '', ...given] = wordsOf(term);
  const values = given.map((one) => termOf(one, environment));
  if (word === 'env' || word === 'mustEnv') return environment[values[0] ?? ''] ?? '';
  if (word === 'printf') return values.slice(1).reduce((text, value) => text.replace('%s', value), values[0] ?? '');
  return '';
}

const listOf = (value: unknown) => (Array.isArray(value) ? value : value === undefined || value === null ? [] : [value]) as unknown[];
const textsOf = (value: unknown) => listOf(value).map(String);

/** Throws what the YAML parser throws. */
export function readConfiguration(text: string) {
  const root = mapOf(parse(text, { logLevel: 'error' }));
  const file = mapOf(mapOf(root['authentication_backend'])['file']);
  const control = mapOf(root['access_control']);
  return {
    usersFile: String(file['path'] ?? '/config/users_database.yml'),
    watch: file['watch'] === true,
    defaultPolicy: String(control['default_policy'] ?? 'deny'),
    rules: listOf(control['rules'])
      .map(mapOf)
      .map((rule) => ({
        domains: textsOf(rule['domain']),
        policy: String(rule['policy'] ?? ''),
        // One list of which all subjects match is enough.
        subjects: listOf(rule['subject']).map(textsOf),
        networks: textsOf(rule['networks']),
        methods: textsOf(rule['methods']).map((method) => method.toUpperCase()),
        resources: textsOf(rule['resources']),
      })),
    domains: listOf(mapOf(root['session'])['cookies'])
      .map(mapOf)
      .map((cookie) => ({ domain: String(cookie['domain'] ?? ''), portal: String(cookie['authelia_url'] ?? '') })),
  };
}

/** Returns the problems for which the product refuses a configuration, in its words. */
export function problemsOf({ rules, defaultPolicy }: Configuration): string[] {
  const problems: string[] = [];
  const isOneOf = "must be one of 'bypass', 'one_factor', 'two_factor', or 'deny' but it's configured as";
  if (!policyNames.includes(defaultPolicy)) problems.push(`access_control: option 'default_policy' ${isOneOf} '${defaultPolicy}'`);
  rules.forEach(({ domains, policy, subjects }, index) => {
    const rule = `access_control: rule #${index + 1}${domains.length > 0 ? ` (domain '${domains.join(',')}')` : ''}`;
    if (!policyNames.includes(policy)) problems.push(`${rule}: option 'policy' ${isOneOf} '${policy}'`);
    if (policy === 'bypass' && subjects.length > 0)
      problems.push(
        `${rule}: 'policy' option 'bypass' is not supported when 'subject' option is configured: see https://www.authelia.com/c/acl#bypass`,
      );
  });
  return problems;
}
