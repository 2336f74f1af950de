import { randomBytes } from 'node:crypto';
import { on } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import type { Container } from './container.ts';
import { inspectedContainer, listedContainer } from './container-json.ts';
import { wireBytes } from './container-log.ts';
import { type CreateBody, createContainer, specRequestOf, variablesOf } from './create-container.ts';
import { readMoment } from './durations.ts';
import type { EngineRequest, Routes } from './request.ts';
import { isSet, Refusal, readBody, readFilters, sendJson, sendNothing, sendSlowly, untilClosed } from './request.ts';
import { statsOf } from './stats.ts';

const sampleMs = 1_000;

export const containerRoutes: Routes = {
  'GET /containers/json': listContainers,
  'POST /containers/create': async (request) => {
    const { machine, query, raw } = request;
    const body = await readBody<CreateBody>(raw);
    const name = query.get('name')?.replace(/^\//, '') || `practice_${randomBytes(4).toString('hex')}`;
    if (!/^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/.test(name))
      throw new Refusal(400, `Invalid container name (${name}), only [a-zA-Z0-9][a-zA-Z0-9_.-] are allowed`);
    sendJson(request, { Id: createContainer(machine, specRequestOf(machine, name, body)).id, Warnings: [] }, 201);
  },
  'GET /containers/:/json': (request) => sendJson(request, inspectedContainer(named(request), request.machine)),
  'GET /containers/:/logs': sendLogs,
  'GET /containers/:/stats': sendStats,
  'GET /containers/:/top': (request) => {
    const { id, isUp, state, program, argv } = named(request);
    if (!isUp) throw new Refusal(409, `container ${id} is not running`);
    const commands = program.processes ?? [argv.join(' ')];
    const Processes = commands.map((command, index) => ['root', String(state.pid + index), command]);
    sendJson(request, { Titles: ['UID', 'PID', 'CMD'], Processes });
  },
  'POST /containers/:/start': async (request) => sendNothing(request, (await request.machine.start(named(request))) === 'done' ? 204 : 304),
  'POST /containers/:/stop': async (request) =>
    sendNothing(request, (await request.machine.stop(named(request), graceOf(request))) === 'done' ? 204 : 304),
  'POST /containers/:/restart': (request) => request.machine.restart(named(request), graceOf(request)),
  'POST /containers/:/kill': (request) => {
    const signal = request.query.get('signal') || 'SIGKILL';
    if (!/^(?:(?:SIG)?KILL|9)$/.test(signal)) throw new Refusal(501, `The practice engine does not send ${signal}`);
    return request.machine.kill(named(request));
  },
  'POST /containers/:/pause': (request) => request.machine.pause(named(request)),
  'POST /containers/:/unpause': (request) => request.machine.unpause(named(request)),
  'POST /containers/:/wait': waitForEnd,
  'DELETE /containers/:': (request) =>
    request.machine.remove(named(request), { force: isSet(request.query.get('force')), volumes: isSet(request.query.get('v')) }),
  'POST /containers/:/exec': async (request) => {
    const container = named(request);
    const body = await readBody<{ Cmd: string[]; Env: string[]; AttachStdin: boolean; Tty: boolean; ConsoleSize: number[] }>(request.raw);
    const [rows = 24, columns = 80] = body.ConsoleSize ?? [];
    const instance = request.execs.create(container, {
      argv: body.Cmd ?? [],
      environment: variablesOf(body.Env),
      attachStdin: body.AttachStdin === true,
      tty: body.Tty === true,
      size: { rows, columns },
    });
    sendJson(request, { Id: instance.id }, 201);
  },
  'POST /exec/:/start': startExec,
  'POST /exec/:/resize': (request) => {
    const { id, running, size } = request.execs.find(request.name);
    if (!running) throw new Refusal(404, `No such exec instance: ${id}`);
    size.rows = Number(request.query.get('h')) || size.rows;
    size.columns = Number(request.query.get('w')) || size.columns;
    sendNothing(request, 200);
  },
  'GET /exec/:/json': (request) => {
    const { id, running, exitCode, argv, tty, container } = request.execs.find(request.name);
    const [entrypoint, ...args] = argv;
    const ProcessConfig = { tty, entrypoint, arguments: args };
    sendJson(request, { ID: id, Running: running, ExitCode: exitCode, ProcessConfig, ContainerID: container.id });
  },
  'HEAD /containers/:/archive': (request) => request.response.writeHead(200, archiveOf(request).headers).end(),
  'GET /containers/:/archive': (request) => {
    const { container, path, headers } = archiveOf(request);
    request.response.writeHead(200, { ...headers, 'Content-Type': 'application/x-tar' });
    container.files.archive(path).pipe(request.response);
  },
  'PUT /containers/:/archive': async (request) => {
    const { container, path } = archiveOf(request);
    await container.files.unpack(path, request.raw, Date.now());
    sendNothing(request, 200);
  },
};

function named({ machine, name }: EngineRequest): Container {
  return machine.container(name);
}

function archiveOf(request: EngineRequest): { container: Container; path: string; headers: Record<string, string> } {
  const container = named(request);
  const path = request.query.get('path');
  if (!path) throw new Refusal(400, 'bad parameter: name: path cannot be empty');
  const stat = container.files.stat(path);
  if (!stat) throw new Refusal(404, `Could not find the file ${path} in container ${request.name}`);
  return { container, path, headers: { 'X-Docker-Container-Path-Stat': Buffer.from(JSON.stringify(stat)).toString('base64') } };
}

function graceOf({ query }: EngineRequest): { graceSeconds?: number } {
  const seconds = query.get('t');
  return seconds ? { graceSeconds: Number(seconds) } : {};
}

function listContainers(request: EngineRequest): void {
  const { machine, query } = request;
  const { label = [], name: names, status } = readFilters(query.get('filters'), ['label', 'name', 'status']);
  const all = isSet(query.get('all')) || status;
  const hasLabel = (labels: object, wanted: string) =>
    Object.entries(labels).some(([key, value]) => wanted === key || wanted === `${key}=${value}`);
  const found = machine
    .containers()
    .filter(
      ({ isUp, name, spec, state }) =>
        (all || isUp || state.status === 'restarting') &&
        (!status || status.includes(state.status)) &&
        (!names || names.some((part) => `/${name}`.includes(part))) &&
        label.every((wanted) => hasLabel(spec.labels, wanted)),
    );
  sendJson(
    request,
    found.map((container) => listedContainer(container, machine)),
  );
}

async function sendStats(request: EngineRequest): Promise<void> {
  const { machine, query, response } = request;
  const container = named(request);
  const next = statsOf(container, machine);
  const signal = untilClosed(response);
  const send = () => sendSlowly(response, Buffer.from(`${JSON.stringify(next())}\n`));
  const pause = () => wait(sampleMs, undefined, { signal }).catch(() => undefined);
  response.writeHead(200, { 'Content-Type': 'application/json' });
  if (query.get('stream') !== null && !isSet(query.get('stream'))) {
    if (!isSet(query.get('one-shot')) && container.isUp) {
      next();
      await pause();
    }
    await send();
  } else {
    // The first sample has none before it; a stopped container sends empty ones until it is removed.
    while ((await send()) && machine.find(container.id)) await pause();
  }
  response.end();
}

async function waitForEnd(request: EngineRequest): Promise<void> {
  const { response, machine } = request;
  const container = named(request);
  response.writeHead(200, { 'Content-Type': 'application/json' });
  response.flushHeaders();
  try {
    if (container.isUp)
      for await (const [{ id, action }] of on(machine.events, 'event', { signal: untilClosed(response) }))
        if (id === container.id && action === 'die') break;
    response.end(`${JSON.stringify({ StatusCode: container.state.exitCode })}\n`);
  } catch (thrown) {
    if (!response.closed) throw thrown;
  }
}

/** Without an upgrade: a response that streams, and takes no input. */
async function startExec(request: EngineRequest): Promise<void> {
  const { execs, name, raw, response } = request;
  raw.resume();
  const instance = execs.findNew(name);
  response.writeHead(200, { 'Content-Type': `application/vnd.docker.${instance.tty ? 'raw' : 'multiplexed'}-stream` });
  response.flushHeaders();
  await execs.run(instance, { output: response });
}

const batchRecords = 200;

async function sendLogs(request: EngineRequest): Promise<void> {
  const { query, response } = request;
  const container = named(request);
  const streams = { stdout: isSet(query.get('stdout')), stderr: isSet(query.get('stderr')) };
  if (!streams.stdout && !streams.stderr) throw new Refusal(400, 'Bad parameters: you must choose at least one stream');
  if (container.spec.logDriver === 'none') throw new Refusal(501, 'configured logging driver does not support reading');
  const { tty } = container.spec;
  const form = { tty, timestamps: isSet(query.get('timestamps')) };
  const tail = /^\d+$/.test(query.get('tail') ?? '') ? Number(query.get('tail')) : undefined;
  const until = readMoment(query.get('until'));
  const signal = untilClosed(response, until);
  const follows = isSet(query.get('follow')) && (container.isUp || container.state.status === 'created');
  // Followed from the same moment as read: no line is missing between the two, none comes twice.
  const coming = follows ? container.log.follow(signal) : [];
  const past = container.log.read({ ...streams, since: readMoment(query.get('since')), until, tail });
  response.writeHead(200, { 'Content-Type': `application/vnd.docker.${tty ? 'raw' : 'multiplexed'}-stream` });
  response.flushHeaders();
  try {
    for (let at = 0; at < past.length; at += batchRecords) {
      const batch = past.slice(at, at + batchRecords).map((record) => wireBytes(record, form));
      if (!(await sendSlowly(response, Buffer.concat(batch)))) return;
    }
    for await (const [record] of coming) if (streams[record.stream]) await sendSlowly(response, wireBytes(record, form));
  } catch (thrown) {
    if (!signal.aborted) throw thrown;
  } finally {
    response.end();
  }
}
