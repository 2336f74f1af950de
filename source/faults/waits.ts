/** Resolves after `ms`; rejects with the signal's reason. */
export function pauseFor(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason as Error);
      return;
    }
    const stop = () => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal.addEventListener('abort', stop, { once: true });
  });
}

/** Runs with a limit of its own on top of the given signal. */
export async function limited<T>(signal: AbortSignal, limitMs: number, run: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const timer = new AbortController();
  const timeout = setTimeout(() => timer.abort(new DOMException(`no answer within ${limitMs} ms`, 'TimeoutError')), limitMs);
  const both = AbortSignal.any([signal, timer.signal]);
  let stop: (() => void) | undefined;
  try {
    return await new Promise<T>((resolve, reject) => {
      both.throwIfAborted();
      stop = () => reject(both.reason);
      both.addEventListener('abort', stop, { once: true });
      run(both).then(resolve, reject);
    });
  } finally {
    clearTimeout(timeout);
    // Node keeps a joined signal, and with it the answer, for as long as somebody listens to it.
    if (stop) both.removeEventListener('abort', stop);
  }
}

const secondMs = 1000;
/** A timer may end a little early; then this second is not counted twice. */
const lateMs = 5;

/** From now to the machine's next second: for beats that are to fall together. */
export function untilSecondMs(nowMs = Date.now()): number {
  return secondMs - ((nowMs + lateMs) % secondMs) + lateMs;
}
