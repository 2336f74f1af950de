import type { SshQuestion } from '../hosts/ssh/ask-socket.ts';

/** A question of ssh that waits for the operator. */
export interface HostQuestion extends SshQuestion {
  /** What the operator calls the host. */
  host: string;
  /** Undefined declines: the connection is not made. */
  answer(text: string | undefined): void;
}

/** Questions of all connections that are being made, one after the other, for whoever talks to the operator: the console, a line prompt, nobody. */
export class HostQuestions {
  #waiting: readonly HostQuestion[] = [];
  readonly #listeners = new Set<() => void>();
  #isAnswered = false;

  /** The one that is to be answered now. */
  get first(): HostQuestion | undefined {
    return this.#waiting[0];
  }

  /** Somebody answers from now on; without anybody every question is declined at once. */
  subscribe(changed: () => void): () => void {
    this.#isAnswered = true;
    this.#listeners.add(changed);
    return () => {
      this.#listeners.delete(changed);
      this.#isAnswered = this.#listeners.size > 0;
      if (!this.#isAnswered) for (const question of this.#waiting) question.answer(undefined);
    };
  }

  /** Waits for the answer; undefined when it is declined, or no longer needed. */
  ask(host: string, question: SshQuestion, signal: AbortSignal): Promise<string | undefined> {
    if (!this.#isAnswered || signal.aborted) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      const end = (text: string | undefined) => {
        signal.removeEventListener('abort', withdraw);
        this.#waiting = this.#waiting.filter((one) => one !== asked);
        resolve(text);
        for (const changed of [...this.#listeners]) changed();
      };
      const withdraw = () => end(undefined);
      const asked: HostQuestion = { ...question, host, answer: end };
      signal.addEventListener('abort', withdraw, { once: true });
      this.#waiting = [...this.#waiting, asked];
      for (const changed of [...this.#listeners]) changed();
    });
  }
}
