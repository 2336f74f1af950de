import { Fault, isAbort, messageOf } from '../faults/fault.ts';
import { orAborted } from '../faults/waits.ts';
import type { Right } from '../grants/grant.ts';
import { mintGrant } from '../grants/mint.ts';
import { cleanLine } from '../text/clean.ts';
import { addressProblem, durationProblem, numberProblem, parseDuration } from './answer-checks.ts';
import type { Audit } from './audit.ts';
import type { AuditOutcome, AuditSubject } from './audit-chain.ts';
import { fillForm, promptReview } from './forms.ts';
import type { Journal, RunEnd } from './journal.ts';
import { createMasking, hiddenMark } from './masking.ts';
import type { Act, ActTarget, Operator, Question, Session, TextQuestion } from './session.ts';

export interface SessionPolicy {
  readOnly: boolean;
  dryRun: boolean;
  /** Hosts whose name must be typed before data is destroyed there, or before a command of unknown effect is run. */
  productionHosts: ReadonlySet<string>;
}

export interface SessionOptions {
  flow: string;
  operator: Operator;
  policy: SessionPolicy;
  journal: Journal;
  audit: Audit;
  /** The target of the run, and of its actions by default. A refusal before the first action is recorded with it. */
  about?: { right: Right; host: string; component?: string };
  subjectOf?: (target: ActTarget) => AuditSubject;
  signal: AbortSignal;
}

