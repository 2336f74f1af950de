/** While the operator presses keys, floods of input are read slowly, so that engine, program and terminal have the CPU for the keys. */
export class KeyPriority {
  #untilMs = Number.NEGATIVE_INFINITY;

  /** After a key press, another one is likely within this time. */
  begin(forMs: number): void {
    this.#untilMs = performance.now() + forMs;
  }

  get isOn(): boolean {
    return performance.now() < this.#untilMs;
  }
}
