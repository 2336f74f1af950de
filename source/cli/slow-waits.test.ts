import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Output } from './output.ts';
import { whileWaiting } from './slow-waits.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function outputOf(isTTY: boolean) {
  const written: string[] = [];
  const stream = { isTTY, on: () => stream, write: (text: string) => written.push(text) > 0, columns: 80 } as unknown as NodeJS.WriteStream;
  return { written, output: new Output({ stdout: stream, stderr: stream, env: { TERM: 'xterm' } }) };
}
const waitOf = (output: Output, ms: number) =>
  whileWaiting(
    output,
    () => 'Reading the logs of one',
    () => new Promise<void>((resolve) => setTimeout(resolve, ms)),
  );

test('a terminal shows what is waited for after three seconds, and how to cancel it', async () => {
  const { written, output } = outputOf(true);
  const wait = waitOf(output, 9_000);
  await vi.advanceTimersByTimeAsync(2_500);
  expect(written).toEqual([]);
  await vi.advanceTimersByTimeAsync(3_000);
  expect(written.at(-1)).toContain('Reading the logs of one (5 s). Ctrl-C cancels.');
  await vi.advanceTimersByTimeAsync(4_000);
  await wait;
  expect(written.at(-1)).toBe('\r\x1b[K');
});

test('a pipe gets one line after ten seconds, and another after a minute', async () => {
  const { written, output } = outputOf(false);
  const wait = waitOf(output, 100_000);
  await vi.advanceTimersByTimeAsync(9_500);
  expect(written).toEqual([]);
  await vi.advanceTimersByTimeAsync(59_500);
  expect(written).toEqual(['Reading the logs of one (10 s so far).\n']);
  await vi.advanceTimersByTimeAsync(31_000);
  await wait;
  expect(written).toHaveLength(2);
});

test('what is written counts as progress', async () => {
  const { written, output } = outputOf(false);
  const wait = waitOf(output, 18_000);
  await vi.advanceTimersByTimeAsync(9_000);
  output.line('first');
  await vi.advanceTimersByTimeAsync(9_500);
  await wait;
  expect(written).toEqual(['first\n']);
});

test('nothing is written across a question, and the wait counts from its answer', async () => {
  const { written, output } = outputOf(true);
  let asking = true;
  const wait = whileWaiting(
    output,
    () => 'Connecting to nas',
    () => new Promise<void>((resolve) => setTimeout(resolve, 30_000)),
    () => asking,
  );
  await vi.advanceTimersByTimeAsync(20_000);
  expect(written).toEqual([]);
  asking = false;
  await vi.advanceTimersByTimeAsync(4_000);
  expect(written.at(-1)).toContain('Connecting to nas (4 s). Ctrl-C cancels.');
  await vi.advanceTimersByTimeAsync(6_000);
  await wait;
});
