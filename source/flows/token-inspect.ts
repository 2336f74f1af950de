import type { JSONWebKeySet } from 'jose';
import { Fault } from '../faults/fault.ts';
import type { Host } from '../hosts/host.ts';
import { discoverySuffix } from '../products/oidc-provider.ts';
import { claimRows, inspectToken, readToken } from '../products/token-inspector.ts';
import { fetchJson } from '../products/web-document.ts';
import type { Session } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { tokenAbout } from './about-identity.ts';
import type { Flow, FlowInput } from './flow.ts';
import { optionOf } from './flow-options.ts';
import { unlessLeft } from './left-early.ts';

interface Keys {
  keys?: JSONWebKeySet;
  withoutKeys?: string;
}

export const tokenInspect: Flow = {
  ...tokenAbout,
  async run(session, input, world) {
    if (input.words.length > 0) {
      throw new Fault({
        code: 'usage.token',
        message: 'A token does not belong on a command line: everybody on the machine can read that.',
        remedy: 'Type it when it is asked for, or pipe it in: --answers - takes {"token": "..."}.',
      });
    }
    const token = await unlessLeft(() => askToken(session), {
      message: 'No token was looked at.',
      remedy: 'Start it again whenever you like.',
    });
    session.hide(token);
    const { claims } = await readToken(token);
    const issuer = optionOf(input, 'issuer');
    const keys = await keysOf(session, world.hostOf(input.place), input, typeof claims.iss === 'string' ? claims.iss : undefined);
    const seen = await inspectToken(token, {
      keys: keys.keys,
      ...(keys.withoutKeys !== undefined && { withoutKeys: keys.withoutKeys }),
      issuer,
      audience: optionOf(input, 'audience'),
      nowMs: Date.now(),
    });
    session.show({ kind: 'table', columns: ['claim', 'value', 'meaning'], rows: claimRows(seen.claims) });
    for (const { id, title, state, evidence } of seen.items) session.show({ kind: 'item', id, title, state, evidence });
    const blocked = seen.items.filter(({ state }) => state === 'blocked');
    if (seen.verdict === 'refused') {
      throw new Fault({
        code: 'refused.token',
        message: `This token is not to be believed: ${blocked.map(({ title, evidence }) => `${title.toLowerCase()}: ${evidence}`).join('; ')}.`,
        remedy: 'Ask for a new one at its issuer.',
      });
    }
    return {
      message:
        seen.verdict === 'valid'
          ? 'The token is right: signed by its issuer, and not expired.'
          : 'Nothing is wrong with the token, but nobody has looked at its signature: do not believe it yet.',
      data: { verdict: seen.verdict, header: seen.header, claims: seen.claims, items: seen.items },
    };
  },
};

async function askToken(session: Session): Promise<string> {
  const typed = await session.ask.secret({
    id: 'token',
    label: 'The token',
    help: 'Three parts with dots between them. It is looked at here, sent nowhere, and forgotten.',
    check: (text) => (text.trim() === '' ? 'Paste a token, or leave with Esc.' : undefined),
  });
  return typed.trim().replace(/^bearer\s+/i, '');
}

/** Whoever made a token up can name any address in it: that one is asked only when somebody says so. */
async function keysOf(session: Session, host: Host, input: FlowInput, named: string | undefined): Promise<Keys> {
  const direct = optionOf(input, 'keys');
  if (direct !== undefined) return { keys: keySet(await fetchJson(host, direct, session.signal), direct) };
  const issuer = optionOf(input, 'issuer') ?? (await trusted(session, named));
  if (issuer === undefined) return { withoutKeys: 'nobody said where the keys of its issuer are (--issuer or --keys)' };
  const document = (await fetchJson(host, `${issuer.replace(/\/$/, '')}${discoverySuffix}`, session.signal)) as Record<string, unknown>;
  const at = document['jwks_uri'];
  if (typeof at !== 'string') return { withoutKeys: 'its issuer does not say where its keys are (no jwks_uri)' };
  return { keys: keySet(await fetchJson(host, at, session.signal), at) };
}

async function trusted(session: Session, named: string | undefined): Promise<string | undefined> {
  if (named === undefined || !named.startsWith('https://') || !session.attended || session.rehearsing) return undefined;
  const way = await session.ask.choice({
    id: 'fetch',
    label: `Ask ${cleanLine(named)} for its keys?`,
    help: 'The token names it itself, and anybody can write a token. Asking tells that server that somebody looks at it.',
    choices: [
      { value: 'no', label: 'No, look at the rest' },
      { value: 'yes', label: 'Yes, I know it', detail: `GET ${cleanLine(named)}${discoverySuffix}` },
    ],
    initial: 'no',
  });
  return way === 'yes' ? named : undefined;
}

function keySet(document: unknown, at: string): JSONWebKeySet {
  const keys = (document as { keys?: unknown } | undefined)?.keys;
  if (Array.isArray(keys)) return { keys: keys as JSONWebKeySet['keys'] };
  throw new Fault({
    code: 'failed.page',
    message: `There are no keys at ${cleanLine(at)}.`,
    remedy: 'Name the address of the key set: --keys URL',
  });
}
