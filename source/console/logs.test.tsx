import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createFakeApp } from '../../test/doubles/console/fake-app.ts';
import {
  asciiTheme,
  colourTheme,
  type Harness,
  type HarnessOptions,
  openHarness,
  plainTheme,
} from '../../test/doubles/console/harness.tsx';
import { sampleNowMs } from '../../test/doubles/console/sample-fleet.ts';
import { keepsNothing, openFilterHistory } from './filter-history.ts';
import type { KeptFilter } from './screens/logs/state.ts';

const vault = 'nas/password-vault/password-vault';
const sso = 'nas/sso-portal/sso-portal';
const lines = (from: number, count: number, word = 'line') => Array.from({ length: count }, (_, index) => `${word} ${from + index}`);

async function inLogs(options: HarnessOptions = {}): Promise<Harness> {
  const screen = await openHarness({ size: { columns: 80, rows: 24 }, ...options });
  await screen.press('4');
  await screen.sees('Logs · password-vault');
  return screen;
}

describe('times', () => {
  const at = sampleNowMs - 60_000;
  const stamp = new Date(at).toISOString();

  test('that a line states itself are left out beside ours; searched, copied and as written it is whole', async () => {
    const screen = await inLogs();
    screen.log(vault, [
      { text: `${stamp} LOG: checkpoint`, timeMs: at },
      { text: '2026-01-05T10:00:00Z LOG: shown again', timeMs: at },
    ]);
    await screen.sees(/ {3}LOG: checkpoint/, '2026-01-05T10:00:00Z LOG: shown again');
    await screen.press('J');
    await screen.sees(`${stamp} LOG: checkpoint`);
    await screen.press('J', 't', 't', 't');
    await screen.sees(`${stamp} LOG: checkpoint`);
    await screen.press('t', '/');
    await screen.type('/^log: ch/');
    await screen.sees('No line matches');
    await screen.press('ctrl+u');
    await screen.type(stamp.slice(0, 19));
    await screen.sees(`${stamp} LOG: checkpoint`);
    await screen.press('enter', 'esc', 'k', 'y');
    expect(screen.copied.at(-1)).toBe(`${stamp} LOG: checkpoint`);
  });

  test('have a date where the day is another than above, the first one where it is not today', async () => {
    const screen = await inLogs();
    const dayMs = 86_400_000;
    screen.log(
      vault,
      [2, 2, 1, 0, 0].map((days, index) => ({ text: `line ${index}`, timeMs: at - days * dayMs })),
    );
    const dates = [
      / 11-\d\d \d\d:\d\d:\d\d {3}line 0/,
      /┃ \d\d:\d\d:\d\d {3}line 1/,
      / 11-\d\d \S+ {3}line 2/,
      / 11-\d\d \S+ {3}line 3/,
      /┃ \d\d:\S+ {3}line 4/,
    ];
    await screen.sees(...dates);
    await screen.press('w');
    await screen.sees(...dates, 'wrapped');
    await screen.press('t', 't');
    await screen.misses('11-');
  });
});

