import { cleanLine } from '../text/clean.ts';
import type { Output } from './output.ts';

/** Whoever watches sees it soon; a log file gets a line when it takes long, and another now and then. */
const watchedMs = 3_000;
const unwatchedMs = 10_000;
const againMs = 60_000;

/**
 * Says on stderr what is waited for while nothing else is written there or on stdout: in a terminal in a line that changes in place, elsewhere once it has taken ten seconds. Not for
 * what lends the terminal out.
 * @param isAsking a question is on the terminal: nothing is written across it
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
    // The operator was waited for until now.
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
