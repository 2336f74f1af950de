import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { enteredWith, frameOutput, leaner, placed } from './frame-output.ts';
import type { Size } from './layout.ts';

function open(shown?: Size) {
  const stream = Object.assign(new PassThrough(), { columns: 80, rows: 24, isTTY: true });
  const writes: string[] = [];
  const write = stream.write.bind(stream);
  stream.write = ((data: string, ...rest: []) => {
    if (data !== '') writes.push(data);
    return write(data, ...rest);
  }) as typeof stream.write;
  let frames = 0;
  const output = frameOutput(
    stream as unknown as NodeJS.WriteStream,
    (tookMs, sizeBytes) => {
      expect(tookMs).toBeGreaterThanOrEqual(0);
      expect(sizeBytes).toBe(Buffer.byteLength(writes.at(-1) ?? ''));
      frames++;
    },
    shown,
  );
  return { stream, output, writes, frames: () => frames };
}

test('a frame is one write, and is told; anything else is written as it comes', () => {
  const { output, writes, frames } = open();
  output.write('\x1b[?25l');
  for (const piece of ['\x1b[?2026h', 'row 1\n', 'row 2', '\x1b[?2026l']) output.write(piece);
  output.write('bell');
  expect(writes).toEqual(['\x1b[?25l', '\x1b[?2026hrow 1\nrow 2\x1b[?2026l', 'bell']);
  expect(frames()).toBe(1);
});

test('a frame that is never ended is written all the same, and before what somebody waits for', async () => {
  const { output, writes } = open();
  output.write('\x1b[?2026h');
  output.write('half');
  await new Promise<void>((resolve) => output.write('', () => resolve()));
  expect(writes).toEqual(['\x1b[?2026hhalf']);
  output.write('\x1b[?2026h');
  await Promise.resolve();
  expect(writes).toEqual(['\x1b[?2026hhalf', '\x1b[?2026h']);
});

test('is the terminal in everything else', () => {
  const { stream, output } = open();
  let resized = 0;
  output.on('resize', () => resized++);
  stream.columns = 132;
  stream.emit('resize');
  expect([output.columns, output.isTTY, resized]).toEqual([132, true, 1]);
});

test('a colour that colours nothing is not sent; what is seen stays the same', () => {
  const row =
    '\x1b[57G\x1b[K\x1b[38;5;74m\x1b[39m\x1b[38;5;78m\x1b[39m\x1b[90m\x1b[39m\x1b[1m\x1b[38;2;1;2;3mowner\x1b[39m by hand \x1b[31mx\x1b[39m';
  expect(leaner(row)).toBe('\x1b[57G\x1b[K\x1b[39m\x1b[1m\x1b[38;2;1;2;3mowner\x1b[39m by hand \x1b[31mx\x1b[39m');
  expect(leaner('\x1b[31ma\x1b[32m\x1b[39mb')).toBe('\x1b[31ma\x1b[39mb');
  expect(leaner('\x1b[38;5;1m \x1b[39m')).toBe('\x1b[38;5;1m \x1b[39m');
});

test('the next row is reached as every terminal knows it: mosh draws over the row above otherwise', () => {
  expect(leaner('row 1\x1b[E\x1b[Erow 3')).toBe('row 1\r\n\r\nrow 3');
});

test('on a screen of its own nothing wraps, and each row is at its address', () => {
  const { output, writes } = open();
  for (const piece of ['\x1b[?1049h', '\x1b[?2026h', '\x1b[3Arow 1\n\x1b[Erow 3', '\x1b[?2026l', '\x1b[?1049l']) output.write(piece);
  expect(writes).toEqual([
    '\x1b[?1049h\x1b[?7l\x1b[H\x1b[2J',
    '\x1b[?2026h\x1b[1;1H\x1b[Krow 1\x1b[3;1H\x1b[Krow 3\x1b[?2026l',
    '\x1b[?7h\x1b[?1049l',
  ]);
});

test('what is shown before is drawn over, not cleared, unless the terminal has another size by then', () => {
  const wide = enteredWith([{ x: 2, y: 1, text: '日本|' }]);
  expect(wide).toBe('\x1b[?1049h\x1b[?7l\x1b[?25l\x1b[?2026h\x1b[H\x1b[2J\x1b[2;3H日本\x1b[7G|\x1b[?2026l');
  const same = open({ columns: 80, rows: 24 });
  for (const piece of ['\x1b[?1049h', '\x1b[?2026h', 'row 1', '\x1b[?2026l', '\x1b[?1049h']) same.output.write(piece);
  expect(same.writes).toEqual(['\x1b[?2026h\x1b[1;1H\x1b[Krow 1\x1b[?2026l', '\x1b[?1049h\x1b[?7l\x1b[H\x1b[2J']);
  const resized = open({ columns: 70, rows: 24 });
  resized.output.write('\x1b[?1049h');
  expect(resized.writes).toEqual(['\x1b[H\x1b[2J']);
});

test.each([
  ['a part of a row at its column', '\x1b[2A\x1b[E\x1b[7G\x1b[Kpart', '\x1b[2;7H\x1b[Kpart'],
  [
    'behind characters that may be wider or narrower, the column that follows',
    '\x1b[3G\x1b[K\x1b[1ma日本\x1b[22m|',
    '\x1b[1;3H\x1b[K\x1b[1ma日本\x1b[8G\x1b[22m|',
  ],
  ['empty rows of a whole frame', 'a\n\nb', '\x1b[1;1H\x1b[Ka\x1b[2;1H\x1b[K\x1b[3;1H\x1b[Kb'],
  ['rows that are no longer there', '\x1b[2K\x1b[1A\x1b[2K\x1b[G\x1b[2A\x1b[Ex', '\x1b[2;1H\x1b[Kx\x1b[3;1H\x1b[J'],
  ['nothing below the last row', 'a\nb\nc\nd\ne', '\x1b[1;1H\x1b[Ka\x1b[2;1H\x1b[Kb\x1b[3;1H\x1b[Kc\x1b[4;1H\x1b[Kd'],
  ['a whole screen', '\x1b[H\x1b[Ja', '\x1b[H\x1b[2J\x1b[1;1H\x1b[Ka'],
])('places %s', (_, frame, expected) => {
  expect(placed(frame, 4)).toBe(expected);
});
