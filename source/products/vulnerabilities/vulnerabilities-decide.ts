import { Fault } from '../../faults/fault.ts';
import { askChoice } from '../../flows/ask-choice.ts';
import type { FlowInput, FlowOutcome, Procedure } from '../../flows/flow.ts';
import { type Columns, showList } from '../../flows/list-table.ts';
import { identityOf } from '../../session/identity.ts';
import type { Session } from '../../session/session.ts';
import { cleanLine } from '../../text/clean.ts';
import { countText, numberText } from '../../text/quantities.ts';
import type { Decision, DecisionKey, PackageGroup, Triaged } from './client/triage.ts';
import { dayProblem, groupByPackage, isUndecided } from './client/triage.ts';
import type { TriageBook } from './client/triage-book.ts';
import { keyOf } from './client/vulnerability.ts';
import { type ComponentOf, dueText, narrowed, openTriage, vulnerabilitiesText } from './triage-choice.ts';

type What = Decision['what'];
/** `undefined` withdraws a decision. */
type Verdict = Pick<Decision, 'what' | 'reason' | 'until'> | undefined;

const shownOfGroup = 12;

export const vulnerabilitiesDecide: Procedure = async (session, input, context) => {
  const { book, all, componentOf } = await openTriage(context);
  const wanted = narrowed(all, input, componentOf);
  if (input.options['as'] !== undefined) return decideAtOnce(session, input, book, wanted);
  const groups = groupByPackage(wanted.filter(isUndecided));
  if (groups.length > 0) return decideEach(session, book, groups, componentOf);
  const message = wanted.length === 0 ? 'No matches.' : 'No matching vulnerability requires a decision.';
  return { message, data: { decided: 0, left: 0 } };
};

/** Prompts package by package, until there is no answer. */
async function decideEach(session: Session, book: TriageBook, groups: readonly PackageGroup[], componentOf: ComponentOf) {
  const total = groups.reduce((sum, { all }) => sum + all.length, 0);
  let seen = 0;
  let decided = 0;
  let acts = 0;
  const kept = () => {
    if (session.dryRun) return 'Dry run: nothing was decided.';
    const left = total - decided;
    const rest = left === 0 ? 'none left to decide' : `${numberText(left)} left to decide`;
    return `${countText(decided, 'decision')} saved; ${rest}.`;
  };
  for (const group of groups) {
    session.progress({ id: 'decide', label: `${seen} of ${total} reviewed, ${decided} decided`, fraction: seen / total });
    try {
      const verdict = await askVerdict(session, group, componentOf(group.subject) ?? group.subject);
      if (verdict === 'stop') break;
      if (verdict !== 'skip') {
        await keep(session, book, `decide-${++acts}`, group.all, verdict);
        decided += group.all.length;
      }
    } catch (thrown) {
      // There are no more answers: earlier decisions stay.
      if (thrown instanceof Fault && thrown.code === 'usage.unanswered' && seen > 0) break;
      if (thrown instanceof Fault && thrown.kind === 'interrupted')
        throw new Fault('interrupted.cancelled', kept(), 'To resume: quarterdeck vulnerabilities decide');
      throw thrown;
    }
    seen += group.all.length;
  }
  session.progress({ id: 'decide', label: `${decided} decided`, done: true });
  return { message: kept(), ...(!session.dryRun && { data: { decided, left: total - decided, file: book.decisionsFile } }) };
}

async function askVerdict(session: Session, group: PackageGroup, where: string): Promise<NonNullable<Verdict> | 'skip' | 'stop'> {
  const nowMs = Date.now();
  const [worst] = group.all;
  if (!worst) return 'skip';
  const columns: Columns<Triaged> = {
    SEVERITY: ({ band }) => band,
    CVSS: ({ score }) => score?.toFixed(1) ?? '',
    ID: ({ id }) => cleanLine(id),
    'FIXED IN': ({ fixedIn }) => cleanLine(fixedIn),
    DEADLINE: ({ dueMs }) => dueText(dueMs, nowMs),
    WHAT: ({ title }) => cleanLine(title),
  };
  const title = cleanLine(`${group.package} ${group.version} in ${where}`);
  showList(session, group.all.slice(0, shownOfGroup), columns, { title, right: ['CVSS'] });
  const fixed = [...new Set(group.all.map(({ fixedIn }) => fixedIn).filter(Boolean))];
  const what = await askChoice(session, {
    id: 'decide',
    label: cleanLine(`${group.package} in ${where}: ${vulnerabilitiesText(group.all.length)}, up to ${worst.band}${late(worst)}`),
    help: cleanLine(
      fixed.length > 0
        ? `Fixed in ${fixed.slice(0, 3).join('; ')}. Update the image or the package.`
        : 'The report names no fixed version.',
    ),
    choices: {
      fix: 'Fix by a date',
      accept: ['Accept until a date', 'with a reason'],
      'false-positive': ['Mark as a false positive', 'with a reason'],
      skip: 'Not now',
      stop: ['Stop here', 'earlier decisions are saved'],
    },
    initial: 'fix',
  });
  return what === 'skip' || what === 'stop' ? what : askReasonAndDay(session, what as What, worst, nowMs);
}

async function askReasonAndDay(session: Session, what: What, worst: Triaged, nowMs: number): Promise<NonNullable<Verdict>> {
  const question = {
    id: 'reason',
    label: what === 'accept' ? 'Reason for accepting the risk' : 'Reason for the false positive',
    help: 'A reason is required.',
    check: (text: string) => (text.trim().length < 3 ? 'Enter at least 3 characters.' : undefined),
  };
  const reason = what === 'fix' ? '' : cleanLine((await session.ask.text(question)).trim());
  if (what === 'false-positive') return { what, reason };
  const until = await session.ask.text({
    id: 'until',
    label: what === 'fix' ? 'Fix by' : 'Accept until',
    help: what === 'fix' ? 'After this day, the vulnerability is overdue.' : 'After this day, a new decision is required.',
    initial: suggestedDay(what, worst, nowMs),
    check: (text) => dayProblem(text, nowMs),
  });
  return { what, reason, until: until.trim() };
}

