import { EngineClient } from './engine-client.ts';
import { type Project, type ProjectService, readProject } from './project.ts';

/** What the practice machine calls `docker-compose`: as much of compose as deploying needs, over the engine's socket, with compose's own words. */
export interface ComposeRun {
  argv: readonly string[];
  folder: string;
  environment: Readonly<Record<string, string | undefined>>;
  /** Progress and errors, as compose writes them. */
  say: (line: string) => void;
  /** What a command answers. */
  answer: (text: string | Uint8Array) => void;
}

interface Container {
  Id: string;
  Names: readonly string[];
  ImageID: string;
  State: string;
  Status: string;
  Labels: Readonly<Record<string, string>>;
}

interface Command {
  project: Project;
  client: EngineClient;
  flags: ReadonlySet<string>;
  words: readonly string[];
  run: ComposeRun;
}

const healthLimitMs = 120_000;
const lookEveryMs = 150;
const composeVersion = '2.40.3';
/** Of `compose`: the options that have a value, before the command and behind it. */
const valued = new Set([
  '-f',
  '--file',
  '-p',
  '--project-name',
  '--project-directory',
  '--env-file',
  '--profile',
  '--ansi',
  '--progress',
  '--pull',
  '-t',
  '--timeout',
  '--index',
  '-w',
]);

/** The exit code, as compose ends with it. */
export async function runCompose(run: ComposeRun): Promise<number> {
  const options = new Map<string, string>();
  const flags = new Set<string>();
  const words: string[] = [];
  for (let at = 0; at < run.argv.length; at++) {
    const word = run.argv[at] ?? '';
    const [name = '', inline] = word.startsWith('--') ? splitOnce(word, '=') : [word];
    // Behind the service of an exec everything is the program's.
    if (words[0] === 'exec' && words.length > 1) words.push(word);
    else if (valued.has(name)) options.set(name, inline ?? run.argv[++at] ?? '');
    else if (word.startsWith('-')) flags.add(name);
    else words.push(word);
  }
  const [verb, ...rest] = words;
  if (verb === 'version' || flags.has('--version')) {
    run.answer(flags.has('--short') ? `${composeVersion}\n` : `Docker Compose version v${composeVersion}\n`);
    return 0;
  }
  const command = verb === undefined ? undefined : commands[verb];
  if (!command) {
    run.say(`unknown docker command: "compose ${verb ?? ''}"`);
    return 16;
  }
  try {
    const project = await readProject({
      folder: options.get('--project-directory') ?? run.folder,
      file: options.get('-f') ?? options.get('--file') ?? 'compose.yaml',
      name: options.get('-p') ?? options.get('--project-name'),
      environment: run.environment,
    });
    return await command({ project, client: new EngineClient(run.environment['DOCKER_HOST'] ?? ''), flags, words: rest, run });
  } catch (thrown) {
    run.say(thrown instanceof Error ? thrown.message : String(thrown));
    return 1;
  }
}

const commands: Readonly<Record<string, (command: Command) => Promise<number>>> = {
  up,
  down,
  start: (command) => each(command, 'start', 'Started'),
  stop: (command) => each(command, 'stop', 'Stopped'),
  restart: (command) => each(command, 'restart', 'Started'),
  ps,
  config,
  exec,
};

async function up(command: Command): Promise<number> {
  const { project, client, flags, words, run } = command;
  const wanted = inOrder(project.services, words);
  await makeShared(command);
  const there = await containersOf(command);
  for (const service of wanted) {
    for (const { name, condition } of flags.has('--no-deps') ? [] : service.dependsOn) {
      if (condition !== 'service_started' && !flags.has('--no-start')) await waitFor(command, name, condition);
    }
    const image = await imageOf(command, service);
    const old = there.find(({ Labels }) => Labels['com.docker.compose.service'] === service.name);
    const name = `${project.name}-${service.name}-1`;
    const same =
      old && old.Labels['com.docker.compose.config-hash'] === service.hash && old.ImageID === image && !flags.has('--force-recreate');
    let id = old?.Id ?? '';
    if (!same) {
      if (old) {
        run.say(` Container ${name}  Recreate`);
        await client.ask('POST', `/containers/${old.Id}/stop`, undefined, [304]);
        await client.ask('DELETE', `/containers/${old.Id}?force=1`);
      }
      const made = await client.ask('POST', `/containers/create?name=${encodeURIComponent(name)}`, specOf(project, service, image));
      id = String((made.body as { Id?: string } | undefined)?.Id ?? '');
      run.say(` Container ${name}  ${old ? 'Recreated' : 'Created'}`);
    } else if (old.State === 'running') run.say(` Container ${name}  Running`);
    if (!flags.has('--no-start') && !(same && old.State === 'running')) {
      await client.ask('POST', `/containers/${id}/start`, undefined, [304]);
      run.say(` Container ${name}  Started`);
    }
  }
  if (flags.has('--remove-orphans') && words.length === 0) {
    for (const orphan of there.filter(
      ({ Labels }) => !project.services.some(({ name }) => name === Labels['com.docker.compose.service']),
    )) {
      await client.ask('DELETE', `/containers/${orphan.Id}?force=1`);
      run.say(` Container ${nameOf(orphan)}  Removed`);
    }
  }
  return 0;
}

