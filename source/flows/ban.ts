import { Fault } from '../faults/fault.ts';
import { type BanTarget, parseBanTarget, targetWords } from '../products/ban-target.ts';
import type { BanOrder, Crowdsec } from '../products/crowdsec.ts';
import { type Bouncer, bouncersOf } from '../products/crowdsec-lists.ts';
import { type Decision, isShared } from '../products/crowdsec-records.ts';
import { goDurationText } from '../products/go-duration.ts';
import { parseDuration } from '../session/answer-checks.ts';
import type { Session } from '../session/session.ts';
import { isOneAddress } from '../text/address-span.ts';
import { cleanLine } from '../text/clean.ts';
import { agoText, numberText } from '../text/quantities.ts';
import { banAbout } from './about-prevention.ts';
import { leftText } from './decision-words.ts';
import type { Flow, FlowInput } from './flow.ts';
import { wordsUpTo } from './flow-options.ts';
import { type Guarded, lockOutReason, publicWays, refuseLockOut } from './lock-out.ts';
import { guardsOf } from './lock-out-facts.ts';
import {
  answerOr,
  flagSeconds,
  leavingSays,
  lookingIn,
  remarkProblem,
  requestText,
  spanProblem,
  spokenDuration,
} from './prevention-questions.ts';
import { preventionOf } from './prevention-target.ts';

const usualDuration = '4h';
/** What passes between an order and the look at what came of it. */
const slackMs = 120_000;
/** A bouncer that has not asked for so long may be down. */
const silentMs = 15 * 60_000;
/** From here on whoever bans a range is asked once more. */
const wideAddresses = { 4: 1n << 16n, 6: 1n << 96n } as const;

export const ban: Flow = {
  ...banAbout,
  async run(session, input, world) {
    const { place } = input;
    const { crowdsec, component } = await preventionOf(world, input, lookingIn(session));
    session.progress({ id: 'look', label: 'Looking who must not be locked out' });
    const guards = await guardsOf(world, place, crowdsec, session.signal);
    session.progress({ id: 'look', label: '', done: true });
    let target: BanTarget | undefined;
    const order = await leavingSays(
      () => (target ? `${target.shown} was not banned.` : 'Nobody was banned.'),
      async (): Promise<BanOrder> => {
        target = await chooseTarget(session, input, guards);
        return orderFor(session, input, target);
      },
    );
    // Answering takes its time, and who moves comes from elsewhere by now.
    refuseLockOut(order.target, [...guards, ...(session.attended ? await guardsOf(world, place, undefined, session.signal) : [])]);

    const consequences = consequencesOf(order.target, guards);
    await session.act({
      id: 'ban',
      right: consequences.length > 0 ? 'destroy' : 'operate',
      title: `Ban ${order.target.shown} for ${spokenDuration(order.seconds)}`,
      request: requestText(crowdsec.banWords(order)),
      target: { host: place, ...(component && { component: component.key }) },
      ...(consequences.length > 0 && { consequences }),
      done: async () => (await standing(crowdsec, order, session.signal)) !== undefined,
      run: (grant) => crowdsec.ban(grant, order),
    });
    if (session.rehearsing) return { message: `Rehearsed: ${order.target.shown} was not banned.` };
    return told(session, crowdsec, order);
  },
};

async function chooseTarget(session: Session, input: FlowInput, guards: readonly Guarded[]): Promise<BanTarget> {
  const [written] = wordsUpTo(1, input, { takes: 'One address, range or country at a time', remedy: 'Run it once for each.' });
  if (written !== undefined) return targetOf(written);
  const among = amongOf(input);
  if (among.length > 0) return oneOf(session, among, guards);
  const answer = await session.ask.text({
    id: 'target',
    label: 'Address, range or country',
    help: 'For example 192.0.2.7, 192.0.2.0/24, 2001:db8::/32 or FR. What would lock you out is refused.',
    check: (text) => {
      const parsed = parseBanTarget(text);
      if (typeof parsed === 'string') return parsed;
      return session.attended ? lockOutReason(parsed, guards) : undefined;
    },
  });
  return targetOf(answer);
}

/** Addresses that stand in the log line which somebody bans from. */
function amongOf({ options }: FlowInput): BanTarget[] {
  const written = typeof options['among'] === 'string' ? options['among'].split(' ').filter(Boolean) : [];
  return written.map(parseBanTarget).filter((target) => typeof target !== 'string');
}

async function oneOf(session: Session, among: readonly BanTarget[], guards: readonly Guarded[]): Promise<BanTarget> {
  const free = among.filter((target) => lockOutReason(target, guards) === undefined);
  const [first, second] = free;
  if (!first) {
    for (const target of among) refuseLockOut(target, guards);
    throw new Error('one of them would lock somebody out');
  }
  if (!second) return first;
  const chosen = await session.ask.choice({
    id: 'target',
    label: 'Which of the addresses in this line?',
    choices: free.slice(0, 20).map(({ value }) => ({ value, label: value })),
    initial: first.value,
  });
  return targetOf(chosen);
}

/** Throws `usage.target`. */
export function targetOf(written: string): BanTarget {
  const parsed = parseBanTarget(written);
  if (typeof parsed !== 'string') return parsed;
  throw new Fault({ code: 'usage.target', message: parsed, remedy: 'For example: quarterdeck ban 192.0.2.7 --for 24h' });
}