describe('scrolling back', () => {
  test('goes on into the engine’s history, up to the start of the log', async () => {
    const screen = await inLogs();
    screen.app.logs.addHistory(vault, lines(1, 500, 'old'));
    screen.log(vault, lines(1, 50));
    await screen.sees('line 50');
    await screen.press('g');
    await screen.sees(/▸14:02:07 {3}line 1 /);
    expect(screen.app.logs.historyReads()).toBe(0);
    await screen.press('k');
    await screen.sees(/old 500/);
    for (let page = 0; page < 40; page++) await screen.press('pageup');
    await screen.sees('start of the log', /▸.*old 1 /);
    await screen.press('G');
    await screen.sees('line 50', 'following');
  });

  test('says what goes on; Esc stops it', async () => {
    const screen = await inLogs();
    screen.app.logs.addHistory(vault, lines(1, 500, 'old'));
    screen.log(vault, lines(1, 50));
    await screen.sees('line 50');
    const release = screen.app.logs.holdHistory();
    await screen.press('g', 'k');
    await screen.sees(/loading older lines, back to 13:\d\d:\d\d \(Esc to stop\)/);
    await screen.press('esc');
    await screen.misses('loading');
    await screen.sees('older lines: k or PgUp loads them', 'paused');
    release();
    await screen.press('k');
    await screen.sees('old 500');
  });

  test('says why the history cannot be read', async () => {
    const screen = await inLogs();
    screen.app.logs.addHistory(vault, lines(1, 10, 'old'));
    screen.app.logs.failHistory('The log driver "syslog" keeps nothing to read.');
    screen.log(vault, lines(1, 50));
    await screen.sees('line 50');
    await screen.press('g', 'k');
    await screen.sees('The log driver "syslog" keeps nothing to read.');
  });

  test.each([
    ['keys that come faster than frames', ['wg']],
    ['keys with a frame after each', ['w', 'g']],
    ['a log that is wrapped afterwards', ['g', 'w']],
  ])('the line that keys are about is on the screen: %s', async (_, chunks) => {
    const screen = await inLogs();
    screen.log(
      vault,
      lines(0, 20).map((line) => line.padEnd(300, '.')),
    );
    await screen.sees('line 19');
    for (const chunk of chunks) await screen.send(chunk);
    await screen.sees(/▸.*line 0/, 'wrapped');
    await screen.press('j');
    await screen.sees(/▸.*line 1/);
  });

  test('g never loads, however long the log is', async () => {
    const screen = await inLogs();
    screen.app.logs.addHistory(vault, lines(1, 5000, 'old'));
    screen.log(vault, lines(1, 50));
    await screen.sees('line 50');
    await screen.press('g', 'g', 'g');
    await screen.sees('older lines: k or PgUp loads them');
    expect(screen.app.logs.historyReads()).toBe(0);
  });
});

