import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { componentView, serviceView } from '../../test/doubles/fleet-double.ts';
import { frame } from '../../test/engine/recorded-engine.ts';
import type { LogLine } from '../engine/engine.ts';
import { LogLines, lineLimitBytes } from '../engine/log-lines.ts';
import { type LogFilter, loadLogFilter } from '../logs/filter.ts';
import { cleanColoured, cleanLine, jsonText } from '../text/clean.ts';
import { createLogText } from './log-text.ts';

interface Sent {
  stream: 1 | 2;
  text: Buffer;
}
const second = '2026-11-20T10:00:00';

/** Bytes that programs write: plain text, what a terminal obeys, what is no text, and characters of every width. */
const piece = fc.oneof(
  fc.string({ unit: 'grapheme-ascii', maxLength: 40 }).map((text) => Buffer.from(text)),
  fc
    .constantFrom(
      'a request was answered with 200',
      '\x1b[31mred\x1b[0m',
      '\x1b[8;41mhidden',
      '\x1b]0;title\x07',
      '\x1b]8;;open',
      '\x9b2J',
      '\t',
      '\r',
      '\r50 %\r100 %',
      '\x00\x07\b\x7f',
      '\v\f',
      'héllo wörld',
      '日本語のログ',
      '한국어',
      'e\u0301',
      '😀👨‍👩‍👧',
      '\u202eevil\u2066',
      '\u2028\u2029\u0085',
      '\u00ad\u034f\ufeff\u{e0041}',
      '\ufffd',
      'error',
      'x'.repeat(20_000),
    )
    .map((text) => Buffer.from(text)),
  fc.uint8Array({ maxLength: 6 }).map((bytes) => Buffer.from(bytes)),
  fc
    .constantFrom([0xc3], [0xe2, 0x82], [0xf0, 0x9f, 0x98], [0x80], [0xed, 0xa0, 0xbd], [0xc0, 0xaf], [0xff])
    .map((bytes) => Buffer.from(bytes)),
);
const sent: fc.Arbitrary<Sent> = fc.record({
  stream: fc.constantFrom(1, 2),
  text: fc.array(piece, { maxLength: 4 }).map((pieces) => Buffer.concat(pieces.map((bytes) => bytes.filter((byte) => byte !== 0x0a)))),
});
const log = fc.array(fc.oneof({ weight: 3, arbitrary: fc.constant<Sent>({ stream: 1, text: Buffer.from('plain line') }) }, sent), {
  maxLength: 12,
});

/** As Docker sends them: pieces of 16 KiB, each in a frame with the time of the line. */
function framed(lines: readonly Sent[], fromMs: number): Buffer {
  const frames = lines.flatMap(({ stream, text }, index) => {
    const stamp = `${second}.${String((fromMs + index) * 1_000_000).padStart(9, '0')}Z `;
    const count = Math.max(1, Math.ceil(text.length / 16_384));
    return Array.from({ length: count }, (_, at) =>
      frame(
        stream,
        Buffer.concat([Buffer.from(stamp), text.subarray(at * 16_384, (at + 1) * 16_384), Buffer.from(at === count - 1 ? '\n' : '')]),
      ),
    );
  });
  return Buffer.concat(frames);
}

interface Options {
  stdout: boolean;
  stderr: boolean;
  json: boolean;
  raw: boolean;
  timestamps: boolean;
  coloured: boolean;
  ascii: boolean;
  filter: LogFilter | undefined;
}
const plainEnough = (text: string) => text.replace(/[^\x00-\x7f]/g, '?');
const labels = { reader: 'reader   | ', database: 'database | ' };

/** Line by line, each from its own bytes. */
function expectedLine({ stream, text, timeMs, cut }: LogLine, service: keyof typeof labels | undefined, options: Options): string {
  const { filter, json, raw, timestamps, coloured, ascii } = options;
  if (!options[stream]) return '';
  const plain = raw && !filter ? text : cleanLine(text);
  if (filter && !filter.passes(plain)) return '';
  const time = timeMs === undefined ? '-'.padEnd(24) : new Date(timeMs).toISOString();
  if (json) {
    const head = `{"host":"local","time":${timeMs === undefined ? 'null' : `"${time}"`},"component":"rss-reader","service":"${service ?? 'reader'}"`;
    return `${head},"stream":"${stream}","line":${raw ? jsonText(text) : JSON.stringify(plain)}${cut ? ',"cut":true' : ''}}\n`;
  }
  const lead = timestamps ? (coloured ? `\x1b[90m${time}\x1b[39m ` : `${time} `) : '';
  const ranges = coloured && !raw ? (filter?.ranges(plain) ?? []) : [];
  let shown = raw ? text : coloured ? cleanColoured(text) : plain;
  if (ranges.length > 0) {
    shown = '';
    let at = 0;
    for (const [start, end] of ranges) {
      shown += `${plain.slice(at, start)}\x1b[1;31m${plain.slice(start, end)}\x1b[22;39m`;
      at = end;
    }
    shown += plain.slice(at);
  }
  const line = `${lead}${shown}\n`;
  return (service ? labels[service] : '') + (ascii && !raw ? plainEnough(line) : line);
}

