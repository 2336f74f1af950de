import fc from 'fast-check';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { anyCharacter } from '../../test/doubles/any-character.ts';
import { type LogFilter, loadLogFilter, parseLogFilter } from './filter.ts';

async function filterOf(typed: string): Promise<LogFilter> {
  const answer = await loadLogFilter(typed);
  if (answer.state !== 'ready') throw new Error(answer.problem);
  return answer.filter;
}

async function problemWith(typed: string): Promise<string> {
  const answer = await loadLogFilter(typed);
  if (answer.state !== 'problem') throw new Error(`${typed} is a filter`);
  return answer.problem;
}

const marked = (filter: LogFilter, text: string) => filter.ranges(text).map(([start, end]) => text.slice(start, end));

test('only a regular expression waits for its library, and only the first one', async () => {
  vi.resetModules();
  const { parseLogFilter } = await import('./filter.ts');
  expect(parseLogFilter('refused').state).toBe('ready');
  const first = parseLogFilter('/refus(ed|al)/');
  expect(first.state).toBe('loading');
  if (first.state === 'loading') await first.ready;
  expect(parseLogFilter('/refus(ed|al)/').state).toBe('ready');
  expect(parseLogFilter('/another/').state).toBe('ready');
});

describe('a text', () => {
  test('is found in any case; a capital makes it exact', async () => {
    expect((await filterOf('refused')).passes('Connection REFUSED')).toBe(true);
    expect((await filterOf('Refused')).passes('Connection REFUSED')).toBe(false);
    expect((await filterOf('Refused')).passes('Connection Refused')).toBe(true);
    expect((await filterOf('übel')).passes('ein ÜBEL')).toBe(true);
  });

  test('means its own characters, whatever they mean in expressions', async () => {
    for (const text of ['a.*b', '[error]', '$1 (x|y)', '\\d+', 'a{2}', '^start', '/var/log', '/a', '100%?']) {
      expect((await filterOf(text)).passes(`before ${text} after`), text).toBe(true);
      expect((await filterOf(text)).passes('something else'), text).toBe(false);
    }
  });

  test('is marked where it stands, also behind letters that grow in lower case', async () => {
    expect(marked(await filterOf('port'), 'İstanbul: Port 80, port 81')).toEqual(['Port', 'port']);
    expect(marked(await filterOf('😀'), 'a😀b😀')).toEqual(['😀', '😀']);
  });

  test('a hundred places are marked, not more', async () => {
    expect((await filterOf('a')).ranges('a'.repeat(5_000))).toHaveLength(100);
  });

  test('! turns it around, and marks nothing', async () => {
    const filter = await filterOf('!health');
    expect(filter.passes('GET /health')).toBe(false);
    expect(filter.passes('GET /users')).toBe(true);
    expect(filter.ranges('GET /users health')).toEqual([]);
  });

  test('\\! and \\/ stand for themselves', async () => {
    expect(marked(await filterOf('\\!important'), 'very !important')).toEqual(['!important']);
    expect(marked(await filterOf('\\/api/'), 'GET /api/ 200')).toEqual(['/api/']);
    expect((await filterOf('!\\/api/')).passes('GET /api/ 200')).toBe(false);
    expect((await filterOf('!\\/api/')).passes('GET api 200')).toBe(true);
  });

  test('a path is a text until a slash closes it, and says so', async () => {
    expect(parseLogFilter('/search?q=a')).toMatchObject({ state: 'ready', hint: expect.stringContaining('regular expression') });
    expect((await filterOf('/search?q=a')).passes('GET /search?q=a HTTP/1.1')).toBe(true);
  });

  test.each(['', '!', '//', '!//'])('nothing wanted (%j): everything passes', async (typed) => {
    const filter = await filterOf(typed);
    expect(filter.passes('anything')).toBe(true);
    expect(filter.passes('')).toBe(true);
    expect(filter.ranges('anything')).toEqual([]);
  });
});

