/** Longest time of work on lines before keys and timers get their turn. */
const sliceMs = 4;

/** Many small portions of work, chained as promises resolve, would block everything else. */
export class TimeSlices {
  #startedMs = 0;
  #turn: Promise<void> | undefined;

  /** Call between two portions: returns true if this turn of the event loop has lasted long enough. Then wait for the `next`. */
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

  async next(): Promise<void> {
    await this.#turn;
  }
}
