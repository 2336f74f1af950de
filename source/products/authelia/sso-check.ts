import { httpEndpointOf } from '../../calls/http-client.ts';
import { Fault } from '../../faults/fault.ts';
import { argumentOrPrompt } from '../../flows/argument-or-prompt.ts';
import type { FlowInput, Procedure } from '../../flows/flow.ts';
import { wordsUpTo } from '../../flows/flow-options.ts';
import { showList } from '../../flows/list-table.ts';
import type { Session } from '../../session/session.ts';
import { cleanLine } from '../../text/clean.ts';
import { countText } from '../../text/quantities.ts';
import { MountedFile } from './client/mounted-file.ts';
import { requestAsProxy, type Verdict } from './client/sso-portal.ts';
import { UsersFile } from './client/sso-users.ts';
import { portalOf, type RunningPortal } from './sso-target.ts';

export const ssoCheck: Procedure = async (session, input, context) => {
  const running = await portalOf(session, input, context);
  const { entry, target, config, id } = running;
  wordsUpTo(1, input, { takes: 'Check one address at a time', remedy: 'Run the command once for each address.' });
  const url = await askUrl(session, input, running);
  const address = httpEndpointOf(target, entry.api?.port ?? 'web');
  const endpoint = endpointOf(running);
  const portal = config.domains.find(({ domain }) => isBelow(url.hostname, domain))?.portal ?? config.domains[0]?.portal ?? '';
  const answers: { as: string; status: number; location?: string; meaning: string }[] = [];
  let first: Meaning | undefined;
  for (const as of ['browser', 'program']) {
    const browser = as === 'browser';
    const verdict = await requestAsProxy(address, { endpoint, url, browser, portal }, session.signal);
    const { status, location } = verdict;
    const meaning = meaningOf(verdict, { url, browser, config });
    first ??= meaning;
    answers.push({ as, status, ...(location !== undefined && { location: cleanLine(location) }), meaning: meaning.sentence });
    const evidence = `status ${status}: ${meaning.sentence}`;
    session.show({ kind: 'item', id: as, title: `A ${as} without a login`, state: meaning.state, evidence });
  }
  const path = endpoint === 'legacy' ? '/api/verify' : '/api/authz/forward-auth';
  return {
    message: `${url.host}: ${first?.summary ?? ''} To see which rule applies: quarterdeck sso test ${id} ${url.href}`,
    data: { url: url.href, endpoint: path, answers },
  };
};

/** Returns the endpoint that current proxies query. Endpoints in the configuration replace the product's defaults. */
function endpointOf({ config, id }: RunningPortal): 'forward-auth' | 'legacy' {
  const { authz } = config;
  if (authz['forward-auth'] !== undefined) return 'forward-auth';
  if (Object.values(authz).includes('Legacy')) return 'legacy';
  const message = `${id} has custom endpoints (${Object.keys(authz).map(cleanLine).join(', ')}), but none for forward-auth.`;
  throw new Fault('failed.portal', message, 'Check server.endpoints.authz in the configuration of the portal.');
}

type Meaning = ReturnType<typeof means>;

const withoutAddress =
  'denied without a redirect, because the address of the portal is not configured. Add the address to the proxy rule, or set authelia_url.';
const withoutEndpoint = 'the portal has no such endpoint: its version is older than 4.38, or its configuration defines other endpoints.';
const means = (state: 'ok' | 'warning' | 'blocked', sentence: string, summary: string) => ({ state, sentence, summary });

/** Describes how the proxy interprets the answer (reference/authelia.md). */
export function meaningOf(
  { status, location, user }: Verdict,
  { url, browser, config }: { url: URL; browser: boolean; config: Pick<RunningPortal['config'], 'domains'> },
): Meaning {
  switch (status) {
    case 200: {
      const as = user ? ` as ${cleanLine(user)}` : '';
      const sentence = `allowed${as} without a login, so the bypass policy applies to this address.`;
      return means('warning', sentence, 'anyone is allowed without a login.');
    }
    case 302:
    case 303: {
      const sentence = `redirected to the portal to log in (${cleanLine(location ?? 'no redirect address')}).`;
      return means('ok', sentence, 'protected: users are redirected to the portal to log in.');
    }
    case 401:
      if (!browser) return means('ok', 'denied without a redirect, because programs cannot log in on a page.', 'protected.');
      return means('warning', withoutAddress, 'protected, but users are not redirected to the portal.');
    case 403:
      return means('blocked', 'forbidden even with a login: the matching rule, or the default policy, is deny.', 'access is denied.');
    case 400:
      return refusal(url, config);
    case 404:
      return means('blocked', withoutEndpoint, 'the portal does not support this check.');
    default:
      return means('blocked', 'a response that reverse proxies do not accept.', `the portal returned status ${status}.`);
  }
}