describe('a regular expression', () => {
  test('is found in any case; a capital that stands for itself makes it exact', async () => {
    expect(marked(await filterOf('/status=[45]\\d\\d/'), 'a STATUS=404 b status=500 c status=200')).toEqual(['STATUS=404', 'status=500']);
    expect((await filterOf('/Status=\\d/')).passes('status=4')).toBe(false);
    for (const expression of [
      '\\Stimeout',
      '\\D+timeout',
      '\\p{Lu}*timeout',
      '[[:^alpha:]]timeout',
      '\\x{4A}*timeout',
      '(?P<Word>timeout)',
    ]) {
      expect((await filterOf(`/${expression}/`)).passes('a:TIMEOUT'), expression).toBe(true);
    }
    expect((await filterOf('/[A-Z]{3}/')).passes('get')).toBe(false);
  });

  test('! turns it around', async () => {
    const filter = await filterOf('!/^(GET|HEAD) \\/health/');
    expect(filter.passes('GET /health 200')).toBe(false);
    expect(filter.passes('POST /health 200')).toBe(true);
  });

  test('what matches nothing between characters is not marked', async () => {
    expect((await filterOf('/x*/')).passes('abc')).toBe(true);
    expect(marked(await filterOf('/x*/'), 'axxb')).toEqual(['xx']);
  });

  test.each([
    ['/(?=a)b/', 'Lookahead and lookbehind are not supported'],
    ['/(?!a)b/', 'Lookahead and lookbehind are not supported'],
    ['/(?<=a)b/', 'Lookahead and lookbehind are not supported'],
    ['/(?<!a)b/', 'Lookahead and lookbehind are not supported'],
    ['/(a)\\1/', 'Backreferences are not supported'],
    ['/a(b/', 'A ) is missing'],
    ['/a)b/', 'Unmatched )'],
    ['/[ab/', 'A ] is missing'],
    ['/*a/', '* has nothing to repeat'],
    ['/a**/', '** has two repetition operators in a row'],
    ['/a{1001}/', '{1001} repeats too many times'],
    ['/[z-a]/', 'z-a is not a valid set'],
    ['/\\p{Klingon}/', 'is not a valid set'],
    ['/\\Z/', '\\Z is not a known escape'],
    ['/(?>a)/', '(?> is not supported'],
    ['/(?P<n>a)(?P<n>b)/', 'Two groups are named n'],
    ['/.{900}/', 'too large'],
    [`/${'('.repeat(450)}${')'.repeat(450)}/`, 'too large'],
    [`${'a'.repeat(1_001)}`, 'at most 1000 characters'],
  ])('%s is refused with what to do', async (typed, sentence) => {
    const problem = await problemWith(typed);
    expect(problem).toContain(sentence);
    expect(problem).toMatch(/\.$/);
    expect(problem.length).toBeLessThan(160);
  });

  test('none freezes on a long line, whatever it holds', async () => {
    const line = `${'ab'.repeat(45_000)}!`;
    const startedMs = performance.now();
    for (const typed of [
      '/(a*)*c/',
      '/(a|a|b)*c/',
      '/(x+x+)+y/',
      '/(.*a){20}c/',
      '/([ab]+)+$/',
      '/^(([ab])+.)+[cd]$/',
      '/(a|b|ab)*[xy]/',
    ]) {
      const filter = await filterOf(typed);
      filter.passes(line);
      filter.ranges(line);
    }
    // With backtracking, each of them would run longer than the age of the universe.
    expect(performance.now() - startedMs).toBeLessThan(10_000);
  });
});

describe('whatever is typed', () => {
  beforeAll(() => loadLogFilter('/a/'));
  const typing = fc.oneof(
    fc.string({ unit: anyCharacter }),
    fc.string({ unit: fc.constantFrom(...'/!\\ab.*+?()[]{}|^$1-,:PQEdswxpLAİßſ😀\n\x1b'), maxLength: 30 }),
    fc.string({ unit: fc.constantFrom(...'\\ab.*+?()[]{}|^$1-,:PQEdswxpL'), maxLength: 20 }).map((text) => `/${text}/`),
  );
  const line = fc.oneof(fc.string({ unit: anyCharacter }), fc.string({ unit: fc.constantFrom(...'aAbB1 -İßſ😀\ud83d\n'), maxLength: 40 }));

  test('it is a filter or a sentence, and the filter agrees with what it marks', () => {
    fc.assert(
      fc.property(typing, line, (typed, text) => {
        const answer = parseLogFilter(typed);
        if (answer.state !== 'ready') {
          expect(answer).toMatchObject({ state: 'problem', problem: expect.stringMatching(/^[^\x00-\x1f]+\.$/) });
          return;
        }
        const { filter } = answer;
        const passes = filter.passes(text);
        expect(filter.passes(text)).toBe(passes);
        const ranges = filter.ranges(text);
        if (ranges.length > 0) expect(passes).toBe(true);
        let last = 0;
        for (const [start, end] of ranges) {
          expect(start).toBeGreaterThanOrEqual(last);
          expect(end).toBeGreaterThan(start);
          expect(end).toBeLessThanOrEqual(text.length);
          last = end;
        }
      }),
      { numRuns: 2_000 },
    );
  });

  test('a text that passes is marked, and one turned around passes what the other does not', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: anyCharacter, minLength: 1 }).filter((text) => !/^[!/\\]/.test(text)),
        line,
        line,
        (typed, before, after) => {
          const answer = parseLogFilter(typed);
          const inverse = parseLogFilter(`!${typed}`);
          if (answer.state !== 'ready' || inverse.state !== 'ready') throw new Error('a text is always a filter');
          for (const text of [before, `${before}${typed}${after}`]) {
            const passes = answer.filter.passes(text);
            expect(answer.filter.ranges(text).length > 0).toBe(passes);
            expect(answer.filter.passes(text)).toBe(passes);
            expect(inverse.filter.passes(text)).toBe(!answer.filter.passes(text));
          }
          if (!typed.isWellFormed() || !before.isWellFormed() || !after.isWellFormed()) return;
          expect(answer.filter.passes(`${before}${typed}${after}`)).toBe(true);
        },
      ),
      { numRuns: 1_000 },
    );
  });
});
