import { Fault } from '../faults/fault.ts';
import { MountedFile } from '../products/mounted-file.ts';
import { UsersFile } from '../products/sso-users.ts';
import type { Session } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { ssoTestAbout } from './about-sso.ts';
import type { Flow, FlowInput } from './flow.ts';
import { wordsUpTo } from './flow-options.ts';
import { portalOf, type RunningPortal } from './sso-target.ts';

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

export const ssoTest: Flow = {
  ...ssoTestAbout,
  async run(session, input, world) {
    const running = await portalOf(session, input, world);
    const { portal, config, id } = running;
    wordsUpTo(2, input, { takes: 'An address, and a user', remedy: 'Run it once for each.' });
    const url = await askUrl(session, input, running);
    const user = input.words[1] ?? (session.attended ? await askUser(session) : '');
    const groups = user === '' ? [] : await groupsOf(session, running, user);
    const { method = 'GET', from = '' } = input.options;
    if (typeof method !== 'string' || !methods.includes(method.toUpperCase()))
      throw new Fault({ code: 'usage.method', message: 'That is no method of a request.', remedy: `One of ${methods.join(', ')}.` });
    const asked = { url: url.href, method: method.toUpperCase(), user, groups, from: String(from) };
    const words = await portal.checkPolicy(asked, session.signal);
    const result = readPolicyCheck(words);
    session.show({
      kind: 'table',
      title: `${method.toUpperCase()} ${url.href} by ${user === '' ? 'nobody who is logged in' : user}${groups.length > 0 ? ` (${groups.join(', ')})` : ''}`,
      columns: ['rule', 'domain', 'policy', ...result.criteria],
      rows: result.rows.map(({ number, mark, cells }) => {
        const rule = config.rules[number - 1];
        return [
          `${mark === '' ? ' ' : mark} ${number}`,
          cleanLine(rule?.domains.join(', ') ?? ''),
          cleanLine(rule?.policy ?? ''),
          ...cells.map((cell) => meanings[cell] ?? cell),
        ];
      }),
    });
    return {
      message: `${id}: ${result.sentence}`,
      data: { url: url.href, user, groups: [...groups], sentence: result.sentence, rows: result.rows },
    };
  },
};

const meanings: Readonly<Record<string, string>> = { hit: 'fits', miss: 'does not fit', may: 'may fit, after a login' };

export interface PolicyCheck {
  /** `Domain`, `Resource`, as the product heads its table. */
  criteria: readonly string[];
  rows: readonly { number: number; mark: string; cells: readonly string[] }[];
  /** What is applied, in the product's words. */
  sentence: string;
}

/** What `authelia access-control check-policy` prints. `*` marks the rule that is taken, `~` one that may be. */
export function readPolicyCheck(words: string): PolicyCheck {
  const lines = words.split('\n').map((line) => line.trimEnd());
  const head = lines.find((line) => /^\s*#\s+Domain/.test(line)) ?? '';
  const rows = lines.flatMap((line) => {
    const found = /^([*~]?)\s*(\d+)\s+((?:hit|miss|may)(?:\s+(?:hit|miss|may))*)$/.exec(line.trimStart());
    if (!found) return [];
    return [{ number: Number(found[2]), mark: found[1] ?? '', cells: (found[3] ?? '').split(/\s+/) }];
  });
  const sentence = lines.findLast((line) => /polic(?:y|ies)\b/i.test(line)) ?? '';
  return { criteria: head.trim().split(/\s+/).slice(1), rows, sentence: cleanLine(sentence.trim()) };
}

/** An address behind the portal. Throws `usage.url`. */
export async function askUrl(session: Session, input: FlowInput, { config }: RunningPortal): Promise<URL> {
  const domain = config.domains[0]?.domain;
  const written =
    input.words[0] ??
    (await session.ask.text({
      id: 'url',
      label: 'Which address?',
      help: 'As it stands in the browser.',
      initial: domain === undefined ? 'https://' : `https://media.${domain}/`,
      check: urlProblem,
    }));
  const problem = urlProblem(written);
  if (problem !== undefined) throw new Fault({ code: 'usage.url', message: problem, remedy: 'For example https://media.example.org/' });
  return new URL(withScheme(written));
}

/** A name alone is an address too. */
function withScheme(text: string): string {
  return /^[a-z]+:\/\//i.test(text.trim()) ? text.trim() : `https://${text.trim()}`;
}

function urlProblem(text: string): string | undefined {
  const written = withScheme(text);
  if (!URL.canParse(written) || !/^(?:https?|wss?):$/.test(new URL(written).protocol)) return 'That is no address of a page.';
  const { username, password } = new URL(written);
  return username || password ? 'Leave the login out of the address.' : undefined;
}

async function askUser(session: Session): Promise<string> {
  const name = await session.ask.text({
    id: 'user',
    label: 'As which user?',
    initial: '',
    help: 'Empty for somebody who is not logged in.',
    check: nameProblem,
  });
  return name.trim();
}

function nameProblem(text: string): string | undefined {
  return text.trim() === '' || /^[\p{L}\p{N}][^\s,]*$/u.test(text.trim()) ? undefined : 'That is no name of a user.';
}

async function groupsOf(session: Session, { config, id, ...running }: RunningPortal, user: string): Promise<readonly string[]> {
  if (nameProblem(user) !== undefined)
    throw new Fault({ code: 'usage.user', message: 'That is no name of a user.', remedy: 'Name another one.' });
  if (config.usersFile === undefined) {
    session.show({ kind: 'text', text: `The users of ${id} are in a directory: tested without their groups.` });
    return [];
  }
  const file = new MountedFile(running, config.usersFile);
  const found = new UsersFile((await file.read(session.signal)) ?? 'users: {}', file.shown).user(user);
  if (!found) session.show({ kind: 'text', text: `There is no user ${cleanLine(user)} in the file: tested without groups.` });
  return found?.groups.filter((group) => !/[,"]/.test(group)).map(cleanLine) ?? [];
}