function refusal(url: URL, { domains }: Pick<RunningPortal['config'], 'domains'>): Meaning {
  if (url.protocol === 'http:' || url.protocol === 'ws:') {
    const sentence = 'refused: the portal protects only HTTPS. The reverse proxy must terminate TLS and set X-Forwarded-Proto.';
    return means('blocked', sentence, 'the portal does not protect plain HTTP.');
  }
  if (!domains.some(({ domain }) => isBelow(url.hostname, domain))) {
    const named = domains.map(({ domain }) => cleanLine(domain)).join(', ');
    const why = named === '' ? 'the portal has no cookie domains' : `the name is not in a cookie domain of the portal (${named})`;
    return means('blocked', `refused: ${why}.`, 'the portal is not configured for this domain.');
  }
  const sentence = 'refused: the portal considers the request incomplete. Check the log of the portal.';
  return means('blocked', sentence, 'the portal rejects the request.');
}

const isBelow = (host: string, domain: string) => domain !== '' && (host === domain || host.endsWith(`.${domain}`));

export const ssoRules: Procedure = async (session, input, context) => {
  const { id, config } = await portalOf(session, input, context);
  const { rules, defaultPolicy } = config;
  const rows = [...rules, { domains: ['everything else'], policy: defaultPolicy, criteria: [] }];
  showList(
    session,
    rows.map((rule, index) => ({ ...rule, number: index < rules.length ? String(index + 1) : '' })),
    {
      RULE: ({ number }) => number,
      DOMAIN: ({ domains }) => cleanLine(domains.join(', ')),
      POLICY: ({ policy }) => cleanLine(policy),
      'ONLY FOR': ({ criteria }) => cleanLine(criteria.join('; ')),
    },
    { right: ['RULE'] },
  );
  return {
    message: `${id} has ${countText(rules.length, 'rule')}; the first match applies. Default policy: ${cleanLine(defaultPolicy)}.`,
    data: { rules, defaultPolicy },
  };
};

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

export const ssoTest: Procedure = async (session, input, context) => {
  const running = await portalOf(session, input, context);
  const { portal, config, id } = running;
  wordsUpTo(2, input, { takes: 'Pass one address and one user', remedy: 'Run the command once for each address and user.' });
  const url = await askUrl(session, input, running);
  const user = await argumentOrPrompt(session, {
    ...{ id: 'user', given: input.words[1] ?? (session.attended ? undefined : ''), code: 'usage.user', remedy: 'Specify another user.' },
    label: 'User',
    initial: '',
    help: 'Leave empty to test without a login.',
    check: (text) => (/^(?:[\p{L}\p{N}][^\s,]*)?$/u.test(text.trim()) ? undefined : 'Start with a letter or a digit; no spaces or commas.'),
  });
  const groups = user === '' ? [] : await groupsOf(session, running, user);
  const { method = 'GET', from = '' } = input.options;
  if (typeof method !== 'string' || !methods.includes(method.toUpperCase()))
    throw new Fault('usage.method', `Unknown request method "${cleanLine(String(method))}".`, `Use one of ${methods.join(', ')}.`);
  const asked = { url: url.href, method: method.toUpperCase(), username: user, groups: groups.join(','), ip: String(from) };
  const result = readPolicyCheck(await portal.checkPolicy(asked, session.signal));
  const who = `${user === '' ? 'without a login' : `as ${user}`}${groups.length > 0 ? ` (${groups.join(', ')})` : ''}`;
  session.show({
    kind: 'table',
    title: `${asked.method} ${url.href} ${who}`,
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

const meanings: Readonly<Record<string, string>> = { hit: 'matches', miss: 'does not match', may: 'may match after a login' };

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

async function askUrl(session: Session, input: FlowInput, { config }: RunningPortal): Promise<URL> {
  const domain = config.domains[0]?.domain;
  const written = await argumentOrPrompt(session, {
    ...{ id: 'url', given: input.words[0], code: 'usage.url', remedy: 'For example: https://media.example.org/' },
    label: 'Address',
    help: 'The address that you open in a browser.',
    initial: domain === undefined ? 'https://' : `https://media.${domain}/`,
    check: urlProblem,
  });
  return new URL(withScheme(written));
}

const withScheme = (text: string) => (/^[a-z]+:\/\//i.test(text.trim()) ? text.trim() : `https://${text.trim()}`);

function urlProblem(text: string): string | undefined {
  const written = withScheme(text);
  if (!URL.canParse(written) || !/^(?:https?|wss?):$/.test(new URL(written).protocol)) return 'Enter an http or https address.';
  const { username, password } = new URL(written);
  return username || password ? 'Remove the credentials from the address.' : undefined;
}

async function groupsOf(session: Session, { config, id, ...running }: RunningPortal, user: string): Promise<readonly string[]> {
  if (config.usersFile === undefined) {
    session.show({ kind: 'text', text: `The users of ${id} are in a directory, so the test uses no groups.` });
    return [];
  }
  const file = new MountedFile(running, config.usersFile);
  const found = new UsersFile((await file.read(session.signal)) ?? 'users: {}', file.shown).user(user);
  if (!found) session.show({ kind: 'text', text: `User ${cleanLine(user)} is not in the file, so the test uses no groups.` });
  return found?.groups.filter((group) => !/[,"]/.test(group)).map(cleanLine) ?? [];
}
