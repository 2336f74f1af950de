import { Fault } from '../../faults/fault.ts';
import type { FlowInput, Procedure } from '../../flows/flow.ts';
import { wordsUpTo } from '../../flows/flow-options.ts';
import { givenOrAsked } from '../../flows/given-or-asked.ts';
import type { Session } from '../../session/session.ts';
import { cleanLine } from '../../text/clean.ts';
import { MountedFile } from './client/mounted-file.ts';
import { UsersFile } from './client/sso-users.ts';
import { portalOf, type RunningPortal } from './sso-target.ts';

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

export const ssoTest: Procedure = async (session, input, context) => {
  const running = await portalOf(session, input, context);
  const { portal, config, id } = running;
  wordsUpTo(2, input, { takes: 'An address, and a user', remedy: 'Run it once for each.' });
  const url = await askUrl(session, input, running);
  const user = await givenOrAsked(session, {
    ...{ id: 'user', given: input.words[1] ?? (session.attended ? undefined : ''), code: 'usage.user', remedy: 'Name another one.' },
    label: 'As which user?',
    initial: '',
    help: 'Empty for somebody who is not logged in.',
    check: nameProblem,
  });
  const groups = user === '' ? [] : await groupsOf(session, running, user);
  const { method = 'GET', from = '' } = input.options;
  if (typeof method !== 'string' || !methods.includes(method.toUpperCase()))
    throw new Fault('usage.method', 'That is no method of a request.', `One of ${methods.join(', ')}.`);
  const asked = { url: url.href, method: method.toUpperCase(), user, groups, from: String(from) };
  const words = await portal.checkPolicy(asked, session.signal);
  const result = readPolicyCheck(words);
  const who = `${user === '' ? 'nobody who is logged in' : user}${groups.length > 0 ? ` (${groups.join(', ')})` : ''}`;
  session.show({
    kind: 'table',
    title: `${asked.method} ${url.href} by ${who}`,
    columns: ['RULE', 'DOMAIN', 'POLICY', ...result.criteria.map((name) => name.toUpperCase() as Uppercase<string>)],
    rows: result.rows.map(({ number, mark, cells }) => {
      const { domains = [], policy = '' } = config.rules[number - 1] ?? {};
      const fits = cells.map((cell) => meanings[cell] ?? cell);
      return [`${mark === '' ? ' ' : mark} ${number}`, cleanLine(domains.join(', ')), cleanLine(policy), ...fits];
    }),
  });
  return {
    message: `${id}: ${result.summary}`,
    data: { url: url.href, user, groups: [...groups], summary: result.summary, rows: result.rows },
  };
};

const meanings: Readonly<Record<string, string>> = { hit: 'fits', miss: 'does not fit', may: 'may fit, after a login' };

/** Parses the output of `authelia access-control check-policy`. `*` marks the rule that applies, `~` a rule that may apply. */
export function readPolicyCheck(words: string) {
  const lines = words.split('\n').map((line) => line.trimEnd());
  const head = lines.find((line) => /^\s*#\s+Domain/.test(line)) ?? '';
  const rows = lines.flatMap((line) => {
    const found = /^([*~]?)\s*(\d+)\s+((?:hit|miss|may)(?:\s+(?:hit|miss|may))*)$/.exec(line.trimStart());
    if (!found) return [];
    return [{ number: Number(found[2]), mark: found[1] ?? '', cells: (found[3] ?? '').split(/\s+/) }];
  });
  const summary = lines.findLast((line) => /polic(?:y|ies)\b/i.test(line)) ?? '';
  return { criteria: head.trim().split(/\s+/).slice(1), rows, summary: cleanLine(summary.trim()) };
}

export async function askUrl(session: Session, input: FlowInput, { config }: RunningPortal): Promise<URL> {
  const domain = config.domains[0]?.domain;
  const written = await givenOrAsked(session, {
    ...{ id: 'url', given: input.words[0], code: 'usage.url', remedy: 'For example https://media.example.org/' },
    label: 'Which address?',
    help: 'As it stands in the browser.',
    initial: domain === undefined ? 'https://' : `https://media.${domain}/`,
    check: urlProblem,
  });
  return new URL(withScheme(written));
}

function withScheme(text: string): string {
  return /^[a-z]+:\/\//i.test(text.trim()) ? text.trim() : `https://${text.trim()}`;
}

function urlProblem(text: string): string | undefined {
  const written = withScheme(text);
  if (!URL.canParse(written) || !/^(?:https?|wss?):$/.test(new URL(written).protocol)) return 'That is no address of a page.';
  const { username, password } = new URL(written);
  return username || password ? 'Leave the login out of the address.' : undefined;
}

function nameProblem(text: string): string | undefined {
  return text.trim() === '' || /^[\p{L}\p{N}][^\s,]*$/u.test(text.trim()) ? undefined : 'That is no name of a user.';
}

async function groupsOf(session: Session, { config, id, ...running }: RunningPortal, user: string): Promise<readonly string[]> {
  if (config.usersFile === undefined) {
    session.show({ kind: 'text', text: `The users of ${id} are in a directory: tested without their groups.` });
    return [];
  }
  const file = new MountedFile(running, config.usersFile);
  const found = new UsersFile((await file.read(session.signal)) ?? 'users: {}', file.shown).user(user);
  if (!found) session.show({ kind: 'text', text: `There is no user ${cleanLine(user)} in the file: tested without groups.` });
  return found?.groups.filter((group) => !/[,"]/.test(group)).map(cleanLine) ?? [];
}
