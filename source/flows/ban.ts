import { Fault } from '../faults/fault.ts';
import type { Grant } from '../grants/grant.ts';
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
import { type Guarded, isOperatorKnown, lockOutDoubts, lockOutReason, publicWays, refuseLockOut } from './lock-out.ts';
import { guardsOf } from './lock-out-facts.ts';
import { dateText } from './mesh-words.ts';
import {
  answerOr,
  endDecision,
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

    const before = await standing(crowdsec, order, session.signal);
    const [longest] = before;
    const longer = before.filter(({ endsMs }) => endsMs > untilMs(order) + slackMs);
    const replaces = longest && longer.length > 0 ? await replacesLonger(session, input, order, longest) : false;
    if (longest && longer.length > 0 && !replaces) {
      const message = `${alreadyText(order, longest)} The ban for ${spokenDuration(order.seconds)} was not sent: it would have no effect. --replace ends the longer one.`;
      return { message, data: { ...(await dataOf(session, crowdsec, order, longest)), sent: false } };
    }

    if (!world.practice && !isOperatorKnown(guards)) session.show({ kind: 'text', text: unknownOperator(place, order.target) });
    const consequences = consequencesOf(order.target, guards);
    const about = { host: place, ...(component && { component: component.key }) };
    let sent = false;
    await session.act({
      id: 'ban',
      right: consequences.length > 0 ? 'destroy' : 'operate',
      title: `Ban ${order.target.shown} for ${spokenDuration(order.seconds)}`,
      request: requestText(crowdsec.banWords(order)),
      target: about,
      ...(consequences.length > 0 && { consequences }),
      done: async () => before.length > longer.length,
      run: async (grant) => {
        sent = await banUnlessBanned(grant, crowdsec, order, session.signal);
      },
    });
    // Last, so that the address is banned all the time.
    for (const { id } of longer) await endDecision(session, crowdsec, id, about);
    if (session.rehearsing) return { message: `Rehearsed: ${order.target.shown} was not banned.` };
    return told(session, crowdsec, order, sent);
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

/** Throws what CrowdSec refuses, unless somebody else has banned it for as long by then. False where that is so. */
async function banUnlessBanned(grant: Grant, crowdsec: Crowdsec, order: BanOrder, signal: AbortSignal): Promise<boolean> {
  try {
    await crowdsec.ban(grant, order);
    return true;
  } catch (thrown) {
    if (!(thrown instanceof Fault) || thrown.code !== 'failed.crowdsec' || (await standing(crowdsec, order, signal)).length === 0)
      throw thrown;
    return false;
  }
}

async function replacesLonger(session: Session, { options }: FlowInput, order: BanOrder, longest: Decision): Promise<boolean> {
  if (options['replace'] === true) return true;
  const span = spokenDuration(order.seconds);
  const answer = await leavingSays(
    () => `${order.target.shown} is banned as before.`,
    () =>
      answerOr(
        () =>
          session.ask.choice({
            id: 'longer',
            label: `${alreadyText(order, longest)} A ban for ${span} has no effect over it.`,
            choices: [
              { value: 'keep', label: 'Keep the longer ban', detail: 'nothing is sent' },
              { value: 'replace', label: `Replace it with a ban for ${span}`, detail: 'the longer ban ends' },
            ],
            initial: 'keep',
          }),
        'keep',
      ),
  );
  return answer === 'replace';
}

function unknownOperator(place: string, target: BanTarget): string {
  return `Cannot tell where you connect from: ${cleanLine(place)} shows no SSH connection, login or SSH_CONNECTION. Check that ${target.shown} does not cover your own address.`;
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
  const doubts = lockOutDoubts(target, guards);
  if (isOneAddress(target.span) || count <= wideAddresses[family]) return doubts;
  return [
    ...doubts,
    `All of ${target.shown} is shut out: ${family === 4 ? `${numberText(Number(count))} addresses` : 'whole networks of many people'}.`,
  ];
}

function untilMs({ seconds }: BanOrder): number {
  return Date.now() + seconds * 1000;
}

/** What is in force already, of the same kind, for as long as the order or longer; the longest first. */
async function standing(crowdsec: Crowdsec, order: BanOrder, signal: AbortSignal): Promise<Decision[]> {
  const { target, type } = order;
  const endsMs = untilMs(order) - slackMs;
  const about = await crowdsec.decisionsNaming(target, signal);
  return about
    .filter(
      (decision) =>
        decision.value === target.value &&
        decision.scope.toLowerCase() === target.scope.toLowerCase() &&
        decision.type === type &&
        !decision.simulated &&
        !isShared(decision) &&
        decision.endsMs >= endsMs,
    )
    .sort((one, other) => other.endsMs - one.endsMs);
}

/** `203.0.113.7 is already banned until 2026-11-25 04:06 UTC (23h59m left).` */
function alreadyText({ target, type }: BanOrder, { endsMs }: Decision): string {
  const left = leftText(endsMs - Date.now() + 30_000);
  return `${target.shown} is already ${type === 'ban' ? 'banned' : 'asked for a captcha'} until ${dateText(endsMs)} (${left} left).`;
}

async function told(session: Session, crowdsec: Crowdsec, order: BanOrder, sent: boolean) {
  const { target, type } = order;
  const [decision] = await standing(crowdsec, order, session.signal);
  if (!decision) {
    throw new Fault({
      code: 'failed.ban',
      message: `CrowdSec accepted the ban of ${target.shown}, but does not list it.`,
      remedy: 'Another console may have lifted it, or an allowlist has it: check allowlists and the log of CrowdSec.',
    });
  }
  const data = { ...(await dataOf(session, crowdsec, order, decision)), sent };
  if (!sent) return { message: alreadyText(order, decision), data };
  return {
    message: `${target.shown} ${type === 'ban' ? 'is banned' : 'is asked for a captcha'} for ${leftText(decision.endsMs - Date.now() + 30_000)}.`,
    data,
  };
}

/** What is in force, for scripts. Shows a doubt whether it is enforced. */
async function dataOf(session: Session, crowdsec: Crowdsec, { target, type }: BanOrder, decision: Decision): Promise<object> {
  const asking = (await bouncersOf(crowdsec, session.signal)).filter(({ revoked }) => !revoked);
  const doubt = doubtOf(asking);
  // In a console a sentence that is read makes way for the next one; a doubt stays until it was seen.
  if (doubt !== undefined) session.show({ kind: 'text', text: doubt });
  return {
    scope: target.scope,
    value: target.value,
    type,
    decision: decision.id,
    until: new Date(decision.endsMs).toISOString(),
    reason: cleanLine(decision.reason),
    bouncers: asking.length,
    enforced: doubt === undefined,
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
