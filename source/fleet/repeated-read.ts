const soonMs = 300;
const everyMs = 30_000;

/** Reads in the background: soon, but not before the first frame, and again after each pause. */
export abstract class RepeatedRead<Subject> {
  protected readonly closing = new AbortController();
  #reading: Promise<void> | undefined;
  #isDue = false;
  #isSoon = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(protected readonly changed: (subject: Subject) => void) {
    this.readSoon();
  }

  /** Calls `changed` for each subject about which it read something new. Must not reject. */
  protected abstract readAll(): Promise<void>;

  protected readSoon(): void {
    if (this.#isSoon || this.closing.signal.aborted) return;
    this.#isSoon = true;
    this.#wait(soonMs);
  }

  /** A call during a read gets the result of the next one. Never rejects. */
  read(): Promise<void> {
    clearTimeout(this.#timer);
    this.#isSoon = false;
    this.#isDue = true;
    this.#reading ??= this.#readWhileDue();
    return this.#reading;
  }

  close(): void {
    this.closing.abort();
    clearTimeout(this.#timer);
  }

  async #readWhileDue(): Promise<void> {
    const { signal } = this.closing;
    while (this.#isDue && !signal.aborted) {
      this.#isDue = false;
      await this.readAll();
    }
    this.#reading = undefined;
    if (!this.#isSoon && !signal.aborted) this.#wait(everyMs);
  }

  #wait(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.read(), ms);
  }
}
