import { PassThrough } from 'node:stream';
import { pack } from 'tar-stream';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type Answer, empty, frame, json, type RecordedEngine, type Recording, serve } from '../../test/engine/recorded-engine.ts';
import { docker20, docker29, imageId, jobId, podman4, podmanImageId, webId } from '../../test/engine/recordings.ts';
import { mintGrant } from '../grants/mint.ts';
import { openLocalHost } from '../hosts/local-host.ts';
import { openEngine } from './dockerode-engine.ts';
import type { Engine, LogLine } from './engine.ts';

const signal = () => AbortSignal.timeout(10_000);

async function engineOf(recording: Recording): Promise<{ engine: Engine; recorded: RecordedEngine }> {
  const recorded = await serve(recording);
  const engine = openEngine(recorded.address, openLocalHost());
  onTestFinished(async () => {
    engine.close();
    await recorded[Symbol.asyncDispose]();
  });
  return { engine, recorded };
}

const writerOf = (engine: Engine, limit = signal()) => engine.writer(mintGrant('test', 'destroy', limit));

function stream(...chunks: (string | Buffer)[]): Answer {
  return (_, response) => {
    response.writeHead(200);
    for (const chunk of chunks) response.write(chunk);
    response.end();
  };
}

/** Sends the beginning of a response, after which the engine disappears. */
function dies(beginning: string | Buffer): Answer {
  return (_, response) => {
    response.writeHead(200, { 'Content-Length': '5000' });
    response.write(beginning, () => response.destroy());
  };
}

describe('list', () => {
  test('Docker: name without slash, health out of the status, both sides of a port, addresses (R5)', async () => {
    const { engine } = await engineOf(docker20());
    expect(await engine.list(signal())).toEqual([
      {
        id: webId,
        name: 'web',
        image: 'local/busybox:1',
        imageId,
        createdMs: 1795167986000,
        state: 'running',
        health: 'healthy',
        statusText: 'Up 14 minutes (healthy)',
        ports: [
          { address: '0.0.0.0', hostPort: 8180, containerPort: 80, protocol: 'tcp' },
          { address: '::', hostPort: 8180, containerPort: 80, protocol: 'tcp' },
          { address: undefined, hostPort: undefined, containerPort: 443, protocol: 'tcp' },
        ],
        labels: { 'com.docker.compose.project': 'p1', 'com.docker.compose.service': 'web', 'com.docker.compose.container-number': '1' },
        networkMode: 'p1_default',
        networkAddresses: ['172.18.0.2', 'fd00::2'],
      },
      expect.objectContaining({
        id: jobId,
        name: 'fails',
        state: 'exited',
        health: 'none',
        statusText: 'Exited (7) Less than a second ago',
        networkMode: 'none',
        networkAddresses: [],
      }),
    ]);
  });

  test('Docker 29: health stands apart', async () => {
    const { engine } = await engineOf(docker29());
    expect(await engine.list(signal())).toMatchObject([{ name: 'web', health: 'starting', networkMode: 'host' }]);
  });

  test('Podman: health and port ranges from its own list, the network mode from one inspect a container', async () => {
    const { engine, recorded } = await engineOf(podman4());
    const [live, ports] = await engine.list(signal());
    expect(live).toMatchObject({
      name: 'live',
      health: 'starting',
      imageId: `sha256:${podmanImageId}`,
      image: 'docker.io/local/busybox:latest',
      networkMode: 'host',
      labels: {},
      ports: [],
    });
    expect(ports).toMatchObject({ name: 'ports', health: 'none', networkMode: 'bridge', networkAddresses: ['10.88.0.5'] });
    expect(
      ports?.ports.map(({ address, hostPort, containerPort, protocol }) => `${address}:${hostPort}:${containerPort}/${protocol}`),
    ).toEqual([
      '0.0.0.0:18100:8100/tcp',
      '0.0.0.0:18101:8101/tcp',
      '0.0.0.0:18102:8102/tcp',
      '0.0.0.0:18053:53/udp',
      '127.0.0.1:18080:80/tcp',
    ]);
    await engine.list(signal());
    expect(recorded.requests.filter(({ path }) => /^\/containers\/\w+\/json$/.test(path)).map(({ path }) => path)).toEqual([
      '/containers/aaaa/json',
    ]);
  });

  test.each(['null', '[]'])('an engine without containers says %s', async (said) => {
    const { engine } = await engineOf(docker20({ 'GET /containers/json': json(200, said) }));
    expect(await engine.list(signal())).toEqual([]);
  });
});

