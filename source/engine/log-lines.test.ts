import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { frame } from '../../test/engine/recorded-engine.ts';
import type { EngineKind, LogLine } from './engine.ts';
import { LogLines, lineLimitBytes } from './log-lines.ts';

const stampA = '2026-11-20T09:46:26.152324560Z';
const stampB = '2026-11-20T09:46:27.000000001Z';
const seconds = '2026-11-20T09:47:09Z';

function read(chunks: readonly Buffer[], tty = false, engine: EngineKind = 'docker'): LogLine[] {
  const lines = new LogLines({ tty, engine });
  return [...chunks.flatMap((chunk) => [...lines.push(chunk)]), ...lines.end()];
}

/** Splits the bytes into pieces of one size, so that over all sizes every position is split at least once. */
function inPieces(bytes: Buffer, size: number): Buffer[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) => bytes.subarray(index * size, (index + 1) * size));
}

const short = (lines: readonly LogLine[]) =>
  lines.map(({ stream, text }) => [stream, text.replace(/x{50,}/g, (run) => `<x*${run.length}>`)]);

/** Returns the framing of a Docker daemon: a message in pieces of 16 KiB, each with the timestamp of the first. */
function dockerFrames(stream: 1 | 2, stamp: string, text: string, end = '\n'): Buffer {
  const bytes = Buffer.from(text);
  const pieces = bytes.length === 0 ? [bytes] : inPieces(bytes, 16_384);
  return Buffer.concat(
    pieces.map((piece, index) =>
      frame(stream, Buffer.concat([Buffer.from(`${stamp} `), piece, Buffer.from(index === pieces.length - 1 ? end : '')])),
    ),
  );
}

test('frames: both streams, characters of several bytes, an empty line, a last line without newline', () => {
  const log = Buffer.concat([
    dockerFrames(1, stampA, 'out-one'),
    dockerFrames(2, stampA, 'err-one'),
    dockerFrames(1, stampA, 'éü€😀'),
    dockerFrames(1, stampA, ''),
    dockerFrames(1, stampB, 'no newline at end', ''),
  ]);
  const lines = read([log]);
  expect(short(lines)).toEqual([
    ['stdout', 'out-one'],
    ['stderr', 'err-one'],
    ['stdout', 'éü€😀'],
    ['stdout', ''],
    ['stdout', 'no newline at end'],
  ]);
  expect(lines[0]).toEqual({ timeMs: Date.parse('2026-11-20T09:46:26.152Z'), stamp: stampA, stream: 'stdout', text: 'out-one' });
});

test('Docker: a line of 40,003 bytes in pieces of 16 KiB is one line, whatever the chunks', () => {
  const long = `${'x'.repeat(40_000)}END`;
  const log = Buffer.concat([dockerFrames(1, stampA, long), dockerFrames(1, stampB, 'next')]);
  for (const size of [log.length, 16_384, 4_096, 1_000, 37])
    expect(short(read(inPieces(log, size)))).toEqual([
      ['stdout', '<x*40000>END'],
      ['stdout', 'next'],
    ]);
});

test('a character that two pieces share is whole again', () => {
  const text = `${'x'.repeat(16_383)}€ and on`;
  expect(short(read([dockerFrames(1, stampA, text)]))).toEqual([['stdout', '<x*16383>€ and on']]);
});

test('Docker: what a program left without newline is not glued to the first line after its restart', () => {
  const log = Buffer.concat([dockerFrames(1, stampA, 'dying word', ''), dockerFrames(1, stampB, 'started')]);
  expect(short(read([log]))).toEqual([
    ['stdout', 'dying word'],
    ['stdout', 'started'],
  ]);
});

test('Podman 4: timestamps to the second, pieces of 8 KiB, a newline after whole lines', () => {
  const piece = (bytes: number, end = '') => frame(1, `${seconds} ${'x'.repeat(bytes)}${end}`);
  const log = Buffer.concat([
    piece(8192),
    piece(8192),
    piece(8192),
    piece(8192),
    piece(7232),
    frame(1, `${seconds} END\n`),
    frame(1, `${seconds} next\n`),
  ]);
  expect(short(read([log], false, 'podman'))).toEqual([
    ['stdout', '<x*40000>END'],
    ['stdout', 'next'],
  ]);
  expect(read([log], false, 'podman')[0]?.timeMs).toBe(Date.parse(seconds));
});

