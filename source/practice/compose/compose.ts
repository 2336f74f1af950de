import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Container } from '../engine/container.ts';
import { statusText } from '../engine/container-json.ts';
import { createContainer } from '../engine/create-container.ts';
import { Execs } from '../engine/execs.ts';
import type { Machine } from '../engine/machine.ts';
import { composeVersion, type Declared, type Project, type ProjectService, readProject } from './project.ts';

/** The `docker-compose` of the practice machine: the part that deployments need, with compose's messages. */
export interface ComposeRun {
  argv: readonly string[];
  folder: string;
  environment: Readonly<Record<string, string | undefined>>;
  machine: Machine;
  /** Aborted when the program that started it is gone. */
  signal: AbortSignal;
  write(text: string, stream: 'stdout' | 'stderr'): void;
}

interface Command extends ComposeRun {
  project: Project;
  options: Readonly<Record<string, unknown>>;
  words: readonly string[];
  say(line: string): void;
}

const healthLimitMs = 120_000;
const pollMs = 150;
const text = { type: 'string' } as const;
/** The options that have a value, before the command and behind it. All others are flags. */
const valued = {
  ...{ file: { ...text, short: 'f' }, 'project-name': { ...text, short: 'p' }, 'project-directory': text, 'env-file': text, profile: text },
  ...{ ansi: text, progress: text, pull: text, timeout: { ...text, short: 't' }, index: text, workdir: { ...text, short: 'w' } },
} as const;

export async function runCompose(run: ComposeRun): Promise<number> {
  const { argv } = run;
  // Everything behind the service of an exec belongs to the program.
  const exec = argv.indexOf('exec');
  const service = exec < 0 ? -1 : argv.findIndex((word, index) => index > exec && !word.startsWith('-'));
  const end = service < 0 ? argv.length : service + 1;
  const { values, positionals } = parseArgs({ args: argv.slice(0, end), options: valued, strict: false, allowPositionals: true });
  const [verb = '', ...words] = [...positionals, ...argv.slice(end)];
  const options: Command['options'] = values;
  const say = (line: string) => run.write(`${line}\n`, 'stderr');
  if (verb === 'version') {
    run.write(options['short'] ? `${composeVersion}\n` : `Docker Compose version v${composeVersion}\n`, 'stdout');
    return 0;
  }
  const command = commands[verb];
  if (!command) {
    say(`unknown docker command: "compose ${verb}"`);
    return 16;
  }
  const { folder, environment } = run;
  try {
    const project = await readProject({ folder, file: options['file'] as string, name: options['project-name'] as string, environment });
    return (await command({ ...run, project, options, words, say })) ?? 0;
  } catch (thrown) {
    say(thrown instanceof Error ? thrown.message : String(thrown));
    return 1;
  }
}

const commands: Readonly<Record<string, (command: Command) => Promise<number | undefined> | undefined>> = {
  up,
  down,
  start: (command) => each(command, 'Started', (container) => command.machine.start(container)),
  stop: (command) => each(command, 'Stopped', (container) => command.machine.stop(container)),
  restart: (command) => each(command, 'Started', (container) => command.machine.restart(container)),
  rm: (command) => each(command, 'Removed', (container) => removeContainer(command, container)),
  ps(command) {
    const lines = containersOf(command).map((one) => `${one.name}   ${serviceOf(one)}   ${statusText(one)}\n`);
    command.write(`NAME   SERVICE   STATUS\n${lines.join('')}`, 'stdout');
    return undefined;
  },
  config({ project: { name, services }, options, write }) {
    if (options['q'] || options['quiet']) return undefined;
    const names = services.map((service) => `${service.name}\n`).join('');
    const whole = { name, services: Object.fromEntries(services.map((service) => [service.name, service])) };
    write(options['services'] ? names : `${JSON.stringify(whole, null, 2)}\n`, 'stdout');
    return undefined;
  },
  async exec(command) {
    const { machine, write } = command;
    const [service, ...argv] = command.words;
    const container = containersOf(command).find((one) => serviceOf(one) === service && one.isUp);
    if (!container) throw new Error(`service "${service ?? ''}" is not running`);
    const execs = new Execs(machine);
    const instance = execs.create(container, { argv, environment: {}, attachStdin: false, tty: true, size: { rows: 24, columns: 80 } });
    const output = { write: (bytes: Buffer) => write(bytes.toString().replaceAll('\r\n', '\n'), 'stdout'), end: () => undefined };
    await execs.run(instance, { output });
    return instance.exitCode ?? 1;
  },
};

const serviceOf = ({ spec }: Container) => spec.labels['com.docker.compose.service'] ?? '';

function containersOf({ machine, project }: Command): Container[] {
  return machine.containers().filter(({ spec }) => spec.labels['com.docker.compose.project'] === project.name);
}

