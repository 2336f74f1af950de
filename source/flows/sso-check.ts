import { Fault } from '../faults/fault.ts';
import { httpPlaceOf } from '../products/component-http.ts';
import { askAsProxy, type Verdict } from '../products/sso-portal.ts';
import { cleanLine } from '../text/clean.ts';
import { ssoCheckAbout } from './about-sso.ts';
import type { Flow } from './flow.ts';
import { wordsUpTo } from './flow-options.ts';
import { portalOf, type RunningPortal } from './sso-target.ts';
import { askUrl } from './sso-test.ts';

export const ssoCheck: Flow = {
  ...ssoCheckAbout,
  async run(session, input, world) {
    const running = await portalOf(session, input, world);
    const { entry, target, config, id } = running;
    wordsUpTo(1, input, { takes: 'One address at a time', remedy: 'Run it once for each.' });
    const url = await askUrl(session, input, running);
    const place = httpPlaceOf(target, entry.speaks?.port ?? 'web');
    const endpoint = endpointOf(running);
    const portal = config.domains.find(({ domain }) => isBelow(url.hostname, domain))?.portal ?? config.domains[0]?.portal ?? '';
    const seen: { browser: boolean; verdict: Verdict; meaning: Meaning }[] = [];
    for (const browser of [true, false]) {
      const verdict = await askAsProxy(place, { endpoint, url, method: 'GET', browser, from: undefined, portal }, session.signal);
      const meaning = meaningOf(verdict, { url, browser, config });
      seen.push({ browser, verdict, meaning });
      session.show({
        kind: 'item',
        id: browser ? 'browser' : 'program',
        title: `${browser ? 'A browser' : 'A program'} without a login`,
        state: meaning.state,
        evidence: `status ${verdict.status}: ${meaning.sentence}`,
      });
    }
    const [first] = seen;
    return {
      message: `${url.host}: ${first?.meaning.summary ?? ''} Which rule decides: quarterdeck sso test ${id} ${url.href}`,
      data: {
        url: url.href,
        endpoint: endpoint === 'legacy' ? '/api/verify' : '/api/authz/forward-auth',
        answers: seen.map(({ browser, verdict, meaning }) => ({
          as: browser ? 'browser' : 'program',
          status: verdict.status,
          ...(verdict.location !== undefined && { location: cleanLine(verdict.location) }),
          meaning: meaning.sentence,
        })),
      },
    };
  },
};

/** The one that current proxies ask; what the configuration names replaces the product's own. */
function endpointOf({ config, id }: RunningPortal): 'forward-auth' | 'legacy' {
  const { authz } = config;
  if (authz['forward-auth'] !== undefined) return 'forward-auth';
  if (Object.values(authz).includes('Legacy')) return 'legacy';
  throw new Fault({
    code: 'failed.portal',
    message: `${id} has endpoints of its own (${Object.keys(authz).map(cleanLine).join(', ')}), and none that a proxy asks with forward-auth.`,
    remedy: 'Look at server.endpoints.authz in its configuration.',
  });
}

interface Meaning {
  state: 'ok' | 'warning' | 'blocked';
  sentence: string;
  summary: string;
}

/** What the proxy makes of the answer (reference/authelia.md). */
export function meaningOf(
  { status, location, remote }: Verdict,
  { url, browser, config }: { url: URL; browser: boolean; config: Pick<RunningPortal['config'], 'domains'> },
): Meaning {
  if (status === 200) {
    const as = remote['remote-user'] ? ` as ${cleanLine(remote['remote-user'])}` : '';
    return {
      state: 'warning',
      sentence: `let through${as}. Nobody is logged in, so this name has the policy bypass.`,
      summary: 'everybody gets through, without a login.',
    };
  }
  if (status === 302 || status === 303) {
    return {
      state: 'ok',
      sentence: `sent to the portal to log in (${cleanLine(location ?? 'nowhere: it names no place')}).`,
      summary: 'protected, people are sent to the portal to log in.',
    };
  }
  if (status === 401) {
    return browser
      ? {
          state: 'warning',
          sentence:
            'turned away without being sent to the portal: it does not know where that is. Give the proxy rule the address, or set authelia_url.',
          summary: 'protected, but people are not led to the portal.',
        }
      : { state: 'ok', sentence: 'turned away, and not sent anywhere: programs cannot log in on a page.', summary: 'protected.' };
  }
  if (status === 403) {
    return {
      state: 'blocked',
      sentence: 'forbidden, whoever it is: the rule that is taken, or the default policy, is deny.',
      summary: 'nobody gets through.',
    };
  }
  if (status === 400) return { ...refusal(url, config), state: 'blocked' };
  if (status === 404) {
    return {
      state: 'blocked',
      sentence: 'the portal has no such endpoint: it is older than 4.38, or its configuration names others.',
      summary: 'the portal cannot be asked this way.',
    };
  }
  return { state: 'blocked', sentence: 'an answer that no proxy lets through.', summary: `the portal fails with status ${status}.` };
}

function refusal(url: URL, { domains }: Pick<RunningPortal['config'], 'domains'>): Omit<Meaning, 'state'> {
  if (url.protocol === 'http:' || url.protocol === 'ws:') {
    return {
      sentence:
        'refused: the portal protects https alone, since its cookie could be read otherwise. The proxy has to end TLS, and to say so in X-Forwarded-Proto.',
      summary: 'the portal refuses to protect plain http.',
    };
  }
  if (!domains.some(({ domain }) => isBelow(url.hostname, domain))) {
    return {
      sentence: `refused: the name is in none of the portal's cookie domains (${domains.map(({ domain }) => cleanLine(domain)).join(', ') || 'none'}).`,
      summary: 'the portal does not know this domain.',
    };
  }
  return {
    sentence: 'refused: the portal misses something in the question. Its log says what.',
    summary: 'the portal refuses the question.',
  };
}

function isBelow(host: string, domain: string): boolean {
  return domain !== '' && (host === domain || host.endsWith(`.${domain}`));
}
