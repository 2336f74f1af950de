/** Until when, in the time of `performance.now()`. */
let untilMs = Number.NEGATIVE_INFINITY;

/** Somebody presses keys: for so long what floods in is read slowly, so that engine, program and terminal have the processor for what the keys do. */
export function keysFirst(forMs: number): void {
  untilMs = performance.now() + forMs;
}

export function areKeysFirst(): boolean {
  return performance.now() < untilMs;
}
