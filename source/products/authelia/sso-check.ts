import { httpEndpointOf } from '../../calls/http-client.ts';
import { Fault } from '../../faults/fault.ts';
import type { Procedure } from '../../flows/flow.ts';
import { wordsUpTo } from '../../flows/flow-options.ts';
import { showList } from '../../flows/list-table.ts';
import { cleanLine } from '../../text/clean.ts';
import { countText } from '../../text/quantities.ts';
import { askAsProxy, type Verdict } from './client/sso-portal.ts';
import { portalOf, type RunningPortal } from './sso-target.ts';
import { askUrl } from './sso-test.ts';

export const ssoCheck: Procedure = async (session, input, context) => {
  const running = await portalOf(session, input, context);
  const { entry, target, config, id } = running;
  wordsUpTo(1, input, { takes: 'One address at a time', remedy: 'Run it once for each.' });
  const url = await askUrl(session, input, running);
  const address = httpEndpointOf(target, entry.api?.port ?? 'web');
  const endpoint = endpointOf(running);
  const portal = config.domains.find(({ domain }) => isBelow(url.hostname, domain))?.portal ?? config.domains[0]?.portal ?? '';
  const answers: { as: string; status: number; location?: string; meaning: string }[] = [];
  let first: Meaning | undefined;
  for (const as of ['browser', 'program']) {
    const browser = as === 'browser';
    const verdict = await askAsProxy(address, { endpoint, url, browser, portal }, session.signal);
    const { status, location } = verdict;
    const meaning = meaningOf(verdict, { url, browser, config });
    first ??= meaning;
    answers.push({ as, status, ...(location !== undefined && { location: cleanLine(location) }), meaning: meaning.sentence });
    const evidence = `status ${status}: ${meaning.sentence}`;
    session.show({ kind: 'item', id: as, title: `A ${as} without a login`, state: meaning.state, evidence });
  }
  const path = endpoint === 'legacy' ? '/api/verify' : '/api/authz/forward-auth';
  return {
    message: `${url.host}: ${first?.summary ?? ''} Which rule decides: quarterdeck sso test ${id} ${url.href}`,
    data: { url: url.href, endpoint: path, answers },
  };
};

/** Returns the endpoint that current proxies query. Endpoints in the configuration replace the product's defaults. */
function endpointOf({ config, id }: RunningPortal): 'forward-auth' | 'legacy' {
  const { authz } = config;
  if (authz['forward-auth'] !== undefined) return 'forward-auth';
  if (Object.values(authz).includes('Legacy')) return 'legacy';
  throw new Fault(
    'failed.portal',
    `${id} has endpoints of its own (${Object.keys(authz).map(cleanLine).join(', ')}), and none that a proxy asks with forward-auth.`,
    'Look at server.endpoints.authz in its configuration.',
  );
}

type Meaning = ReturnType<typeof means>;

const means = (state: 'ok' | 'warning' | 'blocked', sentence: string, summary: string) => ({ state, sentence, summary });

/** Describes how the proxy interprets the answer (reference/authelia.md). */
export function meaningOf(
  { status, location, user }: Verdict,
  { url, browser, config }: { url: URL; browser: boolean; config: Pick<RunningPortal['config'], 'domains'> },
): Meaning {
  switch (status) {
    case 200: {
      const as = user ? ` as ${cleanLine(user)}` : '';
      const sentence = `let through${as}. Nobody is logged in, so this name has the policy bypass.`;
      return means('warning', sentence, 'everybody gets through, without a login.');
    }
    case 302:
    case 303: {
      const sentence = `sent to the portal to log in (${cleanLine(location ?? 'nowhere: it names no place')}).`;
      return means('ok', sentence, 'protected, people are sent to the portal to log in.');
    }
    case 401:
      if (!browser) return means('ok', 'turned away, and not sent anywhere: programs cannot log in on a page.', 'protected.');
      return means(
        'warning',
        'turned away without being sent to the portal: it does not know where that is. Give the proxy rule the address, or set authelia_url.',
        'protected, but people are not led to the portal.',
      );
    case 403:
      return means('blocked', 'forbidden, whoever it is: the rule that is taken, or the default policy, is deny.', 'nobody gets through.');
    case 400:
      return refusal(url, config);
    case 404:
      return means(
        'blocked',
        'the portal has no such endpoint: it is older than 4.38, or its configuration names others.',
        'the portal cannot be asked this way.',
      );
    default:
      return means('blocked', 'an answer that no proxy lets through.', `the portal fails with status ${status}.`);
  }
}

function refusal(url: URL, { domains }: Pick<RunningPortal['config'], 'domains'>): Meaning {
  if (url.protocol === 'http:' || url.protocol === 'ws:')
    return means(
      'blocked',
      'refused: the portal protects https alone, since its cookie could be read otherwise. The proxy has to end TLS, and to say so in X-Forwarded-Proto.',
      'the portal refuses to protect plain http.',
    );
  if (!domains.some(({ domain }) => isBelow(url.hostname, domain))) {
    const named = domains.map(({ domain }) => cleanLine(domain)).join(', ') || 'none';
    const sentence = `refused: the name is in none of the portal's cookie domains (${named}).`;
    return means('blocked', sentence, 'the portal does not know this domain.');
  }
  return means('blocked', 'refused: the portal misses something in the question. Its log says what.', 'the portal refuses the question.');
}

function isBelow(host: string, domain: string): boolean {
  return domain !== '' && (host === domain || host.endsWith(`.${domain}`));
}

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
    message: `${id} has ${countText(rules.length, 'rule')}; the first that matches wins, and where none does the policy is ${cleanLine(defaultPolicy)}.`,
    data: { rules, defaultPolicy },
  };
};