describe('a filter', () => {
  test('takes text, /regex/ and !without; Esc shows all again', async () => {
    const screen = await inLogs();
    screen.log(vault, ['GET /a 200', 'GET /b 503', 'POST /c 200', 'get nothing']);
    await screen.press('/');
    await screen.sees(/text \S.*!text \S.*\/regex\/ \S.*Enter keep/, 'filter ');
    await screen.type('GET');
    await screen.sees('2 of 4 lines match');
    await screen.misses('POST');
    await screen.press('ctrl+u');
    await screen.type('/ (200|201)$/');
    await screen.sees('2 of 4 lines match', 'POST /c 200');
    await screen.misses('503');
    await screen.press('ctrl+u');
    await screen.type('!get');
    await screen.sees('1 of 4 lines match', 'POST /c 200');
    await screen.press('enter', 'esc');
    await screen.sees('get nothing', 'following · 4 lines');
  });

  test('that is no regular expression says so while it is typed, filters nothing, and is not accepted', async () => {
    const screen = await inLogs({ size: { columns: 120, rows: 36 } });
    screen.log(vault, ['one', 'two']);
    await screen.press('/');
    await screen.type('/on(/');
    await screen.sees(/[Mm]issing|closing|\)/, 'one', 'two');
    await screen.press('enter');
    await screen.sees('Enter keep');
    await screen.press('backspace', 'backspace');
    await screen.type('/');
    await screen.press('enter');
    await screen.misses('two');
  });

  test('reaches back into the history where its matches do not fill the screen, and says how far', async () => {
    const screen = await inLogs();
    screen.app.logs.addHistory(
      vault,
      lines(1, 3000, 'old').map((text, at) => (at % 1000 === 7 ? `needle ${text}` : text)),
    );
    screen.log(vault, lines(1, 50));
    await screen.sees('line 50');
    const release = screen.app.logs.holdHistory();
    await screen.press('/');
    await screen.type('needle');
    await screen.sees(/searched 3,000 lines, back to 13:\d\d:\d\d \(Esc to stop\)/);
    release();
    await screen.sees('needle old 8', 'needle old 1008', 'needle old 2008', 'start of the log');
  });

  test('that searches is stopped by Esc, and keeps what it found', async () => {
    const screen = await inLogs();
    screen.app.logs.addHistory(vault, lines(1, 3000, 'old'));
    screen.log(vault, ['needle here', ...lines(1, 50)]);
    await screen.sees('line 50');
    screen.app.logs.holdHistory();
    await screen.press('/');
    await screen.type('needle');
    await screen.press('enter');
    await screen.sees('searched 3,000 lines');
    await screen.press('esc');
    await screen.misses('searched');
    await screen.sees('needle here', 'filter needle');
    await screen.press('esc');
    await screen.sees('line 50');
  });

  test('without a match in what is kept is searched for further back by the keys that scroll', async () => {
    const screen = await inLogs();
    screen.app.logs.addHistory(
      vault,
      lines(1, 3000, 'old').map((text, at) => (at === 20 ? `needle ${text}` : text)),
    );
    screen.log(vault, lines(1, 50));
    await screen.sees('line 50');
    screen.app.logs.holdHistory();
    await screen.press('k', 'k', '/');
    await screen.type('needle');
    await screen.press('enter');
    const release = screen.app.logs.holdHistory();
    await screen.sees('searched 3,000 lines');
    await screen.press('esc');
    await screen.sees('k searches further back');
    await screen.press('k');
    await screen.sees('searched 3,000 lines');
    release();
    await screen.sees('needle old 21');
  });

  test('of a log that stands still far back shows what follows there as well', async () => {
    const screen = await inLogs();
    screen.log(
      vault,
      lines(1, 400).map((text, at) => (at % 50 === 0 ? `needle ${text}` : text)),
    );
    await screen.sees('line 400');
    await screen.press('g', '/');
    await screen.type('needle');
    await screen.press('enter');
    await screen.sees(/▸.*needle line 1 /, 'needle line 51 ', 'needle line 351 ');
  });

  test('leaves the log where it stands when it was paused', async () => {
    const screen = await inLogs();
    screen.log(
      vault,
      Array.from({ length: 500 }, (_, at) => `${at % 2 ? 'odd' : 'even'} number ${at}`),
    );
    await screen.sees('number 499');
    for (let page = 0; page < 10; page++) await screen.press('pageup');
    const cursor = () => Number(/▸.*number (\d+)/.exec(screen.frame())?.[1]);
    const before = cursor();
    await screen.press('/');
    await screen.type('number');
    await screen.press('enter');
    await screen.sees('500 of 500 lines match');
    expect(cursor()).toBe(before);
    await screen.press('esc');
    await screen.misses('match');
    expect(cursor()).toBe(before);
  });

  test('only highlights when asked to; n and N go from match to match, also back into the history', async () => {
    const screen = await inLogs();
    screen.app.logs.addHistory(
      vault,
      lines(1, 2000, 'old').map((text, at) => (at === 20 ? `needle ${text}` : text)),
    );
    screen.log(
      vault,
      lines(1, 100).map((text, at) => (at === 30 || at === 60 ? `needle ${text}` : text)),
    );
    await screen.sees('line 100');
    await screen.press('*', '/');
    await screen.type('needle');
    await screen.press('enter');
    await screen.sees('line 100', 'filter needle highlighted');
    await screen.press('N');
    await screen.sees(/▸.*needle line 61/, /line 60 /, /line 62 /);
    await screen.press('N');
    await screen.sees(/▸.*needle line 31/);
    await screen.press('N');
    await screen.sees(/▸.*needle old 21 /, /old 20 /, /old 22 /);
    await screen.press('N');
    await screen.sees('No more matches above.');
    await screen.press('n');
    await screen.sees(/▸.*needle line 31/);
  });

  test('that cannot read on does not say that there is nothing more', async () => {
    const screen = await inLogs();
    screen.app.logs.addHistory(vault, lines(1, 2000, 'old'));
    screen.log(vault, lines(1, 100));
    await screen.sees('line 100');
    await screen.press('*', '/');
    await screen.type('needle');
    await screen.press('enter');
    await screen.sees('filter needle highlighted');
    screen.app.logs.failHistory('The engine is away.');
    await screen.press('N');
    await screen.sees('The log could not be read.');
    await screen.misses('No more matches');
  });

  test('shows what it found in colour, also in lines that have their own', async () => {
    const screen = await inLogs({ theme: colourTheme });
    screen.log(vault, [{ text: 'all is well here', styled: 'all \x1b[32mis well\x1b[0m here' }]);
    await screen.press('/');
    await screen.type('well');
    await screen.sees('1 of 1 line match');
    expect(screen.raw()).toContain(`${colourTheme.paint('match', 'well')} here`);
    expect(screen.raw()).toMatch(/all \x1b\[32mis /);
  });

  test('belongs to its component, and comes back with it, also after a new start', async () => {
    const kept: Record<string, KeptFilter>[] = [];
    const screen = await openHarness({ filterHistory: { ...keepsNothing, keep: (filters) => kept.push({ ...filters }) } });
    screen.log(vault, ['alpha', 'beta']);
    screen.log(sso, ['gamma', 'delta']);
    await screen.press('4', '/');
    await screen.type('alp');
    await screen.press('enter');
    await screen.misses('beta');
    await screen.press('1', 'j');
    await screen.sees('gamma', 'delta');
    await screen.press('k');
    await screen.sees('alpha', 'filter alp');
    await screen.misses('beta');
    expect(kept.at(-1)).toEqual({ [vault]: { typed: 'alp', hides: true } });

    const next = await openHarness({ start: { logFilters: kept.at(-1) ?? {} } });
    next.log(vault, ['alpha', 'beta']);
    await next.sees('alpha', 'filter alp', '1 of 2 lines match');
    await next.press('4', 'esc');
    await next.sees('beta');
  });

  test('is kept in a file for the operator alone, and in a read-only session in none (R32)', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'quarterdeck-filters-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const path = join(folder, 'state', 'log-filters.json');
    const filters = { [vault]: { typed: '/warn|error/', hides: false } };
    const quiet = openFilterHistory(path, { readOnly: true });
    quiet.keep(filters);
    await quiet.settle();
    expect(await quiet.load()).toEqual({});
    const filterHistory = openFilterHistory(path, { readOnly: false });
    filterHistory.keep({});
    filterHistory.keep(filters);
    await filterHistory.settle();
    expect(await filterHistory.load()).toEqual(filters);
    expect(await quiet.load()).toEqual(filters);
    expect(JSON.parse(await readFile(path, 'utf8'))).toEqual({ schema: 1, filters });
  });
});

