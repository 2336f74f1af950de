import { Fault, type FaultCode } from '../../faults/fault.ts';
import { unlessCode } from '../../faults/unless-fault.ts';
import { argumentOrPrompt } from '../../flows/argument-or-prompt.ts';
import { askChoice, type LabelledQuestion } from '../../flows/ask-choice.ts';
import { chooseOne, deleteOne } from '../../flows/delete-one.ts';
import type { FlowInput, Procedure } from '../../flows/flow.ts';
import { optionOf } from '../../flows/flow-options.ts';
import { unlessCancelled } from '../../flows/prompt-cancelled.ts';
import type { Grant } from '../../grants/grant.ts';
import { durationProblem, parseDuration } from '../../session/answer-checks.ts';
import type { Act, Session, TextQuestion } from '../../session/session.ts';
import { cleanLine } from '../../text/clean.ts';
import { quotedWord } from '../../text/quoted-word.ts';
import type { Crowdsec } from './client/crowdsec.ts';
import type { CscliAnswer } from './client/cscli.ts';
import { goDurationText } from './client/go-duration.ts';
import { type FlowPrevention, onPrevention } from './prevention-target.ts';

const answerOr = <T>(ask: () => Promise<T>, otherwise: T): Promise<T> => unlessCode(ask(), ['usage.unanswered'], otherwise);

/** Returns the default in an unattended session. `left` says what a cancelled prompt leaves unchanged. */
export function choiceOr<Value extends string>(
  session: Session,
  left: string,
  question: LabelledQuestion<Value> & { initial: NoInfer<Value> },
) {
  return unlessCancelled(session, left, () => answerOr(() => askChoice(session, question), question.initial));
}

type RemarkQuestion = Record<'flag' | 'label' | 'otherwise', string> & { code?: FaultCode; help?: string };

/** Returns the text of a flag or of an answer; `otherwise` in an unattended session. Throws the fault of an invalid flag. */
export async function remarkOf(
  { session, input }: FlowPrevention,
  { flag, code = 'usage.remark', otherwise, ...question }: RemarkQuestion,
) {
  const given = optionOf(input, flag);
  const problem = given === undefined ? undefined : remarkProblem(given);
  if (problem !== undefined) throw new Fault(code, `--${flag}: ${problem}`, 'Change the text.');
  const ask = () => session.ask.text({ id: flag, initial: otherwise, check: remarkProblem, ...question });
  return given ?? (await answerOr(ask, otherwise)).trim();
}

const leastSeconds = 60;
const mostSeconds = 5 * 365 * 86_400;

function spanProblem(text: string): string | undefined {
  const problem = durationProblem(text);
  if (problem !== undefined) return problem;
  const seconds = parseDuration(text) ?? 0;
  if (seconds < leastSeconds) return 'Use at least one minute, because bouncers pull decisions only every few seconds.';
  return seconds > mostSeconds ? 'Use at most five years.' : undefined;
}

export function flagSeconds(input: FlowInput): number | undefined {
  const written = optionOf(input, 'for');
  if (written === undefined) return undefined;
  const problem = spanProblem(written);
  if (problem === undefined) return parseDuration(written);
  throw new Fault('usage.duration', `--for ${cleanLine(written)}: ${problem}`, 'For example: --for 4h, --for 7d');
}

/** Returns the duration of `--for`, or of an answer; the initial one in an unattended session. */
export async function secondsOf({ session, input }: FlowPrevention, question: Omit<TextQuestion, 'kind'> & { initial: string }) {
  const ask = () => session.ask.duration({ ...question, check: spanProblem });
  return flagSeconds(input) ?? answerOr(ask, parseDuration(question.initial) ?? 0);
}

/** Returns undefined if the text can be a name: `cscli` must not parse it as an option. */
function nameProblem(text: string, given: string | undefined): string | undefined {
  if (/^[A-Za-z0-9_][\w.@:-]{0,127}$/.test(text.trim())) return undefined;
  const rule = 'Use letters, digits and . _ - @ : and start with a letter or a digit.';
  return given === undefined ? rule : `Invalid name "${cleanLine(given)}". ${rule}`;
}

