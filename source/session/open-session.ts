import { Fault, isAbort, messageOf } from '../faults/fault.ts';
import type { Right } from '../grants/grant.ts';
import { mintGrant } from '../grants/mint.ts';
import { cleanLine } from '../text/clean.ts';
import { addressProblem, durationProblem, numberProblem, parseDuration } from './answer-checks.ts';
import type { Audit } from './audit.ts';
import type { AuditOutcome, AuditSubject } from './audit-chain.ts';
import { askReview, fillForm } from './forms.ts';
import type { Journal, RunEnd } from './journal.ts';
import { createMasking, hiddenMark } from './masking.ts';
import type { Act, Operator, Question, Session } from './session.ts';

/** What was fixed when the program started, or is written in the configuration. */
export interface SessionPolicy {
  readOnly: boolean;
  rehearsing: boolean;
  /** Hosts whose name must be typed before anything is destroyed there, or a command of unknown effect is run. */
  productionHosts: ReadonlySet<string>;
}

export interface SessionOptions {
  /** Id of the flow that runs in it. */
  flow: string;
  operator: Operator;
  policy: SessionPolicy;
  journal: Journal;
  audit: Audit;
  /** What the run is about: a refusal before its first act is recorded with it. */
  about?: { right: Right; host: string; component?: string };
  /** Tells what an act is about apart from others of the same name. */
  subjectOf?: (target: Act<unknown>['target']) => AuditSubject;
  signal: AbortSignal;
}

export interface OpenSession {
  session: Session;
  /** What was thrown, for whoever started the run: without its secrets, and with a warning where it was interrupted after a change had begun. Of no use after `end`. */
  reported(thrown: unknown): unknown;
  /** To be called once, when the flow has ended, with what it threw. */
  end(outcome: RunEnd, thrown?: unknown): Promise<void>;
}

const defaultLimitMs = 120_000;
const afterwardsLimitMs = 60_000;