describe('one line', () => {
  const some = () => [
    ...lines(1, 40),
    'needle one',
    ...lines(41, 40),
    '{"level":"error","msg":"disk is full","path":"/data","free":0}',
    ...lines(81, 3),
  ];

  test('that a filter found is shown in context, and Esc goes back to the filtered view', async () => {
    const screen = await inLogs();
    screen.log(vault, some());
    await screen.press('/');
    await screen.type('needle');
    await screen.press('enter');
    await screen.sees('1 of 85 lines match', 'needle one');
    await screen.press('enter');
    await screen.sees(/▸.*needle one/, /line 40 /, /line 41 /, 'in context');
    await screen.press('esc');
    await screen.misses('line 40 ');
    await screen.sees('needle one', '1 of 85 lines match');
  });

  test('is shown whole, with its time, stream and level; JSON is spread out', async () => {
    const screen = await inLogs();
    screen.log(vault, some());
    await screen.sees('line 83');
    await screen.press('k', 'k', 'k', 'enter');
    await screen.sees('2026-11-20 14:03:28.000Z', 'stdout', 'error', '"msg": "disk is full"', '"free": 0');
    await screen.press('esc');
    await screen.sees(/▸.*disk is full/);
  });

  test('that is longer than the screen is read to its end', async () => {
    const screen = await inLogs();
    screen.log(vault, [`${'word '.repeat(3000)}THE END`]);
    await screen.sees(/word w?o?r?d?.*>/);
    await screen.misses('THE END');
    await screen.press('V', 'G');
    await screen.sees('THE END');
    await screen.press('esc', 'w', 'G');
    await screen.sees('THE END');
  });

  test('of JSON or logfmt is readable, and with J as it was written', async () => {
    const screen = await inLogs();
    screen.log(vault, ['{"level":"error","msg":"disk is full","path":"/data"}']);
    await screen.sees(/ERROR +disk is full +path=\/data/);
    await screen.press('J');
    await screen.sees('{"level":"error","msg":"disk is full","path":"/data"}', 'unformatted');
  });

  test('goes to the side, and back', async () => {
    const screen = await inLogs();
    screen.log(vault, [`${'a'.repeat(60)}${'b'.repeat(40)}END`]);
    await screen.sees(/a{60}b+>/);
    await screen.press('l', 'l');
    await screen.sees('column 33');
    await screen.press('l', 'l');
    await screen.sees(/b{40}END/);
    await screen.press('h', 'h', 'h', 'h', 'h');
    await screen.sees(/a{60}b+>/);
  });

  test('is marked, found again, copied and no longer marked', async () => {
    const screen = await inLogs();
    screen.log(vault, lines(1, 100));
    await screen.sees('line 100');
    await screen.press('k', 'm');
    await screen.sees(/▸\S+ ◆ line 99/, '1 marked');
    for (let page = 0; page < 3; page++) await screen.press('pageup');
    await screen.press('m', 'k');
    await screen.sees('2 marked', /◆14:/);
    await screen.press("'");
    await screen.press("'");
    await screen.sees(/▸\S+ ◆ line 99/);
    await screen.press('y');
    await screen.sees('Copied 2 marked lines');
    expect(screen.copied.at(-1)).toMatch(/^line \d\d\nline 99$/);
    await screen.press('M', 'Y');
    await screen.sees('Copied 1 line');
    expect(screen.copied.at(-1)).toBe('2026-11-20T14:03:45.000Z server stdout line 99');
  });
});