// Recorded from Podman 5.8.6: nanoseconds, and each piece has its own timestamp.
const nanos = ['485752134', '485836031', '487548147', '487586105', '487594428'].map((part) => `2026-11-20T10:27:41.${part}Z`);

test('Podman 5: each piece has a time of its own, the line has that of the first', () => {
  const log = Buffer.concat(nanos.map((stamp, index) => frame(1, `${stamp} ${index < 4 ? 'x'.repeat(8192) : `${'x'.repeat(7232)}END\n`}`)));
  for (const size of [log.length, 5_000, 39]) {
    const lines = read(inPieces(log, size), false, 'podman');
    expect(short(lines)).toEqual([['stdout', '<x*40000>END']]);
    expect(lines[0]?.stamp).toBe(nanos[0]);
  }
});

test('a terminal on Podman 5: pieces as short as the reads were', () => {
  const log = Buffer.from(
    `${nanos[0]} ${'x'.repeat(4095)}${nanos[1]} ${'x'.repeat(2051)}${nanos[2]} ${'x'.repeat(256)}${nanos[3]} ${'x'.repeat(98)}${nanos[4]} END\r\n${nanos[4]} b\r\n`,
  );
  for (const size of [log.length, 700, 31])
    expect(short(read(inPieces(log, size), true, 'podman'))).toEqual([
      ['stdout', '<x*6500>END'],
      ['stdout', 'b'],
    ]);
});

test('a terminal: CR LF, and the timestamps that Docker puts into the middle of a long line', () => {
  const log = Buffer.from(
    `${stampA} out\r\n${stampB} ${'x'.repeat(16_384)}${stampB} ${'x'.repeat(16_384)}${stampB} ${'x'.repeat(7_232)}END\r\n${stampB} rest`,
  );
  for (const size of [log.length, 5_000, 41])
    expect(short(read(inPieces(log, size), true))).toEqual([
      ['stdout', 'out'],
      ['stdout', '<x*40000>END'],
      ['stdout', 'rest'],
    ]);
});

test('a terminal on Podman: pieces of 4,095 bytes with timestamps to the second', () => {
  const log = Buffer.from(`${seconds} ${`${'x'.repeat(4_095)}${seconds} `.repeat(3)}END\r\n`);
  expect(short(read([log], true, 'podman'))).toEqual([['stdout', '<x*12285>END']]);
});

test('a timestamp that the program itself wrote stays', () => {
  for (const stamp of [seconds, stampA]) {
    for (const text of [`${stamp} started, took until ${stamp} now`, `time="${stamp}" a=${stamp} b [${stamp}] c`]) {
      for (const engine of ['docker', 'podman'] as const) {
        expect(short(read([frame(1, `${stamp} ${text}\n`)], false, engine))).toEqual([['stdout', text]]);
        expect(short(read([Buffer.from(`${stamp} ${text}\r\n`)], true, engine))).toEqual([['stdout', text]]);
      }
    }
  }
});

test('a line beyond the limit is cut and says so, the next one is whole', () => {
  const log = Buffer.concat([dockerFrames(1, stampA, 'x'.repeat(lineLimitBytes + 5)), dockerFrames(1, stampB, 'next')]);
  const lines = read(inPieces(log, 10_000));
  expect(lines.map(({ text, cut }) => [text.length, cut])).toEqual([
    [lineLimitBytes, true],
    [4, undefined],
  ]);
});

test('frames where a terminal was expected not, and the other way round: nothing is lost', () => {
  expect(short(read([Buffer.from(`${stampA} a\r\n${stampB} b\r\n`)]))).toEqual([
    ['stdout', 'a'],
    ['stdout', 'b'],
  ]);
});

test('what the engine says in the stream is no line of the log', () => {
  const lines = new LogLines({ tty: false, engine: 'docker' });
  expect(lines.push(frame(3, 'Error grabbing logs: disk on fire'))).toHaveLength(0);
  expect(lines.engineSaid).toBe('Error grabbing logs: disk on fire');
});

