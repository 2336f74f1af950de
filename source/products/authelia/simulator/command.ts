import { type ExecAnswer, failed, said } from '../../../practice/answers.ts';
import { isMatch, type Match, matchOf } from './access.ts';
import { type Configuration, problemsOf, readConfiguration, rendered } from './configuration.ts';
import type { PortalState } from './sso-portal.ts';

const wrong = (message: string) => failed(1, `Error: ${message}\n\n`);

/** The portal's own command, as far as a console calls it, with the output of release 4.39. */
export function runCommand(state: PortalState, words: readonly string[]): ExecAnswer {
  const line = words.join(' ');
  if (line === 'config template') {
    return said(
      `---\n##\n## Authelia rendered configuration file (file filters).\n##\n## Filters: template\n##\n\n---\n##\n## File Source Path: /config/configuration.yml\n##\n\n${rendered(state.text(), state.environment())}`,
    );
  }
  if (words[0] === 'config' && words[1] === 'validate') return validate(state, state.text());
  if (words[0] === 'storage' && words[1] === 'bans') return bans(state, words.slice(2));
  if (words[0] === 'storage' && words[1] === 'user') return secondFactors(state, words.slice(2));
  if (words[0] === 'access-control' && words[1] === 'check-policy') return checkPolicy(state.configuration(), words.slice(2));
  return wrong(`unknown command "${words[0] ?? ''}" for "authelia"`);
}

export function validate(state: PortalState, text: string): ExecAnswer {
  let problems: string[];
  try {
    problems = problemsOf(readConfiguration(rendered(text, state.environment())));
  } catch (thrown) {
    problems = [
      `failed to load configuration from file path(/config/configuration.yml) source: yaml: ${(thrown as Error).message.split('\n', 1)[0] ?? ''}`,
    ];
  }
  if (problems.length === 0) return said('Configuration parsed and loaded successfully without errors.\n\n');
  const list = problems.map((problem) => `\t - ${problem}\n`).join('');
  return failed(1, 'Error: configuration validation failed\n', `Configuration parsed and loaded with errors:\n\n${list}\n`);
}

function bans(state: PortalState, [kind, what, ...rest]: readonly string[]): ExecAnswer {
  // Only users are banned here, no addresses.
  const mine = state.bans.filter((ban) => kind === 'user' && !ban.revoked && ban.untilMs > Date.now());
  const heading = kind === 'ip' ? 'IP' : 'Username';
  if (what === 'list') {
    if (mine.length === 0) return said('No results.\n');
    const rows = mine.map((ban) => [String(ban.id), ban.whom, dateTime(ban.untilMs), 'regulation', 'Exceeding Maximum Retries']);
    return said(tabTable([['ID', heading, 'Expires', 'Source', 'Reason'], ...rows]));
  }
  if (what !== 'revoke') return wrong(`unknown command "${what ?? ''}" for "authelia storage bans ${kind ?? ''}"`);
  const meant = state.bans.filter(({ id }) => String(id) === rest[rest.indexOf('--id') + 1]);
  if (meant.length === 0) return wrong('no current bans found');
  const rows = meant.map((ban) => {
    const row = [String(ban.id), ban.whom, ban.revoked ? 'SKIPPED' : 'SUCCESS', ban.revoked ? 'Ban has already been revoked' : 'N/A'];
    ban.revoked = true;
    return row;
  });
  return said(tabTable([['ID', heading, 'Result', 'Information'], ...rows]));
}