describe('inspect', () => {
  test('what is gone is undefined, on both', async () => {
    for (const recording of [docker20(), podman4()]) {
      const { engine } = await engineOf(recording);
      expect(await engine.inspect('nope', signal())).toBeUndefined();
    }
  });

  test('Podman: an empty health object is no health check, never finished, who stopped it from its own inspect', async () => {
    const running = podman4().answers['GET /containers/aaaa/json'] as Record<string, object>;
    const stopped = {
      ...running,
      State: { Status: 'exited', ExitCode: 3, FinishedAt: '2026-11-20T09:47:10.142584449Z', Health: { Status: '' } },
    };
    const { engine } = await engineOf(
      podman4({ 'GET /containers/bbbb/json': stopped, 'GET /libpod/containers/bbbb/json': { State: { StoppedByUser: true } } }),
    );
    expect(await engine.inspect('aaaa', signal())).toMatchObject({
      health: 'none',
      finishedMs: undefined,
      stoppedByUser: undefined,
      networkMode: 'host',
    });
    expect(await engine.inspect('bbbb', signal())).toMatchObject({
      state: 'exited',
      exitCode: 3,
      stoppedByUser: true,
      finishedMs: Date.parse('2026-11-20T09:47:10.142Z'),
    });
  });
});

describe('events', () => {
  const line = (action: string) =>
    `${JSON.stringify({ Type: 'container', Action: action, Actor: { ID: webId, Attributes: {} }, time: 5, timeNano: 5_000_000_000 })}\n`;

  test('in our words, without health checks, from where it broke off; a break is thrown', async () => {
    const text = line('exec_create: true') + line('die') + line('exec_die') + line('start');
    const { engine, recorded } = await engineOf(
      docker20({
        'GET /events': (_, response) => {
          response.writeHead(200);
          response.write(text.slice(0, 150));
          response.write(text.slice(150), () => response.destroy());
        },
      }),
    );
    const seen: string[] = [];
    const following = (async () => {
      for await (const event of engine.events({ sinceMs: 1_795_168_067_339, signal: signal() })) seen.push(event.action);
    })();
    await expect(following).rejects.toMatchObject({ code: 'unreachable.engine', message: expect.stringContaining('was lost') });
    expect(seen).toEqual(['die', 'start']);
    expect(recorded.requests.at(-1)?.query.get('since')).toBe('1795168067.339000000');
  });

  test('Podman takes whole seconds', async () => {
    const { engine, recorded } = await engineOf(podman4({ 'GET /events': stream(line('died')) }));
    const following = (async () => {
      for await (const event of engine.events({ sinceMs: 1_795_168_067_900, signal: signal() })) expect(event.action).toBe('die');
    })();
    await expect(following).rejects.toMatchObject({ code: 'unreachable.engine' });
    expect(recorded.requests.at(-1)?.query.get('since')).toBe('1795168067');
  });

  test('the signal ends it without a word', async () => {
    const leaving = new AbortController();
    const { engine } = await engineOf(docker20({ 'GET /events': (_, response) => void response.writeHead(200).write(line('start')) }));
    for await (const event of engine.events({ signal: leaving.signal })) {
      expect(event.action).toBe('start');
      leaving.abort();
    }
  });
});

