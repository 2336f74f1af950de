import { Fault } from '../../faults/fault.ts';
import { optionOf, wordsUpTo } from '../../flows/flow-options.ts';
import { unlessCancelled } from '../../flows/prompt-cancelled.ts';
import type { Grant } from '../../grants/grant.ts';
import type { Session } from '../../session/session.ts';
import { isOneAddress } from '../../text/address-span.ts';
import { cleanLine } from '../../text/clean.ts';
import { agoText, dateText, numberText } from '../../text/quantities.ts';
import { type BanTarget, parseBanTarget, targetWords } from './client/ban-target.ts';
import type { BanOrder, Crowdsec } from './client/crowdsec.ts';
import { type Bouncer, bouncersOf } from './client/crowdsec-lists.ts';
import { type Decision, isShared } from './client/crowdsec-records.ts';
import { goDurationText } from './client/go-duration.ts';
import { leftText } from './decision-words.ts';
import { type Guarded, guardsOf, lockOutDoubts, lockOutReason, publicAddresses, refuseLockOut } from './lock-out.ts';
import { choiceOr, endDecision, remarkOf, requestText, secondsOf, spokenDuration } from './prevention-questions.ts';
import { type FlowPrevention, onPrevention } from './prevention-target.ts';

const usualDuration = '4h';
/** Tolerance between an order and the check of its result. */
const slackMs = 120_000;
/** A bouncer that has not pulled for this long may be down. */
const silentMs = 15 * 60_000;
/** A ban of a range of this size or larger requires a second confirmation. */
const wideAddresses = { 4: 1n << 16n, 6: 1n << 96n } as const;

export const ban = onPrevention(async (prevention) => {
  const { crowdsec, target: about, session, context } = prevention;
  const { engineName } = prevention.input;
  session.progress({ id: 'look', label: 'Checking for lockouts' });
  const guards = await guardsOf(context, engineName, crowdsec, session.signal);
  session.progress({ id: 'look', label: '', done: true });
  let target: BanTarget | undefined;
  const order = await unlessCancelled(
    session,
    () => (target ? `${target.shown} was not banned.` : 'Nothing was banned.'),
    async (): Promise<BanOrder> => {
      target = await chooseTarget(prevention, guards);
      return orderFor(prevention, target);
    },
  );
  // The answer takes time, and an operator who moves may connect from another address by now.
  refuseLockOut(order.target, [...guards, ...(session.attended ? await guardsOf(context, engineName, undefined, session.signal) : [])]);

  const before = await lastingDecisions(crowdsec, order, session.signal);
  const [longest] = before;
  const longer = before.filter(({ endsMs }) => endsMs > untilMs(order) + slackMs);
  if (longest && longer.length > 0 && !(await replacesLonger(prevention, order, longest))) {
    const message = `${alreadyText(order, longest)} The ban for ${spokenDuration(order.seconds)} was not sent, because it would have no effect. To replace the longer ban, pass --replace.`;
    return { message, data: { ...(await dataOf(prevention, order, longest)), sent: false } };
  }

  if (!context.practice && !guards.some(({ operator }) => operator)) {
    const seen = guards.some(({ maybe }) => maybe) ? 'no SSH connection is known to be yours' : 'no SSH connection or login was found';
    const text = `Cannot tell where you connect from: ${seen} on ${cleanLine(engineName)}, and SSH_CONNECTION is not set. Check that ${order.target.shown} does not cover your own address.`;
    session.show({ kind: 'text', text });
  }
  const consequences = consequencesOf(order, guards);
  let sent = false;
  await session.act({
    id: 'ban',
    right: consequences.length > 0 ? 'destroy' : 'operate',
    title: `${order.type === 'ban' ? 'Ban' : 'Require a captcha from'} ${order.target.shown} for ${spokenDuration(order.seconds)}`,
    request: requestText(crowdsec.banWords(order)),
    target: about,
    ...(consequences.length > 0 && { consequences }),
    done: async () => before.length > longer.length,
    run: async (grant) => {
      sent = await banUnlessBanned(grant, crowdsec, order, session.signal);
    },
  });
  // The longer decisions are ended last, so that the address is banned all the time.
  for (const { id } of longer) await endDecision(prevention, id);
  if (session.dryRun) return { message: `Dry run: ${order.target.shown} was not banned.` };
  return reported(prevention, order, sent);
});

