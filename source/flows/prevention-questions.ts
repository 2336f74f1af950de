import { Fault } from '../faults/fault.ts';
import type { Crowdsec } from '../products/crowdsec.ts';
import { goDurationText } from '../products/go-duration.ts';
import { durationProblem, parseDuration } from '../session/answer-checks.ts';
import type { Session } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import type { FlowInput } from './flow.ts';
import type { Looking } from './prevention-target.ts';

/** What a session says of how CrowdSec may be asked. */
export function lookingIn(session: Session): Looking {
  return {
    signal: session.signal,
    readOnly: session.readOnly,
    hide: (secret) => session.hide(secret),
    choose: (components) =>
      session.ask.choice({
        id: 'component',
        label: 'Which CrowdSec?',
        choices: components.map(({ id, detail }) => ({ value: id, label: id, detail })),
      }),
  };
}

/** The answer, or what is meant where nobody is there to give one. */
export async function answerOr<T>(ask: () => Promise<T>, otherwise: T): Promise<T> {
  try {
    return await ask();
  } catch (thrown) {
    if (thrown instanceof Fault && thrown.code === 'usage.unanswered') return otherwise;
    throw thrown;
  }
}

/** Whoever leaves is told what remains as it is. */
export async function leavingSays<T>(sentence: () => string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (thrown) {
    if (!(thrown instanceof Fault) || thrown.code !== 'interrupted.cancelled') throw thrown;
    throw new Fault({ code: thrown.code, message: sentence(), remedy: thrown.remedy, cause: thrown });
  }
}

const leastSeconds = 60;
const mostSeconds = 5 * 365 * 86_400;

export function spanProblem(text: string): string | undefined {
  const problem = durationProblem(text);
  if (problem !== undefined) return problem;
  const seconds = parseDuration(text) ?? 0;
  if (seconds < leastSeconds) return 'Bouncers ask every few seconds: a minute is the least that makes sense.';
  return seconds > mostSeconds ? 'Five years are the most.' : undefined;
}

/** Of `--for`, in seconds. Throws `usage.duration`. */
export function flagSeconds({ options }: Pick<FlowInput, 'options'>): number | undefined {
  const written = options['for'];
  if (typeof written !== 'string') return undefined;
  const problem = spanProblem(written);
  if (problem === undefined) return parseDuration(written);
  throw new Fault({
    code: 'usage.duration',
    message: `--for ${cleanLine(written)}: ${problem}`,
    remedy: 'For example: --for 4h, --for 7d',
  });
}

/** Undefined for what may be a name there: nothing that `cscli` could take for an option. */
export function nameProblem(text: string): string | undefined {
  if (/^[A-Za-z0-9_][\w.@:-]{0,127}$/.test(text.trim())) return undefined;
  return 'Take letters, digits, and . _ - @ : between them; it begins with a letter or a digit.';
}

/** A text that stands in lists. */
export function remarkProblem(text: string): string | undefined {
  if (text.length > 200) return 'Two hundred characters are the most.';
  return cleanLine(text) === text ? undefined : 'It holds characters that cannot be shown.';
}

/** What it is about is noted: a run that goes on is about the same, also where that is gone by now. */
export async function noteName(session: Session, name: string): Promise<string> {
  if (!session.noted('name').includes(name)) await session.note('name', name);
  return name;
}

/** The name that a run was about before it broke off. */
export function notedName(session: Session): string | undefined {
  return session.noted('name').at(-1);
}

/** The name that was given on the command line or is asked for. Throws `usage.name`. */
export async function nameOf(session: Session, input: FlowInput, question: { id: string; label: string; help?: string }): Promise<string> {
  const [given] = input.words;
  if (given === undefined) return (await session.ask.text({ ...question, check: nameProblem })).trim();
  const problem = nameProblem(given);
  if (problem === undefined) return given;
  throw new Fault({ code: 'usage.name', message: `"${cleanLine(given)}" is no name. ${problem}`, remedy: 'Give another name.' });
}

/** Ends one decision and no other. */
export async function endDecision(
  session: Session,
  crowdsec: Crowdsec,
  id: number,
  target: { host: string; component?: string },
): Promise<void> {
  await session.act({
    id: `end ${id}`,
    right: 'operate',
    request: `cscli decisions delete --id ${id}`,
    target,
    run: (grant) => crowdsec.deleteDecision(grant, id),
  });
}

export function requestText(words: readonly string[]): string {
  return ['cscli', ...words].map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(' ');
}

/** `4h`, `7 days`: as people say it. */
export function spokenDuration(seconds: number): string {
  if (seconds % 86_400 === 0 && seconds >= 2 * 86_400) return `${seconds / 86_400} days`;
  return goDurationText(seconds);
}

/** One of those that there are: named on the command line, or chosen. Throws `usage.name`. */
export async function oneNamed(
  session: Session,
  input: FlowInput,
  what: 'bouncer' | 'machine',
  known: readonly { name: string }[],
): Promise<string> {
  const [given] = input.words;
  if (known.length === 0)
    throw new Fault({ code: 'usage.name', message: `There is no ${what}.`, remedy: `quarterdeck ${what}s list shows what there is.` });
  const name =
    given ??
    notedName(session) ??
    (await session.ask.choice({
      id: 'name',
      label: `Which ${what}?`,
      fresh: true,
      choices: known.map((one) => ({ value: one.name, label: one.name })),
    }));
  if (known.some((one) => one.name === name)) return noteName(session, name);
  throw new Fault({
    code: 'usage.name',
    message: `There is no ${what} "${cleanLine(name)}".`,
    remedy: `There is: ${known.map((one) => one.name).join(', ')}.`,
  });
}
