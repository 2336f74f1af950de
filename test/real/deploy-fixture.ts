import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, inject } from 'vitest';
import { parse } from 'yaml';
import { ask } from './ask.ts';
import { launcher, makeOperator, type Operator } from './operator.ts';
import { runHealthChecks } from './podman-health.ts';
import type { RealEngine } from './real-engines.ts';
import { runOrThrow, runProgram, type ScriptOutcome } from './scripts.ts';
import type { Composer } from './stack.ts';
import { makeStandIn } from './stand-ins.ts';

/** A host of their own for operators: its stack, its compose, a catalog of small components, and the means to stop the time while compose is at work. */
export interface DeployFixture {
  /** STACK on that host. */
  stack: string;
  operator: Operator;
  /** Someone else on the same host, with their own files. */
  another(): Promise<Operator>;
  /**
   * Puts files into the operator's own catalog: `{ 'web/compose.yaml': '…' }`. What says `busybox:latest` there gets `image`: other tests
   * run busybox on the same engine, and to preflight each of those containers is an instance of the component.
   */
  catalog(files: Readonly<Record<string, string>>): Promise<void>;
  /** Runs the health checks of a built-in component, where its engine leaves that to timers of systemd. */
  runHealthChecks(project: string): void;
  /** Busybox under a name that nothing else on the engine has. */
  image: string;
  /** From now on compose waits before it brings anything up, until what this answers is called. */
  holdCompose(): Promise<{ reached: () => Promise<void>; release: () => Promise<void> }>;
  /** Starts a verb and does not wait for it. */
  begin(args: readonly string[]): { kill: () => void; ended: Promise<ScriptOutcome> };
  /** Starts a verb, kills it after that time if it has not ended by then, and waits until nothing that it started works on the stack. */
  killAfter(args: readonly string[], waitMs: number): Promise<void>;
  /** Ends the script on the host and all that it started, as the end of the host would. */
  killScript(): Promise<void>;
  /** Text of a file of the stack; undefined where there is none. */
  file(path: string): Promise<string | undefined>;
  /** Every file of the stack, relative to it. */
  files(): Promise<string[]>;
  /** What the engine says of a service's container. */
  container(project: string, service: string): Promise<ContainerAnswer | undefined>;
  /** Ends all containers and volumes of these projects, and the folder. */
  leave(): Promise<void>;
}

export interface ContainerAnswer {
  Id: string;
  Image: string;
  State: { Running: boolean };
  Config: { Env: string[]; Labels: Record<string, string> };
  NetworkSettings: { Networks: Record<string, unknown> };
}

/** A small component: its component.yaml with what each needs, and a compose file. */
export function componentFiles(id: string, compose: string, rest = ''): Record<string, string> {
  const services = Object.keys((parse(compose) as { services: Record<string, unknown> }).services);
  const listed = services.map((name, index) => `${name}: {${index === 0 ? 'main: true, ' : ''}role: server}`).join(', ');
  return {
    [`${id}/component.yaml`]: `id: ${id}\ngroup: ai\nkind: ${id}\ndeploy: compose\nproduct: {name: ${id}}\nservices: {${listed}}\n${rest}`,
    [`${id}/compose.yaml`]: compose,
  };
}

/** A web server that says what it was told, keeps data, and has a secret. */
export function webFiles(id: string, { image = 'busybox:latest', port = 18600, more = '' } = {}): Record<string, string> {
  return componentFiles(
    id,
    `services:
  web:
    image: ${image}
    restart: unless-stopped
    command: ["sh", "-c", "mkdir -p /data /www; [ -f /data/first ] || hostname >/data/first; echo \\"$$GREETING\\" >/www/index.html; trap 'exit 0' TERM; httpd -f -p 80 -h /www & wait"]
    environment:
      GREETING: "\${GREETING:-good morning}"
      TOKEN: "\${TOKEN:?kept by Quarterdeck, use quarterdeck compose}"
    ports:
      - "\${WEB_BIND:-127.0.0.1}:\${WEB_PORT:-${port}}:80/tcp"
    volumes:
      - data:/data
volumes:
  data: {}
`,
    `ports: {web: {role: page, exposure: loopback, web: true}}
fields:
  - {name: greeting, type: string, target: environment, env: GREETING, default: good morning}
  - {name: token, type: secret-string, secret: true, required: true, target: environment, env: TOKEN, generator: "alphanumeric:32"}
volumes:
  /data: {description: what it keeps}
calls: {front: {title: Does it answer?, reads: true, http: {method: GET, port: web, path: /}}}
probe: {call: front, states: [{when: ok, state: healthy, severity: ok}, {when: 'true', state: starting, severity: busy}]}
${more}`,
  );
}