describe('a time', () => {
  test('is gone to, forwards and backwards', async () => {
    const screen = await inLogs();
    screen.app.logs.addHistory(vault, lines(1, 3600, 'old'));
    screen.log(vault, lines(1, 100));
    await screen.sees('line 100');
    await screen.press('T');
    await screen.type('13:30');
    await screen.sees('go to 13:30');
    await screen.press('enter');
    await screen.sees(/▸13:30:00/, 'paused');
    await screen.press('V');
    await screen.sees('one line');
    await screen.press('T');
    await screen.type('1m');
    await screen.press('enter');
    await screen.sees(/▸14:02:07 {3}line 1 /);
  });

  test('that is none is explained, and nothing moves', async () => {
    const screen = await inLogs({ size: { columns: 120, rows: 36 } });
    screen.log(vault, lines(1, 10));
    await screen.press('T');
    await screen.type('soon');
    await screen.press('enter');
    await screen.sees('"soon" is not a valid time');
    await screen.press('esc');
    await screen.sees('following');
  });

  test('after the last line is told', async () => {
    const screen = await inLogs({ now: () => sampleNowMs + 3_600_000 });
    screen.log(vault, lines(1, 10));
    await screen.press('T');
    await screen.type('15:00');
    await screen.press('enter');
    await screen.sees('No log lines at or after that time.');
  });
});