async function down({ project, client, flags, run }: Command): Promise<number> {
  for (const container of await containersOf({ project, client })) {
    await client.ask('POST', `/containers/${container.Id}/stop`, undefined, [304]);
    await client.ask('DELETE', `/containers/${container.Id}?force=1`);
    run.say(` Container ${nameOf(container)}  Removed`);
  }
  for (const { name, external } of networksOf(project)) {
    if (external) continue;
    await client.ask('DELETE', `/networks/${encodeURIComponent(name)}`, undefined, [403, 404]);
    run.say(` Network ${name}  Removed`);
  }
  if (!flags.has('-v') && !flags.has('--volumes')) return 0;
  for (const { name, external } of project.volumes) {
    if (external) continue;
    await client.ask('DELETE', `/volumes/${encodeURIComponent(name)}`, undefined, [404]);
    run.say(` Volume ${name}  Removed`);
  }
  return 0;
}

async function each(command: Command, action: string, word: string): Promise<number> {
  for (const container of await containersOf(command)) {
    if (command.words.length > 0 && !command.words.includes(container.Labels['com.docker.compose.service'] ?? '')) continue;
    await command.client.ask('POST', `/containers/${container.Id}/${action}`, undefined, [304]);
    command.run.say(` Container ${nameOf(container)}  ${word}`);
  }
  return 0;
}

async function ps(command: Command): Promise<number> {
  const lines = (await containersOf(command)).map(
    (container) => `${nameOf(container)}   ${container.Labels['com.docker.compose.service'] ?? ''}   ${container.Status}`,
  );
  command.run.answer(['NAME   SERVICE   STATUS', ...lines, ''].join('\n'));
  return 0;
}

async function config({ project, flags, run }: Command): Promise<number> {
  if (flags.has('-q') || flags.has('--quiet')) return 0;
  if (flags.has('--services')) run.answer(project.services.map(({ name }) => `${name}\n`).join(''));
  else
    run.answer(
      `${JSON.stringify({ name: project.name, services: Object.fromEntries(project.services.map((one) => [one.name, one])) }, null, 2)}\n`,
    );
  return 0;
}

async function exec(command: Command): Promise<number> {
  const { client, words, run } = command;
  const [service, ...argv] = words;
  const container = (await containersOf(command)).find(
    ({ Labels, State }) => Labels['com.docker.compose.service'] === service && State === 'running',
  );
  if (!container) throw new Error(`service "${service ?? ''}" is not running`);
  const made = await client.ask('POST', `/containers/${container.Id}/exec`, { Cmd: argv, AttachStdout: true, AttachStderr: true });
  const id = String((made.body as { Id?: string } | undefined)?.Id ?? '');
  for (const bytes of framesOf(await client.bytes('POST', `/exec/${id}/start`, { Detach: false, Tty: false }))) run.answer(bytes);
  const ended = await client.ask('GET', `/exec/${id}/json`);
  return Number((ended.body as { ExitCode?: number } | undefined)?.ExitCode ?? 1);
}

/** Without their eight bytes each. */
function framesOf(stream: Buffer): Buffer[] {
  const frames: Buffer[] = [];
  for (let at = 0; at + 8 <= stream.length; ) {
    const size = stream.readUInt32BE(at + 4);
    frames.push(stream.subarray(at + 8, at + 8 + size));
    at += 8 + size;
  }
  return frames;
}