async function up(command: Command): Promise<undefined> {
  const { project, options, words, say, signal } = command;
  const services = inOrder(project.services, words);
  createShared(command);
  const existing = containersOf(command);
  for (const service of services) {
    signal.throwIfAborted();
    const old = existing.find((container) => serviceOf(container) === service.name);
    await upService(command, service, old);
  }
  if (!options['remove-orphans'] || words.length > 0) return;
  for (const orphan of existing) {
    if (project.services.some(({ name }) => name === serviceOf(orphan))) continue;
    await removeContainer(command, orphan);
    say(` Container ${orphan.name}  Removed`);
  }
}

async function upService(command: Command, service: ProjectService, old: Container | undefined): Promise<void> {
  const { machine, project, options, say } = command;
  for (const { name, condition } of options['no-deps'] || options['no-start'] ? [] : service.dependsOn)
    if (condition !== 'service_started') await waitFor(command, name, condition);
  const imageId = imageOf(command, service);
  const name = `${project.name}-${service.name}-1`;
  const isSame = old?.spec.labels['com.docker.compose.config-hash'] === service.hash && old.spec.imageId === imageId;
  let container = old;
  if (!container || !isSame || options['force-recreate']) {
    if (old) {
      say(` Container ${name}  Recreate`);
      await removeContainer(command, old);
    }
    container = createContainer(machine, { ...service.request, name, labels: project.labelsOf(service, imageId) });
    say(` Container ${name}  ${old ? 'Recreated' : 'Created'}`);
  } else if (container.isUp) say(` Container ${name}  Running`);
  if (options['no-start'] || container.isUp) return;
  await machine.start(container);
  say(` Container ${name}  Started`);
}

async function removeContainer({ machine }: Command, container: Container): Promise<void> {
  await machine.stop(container);
  await machine.remove(container, { force: true, volumes: false });
}

async function down(command: Command): Promise<undefined> {
  const { machine, project, options, say } = command;
  await each({ ...command, words: [] }, 'Removed', (container) => removeContainer(command, container));
  for (const { name, external } of project.networks) {
    if (external || machine.containers().some(({ spec }) => spec.networks.includes(name)) || !machine.networks.delete(name)) continue;
    say(` Network ${name}  Removed`);
  }
  for (const { name, external } of options['v'] || options['volumes'] ? project.volumes : [])
    if (!external && machine.volumes.delete(name)) say(` Volume ${name}  Removed`);
}

async function each(command: Command, done: string, change: (container: Container) => Promise<unknown>): Promise<undefined> {
  for (const container of containersOf(command)) {
    if (command.words.length > 0 && !command.words.includes(serviceOf(container))) continue;
    command.signal.throwIfAborted();
    await change(container);
    command.say(` Container ${container.name}  ${done}`);
  }
}

function createShared({ machine, project, say }: Command): void {
  const labelsOf = (kind: string, { key }: Declared) => ({
    'com.docker.compose.project': project.name,
    [`com.docker.compose.${kind}`]: key,
  });
  for (const network of project.networks) {
    if (machine.networks.has(network.name)) continue;
    if (network.external) throw new Error(`network ${network.name} declared as external, but could not be found`);
    machine.addNetwork(network.name, labelsOf('network', network), Date.now());
    say(` Network ${network.name}  Created`);
  }
  for (const volume of project.volumes) {
    if (machine.volumes.has(volume.name)) continue;
    if (volume.external) throw new Error(`external volume "${volume.name}" not found`);
    machine.addVolume(volume.name, labelsOf('volume', volume), Date.now());
    say(` Volume ${volume.name}  Created`);
  }
}

function imageOf({ machine, say }: Command, { request: { image } }: ProjectService): string {
  const found = machine.images.find(image);
  if (found) return found.id;
  say(` Image ${image}  Pulling`);
  const { id } = machine.images.add(image, { createdMs: Date.now() });
  say(` Image ${image}  Pulled`);
  return id;
}

async function waitFor(command: Command, service: string, condition: string): Promise<void> {
  const untilMs = Date.now() + healthLimitMs;
  for (;;) {
    const found = containersOf(command).find((one) => serviceOf(one) === service);
    const { status, health } = found?.state ?? {};
    if (condition === 'service_completed_successfully' ? status === 'exited' : found?.isUp && health === 'healthy') return;
    if ((found?.isUp && health === 'unhealthy') || Date.now() > untilMs)
      throw new Error(`dependency failed to start: container ${found?.name ?? service} is unhealthy`);
    await wait(pollMs, undefined, { signal: command.signal });
  }
}

function inOrder(services: readonly ProjectService[], words: readonly string[]): ProjectService[] {
  const ordered = new Set<ProjectService>();
  const add = (service: ProjectService) => {
    if (ordered.has(service)) return;
    for (const { name } of service.dependsOn) for (const needed of services) if (needed.name === name) add(needed);
    ordered.add(service);
  };
  for (const name of words) if (!services.some((service) => service.name === name)) throw new Error(`no such service: ${name}`);
  for (const service of services) if (words.length === 0 || words.includes(service.name)) add(service);
  return [...ordered];
}
