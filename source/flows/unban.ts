import type { BanTarget } from '../products/ban-target.ts';
import { parseBanTarget } from '../products/ban-target.ts';
import type { Crowdsec } from '../products/crowdsec.ts';
import { type Decision, isShared } from '../products/crowdsec-records.ts';
import type { Session } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { durationText } from '../text/quantities.ts';
import { unbanAbout } from './about-prevention.ts';
import { targetOf } from './ban.ts';
import type { Flow, FlowInput } from './flow.ts';
import { answerOr, endDecision, leavingSays, lookingIn, requestText } from './prevention-questions.ts';
import { preventionOf } from './prevention-target.ts';

/** More are not chosen from: they are typed. */
const choicesAtMost = 40;

export const unban: Flow = {
  ...unbanAbout,
  async run(session, input, world) {
    const { crowdsec, component } = await preventionOf(world, input, lookingIn(session));
    const about = { host: input.place, ...(component && { component: component.key }) };
    const target = await leavingSays(
      () => 'No ban was lifted.',
      () => chooseBanned(session, input, crowdsec),
    );
    const before = await crowdsec.decisionsAbout(target, session.signal);
    const own = before.filter(({ value }) => value === target.value);
    const around = before.filter(({ value }) => value !== target.value);
    if (before.length === 0) return { message: `${target.shown} is not banned.`, data: dataOf(target, [], []) };
    const onlyOwn = own.length > 0 && around.length > 0 && (await leavesRanges(session, target, around));

    if (onlyOwn) {
      for (const { id } of own) await endDecision(session, crowdsec, id, about);
    } else {
      await session.act({
        id: 'unban',
        right: 'operate',
        request: requestText(crowdsec.unbanWords(target)),
        target: about,
        run: (grant) => crowdsec.unban(grant, target),
      });
    }
    if (session.rehearsing) return { message: `Rehearsed: ${target.shown} is as it was.` };
    let left = await crowdsec.decisionsAbout(target, session.signal);
    const shared = left.filter((decision) => isShared(decision) && !onlyOwn);
    // What came from a shared list is ended by its number alone.
    for (const { id } of shared) await endDecision(session, crowdsec, id, about);
    if (shared.length > 0) left = await crowdsec.decisionsAbout(target, session.signal);
    const came = [...before.filter(isShared), ...shared];
    const back =
      came.length > 0
        ? ` A shared list has it: it comes back with the next pull, unless an allowlist has it (quarterdeck allowlists add).`
        : '';
    const remains = left.filter((decision) => !isShared(decision));
    const ranges = [...new Set(around.map(({ value }) => value))].filter((value) => !left.some((decision) => decision.value === value));
    const lifted =
      ranges.length > 0
        ? ` The ${ranges.length > 1 ? 'bans' : 'ban'} of ${ranges.map(cleanLine).join(', ')} ${ranges.length > 1 ? 'were' : 'was'} lifted with it.`
        : '';
    const data = dataOf(target, before, left);
    if (remains.length > 0)
      return { message: `${target.shown} is still shut out: ${remains.map(spoken).join('; ')}.${lifted}${back}`, data };
    return { message: `${target.shown} is free again.${lifted}${back}`, data };
  },
};

async function chooseBanned(session: Session, input: FlowInput, crowdsec: Crowdsec): Promise<BanTarget> {
  const [written] = input.words;
  if (written !== undefined) return targetOf(written);
  const banned = (await crowdsec.decisions({ shared: false }, session.signal)).filter(
    ({ value }) => typeof parseBanTarget(value) !== 'string',
  );
  const question = { id: 'target', label: 'Whose ban is lifted?' };
  if (session.attended && banned.length > 0 && banned.length <= choicesAtMost) {
    const values = [...new Map(banned.map((decision) => [decision.value, decision])).values()];
    return targetOf(
      await session.ask.choice({
        ...question,
        help: 'Sends cscli decisions delete.',
        choices: values.map((decision) => ({
          value: decision.value,
          label: cleanLine(decision.value),
          detail: cleanLine(decision.reason),
        })),
      }),
    );
  }
  const answer = await session.ask.text({
    ...question,
    help: 'An address, a range or a country. Sends cscli decisions delete.',
    check: (text) => {
      const parsed = parseBanTarget(text);
      return typeof parsed === 'string' ? parsed : undefined;
    },
  });
  return targetOf(answer);
}

/** `decisions delete --ip` ends the bans of all ranges around the address too. */
async function leavesRanges(session: Session, target: BanTarget, around: readonly Decision[]): Promise<boolean> {
  const ranges = [...new Set(around.map(({ value }) => cleanLine(value)))].join(', ');
  const way = await leavingSays(
    () => `${target.shown} is banned as before.`,
    () =>
      answerOr(
        () =>
          session.ask.choice({
            id: 'around',
            label: `${target.shown} is also part of ${ranges}, which is banned.`,
            choices: [
              { value: 'all', label: `Lift both: ${target.shown} is free`, detail: 'the whole range comes in again' },
              { value: 'own', label: `Lift its own ban alone`, detail: 'it stays shut out with the range' },
            ],
            initial: 'all',
          }),
        'all',
      ),
  );
  return way === 'own';
}

function spoken({ value, reason, endsMs }: Decision): string {
  return `${cleanLine(value)} for ${durationText(endsMs - Date.now())} (${cleanLine(reason)})`;
}

function dataOf(target: BanTarget, before: readonly Decision[], left: readonly Decision[]): object {
  return { scope: target.scope, value: target.value, ended: before.length - left.length, left: left.map(({ id }) => id) };
}
