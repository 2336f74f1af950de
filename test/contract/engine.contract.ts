import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { extract, pack } from 'tar-stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openEngine } from '../../source/engine/dockerode-engine.ts';
import type {
  ContainerFacts,
  Engine,
  EngineEvent,
  EngineFacts,
  EngineWriter,
  LogLine,
  LogOptions,
  StatsSample,
} from '../../source/engine/engine.ts';
import { shellArgv } from '../../source/flows/components/exec.ts';
import { mintGrant } from '../../source/grants/mint.ts';
import { openLocalHost } from '../../source/hosts/local-host.ts';
import { type Answer, ask } from '../real/ask.ts';

const host = openLocalHost();
const image = 'busybox:latest';
const signal = (limitMs = 60_000) => AbortSignal.timeout(limitMs);

/** Says a word on both streams, characters of several bytes, a line longer than any piece, and ends without a newline. */
const talk = `echo out-one; echo err-one >&2; echo é€; echo ${'x'.repeat(40_000)}END; printf 'no newline at end'`;
/** Counts, and ends itself properly when asked. */
const count = `trap "exit 3" TERM; ${Array.from({ length: 300 }, (_, index) => `echo line ${index + 1}; sleep 0.2`).join('; ')}`;

/**
 * What an engine must do for us, whatever its make: real ones and the one of the practice stack, which cannot drift from them that way.
 *
 * @param kind `docker`, `podman`, `docker-rootless`, ...
 * @param real where it listens; its image `busybox:latest` is there
 */