describe('logs', () => {
  const stamp = '2026-11-20T09:46:26.152324560Z';
  const logs = async (
    engine: Engine,
    options: { tty?: boolean; follow?: boolean; tail?: number; sinceMs?: number; untimed?: boolean } = {},
  ): Promise<LogLine[]> => {
    const lines: LogLine[] = [];
    for await (const batch of engine.logs(webId, { signal: signal(), follow: false, tty: false, ...options })) lines.push(...batch);
    return lines;
  };

  test('asks for what is wanted', async () => {
    const { engine, recorded } = await engineOf(docker20({ [`GET /containers/${webId}/logs`]: stream(frame(1, `${stamp} hello\n`)) }));
    expect(await logs(engine, { tail: 200, sinceMs: 1_500 })).toEqual([
      { timeMs: Date.parse('2026-11-20T09:46:26.152Z'), stamp, stream: 'stdout', text: 'hello' },
    ]);
    expect(Object.fromEntries(recorded.requests.at(-1)?.query ?? [])).toEqual({
      stdout: 'true',
      stderr: 'true',
      timestamps: 'true',
      follow: 'false',
      tail: '200',
      since: '1.500000000',
    });
  });

  test.each([
    ['Docker omits them', docker20, false, 'false', `${stamp} written by the program`],
    ['Docker needs them for a terminal', docker20, true, 'true', 'written by the program'],
    ['Podman needs them', podman4, false, 'true', 'written by the program'],
  ])('where timestamps are not used: %s', async (_, running, tty, timestamps, text) => {
    const line = `${stamp} written by the program\n`;
    const { engine, recorded } = await engineOf(running({ [`GET /containers/${webId}/logs`]: stream(tty ? line : frame(1, line)) }));
    expect((await logs(engine, { untimed: true, tty })).map((read) => read.text)).toEqual([text]);
    expect(recorded.requests.at(-1)?.query.get('timestamps')).toBe(timestamps);
  });

  test('20.10 names no type: the configuration decides; newer ones name it, and are believed', async () => {
    const raw = stream(`${stamp} tty\r\n`);
    expect(
      (await logs((await engineOf(docker20({ [`GET /containers/${webId}/logs`]: raw }))).engine, { tty: true })).map(({ text }) => text),
    ).toEqual(['tty']);
    const named: Answer = (_, response) =>
      response.writeHead(200, { 'Content-Type': 'application/vnd.docker.multiplexed-stream' }).end(frame(2, `${stamp} framed\n`));
    expect(await logs((await engineOf(docker29({ [`GET /containers/${webId}/logs`]: named }))).engine, { tty: true })).toMatchObject([
      { stream: 'stderr', text: 'framed' },
    ]);
  });

  test.each([
    ['Docker', docker20, json(501, { message: 'configured logging driver does not support reading' })],
    [
      'Podman',
      podman4,
      json(500, {
        cause: 'this container is not logging output',
        message: "this container is using the 'none' log driver, cannot read logs: this container is not logging output",
        response: 500,
      }),
    ],
  ])('%s: a driver that cannot be read', async (_, recording, answer) => {
    const { engine } = await engineOf(recording({ [`GET /containers/${webId}/logs`]: answer }));
    await expect(logs(engine)).rejects.toMatchObject({ code: 'engine.logDriver', remedy: expect.stringContaining('driver') });
  });

  test('a log that is followed comes without chunks, one for each line; one that is read to its end can break off in the middle', async () => {
    const { engine } = await engineOf(
      docker20({
        [`GET /containers/${webId}/logs`]: (_, response, { httpVersion }) => {
          response.writeHead(200);
          response.end(frame(1, `${stamp} asked with ${httpVersion}\n`));
        },
      }),
    );
    expect((await logs(engine, { follow: true })).map(({ text }) => text)).toEqual(['asked with 1.0']);
    expect((await logs(engine)).map(({ text }) => text)).toEqual(['asked with 1.1']);
  });

  test('a container that is removed while it is followed is the end, an engine that dies is not', async () => {
    const removed = await engineOf(docker20({ [`GET /containers/${webId}/logs`]: stream(frame(1, `${stamp} last\n`)) }));
    expect((await logs(removed.engine, { follow: true })).map(({ text }) => text)).toEqual(['last']);
    const dying = await engineOf(docker20({ [`GET /containers/${webId}/logs`]: dies(frame(1, `${stamp} last\n`)) }));
    await expect(logs(dying.engine, { follow: true })).rejects.toMatchObject({ code: 'unreachable.engine' });
  });

  test('what the engine says in the stream is a fault', async () => {
    const { engine } = await engineOf(
      docker20({ [`GET /containers/${webId}/logs`]: stream(frame(3, 'error grabbing logs: invalid character')) }),
    );
    await expect(logs(engine)).rejects.toMatchObject({ code: 'engine.failed', message: expect.stringContaining('invalid character') });
  });

  test('no such container', async () => {
    const { engine } = await engineOf(
      docker20({ [`GET /containers/${webId}/logs`]: json(404, { message: `No such container: ${webId}` }) }),
    );
    await expect(logs(engine)).rejects.toMatchObject({ code: 'engine.noContainer' });
  });
});

