import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ContainerLog, wireBytes } from './container-log.ts';

const everything = { stdout: true, stderr: true };

test('no two lines have the same moment and time never goes back, so that every line can be found again', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1_700_000_000_000, max: 1_700_000_000_050 }), { maxLength: 60 }), (moments) => {
      const log = new ContainerLog();
      for (const [index, ms] of moments.entries()) log.append(`${index}\n`, 'stdout', ms);
      const records = log.read(everything);
      expect(records.map(({ text }) => text)).toEqual(moments.map((_, index) => `${index}\n`));
      const stamps = records.map(({ ms, subNanoseconds }) => BigInt(ms) * 1_000_000n + BigInt(subNanoseconds));
      for (const [index, stamp] of stamps.entries()) if (index > 0) expect(stamp > (stamps[index - 1] ?? 0n)).toBe(true);
      // Read again from any line on, that line is the first.
      for (const [index, since] of records.entries()) expect(log.read({ ...everything, since })[0]).toBe(records[index]);
    }),
  );
});

test('a long line is pieces of 16 KiB with one moment, and counts once', () => {
  const log = new ContainerLog();
  log.append('before\n', 'stderr', 1_000);
  log.append(`${'x'.repeat(40_000)}\n`, 'stdout', 2_000);
  const pieces = log.read({ stdout: true, stderr: false });
  expect(pieces.map(({ text }) => text.length)).toEqual([16_384, 16_384, 7_233]);
  expect(new Set(pieces.map(({ subNanoseconds }) => subNanoseconds)).size).toBe(1);
  expect(log.read({ ...everything, tail: 1 })).toHaveLength(3);
  expect(log.read({ ...everything, tail: 2 })).toHaveLength(4);
  expect(log.read({ ...everything, tail: 0 })).toEqual([]);
});

test('goes over the wire in frames, or raw with the line ends of a terminal', () => {
  const log = new ContainerLog();
  log.append('hi\n', 'stderr', Date.parse('2026-11-20T10:00:00.250Z'));
  const [record] = log.read(everything);
  if (!record) throw new Error('nothing was kept');
  expect([...wireBytes(record, { tty: false, timestamps: false })]).toEqual([2, 0, 0, 0, 0, 0, 0, 3, 104, 105, 10]);
  expect(wireBytes(record, { tty: true, timestamps: true }).toString()).toMatch(/^2026-11-20T10:00:00\.250\d{6}Z hi\r\n$/);
});

test('memory is bounded: the oldest go', () => {
  const log = new ContainerLog();
  for (let line = 0; line < 60_000; line++) log.append(`${line}\n`, 'stdout', 1_000 + line);
  const kept = log.read(everything);
  expect(kept.length).toBeLessThanOrEqual(25_000);
  expect(kept.at(-1)?.text).toBe('59999\n');
});
