import { Fault, type FaultCode } from '../faults/fault.ts';
import { createListeners } from '../faults/listeners.ts';
import type { SshQuestion } from '../hosts/ssh/askpass-socket.ts';

export interface HostQuestion extends SshQuestion {
  host: string;
  /** Aborted when ssh no longer waits for the answer. */
  signal: AbortSignal;
  /** Undefined declines, and no connection is made. */
  answer(text: string | undefined): void;
}

/** Returns what ssh accepts as the answer to a host key prompt: `yes`, `no`, or a fingerprint, which ssh compares. */
export function readKeyAnswer(typed: string): string | undefined {
  const answer = typed.trim();
  if (/^y(?:es)?$/i.test(answer)) return 'yes';
  if (/^no?$/i.test(answer)) return 'no';
  return /^(?:SHA256|MD5):\S+$/.test(answer) ? answer : undefined;
}

export function keyAnswerProblem(typed: string): string | undefined {
  return readKeyAnswer(typed) === undefined ? 'Answer yes or no, or paste the fingerprint: SHA256:...' : undefined;
}

/** Queues the prompts of all connections in progress, one after the other, for the console or a line prompt. */
export class HostQuestions {
  #waiting: readonly HostQuestion[] = [];
  readonly #listeners = createListeners();

  /** The prompt to answer now. A security key that waits for a touch does not delay the others. */
  get first(): HostQuestion | undefined {
    return this.#waiting.find(({ kind }) => kind !== 'touch') ?? this.#waiting[0];
  }

  get waiting(): readonly HostQuestion[] {
    return this.#waiting;
  }

  /** Every prompt is declined at once while there is no subscriber. */
  subscribe(changed: () => void): () => void {
    const unsubscribe = this.#listeners.subscribe(changed);
    return () => {
      unsubscribe();
      if (this.#listeners.count === 0) for (const question of this.#waiting) question.answer(undefined);
    };
  }

  /** Undefined when the prompt is no longer needed. Throws `refused.hostKey` or `refused.login` when it is declined. */
  ask(host: string, question: SshQuestion, signal: AbortSignal): Promise<string | undefined> {
    if (signal.aborted) return Promise.resolve(undefined);
    // A security key can be touched at the machine even without a subscriber.
    if (this.#listeners.count === 0 && question.kind !== 'touch') return Promise.reject(nobodyThere(host, question));
    return new Promise((resolve, reject) => {
      const end = () => {
        signal.removeEventListener('abort', withdraw);
        this.#setWaiting(this.#waiting.filter((one) => one !== asked));
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
      const asked: HostQuestion = { ...question, host, signal, answer };
      signal.addEventListener('abort', withdraw, { once: true });
      this.#setWaiting([...this.#waiting, asked]);
    });
  }

  #setWaiting(waiting: readonly HostQuestion[]): void {
    this.#waiting = waiting;
    this.#listeners.notify();
  }
}

const codeOf = ({ kind }: SshQuestion): FaultCode => (kind === 'hostKey' ? 'refused.hostKey' : 'refused.login');

const about: Record<SshQuestion['kind'], string> = {
  hostKey: 'confirmation of the host key',
  secret: 'a secret',
  confirm: 'confirmation to use a key',
  touch: 'a touch of the security key',
};

function nobodyThere(host: string, question: SshQuestion): Fault {
  const { kind, lines } = question;
  const said = kind === 'hostKey' ? lines.find((line) => /fingerprint/i.test(line)) : lines.at(-1);
  const message = `Cannot prompt without a terminal: to connect to ${host}, ssh requests ${about[kind]}${said ? `: ${said.trim()}` : ''}`;
  const remedy =
    kind === 'hostKey'
      ? `Answer the prompt once in a terminal: quarterdeck hosts check ${host}`
      : `Answer the prompt in a terminal, or copy a key to ${host} with ssh-copy-id and load it with ssh-add.`;
  return new Fault(codeOf(question), message.replace(/[.:?]*$/, '.'), remedy);
}

function declined(host: string, question: SshQuestion): Fault {
  const message = `Not connected to ${host}: ssh requested ${about[question.kind]}, but the prompt was declined.`;
  return new Fault(codeOf(question), message, `Connect again when you have the answer: quarterdeck hosts check ${host}`);
}