describe('stats', () => {
  const sample = (read: string, total: number, system: number) => ({
    read,
    pids_stats: { current: 1 },
    cpu_stats: { cpu_usage: { total_usage: total }, system_cpu_usage: system, online_cpus: 2 },
    memory_stats: { usage: 5, limit: 10 },
  });

  test('of an engine without cgroups end at once: what it tells are the figures of something else', async () => {
    const lines = stream(`${JSON.stringify(sample('2026-11-20T09:47:53Z', 1, 10))}\n`);
    const { engine } = await engineOf(
      docker20({ 'GET /info': { CgroupDriver: 'none', MemTotal: 1 }, [`GET /containers/${webId}/stats`]: lines }),
    );
    const seen = [];
    for await (const one of engine.stats(webId, signal())) seen.push(one);
    expect(seen).toEqual([]);
  });

  test('Docker: until the container stops, which it says with zeros', async () => {
    const first = { ...sample('2026-11-20T09:47:53Z', 1, 10), precpu_stats: { cpu_usage: { total_usage: 0 } } };
    const second = { ...sample('2026-11-20T09:47:54Z', 2, 12), precpu_stats: first.cpu_stats };
    const zeros = { read: '0001-01-01T00:00:00Z', memory_stats: {} };
    const { engine } = await engineOf(
      docker20({ [`GET /containers/${webId}/stats`]: stream(...[first, second, zeros].map((one) => `${JSON.stringify(one)}\n`)) }),
    );
    const seen: (number | undefined)[] = [];
    for await (const { cpuPercent } of engine.stats(webId, signal())) seen.push(cpuPercent);
    expect(seen).toEqual([undefined, 100]);
  });

  test('Podman: two readings of its own; a stopped container answers with nothing', async () => {
    let reading = 0;
    const { engine } = await engineOf(
      podman4({
        [`GET /containers/${webId}/stats`]: (request, response) => {
          expect(request.query.get('stream')).toBe('false');
          reading++;
          if (reading > 2) return void response.writeHead(200).end();
          response.end(
            JSON.stringify({
              ...sample(`2026-11-20T09:47:5${reading}Z`, reading * 250_000_000, 7),
              precpu_stats: { cpu_usage: { total_usage: 0 } },
              Id: webId,
            }),
          );
        },
      }),
    );
    const seen: (number | undefined)[] = [];
    for await (const { cpuPercent } of engine.stats(webId, signal())) seen.push(cpuPercent);
    expect(seen).toEqual([undefined, 25]);
  });
});

describe('disk usage', () => {
  test('from API 1.52 on the details are asked for', async () => {
    const { engine, recorded } = await engineOf(
      docker29({ 'GET /system/df': { ImagesUsage: { Items: [{ Id: imageId, Size: 7, Containers: 1 }] }, VolumesUsage: {} } }),
    );
    expect((await engine.diskUsage(signal())).images).toMatchObject([
      { id: imageId, tags: [], sizeBytes: 7, containers: 1, dangling: true },
    ]);
    expect(recorded.requests.at(-1)?.query.get('verbose')).toBe('true');
  });

  test('Podman is asked over its own API, because its other answer has no names', async () => {
    const { engine } = await engineOf(
      podman4({
        'GET /libpod/system/df': {
          Images: [{ Repository: 'docker.io/local/busybox', Tag: 'latest', ImageID: podmanImageId, Size: 9, Containers: 6 }],
          Containers: null,
          Volumes: null,
        },
        'GET /volumes': { Volumes: [] },
      }),
    );
    expect((await engine.diskUsage(signal())).images).toMatchObject([
      { tags: ['docker.io/local/busybox:latest'], sizeBytes: 9, containers: 6 },
    ]);
  });
});