function writerOf(services: readonly string[], options: Options) {
  const component = componentView('rss-reader', { key: 'key', services: services.map((name) => serviceView(name)) });
  return createLogText([component], {
    ...options,
    streams: options,
    wanted: new Map(),
    plainEnough: (text) => (options.ascii ? plainEnough(text) : text),
  });
}
const originOf = (service: string) => ({ component: 'key', container: `id-of-${service}`, service });
/** Without the colours of the names, which are no part of a line. */
const withoutNameColours = (text: string) => text.replace(/\x1b\[\d+m((?:reader|database) +\| )\x1b\[39m/g, '$1');

/** Cuts the bytes at these positions, as a connection may. */
function batchesOf(bytes: Buffer, cuts: readonly number[], tty = false) {
  const lines = new LogLines({ tty, engine: 'docker' });
  const positions = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((one, other) => one - other), bytes.length];
  return [...positions.slice(1).map((end, index) => lines.push(bytes.subarray(positions[index], end))), lines.end()];
}

const flags = fc.record({
  stdout: fc.boolean(),
  stderr: fc.boolean(),
  json: fc.boolean(),
  raw: fc.boolean(),
  timestamps: fc.boolean(),
  coloured: fc.boolean(),
  ascii: fc.boolean(),
  grep: fc.constantFrom(undefined, undefined, 'error', '!plain', '/[a-z]+d/'),
});
const cuts = fc.array(fc.nat(), { maxLength: 5 });

describe('lines written in batches are those written one by one', () => {
  test('from one container', async () => {
    await fc.assert(
      fc.asyncProperty(log, cuts, flags, async (lines, at, { grep, ...more }) => {
        const answer = grep === undefined ? undefined : await loadLogFilter(grep);
        const options: Options = { ...more, filter: answer?.state === 'ready' ? answer.filter : undefined };
        const write = writerOf(['reader'], options);
        const text = batchesOf(framed(lines, 0), at)
          .map((batch) => write({ origin: originOf('reader'), lines: batch }))
          .join('');
        const expected = lines.map(({ stream, text: bytes }, index) =>
          expectedLine(
            {
              timeMs: Date.parse(`${second}Z`) + index,
              stamp: '',
              stream: stream === 1 ? 'stdout' : 'stderr',
              text: bytes.toString('utf8').replace(/\r+$/, ''),
            },
            undefined,
            options,
          ),
        );
        expect(text).toBe(expected.join(''));
      }),
      { numRuns: 500 },
    );
  });

  test('from two containers in turns, each with its name', () => {
    fc.assert(
      fc.property(log, log, flags, (one, other, { grep: _, ...more }) => {
        const options: Options = { ...more, filter: undefined };
        const write = writerOf(['reader', 'database'], options);
        let text = '';
        let expected = '';
        for (const [service, lines] of [['reader', one] as const, ['database', other] as const, ['reader', other] as const]) {
          for (const batch of batchesOf(framed(lines, 0), [])) {
            text += write({ origin: originOf(service), lines: batch });
            for (const line of batch) expected += expectedLine(line, service, options);
          }
        }
        expect(withoutNameColours(text)).toBe(expected);
      }),
      { numRuns: 200 },
    );
  });

  test('from a terminal of a container: raw bytes, without frames', () => {
    fc.assert(
      fc.property(log, cuts, flags, (lines, at, { grep: _, ...more }) => {
        const options: Options = { ...more, filter: undefined };
        const write = writerOf(['reader'], options);
        const bytes = Buffer.concat(lines.flatMap(({ text }) => [Buffer.from(`${second}.5Z `), text, Buffer.from('\r\n')]));
        for (const batch of batchesOf(bytes, at, true))
          expect(write({ origin: originOf('reader'), lines: batch })).toBe(
            Array.from(batch, (line) => expectedLine(line, undefined, options)).join(''),
          );
      }),
    );
  });

  test.each([false, true])('a line that was cut within a character, raw: %s', (raw) => {
    const options: Options = {
      ...{ stdout: true, stderr: true, json: false, timestamps: false, coloured: false, ascii: false },
      raw,
      filter: undefined,
    };
    const long = Buffer.from(`${'x'.repeat(lineLimitBytes - 1)}€`);
    const [batch] = batchesOf(
      framed(
        [
          { stream: 1, text: long },
          { stream: 1, text: Buffer.from('next') },
        ],
        0,
      ),
      [],
    );
    if (!batch) throw new Error('no batch');
    expect(writerOf(['reader'], options)({ origin: originOf('reader'), lines: batch })).toBe(`${'x'.repeat(lineLimitBytes - 1)}\nnext\n`);
  });
});
