import { Fault, type FaultInit } from '../faults/fault.ts';
import type { SshQuestion } from '../hosts/ssh/ask-socket.ts';

/** A question of ssh that waits for the operator. */
export interface HostQuestion extends SshQuestion {
  /** What the operator calls the host. */
  host: string;
  /** Undefined declines: the connection is not made. */
  answer(text: string | undefined): void;
}

/** What was typed for a host key, as ssh takes it: `yes`, `no`, or a fingerprint, which ssh compares. Undefined for anything else. */
export function readKeyAnswer(typed: string): string | undefined {
  const answer = typed.trim();
  if (/^y(?:es)?$/i.test(answer)) return 'yes';
  if (/^no?$/i.test(answer)) return 'no';
  return /^(?:SHA256|MD5):\S+$/.test(answer) ? answer : undefined;
}

export function keyAnswerProblem(typed: string): string | undefined {
  return readKeyAnswer(typed) === undefined ? 'Write yes or no, or paste the fingerprint: SHA256:...' : undefined;
}

/** Questions of all connections that are being made, one after the other, for whoever talks to the operator: the console, a line prompt, nobody. */
export class HostQuestions {
  #waiting: readonly HostQuestion[] = [];
  readonly #listeners = new Set<() => void>();

  /** The one that is to be answered now. A key that waits to be touched keeps no other one waiting. */
  get first(): HostQuestion | undefined {
    return this.#waiting.find(({ kind }) => kind !== 'touch') ?? this.#waiting[0];
  }

  get waiting(): readonly HostQuestion[] {
    return this.#waiting;
  }

  /** Somebody answers from now on; without anybody every question is declined at once. */
  subscribe(changed: () => void): () => void {
    this.#listeners.add(changed);
    return () => {
      this.#listeners.delete(changed);
      if (this.#listeners.size === 0) for (const question of this.#waiting) question.answer(undefined);
    };
  }

  /**
   * Waits for the answer; undefined when it is no longer needed.
   * @throws Fault `refused.hostKey` or `refused.login` when nobody answers, or somebody declines
   */
  ask(host: string, question: SshQuestion, signal: AbortSignal): Promise<string | undefined> {
    if (signal.aborted) return Promise.resolve(undefined);
    // Whoever stands at the machine may touch it all the same.
    if (this.#listeners.size === 0 && question.kind !== 'touch') return Promise.reject(nobodyThere(host, question));
    return new Promise((resolve, reject) => {
      const end = () => {
        signal.removeEventListener('abort', withdraw);
        this.#waiting = this.#waiting.filter((one) => one !== asked);
        for (const changed of [...this.#listeners]) changed();
      };
      const withdraw = () => {
        end();
        resolve(undefined);
      };
      const answer = (text: string | undefined) => {
        if (question.kind === 'touch') return;
        end();
        if (text === undefined) reject(declined(host, question));
        else resolve(text);
      };
      const asked: HostQuestion = { ...question, host, answer };
      signal.addEventListener('abort', withdraw, { once: true });
      this.#waiting = [...this.#waiting, asked];
      for (const changed of [...this.#listeners]) changed();
    });
  }
}

function codeOf({ kind }: SshQuestion): FaultInit['code'] {
  return kind === 'hostKey' ? 'refused.hostKey' : 'refused.login';
}

const about: Record<SshQuestion['kind'], string> = {
  hostKey: 'whether its key is the right one',
  secret: 'something secret',
  confirm: 'whether a key may be used',
  touch: 'for a touch',
};

function nobodyThere(host: string, question: SshQuestion): Fault {
  const { kind, lines } = question;
  const said = kind === 'hostKey' ? lines.find((line) => /fingerprint/i.test(line)) : lines.at(-1);
  return new Fault({
    code: codeOf(question),
    message:
      `ssh asks ${about[kind]} before it connects to ${host}, and nobody is there to answer${said ? `: ${said.trim()}` : ''}`.replace(
        /[.:?]*$/,
        '.',
      ),
    remedy:
      kind === 'hostKey'
        ? `Answer it once in a terminal: quarterdeck hosts check ${host}`
        : `Answer it in a terminal, or let it need no answer: a key in an agent (ssh-add, and ssh-copy-id to ${host}).`,
  });
}

function declined(host: string, question: SshQuestion): Fault {
  return new Fault({
    code: codeOf(question),
    message: `ssh asked ${about[question.kind]}, and got no answer: ${host} was not connected.`,
    remedy: `Connect again when you have the answer: quarterdeck hosts check ${host}`,
  });
}