describe('exec', () => {
  const exec = (start: Answer, inspect: object | Answer): Recording['answers'] => ({
    [`POST /containers/${webId}/exec`]: json(201, { Id: 'x1' }),
    'POST /exec/x1/start': start,
    'GET /exec/x1/json': inspect,
  });

  test('both streams and the exit code, also when the engine needs a moment to know it', async () => {
    let asked = 0;
    const inspect: Answer = (_, response) =>
      response.end(JSON.stringify(++asked < 3 ? { Running: true, ExitCode: null } : { Running: false, ExitCode: 4 }));
    const { engine, recorded } = await engineOf(docker20(exec(stream(frame(1, 'out'), frame(2, 'err'), frame(1, 'put')), inspect)));
    const result = await engine.execReading(webId, ['sh', '-c', 'x y'], { signal: signal() });
    expect({ ...result, stdout: String(result.stdout), stderr: String(result.stderr) }).toEqual({
      exitCode: 4,
      stdout: 'output',
      stderr: 'err',
      cut: false,
    });
    expect(JSON.parse(recorded.requests.find(({ path }) => path.endsWith('/exec'))?.body ?? '')).toMatchObject({
      Cmd: ['sh', '-c', 'x y'],
      AttachStdin: false,
    });
  });

  test('output beyond the limit is dropped and said', async () => {
    const { engine } = await engineOf(docker20(exec(stream(frame(1, 'x'.repeat(100))), { Running: false, ExitCode: 0 })));
    const result = await engine.execReading(webId, ['yes'], { signal: signal(), limitBytes: 10 });
    expect([result.stdout.length, result.cut]).toEqual([10, true]);
  });

  test('a program that is not there', async () => {
    const said =
      'OCI runtime exec failed: exec failed: unable to start container process: exec: "nonono": executable file not found in $PATH: unknown\r\n';
    const { engine } = await engineOf(docker20(exec(stream(frame(1, said)), { Running: false, ExitCode: 126 })));
    await expect(engine.execReading(webId, ['nonono'], { signal: signal() })).rejects.toMatchObject({
      code: 'engine.execFailed',
      message: expect.stringContaining('nonono'),
    });
  });

  test.each([
    ['Docker', docker20, json(409, { message: `Container ${webId} is not running` })],
    [
      'Podman',
      podman4,
      json(500, {
        cause: 'container state improper',
        message: 'can only create exec sessions on running containers: container state improper',
        response: 500,
      }),
    ],
  ])('%s: not in a container that does not run', async (_, recording, answer) => {
    const { engine } = await engineOf(recording({ [`POST /containers/${webId}/exec`]: answer }));
    await expect(engine.execReading(webId, ['true'], { signal: signal() })).rejects.toMatchObject({ code: 'engine.conflict' });
  });

  test('a refusal names a container by twelve digits', async () => {
    const answer = json(409, { message: `conflict: unable to delete a9b0e069d40c (must be forced) - container ${webId} is using it` });
    const { engine } = await engineOf(docker20({ 'DELETE /images/*': answer }));
    const refused = expect(writerOf(engine).removeImage('a9b0e069d40c')).rejects;
    await refused.toMatchObject({ code: 'engine.conflict', message: expect.stringMatching(/container 30a2efd88927 is using it\.$/) });
  });

  test('a program that hangs ends with the signal', async () => {
    const { engine } = await engineOf(
      docker20(exec((_, response) => void response.writeHead(200).write(frame(1, 'on')), { Running: true })),
    );
    const limit = AbortSignal.timeout(100);
    await expect(engine.execReading(webId, ['sleep', '9'], { signal: limit })).rejects.toMatchObject({ name: 'TimeoutError' });
  });

  test('input goes through an upgraded connection and is closed behind', async () => {
    const { engine } = await engineOf(
      docker20(exec(stream(), { Running: false, ExitCode: 0 }), {
        'POST /exec/x1/start': (_, connection) => {
          const read: Buffer[] = [];
          connection.on('data', (chunk: Buffer) => read.push(chunk));
          connection.on('end', () => connection.end(frame(1, Buffer.concat(read))));
        },
      }),
    );
    const { stdout } = await writerOf(engine).exec(webId, ['cat'], { stdin: Buffer.from('shares go this way') });
    // The request's own body comes first on such a connection.
    expect(String(stdout)).toMatch(/shares go this way$/);
  });
});

