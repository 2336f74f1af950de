import { rm, truncate, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import type { State } from '../../source/catalog/state.ts';
import { Terminal } from '../pty/terminal.ts';
import { makeShortFolder } from '../short-folder.ts';
import { ask, askUntil } from './ask.ts';
import { describePrivate, type PrivateEngine, startPrivateEngine } from './real-engines.ts';
import { runOrThrow, runProgram } from './scripts.ts';

/**
 * The truth table of states (R5, R58): what `status`, `status --json` and the console say of a container, by what happened to it, on engines of its own. Each row is
 * looked at by who watched (a console was open, and its home is kept) and by who did not (a home that is new), at once and by a clock that is two minutes ahead, after
 * the engine's events were overwritten, after a crash of the engine, after a restart of it, and after a restart of the machine.
 */

type Kind = 'docker' | 'podman';

/** One of several, where each would be true. */
type Wanted = string | RegExp | readonly string[];

interface Said {
  state: string;
  /** What the row says, where that is not the state. */
  word?: string | RegExp;
  detail: Wanted;
}

/** `undefined` where there is no row. */
type Expected = Said | undefined;

const moments = ['at once', 'later', 'flushed', 'crashed', 'restarted', 'rebooted'] as const;
type Moment = (typeof moments)[number];

interface Row {
  /** As the component is called; never hexadecimal, since engines read that as the beginning of an id too. */
  id: string;
  name: string;
  kinds?: readonly Kind[];
  container?: { Cmd?: readonly string[]; HostConfig?: object; Healthcheck?: object; service?: string };
  isStarted?: boolean;
  happens?: (fixture: Fixture, id: string) => Promise<unknown>;
  /** What who watched is told, by who watched at other moments, and by who did not. The last that is written counts for what follows. */
  watched: Expected | ((kind: Kind) => Expected);
  /** Once it is not known from the engine's events any more. As watched, where missing. */
  unwatched?: Expected | ((kind: Kind) => Expected);
  at?: Partial<Record<Moment | `${Moment}, unwatched`, Expected | ((kind: Kind) => Expected)>>;
  /** Moments at which it is not looked at. */
  until?: Moment;
}

interface Look {
  moment: Moment;
  isWatched: boolean;
  how: string;
  /** By component. */
  rows: Readonly<Record<string, { word: string; state?: string; detail?: string }>>;
}

interface Fixture {
  engine: PrivateEngine;
  quarterdeck(args: readonly string[]): Promise<string>;
}

const main = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const clock = fileURLToPath(new URL('later.cjs', import.meta.url));
const laterMs = 120_000;

const sleeper = ['sh', '-c', 'trap "exit 0" TERM; echo ready; sleep 3600 & wait'];
const stubborn = ['sh', '-c', 'trap "" TERM; echo ready; sleep 3600'];
const kept = { RestartPolicy: { Name: 'unless-stopped' } };
/** On Podman without systemd somebody has to run it. */
const checkedBy = (program: string, seconds: number) => ({ Test: ['CMD', program], Interval: seconds * 1e9, Timeout: 5e9, Retries: 1 });
const runCheck = async ({ engine }: Fixture, id: string) => {
  if (engine.kind === 'podman') await ask(engine, `/v4.0.0/libpod/containers/${id}/healthcheck`);
};
/** A shell that has not come to its trap yet is deaf to the first signal. */
const isReady = ({ engine }: Fixture, id: string) =>
  askUntil(engine, `/containers/${id}/logs?stdout=1`, ({ body }) => body.includes('ready'));
const stop = async (fixture: Fixture, id: string) => {
  await isReady(fixture, id);
  await post(fixture.engine, `/containers/${id}/stop?t=3`);
};
const remove = async ({ engine }: Fixture, id: string) => await ask(engine, `/containers/${id}?force=1`, { method: 'DELETE' });

const said = <Detail extends string | RegExp>(state: string, detail: Detail, word?: string | RegExp) => ({
  state,
  detail,
  ...(word && { word }),
});
const on = (docker: Expected, podman: Expected) => (kind: Kind) => (kind === 'docker' ? docker : podman);

const running = said('running', 'up; it declares no health check');
const created = said('created', 'created, never started');
const stopped = said('stopped', 'stopped by an operator, AGO');
const shot = said('stopped', 'ended by SIGKILL (exit code 137), AGO; no record of what sent it');
const zero = said('stopped', 'ended with exit code 0, AGO; no record of whether it was stopped or finished its work');
const onRequest = said('stopped', 'stopped on request (exit code 0), AGO; otherwise its restart policy would have started it again');
const stoppedOrHost = said('stopped', 'ended with exit code 0, AGO; no record of whether it was stopped or went down with the host');
const withEngine = said('failed', 'went down with the engine, AGO, and was not started again');
const withHost = said('failed', 'went down with the host and was not started again');
/** Whether Podman before 5 reports a stop is a race between it and its cleaning up. */
const perhaps = ({ detail }: { detail: string }): Said => ({ state: 'stopped', detail: [stopped.detail, detail] });
const partly = (detail: string) => said('created', detail, 'partly created');

/** Podman before 5 keeps no trace of a stop, neither in events nor in an inspect, and on cgroup v1 none of an end for want of memory. */
const table: readonly Row[] = [
  { id: 'made', name: 'created', isStarted: false, watched: created },
  {
    id: 'starting',
    name: 'starting',
    container: { Healthcheck: checkedBy('true', 600) },
    watched: said('starting', 'up, but its health check has not passed yet'),
    until: 'flushed',
  },
  {
    id: 'healthy',
    name: 'healthy',
    container: { Healthcheck: checkedBy('true', 2) },
    happens: runCheck,
    watched: said('healthy', 'its health check passes'),
    until: 'flushed',
  },
  {
    id: 'unhealthy',
    name: 'unhealthy',
    container: { Healthcheck: checkedBy('false', 2) },
    happens: runCheck,
    watched: said('unhealthy', 'its health check fails'),
    until: 'flushed',
  },
  {
    id: 'loose',
    name: 'running, without a restart policy',
    watched: running,
    at: {
      // Podman's containers do not run below its service.
      crashed: on(withEngine, running),
      restarted: on(withEngine, running),
      // Its end was reported by the engine before.
      'restarted, unwatched': on(zero, running),
      rebooted: on(withEngine, withHost),
    },
  },
  {
    id: 'kept',
    name: 'running, with a restart policy',
    container: { HostConfig: kept },
    watched: running,
    at: {
      // Docker 20.10 takes its own ending of what a crash left for a stop on request.
      crashed: on(withEngine, running),
      // Of Podman a service starts it again, which is not there.
      rebooted: on(running, withHost),
      restarted: running,
    },
  },
  {
    id: 'always',
    name: 'running, with the restart policy "always"',
    container: { HostConfig: { RestartPolicy: { Name: 'always' } } },
    watched: running,
    at: { rebooted: on(running, withHost) },
  },
  {
    id: 'paused',
    name: 'paused',
    // On a busy machine runc may fail at it.
    happens: ({ engine }, id) => askUntil(engine, `/containers/${id}/pause`, ({ status }) => status < 300, { method: 'POST' }),
    watched: said('paused', 'paused: its processes are frozen'),
    until: 'flushed',
  },
  {
    id: 'looping',
    name: 'in a restart loop',
    container: { Cmd: ['sh', '-c', 'sleep 0.7; exit 1'], HostConfig: { RestartPolicy: { Name: 'always' } } },
    watched: said('restarting', /^restarted \d+ times/, /^restarting ([3-9]|\d\d+)x$/),
    // By a clock that is ahead the present run is two minutes old, and no loop.
    until: 'at once',
  },
  {
    id: 'oom',
    name: 'killed because memory ran out',
    container: {
      // Docker notes the cause only if it listens before memory runs out, and hears of it before the main process ends.
      Cmd: ['sh', '-c', 'until [ -e /go ]; do sleep 0.1; done; dd if=/dev/zero of=/dev/null bs=64M; code=$?; sleep 2; exit $code'],
      HostConfig: { Memory: 16 << 20, MemorySwap: 16 << 20 },
    },
    happens: async ({ engine }, id) => {
      const exec = JSON.parse(await post(engine, `/containers/${id}/exec`, { Cmd: ['touch', '/go'] })) as { Id: string };
      await post(engine, `/exec/${exec.Id}/start`, { Detach: true });
    },
    watched: on(said('killed', 'killed because memory ran out (exit code 137, SIGKILL), AGO'), shot),
  },
  {
    id: 'shot',
    name: 'killed from outside the engine',
    happens: async ({ engine }, id) => {
      const { State } = JSON.parse((await ask(engine, `/containers/${id}/json`)).body) as { State: { Pid: number } };
      process.kill(State.Pid, 'SIGKILL');
    },
    watched: on(said('killed', 'killed by SIGKILL from outside the engine (exit code 137), AGO'), shot),
    unwatched: shot,
  },
  {
    id: 'stopped',
    name: 'stopped by an operator, and exited with 0',
    happens: stop,
    watched: on(stopped, perhaps(zero)),
    unwatched: zero,
  },
  {
    id: 'stubborn',
    name: 'stopped by an operator, and had to be killed',
    container: { Cmd: stubborn },
    happens: stop,
    watched: on(stopped, perhaps(shot)),
    unwatched: shot,
  },
  {
    id: 'stopped-kept',
    name: 'stopped by an operator, with a restart policy',
    container: { HostConfig: kept },
    happens: stop,
    watched: on(stopped, perhaps(onRequest)),
    unwatched: onRequest,
    at: {
      // What Docker was to start again when it started, it did not: that it was stopped before is all there is to it, but for the oddity above.
      'crashed, unwatched': on(zero, onRequest),
      'restarted, unwatched': on(zero, onRequest),
      'rebooted, unwatched': on(zero, stoppedOrHost),
      rebooted: on(stopped, perhaps(stoppedOrHost)),
    },
  },
  {
    id: 'stopped-here',
    name: 'stopped by Quarterdeck',
    happens: async (fixture, id) => {
      await isReady(fixture, id);
      await fixture.quarterdeck(['stop', id, '--yes']);
    },
    watched: stopped,
    unwatched: zero,
    at: { 'at once, unwatched': on(stopped, perhaps(zero)) },
  },
  {
    id: 'completed',
    name: 'completed',
    container: { Cmd: ['true'] },
    watched: on(said('completed', 'finished its work, AGO'), zero),
    unwatched: zero,
  },
  {
    id: 'failed',
    name: 'failed',
    container: { Cmd: ['sh', '-c', 'exit 3'] },
    watched: said('failed', 'failed with exit code 3, AGO', 'failed (3)'),
  },
  {
    id: 'undead',
    name: 'dead',
    kinds: ['docker'],
    happens: async (fixture, id) => {
      const file = configOf(fixture.engine, id);
      await runOrThrow(['chattr', '+i', file]);
      const { status } = await remove(fixture, id);
      await runOrThrow(['chattr', '-i', file]);
      expect(status).toBe(500);
    },
    watched: said('failed', 'dead: the engine could not remove it'),
    // The engine goes on removing it when it starts.
    at: { crashed: undefined },
  },
  { id: 'gone', name: 'removed', happens: remove, watched: undefined },
  { id: 'web', name: 'running, beside a removed service', container: { service: 'shop/web' }, watched: running, until: 'flushed' },
  {
    id: 'queue',
    name: 'removed from a compose project of others',
    container: { service: 'shop/queue' },
    happens: remove,
    watched: undefined,
    unwatched: said('missing', 'declared in its compose file, but has no container'),
    until: 'flushed',
  },
  { id: 'first', name: 'created, of a half-created project', isStarted: false, container: { service: 'half/first' }, watched: created },
  {
    id: 'second',
    name: 'not created yet, of a half-created project',
    watched: partly('not created yet, because its project was only partly created and never started'),
  },
];

const projects: Readonly<Record<string, readonly string[]>> = { shop: ['web', 'queue'], half: ['first', 'second'] };
const rowsOf = (kind: Kind) => table.filter(({ kinds }) => kinds?.includes(kind) ?? true);
const hasContainer = ({ id }: Row) => id !== 'second';

function expectedOf(row: Row, kind: Kind, moment: Moment, isWatched: boolean): Expected {
  const { watched, unwatched = watched, at = {} } = row;
  const reached = moment === 'at once' ? [moment] : moments.slice(1, moments.indexOf(moment) + 1).reverse();
  let reported = isWatched || moment === 'at once' ? watched : unwatched;
  for (const one of reached) {
    const key = isWatched ? one : (`${one}, unwatched` as const);
    if (key in at) {
      reported = at[key];
      break;
    }
    // What runs is seen by everybody, and what went down with an engine shows in the times alone.
    if (!isWatched && unwatched === watched && one in at) {
      reported = at[one];
      break;
    }
  }
  return typeof reported === 'function' ? reported(kind) : reported;
}

function isLookedAt({ until = 'rebooted' }: Row, moment: Moment): boolean {
  return moments.indexOf(moment) <= moments.indexOf(until);
}

async function post(engine: PrivateEngine, path: string, body?: object): Promise<string> {
  const answer = await ask(engine, path, {
    method: 'POST',
    ...(body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  });
  if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${answer.body}`);
  return answer.body;
}

/** A file that Docker removes with a container. */
function configOf(engine: PrivateEngine, name: string): string {
  return join(dirname(engine.socket), 'docker/data/containers', ids.get(name) ?? '', 'hostconfig.json');
}
const ids = new Map<string, string>();

const ago = /(just now|\d+ (second|minute)s? ago)/;

function rowsIn(lines: readonly string[], rows: readonly Row[]): Look['rows'] {
  const seen = rows.flatMap(({ id }) => {
    const pattern = new RegExp(`(?:^|[│▸ ])[^\\w\\s] ${id} {2,}(\\S+(?: \\S+)*?)(?: {2,}|$|│)`);
    const word = lines.map((line) => pattern.exec(line)?.[1]).find((one) => one !== undefined);
    return word === undefined ? [] : [[id, { word }] as const];
  });
  return Object.fromEntries(seen);
}

interface StatusJson {
  hosts: {
    engine: { reachable: boolean };
    missing: string[];
    components: { id: string; state: State; serviceState: string; detail: string }[];
  }[];
}

interface Played {
  looks: Look[];
  /** While the engine is down. */
  down: { console: Look['rows']; code: number; text: string; json: StatusJson };
  missing: string[];
}

async function play(kind: Kind): Promise<Played> {
  const folder = await makeShortFolder('qd-truth-');
  const engine = await startPrivateEngine(kind, { busybox: true });
  const looks: Look[] = [];
  const missing: string[] = [];
  const consoles: Terminal[] = [];
  const rows = rowsOf(kind);
  let homes = 0;
  const env = (home: string, more: Readonly<Record<string, string>> = {}) => ({
    HOME: folder,
    PATH: process.env.PATH,
    DOCKER_HOST: engine.url,
    QUARTERDECK_HOME: join(folder, home),
    ...more,
  });
  const argv = [process.execPath, '--require', clock, main];
  const quarterdeck = (home: string, args: readonly string[], more = {}) =>
    runProgram([...argv, ...args], { env: env(home, more), bare: true, limitMs: 60_000 });
  const open = (more = {}) => {
    const terminal = Terminal.start(argv, { columns: 160, rows: 60, env: env('watcher', more) });
    consoles.push(terminal);
    return terminal;
  };
  const fixture: Fixture = {
    engine,
    quarterdeck: async (args) => (await quarterdeck('watcher', args)).stdout,
  };

  const readConsole = async (terminal: Terminal, moment: Moment, how: string) => {
    const wanted = rows.filter((row) => isLookedAt(row, moment));
    const isRight = () => {
      const seen = rowsIn(terminal.screen(), wanted);
      return wanted.every((row) => {
        const expected = expectedOf(row, kind, moment, true);
        return expected ? matches(seen[row.id]?.word, expected.word ?? expected.state) : seen[row.id] === undefined;
      });
    };
    // What it shows in the end is compared below, row by row.
    await terminal.sees(isRight, 15_000).catch(() => undefined);
    looks.push({ moment, isWatched: true, how, rows: rowsIn(terminal.screen(), wanted) });
  };
  const look = async (moment: Moment, isWatched: boolean, more: Readonly<Record<string, string>> = {}) => {
    const home = isWatched ? 'watcher' : `stranger-${homes++}`;
    const how = `${moment}, ${isWatched ? 'watched' : 'not watched'}${more.LATER_MS ? ', by a clock that is ahead' : ''}`;
    let json = await quarterdeck(home, ['status', '--json'], more);
    // A busy Podman misses a limit now and then, and then that is what is said.
    for (const endMs = Date.now() + 45_000; json.code === 3 && Date.now() < endMs; )
      json = await quarterdeck(home, ['status', '--json'], more);
    if (json.code !== 0) throw new Error(`status --json, ${how}: ${json.stderr}`);
    const [host] = (JSON.parse(json.stdout) as StatusJson).hosts;
    missing.push(...(host?.missing ?? []));
    looks.push({
      ...{ moment, isWatched, how: `status --json, ${how}` },
      rows: Object.fromEntries(
        (host?.components ?? []).map(({ id, state: { label }, serviceState, detail }) => [
          id,
          { word: label, state: serviceState, detail },
        ]),
      ),
    });
    if (!isWatched) return;
    const { stdout } = await quarterdeck(home, ['status'], more);
    looks.push({ moment, isWatched, how: `status, ${how}`, rows: rowsIn(stdout.split('\n'), rows) });
  };
  const lookTwice = async (moment: Moment, more?: Readonly<Record<string, string>>) => {
    const first = look(moment, true, more);
    // Podman works on one thing at a time.
    if (kind === 'podman') await first;
    await Promise.all([first, look(moment, false, more)]);
  };
  /** It answers a ping long before it has read what it has. */
  const isBack = () => askUntil(engine, '/containers/json?all=1', ({ status }) => status === 200, { limitMs: 30_000 });
  const ahead = { LATER_MS: String(laterMs) };

  try {
    for (const [project, services] of Object.entries(projects))
      await writeFile(join(folder, `${project}.yaml`), `services:\n${services.map((name) => `  ${name}: {image: busybox}\n`).join('')}`);
    const watching = open();
    await watching.sees(/Components/, 30_000);
    await Promise.all(
      rows.filter(hasContainer).map(async ({ id, container: { service, Cmd = sleeper, ...container } = {}, isStarted = true }) => {
        const [project, name] = service?.split('/') ?? [];
        const Labels = project && {
          'com.docker.compose.project': project,
          'com.docker.compose.service': name,
          'com.docker.compose.project.config_files': join(folder, `${project}.yaml`),
          'com.docker.compose.project.working_dir': folder,
        };
        const reported = await post(engine, `/containers/create?name=${id}`, {
          Image: 'busybox:latest',
          // Podman 4.3 gives what is created in Docker's way no time to end.
          StopTimeout: 10,

          Cmd,
          ...container,
          ...(Labels && { Labels }),
        });
        ids.set(id, (JSON.parse(reported) as { Id: string }).Id);
        if (isStarted) await post(engine, `/containers/${id}/start`);
      }),
    );
    await Promise.all(rows.map(({ id, happens }) => happens?.(fixture, id)));

    await readConsole(watching, 'at once', 'console, at once');
    await lookTwice('at once');
    await Promise.all(rows.filter((row) => !isLookedAt(row, 'later')).map(({ id }) => remove(fixture, id)));
    const second = open(ahead);
    await Promise.all([look('later', true, ahead), readConsole(second, 'later', 'console, opened two minutes later')]);

    // Docker keeps the last 256 events.
    if (kind === 'docker') for (let tag = 0; tag < 300; tag++) await post(engine, `/images/busybox:latest/tag?repo=busybox&tag=t${tag}`);
    else await truncate(join(dirname(engine.socket), 'podman/tmp/events/events.log'));
    await lookTwice('flushed', ahead);

    // The rest takes longer with these, and says nothing more.
    await Promise.all(
      rows
        .filter((row) => hasContainer(row) && isLookedAt(row, 'later') && !isLookedAt(row, 'crashed'))
        .map(({ id }) => remove(fixture, id)),
    );
    await engine.kill();
    await watching.sees((terminal) => Object.values(rowsIn(terminal.screen(), rows)).every(({ word }) => word === 'unknown'), 20_000);
    const [text, json] = [await quarterdeck('watcher', ['status']), await quarterdeck('watcher', ['status', '--json'])];
    const down = {
      console: rowsIn(watching.screen(), rows),
      code: text.code,
      text: text.stdout + text.stderr,
      json: JSON.parse(json.stdout),
    };
    await engine.start();
    await isBack();
    await readConsole(watching, 'crashed', 'console, after the engine crashed');
    await lookTwice('crashed');
    await look('crashed', true, ahead);

    const startAgain = () => Promise.all(['loose', 'kept'].map((id) => ask(engine, `/containers/${id}/start`, { method: 'POST' })));
    if (kind === 'docker') {
      await startAgain();
      await watching.sees(/ loose +running/, 15_000);
      await engine.stop();
      await engine.start();
      await readConsole(watching, 'restarted', 'console, after the engine was restarted');
      await lookTwice('restarted');
    }

    await startAgain();
    await watching.sees(/ loose +running/, 15_000);
    const BOOTED_AT_MS = String(Date.now());
    await engine.reboot();
    await isBack();
    await lookTwice('rebooted', { BOOTED_AT_MS });
    await look('rebooted', true, { BOOTED_AT_MS, ...ahead });
    await readConsole(open({ BOOTED_AT_MS }), 'rebooted', 'console, opened after the machine was restarted');
    return { looks, down, missing };
  } finally {
    for (const terminal of consoles) await terminal.close();
    await engine.down();
    await rm(folder, { recursive: true, force: true });
  }
}

function matches(text: string | undefined, wanted: Wanted): boolean {
  if (wanted instanceof RegExp) return wanted.test(text ?? '');
  return typeof wanted === 'string' ? text === wanted : wanted.some((one) => one === text);
}

/** Both engines at once: they wait more than they work. */
const plays = new Map<Kind, Promise<Played>>();
function played(kind: Kind): Promise<Played> {
  for (const one of ['docker', 'podman'] as const) if (!plays.has(one) && 'url' in inject('engineOffers')[one]) plays.set(one, play(one));
  for (const one of plays.values()) one.catch(() => undefined);
  return plays.get(kind) ?? Promise.reject(new Error(`no ${kind}`));
}
afterAll(async () => void (await Promise.allSettled(plays.values())));

for (const kind of ['docker', 'podman'] as const) {
  describePrivate(kind, 'the truth table of states', () => {
    let story: Played;
    beforeAll(async () => {
      story = await played(kind);
    }, 240_000);

    it.each(rowsOf(kind))('$name (R5)', (row) => {
      const wrong = story.looks.flatMap(({ moment, isWatched, how, rows }) => {
        if (!isLookedAt(row, moment)) return [];
        const expected = expectedOf(row, kind, moment, isWatched);
        const { [row.id]: seen } = rows;
        const isRight = expected
          ? matches(seen?.word, expected.word ?? expected.state) &&
            (seen?.state ?? expected.state) === expected.state &&
            (seen?.detail === undefined || matches(withoutAge(seen.detail), expected.detail))
          : seen === undefined;
        return isRight ? [] : [`${how}: ${shown(seen)}; expected: ${shown(expected)}`];
      });
      expect(wrong).toEqual([]);
    });

    it('an engine that is down: no row goes on claiming anything, and status ends with 3 (R58)', () => {
      const { console: rows, code, text, json } = story.down;
      expect(Object.keys(rows)).toEqual(expect.arrayContaining(['loose', 'kept', 'stopped', 'completed']));
      expect([...new Set(Object.values(rows).map(({ word }) => word))]).toEqual(['unknown']);
      expect([code, json.hosts[0]?.engine.reachable, json.hosts[0]?.components]).toEqual([3, false, []]);
      expect(text).toContain('No engine is running at');
    });

    it('nothing of all that was deployed from here, and nothing is said not to have come back', () => {
      expect(story.missing).toEqual([]);
    });
  });
}

function withoutAge(detail: string): string {
  return detail.replace(ago, 'AGO');
}

function shown(one: { word?: string | RegExp; state?: string; detail?: Wanted } | undefined): string {
  return one ? [one.state, one.word, one.detail].filter(Boolean).join(' | ') : 'no row';
}