async function decideAtOnce(session: Session, input: FlowInput, book: TriageBook, wanted: readonly Triaged[]): Promise<FlowOutcome> {
  const nowMs = Date.now();
  const verdict = verdictOf(input, nowMs);
  if (input.words.length === 0 && input.options['band'] === undefined)
    throw new Fault('usage.words', 'No vulnerability was specified.', 'Pass a vulnerability, a package, a component or a band.');
  if (wanted.length === 0) {
    const message = `No vulnerability or package matches ${input.words.map((word) => `"${cleanLine(word)}"`).join(' ')}.`;
    throw new Fault('usage.vulnerability', message, 'List vulnerabilities: quarterdeck vulnerabilities list');
  }
  const isEverywhere = input.options['everywhere'] === true;
  const about = isEverywhere ? everywhere(wanted) : wanted;
  await keep(session, book, 'decide', about, verdict);
  if (session.dryRun) return { message: 'Dry run: nothing was decided.' };
  // A decision about a subject takes precedence over one about all subjects, which stays when that of a subject is withdrawn.
  const keys = new Set(wanted.map(keyOf));
  const isOther = (one: Triaged) => keys.has(keyOf(one)) && one.decision && (one.decision.subject === '*') !== isEverywhere;
  const { length: others } = (await book.read(nowMs)).all.filter(isOther);
  const [scope, fix] = isEverywhere ? ['one subject', 'omit --everywhere'] : ['all subjects', 'add --everywhere'];
  const rest =
    others > 0 ? ` ${others} of these still ${others === 1 ? 'has' : 'have'} a decision for ${scope}; to change it, ${fix}.` : '';
  return {
    message: `${vulnerabilitiesText(wanted.length)}: ${verdict === undefined ? 'reopened' : verdictText(verdict)}.${rest}`,
    data: {
      decided: wanted.length,
      vulnerabilities: wanted.map(({ id, package: name, subject }) => ({ id, package: name, subject })),
      file: book.decisionsFile,
    },
  };
}

function everywhere(wanted: readonly Triaged[]): DecisionKey[] {
  const all = wanted.map(({ id, package: name }) => ({ id, package: name, subject: '*' }));
  return [...new Map(all.map((one) => [keyOf(one), one])).values()];
}

function verdictOf({ options }: FlowInput, nowMs: number): Verdict {
  const { as: what, reason, until } = options;
  if (what === 'open') return undefined;
  if (what !== 'fix' && what !== 'accept' && what !== 'false-positive') {
    const message = `--as must be fix, accept, false-positive or open, not "${cleanLine(String(what))}".`;
    throw new Fault('usage.decision', message, 'For example: --as accept --reason "not reachable" --until 2027-01-31');
  }
  if (what !== 'fix' && (typeof reason !== 'string' || reason.trim().length < 3))
    throw new Fault('usage.reason', `--as ${what} requires a reason.`, 'Add --reason "...".');
  if (what !== 'false-positive' && typeof until !== 'string')
    throw new Fault('usage.until', `--as ${what} requires a date.`, 'Add --until 2027-01-31.');
  const problem = typeof until === 'string' ? dayProblem(until, nowMs) : undefined;
  if (problem !== undefined) throw new Fault('usage.until', `--until: ${problem}`, 'For example: --until 2027-01-31');
  return {
    what,
    reason: cleanLine(typeof reason === 'string' ? reason.trim() : ''),
    ...(typeof until === 'string' && what !== 'false-positive' && { until: until.trim() }),
  };
}

async function keep(session: Session, book: TriageBook, id: string, about: readonly DecisionKey[], verdict: Verdict): Promise<void> {
  const { user, machine } = identityOf();
  const [first] = about;
  const what = verdict === undefined ? 'revert the decision' : verdictText(verdict);
  const names =
    about.length === 1 && first
      ? `${first.id} in ${first.package}`
      : `${vulnerabilitiesText(about.length)} in ${[...new Set(about.map(({ package: name }) => name))].slice(0, 3).join(', ')}`;
  await session.act({
    id,
    right: 'operate',
    request: cleanLine(`${what}: ${names} (${first?.subject === '*' ? 'all subjects' : (first?.subject ?? '')})`),
    run: (grant) => book.decide(grant, about, verdict && { ...verdict, by: `${user}@${machine}`, at: new Date().toISOString() }),
  });
}

function verdictText({ what, until, reason }: NonNullable<Verdict>): string {
  const words: Record<What, string> = {
    fix: `fix by ${until ?? ''}`,
    accept: `accept until ${until ?? ''}`,
    'false-positive': 'mark as a false positive',
  };
  return reason === '' ? words[what] : `${words[what]} (${reason})`;
}

/** Returns the deadline of a vulnerability to fix if it has not passed, otherwise a week; a quarter for one that stays. */
function suggestedDay(what: What, { dueMs }: Triaged, nowMs: number): string {
  const dayMs = 86_400_000;
  const usual = nowMs + (what === 'fix' ? 7 : 90) * dayMs;
  const day = what === 'fix' && dueMs !== undefined && dueMs > nowMs ? dueMs : usual;
  return new Date(day).toISOString().slice(0, 10);
}

function late({ standing }: Triaged): string {
  return standing === 'overdue' ? ', overdue' : standing === 'lapsed' ? ', acceptance expired' : '';
}
