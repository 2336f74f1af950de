import { Fault } from '../faults/fault.ts';
import type { Decision, PackageGroup, Triaged } from '../products/vulnerabilities/triage.ts';
import { dayProblem, groupByPackage, isUndecided } from '../products/vulnerabilities/triage.ts';
import type { TriageBook } from '../products/vulnerabilities/triage-book.ts';
import { keyOf } from '../products/vulnerabilities/vulnerability.ts';
import { identityOf } from '../session/identity.ts';
import type { Session } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { countText, numberText } from '../text/quantities.ts';
import { vulnerabilitiesDecideAbout } from './about-vulnerabilities.ts';
import type { Flow, FlowInput, FlowOutcome } from './flow.ts';
import { componentsBySubject, dueText, narrowed, nothingKnown, triageBookOf, vulnerabilitiesText } from './triage-choice.ts';

type What = Decision['what'];
/** `undefined` takes a decision back. */
type Verdict = Pick<Decision, 'what' | 'reason' | 'until'> | undefined;

const shownOfGroup = 12;

export const vulnerabilitiesDecide: Flow = {
  ...vulnerabilitiesDecideAbout,
  async run(session, input, world) {
    const book = triageBookOf(world);
    const { all, scans } = await book.read(Date.now());
    if (Object.keys(scans).length === 0) throw nothingKnown();
    const componentOf = componentsBySubject(world.catalog);
    const wanted = narrowed(all, input, componentOf);
    if (input.options['as'] !== undefined) return decideAtOnce(session, input, book, wanted);
    const groups = groupByPackage(wanted.filter(isUndecided));
    if (groups.length === 0)
      return {
        message: wanted.length === 0 ? 'Nothing that is known is named so.' : 'All of it was decided about.',
        data: { decided: 0, left: 0 },
      };
    return new Walk(session, input, book, componentOf).through(groups);
  },
};

/** Package by package, as long as somebody answers. */
class Walk {
  readonly #session: Session;
  readonly #input: FlowInput;
  readonly #book: TriageBook;
  readonly #componentOf: (subject: string) => string | undefined;
  #acts = 0;
  #decided = 0;

  constructor(session: Session, input: FlowInput, book: TriageBook, componentOf: (subject: string) => string | undefined) {
    this.#session = session;
    this.#input = input;
    this.#book = book;
    this.#componentOf = componentOf;
  }

