import type { CallAnswer, CallRequest } from '../calls/call.ts';
import type { ConditionFacts } from '../calls/conditions.ts';
import type { ComponentCall } from '../catalog/schema.ts';
import type { FindingView } from './model.ts';
import type { ProbeTarget } from './probe-watch.ts';

/** `isRefused`: the component refused it before. */
export interface ProbeCredential {
  inputs: Readonly<Record<string, string>>;
  isRefused: boolean;
  refuse: () => Promise<void>;
}

/** Returns the credential of a call, or nothing if none is stored. Never prompts, never throws. */
export type FindCredential = (target: ProbeTarget, call: ComponentCall) => Promise<ProbeCredential | undefined>;

interface LoggedIn {
  /** Only successful ones: without them, a state is what it is without a credential. */
  answers: Readonly<Record<string, CallAnswer>>;
  unanswered: ReadonlySet<string>;
  /** To be masked. */
  secrets: readonly string[];
  findings: readonly FindingView[];
}

interface Means {
  find: FindCredential | undefined;
  answer: (request: Omit<CallRequest, 'signal'>) => Promise<CallAnswer>;
}

type Conditions = typeof import('../calls/conditions.ts');

/**
 * Runs the calls of a probe that require a credential: one after the other, because some components ban an address after a few refused
 * logins, and only while the component is well, because one that is starting may refuse any login.
 */
export async function logIn(
  target: ProbeTarget,
  facts: ConditionFacts,
  conditions: Conditions,
  { find, answer }: Means,
): Promise<LoggedIn> {
  const { entry } = target;
  const login = { answers: {} as Record<string, CallAnswer>, unanswered: new Set<string>(), secrets: [] as string[], findings: [] };
  const names = entry.probe?.withCredentials ?? [];
  if (!find || names.length === 0) return login;
  let isWell = false;
  conditions.guardedTogether(() => {
    isWell = conditions.probedState(entry, facts)?.severity === 'ok';
  });
  for (const name of isWell ? names : []) {
    const call = entry.calls[name];
    // The lint refuses such entries; an operator's own catalog may be newer than its last check.
    if (!call?.reads || !call.http) continue;
    const credential = await find(target, call);
    if (!credential) continue;
    if (credential.isRefused) return { ...login, findings: [refusedLogin(target, call)] };
    login.secrets.push(...Object.values(credential.inputs));
    const reported = await answer({ name, call, inputs: credential.inputs });
    if (isRefusal(call, reported, facts, conditions)) {
      await credential.refuse();
      return { ...login, findings: [refusedLogin(target, call)] };
    }
    if (reported.ok && reported.status < 300) login.answers[name] = reported;
    else if (isUnanswered(reported)) login.unanswered.add(name);
  }
  return login;
}

/** Whether a value is not known now, but may be at the next probe. */
export function isUnanswered({ ok, status }: Pick<CallAnswer, 'ok' | 'status'>): boolean {
  return !ok || status === 429 || status >= 500;
}

/** Redirects lead to a login page. Some products report a refused login with status 200. */
function isRefusal({ error }: ComponentCall, answer: CallAnswer, facts: ConditionFacts, { evaluate }: Conditions): boolean {
  const { status } = answer;
  if (status === 401 || status === 403 || (status >= 300 && status < 400)) return true;
  return answer.ok && error !== undefined && Boolean(evaluate(error, { ...facts, answer }).value);
}

function refusedLogin({ id }: ProbeTarget, { title }: ComponentCall): FindingView {
  const message = `The component refused the stored credential for "${title}", so the credential is not sent again.`;
  return { check: 'login-refused', level: 'notice', message, remedy: `Log in again: quarterdeck login ${id}` };
}