export function engineContract(kind: string, real: { url: string; socket: string }): void {
  const isPodman = kind.startsWith('podman');
  const tag = `qd-engine-${randomBytes(4).toString('hex')}`;
  let engine: Engine;
  let facts: EngineFacts;
  let writer: EngineWriter;
  const made: string[] = [];

  const api = (method: string, path: string, body?: object): Promise<Answer> =>
    ask(real, path, body ? { method, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) } : { method });
  async function make(name: string, config: object): Promise<string> {
    const create = () =>
      api('POST', `/containers/create?name=${tag}-${name}`, {
        Image: image,
        Labels: { [tag]: name },
        HostConfig: { NetworkMode: 'none' },
        ...config,
      });
    let answer = await create();
    if (answer.status !== 201) {
      // Of a first try that failed.
      await api('DELETE', `/containers/${tag}-${name}?force=1&v=1`);
      answer = await create();
    }
    expect(answer.status, answer.body).toBe(201);
    const { Id } = JSON.parse(answer.body) as { Id: string };
    made.push(Id);
    return Id;
  }
  async function run(name: string, script: string, config: object = {}): Promise<string> {
    const id = await make(name, { Cmd: ['sh', '-c', script], ...config });
    expect(await writer.start(id)).toBe('done');
    return id;
  }
  const listed = async (id: string): Promise<ContainerFacts | undefined> => (await engine.list(signal())).find((one) => one.id === id);
  const ended = (id: string) => expect.poll(async () => (await engine.inspect(id, signal()))?.state, { timeout: 20_000 }).toBe('exited');
  async function log(id: string, options: Partial<LogOptions> = {}): Promise<LogLine[]> {
    const lines: LogLine[] = [];
    for await (const batch of engine.logs(id, { signal: signal(), follow: false, tty: false, ...options })) lines.push(...batch);
    return lines;
  }

  beforeAll(async () => {
    engine = openEngine({ url: real.url, origin: 'test' }, host);
    facts = await engine.connect(signal());
    writer = engine.writer(mintGrant('test', 'destroy', signal(170_000)));
  });
  afterAll(async () => {
    for (const id of made) await api('DELETE', `/containers/${id}?force=1&v=1`).catch(() => undefined);
    engine?.close();
  });

  test('says who it is', () => {
    expect(facts).toMatchObject({ kind: isPodman ? 'podman' : 'docker', rootless: kind.endsWith('-rootless') });
    expect(facts.version).toMatch(/^\d+\.\d+\.\d+/);
    expect(facts.apiVersion).toMatch(/^1\.\d+$/);
    expect(facts.operatingSystem).not.toBe('');
  });

  describe('a container from its making to its removal', () => {
    test('created, started, paused, restarted, stopped, removed; the second time is already so', async () => {
      const id = await make('life', { Cmd: ['sh', '-c', count], Env: ['A=b=c'], Tty: false });
      expect(await listed(id)).toMatchObject({
        name: `${tag}-life`,
        state: 'created',
        health: 'none',
        labels: { [tag]: 'life' },
        networkMode: 'none',
        imageId: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
      });
      expect(await engine.inspect(id, signal())).toMatchObject({
        state: 'created',
        exitCode: undefined,
        startedMs: undefined,
        finishedMs: undefined,
      });

      expect(await writer.start(id)).toBe('done');
      expect(await writer.start(id)).toBe('already');
      const running = await engine.inspect(id, signal());
      expect(running).toMatchObject({
        state: 'running',
        health: 'none',
        exitCode: undefined,
        finishedMs: undefined,
        tty: false,
        argv: ['sh', '-c', count],
      });
      expect(running?.env).toContainEqual(['A', 'b=c']);
      expect(Math.abs((running?.startedMs ?? 0) - Date.now())).toBeLessThan(60_000);

      await writer.pause(id).catch((thrown: { message: string }) => {
        // Without cgroups of their own rootless engines have nothing to freeze.
        if (!kind.endsWith('-rootless')) throw thrown;
      });
      if ((await listed(id))?.state === 'paused') {
        await expect(writer.pause(id)).rejects.toMatchObject({ code: 'engine.conflict' });
        await writer.unpause(id);
      } else expect(kind).toMatch(/-rootless$/);
      expect((await listed(id))?.state).toBe('running');

      await expect(writer.remove(id, { force: false, volumes: true })).rejects.toMatchObject({ code: 'engine.conflict' });
      // What it does when asked to end it says before it counts: the first process of a container does not end by default.
      const begun = (times: number) =>
        expect.poll(async () => (await log(id)).filter(({ text }) => text === 'line 1').length, { timeout: 20_000 }).toBe(times);
      await begun(1);
      await writer.restart(id, { graceSeconds: 5 });
      expect((await listed(id))?.state).toBe('running');
      await begun(2);
      expect(await writer.stop(id, { graceSeconds: 5 })).toBe('done');
      expect(await writer.stop(id)).toBe('already');
      const stopped = await engine.inspect(id, signal());
      expect(stopped).toMatchObject({ state: 'exited', exitCode: 3, outOfMemory: false, finishedMs: expect.any(Number) });
      // Podman 4 does not tell, Docker never does.
      expect(stopped?.stoppedByUser).toBe(isPodman && Number.parseInt(facts.version, 10) >= 5 ? true : undefined);

      await writer.remove(id, { force: false, volumes: true });
      expect(await engine.inspect(id, signal())).toBeUndefined();
      expect(await listed(id)).toBeUndefined();
      await expect(writer.start(id)).rejects.toMatchObject({ code: 'engine.noContainer' });
    });

    test('a job keeps its exit code', async () => {
      const id = await run('job', 'exit 7');
      await ended(id);
      expect(await engine.inspect(id, signal())).toMatchObject({ exitCode: 7, state: 'exited' });
    });

    test('published ports, those of a stopped one too; the network of the host', async () => {
      const ports = { '80/tcp': [{ HostIp: '127.0.0.1', HostPort: '48180' }], '53/udp': [{ HostIp: '', HostPort: '48053' }] };
      const id = await make('ports', {
        Cmd: ['sleep', '60'],
        ExposedPorts: { '80/tcp': {}, '53/udp': {} },
        HostConfig: { NetworkMode: isPodman ? 'slirp4netns' : 'bridge', PortBindings: ports },
      });
      const wanted = ['0.0.0.0:48053->53/udp', '127.0.0.1:48180->80/tcp'];
      const reported = (one: ContainerFacts | undefined) =>
        one?.ports.map(({ address, hostPort, containerPort, protocol }) => `${address}:${hostPort}->${containerPort}/${protocol}`).sort();
      expect(reported(await engine.inspect(id, signal()))).toEqual(wanted);
      const hosted = await run('hosted', 'sleep 60', { HostConfig: { NetworkMode: 'host' } });
      expect(await listed(hosted)).toMatchObject({ networkMode: 'host', ports: [] });
    });
  });

  test('what cannot be is refused with the status and in the words that clients know', async () => {
    const id = await make('refusals', { Cmd: ['sh', '-c', count] });
    const said = async (method: string, path: string, body?: object): Promise<[number, string]> => {
      const answer = await api(method, path, body);
      return [answer.status, answer.body];
    };
    expect(await said('GET', '/containers/nope/json')).toEqual([404, expect.stringMatching(/no such container/i)]);
    expect(await said('POST', '/containers/nope/start')).toEqual([404, expect.stringMatching(/no such container/i)]);
    expect(await said('GET', '/containers/nope/logs?stdout=1')).toEqual([404, expect.stringMatching(/no such container/i)]);
    expect(await said('GET', '/images/nope-nowhere:1/json')).toEqual([404, expect.stringMatching(/no such image/i)]);
    expect((await said('POST', `/containers/create`, { Image: 'nope-nowhere:1', Cmd: ['true'] }))[0]).toBe(404);
    expect((await said('GET', '/no/such/page'))[0]).toBe(404);
    expect((await said('POST', `/containers/create?name=${tag}-refusals`, { Image: image, Cmd: ['true'] }))[0]).toBe(isPodman ? 500 : 409);
    expect((await said('GET', '/containers/json?filters=%7B%22bogus%22%3A%5B%22x%22%5D%7D'))[0]).toBe(isPodman ? 500 : 400);
    expect((await said('POST', `/containers/${id}/kill`))[0]).toBe(isPodman ? 500 : 409);
    expect((await said('POST', `/containers/${id}/exec`, { Cmd: ['true'] }))[0]).toBe(isPodman ? 500 : 409);
    if (isPodman) return;
    expect((await said('POST', `/containers/${id}/stop`))[0]).toBe(304);
    expect((await said('GET', `/containers/${id}/top`))[0]).toBe(409);
    expect((await said('POST', `/containers/${id}/pause`))[0]).toBe(409);
    expect(await said('GET', `/containers/${id}/logs`)).toEqual([400, expect.stringContaining('you must choose at least one stream')]);
    expect(await said('GET', '/v1.99/info')).toEqual([
      400,
      expect.stringContaining('client version 1.99 is too new. Maximum supported API version is'),
    ]);
    expect(await said('GET', '/services')).toEqual([503, expect.stringContaining('This node is not a swarm manager.')]);
    expect(await said('GET', '/volumes/nope')).toEqual([404, expect.stringMatching(/no such volume/)]);
    expect(await said('GET', '/networks/nope')).toEqual([404, expect.stringContaining('network nope not found')]);
    const ping = await api('HEAD', '/_ping');
    expect([ping.status, ping.headers['api-version']]).toEqual([200, expect.stringMatching(/^1\.\d+$/)]);
  });

  test('one that fails is started again as often as its policy says, and one that was killed is not', async () => {
    const policy = (Name: string, MaximumRetryCount = 0) => ({
      HostConfig: { NetworkMode: 'none', RestartPolicy: { Name, MaximumRetryCount } },
    });
    const failing = await run('failing', 'exit 3', policy('on-failure', 2));
    await expect.poll(async () => (await engine.inspect(failing, signal()))?.restartCount, { timeout: 20_000 }).toBe(2);
    await ended(failing);
    expect(await engine.inspect(failing, signal())).toMatchObject({ exitCode: 3, restartPolicy: 'on-failure' });
    const killed = await run('killed', 'sleep 600', policy('unless-stopped'));
    expect((await api('POST', `/containers/${killed}/kill`)).status).toBe(204);
    await ended(killed);
    expect(await engine.inspect(killed, signal())).toMatchObject({ exitCode: 137, restartCount: 0 });
    // One that does not listen to its signal is killed when its time is over.
    const deaf = await run('deaf', 'echo here; sleep 600');
    // What has not become the shell yet does listen.
    await expect.poll(async () => (await log(deaf)).map(({ text }) => text), { timeout: 20_000 }).toEqual(['here']);
    expect(await writer.stop(deaf, { graceSeconds: 1 })).toBe('done');
    expect(await engine.inspect(deaf, signal())).toMatchObject({ state: 'exited', exitCode: 137 });
  });

  test('a program has time to end where the request names no grace period', async () => {
    const id = await run('ends-by-itself', count);
    await expect.poll(async () => (await log(id)).length, { timeout: 20_000 }).toBeGreaterThan(0);
    await writer.stop(id);
    expect(await engine.inspect(id, signal())).toMatchObject({ state: 'exited', exitCode: 3 });
  });

  test('who waits for an end is told the exit code', async () => {
    const id = await run('waited', 'sleep 1; exit 6');
    expect(JSON.parse((await api('POST', `/containers/${id}/wait`)).body)).toMatchObject({ StatusCode: 6 });
  });

  test('lists can be filtered by name, state and label, as the docker program does', async () => {
    const id = await run('filtered', 'sleep 600', { Labels: { shape: 'round' } });
    const filtered = async (filters: Record<string, string>) => {
      const sent = Object.fromEntries(Object.entries(filters).map(([name, value]) => [name, { [value]: true }]));
      const { body } = await api('GET', `/containers/json?filters=${encodeURIComponent(JSON.stringify(sent))}`);
      return (JSON.parse(body) as { Id: string }[]).map(({ Id }) => Id);
    };
    expect(await filtered({ name: `${tag}-filtered` })).toEqual([id]);
    expect(await filtered({ name: `${tag}-filtered`, label: 'shape=round' })).toEqual([id]);
    expect(await filtered({ name: `${tag}-filtered`, label: 'shape=square' })).toEqual([]);
    expect(await filtered({ name: `${tag}-filtered`, status: 'exited' })).toEqual([]);
    await api('POST', `/containers/${id}/stop?t=0`);
    // A state that is not running needs no all=1.
    expect(await filtered({ name: `${tag}-filtered`, status: 'exited' })).toEqual([id]);
  });

  // Podman 4.3 finds no event by the names that Docker has for them.
  test.skipIf(isPodman)('events can be filtered by type and name, as the docker program does', async () => {
    const beginMs = Date.now() - 1_000;
    const id = await run('events', 'true');
    await api('POST', `/containers/${id}/wait`);
    const filters = encodeURIComponent('{"type":{"container":true},"event":{"die":true}}');
    const { body } = await api('GET', `/events?since=${beginMs / 1000}&until=${Date.now() / 1000 + 0.5}&filters=${filters}`);
    expect(body).toContain(id);
    expect(body).not.toContain('"start"');
  });

  // Podman runs health checks from systemd timers.
  test.skipIf(isPodman)('a health check is heard in list, inspect and events', async () => {
    const beginMs = Date.now() - 1_000;
    const check = (Test: string[]) => ({ Healthcheck: { Test, Interval: 300_000_000, Retries: 3 } });
    const well = await run('well', 'sleep 600', check(['CMD-SHELL', 'echo fine']));
    const ill = await run('ill', 'sleep 600', check(['CMD', 'false']));
    const health = async (id: string) => (await listed(id))?.health;
    await expect.poll(() => health(well), { timeout: 20_000 }).toBe('healthy');
    await expect.poll(() => health(ill), { timeout: 20_000 }).toBe('unhealthy');
    const detail = await engine.inspect(well, signal());
    expect(detail?.health).toBe('healthy');
    await expect.poll(async () => (await engine.inspect(well, signal()))?.healthOutputs[0], { timeout: 20_000 }).toBe('fine\n');
    const untilMs = Date.now() + 500;
    const answer = await api(
      'GET',
      `/events?since=${beginMs / 1000}&until=${untilMs / 1000}&filters=${encodeURIComponent('{"event":["health_status"]}')}`,
    );
    const reported = answer.body
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { Action: string; Actor: { ID: string } });
    expect(reported.map(({ Action, Actor }) => [Actor.ID, Action])).toEqual(
      expect.arrayContaining([
        [well, 'health_status: healthy'],
        [ill, 'health_status: unhealthy'],
      ]),
    );
  });

  test.skipIf(!isPodman)('a health check that Podman reports as it begins is heard once it has ended', async () => {
    const ending = new AbortController();
    const heardMs: number[] = [];
    const id = await run('checked', 'sleep 600', {
      Healthcheck: { Test: ['CMD', 'sleep', '1'], Interval: 600e9, Timeout: 5e9, Retries: 1 },
    });
    const following = (async () => {
      for await (const event of engine.events({ sinceMs: Date.now() - 1000, signal: ending.signal }))
        if (event.id === id && event.action === 'health') heardMs.push(event.timeMs);
    })();
    const beginMs = Date.now();
    await Promise.all([
      api('GET', `/v4.0.0/libpod/containers/${id}/healthcheck`),
      expect.poll(() => heardMs.at(-1), { timeout: 20_000 }).toBeGreaterThan(beginMs + 900),
    ]);
    expect((await engine.inspect(id, signal()))?.health).toBe('healthy');
    ending.abort();
    await following;
  });

  describe('logs', () => {
    const expected: [string, string][] = [
      ['stdout', 'out-one'],
      ['stderr', 'err-one'],
      ['stdout', 'é€'],
      ['stdout', `${'x'.repeat(40_000)}END`],
      ['stdout', 'no newline at end'],
    ];

    test('of two streams, whole lines', async () => {
      const id = await run('talk', talk);
      await ended(id);
      const lines = await log(id);
      // The two streams are no one order.
      expect(lines.map(({ stream, text }) => [stream, text]).sort()).toEqual([...expected].sort());
      for (const { timeMs, stamp } of lines) {
        expect(Math.abs((timeMs ?? 0) - Date.now())).toBeLessThan(60_000);
        expect(stamp).toMatch(/^\d{4}-/);
      }
    });

    test('the last lines, and those since a moment', async () => {
      const id = await run('tail', 'echo one; echo two; sleep 2; echo three');
      await ended(id);
      expect((await log(id, { tail: 2 })).map(({ text }) => text)).toEqual(['two', 'three']);
      const all = await log(id);
      expect((await log(id, { sinceMs: (all[2]?.timeMs ?? 0) - 500 })).map(({ text }) => text)).toEqual(['three']);
    });

    test('of a terminal', async () => {
      const id = await run('tty', talk, { Tty: true });
      await ended(id);
      const tty = (await engine.inspect(id, signal()))?.tty ?? false;
      expect(tty).toBe(true);
      expect((await log(id, { tty })).map(({ text }) => text).sort()).toEqual(expected.map(([, text]) => text).sort());
    });

    test('followed without a gap until the container is stopped and removed', async () => {
      const id = await run('follow', count);
      const seen: string[] = [];
      const following = (async () => {
        for await (const batch of engine.logs(id, { signal: signal(), follow: true, tty: false }))
          for (const { text } of batch) seen.push(text);
      })();
      await expect.poll(() => seen.length, { timeout: 20_000 }).toBeGreaterThan(5);
      await writer.remove(id, { force: true, volumes: true });
      await following;
      expect(seen).toEqual(seen.map((_, index) => `line ${index + 1}`));
    });

    test('a driver that keeps nothing', async () => {
      const id = await run('nolog', 'sleep 60', { HostConfig: { NetworkMode: 'none', LogConfig: { Type: 'none', Config: {} } } });
      // Podman 4 overlooks the driver that its Docker-compatible face is asked for.
      const kept =
        isPodman && JSON.parse((await api('GET', `/v4.0.0/libpod/containers/${id}/json`)).body).HostConfig.LogConfig.Type !== 'none';
      if (kept) expect(await log(id)).toEqual([]);
      else await expect(log(id)).rejects.toMatchObject({ code: 'engine.logDriver' });
    });
  });

  test('events tell a life in one vocabulary, and never of execs', async () => {
    const ending = new AbortController();
    const seen: EngineEvent[] = [];
    const following = (async () => {
      for await (const event of engine.events({ sinceMs: Date.now() - 1000, signal: ending.signal })) seen.push(event);
    })();
    const id = await run('events', count);
    await engine.execReading(id, ['true'], { signal: signal() });
    await writer.stop(id, { graceSeconds: 5 });
    await writer.remove(id, { force: false, volumes: true });
    const actions = () => seen.filter((event) => event.id === id).map(({ action }) => action);
    await expect.poll(actions, { timeout: 20_000 }).toContain('remove');
    ending.abort();
    await following;
    const reported = actions();
    for (const [before, after] of [
      ['create', 'start'],
      ['start', 'die'],
      ['die', 'remove'],
    ] as const)
      expect(reported.indexOf(before), reported.join(' ')).toBeLessThan(reported.indexOf(after));
    expect(seen.find((event) => event.id === id && event.action === 'die')).toMatchObject({ kind: 'container' });
    expect(seen.filter(({ attributes }) => attributes.execID)).toEqual([]);
  });

  test('stats: a share of the CPU that is true, and an end when the container ends', async () => {
    const id = await run('busy', 'dd if=/dev/zero of=/dev/null');
    const counted = async (): Promise<{ nanoseconds: number; atMs: number }> => {
      const raw = JSON.parse((await api('GET', `/containers/${id}/stats?stream=false`)).body);
      return { nanoseconds: raw.cpu_stats.cpu_usage.total_usage, atMs: Date.parse(raw.read) };
    };
    const before = await counted();
    const samples: StatsSample[] = [];
    let after = before;
    for await (const sample of engine.stats(id, signal())) {
      samples.push(sample);
      if (samples.length !== 4) continue;
      after = await counted();
      void writer.stop(id, { graceSeconds: 0 });
    }
    // Without cgroups of its own (rootless on cgroup v1) an engine has no figures, and says none.
    if (samples.length === 0) return expect(kind).toMatch(/-rootless$/);
    expect(samples.length).toBeGreaterThanOrEqual(4);
    expect(samples[0]?.cpuPercent).toBeUndefined();
    // One copy keeps one core busy, as far as the machine has one for it: the engine's own counter says how far.
    const share = ((after.nanoseconds - before.nanoseconds) / 1e6 / (after.atMs - before.atMs)) * 100;
    expect(share).toBeGreaterThan(0);
    const seen = samples.slice(1, 4).map(({ cpuPercent }) => cpuPercent ?? 0);
    const mean = seen.reduce((sum, one) => sum + one, 0) / seen.length;
    // They are not quite of the same seconds.
    expect(mean, `${seen} while the engine counted ${share}`).toBeGreaterThan(share / 3);
    expect(mean, `${seen} while the engine counted ${share}`).toBeLessThan(Math.min(share * 3, 115));
    expect(samples[1]?.memoryBytes).toBeGreaterThan(0);
    expect(samples[1]?.memoryBytes).toBeLessThan(64 * 1024 * 1024);
    expect(samples[1]?.memoryLimitBytes).toBe(0);
    const stopped: StatsSample[] = [];
    for await (const sample of engine.stats(id, signal())) stopped.push(sample);
    expect(stopped).toEqual([]);
  });

  describe('inside a container', () => {
    let id: string;
    beforeAll(async () => {
      id = await run('inside', 'sleep 600');
    });

    test('exec: both streams, exit code, input, what is not there', async () => {
      const result = await engine.execReading(id, ['sh', '-c', 'echo out; echo err >&2; exit 4'], { signal: signal() });
      expect([Buffer.from(result.stdout).toString(), Buffer.from(result.stderr).toString(), result.exitCode, result.cut]).toEqual([
        'out\n',
        'err\n',
        4,
        false,
      ]);
      const cut = await engine.execReading(id, ['printf', 'x'.repeat(100_000)], { signal: signal(), limitBytes: 1000 });
      expect([cut.stdout.length, cut.cut]).toEqual([1000, true]);
      const input = Buffer.from('hello\n'.repeat(20_000));
      expect(Buffer.from((await writer.exec(id, ['sh', '-c', 'wc -c; echo done'], { stdin: input })).stdout).toString()).toBe(
        `${input.length}\ndone\n`,
      );
      await expect(engine.execReading(id, ['quarterdeck-nowhere'], { signal: signal() })).rejects.toMatchObject({
        code: 'engine.execFailed',
      });
      await expect(engine.execReading('nope', ['true'], { signal: signal() })).rejects.toMatchObject({ code: 'engine.noContainer' });
    });

    test('a terminal: keys are heard, also where the request comes in two pieces as docker sends it', async () => {
      const created = await api('POST', `/containers/${id}/exec`, { Cmd: shellArgv, Tty: true, AttachStdin: true, AttachStdout: true });
      const { Id } = JSON.parse(created.body) as { Id: string };
      const body = JSON.stringify({ Detach: false, Tty: true });
      const terminal = connect(real.socket);
      let seen = '';
      terminal.on('data', (chunk: Buffer) => {
        seen += chunk.toString();
      });
      try {
        await once(terminal, 'connect');
        terminal.write(
          `POST /exec/${Id}/start HTTP/1.1\r\nHost: docker\r\nConnection: Upgrade\r\nUpgrade: tcp\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`,
        );
        // By its answer to another question the engine has read the first piece.
        await api('GET', '/_ping');
        terminal.write(body);
        await expect.poll(() => seen, { timeout: 10_000 }).toContain('# ');
        terminal.write('echo "he"ard; exit 7\r');
        await expect.poll(() => seen, { timeout: 10_000 }).toMatch(/^heard/m);
        await expect
          .poll(async () => (JSON.parse((await api('GET', `/exec/${Id}/json`)).body) as { ExitCode: number | null }).ExitCode, {
            timeout: 10_000,
          })
          .toBe(7);
      } finally {
        terminal.destroy();
      }
    });

    test('not in one that is stopped', async () => {
      const stopped = await run('stopped', 'true');
      await ended(stopped);
      await expect(engine.execReading(stopped, ['true'], { signal: signal() })).rejects.toMatchObject({ code: 'engine.conflict' });
    });

    test('output as a stream: that it broke is reported to whoever waits for its end later', async () => {
      const { stdout, ended } = await writer.execStream(id, ['echo', 'hello']);
      stdout.destroy(new Error('the disk is full'));
      // Meanwhile its end is known. An unhandled rejection would fail the run.
      for (let time = 0; time < 3; time++) await engine.list(signal());
      await expect(ended).rejects.toMatchObject({ code: 'unreachable.engine' });
    });

    test('a terminal: its size, another size, its exit code', async () => {
      const session = await writer.openTerminal(id, ['sh'], { columns: 77, rows: 33 });
      let seen = '';
      session.stream.on('data', (chunk: Buffer) => {
        seen += chunk.toString();
      });
      session.stream.write('stty size\r');
      await expect.poll(() => seen, { timeout: 10_000 }).toContain('33 77');
      await session.resize(100, 50);
      session.stream.write('stty size\r');
      await expect.poll(() => seen, { timeout: 10_000 }).toContain('50 100');
      session.stream.write('exit 5\r');
      expect(await session.exitCode()).toBe(5);
    });

    test('files in and out, also through links, also of a container that is stopped', async () => {
      const making = pack();
      making.entry({ name: 'hello.txt' }, 'hi there');
      making.entry({ name: 'link', type: 'symlink', linkname: 'hello.txt' });
      making.finalize();
      const folder = '/etc';
      await writer.putArchive(id, folder, making);
      const read = async (path: string, limitBytes?: number) =>
        Buffer.from((await engine.readFile(id, path, { signal: signal(), limitBytes })) ?? 'missing').toString();
      expect([await read('/etc/hello.txt'), await read('/etc/link'), await read('/etc/hello.txt', 2), await read('/etc/none')]).toEqual([
        'hi there',
        'hi there',
        'hi',
        'missing',
      ]);
      await expect(read('/etc')).rejects.toMatchObject({ code: 'engine.notFile' });
      const names: string[] = [];
      const reader = extract();
      reader.on('entry', (header, content, next) => {
        names.push(header.name);
        content.on('end', next);
        content.resume();
      });
      (await engine.getArchive(id, '/etc/hello.txt', signal())).pipe(reader);
      await new Promise((resolve) => reader.on('finish', resolve));
      expect(names).toEqual(['hello.txt']);
      const lost = pack();
      lost.finalize();
      // Podman makes the folder.
      if (isPodman) await writer.putArchive(id, '/no/such/folder', lost);
      else await expect(writer.putArchive(id, '/no/such/folder', lost)).rejects.toMatchObject({ code: 'engine.missing' });
    });
  });

  test('networks: made with labels, once, and gone again', async () => {
    const name = `${tag}-net`;
    const found = async () => (await engine.networks(signal())).find((network) => network.name === name);
    await writer.createNetwork(name, { 'quarterdeck.provides': 'database' });
    expect(await found()).toMatchObject({
      driver: 'bridge',
      labels: { 'quarterdeck.provides': 'database' },
      subnets: [expect.stringMatching(/^(10|172|192)\.[\d.]+\/\d+$/)],
    });
    await expect(writer.createNetwork(name, {})).rejects.toMatchObject({ code: 'engine.nameTaken' });
    await writer.removeNetwork(name);
    expect(await found()).toBeUndefined();
    await expect(writer.removeNetwork(name)).rejects.toMatchObject({ code: 'engine.missing' });
  });

  test('one image: by tag, by id and under a name that it is given', async () => {
    const one = await engine.image(image, signal());
    expect(one).toMatchObject({
      id: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
      architecture: expect.stringMatching(/^(amd64|arm64)$/),
      tags: [expect.stringMatching(/busybox:latest$/)],
    });
    expect(one?.sizeBytes).toBeGreaterThan(0);
    expect(await engine.image(one?.id ?? '', signal())).toEqual(one);
    await writer.tagImage(one?.id ?? '', `${tag}/kept:before-1`);
    expect((await engine.image(`${tag}/kept:before-1`, signal()))?.id).toBe(one?.id);
    await writer.removeImage(`${tag}/kept:before-1`);
    expect(await engine.image(`${tag}/kept:before-1`, signal())).toBeUndefined();
    expect((await engine.image(image, signal()))?.id).toBe(one?.id);
    await expect(writer.tagImage(`sha256:${'0'.repeat(64)}`, `${tag}/none:1`)).rejects.toMatchObject({ code: 'engine.missing' });
  });

  test('images and disk usage', async () => {
    const images = await engine.images(signal());
    const busybox = images.find(({ tags }) => tags.some((name) => /(^|\/)busybox:latest$/.test(name)));
    expect(busybox).toMatchObject({ id: expect.stringMatching(/^sha256:/), dangling: false, sizeBytes: expect.any(Number) });
    const usage = await engine.diskUsage(signal());
    const used = usage.images.find(({ id }) => id === busybox?.id);
    expect(used?.tags).toEqual(busybox?.tags);
    expect(used?.containers).toBeGreaterThan(0);
    expect(usage.containers.find(({ name }) => name === `${tag}-inside`)).toMatchObject({ state: 'running' });
  });

  test('volumes that nobody named are told apart from others, and go one by one', async () => {
    const name = `${tag}-kept`;
    await api('POST', '/volumes/create', { Name: name, Labels: { 'com.docker.compose.volume': 'data' } });
    expect((await engine.volumes(signal())).find((volume) => volume.name === name)).toEqual({
      name,
      labels: { 'com.docker.compose.volume': 'data' },
      mountpoint: expect.stringMatching(new RegExp(`^/.*${name}`)),
    });
    const unnamed = JSON.parse((await api('POST', '/volumes/create', {})).body) as { Name: string };
    const anonymous = async () => new Map((await engine.diskUsage(signal())).volumes.map((volume) => [volume.name, volume.anonymous]));
    expect([(await anonymous()).get(unnamed.Name), (await anonymous()).get(name)]).toEqual([true, false]);
    await writer.removeVolume(unnamed.Name);
    expect([...(await anonymous()).keys()]).toContain(name);
    expect([...(await anonymous()).keys()]).not.toContain(unnamed.Name);
    await writer.removeVolume(name);
    await expect(writer.removeVolume(name)).rejects.toMatchObject({ code: 'engine.missing' });
  });

  test('labels that an image carries itself are no claim of who runs it', async () => {
    const label = { 'com.docker.compose.project': 'claimed', 'com.docker.compose.service': 'web' };
    const changes = Object.entries(label)
      .map(([name, value]) => `changes=${encodeURIComponent(`LABEL ${name}=${value}`)}`)
      .join('&');
    const emptyArchive = '\0'.repeat(1024);
    const answer = await ask(real, `/images/create?fromSrc=-&repo=localhost/${tag}&${changes}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/x-tar' },
      body: emptyArchive,
    });
    expect(answer.status, answer.body).toBe(200);
    try {
      const made = await make('claimed', { Image: `localhost/${tag}`, Cmd: ['true'] });
      expect(JSON.parse((await api('GET', `/containers/${made}/json`)).body).Config.Labels).toMatchObject(label);
      expect((await listed(made))?.labels).toEqual({ [tag]: 'claimed' });
      expect((await engine.inspect(made, signal()))?.labels).toEqual({ [tag]: 'claimed' });
    } finally {
      for (const id of made.splice(-1)) await api('DELETE', `/containers/${id}?force=1`);
      await writer.removeImage(`localhost/${tag}`);
    }
  });
}