describe('a terminal', () => {
  test('has its size, takes another, and tells the exit code', async () => {
    const { engine, recorded } = await engineOf(
      docker20(
        {
          [`POST /containers/${webId}/exec`]: json(201, { Id: 't1' }),
          'POST /exec/t1/resize': empty(201),
          'GET /exec/t1/json': { Running: false, ExitCode: 5 },
        },
        {
          'POST /exec/t1/start': (_, connection) =>
            connection.on('data', (chunk: Buffer) => String(chunk).includes('exit') && connection.end('bye\r\n')),
        },
      ),
    );
    const session = await writerOf(engine).openTerminal(webId, ['sh'], { columns: 77, rows: 33 });
    let seen = '';
    session.stream.on('data', (chunk: Buffer) => {
      seen += chunk;
    });
    await session.resize(100, 50);
    session.stream.write('exit 5\n');
    expect(await session.exitCode()).toBe(5);
    expect(seen).toContain('bye');
    expect(recorded.requests.filter(({ path }) => path.endsWith('resize')).map(({ query }) => [query.get('w'), query.get('h')])).toEqual([
      ['77', '33'],
      ['100', '50'],
    ]);
    expect(JSON.parse(recorded.requests.find(({ path }) => path === `/containers/${webId}/exec`)?.body ?? '')).toMatchObject({
      Tty: true,
      ConsoleSize: [33, 77],
    });
  });

  test('ends with its grant', async () => {
    const leaving = new AbortController();
    let closed = () => {};
    const ended = new Promise<void>((resolve) => {
      closed = resolve;
    });
    const { engine } = await engineOf(
      docker20(
        { [`POST /containers/${webId}/exec`]: json(201, { Id: 't1' }), 'POST /exec/t1/resize': empty(200) },
        {
          'POST /exec/t1/start': (_, connection) => {
            connection.on('error', () => undefined);
            connection.on('end', closed);
            connection.resume();
          },
        },
      ),
    );
    const session = await writerOf(engine, leaving.signal).openTerminal(webId, ['sh'], { columns: 80, rows: 24 });
    leaving.abort();
    await ended;
    expect(session.stream.destroyed).toBe(true);
  });
});

