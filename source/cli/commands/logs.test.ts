import { Writable } from 'node:stream';
import { describe, expect, test, vi } from 'vitest';
import { componentView, engineView, FleetDouble, serviceView } from '../../../test/doubles/fleet-double.ts';
import { runsOf, type StreamedLine } from '../../../test/doubles/log-double.ts';
import { BrokenPipe, inputStream, OutputStream } from '../../../test/doubles/streams.ts';
import type { QuarterdeckApp } from '../../app/app.ts';
import { ownPaths } from '../../config/paths.ts';
import { Fault } from '../../faults/fault.ts';
import type { EngineView, FleetSnapshot, ServiceStateId } from '../../fleet/model.ts';
import type { LogRun } from '../../logs/merge.ts';
import type { LogStreamOptions } from '../../logs/store.ts';
import type { LogOrigin } from '../../logs/targets.ts';
import { runCommandLine } from '../run-command-line.ts';

const startMs = Date.UTC(2026, 10, 20, 10, 0, 0, 5);

function line(text: string, overrides: Partial<StreamedLine> = {}): StreamedLine {
  return {
    component: 'local/stack/rss-reader',
    container: 'id-of-reader',
    service: 'reader',
    timeMs: startMs,
    stream: 'stdout',
    text,
    cut: false,
    ...overrides,
  };
}
const ofVault = { component: 'local/stack/password-vault', service: 'password-vault', container: 'id-of-password-vault' };
const ofDatabase = { service: 'database', container: 'id-of-database' };

const facts: Partial<FleetSnapshot> = {
  components: [
    componentView('rss-reader', { services: [serviceView('reader', { main: true }), serviceView('database')] }),
    componentView('password-vault'),
    componentView('file-sync', { services: [serviceView('file-sync', { containerId: undefined, state: 'missing' })] }),
  ],
};

type Stream = (options: LogStreamOptions) => AsyncIterable<LogRun<LogOrigin>>;
const giving = (...batches: (readonly StreamedLine[])[]): Stream =>
  async function* () {
    for (const batch of batches) yield* runsOf(batch);
  };

interface Run {
  stream?: Stream;
  fleet?: FleetDouble;
  terminal?: boolean;
  stdout?: Writable;
  env?: Record<string, string>;
  interrupt?: AbortSignal;
}

async function run(
  argv: readonly string[],
  { stream = giving(), fleet = new FleetDouble(facts), terminal = false, stdout, env = {}, interrupt }: Run = {},
) {
  const out = stdout ?? new OutputStream(terminal ? { columns: 80 } : undefined);
  const err = new OutputStream(terminal ? { columns: 80 } : undefined);
  const asked: LogStreamOptions[] = [];
  const exitCode = await runCommandLine(['logs', ...argv], {
    stdin: inputStream({ terminal }) as never,
    stdout: out as never,
    stderr: err as never,
    env: { LANG: 'C.UTF-8', ...env },
    paths: ownPaths({ QUARTERDECK_HOME: '/nonexistent' }, '/nonexistent'),
    version: '1.2.3',
    createApp: async () =>
      ({
        fleet,
        logs: {
          stream(options: LogStreamOptions) {
            asked.push(options);
            return stream(options);
          },
        },
        close: async () => {},
      }) as unknown as QuarterdeckApp,
    openConsole: async () => 0,
    onSignal: (heard) => {
      interrupt?.addEventListener('abort', heard);
      return () => {};
    },
  });
  return { exitCode, stdout: out instanceof OutputStream ? out.text : '', stderr: err.text, asked };
}

/** A fleet that changes while a log is followed. */
class ChangingFleet extends FleetDouble {
  readonly listeners = new Set<() => void>();
  override subscribe(listener?: () => void) {
    if (listener) this.listeners.add(listener);
    return () => void (listener && this.listeners.delete(listener));
  }
  become(changed: Partial<FleetSnapshot>): void {
    this.current = { ...this.current, ...changed };
    for (const listener of this.listeners) listener();
  }
}