function secondFactors(state: PortalState, [kind, what, user = '', flag]: readonly string[]): ExecAnswer {
  const own = state.secondFactors.get(user);
  if (kind === 'totp' && what === 'delete') {
    if (!own?.codes) return wrong(`failed to delete TOTP configuration for user '${user}': no TOTP configuration for user`);
    own.codes = false;
    return said(`Successfully deleted TOTP configuration for user '${user}'\n`);
  }
  if (kind !== 'webauthn') return wrong(`unknown command "${kind ?? ''}" for "authelia storage user"`);
  const keys = own?.keys ?? [];
  if (what === 'list') {
    if (keys.length === 0) return wrong(`user '${user}' has no WebAuthn credentials`);
    const rows = keys.map((name, index) => [String(index + 1), `${Buffer.from(`${user} ${name}`).toString('base64url')}`, name]);
    return said(`WebAuthn Credentials for user '${user}':\n\n${tabTable([['ID', 'KID', 'Description'], ...rows], 4)}`);
  }
  if (what === 'delete' && flag === '--all') {
    if (own) own.keys = [];
    return said(`Successfully deleted all WebAuthn credentials for user '${user}'\n`);
  }
  return wrong('exactly one of --kid, --description, or --all must be supplied');
}

const mark = (hit: boolean) => (hit ? 'hit' : 'miss');

function checkPolicy(configuration: Configuration, words: readonly string[]): ExecAnswer {
  const given = (name: string) => (words.includes(`--${name}`) ? (words[words.indexOf(`--${name}`) + 1] ?? '') : '');
  if (!URL.canParse(given('url'))) return wrong(`parse "${given('url')}": invalid URI for request`);
  const requested = { url: new URL(given('url')), method: given('method') || 'GET' };
  const subject = { user: given('username'), groups: given('groups').split(',').filter(Boolean), ip: given('ip') };
  const { rules, defaultPolicy } = configuration;
  if (rules.length === 0)
    return said(`\nThe default policy '${defaultPolicy}' will be applied to ALL requests as no rules are configured.\n\n`);
  const rows: string[][] = [];
  let taken: Taken;
  let perhaps: Taken;
  for (const [index, rule] of rules.entries()) {
    const match = matchOf(rule, subject, requested);
    const found = isMatch(match);
    // For a user who is not logged in, the product shows the rule and that it may be another one.
    const only = found && !match.exact;
    if (only) perhaps ??= { number: index + 1, policy: rule.policy };
    else if (found) taken = { number: index + 1, policy: rule.policy };
    rows.push([`${found ? (only ? '~' : '*') : ' '} ${index + 1}`, ...cellsOf(match)]);
    if (taken) break;
  }
  const user = subject.user === '' ? '' : ` username '${subject.user}'`;
  const asked = `Performing policy check for request to '${requested.url.href}' method '${requested.method}'${user}.\n\n`;
  const table = tabTable([['  #', 'Domain', 'Resource', 'Query', 'Method', 'Network', 'Subject'], ...rows], 4);
  return said(`${asked}${table}\n${sentence(taken, perhaps, defaultPolicy)}\n\n`);
}

function cellsOf({ domain, resource, method, network, subject, exact }: Match): string[] {
  return [mark(domain), mark(resource), 'hit', mark(method), mark(network), subject === exact ? mark(subject) : 'may'];
}

type Taken = { number: number; policy: string } | undefined;

function sentence(taken: Taken, perhaps: Taken, defaultPolicy: string): string {
  const policy = (found: Taken) =>
    found ? `policy '${found.policy}' from rule #${found.number}` : `policy '${defaultPolicy}' from the default policy`;
  if (perhaps) {
    const otherwise = taken ? `If not ${policy(taken)}` : `Otherwise the ${policy(taken)}`;
    return `The ${policy(perhaps)} will potentially be applied to this request. ${otherwise} will be.`;
  }
  return `The ${policy(taken)} will be applied to this request${taken ? '' : ' as no rules matched the request'}.`;
}

/** A table of Go's tabwriter: a column is as wide as its longest cell and so many blanks. */
function tabTable(rows: readonly (readonly string[])[], blanks = 1): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)) + blanks);
  const lines = rows.map((row) => row.map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0))));
  return lines.map((cells) => `${cells.join('')}\n`).join('');
}

function dateTime(ms: number): string {
  return new Date(ms).toISOString().slice(0, 19).replace('T', ' ');
}