const nameOf = ({ Names, Id }: Container) => Names[0]?.replace(/^\//, '') ?? Id.slice(0, 12);

async function containersOf({ client, project }: Pick<Command, 'client' | 'project'>): Promise<Container[]> {
  const filters = encodeURIComponent(JSON.stringify({ label: [`com.docker.compose.project=${project.name}`] }));
  return (await client.ask('GET', `/containers/json?all=1&filters=${filters}`)).body as Container[];
}

/** The networks that are used, `default` among them where nobody names another. */
function networksOf(project: Project): { name: string; external: boolean; key: string }[] {
  const names = new Set(project.services.flatMap(({ networks }) => networks.map(({ name }) => name)));
  return [...names].map((name) => project.networks.find((one) => one.name === name) ?? { name, external: false, key: 'default' });
}

async function makeShared({ project, client, run }: Command): Promise<void> {
  for (const { name, external, key } of networksOf(project)) {
    const { status } = await client.ask('GET', `/networks/${encodeURIComponent(name)}`, undefined, [404]);
    if (status !== 404) continue;
    if (external) throw new Error(`network ${name} declared as external, but could not be found`);
    await client.ask('POST', '/networks/create', {
      Name: name,
      Labels: { 'com.docker.compose.project': project.name, 'com.docker.compose.network': key },
    });
    run.say(` Network ${name}  Created`);
  }
  for (const { name, external, key } of project.volumes) {
    const { status } = await client.ask('GET', `/volumes/${encodeURIComponent(name)}`, undefined, [404]);
    if (status !== 404) continue;
    if (external) throw new Error(`external volume "${name}" not found`);
    await client.ask('POST', '/volumes/create', {
      Name: name,
      Labels: { 'com.docker.compose.project': project.name, 'com.docker.compose.volume': key },
    });
    run.say(` Volume ${name}  Created`);
  }
}

/** Its id; fetched where it is not there. */
async function imageOf({ client, run }: Command, { image }: ProjectService): Promise<string> {
  const path = `/images/${image.split('/').map(encodeURIComponent).join('/')}/json`;
  const found = await client.ask('GET', path, undefined, [404]);
  if (found.status !== 404) return String((found.body as { Id?: string }).Id ?? '');
  run.say(` Image ${image}  Pulling`);
  const at = image.includes('@') ? image.indexOf('@') : /:[^/:]+$/.test(image) ? image.lastIndexOf(':') : image.length;
  const lines = await client.lines(
    'POST',
    `/images/create?fromImage=${encodeURIComponent(image.slice(0, at))}&tag=${encodeURIComponent(image.slice(at + 1) || 'latest')}`,
  );
  const failure = lines.find((line) => 'errorDetail' in line)?.['errorDetail'] as { message?: string } | undefined;
  if (failure) throw new Error(`Error response from daemon: ${failure.message ?? 'the image could not be fetched'}`);
  run.say(` Image ${image}  Pulled`);
  return String(((await client.ask('GET', path)).body as { Id?: string }).Id ?? '');
}

async function waitFor(command: Command, service: string, condition: string): Promise<void> {
  const untilMs = Date.now() + healthLimitMs;
  for (;;) {
    const found = (await containersOf(command)).find(({ Labels }) => Labels['com.docker.compose.service'] === service);
    if (condition === 'service_completed_successfully' ? found?.State === 'exited' : found?.Status.includes('(healthy)')) return;
    if (found?.Status.includes('(unhealthy)') || Date.now() > untilMs)
      throw new Error(`dependency failed to start: container ${found ? nameOf(found) : service} is unhealthy`);
    await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
  }
}

function inOrder(services: readonly ProjectService[], words: readonly string[]): ProjectService[] {
  const ordered: ProjectService[] = [];
  const add = (service: ProjectService) => {
    if (ordered.includes(service)) return;
    for (const { name } of service.dependsOn) {
      const needed = services.find((one) => one.name === name);
      if (needed) add(needed);
    }
    ordered.push(service);
  };
  for (const name of words) if (!services.some((one) => one.name === name)) throw new Error(`no such service: ${name}`);
  for (const service of services) if (words.length === 0 || words.includes(service.name)) add(service);
  return ordered;
}

function specOf(project: Project, service: ProjectService, imageId: string): unknown {
  const bindings: Record<string, { HostIp: string; HostPort: string }[]> = {};
  for (const port of service.ports) {
    const [, address = '', host = '', container = '', protocol = 'tcp'] = /^(?:(?:(.*):)?(\d*):)?(\d+)(?:\/(tcp|udp))?$/.exec(port) ?? [];
    const key = `${container}/${protocol}`;
    bindings[key] = [...(bindings[key] ?? []), { HostIp: address.replace(/[[\]]/g, ''), HostPort: host }];
  }
  const [first] = service.networks;
  return {
    Image: service.image,
    ...(service.command && { Cmd: service.command }),
    ...(service.entrypoint && { Entrypoint: service.entrypoint }),
    Env: Object.entries(service.environment).map(([name, value]) => `${name}=${value}`),
    ExposedPorts: Object.fromEntries(Object.keys(bindings).map((key) => [key, {}])),
    ...(service.healthcheck && { Healthcheck: { Test: service.healthcheck['test'], Interval: 10_000_000_000 } }),
    Labels: {
      ...service.labels,
      'com.docker.compose.config-hash': service.hash,
      'com.docker.compose.container-number': '1',
      'com.docker.compose.depends_on': service.dependsOn.map(({ name, condition }) => `${name}:${condition}:false`).join(','),
      'com.docker.compose.image': imageId,
      'com.docker.compose.oneoff': 'False',
      'com.docker.compose.project': project.name,
      'com.docker.compose.project.config_files': project.file,
      'com.docker.compose.project.working_dir': project.folder,
      'com.docker.compose.service': service.name,
      'com.docker.compose.version': composeVersion,
    },
    HostConfig: {
      Binds: service.binds,
      PortBindings: bindings,
      NetworkMode: service.networkMode ?? first?.name ?? 'default',
      RestartPolicy: { Name: service.restart },
    },
    NetworkingConfig: { EndpointsConfig: Object.fromEntries(service.networks.map(({ name, aliases }) => [name, { Aliases: aliases }])) },
  };
}

function splitOnce(text: string, by: string): [string, string?] {
  const at = text.indexOf(by);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}