async function orderFor(session: Session, input: FlowInput, target: BanTarget): Promise<BanOrder> {
  const { options } = input;
  const given = flagSeconds(input);
  const type = options['captcha'] === true ? 'captcha' : 'ban';
  const sends = (...more: string[]) => `Sends ${requestText(['decisions', 'add', ...targetWords(target)])} ${more.join(' ')}`;
  const seconds =
    given ??
    (await answerOr(
      () =>
        session.ask.duration({
          id: 'duration',
          label: `For how long is ${target.shown} ${type === 'ban' ? 'banned' : 'asked for a captcha'}?`,
          help: `Minutes, hours or days: 30m, 4h, 7d. ${sends('--duration ...')}`,
          initial: usualDuration,
          check: spanProblem,
        }),
      parseDuration(usualDuration) ?? 0,
    ));
  const because = typeof options['because'] === 'string' ? cleanLine(options['because']).slice(0, 120) : '';
  const flag = typeof options['reason'] === 'string' ? options['reason'] : undefined;
  const problem = flag === undefined ? undefined : remarkProblem(flag);
  if (problem !== undefined) throw new Fault({ code: 'usage.reason', message: `--reason: ${problem}`, remedy: 'Say it shorter.' });
  const reason =
    flag ??
    (await answerOr(
      () =>
        session.ask.text({
          id: 'reason',
          label: 'Why?',
          help: `Stands in the list, and may stay empty. ${sends('--duration', goDurationText(seconds), '--reason ...')}`,
          initial: because,
          check: remarkProblem,
        }),
      because,
    ));
  return { target, seconds, reason: reason.trim(), type, bypassAllowlist: options['bypass-allowlist'] === true };
}

/** What more than a few addresses means, and what nobody can see from here. */
function consequencesOf(target: BanTarget, guards: readonly Guarded[]): string[] {
  if (target.scope === 'Country') {
    const ways = publicWays(guards);
    return [
      `Everybody whose address is said to be in ${target.shown} is shut out.`,
      ...(ways.length > 0
        ? [
            `You come from ${ways.join(', ')}. Nobody can tell from here in which country that is: if it is this one, you lock yourself out.`,
          ]
        : []),
      'Bouncers of firewalls know addresses and ranges alone; those of web servers may know countries.',
    ];
  }
  const { family, first, last } = target.span;
  const count = last - first + 1n;
  if (isOneAddress(target.span) || count <= wideAddresses[family]) return [];
  return [
    `All of ${target.shown} is shut out: ${family === 4 ? `${numberText(Number(count))} addresses` : 'whole networks of many people'}.`,
  ];
}

/** What there is already, of the same kind, that lasts as long. */
async function standing(crowdsec: Crowdsec, { target, type, seconds }: BanOrder, signal: AbortSignal): Promise<Decision | undefined> {
  const untilMs = Date.now() + seconds * 1000 - slackMs;
  const about = await crowdsec.decisionsNaming(target, signal);
  return about.find(
    (decision) =>
      decision.value === target.value &&
      decision.scope.toLowerCase() === target.scope.toLowerCase() &&
      decision.type === type &&
      !decision.simulated &&
      !isShared(decision) &&
      decision.endsMs >= untilMs,
  );
}

async function told(session: Session, crowdsec: Crowdsec, order: BanOrder) {
  const { signal } = session;
  const { target, type } = order;
  const [decision, bouncers] = await Promise.all([standing(crowdsec, order, signal), bouncersOf(crowdsec, signal)]);
  if (!decision) {
    throw new Fault({
      code: 'failed.ban',
      message: `CrowdSec took the ban of ${target.shown}, and does not list it.`,
      remedy: 'Look whether an allowlist has it, and at the log of CrowdSec.',
    });
  }
  const asking = bouncers.filter(({ revoked }) => !revoked);
  const doubt = doubtOf(asking);
  // In a console a sentence that is read makes way for the next one; a doubt stays until it was seen.
  if (doubt !== undefined) session.show({ kind: 'text', text: doubt });
  return {
    message: `${target.shown} ${type === 'ban' ? 'is banned' : 'is asked for a captcha'} for ${leftText(decision.endsMs - Date.now() + 30_000)}.`,
    data: {
      scope: target.scope,
      value: target.value,
      type,
      decision: decision.id,
      until: new Date(decision.endsMs).toISOString(),
      reason: cleanLine(decision.reason),
      bouncers: asking.length,
      enforced: doubt === undefined,
    },
  };
}

/** Why it may not be enforced; undefined where somebody asks for decisions. */
function doubtOf(asking: readonly Bouncer[]): string | undefined {
  if (asking.length === 0) return 'Nothing enforces it: no bouncer is registered. To add one: quarterdeck bouncers add';
  const now = Date.now();
  if (asking.some(({ lastPullMs }) => lastPullMs !== undefined && now - lastPullMs <= silentMs)) return undefined;
  const each = asking.map(
    ({ name, lastPullMs }) =>
      `${name} ${lastPullMs === undefined ? 'has never asked for decisions' : `asked last ${agoText(now - lastPullMs)}`}`,
  );
  return `It may not be enforced: ${each.join(', ')}. Look whether the bouncer runs.`;
}
