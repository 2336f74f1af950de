import { Fault } from '../faults/fault.ts';
import { shown, tryLink } from '../products/object-storage.ts';
import { linkWindow, longestLinkSeconds } from '../products/request-signature.ts';
import { parseDuration } from '../session/answer-checks.ts';
import { cleanLine } from '../text/clean.ts';
import { agoText, durationText } from '../text/quantities.ts';
import { objectsCheckAbout, objectsLinkAbout } from './about-objects.ts';
import type { Flow } from './flow.ts';
import { optionOf, wordsUpTo } from './flow-options.ts';
import { factsOf, objectAsked, objectsPlace, openObjects } from './objects-open.ts';

const usage = 'objects link COMPONENT BUCKET/KEY [--for 1h] [--base https://s3.example.org]';
/** Long enough to copy it. */
const shownSeconds = 60;
const usualSeconds = 3600;

export const objectsLink: Flow = {
  ...objectsLinkAbout,
  async run(session, input, world) {
    const [word] = wordsUpTo(1, input, { takes: 'One object at a time', remedy: `quarterdeck ${usage}` });
    const name = await objectAsked(session, word, usage);
    const seconds = secondsOf(optionOf(input, 'for'));
    const base = baseOf(optionOf(input, 'base'));
    const { store, target } = await openObjects(session, input, world);
    await factsOf(store, name, session.signal);
    const { address, tls } = store.place;
    const own = new URL(`${tls ? 'https' : 'http'}://${address.host.includes(':') ? `[${address.host}]` : address.host}:${address.port}`);
    const made = await session.act({
      id: 'link',
      right: 'reveal',
      request: `sign a link to ${shown(name)} for ${durationText(seconds * 1000)}`,
      target,
      run: async () => {
        const { url, untilMs } = store.link(name, seconds, base ?? own);
        session.show({
          kind: 'secret',
          label: `Link to ${shown(name)}`,
          value: url,
          secondsLeft: shownSeconds,
          ...(input.options['plain'] === true && { plain: true as const }),
        });
        return { untilMs };
      },
    });
    if (!made) return { message: 'Rehearsed: no link was made.' };
    const near =
      base === undefined && address.near
        ? ` It leads to ${own.host}, which is ${input.place} alone: --base names the address that others use.`
        : '';
    return {
      message: `Whoever has the link may read ${shown(name)} until ${new Date(made.untilMs).toISOString()}.${near}`,
      data: { ...name, until: new Date(made.untilMs).toISOString() },
    };
  },
};

export const objectsCheck: Flow = {
  ...objectsCheckAbout,
  async run(session, input, world) {
    const written = input.stdin
      ? new TextDecoder().decode(input.stdin).trim()
      : (
          await session.ask.secret({
            id: 'link',
            label: 'Which link?',
            help: 'Whoever has it gets in: it is neither shown nor kept.',
            check: linkProblem,
          })
        ).trim();
    session.hide(written);
    const problem = linkProblem(written);
    if (problem !== undefined)
      throw new Fault({
        code: 'usage.link',
        message: problem,
        remedy: 'Take the whole link, with all that stands behind the question mark.',
      });
    const url = new URL(written);
    session.hide(url.searchParams.get('X-Amz-Signature') ?? written);
    const window = linkWindow(url);
    const nowMs = Date.now();
    const path = cleanLine(decoded(url.pathname).slice(1));
    const said = (message: string, holds: boolean, asked: boolean) => ({
      message,
      data: {
        object: path,
        holds,
        asked,
        ...(window && { from: new Date(window.fromMs).toISOString(), until: new Date(window.untilMs).toISOString() }),
      },
      exitCode: holds ? 0 : 1,
    });
    // The time stands in the link: nobody need be asked.
    if (window && nowMs >= window.untilMs) return said(`The link to ${path} has expired ${agoText(nowMs - window.untilMs)}.`, false, false);
    const place = await objectsPlace(session, input, world);
    const refused = await tryLink(place, url, session.signal);
    if (refused?.code === 'refused.expired')
      return said(`The link to ${path} has expired, says the server${window ? '; by this clock it would hold still' : ''}.`, false, true);
    if (refused) throw refused;
    return said(`The link to ${path} holds${window ? ` for another ${durationText(window.untilMs - nowMs)}` : ''}.`, true, true);
  },
};

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

function linkProblem(text: string): string | undefined {
  const url = URL.canParse(text.trim()) ? new URL(text.trim()) : undefined;
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:')) return 'That is no link: it begins with http:// or https://.';
  return url.searchParams.has('X-Amz-Signature') ? undefined : 'That link has no signature: it is none that lets one in.';
}

function secondsOf(written: string | undefined): number {
  const seconds = written === undefined ? usualSeconds : parseDuration(written);
  if (seconds !== undefined && seconds >= 1 && seconds <= longestLinkSeconds) return seconds;
  throw new Fault({
    code: 'usage.for',
    message: `--for takes a duration up to 7d, not "${cleanLine(written ?? '')}".`,
    remedy: 'For example: --for 10m',
  });
}

function baseOf(written: string | undefined): URL | undefined {
  if (written === undefined) return undefined;
  const url = URL.canParse(written) ? new URL(written) : undefined;
  if (url && (url.protocol === 'http:' || url.protocol === 'https:') && url.pathname === '/' && url.search === '' && url.username === '')
    return url;
  throw new Fault({
    code: 'usage.base',
    message: `--base takes an address without a path, not "${cleanLine(written)}": with a path in front signatures are wrong.`,
    remedy: 'For example: --base https://s3.example.org',
  });
}