describe('several components', () => {
  test('that are marked are merged by time; each line says whose it is, the title whose logs they are', async () => {
    const screen = await openHarness({ size: { columns: 200, rows: 60 } });
    await screen.press('space', 'j', 'space');
    await screen.sees('Logs · 2 components: password-vault, sso-portal', '2 marked for logs');
    screen.log(vault, [{ text: 'from the vault', service: 'password-vault' }]);
    screen.log(sso, [{ text: 'from the portal', service: 'redis' }]);
    await screen.sees(/password-vault +from the vault/, /sso-portal\/redis +from the portal/);
    expect(screen.app.openLogs()).toEqual([`${vault} + ${sso}`]);
    await screen.press('esc');
    await screen.sees('Logs · sso-portal');
  });

  test('of a project or of the whole host are one key away', async () => {
    const screen = await openHarness();
    await screen.press('L');
    await screen.sees('Logs · all of nas, 20 components');
    await screen.press('esc');
    await screen.sees('Logs · password-vault');
  });

  test('have no keys for one of them: what is not looked at is not stopped', async () => {
    const screen = await openHarness();
    await screen.press('L', 's', 'r', 'x');
    await screen.sees('Logs · all of nas');
    expect(screen.app.started).toEqual([]);
  });
});

describe('saving', () => {
  test('is refused in a read-only session', async () => {
    const screen = await inLogs({ readOnly: true });
    screen.log(vault, ['one']);
    await screen.sees('one');
    await screen.press('W');
    await screen.sees('This session is read-only, so "Save log lines" is not available.');
    expect(screen.app.started).toEqual([]);
  });

  test('starts the flow with the lines shown', async () => {
    const screen = await inLogs();
    screen.log(vault, ['one']);
    await screen.sees('one');
    await screen.press('W');
    await screen.sees('Save log lines');
    expect(screen.app.started.map(({ flow }) => flow)).toEqual(['save-logs']);
  });
});

describe('levels and streams', () => {
  test('colour the time and the word that says the level', async () => {
    const screen = await inLogs({ theme: colourTheme });
    screen.log(vault, ['[ERROR] disk is full', '[WARN] disk is nearly full', 'plain']);
    await screen.sees('[WARN] disk is nearly full');
    expect(screen.raw()).toContain(`${colourTheme.paint('error', '14:02:07   ')}[${colourTheme.paint('error', 'ERROR')}] disk`);
    expect(screen.raw()).toContain(`${colourTheme.paint('warning', '14:02:08   ')}[${colourTheme.paint('warning', 'WARN')}] disk`);
    expect(screen.raw()).toContain(`${colourTheme.paint('faint', '14:02:09   ')}plain`);
  });

  test('colours of the program stay, cut or wrapped', async () => {
    const screen = await inLogs({ theme: colourTheme });
    screen.log(vault, [{ text: 'ok '.repeat(60), styled: `\x1b[32m${'ok '.repeat(60)}\x1b[0m` }]);
    await screen.sees('ok ok');
    expect(screen.raw()).toMatch(/\x1b\[32mok ok/);
    await screen.press('w');
    await screen.sees('wrapped');
    expect(screen.raw().match(/\x1b\[32mok|\x1b\[32m ?ok|\x1b\[32mk/g)?.length).toBeGreaterThanOrEqual(3);
  });
});

describe('without colour or Unicode', () => {
  test('the line under the cursor, marks and what is highlighted are told by signs', async () => {
    for (const theme of [plainTheme, asciiTheme]) {
      const screen = await openHarness({ theme, size: { columns: 80, rows: 24 }, app: createFakeApp() });
      screen.log(vault, ['first needle', 'second', 'third']);
      await screen.press('4', '*', '/');
      await screen.type('needle');
      await screen.press('enter', 'k', 'm', 'j');
      const { pointer, mark } = theme.glyphs;
      await screen.until(
        (frame) =>
          frame.includes('=14:02:07   first needle') &&
          frame.includes(`${mark}14:02:08   second`) &&
          frame.includes(`${pointer}14:02:09   third`),
        'three signs',
      );
    }
  });
});