async function chooseTarget({ session, input }: FlowPrevention, guards: readonly Guarded[]): Promise<BanTarget> {
  const [written] = wordsUpTo(1, input, {
    takes: 'Specify one address, range or country at a time',
    remedy: 'Run the command once for each target.',
  });
  if (written !== undefined) return targetOf(written);
  const words = (optionOf(input, 'among') ?? '').split(' ').filter(Boolean);
  const among = words.map(parseBanTarget).filter((target) => typeof target !== 'string');
  if (among.length > 0) return oneOf(session, among, guards);
  const answer = await session.ask.text({
    id: 'target',
    label: 'Address, range or country',
    help: 'For example: 192.0.2.7, 192.0.2.0/24, 2001:db8::/32 or FR. Bans on addresses and ranges that would lock you out are refused.',
    check: (text) => targetProblem(text, (target) => (session.attended ? lockOutReason(target, guards) : undefined)),
  });
  return targetOf(answer);
}

async function oneOf(session: Session, among: readonly BanTarget[], guards: readonly Guarded[]): Promise<BanTarget> {
  const free = among.filter((target) => lockOutReason(target, guards) === undefined);
  const [first, second] = free;
  if (!first) {
    for (const target of among) refuseLockOut(target, guards);
    throw new Error('banning any of these addresses would lock you out');
  }
  if (!second) return first;
  const chosen = await session.ask.choice({
    id: 'target',
    label: 'Address to ban',
    choices: free.slice(0, 20).map(({ value }) => ({ value, label: value })),
    initial: first.value,
  });
  return targetOf(chosen);
}

export function targetProblem(text: string, problemOf: (target: BanTarget) => string | undefined = () => undefined): string | undefined {
  const parsed = parseBanTarget(text);
  return typeof parsed === 'string' ? parsed : problemOf(parsed);
}

export function targetOf(written: string): BanTarget {
  const parsed = parseBanTarget(written);
  if (typeof parsed !== 'string') return parsed;
  throw new Fault('usage.target', parsed, 'For example: quarterdeck ban 192.0.2.7 --for 24h');
}

async function orderFor(prevention: FlowPrevention, target: BanTarget): Promise<BanOrder> {
  const { options } = prevention.input;
  const type = options['captcha'] === true ? 'captcha' : 'ban';
  const sends = (...more: string[]) => `Sends ${requestText(['decisions', 'add', ...targetWords(target)])} ${more.join(' ')}`;
  const duration = {
    id: 'duration',
    label: `Duration of the ${type === 'ban' ? 'ban' : 'captcha requirement'} for ${target.shown}`,
    help: `Minutes, hours or days: 30m, 4h, 7d. ${sends('--duration ...')}`,
    initial: usualDuration,
  };
  const seconds = await secondsOf(prevention, duration);
  const reason = await remarkOf(prevention, {
    flag: 'reason',
    code: 'usage.reason',
    label: 'Why?',
    help: `Optional; shown in the list of bans. ${sends('--duration', goDurationText(seconds), '--reason ...')}`,
    otherwise: cleanLine(optionOf({ options }, 'because') ?? '').slice(0, 120),
  });
  return { target, seconds, reason: reason.trim(), type, bypassAllowlist: options['bypass-allowlist'] === true };
}

/** Throws CrowdSec's refusal, unless the target was meanwhile banned elsewhere for as long. Returns false in that case. */
async function banUnlessBanned(grant: Grant, crowdsec: Crowdsec, order: BanOrder, signal: AbortSignal): Promise<boolean> {
  try {
    await crowdsec.ban(grant, order);
    return true;
  } catch (thrown) {
    if (!(thrown instanceof Fault) || thrown.code !== 'failed.crowdsec' || (await lastingDecisions(crowdsec, order, signal)).length === 0)
      throw thrown;
    return false;
  }
}

async function replacesLonger({ session, input }: FlowPrevention, order: BanOrder, longest: Decision): Promise<boolean> {
  if (input.options['replace'] === true) return true;
  const span = spokenDuration(order.seconds);
  const answer = await choiceOr(session, `The ban on ${order.target.shown} was not changed.`, {
    id: 'longer',
    label: `${alreadyText(order, longest)} A ban for ${span} would have no effect.`,
    choices: {
      keep: ['Keep the longer ban', 'nothing is sent'],
      replace: [`Replace the longer ban with a ban for ${span}`, 'the longer ban is lifted'],
    },
    initial: 'keep',
  });
  return answer === 'replace';
}