describe('files', () => {
  const tar =
    (entries: [header: Parameters<ReturnType<typeof pack>['entry']>[0], content?: string][]): Answer =>
    (_, response) => {
      const archive = pack();
      for (const [header, content] of entries) archive.entry(header, content ?? '');
      archive.finalize();
      response.writeHead(200, { 'Content-Type': 'application/x-tar' });
      archive.pipe(response);
    };
  const archives = (answers: Record<string, Answer>): Recording['answers'] => ({
    [`GET /containers/${webId}/archive`]: (request, response, raw) =>
      (
        answers[request.query.get('path') ?? ''] ??
        json(404, { message: `Could not find the file ${request.query.get('path')} in container ${webId}` })
      )(request, response, raw),
    'GET /containers/nope/archive': json(404, { message: 'No such container: nope' }),
  });

  test('a file, the first bytes of one, a link to one; what is not there is undefined', async () => {
    const { engine } = await engineOf(
      docker20(
        archives({
          '/etc/os-release': tar([[{ name: 'os-release', type: 'symlink', linkname: '../usr/lib/os-release' }]]),
          '/usr/lib/os-release': tar([[{ name: 'os-release' }, 'ID=debian\n']]),
          '/loop': tar([[{ name: 'loop', type: 'symlink', linkname: 'loop' }]]),
          '/etc': tar([[{ name: 'etc/', type: 'directory' }]]),
        }),
      ),
    );
    const read = async (path: string, limitBytes?: number) => String(await engine.readFile(webId, path, { signal: signal(), limitBytes }));
    expect(await read('/usr/lib/os-release')).toBe('ID=debian\n');
    expect(await read('/usr/lib/os-release', 3)).toBe('ID=');
    expect(await read('/etc/os-release')).toBe('ID=debian\n');
    expect(await engine.readFile(webId, '/none', { signal: signal() })).toBeUndefined();
    await expect(read('/etc')).rejects.toMatchObject({ code: 'engine.notFile', message: expect.stringContaining('folder') });
    await expect(read('/loop')).rejects.toMatchObject({
      code: 'engine.notFile',
      message: expect.stringContaining('too many levels of symbolic links'),
    });
    await expect(engine.readFile('nope', '/x', { signal: signal() })).rejects.toMatchObject({ code: 'engine.noContainer' });
  });

  test('a path that is not there is named, without the id of the container', async () => {
    const { engine } = await engineOf(docker20(archives({})));
    await expect(engine.getArchive(webId, '/nope', signal())).rejects.toMatchObject({
      code: 'engine.missing',
      message: '/nope was not found in the container.',
    });
  });

  test('an archive goes in as it is; a refusal frees whoever makes it', async () => {
    const received: string[] = [];
    const { engine } = await engineOf(
      docker20({
        [`PUT /containers/${webId}/archive`]: (request, response) => {
          received.push(request.query.get('path') ?? '', request.body.slice(0, 9));
          response.writeHead(200).end();
        },
        'PUT /containers/nope/archive': json(404, { message: 'No such container: nope' }),
      }),
    );
    const archive = () => {
      const making = pack();
      making.entry({ name: 'hello.txt' }, 'hi');
      making.finalize();
      return making.pipe(new PassThrough());
    };
    await writerOf(engine).putArchive(webId, '/srv', archive());
    expect(received).toEqual(['/srv', 'hello.txt']);
    const refused = archive();
    await expect(writerOf(engine).putArchive('nope', '/srv', refused)).rejects.toMatchObject({ code: 'engine.noContainer' });
    expect(refused.destroyed).toBe(true);
  });
});

