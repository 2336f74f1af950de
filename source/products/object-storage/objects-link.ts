import { Fault } from '../../faults/fault.ts';
import type { Procedure } from '../../flows/flow.ts';
import { optionOf, showSecret, wordsUpTo } from '../../flows/flow-options.ts';
import { parseDuration } from '../../session/answer-checks.ts';
import { authority } from '../../text/authority.ts';
import { cleanLine } from '../../text/clean.ts';
import { agoText, durationText } from '../../text/quantities.ts';
import { unlessThrown } from '../../text/unless-thrown.ts';
import { shown, tryLink } from './client/object-storage.ts';
import { linkWindow, longestLinkSeconds } from './client/request-signature.ts';
import { factsOf, openObjects, readEndpoint, requireObject } from './objects.ts';

const usage = 'objects link COMPONENT BUCKET/KEY [--for 1h] [--base https://s3.example.org]';
/** Enough time to copy the link. */
const shownSeconds = 60;
const usualSeconds = 3600;

export const objectsLink: Procedure = async (session, input, context) => {
  const [word] = wordsUpTo(1, input, { takes: 'Specify one object at a time', remedy: `Usage: quarterdeck ${usage}` });
  const name = await requireObject(session, word, usage);
  const seconds = secondsOf(optionOf(input, 'for'));
  const base = baseOf(optionOf(input, 'base'));
  const { store } = await openObjects(session, input, context);
  await factsOf(store, name, session.signal);
  const { address, tls } = store.endpoint;
  const own = new URL(`${tls ? 'https' : 'http'}://${authority(address)}`);
  const made = await session.act({
    id: 'link',
    right: 'reveal',
    request: `sign a link to ${shown(name)} that is valid for ${durationText(seconds * 1000)}`,
    run: async () => {
      const { url, untilMs } = store.link(name, seconds, base ?? own);
      showSecret(session, input, { label: `Link to ${shown(name)}`, value: url, secondsLeft: shownSeconds });
      return { untilMs };
    },
  });
  if (!made) return { message: 'Dry run: no link was created.' };
  const until = new Date(made.untilMs).toISOString();
  const near = ` The link uses ${own.host}, which is reachable only on ${input.engineName}. Use --base to set an address that others can reach.`;
  return {
    message: `Anyone with the link can read ${shown(name)} until ${until}.${base === undefined && address.near ? near : ''}`,
    data: { ...name, until },
  };
};

export const objectsCheck: Procedure = async (session, input, context) => {
  const help = 'The link grants access to anyone who has it, so it is neither shown nor stored.';
  const ask = () => session.ask.secret({ id: 'link', label: 'Link', help, check: linkProblem });
  const written = (input.stdin ? new TextDecoder().decode(input.stdin) : await ask()).trim();
  session.hide(written);
  const problem = linkProblem(written);
  if (problem !== undefined) throw new Fault('usage.link', problem, 'Use the whole link, including everything after the question mark.');
  const url = new URL(written);
  session.hide(url.searchParams.get('X-Amz-Signature') ?? written);
  const window = linkWindow(url);
  const nowMs = Date.now();
  const path = cleanLine(unlessThrown(() => decodeURIComponent(url.pathname), url.pathname).slice(1));
  const times = window && { from: new Date(window.fromMs).toISOString(), until: new Date(window.untilMs).toISOString() };
  const said = (message: string, holds: boolean, asked: boolean) => {
    return { message, data: { object: path, holds, asked, ...times }, exitCode: holds ? 0 : 1 };
  };
  // The link contains its expiry time, so no request is needed.
  if (window && nowMs >= window.untilMs) return said(`The link to ${path} expired ${agoText(nowMs - window.untilMs)}.`, false, false);
  const { endpoint } = await readEndpoint(session, input, context);
  const refused = await tryLink(endpoint, url, session.signal);
  if (refused && refused.code !== 'refused.expired') throw refused;
  const unlike = window ? ', but not according to the clock of this machine' : '';
  if (refused) return said(`The link to ${path} has expired according to the server${unlike}.`, false, true);
  return said(`The link to ${path} is valid${window ? ` for another ${durationText(window.untilMs - nowMs)}` : ''}.`, true, true);
};

function linkProblem(text: string): string | undefined {
  const url = URL.canParse(text.trim()) ? new URL(text.trim()) : undefined;
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:')) return 'A link must start with http:// or https://.';
  return url.searchParams.has('X-Amz-Signature') ? undefined : 'The link is not signed: X-Amz-Signature is missing.';
}

function secondsOf(written: string | undefined): number {
  const seconds = written === undefined ? usualSeconds : parseDuration(written);
  if (seconds !== undefined && seconds >= 1 && seconds <= longestLinkSeconds) return seconds;
  throw new Fault('usage.for', `--for must be a duration up to 7d, not "${cleanLine(written ?? '')}".`, 'For example: --for 10m');
}

function baseOf(written: string | undefined): URL | undefined {
  if (written === undefined) return undefined;
  const url = URL.canParse(written) ? new URL(written) : undefined;
  if (url && (url.protocol === 'http:' || url.protocol === 'https:') && url.pathname === '/' && url.search === '' && url.username === '')
    return url;
  const message = `--base must be an address without a path, not "${cleanLine(written)}", because a path invalidates the signature.`;
  throw new Fault('usage.base', message, 'For example: --base https://s3.example.org');
}
