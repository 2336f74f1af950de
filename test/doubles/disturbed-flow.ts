import type { Flow } from '../../source/flows/flow.ts';
import type { Act, Operator, Question, Session, Shown } from '../../source/session/session.ts';

/** A process that is killed: before its act did anything, or when it had done it and nobody had written that down. */
export type Moment = 'before' | 'after';

/** What is to happen to a run: at its act number `at`, counted from 0 among those that are really run. A crash is a bug of ours, with all secrets in its words. */
export interface Disturbance {
  kind: 'kill' | 'crash';
  at: number;
  moment: Moment;
}

/** What was seen of one run of a flow. */
export class Watch {
  /** Acts that were run, in order: `id: request`, told to the end or not. */
  readonly ran: string[] = [];
  /** What was typed masked, made, read or shown in the run. */
  readonly secrets = new Set<string>();
  /** Resolves when it was killed. */
  readonly killed: Promise<'killed'>;
  die: () => void = () => {};
  dead = false;

  constructor() {
    this.killed = new Promise((resolve) => {
      this.die = () => {
        this.dead = true;
        resolve('killed');
      };
    });
  }

  keep(secret: string): void {
    if (secret.trim() !== '') this.secrets.add(secret);
  }
}

/** Of a process that was killed nothing goes on: no `catch`, no `finally`. */
const never = new Promise<never>(() => {});

/** The same flow, watched, and killed or crashing where it is told to. */
export function disturbed(flow: Flow, watch: Watch, disturbance?: Disturbance): Flow {
  return { ...flow, run: (session, input, context) => flow.run(around(session, watch, disturbance), input, context) };
}

function around(session: Session, watch: Watch, disturbance: Disturbance | undefined): Session {
  const alive = <Args extends unknown[], Result>(call: (...args: Args) => Promise<Result>) => {
    return async (...args: Args): Promise<Result> => {
      if (watch.dead) return never;
      const result = await call(...args);
      return watch.dead ? never : result;
    };
  };
  const { ask } = session;
  const sees = ({ reveals }: Pick<Question, 'reveals'>) => {
    if (reveals) watch.keep(reveals.value);
  };
  const keeping = <Asked extends Pick<Question, 'reveals' | 'sensitive'>>(put: (question: Asked) => Promise<string>) =>
    alive(async (question: Asked) => {
      sees(question);
      const answer = await put(question);
      if (question.sensitive) watch.keep(answer);
      return answer;
    });
  return {
    ...session,
    ask: {
      text: keeping(ask.text),
      secret: alive(async (question) => {
        sees(question);
        const answer = await ask.secret(question);
        watch.keep(answer);
        return answer;
      }),
      number: alive(ask.number),
      duration: alive(ask.duration),
      address: alive(ask.address),
      choice: keeping(ask.choice),
      several: alive(ask.several),
    },
    fill: alive(async (form) => {
      const values = await session.fill(form);
      for (const { id, kind } of form.fields) if (kind === 'secret') watch.keep(values[id] ?? '');
      return values;
    }),
    review: alive(session.review),
    lend: alive(session.lend) as Session['lend'],
    hide: (secret) => {
      watch.keep(secret);
      session.hide(secret);
    },
    show: (shown: Shown) => {
      if (shown.kind === 'secret') watch.keep(shown.value);
      if (!watch.dead) session.show(shown);
    },
    progress: (progress) => {
      if (!watch.dead) session.progress(progress);
    },
    act: alive(<T>(act: Act<T>) => actIn(session, act, watch, disturbance)) as Session['act'],
  };
}

function actIn<T>(session: Session, act: Act<T>, watch: Watch, disturbance: Disturbance | undefined): Promise<T | undefined> {
  const run: Act<T>['run'] = async (grant) => {
    const here = disturbance?.at === watch.ran.length ? disturbance : undefined;
    const disturb = () => {
      if (here?.kind === 'crash') throw mistake([...watch.secrets], act.id);
      watch.die();
      return never;
    };
    if (here?.moment === 'before') return disturb();
    watch.ran.push(`${act.id}: ${act.request}`);
    const result = await act.run(grant);
    if (!here) return result;
    // The flow has not said yet what of this is secret.
    if (here.kind === 'crash') for (const text of longTextsIn(result)) watch.keep(text);
    return disturb();
  };
  const isWatched = disturbance?.kind === 'kill';
  // No limit ends a run that is dead.
  return session.act({ ...act, run, ...(isWatched && { limitMs: Number.POSITIVE_INFINITY }) });
}

/** What an act answers and may be a secret: tokens and keys are long. What only names them, or a component, is none. */
function longTextsIn(result: unknown): string[] {
  if (typeof result === 'string') return /^(?!local\/)[\w+/=.-]{20,}$/.test(result) ? [result] : [];
  if (typeof result !== 'object' || result === null) return [];
  return Object.entries(result).flatMap(([name, part]) => (/nonce|accessor/i.test(name) ? [] : longTextsIn(part)));
}

/** A bug of ours with every secret of the run in its hands: in its words, its stack, its cause, and in a request that hangs on it. */
function mistake(secrets: readonly string[], act: string): Error {
  const all = secrets.join(' and ');
  const cause = new Error(`write EPIPE after ${all}`, { cause: `sent ${all}` });
  const thrown = new TypeError(`cannot read properties of undefined, ${act}: ${all}`, { cause });
  return Object.assign(thrown, { config: { headers: { 'x-vault-token': all }, body: JSON.stringify(secrets) } });
}

/** The operator, with all that is put before them written down but for what is shown as a secret. */
export function overheard(operator: Operator, heard: string[]): Operator {
  const hear = (what: unknown) => void heard.push(JSON.stringify(what));
  return {
    kind: operator.kind,
    ask: (question, signal) => {
      const { reveals, ...rest } = question;
      hear(reveals ? { ...rest, reveals: reveals.label } : rest);
      return operator.ask(question, signal);
    },
    confirm: (confirmation, signal) => {
      hear(confirmation);
      return operator.confirm(confirmation, signal);
    },
    fill: (form, signal) => {
      hear({ ...form, fields: form.fields.map((field) => (field.kind === 'secret' ? { ...field, value: '' } : field)) });
      return operator.fill(form, signal);
    },
    review: (review, signal) => {
      hear(review);
      return operator.review(review, signal);
    },
    show: (shown) => {
      if (shown.kind === 'output') hear(Buffer.from(shown.bytes).toString());
      else if (shown.kind === 'secret') hear(shown.label);
      else hear(shown);
      operator.show(shown);
    },
    progress: (progress) => {
      hear(progress);
      operator.progress(progress);
    },
    lend: (use) => operator.lend(use),
  };
}
