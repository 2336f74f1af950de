import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { SendWindow } from './send-window.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const pieceBytes = 4 * 1024;

/** Simulates a line with this bandwidth per second and this latency each way; a query over it waits behind the data sent before it. */
function line({ bytesPerSecond, eachWayMs, answersMs = 0 }: { bytesPerSecond: number; eachWayMs: number; answersMs?: number }) {
  let freeMs = 0;
  let longestMs = 0;
  let arrived = 0;
  const carry = (sizeBytes: number): number => {
    freeMs = Math.max(freeMs, performance.now()) + (sizeBytes / bytesPerSecond) * 1000;
    longestMs = Math.max(longestMs, freeMs - performance.now());
    return freeMs - performance.now() + eachWayMs;
  };
  return {
    send(sizeBytes: number) {
      setTimeout(() => {
        arrived += sizeBytes;
      }, carry(sizeBytes));
    },
    ask: () => new Promise<void>((resolve) => void setTimeout(resolve, carry(100) + answersMs + eachWayMs)),
    get longestMs() {
      return longestMs;
    },
    get arrived() {
      return arrived;
    },
    forget() {
      longestMs = 0;
    },
  };
}

/** Sends pieces as fast as they are released. */
function pour(window: SendWindow, to: ReturnType<typeof line>): void {
  const next = (): void => {
    const { pieceBytes: sizeBytes } = window;
    window.admit(sizeBytes, () => {
      to.send(sizeBytes);
      queueMicrotask(next);
    });
  };
  next();
}

describe('what is sent over a connection', () => {
  test.each([50_000, 200_000])(
    'does not fill a line of %i bytes a second for longer than a second, and uses all of it',
    async (bytesPerSecond) => {
      const narrow = line({ bytesPerSecond, eachWayMs: 50 });
      const window = new SendWindow(narrow.ask);
      window.recordRoundTrip(100);
      pour(window, narrow);
      await vi.advanceTimersByTimeAsync(5_000);
      narrow.forget();
      const before = narrow.arrived;
      await vi.advanceTimersByTimeAsync(30_000);
      expect(narrow.longestMs).toBeLessThan(1_000);
      expect(narrow.arrived - before).toBeGreaterThan(0.9 * 30 * bytesPerSecond);
    },
  );

  test('uses a wide line that is long', async () => {
    const wide = line({ bytesPerSecond: 12_500_000, eachWayMs: 50 });
    const window = new SendWindow(wide.ask);
    window.recordRoundTrip(100);
    pour(window, wide);
    await vi.advanceTimersByTimeAsync(2_000);
    const before = wide.arrived;
    await vi.advanceTimersByTimeAsync(5_000);
    expect(wide.arrived - before).toBeGreaterThan(0.8 * 5 * 12_500_000);
  });

  test('is not held up by a machine that is slow to answer', async () => {
    const busy = line({ bytesPerSecond: 12_500_000, eachWayMs: 1, answersMs: 700 });
    const window = new SendWindow(busy.ask);
    window.recordRoundTrip(2);
    pour(window, busy);
    await vi.advanceTimersByTimeAsync(10_000);
    const before = busy.arrived;
    await vi.advanceTimersByTimeAsync(5_000);
    expect(busy.arrived - before).toBeGreaterThan(0.3 * 5 * 12_500_000);
  });

  test('waits for room, in order, also where the room becomes smaller meanwhile', async () => {
    const answers: (() => void)[] = [];
    const window = new SendWindow(() => new Promise<void>((resolve) => void answers.push(resolve)));
    const gone: number[] = [];
    for (let number = 0; number < 40; number++) window.admit(pieceBytes, () => void gone.push(number));
    const before = gone.length;
    expect(before).toBeLessThan(10);
    for (let turn = 0; turn < 100 && gone.length < 40; turn++) {
      await vi.advanceTimersByTimeAsync(5_000);
      answers.shift()?.();
      await vi.advanceTimersByTimeAsync(0);
    }
    expect(gone).toEqual(Array.from({ length: 40 }, (_, number) => number));
  });

  test('goes on where no answer comes, and when the connection is over', async () => {
    const window = new SendWindow(async () => {
      throw new Error('no answer');
    });
    const gone: number[] = [];
    for (let number = 0; number < 20; number++) window.admit(pieceBytes, () => void gone.push(number));
    await vi.advanceTimersByTimeAsync(0);
    expect(gone).toHaveLength(20);
    const silent = new SendWindow(() => new Promise(() => undefined));
    for (let number = 0; number < 20; number++) silent.admit(pieceBytes, () => void gone.push(number));
    silent.close();
    expect(gone).toHaveLength(40);
  });
});