function consequencesOf({ target, type }: BanOrder, guards: readonly Guarded[]): string[] {
  const verb = type === 'ban' ? 'blocked' : 'blocked until a captcha is solved';
  if (target.scope === 'Country') {
    const addresses = publicAddresses(guards);
    const from = `You connect from ${addresses.join(', ')}. If ${addresses.length === 1 ? 'this address' : 'one of these addresses'} is located in ${target.shown}, you lock yourself out.`;
    return [
      `All addresses located in ${target.shown} are ${verb}.`,
      ...(addresses.length > 0 ? [from] : []),
      'Firewall bouncers support only addresses and ranges; web server bouncers may also support countries.',
    ];
  }
  const { family, first, last } = target.span;
  const count = last - first + 1n;
  const doubts = lockOutDoubts(target, guards);
  if (isOneAddress(target.span) || count <= wideAddresses[family]) return doubts;
  const all = family === 4 ? `${numberText(Number(count))} addresses` : 'entire networks';
  return [...doubts, `All of ${target.shown} is ${verb} (${all}).`];
}

const untilMs = ({ seconds }: BanOrder) => Date.now() + seconds * 1000;

/** Returns the decisions in effect of the same type that last as long as the order or longer; the longest first. */
async function lastingDecisions(crowdsec: Crowdsec, order: BanOrder, signal: AbortSignal): Promise<Decision[]> {
  const { target, type } = order;
  const endsMs = untilMs(order) - slackMs;
  const scope = target.scope.toLowerCase();
  const isAlike = (one: Decision) => one.scope.toLowerCase() === scope && one.type === type && !one.simulated && !isShared(one);
  const alike = (await crowdsec.decisionsNaming(target, signal)).filter(isAlike);
  return alike.filter((one) => one.endsMs >= endsMs).sort((one, other) => other.endsMs - one.endsMs);
}

/** Returns `203.0.113.7 is already banned until 2026-11-25 04:06 UTC (23h59m left).` */
function alreadyText({ target, type }: BanOrder, { endsMs }: Decision): string {
  const left = leftText(endsMs - Date.now() + 30_000);
  return `${target.shown} is already ${type === 'ban' ? 'banned' : 'required to solve a captcha'} until ${dateText(endsMs)} (${left} left).`;
}

async function reported(prevention: FlowPrevention, order: BanOrder, sent: boolean) {
  const { target, type } = order;
  const [decision] = await lastingDecisions(prevention.crowdsec, order, prevention.session.signal);
  if (!decision) {
    const remedy = 'The ban may have been lifted, or the address may be allowlisted. Check the allowlists and the CrowdSec log.';
    throw new Fault('failed.ban', `CrowdSec accepted the ban on ${target.shown}, but does not list it.`, remedy);
  }
  const data = { ...(await dataOf(prevention, order, decision)), sent };
  if (!sent) return { message: alreadyText(order, decision), data };
  const span = leftText(decision.endsMs - Date.now() + 30_000);
  return {
    message: `${target.shown} ${type === 'ban' ? `is banned for ${span}` : `must solve a captcha (in effect for ${span})`}.`,
    data,
  };
}

/** Returns the decision in effect, for scripts. Warns if it may not be enforced. */
async function dataOf({ session, crowdsec }: FlowPrevention, { target, type }: BanOrder, decision: Decision): Promise<object> {
  const asking = (await bouncersOf(crowdsec, session.signal)).filter(({ revoked }) => !revoked);
  const doubt = doubtOf(asking);
  // In the console the next message replaces one that was read; a warning stays until it was seen.
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

/** Returns why the ban may not be enforced; undefined if a bouncer pulls decisions. */
function doubtOf(asking: readonly Bouncer[]): string | undefined {
  if (asking.length === 0)
    return 'Nothing enforces the decision, because no active bouncer is registered. To add a bouncer: quarterdeck bouncers add';
  const now = Date.now();
  if (asking.some(({ lastPullMs }) => lastPullMs !== undefined && now - lastPullMs <= silentMs)) return undefined;
  const each = asking.map(
    ({ name, lastPullMs }) =>
      `${name} ${lastPullMs === undefined ? 'has never pulled decisions' : `last pulled ${agoText(now - lastPullMs)}`}`,
  );
  return `The decision may not be enforced: ${each.join(', ')}. Check that the bouncer is running.`;
}
