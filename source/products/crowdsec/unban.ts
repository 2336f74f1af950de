import type { FlowInput, Procedure } from '../../flows/flow.ts';
import { unlessCancelled } from '../../flows/prompt-cancelled.ts';
import type { Session } from '../../session/session.ts';
import { cleanLine } from '../../text/clean.ts';
import { durationText } from '../../text/quantities.ts';
import { targetOf } from './ban.ts';
import { type BanTarget, parseBanTarget } from './client/ban-target.ts';
import { type Crowdsec, unbanWords } from './client/crowdsec.ts';
import { type Decision, isShared } from './client/crowdsec-records.ts';
import { changeOver, choiceOr, endDecision } from './prevention-questions.ts';
import { preventionOf } from './prevention-target.ts';

/** Longer lists are not offered as a choice: the address is typed. */
const choicesAtMost = 40;

export const unban: Procedure = async (session, input, context) => {
  const prevention = await preventionOf(context, input, session);
  const { crowdsec } = prevention;
  const target = await unlessCancelled(session, 'No ban was lifted.', () => chooseBanned(session, input, crowdsec));
  const before = await crowdsec.decisionsAbout(target, session.signal);
  const own = before.filter(({ value }) => value === target.value);
  const around = before.filter(({ value }) => value !== target.value);
  if (before.length === 0) return { message: `${target.shown} is not banned.`, data: dataOf(target, [], []) };
  const onlyOwn = own.length > 0 && around.length > 0 && (await leavesRanges(session, target, around));

  if (onlyOwn) {
    for (const { id } of own) await endDecision(session, prevention, id);
  } else {
    const words = unbanWords(target);
    await changeOver(session, prevention, { id: 'unban', words, what: `lift the ban of ${target.shown}` });
  }
  if (session.dryRun) return { message: `Dry run: ${target.shown} is as it was.` };
  let left = await crowdsec.decisionsAbout(target, session.signal);
  const shared = left.filter((decision) => isShared(decision) && !onlyOwn);
  // A decision of a shared list can be ended only by its id.
  for (const { id } of shared) await endDecision(session, prevention, id);
  if (shared.length > 0) left = await crowdsec.decisionsAbout(target, session.signal);
  const isListed = before.some(isShared) || shared.length > 0;
  const back = ' A shared list has it: it comes back with the next pull, unless an allowlist has it (quarterdeck allowlists add).';
  const ranges = [...new Set(around.map(({ value }) => value))].filter((value) => !left.some((decision) => decision.value === value));
  const [bans, were] = ranges.length > 1 ? ['bans', 'were'] : ['ban', 'was'];
  const lifted = ranges.length > 0 ? ` The ${bans} of ${ranges.map(cleanLine).join(', ')} ${were} lifted with it.` : '';
  const remains = left.filter((decision) => !isShared(decision));
  const now = remains.length > 0 ? `still shut out: ${remains.map(spoken).join('; ')}` : 'free again';
  const data = dataOf(target, before, left);
  return { message: `${target.shown} is ${now}.${lifted}${isListed ? back : ''}`, data };
};

async function chooseBanned(session: Session, input: FlowInput, crowdsec: Crowdsec): Promise<BanTarget> {
  const [written] = input.words;
  if (written !== undefined) return targetOf(written);
  const banned = (await crowdsec.decisions({ shared: false }, session.signal)).filter(
    ({ value }) => typeof parseBanTarget(value) !== 'string',
  );
  const question = { id: 'target', label: 'Whose ban is lifted?' };
  if (session.attended && banned.length > 0 && banned.length <= choicesAtMost) {
    const byValue = [...new Map(banned.map((decision) => [decision.value, decision])).values()];
    const choices = byValue.map(({ value, reason }) => ({ value, label: cleanLine(value), detail: cleanLine(reason) }));
    return targetOf(await session.ask.choice({ ...question, help: 'Sends cscli decisions delete.', choices }));
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

/** `decisions delete --ip` also ends the bans of all ranges around the address. */
async function leavesRanges(session: Session, target: BanTarget, around: readonly Decision[]): Promise<boolean> {
  const ranges = [...new Set(around.map(({ value }) => cleanLine(value)))].join(', ');
  const answer = await choiceOr(session, `${target.shown} is banned as before.`, {
    id: 'around',
    label: `${target.shown} is also part of ${ranges}, which is banned.`,
    choices: [
      { value: 'all', label: `Lift both: ${target.shown} is free`, detail: 'the whole range comes in again' },
      { value: 'own', label: `Lift its own ban alone`, detail: 'it stays shut out with the range' },
    ],
    initial: 'all',
  });
  return answer === 'own';
}

function spoken({ value, reason, endsMs }: Decision): string {
  return `${cleanLine(value)} for ${durationText(endsMs - Date.now())} (${cleanLine(reason)})`;
}

function dataOf(target: BanTarget, before: readonly Decision[], left: readonly Decision[]): object {
  return { scope: target.scope, value: target.value, ended: before.length - left.length, left: left.map(({ id }) => id) };
}
