import { cleanLine } from '../text/clean.ts';
import type { Output } from './output.ts';

/** A terminal shows a wait soon; a log file gets a line for a long wait, and another now and then. */
const watchedMs = 3_000;
const unwatchedMs = 10_000;
const againMs = 60_000;

/**
 * Reports on stderr what is waited for while nothing else is written there or on stdout: in a terminal in a line that changes in place,
 * otherwise after ten seconds. Not for work that lends the terminal to another program.
 * @param isAsking a prompt is on the terminal: nothing is written across it
 */
export async function whileWaiting<T>(
  output: Output,
  what: () => string,
  run: () => Promise<T>,
  isAsking: () => boolean = () => false,
): Promise<T> {
  let beganMs = performance.now();
  let dueMs = unwatchedMs;
  const timer = setInterval(() => {
    const nowMs = performance.now();
    // Until now the wait was for the operator.
    if (isAsking()) beganMs = nowMs;
    const quietMs = nowMs - Math.max(beganMs, output.lastWrittenMs);
    const seconds = Math.floor((nowMs - beganMs) / 1000);
    if (output.showsProgress) {
      if (quietMs >= watchedMs) output.progress(`${cleanLine(what())} (${seconds} s). Ctrl-C cancels.`);
    } else if (quietMs >= dueMs) {
      dueMs += againMs;
      output.note(`${cleanLine(what())} (${seconds} s so far).`);
    }
  }, 1_000);
  try {
    return await run();
  } finally {
    clearInterval(timer);
    output.endProgress();
  }
}
