import { randomBytes } from 'node:crypto';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { Container, ContainerMount, ContainerSpec, PortBinding } from './container.ts';
import { inspectedContainer, listedContainer } from './container-json.ts';
import { labelsMatch, readFilters } from './filters.ts';
import { answerLogs } from './log-answer.ts';
import { Refusal } from './refusal.ts';
import { type EngineRequest, isSet, type Routes, readBody, sendJson, sendNothing, sendSlowly } from './request.ts';
import { scriptedProgram } from './scripted-program.ts';
import { StatsReader } from './stats.ts';

const listFilters = [
  'ancestor',
  'before',
  'expose',
  'exited',
  'health',
  'id',
  'isolation',
  'is-task',
  'label',
  'name',
  'network',
  'publish',
  'since',
  'status',
  'volume',
];
const sampleMs = 1_000;

export const containerRoutes: Routes = {
  'GET /containers/json': listContainers,
  'POST /containers/create': createContainer,
  'POST /containers/prune': pruneContainers,
  'GET /containers/:/json': (request) => sendJson(request, inspectedContainer(named(request), request.machine, request.minor)),
  'GET /containers/:/logs': (request) => answerLogs(request, named(request)),
  'GET /containers/:/stats': sendStats,
  'GET /containers/:/top': sendTop,
  'GET /containers/:/changes': (request) => {
    named(request);
    sendJson(request, null);
  },
  'POST /containers/:/start': async (request) => sendNothing(request, (await request.machine.start(named(request))) === 'done' ? 204 : 304),
  'POST /containers/:/stop': async (request) => {
    const answer = await request.machine.stop(named(request), graceOf(request));
    sendNothing(request, answer === 'done' ? 204 : 304);
  },
  'POST /containers/:/restart': async (request) => {
    await request.machine.restart(named(request), graceOf(request));
    sendNothing(request);
  },
  'POST /containers/:/kill': async (request) => {
    await request.machine.kill(named(request), request.query.get('signal') || 'SIGKILL');
    sendNothing(request);
  },
  'POST /containers/:/pause': (request) => {
    request.machine.pause(named(request));
    sendNothing(request);
  },
  'POST /containers/:/unpause': (request) => {
    request.machine.unpause(named(request));
    sendNothing(request);
  },
  'POST /containers/:/rename': (request) => {
    const container = named(request);
    const name = request.query.get('name')?.replace(/^\//, '');
    if (!name) throw new Refusal(400, 'Neither old nor new names may be empty');
    request.machine.rename(container, name);
    sendNothing(request);
  },
  'POST /containers/:/resize': (request) => {
    named(request);
    sendNothing(request, 200);
  },
  'POST /containers/:/update': (request) => {
    request.machine.tell(named(request), 'update');
    sendJson(request, { Warnings: null });
  },
  'POST /containers/:/wait': wait,
  'DELETE /containers/:': async (request) => {
    await request.machine.remove(named(request), { force: isSet(request.query.get('force')), volumes: isSet(request.query.get('v')) });
    sendNothing(request);
  },
  'POST /containers/:/exec': createExec,
  // Without an upgrade there is nothing to attach to.
  'POST /containers/:/attach': (request) => {
    named(request);
    throw new Refusal(400, 'an attached connection must be upgraded');
  },
  'POST /exec/:/start': startExec,
  'POST /exec/:/resize': resizeExec,
  'GET /exec/:/json': inspectExec,
  'HEAD /containers/:/archive': (request) => {
    const { path } = archivePath(request);
    const stat = named(request).files.stat(path);
    if (!stat) return sendNothing(request, 404);
    request.response.writeHead(200, { 'X-Docker-Container-Path-Stat': Buffer.from(JSON.stringify(stat)).toString('base64') }).end();
  },
  'GET /containers/:/archive': (request) => {
    const { container, path } = archivePath(request);
    const archive = container.files.archive(path);
    if (!archive) throw new Refusal(404, `Could not find the file ${path} in container ${request.parts[0]}`);
    request.response.writeHead(200, {
      'Content-Type': 'application/x-tar',
      'X-Docker-Container-Path-Stat': Buffer.from(JSON.stringify(container.files.stat(path))).toString('base64'),
    });
    archive.pipe(request.response);
  },
  'PUT /containers/:/archive': async (request) => {
    const { container, path } = archivePath(request);
    const packed = /gzip/.test(String(request.raw.headers['content-encoding'] ?? ''));
    const archive: Readable = packed ? request.raw.pipe(createGunzip()) : request.raw;
    try {
      await container.files.unpack(path, archive, request.machine.now());
    } catch (thrown) {
      throw thrown instanceof Refusal && thrown.status === 404
        ? new Refusal(404, `Could not find the file ${path} in container ${request.parts[0]}`)
        : thrown;
    }
    sendNothing(request, 200);
  },
};

function named({ machine, parts }: EngineRequest): Container {
  return machine.container(parts[0] ?? '');
}

/** A pattern, tried with and without the slash that names begin with. */
function nameMatches(pattern: string, name: string): boolean {
  try {
    const wanted = new RegExp(pattern);
    return wanted.test(name) || wanted.test(`/${name}`);
  } catch {
    throw new Refusal(400, `invalid filter 'name=${pattern}'`);
  }
}

function archivePath(request: EngineRequest): { container: Container; path: string } {
  const container = named(request);
  const path = request.query.get('path');
  if (!path) throw new Refusal(400, 'bad parameter: name: path cannot be empty');
  return { container, path };
}

function graceOf({ query }: EngineRequest): { graceSeconds?: number; signal?: string } {
  const [seconds, signal] = [query.get('t'), query.get('signal')];
  return { ...(seconds !== null && seconds !== '' && { graceSeconds: Number(seconds) }), ...(signal && { signal }) };
}

function listContainers(request: EngineRequest): void {
  const { machine, query, minor } = request;
  const filters = readFilters(query.get('filters'), listFilters);
  const all = isSet(query.get('all')) || filters.has('status') || filters.has('exited');
  const limit = Number(query.get('limit')) || Number.POSITIVE_INFINITY;
  const any = (name: string, holds: (wanted: string) => boolean) => !filters.has(name) || (filters.get(name) ?? []).some(holds);
  const found = machine
    .containers()
    .filter(
      (container) =>
        (all || container.isUp || container.state.status === 'restarting' || limit < Number.POSITIVE_INFINITY) &&
        labelsMatch(filters.get('label'), container.spec.labels) &&
        any('status', (status) => container.state.status === status) &&
        any('name', (name) => nameMatches(name, container.name)) &&
        any('id', (id) => container.id.startsWith(id)) &&
        any('health', (health) => (container.isUp ? (container.state.health ?? 'none') : 'none') === health) &&
        any('exited', (code) => container.state.status === 'exited' && container.state.exitCode === Number(code)) &&
        any('volume', (volume) => container.spec.mounts.some(({ name, target }) => name === volume || target === volume)) &&
        any('network', (network) => container.spec.networks.includes(network) || container.spec.networkMode === network) &&
        any('ancestor', (image) => machine.images.find(image)?.id === container.spec.imageId),
    );
  sendJson(
    request,
    found.slice(0, limit).map((container) => listedContainer(container, machine, minor)),
  );
}

async function createContainer(request: EngineRequest): Promise<void> {
  const { machine, query, raw } = request;
  const body = await readBody(raw);
  const text = (value: unknown): string => (typeof value === 'string' ? value : '');
  const list = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : typeof value === 'string' ? [value] : []);
  const map = (value: unknown): Record<string, unknown> =>
    typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  const image = machine.images.find(text(body['Image']));
  if (!image)
    throw new Refusal(404, `No such image: ${/:[^/]*$/.test(text(body['Image'])) ? text(body['Image']) : `${text(body['Image'])}:latest`}`);
  const host = map(body['HostConfig']);
  const name = query.get('name')?.replace(/^\//, '') || `practice_${randomBytes(4).toString('hex')}`;
  if (!/^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/.test(name)) {
    throw new Refusal(400, `Invalid container name (${name}), only [a-zA-Z0-9][a-zA-Z0-9_.-] are allowed`);
  }
  const networkMode = networkModeOf(request, text(host['NetworkMode']));
  const bindings = map(host['PortBindings']);
  const exposed = [...new Set([...Object.keys(map(body['ExposedPorts'])), ...image.exposed, ...Object.keys(bindings)])];
  const ports = exposed.flatMap((key): PortBinding[] => {
    const [port = '', protocol] = key.split('/');
    const base = { containerPort: Number(port), protocol: protocol === 'udp' ? ('udp' as const) : ('tcp' as const) };
    const wanted = Array.isArray(bindings[key]) ? (bindings[key] as { HostIp?: string; HostPort?: string }[]) : [];
    if (wanted.length === 0) return [{ ...base, hostIp: '', hostPort: undefined }];
    return wanted.map(({ HostIp, HostPort }) => ({ ...base, hostIp: HostIp ?? '', hostPort: Number(HostPort) || 0 }));
  });
  const entrypoint = body['Entrypoint'] == null ? image.entrypoint : list(body['Entrypoint']);
  const command = body['Cmd'] == null ? image.command : list(body['Cmd']);
  const environment = { ...image.environment, ...Object.fromEntries(list(body['Env']).map((one) => splitOnce(one, '='))) };
  const policy = map(host['RestartPolicy']);
  const health = map(body['Healthcheck']);
  const spec: ContainerSpec = {
    name,
    image: text(body['Image']),
    imageId: image.id,
    entrypoint,
    command,
    environment,
    labels: { ...image.labels, ...Object.fromEntries(Object.entries(map(body['Labels'])).map(([key, value]) => [key, String(value)])) },
    tty: body['Tty'] === true,
    openStdin: body['OpenStdin'] === true,
    ports,
    mounts: [...list(host['Binds']).map(mountOf), ...mountsOf(host['Mounts'])],
    networkMode,
    networks:
      networkMode === 'none' || networkMode === 'host' || networkMode.startsWith('container:')
        ? []
        : [
            ...new Set([
              networkMode === 'default' ? 'bridge' : networkMode,
              ...Object.keys(map(map(body['NetworkingConfig'])['EndpointsConfig'])),
            ]),
          ],
    restartPolicy: {
      name: (['always', 'unless-stopped', 'on-failure'] as const).find((one) => one === policy['Name']) ?? 'no',
      maximum: Number(policy['MaximumRetryCount']) || 0,
    },
    capAdd: list(host['CapAdd']),
    devices: [],
    memoryLimitBytes: Number(host['Memory']) || 0,
    logDriver: text(map(host['LogConfig'])['Type']) || 'json-file',
    healthcheck:
      list(health['Test']).length > 0 && list(health['Test'])[0] !== 'NONE'
        ? { test: list(health['Test']), intervalMs: Number(health['Interval']) / 1e6 || 30_000 }
        : undefined,
    workingFolder: text(body['WorkingDir']),
    user: text(body['User']),
    autoRemove: host['AutoRemove'] === true,
  };
  for (const network of spec.networks) if (!machine.networks.has(network)) throw new Refusal(404, `network ${network} not found`);
  const program =
    machine.cast(spec) ??
    scriptedProgram({ argv: [...entrypoint, ...command], hostname: name, tty: spec.tty, healthcheck: spec.healthcheck });
  const {
    healthcheck = program.healthcheck && body['Healthcheck'] == null ? { test: program.healthcheck, intervalMs: 30_000 } : undefined,
  } = spec;
  const container = machine.create({ ...spec, healthcheck, ports: networkMode === 'host' ? (program.opens ?? ports) : ports }, program);
  sendJson(request, { Id: container.id, Warnings: [] }, 201);
}

/** That of another container is named by its id from then on. */
function networkModeOf({ machine }: EngineRequest, wanted: string): string {
  const [, owner] = /^container:(.+)$/.exec(wanted) ?? [];
  return owner === undefined ? wanted || 'bridge' : `container:${machine.container(owner).id}`;
}

function mountsOf(value: unknown): ContainerMount[] {
  if (!Array.isArray(value)) return [];
  return (value as { Type?: string; Source?: string; Target?: string; ReadOnly?: boolean }[]).map(
    ({ Type, Source = '', Target = '', ReadOnly }) =>
      Type === 'bind'
        ? { type: 'bind', source: Source, target: Target, readOnly: ReadOnly === true }
        : volumeMount(Source || randomBytes(32).toString('hex'), Target, ReadOnly === true),
  );
}

function mountOf(bind: string): ContainerMount {
  const [source = '', target = source, mode = ''] = bind.split(':');
  const readOnly = mode.split(',').includes('ro');
  return source.startsWith('/') ? { type: 'bind', source, target, readOnly } : volumeMount(source, target, readOnly);
}

function volumeMount(name: string, target: string, readOnly: boolean): ContainerMount {
  return { type: 'volume', name, source: `/var/lib/docker/volumes/${name}/_data`, target, readOnly };
}

function splitOnce(text: string, mark: string): [string, string] {
  const at = text.indexOf(mark);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}

async function pruneContainers(request: EngineRequest): Promise<void> {
  const { machine } = request;
  const gone = machine.containers().filter(({ state }) => ['exited', 'created', 'dead'].includes(state.status));
  for (const container of gone) await machine.remove(container, { force: false, volumes: false });
  sendJson(request, { ContainersDeleted: gone.length === 0 ? null : gone.map(({ id }) => id), SpaceReclaimed: 0 });
}

async function sendStats(request: EngineRequest): Promise<void> {
  const { machine, query, response } = request;
  const container = named(request);
  const reader = new StatsReader(container, machine);
  const send = () => sendSlowly(response, Buffer.from(`${JSON.stringify(reader.next())}\n`));
  response.writeHead(200, { 'Content-Type': 'application/json' });
  const closed = new Promise<boolean>((resolve) => response.once('close', () => resolve(false)));
  const pause = () =>
    Promise.race([
      closed,
      new Promise<boolean>((resolve) => {
        const timer = machine.later(sampleMs, () => resolve(true));
        void closed.then(() => machine.cancel(timer));
      }),
    ]);
  if (query.get('stream') !== null && !isSet(query.get('stream'))) {
    if (!isSet(query.get('one-shot')) && container.isUp) {
      reader.next();
      await pause();
    }
    await send();
    response.end();
    return;
  }
  // The first comes at once, without one before it; a container that stops goes on being told, with nothing in it.
  while ((await send()) && (await pause())) if (machine.find(container.id) === undefined) break;
  response.end();
}

function sendTop(request: EngineRequest): void {
  const container = named(request);
  if (!container.isUp) throw new Refusal(409, `container ${container.id} is not running`);
  const { pid } = container.state;
  const commands = container.program.processes ?? [container.argv.join(' ')];
  sendJson(request, {
    Titles: ['UID', 'PID', 'PPID', 'C', 'STIME', 'TTY', 'TIME', 'CMD'],
    Processes: commands.map((command, index) => [
      'root',
      String(pid + index),
      String(index === 0 ? pid - 22 : pid),
      '0',
      '12:00',
      '?',
      '00:00:01',
      command,
    ]),
  });
}

async function wait(request: EngineRequest): Promise<void> {
  const { response, query, machine } = request;
  const container = named(request);
  const condition = query.get('condition') || 'not-running';
  response.writeHead(200, { 'Content-Type': 'application/json' });
  response.flushHeaders();
  const over = () => (condition === 'removed' ? machine.find(container.id) === undefined : condition === 'not-running' && !container.isUp);
  if (!over()) {
    await new Promise<void>((resolve) => {
      const stop = machine.events.listen((event) => {
        if (event.id !== container.id) return;
        if (over() || (condition === 'next-exit' && event.action === 'die')) finish();
      });
      const finish = () => {
        stop();
        resolve();
      };
      response.once('close', finish);
    });
  }
  response.end(`${JSON.stringify({ StatusCode: container.state.exitCode })}\n`);
}

async function createExec(request: EngineRequest): Promise<void> {
  const container = named(request);
  const body = await readBody(request.raw);
  const [rows = 24, columns = 80] = Array.isArray(body['ConsoleSize']) ? (body['ConsoleSize'] as number[]) : [];
  const instance = request.execs.create(container, {
    argv: Array.isArray(body['Cmd']) ? body['Cmd'].map(String) : [],
    environment: Array.isArray(body['Env']) ? body['Env'].map(String) : [],
    attachStdin: body['AttachStdin'] === true,
    tty: body['Tty'] === true,
    size: { rows, columns },
  });
  sendJson(request, { Id: instance.id }, 201);
}

/** Without an upgrade: an answer that streams, and takes no input. */
async function startExec(request: EngineRequest): Promise<void> {
  const { execs, parts, raw, response } = request;
  const body = await readBody(raw);
  const instance = execs.find(parts[0] ?? '');
  execs.check(instance);
  if (body['Detach'] === true) {
    void execs.run(instance, { output: { write: () => true, end: () => {} }, input: undefined });
    return sendNothing(request, 200);
  }
  response.writeHead(200, { 'Content-Type': `application/vnd.docker.${instance.request.tty ? 'raw' : 'multiplexed'}-stream` });
  response.flushHeaders();
  await execs.run(instance, { output: { write: (bytes) => response.write(bytes), end: () => void response.end() }, input: undefined });
}

function resizeExec(request: EngineRequest): void {
  const instance = request.execs.find(request.parts[0] ?? '');
  if (!instance.running) throw new Refusal(404, `No such exec instance: ${instance.id}`);
  instance.size.rows = Number(request.query.get('h')) || instance.size.rows;
  instance.size.columns = Number(request.query.get('w')) || instance.size.columns;
  sendNothing(request, 200);
}

function inspectExec(request: EngineRequest): void {
  const instance = request.execs.find(request.parts[0] ?? '');
  const [entrypoint = '', ...args] = instance.request.argv;
  sendJson(request, {
    ID: instance.id,
    Running: instance.running,
    ExitCode: instance.exitCode,
    ProcessConfig: { tty: instance.request.tty, entrypoint, arguments: args, privileged: false },
    OpenStdin: instance.request.attachStdin,
    OpenStderr: true,
    OpenStdout: true,
    CanRemove: instance.exitCode !== null,
    ContainerID: instance.container.id,
    DetachKeys: '',
    Pid: instance.running ? instance.container.state.pid + 40 : 0,
  });
}