  async through(groups: readonly PackageGroup[]): Promise<FlowOutcome> {
    const total = groups.reduce((sum, { all }) => sum + all.length, 0);
    let seen = 0;
    let left = total;
    for (const group of groups) {
      this.#session.progress({ id: 'decide', label: `${seen} of ${total} looked at, ${this.#decided} decided`, fraction: seen / total });
      try {
        if ((await this.#one(group)) === 'stop') break;
      } catch (thrown) {
        // Nobody has more answers: what was decided stays decided.
        if (thrown instanceof Fault && thrown.code === 'usage.unanswered' && seen > 0) break;
        if (thrown instanceof Fault && thrown.kind === 'interrupted') throw leftAt(this.#decided, left);
        throw thrown;
      }
      seen += group.all.length;
      left = total - this.#decided;
    }
    this.#session.progress({ id: 'decide', label: `${this.#decided} decided`, done: true });
    if (this.#session.rehearsing) return { message: 'Rehearsed: nothing was decided.' };
    return {
      message: `${countText(this.#decided, 'decision')} kept; ${left === 0 ? 'nothing is left' : `${numberText(left)} ${left === 1 ? 'is' : 'are'} left`}.`,
      data: { decided: this.#decided, left, file: this.#book.decisionsFile },
    };
  }

  async #one(group: PackageGroup): Promise<'stop' | 'go on'> {
    const session = this.#session;
    const nowMs = Date.now();
    const where = this.#componentOf(group.subject) ?? group.subject;
    const [worst] = group.all;
    if (!worst) return 'go on';
    session.show({
      kind: 'table',
      title: cleanLine(`${group.package} ${group.version} in ${where}`),
      columns: ['band', 'cvss', 'id', 'fixed in', 'deadline', 'what'],
      align: ['left', 'right', 'left', 'left', 'left', 'left'],
      rows: group.all.slice(0, shownOfGroup).map((one) => lineOf(one, nowMs)),
    });
    const fixed = [...new Set(group.all.map(({ fixedIn }) => fixedIn).filter(Boolean))];
    const way = await session.ask.choice({
      id: 'decide',
      label: cleanLine(`${group.package} in ${where}: ${vulnerabilitiesText(group.all.length)}, the worst ${worst.band}${late(worst)}`),
      help: cleanLine(
        fixed.length > 0
          ? `Mended in ${fixed.slice(0, 3).join('; ')}: an update of the image or the package brings it.`
          : 'No version mends it yet.',
      ),
      choices: [
        { value: 'fix', label: 'Fix it by a day' },
        { value: 'accept', label: 'Accept it until a day', detail: 'with a reason' },
        { value: 'false-positive', label: 'It is a false positive', detail: 'with a reason' },
        { value: 'skip', label: 'Not now' },
        { value: 'stop', label: 'Stop here', detail: 'what was decided is kept' },
      ],
      initial: 'fix',
    });
    if (way === 'skip') return 'go on';
    if (way === 'stop') return 'stop';
    const verdict = await this.#verdict(way as What, worst, nowMs);
    await keep(session, this.#input, this.#book, { id: `decide-${++this.#acts}`, about: group.all, verdict });
    this.#decided += group.all.length;
    return 'go on';
  }

  async #verdict(what: What, worst: Triaged, nowMs: number): Promise<NonNullable<Verdict>> {
    const session = this.#session;
    const reason =
      what === 'fix'
        ? ''
        : await session.ask.text({
            id: 'reason',
            label: what === 'accept' ? 'Why can it stay?' : 'Why is it none?',
            help: 'Somebody will read this in a year.',
            check: (text) => (text.trim().length < 3 ? 'Write a few words.' : undefined),
          });
    if (what === 'false-positive') return { what, reason: cleanLine(reason.trim()) };
    const until = await session.ask.text({
      id: 'until',
      label: what === 'fix' ? 'By which day?' : 'Until which day?',
      help: what === 'fix' ? 'After that day it counts as overdue.' : 'After that day it is asked about again.',
      initial: suggestedDay(what, worst, nowMs),
      check: (text) => dayProblem(text, nowMs),
    });
    return { what, reason: cleanLine(reason.trim()), until: until.trim() };
  }
}

/** All that the words name, with one decision: for scripts. */
async function decideAtOnce(session: Session, input: FlowInput, book: TriageBook, wanted: readonly Triaged[]): Promise<FlowOutcome> {
  const nowMs = Date.now();
  const verdict = verdictOf(input, nowMs);
  if (input.words.length === 0 && input.options['band'] === undefined)
    throw new Fault({
      code: 'usage.words',
      message: 'A decision about everything is none.',
      remedy: 'Name a vulnerability, a package or a component.',
    });
  if (wanted.length === 0)
    throw new Fault({
      code: 'usage.vulnerability',
      message: `Nothing that is known is named ${input.words.map((word) => `"${cleanLine(word)}"`).join(' ')}.`,
      remedy: 'Look: quarterdeck vulnerabilities list',
    });
  const about = input.options['everywhere'] === true ? everywhere(wanted) : wanted;
  await keep(session, input, book, { id: 'decide', about, verdict });
  if (session.rehearsing) return { message: 'Rehearsed: nothing was decided.' };
  return {
    message: `${vulnerabilitiesText(wanted.length)}: ${verdict === undefined ? 'open again' : verdictText(verdict)}.`,
    data: {
      decided: wanted.length,
      vulnerabilities: wanted.map(({ id, package: name, subject }) => ({ id, package: name, subject })),
      file: book.decisionsFile,
    },
  };
}

function everywhere(wanted: readonly Triaged[]): Pick<Decision, 'id' | 'package' | 'subject'>[] {
  return [
    ...new Map(
      wanted.map(({ id, package: name }) => [keyOf({ id, package: name, subject: '*' }), { id, package: name, subject: '*' }]),
    ).values(),
  ];
}

function verdictOf({ options }: FlowInput, nowMs: number): Verdict {
  const { as: what, reason, until } = options;
  if (what === 'open') return undefined;
  if (what !== 'fix' && what !== 'accept' && what !== 'false-positive')
    throw new Fault({
      code: 'usage.decision',
      message: `--as takes fix, accept, false-positive or open, and "${cleanLine(String(what))}" is none of them.`,
      remedy: 'For example: --as accept --reason "not reachable" --until 2027-01-31',
    });
  if (what !== 'fix' && (typeof reason !== 'string' || reason.trim().length < 3))
    throw new Fault({
      code: 'usage.reason',
      message: 'It needs a reason.',
      remedy: 'Add --reason "...": somebody will read it in a year.',
    });
  if (what !== 'false-positive' && typeof until !== 'string')
    throw new Fault({
      code: 'usage.until',
      message: what === 'fix' ? 'By which day?' : 'Nothing is accepted for ever.',
      remedy: 'Add --until 2027-01-31.',
    });
  const problem = typeof until === 'string' ? dayProblem(until, nowMs) : undefined;
  if (problem !== undefined)
    throw new Fault({ code: 'usage.until', message: `--until: ${problem}`, remedy: 'For example: --until 2027-01-31' });
  return {
    what,
    reason: cleanLine(typeof reason === 'string' ? reason.trim() : ''),
    ...(typeof until === 'string' && what !== 'false-positive' && { until: until.trim() }),
  };
}

async function keep(
  session: Session,
  { place }: FlowInput,
  book: TriageBook,
  { id, about, verdict }: { id: string; about: readonly Pick<Decision, 'id' | 'package' | 'subject'>[]; verdict: Verdict },
): Promise<void> {
  const { user, machine } = identityOf();
  const [first] = about;
  const what = verdict === undefined ? 'take the decision back' : verdictText(verdict);
  const names =
    about.length === 1 && first
      ? `${first.id} in ${first.package}`
      : `${about.length} in ${[...new Set(about.map(({ package: name }) => name))].slice(0, 3).join(', ')}`;
  await session.act({
    id,
    right: 'operate',
    request: cleanLine(`${what}: ${names} of ${first?.subject === '*' ? 'every subject' : (first?.subject ?? '')}`),
    target: { host: place },
    run: (grant) => book.decide(grant, about, verdict && { ...verdict, by: `${user}@${machine}`, at: new Date().toISOString() }),
  });
}

function verdictText({ what, until, reason }: NonNullable<Verdict>): string {
  const words: Record<What, string> = {
    fix: `fix by ${until ?? ''}`,
    accept: `accept until ${until ?? ''}`,
    'false-positive': 'call it a false positive',
  };
  return reason === '' ? words[what] : `${words[what]} (${reason})`;
}

/** Its deadline where it has one that is not over, otherwise a week for what is to be fixed, and a quarter for what stays. */
function suggestedDay(what: What, { dueMs }: Triaged, nowMs: number): string {
  const dayMs = 86_400_000;
  const usual = nowMs + (what === 'fix' ? 7 : 90) * dayMs;
  const day = what === 'fix' && dueMs !== undefined && dueMs > nowMs ? dueMs : usual;
  return new Date(day).toISOString().slice(0, 10);
}

function lineOf(one: Triaged, nowMs: number): string[] {
  return [one.band, one.score?.toFixed(1) ?? '', one.id, one.fixedIn, dueText(one.dueMs, nowMs), one.title].map(cleanLine);
}

function late({ standing }: Triaged): string {
  return standing === 'overdue' ? ', overdue' : standing === 'lapsed' ? ', its acceptance is over' : '';
}

function leftAt(decided: number, left: number): Fault {
  return new Fault({
    code: 'interrupted.cancelled',
    message: `${countText(decided, 'decision')} kept; ${numberText(left)} ${left === 1 ? 'is' : 'are'} left.`,
    remedy: 'Go on any time: quarterdeck vulnerabilities decide',
  });
}