describe('logs', () => {
  test('writes the lines of a component, all there are', async () => {
    const { stdout, stderr, exitCode, asked } = await run(['password-vault'], {
      stream: giving([line('one', ofVault), line('two', ofVault)], [], [line('', ofVault)]),
    });
    expect({ stdout, stderr, exitCode }).toEqual({ stdout: 'one\ntwo\n\n', stderr: '', exitCode: 0 });
    expect(asked).toMatchObject([{ componentKeys: ['local/stack/password-vault'], follow: false }]);
    for (const option of ['tail', 'sinceMs', 'untilMs', 'services'] as const) expect(asked[0]?.[option]).toBeUndefined();
  });

  test.each([
    [['password-vault'], true],
    [['password-vault', '--timestamps'], false],
    [['password-vault', '--json'], false],
    [['password-vault', 'rss-reader'], false],
  ])('the engine may omit the times that are not shown: %j', async (argv, untimed) => {
    expect((await run(argv)).asked).toMatchObject([{ untimed }]);
  });

  test('with several containers each line names its own, aligned', async () => {
    const lines = [line('hello'), line('ready', ofDatabase)];
    expect((await run(['rss-reader'], { stream: giving(lines) })).stdout).toBe('reader   | hello\ndatabase | ready\n');
    const { stdout, asked } = await run(['rss-reader', 'password-vault', 'rss-reader'], {
      stream: giving([...lines, line('open', ofVault)]),
    });
    expect(stdout).toBe('rss-reader/reader   | hello\nrss-reader/database | ready\npassword-vault      | open\n');
    expect(asked[0]?.componentKeys).toEqual(['local/stack/rss-reader', 'local/stack/password-vault']);
  });

  test('each has a colour of its own on a terminal, the same in every run; NO_COLOR has none', async () => {
    const stream = giving([line('hello'), line('ready', ofDatabase), line('again')]);
    const { stdout } = await run(['rss-reader'], { terminal: true, stream });
    const colours = [...stdout.matchAll(/\x1b\[(\d+)m(reader|database) +\| \x1b\[39m/g)].map(([, colour, name]) => [name, colour]);
    expect(colours.map(([name]) => name)).toEqual(['reader', 'database', 'reader']);
    expect(colours[0]?.[1]).toBe(colours[2]?.[1]);
    expect(colours[0]?.[1]).not.toBe(colours[1]?.[1]);
    expect((await run(['rss-reader'], { terminal: true, stream })).stdout).toBe(stdout);
    expect((await run(['rss-reader'], { terminal: true, stream, env: { NO_COLOR: '1' } })).stdout).not.toContain('\x1b');
    expect((await run(['rss-reader'], { stream })).stdout).not.toContain('\x1b');
  });

  test('one service: by option, and by the name of its container', async () => {
    const stream = giving([line('hello'), line('ready', ofDatabase)]);
    for (const argv of [['rss-reader', '--service', 'database'], ['database']]) {
      const { stdout, asked } = await run(argv, { stream });
      expect(stdout).toBe('ready\n');
      expect(asked[0]?.services).toEqual(['database']);
    }
    const two = await run(['password-vault', 'database'], {
      stream: giving([line('hello'), line('ready', ofDatabase), line('open', ofVault)]),
    });
    expect(two.stdout.split('\n').map((text) => text.replace(/ +\|.*/, ''))).toEqual(['rss-reader/database', 'password-vault', '']);
    // Both are shown, because the component was named.
    expect((await run(['rss-reader', 'database'], { stream })).stdout).toContain('hello');
  });

  test('of one component on several hosts have the host before its name, and in JSON', async () => {
    const on = (host: string) => componentView('password-vault', { host, key: `${host}/stack/password-vault` });
    const fleet = new FleetDouble({ engines: [engineView('nas'), engineView('shed')], components: [on('nas'), on('shed')] });
    const from = (host: string, text: string) => line(text, { ...ofVault, component: `${host}/stack/password-vault` });
    const stream = giving([from('nas', 'one'), from('shed', 'two')]);
    const { stdout, asked } = await run(['password-vault', '--host', 'all'], { stream, fleet });
    expect(asked[0]?.componentKeys).toEqual(['nas/stack/password-vault', 'shed/stack/password-vault']);
    expect(stdout).toBe('nas/password-vault  | one\nshed/password-vault | two\n');
    expect((await run(['nas/password-vault', 'shed/password-vault', '--host', 'all'], { stream, fleet })).stdout).toBe(stdout);
    const json = (await run(['password-vault', '--host', 'all', '--json'], { stream, fleet })).stdout.trim().split('\n');
    expect(json.map((text) => JSON.parse(text))).toMatchObject([
      { host: 'nas', component: 'password-vault', line: 'one' },
      { host: 'shed', component: 'password-vault', line: 'two' },
    ]);
    const one = await run(['password-vault'], { stream, fleet });
    expect(one.exitCode).toBe(2);
    expect(one.stderr).toContain('is ambiguous: nas/stack/password-vault, shed/stack/password-vault');
  });

  test('that many lose with one link are told so once, and that it is back', async () => {
    const away: EngineView = engineView('nas', {
      hostKind: 'ssh',
      link: { state: 'away', sinceMs: 0, message: 'nas no longer responds.', remedy: 'y', retryAtMs: undefined },
    });
    const components = ['password-vault', 'rss-reader'].map((id) => componentView(id, { host: 'nas', key: `nas/stack/${id}` }));
    const fleet = new ChangingFleet({ engines: [engineView('nas', { hostKind: 'ssh' })], components });
    const { stderr } = await run(['password-vault', 'rss-reader', '-f'], {
      fleet,
      stream: async function* ({ onNotice }) {
        onNotice?.('nas no longer responds.');
        onNotice?.('nas no longer responds.');
        fleet.become({ engines: [away], components });
        fleet.become({ engines: [engineView('nas', { hostKind: 'ssh' })], components });
        onNotice?.('nas no longer responds.');
        yield* runsOf([]);
      },
    });
    expect(stderr.trimEnd().split('\n')).toEqual(['nas no longer responds.', 'nas is reachable again.', 'nas no longer responds.']);
  });

  test('--all is every component', async () => {
    const { asked, stderr } = await run(['--all']);
    expect(asked[0]?.componentKeys).toEqual(['local/stack/rss-reader', 'local/stack/password-vault']);
    expect(stderr).toBe('file-sync has no container and no log.\n');
  });

  test('from when, until when and how much is asked of the engine', async () => {
    vi.useFakeTimers({ now: startMs, toFake: ['Date'] });
    try {
      const { asked } = await run(['password-vault', '--since', '10m', '--until', '2026-11-20T09:59Z', '-n', '100', '-f']);
      expect(asked[0]).toMatchObject({ sinceMs: startMs - 600_000, untilMs: Date.UTC(2026, 10, 20, 9, 59), tail: 100, follow: true });
      expect((await run(['password-vault', '--tail', 'all'])).asked[0]?.tail).toBeUndefined();
      expect((await run(['password-vault', '--tail', '0'])).asked[0]).toMatchObject({ tail: 0 });
    } finally {
      vi.useRealTimers();
    }
  });

  test('--stdout and --stderr choose', async () => {
    const stream = giving([line('out', ofVault), line('err', { ...ofVault, stream: 'stderr' })]);
    expect((await run(['password-vault', '--stdout'], { stream })).stdout).toBe('out\n');
    expect((await run(['password-vault', '--stderr'], { stream })).stdout).toBe('err\n');
    expect((await run(['password-vault', '--stderr', '--stdout'], { stream })).stdout).toBe('out\nerr\n');
  });

  test('--timestamps are in UTC to the millisecond; a line without a time keeps its place', async () => {
    const { stdout } = await run(['password-vault', '-t'], {
      stream: giving([line('a', ofVault), line('b', { ...ofVault, timeMs: undefined })]),
    });
    expect(stdout).toBe('2026-11-20T10:00:00.005Z a\n-                        b\n');
  });

  test('says when lines were cut', async () => {
    const { stderr, exitCode } = await run(['password-vault'], { stream: giving([line('x'.repeat(300_000), { ...ofVault, cut: true })]) });
    expect(stderr).toBe('1 line was longer than the limit and truncated.\n');
    expect(exitCode).toBe(0);
  });
});

describe('logs --grep', () => {
  const stream = giving([
    line('GET /users 200', ofVault),
    line('GET /health 200', ofVault),
    line('POST /users 500 \x1b[31mError\x1b[0m', ofVault),
  ]);

  test.each([
    ['users', ['GET /users 200', 'POST /users 500 Error']],
    ['error', ['POST /users 500 Error']],
    ['ERROR', []],
    ['!health', ['GET /users 200', 'POST /users 500 Error']],
    ['/ [45]\\d\\d\\b/', ['POST /users 500 Error']],
    ['/users', ['GET /users 200', 'POST /users 500 Error']],
  ])('%s', async (filter, expected) => {
    const { stdout, exitCode } = await run(['password-vault', '--grep', filter], { stream });
    expect(stdout.split('\n').slice(0, -1)).toEqual(expected);
    expect(exitCode).toBe(0);
  });

  test('marks what was found on a terminal with colours', async () => {
    expect((await run(['password-vault', '-g', 'error'], { stream, terminal: true })).stdout).toBe(
      'POST /users 500 \x1b[1;31mError\x1b[22;39m\n',
    );
  });

  test('an expression that is none is refused, with what to do', async () => {
    const { exitCode, stderr, asked } = await run(['password-vault', '-g', '/(?=a)/'], { stream });
    expect(exitCode).toBe(2);
    expect(stderr).toContain('Lookahead and lookbehind are not supported');
    expect(asked).toEqual([]);
  });
});

describe('what programs write', () => {
  const hostile = '\x1b]0;title\x07\x1b[2J\x1b[31mred\x1b[0m\ttab\u202eevil\x9b1m';
  const stream = giving([line(hostile, ofVault)]);

  test('does nothing to a terminal, but keeps its plain colours', async () => {
    expect((await run(['password-vault'], { stream, terminal: true })).stdout).toBe('\x1b[31mred\x1b[0m        tab<U+202E>evil\x1b[0m\n');
  });

  test('has no escape sequences in a pipe', async () => {
    expect((await run(['password-vault'], { stream })).stdout).toBe('red     tab<U+202E>evil\n');
  });

  test('goes through as it is with --raw, into a pipe only', async () => {
    expect((await run(['password-vault', '--raw'], { stream })).stdout).toBe(`${hostile}\n`);
    const { exitCode, stdout, stderr, asked } = await run(['password-vault', '--raw'], { stream, terminal: true });
    expect({ exitCode, stdout, asked }).toEqual({ exitCode: 4, stdout: '', asked: [] });
    expect(stderr).toContain('Pipe the output of --raw');
  });

  test('is one JSON object a line with --json, cleaned, and whole with --raw', async () => {
    const lines = giving([line(hostile, ofVault), line('{"a":1}\u2028', { ...ofVault, timeMs: undefined, stream: 'stderr', cut: true })]);
    const cleaned = await run(['password-vault', '--json'], { stream: lines, terminal: true });
    expect(
      cleaned.stdout
        .split('\n')
        .slice(0, -1)
        .map((text) => JSON.parse(text)),
    ).toEqual([
      {
        host: 'local',
        time: '2026-11-20T10:00:00.005Z',
        component: 'password-vault',
        service: 'password-vault',
        stream: 'stdout',
        line: 'red     tab<U+202E>evil',
      },
      { host: 'local', time: null, component: 'password-vault', service: 'password-vault', stream: 'stderr', line: '{"a":1} ', cut: true },
    ]);
    const raw = await run(['password-vault', '--json', '--raw'], { stream: lines, terminal: true });
    expect(raw.stdout).toMatch(/^[\x20-\x7e\n]*$/);
    expect(JSON.parse(raw.stdout.split('\n')[0] ?? '')).toMatchObject({ line: hostile });
  });
});

describe('a reader', () => {
  test('that is slow makes the engine slow: nothing piles up', async () => {
    let given = 0;
    let most = 0;
    let taken = 0;
    const slow = new Writable({
      highWaterMark: 16_384,
      write(chunk: Buffer, _, done) {
        setImmediate(() => {
          taken += chunk.toString().split('\n').length - 1;
          most = Math.max(most, given - taken);
          done();
        });
      },
    });
    const { exitCode } = await run(['password-vault'], {
      stdout: slow,
      stream: async function* () {
        for (let batch = 0; batch < 400; batch++) {
          given += 250;
          yield* runsOf(Array.from({ length: 250 }, (_, index) => line(`line ${batch * 250 + index} ${'x'.repeat(80)}`, ofVault)));
        }
      },
    });
    expect(exitCode).toBe(0);
    // Nothing at the end is lost: the process ends after this.
    expect(taken).toBe(100_000);
    expect(most).toBeLessThan(3_000);
  });

  test('that goes away (| head) ends it at once, without a word', async () => {
    let batches = 0;
    let ended = false;
    const { exitCode, stderr } = await run(['password-vault', '--follow'], {
      stdout: new BrokenPipe(),
      stream: async function* ({ signal }) {
        try {
          while (!signal.aborted) {
            batches++;
            yield* runsOf([line('again', ofVault)]);
            await new Promise((resolve) => setImmediate(resolve));
          }
        } finally {
          ended = true;
        }
      },
    });
    expect({ exitCode, stderr, ended }).toEqual({ exitCode: 0, stderr: '', ended: true });
    expect(batches).toBeLessThan(10);
  });

  test('that never reads does not keep an interrupt from ending it', async () => {
    const interrupt = new AbortController();
    const { exitCode, stderr } = await run(['password-vault', '-f'], {
      interrupt: interrupt.signal,
      stdout: new Writable({ highWaterMark: 1, write: () => interrupt.abort() }),
      stream: giving([line('x', ofVault)], [line('y', ofVault)]),
    });
    expect({ exitCode, stderr }).toEqual({ exitCode: 130, stderr: '' });
  });

  test('a full disk is told', async () => {
    const full = new Writable({ write: (_chunk, _encoding, done) => done(Object.assign(new Error('write ENOSPC'), { code: 'ENOSPC' })) });
    const { exitCode, stderr } = await run(['password-vault'], { stdout: full, stream: giving([line('x', ofVault)]) });
    expect(exitCode).toBe(1);
    expect(stderr).toContain('could not be written');
  });
});

describe('an end', () => {
  test('of following by an interrupt says nothing, and is 130', async () => {
    const interrupt = new AbortController();
    const { exitCode, stdout, stderr } = await run(['password-vault', '-f'], {
      interrupt: interrupt.signal,
      stream: async function* ({ signal }) {
        yield* runsOf([line('one', ofVault)]);
        interrupt.abort();
        signal.throwIfAborted();
      },
    });
    expect({ exitCode, stdout, stderr }).toEqual({ exitCode: 130, stdout: 'one\n', stderr: '' });
  });

  test('by a fault comes after what was read', async () => {
    const { exitCode, stdout, stderr } = await run(['password-vault'], {
      stream: async function* () {
        yield* runsOf([line('one', ofVault)]);
        throw new Fault('unreachable.log', 'The log broke off.', 'Try again.');
      },
    });
    expect({ exitCode, stdout }).toEqual({ exitCode: 3, stdout: 'one\n' });
    expect(stderr).toContain('The log broke off.');
  });

  test('a log that cannot be read says why', async () => {
    const { exitCode, stderr } = await run(['password-vault'], {
      // biome-ignore lint/correctness/useYield: it is refused before the first line
      stream: async function* () {
        throw new Fault('failed.logDriver', 'The log driver "none" keeps nothing to read.', 'Use another driver.');
      },
    });
    expect(exitCode).toBe(1);
    expect(stderr).toContain('keeps nothing to read');
  });

  test('of an engine is told, and its return too, to whoever follows', async () => {
    const away: EngineView = engineView('local', { link: { state: 'away', sinceMs: 0, message: 'x', remedy: 'y', retryAtMs: undefined } });
    const fleet = new ChangingFleet(facts);
    const { stdout, stderr } = await run(['password-vault', '-f'], {
      fleet,
      stream: async function* ({ onNotice }) {
        yield* runsOf([line('one', ofVault)]);
        fleet.become({ engines: [away], components: [] });
        onNotice?.('The engine is unreachable. Waiting for it.');
        fleet.become({ engines: [away] });
        fleet.become({ engines: [engineView('local')], ...facts });
        fleet.become({ engines: [engineView('local')] });
        yield* runsOf([line('two', ofVault)]);
      },
    });
    expect(stdout).toBe('one\ntwo\n');
    expect(stderr).toBe('The engine is unreachable. Waiting for it.\nThe engine is reachable again.\n');
    expect(fleet.listeners.size).toBe(0);
  });

  test('of a container is told to whoever follows, with what is waited for', async () => {
    const fleet = new ChangingFleet(facts);
    const withState = (state: ServiceStateId) => ({
      components: [componentView('password-vault', { services: [serviceView('password-vault', { state })] })],
    });
    const { stderr } = await run(['password-vault', '-f'], {
      fleet,
      stream: async function* () {
        fleet.become(withState('stopped'));
        yield* runsOf([]);
        fleet.become(withState('healthy'));
        fleet.become(withState('unhealthy'));
        fleet.become({ components: [] });
        fleet.become(withState('starting'));
      },
    });
    expect(stderr.trimEnd().split('\n')).toEqual([
      'password-vault is not running; waiting for it to start.',
      'password-vault is running.',
      'password-vault has no container; waiting for one.',
      'password-vault is running.',
    ]);
  });
});

describe('wrong words', () => {
  test.each([
    [[], 'requires a component'],
    [['--all', 'password-vault'], 'Omit --all or the names'],
    [['pasword-vault'], 'Did you mean "password-vault"?'],
    [['rss-reader', '--service', 'databse'], 'Did you mean "database"?'],
    [['password-vault', '--tail', 'many'], '--tail must be a number'],
    [['password-vault', '--tail', '-1'], '--tail must be a number'],
    [['password-vault', '--since', 'soon'], '"soon" is not a valid time'],
    [['password-vault', '--since', '10m', '--until', '1h'], '--until must not be earlier than --since'],
    [['password-vault', '--sicne', '10m'], 'Did you mean --since'],
  ])('%j', async (argv, sentence) => {
    const { exitCode, stderr, asked } = await run(argv);
    expect(stderr).toContain(sentence);
    expect({ exitCode, asked }).toEqual({ exitCode: 2, asked: [] });
  });

  test('a component without a container has no log; who follows waits for it', async () => {
    const { exitCode, stderr, asked } = await run(['file-sync']);
    expect({ exitCode, asked }).toEqual({ exitCode: 1, asked: [] });
    expect(stderr).toContain('file-sync has no container and no log.');
    const following = await run(['file-sync', '-f']);
    expect(following.stderr).toBe('file-sync has no container; waiting for one.\n');
    expect(following.asked[0]?.componentKeys).toEqual(['local/stack/file-sync']);
  });

  test('who follows one service is told about this service', async () => {
    const database = serviceView('database', { containerId: undefined, state: 'missing' });
    const services = [serviceView('reader', { main: true }), database];
    const fleet = new FleetDouble({ components: [componentView('rss-reader', { services })] });
    const { stderr } = await run(['rss-reader', '-f', '--service', 'database'], { fleet });
    expect(stderr).toBe('rss-reader (database) has no container; waiting for one.\n');
  });

  test('without an engine it is unreachable', async () => {
    const fleet = new FleetDouble({ engines: [engineView('local', { engine: { ...engineView().engine, reachable: false } })] });
    expect((await run(['password-vault'], { fleet })).exitCode).toBe(3);
  });
});

test('the help tells what each option is for', async () => {
  const { stdout } = await run(['--help']);
  for (const option of ['--follow', '--tail', '--since', '--until', '--grep', '--service', '--timestamps', '--raw', '--all'])
    expect(stdout).toContain(option);
  expect(stdout).toContain('130');
});
