/** So long may lines be worked on before keys and timers get their turn. */
const sliceMs = 4;

/** Many small portions of work, one after the other as promises resolve, would keep everything else from running. */
export class TurnKeeper {
  #startedMs = 0;
  #turn: Promise<void> | undefined;

  /** Call between two portions: has this turn of the event loop lasted long enough? Then wait for the `next`. */
  get isDue(): boolean {
    if (this.#turn) return performance.now() - this.#startedMs > sliceMs;
    this.#startedMs = performance.now();
    this.#turn = new Promise((resolve) => {
      setImmediate(() => {
        this.#turn = undefined;
        resolve();
      });
    });
    return false;
  }

  /** Resolves with the event loop's next turn. */
  async next(): Promise<void> {
    await this.#turn;
  }
}