const defaultLimitMs = 120_000;
const afterwardsLimitMs = 60_000;

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: everything here shares the answers and secrets of one run
export function openSession({ flow, operator, policy, journal, audit, about, subjectOf, signal }: SessionOptions) {
  const answers = new Map<string, string[]>();
  const masking = createMasking();
  const masked = masking.line;
  const acts = new Set<string>();
  let hasBegun = false;
  /** Faults that are already in the audit log. */
  const recorded = new WeakSet<object>();

  async function ask(question: Question): Promise<string | readonly string[]> {
    signal.throwIfAborted();
    const secret = question.kind === 'secret' || question.sensitive === true;
    if (question.reveals) masking.add(question.reveals.value);
    const kept = !secret && !question.reveals && !question.fresh;
    const journaled = kept ? journal.replay(question.id) : undefined;
    const answer = journaled ?? (await operator.ask(question, signal));
    // Scripted answers must not bypass `check`, and a journal can be older than it.
    for (const part of [answer].flat()) {
      refuseProblem(question, part, secret);
      if (secret) masking.add(part);
    }
    addAnswers(question.id, secret ? [hiddenMark] : [answer].flat());
    if (kept && journaled === undefined && !policy.dryRun) await journal.answered(question.id, answer);
    return answer;
  }

  const addAnswers = (step: string, given: readonly string[]) => answers.set(step, [...(answers.get(step) ?? []), ...given]);

  function note(step: string, given: readonly string[]): void {
    if (given.length > 0) answers.set(step, [...given]);
    else answers.delete(step);
  }

  const askText = async (question: Question) => [await ask(question)].flat()[0] ?? '';

  async function askChecked(question: TextQuestion, problemOf: (text: string) => string | undefined): Promise<string> {
    return (await askText({ ...question, check: (text) => problemOf(text) ?? question.check?.(text) })).trim();
  }

  function targetOf({ id, target = about }: Pick<Act<never>, 'id' | 'target'>): ActTarget {
    if (target) return target;
    throw new Error(`The action ${id} of ${flow} has no target.`);
  }

  // biome-ignore lint/complexity/noExcessiveCognitiveComplexity: the order of checks, records and the change is read in one place
  async function act<T>(request: Act<T>): Promise<T | undefined> {
    signal.throwIfAborted();
    const { id, right, consequences = [], limitMs = defaultLimitMs } = request;
    const target = targetOf(request);
    if (acts.has(id)) throw new Error(`The action ${id} occurs twice in one run of ${flow}.`);
    if (right === 'destroy' && consequences.length === 0) throw new Error(`The action ${id} is destructive but lists no consequences.`);
    acts.add(id);

    const event = () => ({
      run: journal.run,
      flow,
      act: id,
      right,
      request: masked(request.request),
      host: target.host,
      ...(target.component !== undefined && { component: target.component }),
      ...subjectOf?.(target),
      ...(answers.size > 0 && { answers: Object.fromEntries([...answers].map(([step, given]) => [step, given.map(masked)])) }),
    });
    const record = (outcome: AuditOutcome, message?: string) =>
      audit.record({ ...event(), phase: 'after', outcome, ...(message !== undefined && { message: masked(message) }) });

    if (policy.readOnly) {
      const message = `Read-only, not executed: ${masked(request.request)}`;
      const refusal = new Fault('refused.readOnly', message, 'To make changes, start without --read-only.');
      // A refusal stays in effect, whether or not it can be recorded.
      await record('refused', refusal.message).catch(() => {});
      recorded.add(refusal);
      throw refusal;
    }

    if (request.done && (await request.done())) {
      if (policy.dryRun) {
        operator.show({ kind: 'text', text: `Already done: ${masked(request.request)}` });
        return undefined;
      }
      await record('already');
      await journal.acted(id, 'already');
      return undefined;
    }

    if (policy.dryRun) {
      operator.show({
        kind: 'text',
        text: [`Would do: ${masked(request.request)}`, ...consequences.map((line) => `  ${masked(line)}`)].join('\n'),
      });
      return undefined;
    }

    if (right === 'destroy' || (request.confirmOnProduction && policy.productionHosts.has(target.host))) await confirm(request, record);

    await journal.begins(id);
    await audit.record({ ...event(), phase: 'before' });
    hasBegun = true;
    const outcome = await granted(request, limitMs);
    if ('thrown' in outcome) {
      const { thrown } = outcome;
      const stopped = signal.aborted;
      const fault = stopped ? interrupted(request, thrown) : thrown;
      // The reason of the failure matters more than that it could not be recorded.
      await record(stopped ? 'cancelled' : 'failed', messageOf(masking.reported(fault))).catch(() => {});
      const reported = masking.thrown(fault);
      for (const one of [fault, reported]) if (one instanceof Fault) recorded.add(one);
      throw reported;
    }
    const failure = request.failure?.(outcome.result);
    await record(failure === undefined ? 'done' : 'failed', failure);
    if (failure === undefined) await journal.acted(id, 'done');
    return outcome.result;
  }

  async function granted<T>(request: Act<T>, limitMs: number): Promise<{ result: T } | { thrown: unknown }> {
    const { id, right, run, afterwards } = request;
    const ended = new AbortController();
    const limits = [signal, ended.signal];
    if (Number.isFinite(limitMs)) limits.push(AbortSignal.timeout(limitMs));
    const grantSignal = AbortSignal.any(limits);
    let outcome: { result: T } | { thrown: unknown };
    try {
      outcome = { result: await orAborted(run(mintGrant(id, right, grantSignal)), grantSignal) };
    } catch (thrown) {
      // A request of the action may have had a shorter limit.
      outcome = { thrown: isAbort(thrown) ? overdue(request, thrown, grantSignal.aborted ? limitMs : undefined) : thrown };
    } finally {
      // From here on a grant that was kept gives no access.
      ended.abort(new Fault('refused.grantEnded', `The action "${id}" has ended.`, 'This is a bug in Quarterdeck. Please report it.'));
    }
    if (afterwards) {
      const ownSignal = AbortSignal.timeout(afterwardsLimitMs);
      await orAborted(afterwards(mintGrant(id, right, ownSignal)), ownSignal).catch((thrown: unknown) => {
        // The first error is the one that the operator must see first.
        if (!('thrown' in outcome)) outcome = { thrown: isAbort(thrown) ? overdue(request, thrown) : thrown };
      });
    }
    return outcome;
  }

  async function confirm<T>(request: Act<T>, record: (outcome: AuditOutcome, message?: string) => Promise<void>): Promise<void> {
    const { id, consequences = [] } = request;
    const target = targetOf(request);
    const lost = consequences.length > 0 ? consequences : ['The changes are not known in advance, and Quarterdeck cannot undo them.'];
    const production = policy.productionHosts.has(target.host);
    let confirmed: boolean;
    try {
      confirmed = await operator.confirm(
        {
          id,
          title: masked(request.title ?? request.request),
          ...(request.title !== undefined && { request: masked(request.request) }),
          consequences: lost.map(masked),
          ...(production && { typed: target.host }),
        },
        signal,
      );
    } catch (thrown) {
      await record(thrown instanceof Fault && thrown.kind === 'refused' ? 'refused' : 'cancelled', messageOf(thrown));
      if (thrown instanceof Fault) recorded.add(thrown);
      throw thrown;
    }
    if (confirmed) return;
    await record('refused', 'not confirmed');
    const message = `Cancelled, because it was not confirmed: ${masked(request.title ?? request.request)}.`;
    const refusal = new Fault('refused.notConfirmed', message, 'Run the command again and confirm.');
    recorded.add(refusal);
    throw refusal;
  }

  /** An interruption reports only itself; the effects of an action that started before it may be real. */
  function withWarning(thrown: unknown): unknown {
    const isInterruption = signal.aborted && (thrown === signal.reason || !(thrown instanceof Fault));
    if (!hasBegun || !isInterruption || !(signal.reason instanceof Fault)) return thrown;
    const { code, message } = signal.reason;
    return new Fault(code, message, 'Check the status: the action may have completed.', { cause: thrown });
  }

  /** Records a refusal by the flow itself, before any action: a ban of the operator's own address, a lock-out. */
  async function recordRefusal(thrown: unknown): Promise<void> {
    if (!about || about.right === 'read' || policy.dryRun) return;
    if (!(thrown instanceof Fault) || thrown.kind !== 'refused' || recorded.has(thrown)) return;
    const { right, ...target } = about;
    await audit.record({
      ...{ run: journal.run, flow, act: flow, phase: 'after', outcome: 'refused', right, request: flow, ...target },
      ...subjectOf?.(target),
      message: masked(thrown.message),
    });
  }

  const session: Session = {
    signal,
    dryRun: policy.dryRun,
    attended: operator.kind !== 'unattended',
    readOnly: policy.readOnly,
    ask: {
      text: (question) => askText({ ...question, kind: 'text' }),
      secret: (question) => askText({ ...question, kind: 'secret' }),
      number: async ({ least, most, ...question }) =>
        Number(await askChecked({ ...question, kind: 'number' }, (text) => numberProblem(text, { least, most }))),
      duration: async (question) => parseDuration(await askChecked({ ...question, kind: 'duration' }, durationProblem)) ?? 0,
      address: (question) => askChecked({ ...question, kind: 'address' }, addressProblem),
      choice: (question) => askText({ ...question, kind: 'choice' }),
      several: async (question) => [await ask({ ...question, kind: 'several' })].flat(),
    },
    fill: (form) => fillForm(form, { ...policy, operator, journal, masking, signal, note }),
    review: async (review) => {
      const answer = await promptReview(review, { ...policy, operator, masking, signal });
      addAnswers(review.id, [answer]);
      return answer;
    },
    note: async (step, value) => {
      if (!policy.dryRun) await journal.note(step, masking.text(value));
    },
    noted: (step) => journal.noted(step),
    hide: masking.add,
    withoutSecrets: masking.text,
    show: (shown) => {
      if (shown.kind === 'secret') masking.add(shown.value);
      operator.show(masking.shown(shown));
    },
    progress: (progress) => operator.progress({ ...progress, label: masking.text(progress.label) }),
    act,
    lend: (use) => operator.lend(use),
  };

  return {
    session,
    /** Masks the secrets, and warns if the run was interrupted after a change had started. Not usable after `end`. */
    reported: (thrown: unknown) => masking.reported(withWarning(thrown)),
    /** Must be called once, when the flow has ended, with the value it threw. */
    end: async (outcome: RunEnd, thrown?: unknown): Promise<void> => {
      // A refusal stays in effect, whether or not it can be recorded.
      await recordRefusal(thrown).catch(() => {});
      masking.clear();
      await journal.end(outcome);
    },
  };
}

function refuseProblem(question: Question, answer: string, secret: boolean): void {
  const choices = question.kind === 'choice' || question.kind === 'several' ? question.choices.map(({ value }) => value) : [answer];
  const problem = choices.includes(answer) ? question.check?.(answer) : `Use one of: ${choices.join(', ')}.`;
  if (!problem) return;
  const message = `${question.label}: ${secret ? 'the value' : `"${cleanLine(answer)}"`} is not accepted. ${problem}`;
  throw new Fault('usage.answer', message, `Change the answer to step "${question.id}".`);
}

function interrupted({ request }: Pick<Act<never>, 'request'>, cause: unknown): Fault {
  const remedy = 'The action may or may not have completed: check the status before you try again.';
  return new Fault('interrupted.act', `Interrupted during: ${cleanLine(request)}`, remedy, { cause });
}

function overdue({ request }: Pick<Act<never>, 'request'>, cause: unknown, limitMs?: number): Fault {
  const within = limitMs === undefined ? 'in time' : `within ${Math.round(limitMs / 1000)} seconds`;
  const message = `Not finished ${within}: ${cleanLine(request)}`;
  return new Fault('failed.overdue', message, 'The action may still be running: check the status before you try again.', { cause });
}
