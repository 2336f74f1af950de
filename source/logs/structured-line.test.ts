import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { anyCharacter } from '../../test/doubles/any-character.ts';
import { readableLine } from './structured-line.ts';

describe('JSON', () => {
  test.each([
    ['{"level":"error","ts":1732000000.12,"msg":"no route","peer":3,"took":"1.2 s"}', 'ERROR no route  peer=3 took="1.2 s"'],
    ['{"time":1732000000123,"level":30,"pid":7,"hostname":"a","msg":"request done"}', 'INFO  request done  pid=7 hostname=a'],
    ['{"@t":"2026-11-20T10:00:00Z","@m":"late","@l":"Warning","User":"bob"}', 'WARN  late  User=bob'],
    ['{"severity":"NOTICE","message":"a \\"b\\"","labels":{"a":1,"b":["x y",null,true]}}', 'INFO  a "b"  labels={a:1,b:["x y",null,true]}'],
    ['{"level":"audit","msg":"login","ok":false}', 'login  level=audit ok=false'],
    ['{"a":1,"b":""}', 'a=1 b=""'],
    ['2026-11-20 10:00:00 worker: {"msg":"done","n":2}', '2026-11-20 10:00:00 worker: done  n=2'],
    ['{"msg":{"text":"nested"},"level":"info"}', 'INFO  msg={text:nested}'],
    ['{"message":"inner","msg":"","x":"a=b"}', 'inner  msg="" x="a=b"'],
  ])('%s', (line, readable) => {
    expect(readableLine(line)).toBe(readable);
  });

  test('the time is left out, also a unix time, and a number that is none stays', () => {
    for (const ts of ['1732000000.123', '1732000000123', '1732000000123000', '1732000000123000000']) {
      expect(readableLine(`{"ts":${ts},"msg":"x"}`)).toBe('x');
    }
    expect(readableLine('{"time":"10:00:00","msg":"x"}')).toBe('x');
    expect(readableLine('{"t":5,"msg":"x"}')).toBe('x  t=5');
  });

  test('control sequences that a string spells out do not come to life', () => {
    const line = JSON.stringify({
      msg: 'a\x1b]0;title\x07\x1b[2Jb\nc\r\u202ed',
      'k\x1b[31mey\n': '\x1b]52;c;AAAA\x07v\x9b1m',
      nested: { 'x\x07': '\x1b[1A' },
    });
    expect(readableLine(line)).toBe('ab c <U+202E>d  key=v nested={x:""}');
  });

  test('names that objects inherit are fields like any other', () => {
    expect(readableLine('{"__proto__":{"msg":"x"},"constructor":1,"toString":2,"hasOwnProperty":3}')).toBe(
      '__proto__={msg:x} constructor=1 toString=2 hasOwnProperty=3',
    );
    expect(({} as { msg?: string }).msg).toBeUndefined();
  });

  test('very many fields, very long and very deep ones are cut, and said to be', () => {
    const many = JSON.stringify(Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`k${index}`, index])));
    expect(readableLine(many)).toMatch(/ k99=99 \(4900 more\)$/);
    const long = readableLine(JSON.stringify({ msg: 'm', a: 'x'.repeat(90_000), b: 'y'.repeat(90_000) })) ?? '';
    expect(long.length).toBeLessThan(9_000);
    expect(long).toMatch(/^m {2}a=x+\.\.\. b=y+\.\.\.$/);
    const deep = readableLine(`{"msg":"m","a":${'['.repeat(40_000)}${']'.repeat(40_000)}}`);
    expect(deep).toBe('m  a=[[[[[[...]]]]]]');
    expect(readableLine(`{"msg":"${'m'.repeat(80_000)}"}`)?.length).toBeLessThan(17_000);
  });

  test.each([
    '{"msg":"cut off',
    '{"msg":"x"} and more',
    '[1,2]',
    '{}',
    '{ }',
    '"text"',
    'a {b} c',
    'null',
    `${'x'.repeat(300)}{"a":1}`,
    '{"a":1}}',
    '',
  ])('left as it is: %s', (line) => {
    expect(readableLine(line)).toBeUndefined();
  });
});

describe('logfmt', () => {
  test.each([
    [
      'time="2026-11-20T10:00:00Z" level=info msg="decision added" ip=10.0.0.7 reason="http \\"scan\\""',
      'INFO  decision added  ip=10.0.0.7 reason="http \\"scan\\""',
    ],
    [
      'ts=2026-11-20T10:00:00Z caller=main.go:12 level=warn component=tsdb msg=slow empty=',
      'WARN  slow  caller=main.go:12 component=tsdb empty=""',
    ],
    ['lvl=eror msg="a\\nb\\u001b[31mc\\x07"', 'ERROR a bc'],
  ])('%s', (line, readable) => {
    expect(readableLine(line)).toBe(readable);
  });

  test.each([
    'a=1 b=2',
    'level=info and then a sentence',
    'x = y',
    'DB_HOST=localhost',
    'level=info msg="open',
    'SELECT a=1 level=info',
    '=x level=info',
    'level=info msg="a"b=c',
  ])('left as it is: %s', (line) => {
    expect(readableLine(line)).toBeUndefined();
  });
});

test.each([1e300, -1e300, 8.65e21, 0, -1])('a number that is no time is a field like others: %s', (ts) => {
  expect(readableLine(JSON.stringify({ ts, msg: 'up' }))).toMatch(/^up {2}ts=/);
});

describe('whatever a line holds', () => {
  const printable = /^[^\x00-\x1f\x7f-\x9f]*$/;

  test('JSON of any shape becomes one printable line', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: anyCharacter }), fc.jsonValue({ stringUnit: 'binary' }), { minKeys: 1 }), (value) => {
        expect(readableLine(JSON.stringify(value))).toMatch(printable);
      }),
      { numRuns: 300 },
    );
  });

  test('text of any kind is left alone or becomes one printable line', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'{}[]":,=\\ \n\x1btrueaeilmsgv01e'), maxLength: 60 }), (line) => {
        const readable = readableLine(line);
        if (readable !== undefined) expect(readable).toMatch(printable);
      }),
      { numRuns: 3_000 },
    );
  });

  test('hostile ones take no longer than others', () => {
    const startedMs = performance.now();
    for (const piece of ['{"', '{"a":', ' {', 'a=', 'a="\\', 'a=b ', '[', '{"a":"}', ' ', '"', '\\']) {
      for (const lead of ['', '{"a":', 'level=info ', '{"', 'msg="']) readableLine(`${lead}${piece.repeat(90_000 / piece.length)}}`);
    }
    expect(performance.now() - startedMs).toBeLessThan(2_000);
  });
});