export function openSession({ flow, operator, policy, journal, audit, about, subjectOf, signal }: SessionOptions): OpenSession {
  const answers = new Map<string, string[]>();
  const masking = createMasking();
  const masked = masking.line;
  const acts = new Set<string>();
  let hasBegun = false;
  /** Faults that are in the audit log. */
  const recorded = new WeakSet<object>();

  async function ask(question: Question): Promise<string | readonly string[]> {
    signal.throwIfAborted();
    const secret = question.kind === 'secret' || question.sensitive === true;
    if (question.reveals) masking.add(question.reveals.value);
    const kept = !secret && !question.reveals && !question.fresh;
    const journaled = kept ? journal.replay(question.id) : undefined;
    const answer = journaled ?? (await operator.ask(question, signal));
    // An operator that is no person may not look at `check`, and a journal can be older than it.
    for (const part of typeof answer === 'string' ? [answer] : answer) {
      const problem = problemOf(question, part);
      if (problem) {
        throw new Fault({
          code: 'usage.answer',
          message: `${question.label}: ${secret ? 'the answer' : `"${cleanLine(part)}"`} is not accepted. ${problem}`,
          remedy: `Answer step "${question.id}" differently.`,
        });
      }
      if (secret) masking.add(part);
    }
    answers.set(question.id, [
      ...(answers.get(question.id) ?? []),
      ...(secret ? [hiddenMark] : typeof answer === 'string' ? [answer] : answer),
    ]);
    if (kept && journaled === undefined && !policy.rehearsing) await journal.answered(question.id, answer);
    return answer;
  }

  function note(step: string, given: readonly string[]): void {
    if (given.length > 0) answers.set(step, [...given]);
    else answers.delete(step);
  }

  const askText = async (question: Question) => {
    const answer = await ask(question);
    return typeof answer === 'string' ? answer : (answer[0] ?? '');
  };

  async function act<T>(request: Act<T>): Promise<T | undefined> {
    signal.throwIfAborted();
    const { id, right, target, consequences = [], limitMs = defaultLimitMs } = request;
    if (acts.has(id)) throw new Error(`act ${id} twice in one run of ${flow}`);
    if (right === 'destroy' && consequences.length === 0) throw new Error(`act ${id} destroys and does not say what`);
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
      const refusal = new Fault({
        code: 'refused.readOnly',
        message: `Read-only: not done: ${masked(request.request)}`,
        remedy: 'Start without --read-only to change something.',
      });
      // A refusal stands, whether or not it can be written down.
      await record('refused', refusal.message).catch(() => {});
      recorded.add(refusal);
      throw refusal;
    }

    if (request.done && (await request.done())) {
      if (policy.rehearsing) {
        operator.show({ kind: 'text', text: `Nothing to do, it is so already: ${masked(request.request)}` });
        return undefined;
      }
      await record('already');
      await journal.acted(id, 'already');
      return undefined;
    }

    if (policy.rehearsing) {
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
      const fault = stopped ? interrupted(request, thrown) : isAbort(thrown) ? overdue(request, limitMs, thrown) : thrown;
      // Why it failed matters more than that this could not be written down.
      await record(stopped ? 'cancelled' : 'failed', messageOf(masking.told(fault))).catch(() => {});
      const told = masking.thrown(fault);
      for (const one of [fault, told]) if (one instanceof Fault) recorded.add(one);
      throw told;
    }
    const failure = request.failure?.(outcome.result);
    await record(failure === undefined ? 'done' : 'failed', failure);
    if (failure === undefined) await journal.acted(id, 'done');
    return outcome.result;
  }

  async function granted<T>({ id, right, run, afterwards }: Act<T>, limitMs: number): Promise<{ result: T } | { thrown: unknown }> {
    const ended = new AbortController();
    const limits = [signal, ended.signal];
    if (Number.isFinite(limitMs)) limits.push(AbortSignal.timeout(limitMs));
    const grantSignal = AbortSignal.any(limits);
    let outcome: { result: T } | { thrown: unknown };
    try {
      outcome = { result: await untilAborted(run(mintGrant(id, right, grantSignal)), grantSignal) };
    } catch (thrown) {
      outcome = { thrown };
    } finally {
      // A grant that somebody kept opens nothing from here on.
      ended.abort(new Fault({ code: 'refused.grantEnded', message: `The act "${id}" is over.`, remedy: 'Ask for a grant of its own.' }));
    }
    if (afterwards) {
      const ownSignal = AbortSignal.timeout(afterwardsLimitMs);
      await untilAborted(afterwards(mintGrant(id, right, ownSignal)), ownSignal).catch((thrown: unknown) => {
        // What went wrong first is what the operator has to know first.
        if (!('thrown' in outcome)) outcome = { thrown };
      });
    }
    return outcome;
  }

  async function confirm<T>(request: Act<T>, record: (outcome: AuditOutcome, message?: string) => Promise<void>): Promise<void> {
    const { id, target, consequences = [] } = request;
    const lost = consequences.length > 0 ? consequences : ['What it changes is not known beforehand, and cannot be undone from here.'];
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
    const refusal = new Fault({
      code: 'refused.notConfirmed',
      message: `Not confirmed, nothing was changed: ${masked(request.title ?? request.request)}`,
      remedy: 'Run it again and confirm.',
    });
    recorded.add(refusal);
    throw refusal;
  }

  /** Whoever interrupts says only that; what an act began before that may have happened. */
  function withWarning(thrown: unknown): unknown {
    const isInterruption = signal.aborted && (thrown === signal.reason || !(thrown instanceof Fault));
    if (!hasBegun || !isInterruption || !(signal.reason instanceof Fault)) return thrown;
    const { code, message } = signal.reason;
    return new Fault({ code, message, remedy: 'Check the status: what was begun may have happened.', cause: thrown });
  }

  /** What a flow refuses by itself, before any act: a ban of the operator's own address, a lock-out. */
  async function recordRefusal(thrown: unknown): Promise<void> {
    if (!about || about.right === 'read' || policy.rehearsing) return;
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
    rehearsing: policy.rehearsing,
    attended: operator.kind !== 'unattended',
    readOnly: policy.readOnly,
    ask: {
      text: (question) => askText({ ...question, kind: 'text' }),
      secret: (question) => askText({ ...question, kind: 'secret' }),
      number: async ({ least, most, check, ...question }) => {
        const answer = await askText({
          ...question,
          kind: 'number',
          check: (text) => numberProblem(text, { least, most }) ?? check?.(text),
        });
        return Number(answer.trim());
      },
      duration: async ({ check, ...question }) => {
        const answer = await askText({ ...question, kind: 'duration', check: (text) => durationProblem(text) ?? check?.(text) });
        return parseDuration(answer) ?? 0;
      },
      address: async ({ check, ...question }) => {
        const answer = await askText({ ...question, kind: 'address', check: (text) => addressProblem(text) ?? check?.(text) });
        return answer.trim();
      },
      choice: (question) => askText({ ...question, kind: 'choice' }),
      several: async (question) => {
        const answer = await ask({ ...question, kind: 'several' });
        return typeof answer === 'string' ? [answer] : answer;
      },
    },
    fill: (form) => fillForm(form, { ...policy, operator, journal, masking, signal, note }),
    review: async (review) => {
      const answer = await askReview(review, { ...policy, operator, masking, signal });
      answers.set(review.id, [...(answers.get(review.id) ?? []), answer]);
      return answer;
    },
    note: async (step, value) => {
      if (!policy.rehearsing) await journal.note(step, masking.text(value));
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
    reported: (thrown) => masking.told(withWarning(thrown)),
    end: async (outcome, thrown) => {
      // A refusal stands, whether or not it can be written down.
      await recordRefusal(thrown).catch(() => {});
      masking.clear();
      await journal.end(outcome);
    },
  };
}

function problemOf(question: Question, answer: string): string | undefined {
  if ((question.kind === 'choice' || question.kind === 'several') && !question.choices.some(({ value }) => value === answer)) {
    return `Choose one of ${question.choices.map(({ value }) => value).join(', ')}.`;
  }
  return question.check?.(answer);
}

/** Rejects as soon as the signal does, also when what was started does not look at it. */
async function untilAborted<T>(started: Promise<T>, signal: AbortSignal): Promise<T> {
  let stop: (() => void) | undefined;
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason as Error);
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([started, aborted]);
  } finally {
    if (stop) signal.removeEventListener('abort', stop);
    // What goes on behind our back may still fail; nobody listens any more.
    started.catch(() => {});
  }
}

function interrupted(request: Pick<Act<never>, 'request'>, cause: unknown): Fault {
  return new Fault({
    code: 'interrupted.act',
    message: `Interrupted during: ${cleanLine(request.request)}`,
    remedy: 'It may have happened or not: look at the status before you try again.',
    cause,
  });
}

function overdue(request: Pick<Act<never>, 'request'>, limitMs: number, cause: unknown): Fault {
  return new Fault({
    code: 'failed.overdue',
    message: `Not finished within ${Math.round(limitMs / 1000)} seconds: ${cleanLine(request.request)}`,
    remedy: 'It may still be going on over there: look at the status before you try again.',
    cause,
  });
}