/** On Podman also the podman-compose that the images are made with, which knows pods. */
export type DeployComposer = Composer | 'podman-compose-1.3';

const programs: Record<DeployComposer, () => { name: string; target: string }> = {
  'compose-2': () => ({ name: 'docker-compose', target: join(inject('composeFolder'), 'docker-compose') }),
  'compose-1': () => ({ name: 'docker-compose', target: '/usr/bin/docker-compose' }),
  'podman-compose': () => ({ name: 'podman-compose', target: '/usr/bin/podman-compose' }),
  'podman-compose-1.3': () => ({ name: 'podman-compose', target: join(inject('composeFolder'), 'podman-compose') }),
};

/** @param more for the environment of its operators */
export async function setFixture(
  engine: RealEngine,
  composer: DeployComposer = 'compose-2',
  more: Readonly<Record<string, string>> = {},
): Promise<DeployFixture> {
  const folder = await mkdtemp(join(tmpdir(), 'qd-deploy-'));
  const home = join(folder, 'home');
  const bin = join(folder, 'bin');
  const catalogFolder = join(folder, 'catalog');
  const hold = join(folder, 'hold');
  const reached = join(folder, 'reached');
  for (const path of [home, bin, catalogFolder]) await mkdir(path);
  const { name, target } = programs[composer]();
  const script = (file: string, text: string) => writeFile(join(bin, file), text, { mode: 0o755 });
  await script(
    name,
    `#!/bin/sh
case " $* " in
  *' up '*) if [ -e '${hold}' ]; then : >'${reached}'; while [ -e '${hold}' ]; do sleep 0.05; done; fi ;;
esac
exec ${composer === 'podman-compose-1.3' ? '/usr/bin/python3 ' : ''}'${target}' "$@"
`,
  );
  // No other compose than the one that is meant, and no plugin of the docker command.
  for (const other of ['docker', 'docker-compose', 'podman-compose']) if (other !== name) await script(other, '#!/bin/sh\nexit 127\n');
  const env = {
    HOME: home,
    PATH: `${bin}:${process.env.PATH}`,
    QUARTERDECK_SECRETS: 'file',
    QUARTERDECK_SECRETS_KEY_FILE: join(folder, 'key'),
    ...more,
  };
  await writeFile(env.QUARTERDECK_SECRETS_KEY_FILE, `${Buffer.alloc(32, 7).toString('base64')}\n`, { mode: 0o600 });
  const stack = join(home, 'stack');
  const endHealthChecks: (() => Promise<void>)[] = [];
  const runChecks = (project: string): void => {
    if (engine.kind.startsWith('podman')) endHealthChecks.push(runHealthChecks(engine, project));
  };

  // Podman without root commits nothing for a client of its API; no other test runs containers there.
  const image = engine.kind === 'podman-rootless' ? 'busybox' : `local/stage-${randomBytes(4).toString('hex')}`;
  let made: Promise<void> | undefined;

  const left: Operator[] = [];
  const arrive = async (): Promise<Operator> => {
    const operator = await makeOperator(engine, env);
    left.push(operator);
    await mkdir(join(operator.home, 'config'), { recursive: true, mode: 0o700 });
    await writeFile(join(operator.home, 'config', 'config.yaml'), `catalogFolder: ${catalogFolder}\n`);
    return operator;
  };
  const operator = await arrive();
  const projects = new Set<string>();
  const inspect = async (id: string) => JSON.parse((await ask(engine, `/containers/${id}/json`)).body) as ContainerAnswer;
  const listed = async (project: string, service?: string) => {
    const labels = [`com.docker.compose.project=${project}`, ...(service === undefined ? [] : [`com.docker.compose.service=${service}`])];
    const { body } = await ask(engine, `/containers/json?all=1&filters=${encodeURIComponent(JSON.stringify({ label: labels }))}`);
    return JSON.parse(body) as { Id: string }[];
  };

  const lock = join(stack, '.quarterdeck', 'lock');
  /** Of the script that works on the stack. */
  const scriptPid = async (): Promise<string | undefined> => {
    const [owner] = await readdir(lock).catch(() => []);
    if (owner === undefined) return undefined;
    return /^pid=(\d+)$/m.exec(await readFile(join(lock, owner), 'utf8').catch(() => ''))?.[1];
  };
  const begin: DeployFixture['begin'] = (args) => {
    const child = spawn(launcher, args, { env: { ...operator.env }, stdio: ['ignore', 'pipe', 'pipe'] });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (bytes: Buffer) => {
      stdout += bytes.toString();
    });
    child.stderr.on('data', (bytes: Buffer) => {
      stderr += bytes.toString();
    });
    return {
      kill: () => void child.kill('SIGKILL'),
      ended: new Promise((resolve) => child.once('close', (code) => resolve({ code: code ?? -1, stdout, stderr }))),
    };
  };

  return {
    stack,
    operator,
    another: arrive,
    image: `${image}:latest`,
    async catalog(files) {
      for (const [path, text] of Object.entries(files)) {
        await mkdir(join(catalogFolder, dirname(path)), { recursive: true });
        if (image !== 'busybox' && text.includes('busybox:latest')) {
          made ??= makeStandIn(engine, { name: image, tag: 'latest', from: 'busybox:latest', files: {}, changes: [] });
          await made;
        }
        await writeFile(join(catalogFolder, path), text.replaceAll('busybox:latest', `${image}:latest`));
        const project = path.split('/')[0] ?? '';
        if (!projects.has(project)) runChecks(project);
        projects.add(project);
      }
    },
    runHealthChecks: runChecks,
    async holdCompose() {
      await rm(reached, { force: true });
      await writeFile(hold, '');
      return {
        reached: async () => await until(() => existsSync(reached), 'compose was never called'),
        release: async () => await rm(hold, { force: true }),
      };
    },
    begin,
    async killAfter(args, waitMs) {
      const begun = begin(args);
      const killed = setTimeout(() => begun.kill(), waitMs);
      await begun.ended;
      clearTimeout(killed);
      await until(
        async () => {
          const pid = await scriptPid();
          return pid === undefined || !existsSync(`/proc/${pid}`);
        },
        `something that ${args.join(' ')} started went on for a minute`,
      );
    },
    async killScript() {
      // It has a session of its own.
      await runOrThrow(['pkill', '-KILL', '-s', (await scriptPid()) ?? expect.fail('no script is at work')]);
    },
    file: async (path) => await readFile(join(stack, path), 'utf8').catch(() => undefined),
    files: async () =>
      (await readdir(stack, { recursive: true, withFileTypes: true }))
        .filter((entry) => entry.isFile() && !entry.parentPath.includes('/.quarterdeck'))
        .map((entry) => join(entry.parentPath, entry.name).slice(stack.length + 1))
        .sort(),
    async container(project, service) {
      const [found] = await listed(project, service);
      return found && (await inspect(found.Id));
    },
    async leave() {
      await rm(hold, { force: true });
      for (const end of endHealthChecks) await end();
      // Podman removes no container in whose network others are: those go in the first round.
      for (const _ of [1, 2])
        for (const project of projects)
          for (const { Id } of await listed(project)) await ask(engine, `/containers/${Id}?force=true&v=true`, { method: 'DELETE' });
      for (const project of projects) {
        const filters = encodeURIComponent(JSON.stringify({ label: [`com.docker.compose.project=${project}`] }));
        const { Volumes } = JSON.parse((await ask(engine, `/volumes?filters=${filters}`)).body) as { Volumes: { Name: string }[] | null };
        for (const { Name } of Volumes ?? []) await ask(engine, `/volumes/${Name}?force=true`, { method: 'DELETE' });
        const networks = JSON.parse((await ask(engine, `/networks?filters=${filters}`)).body) as { Id: string }[];
        for (const { Id } of networks) await ask(engine, `/networks/${Id}`, { method: 'DELETE' });
      }
      if (made) await ask(engine, `/images/${image}:latest?force=true`, { method: 'DELETE' });
      for (const one of left) await one.leave();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Asks ten times a second, up to a minute. */
export async function until(seen: () => boolean | Promise<boolean>, otherwise: string): Promise<void> {
  for (const end = Date.now() + 60_000; !(await seen()); ) {
    if (Date.now() > end) throw new Error(otherwise);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** What a page of this machine says; empty while nothing answers. */
export async function pageAt(port: number): Promise<string> {
  const { stdout } = await runProgram(['curl', '-s', '--max-time', '3', `http://127.0.0.1:${port}/`], { bare: true });
  return stdout.trim();
}
