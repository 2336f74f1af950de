import { Fault } from '../../../source/faults/fault.ts';
import { initialValues } from '../../../source/session/form-checks.ts';
import type { Form, Question } from '../../../source/session/session.ts';
import { OperatorDouble } from '../../doubles/operator-double.ts';

type Answer = string | readonly string[];
export type Answers = Readonly<Record<string, Answer | ((time: number) => Answer)>>;

interface Reported {
  answers: Answers | undefined;
  forms: Readonly<Record<string, Readonly<Record<string, string>>>> | undefined;
  edited: () => unknown;
  /** Called with what is revealed. */
  reveal: (secret: string) => void;
}

/** Somebody at a terminal: answers by step, types again what was revealed, keeps what stands there already, and confirms everything. */
export class Person extends OperatorDouble {
  readonly #reported: Reported;
  readonly #times = new Map<string, number>();
  #revealed = '';

  constructor(reported: Reported) {
    super('terminal');
    this.#reported = reported;
  }

  /** Undefined for a step that nothing was said about. */
  written(question: Question): Answer | undefined {
    const time = this.#times.get(question.id) ?? 0;
    this.#times.set(question.id, time + 1);
    const given = this.#reported.answers?.[question.id];
    if (typeof given === 'function') return given(time);
    if (typeof given !== 'object' || question.kind === 'several') return given;
    return given[Math.min(time, given.length - 1)];
  }

  writtenInto(form: Form): Form {
    const typed = this.#reported.forms?.[form.id] ?? {};
    return { ...form, fields: form.fields.map((field) => ({ ...field, value: typed[field.id] ?? field.value })) };
  }

  override async ask(question: Question): Promise<Answer> {
    this.asked.push(question);
    if (question.reveals) {
      this.#revealed = question.reveals.value;
      this.#reported.reveal(this.#revealed);
    }
    const answer = this.written(question);
    if (answer !== undefined) return answer;
    if (question.id.includes('-proof')) return this.#revealed;
    if ('initial' in question && question.initial !== undefined) return question.initial;
    throw new Error(`nothing answers ${question.id}`);
  }

  override async fill(form: Form): Promise<Readonly<Record<string, string>>> {
    return { ...initialValues(this.writtenInto(form)), ...this.#reported.forms?.[form.id] };
  }

  override async lend<T>(): Promise<T> {
    const edited = this.#reported.edited();
    if (edited === undefined) throw new Fault('refused.noTerminal', 'No terminal.', 'Use one.');
    return edited as T;
  }
}