function remarkProblem(text: string): string | undefined {
  if (text.length > 200) return 'Use at most 200 characters.';
  return cleanLine(text) === text ? undefined : 'Remove the characters that cannot be shown.';
}

/** Records the name, so that a resumed run concerns the same item even if it no longer exists. */
export async function noteName(session: Session, name: string): Promise<void> {
  if (!session.noted('name').includes(name)) await session.note('name', name);
}

export const notedName = (session: Session) => session.noted('name').at(-1);

export function nameOf({ session, input }: FlowPrevention, question: { id: string; label: string; help: string }): Promise<string> {
  const [given] = input.words;
  const code = 'usage.name';
  const remedy = 'Use another name.';
  return argumentOrPrompt(session, { ...question, given, code, remedy, check: (text) => nameProblem(text, given) });
}

/** A change over `cscli`. `what` completes the sentence "CrowdSec did not ...". */
interface CscliAct extends Pick<Act<CscliAnswer>, 'title' | 'consequences' | 'done' | 'limitMs'> {
  words: readonly string[];
  what: string;
  /** Reason shown after the command, for a step that the operator did not request. */
  why?: string;
}

/** Runs `cscli` to change something: the command that is shown is the one that is run. A change with consequences is confirmed first. */
export async function changeOver({ crowdsec, target, session }: FlowPrevention, id: string, { words, what, why, ...act }: CscliAct) {
  await session.act({
    ...act,
    id,
    right: act.consequences ? 'destroy' : 'operate',
    request: why === undefined ? requestText(words) : `${requestText(words)}: ${why}`,
    target,
    run: (grant) => crowdsec.change(grant, words, what),
  });
}

export async function endDecision(prevention: FlowPrevention, id: number): Promise<void> {
  const words = ['decisions', 'delete', '--id', String(id)];
  await changeOver(prevention, `end ${id}`, { words, what: `delete the decision ${id}` });
}

export const requestText = (words: readonly string[]): string => ['cscli', ...words].map(quotedWord).join(' ');

export function spokenDuration(seconds: number): string {
  if (seconds % 86_400 === 0 && seconds >= 2 * 86_400) return `${seconds / 86_400} days`;
  return goDurationText(seconds);
}

type Noun = 'bouncer' | 'machine' | 'allowlist';
type Named = { name: string; description?: string };

/** Returns an existing item: from the command line, from the interrupted run, or by a prompt. Throws `usage.name` and `usage.allowlist`. */
export function oneNamed<T extends Named>({ session, input }: FlowPrevention, noun: Noun, known: readonly T[]): Promise<T> {
  const isList = noun === 'allowlist';
  const only = isList && known.length === 1 ? known[0]?.name : undefined;
  return chooseOne(session, known, {
    ...{ noun, step: 'name', word: input.words[0] ?? notedName(session) ?? only, code: isList ? 'usage.allowlist' : 'usage.name' },
    idOf: ({ name }) => name,
    ...(isList && { detailOf: ({ description = '' }) => description }),
    whenNone: {
      allowlist: 'Create an allowlist: quarterdeck allowlists create NAME',
      bouncer: 'Register a bouncer: quarterdeck bouncers add NAME',
      machine: 'Register a machine. On that machine, run: cscli lapi register --url URL',
    }[noun],
  });
}

/** Creates the flow that deletes a bouncer, a machine or an allowlist. `consequences` throws if the item cannot be deleted. */
export function deleteNamed<T extends Named>(
  noun: Noun,
  list: (crowdsec: Crowdsec, signal: AbortSignal) => Promise<readonly T[]>,
  consequences: (one: T, all: readonly T[]) => string[],
): Procedure {
  return onPrevention((prevention) => {
    const { crowdsec, target, session } = prevention;
    return deleteOne(session, {
      noun,
      idOf: ({ name }) => name,
      list: () => list(crowdsec, session.signal),
      choose: (all) => oneNamed(prevention, noun, all),
      action: (one, all) => {
        const words = [`${noun}s`, 'delete', one.name];
        const run = (grant: Grant) => crowdsec.change(grant, words, `delete the ${noun} ${one.name}`);
        return { request: requestText(words), target, consequences: consequences(one, all), run };
      },
      stillThere: { code: 'failed.crowdsec', remedy: 'Check the CrowdSec log.' },
    });
  });
}