describe('without timestamps', () => {
  const untimed = (bytes: Buffer, size: number) => {
    const lines = new LogLines({ tty: false, engine: 'docker', timed: false });
    return [...inPieces(bytes, size).flatMap((chunk) => [...lines.push(chunk)]), ...lines.end()];
  };
  const texts = ['', 'a', `${stampA} written by the program`, `${stampB}`, 'x'.repeat(40_000), 'naïve', 'the end'];

  test.each([1, 7, 4_096, 1_000_000])('frames in pieces of %i bytes: every line once, its own timestamp in it', (size) => {
    const pieces = texts.flatMap((text) => inPieces(Buffer.from(`${text}\n`), 16_384).map((piece) => frame(1, piece)));
    const ending = [frame(1, 'ended with its program'), frame(1, 'next start\n'), frame(2, 'unended')];
    const lines = untimed(Buffer.concat([...pieces, ...ending]), size);
    expect(lines.map(({ text }) => text)).toEqual([...texts, 'ended with its program', 'next start', 'unended']);
    expect(lines.at(-1)).toEqual({ timeMs: undefined, stamp: '', stream: 'stderr', text: 'unended' });
  });
});

test('any chunking yields the same lines', () => {
  const character = fc.constantFrom('a', 'é', '€', '😀', ' ', ':', '2', '-');
  const message = fc.record({
    stream: fc.constantFrom(1 as const, 2 as const),
    stamp: fc
      .date({ min: new Date('2020-01-01'), max: new Date('2030-01-01'), noInvalidDate: true })
      .map((date) => date.toISOString().replace('Z', '000007Z')),
    text: fc.oneof(
      fc.string({ unit: character, maxLength: 40 }),
      fc.nat(40_000).map((length) => 'x'.repeat(length)),
    ),
  });
  fc.assert(
    fc.property(fc.array(message, { maxLength: 6 }), fc.array(fc.nat(), { maxLength: 20 }), (messages, cuts) => {
      const log = Buffer.concat(messages.map(({ stream, stamp, text }) => dockerFrames(stream, stamp, text)));
      const engines = [...new Set(cuts.map((cut) => cut % (log.length + 1)))].sort((a, b) => a - b);
      const chunks = [0, ...engines].map((start, index) => log.subarray(start, engines[index] ?? log.length));
      const expected = messages.map(({ stream, stamp, text }) => ({
        timeMs: Date.parse(stamp),
        stamp,
        stream: stream === 1 ? 'stdout' : 'stderr',
        text,
      }));
      expect(read(chunks)).toEqual(expected);
    }),
    { numRuns: 200 },
  );
});

test('any chunking of a terminal yields the same lines', () => {
  const text = fc.string({ unit: fc.constantFrom('a', '€', ' ', '2'), maxLength: 60 });
  fc.assert(
    fc.property(fc.array(text, { maxLength: 8 }), fc.array(fc.nat(), { maxLength: 20 }), (texts, cuts) => {
      const log = Buffer.from(texts.map((line) => `${stampA} ${line}\r\n`).join(''));
      const engines = [...new Set(cuts.map((cut) => cut % (log.length + 1)))].sort((a, b) => a - b);
      const chunks = [0, ...engines].map((start, index) => log.subarray(start, engines[index] ?? log.length));
      expect(read(chunks, true).map((line) => line.text)).toEqual(texts);
    }),
  );
});

test('Podman: what it cannot read any more is its refusal, and no line; a program may write the same', () => {
  const refusal =
    '{"cause":"container has already been removed","message":"failed to obtain logs: container has already been removed","response":500}';
  for (const tty of [false, true]) {
    const lines = new LogLines({ tty, engine: 'podman' });
    const got = [...lines.push(Buffer.from(`${refusal}\n`)), ...lines.end()];
    expect(got).toEqual([]);
    expect(lines.engineSaid).toBe('failed to obtain logs: container has already been removed');
  }
  const written = read([frame(1, Buffer.from(`${seconds} ${refusal}\n`))], false, 'podman');
  expect(written.map(({ text }) => text)).toEqual([refusal]);
  expect(read([Buffer.from(`${seconds} ${refusal}\r\n`)], true, 'podman').map(({ text }) => text)).toEqual([refusal]);
});