describe('writing', () => {
  test('204 is done, 304 is already', async () => {
    const { engine, recorded } = await engineOf(
      docker20({
        [`POST /containers/${webId}/start`]: empty(304),
        [`POST /containers/${webId}/stop`]: empty(204),
        [`POST /containers/${jobId}/stop`]: empty(304),
        [`POST /containers/${webId}/restart`]: empty(204),
      }),
    );
    const writer = writerOf(engine);
    expect(await writer.start(webId)).toBe('already');
    expect(await writer.stop(webId, { graceSeconds: 3 })).toBe('done');
    expect(await writer.stop(jobId)).toBe('already');
    await writer.restart(webId, { graceSeconds: 0 });
    expect(
      recorded.requests.filter(({ method }) => method === 'POST').map(({ path, query }) => `${path.split('/').at(-1)} ${query.get('t')}`),
    ).toEqual(['start null', 'stop 3', 'stop null', 'restart 0']);
  });

  test('a grant whose act is over sends nothing', async () => {
    const { engine, recorded } = await engineOf(docker20({ [`POST /containers/${webId}/start`]: empty(204) }));
    await engine.connect(signal());
    const before = recorded.requests.length;
    const writer = writerOf(engine, AbortSignal.abort());
    const acts = [
      writer.start(webId),
      writer.stop(webId),
      writer.restart(webId),
      writer.pause(webId),
      writer.unpause(webId),
      writer.remove(webId, { force: true, volumes: true }),
      writer.exec(webId, ['true']),
      writer.openTerminal(webId, ['sh'], { columns: 1, rows: 1 }),
      writer.putArchive(webId, '/', new PassThrough()),
      writer.removeImage('i'),
      writer.removeVolume('v'),
      writer.pruneBuildCache(),
    ];
    for (const act of acts) await expect(act).rejects.toMatchObject({ name: 'AbortError' });
    expect(recorded.requests.length).toBe(before);
  });

  test.each([
    [
      'Docker',
      docker20,
      json(409, { message: 'You cannot remove a running container 30a2. Stop the container before attempting removal or force remove' }),
    ],
    [
      'Podman',
      podman4,
      json(500, {
        cause: 'container state improper',
        message:
          'cannot remove container 30a2 as it is running - running or paused containers cannot be removed without force: container state improper',
        response: 500,
      }),
    ],
  ])('%s: a running container is not removed without force', async (_, recording, answer) => {
    const { engine, recorded } = await engineOf(recording({ [`DELETE /containers/${webId}`]: answer }));
    await expect(writerOf(engine).remove(webId, { force: false, volumes: true })).rejects.toMatchObject({
      code: 'engine.conflict',
      message: expect.stringContaining('running'),
    });
    expect(recorded.requests.at(-1)?.query.get('v')).toBe('true');
  });

  test('what is not there, on both', async () => {
    for (const recording of [docker20(), podman4()]) {
      const { engine } = await engineOf(recording);
      await expect(writerOf(engine).stop('nope')).rejects.toMatchObject({ code: 'engine.noContainer' });
    }
  });

  test('all of the build cache goes, not only what dangles', async () => {
    const { engine, recorded } = await engineOf(docker20({ 'POST /build/prune': { CachesDeleted: ['c'], SpaceReclaimed: 1 } }));
    await writerOf(engine).pruneBuildCache();
    expect(recorded.requests.at(-1)?.query.get('all')).toBe('true');
  });

  test('Podman has no build cache to prune', async () => {
    const { engine } = await engineOf(podman4({ 'POST /build/prune': json(404, 'Not Found') }));
    await expect(writerOf(engine).pruneBuildCache()).rejects.toMatchObject({ code: 'engine.notSupported' });
  });
});

test.each([
  ['an object', { foo: [1, 2] }],
  ['nothing and numbers', [null, 7]],
  ['a number', 7],
])('what answers with JSON that is no list of containers is no engine: %s', async (_form, answer) => {
  const recording = docker20();
  const { engine } = await engineOf({ ...recording, answers: { ...recording.answers, 'GET /containers/json': json(200, answer) } });
  const fault = await engine.list(signal()).catch((thrown: unknown) => thrown);
  expect(fault).toMatchObject({
    code: 'unreachable.engine',
    message: expect.stringMatching(/is not a container engine: its list of containers is not a response of an engine\.$/),
  });
});

test('an engine that dies in the middle of a list is noticed at once', async () => {
  const { engine } = await engineOf(docker20({ 'GET /containers/json': dies('[') }));
  const started = performance.now();
  await expect(engine.list(signal())).rejects.toMatchObject({ code: 'unreachable.engine' });
  expect(performance.now() - started).toBeLessThan(3_000);
});

test('killed under our hands: each waiting question gets its fault', async () => {
  const { engine, recorded } = await engineOf(
    docker20({ 'GET /events': () => undefined, [`GET /containers/${webId}/json`]: () => undefined }),
  );
  await engine.connect(signal());
  const events = (async () => {
    for await (const _ of engine.events({ signal: signal() })) expect.fail('there is no event');
  })();
  const waiting = [events, engine.inspect(webId, signal())];
  const settled = Promise.allSettled(waiting);
  await expect.poll(() => recorded.requests.filter(({ path }) => path === '/events' || path.endsWith(`${webId}/json`)).length).toBe(2);
  await recorded.kill();
  expect(await settled).toMatchObject([{ reason: { code: 'unreachable.engine' } }, { reason: { code: 'unreachable.engine' } }]);
});
