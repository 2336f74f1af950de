import { randomBytes } from 'node:crypto';
import { chmod, chown, cp, glob, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inject } from 'vitest';
import { parseDocument } from 'yaml';
import { makeShortFolder } from '../short-folder.ts';
import { runHealthChecks } from './podman-health.ts';
import type { RealEngine } from './real-engines.ts';
import { runOrThrow } from './scripts.ts';
import { takeTurn } from './turns.ts';

/**
 * Who brings a project up. They leave different labels on the containers: compose 2 absolute paths, compose 1 relative ones,
 * podman-compose both families of labels and none that marks one-off containers.
 */
export type Composer = 'compose-2' | 'compose-1' | 'podman-compose';

/** A component of the catalog, really running. */
export interface RunningComponent {
  id: string;
  project: string;
  engine: RealEngine;
  /** The project's folder on this machine, with the catalog's own compose.yaml in it. */
  folder: string;
  /** Published host ports by the variable that sets them: `{ WEB_PORT: 41123 }`. */
  ports: Readonly<Record<string, number>>;
  /** What was given to compose besides. */
  variables: Readonly<Record<string, string>>;
  /** Runs any compose command in the project. */
  compose(args: readonly string[]): Promise<string>;
  /** Removes containers, volumes, networks and the folder. */
  down(): Promise<void>;
}

const catalogFolder = fileURLToPath(new URL('../../catalog/', import.meta.url));

/**
 * Brings up a component with the catalog's compose.yaml, on free host ports, and waits until compose is done. On Docker the images' own health checks run every
 * second instead of every half minute, so that a verdict comes soon; on Podman the tests run them.
 * Variables that the file demands (`${NAME:?...}`) and that `variables` does not name get a random value.
 */
export async function bringUp(
  engine: RealEngine,
  id: string,
  options: { composer?: Composer; project?: string; variables?: Readonly<Record<string, string>> } = {},
): Promise<RunningComponent> {
  const composer = options.composer ?? 'compose-2';
  const project = options.project ?? id;
  const source = await findComponent(id);
  const text = await readFile(join(source, 'compose.yaml'), 'utf8');

  const giveBack = /network_mode: host/.test(text) ? await takeTurn('the ports of the host') : undefined;
  if (giveBack) await needFreePorts(hostPorts);
  const ports: Record<string, number> = {};
  const plain: Record<string, string> = {};
  for (const [, name = '', preset = ''] of text.matchAll(/\$\{([A-Z0-9_]+):-([^}]*)\}/g)) {
    if (/PORT$/.test(name)) ports[name] ??= await findFreePort();
    plain[name] = String(ports[name] ?? preset);
  }
  const variables: Record<string, string> = {};
  for (const [, name] of text.matchAll(/\$\{([A-Z0-9_]+):\?/g)) if (name !== undefined) variables[name] = randomBytes(12).toString('hex');
  Object.assign(variables, options.variables);

  const home = await makeShortFolder('qd-stack-');
  const folder = join(home, project);
  await cp(source, folder, { recursive: true });
  if (engine.kind === 'docker' && composer === 'compose-2') await writeFile(join(folder, 'compose.yaml'), oftenChecked(text));
  // All of them, as a deployed project has it: podman-compose 1.3 leaves `A: "${A:-x}"` as it is where .env does not know A.
  await writeFile(
    join(folder, '.env'),
    Object.entries(plain)
      .map(([name, value]) => `${name}=${value}\n`)
      .join(''),
  );
  // A rootless engine reads the folder, and writes into it, as its own user.
  await chmod(home, 0o755);
  await giveTo(home, await stat(engine.socket));

  const { argv, env } = await prepareComposer(composer, engine, home);
  const compose = async (args: readonly string[]): Promise<string> =>
    await runOrThrow([...argv, '-p', project, ...args], { cwd: folder, env: { ...env, ...variables }, bare: true, limitMs: 150_000 });
  const endHealthChecks = engine.kind.startsWith('podman') ? runHealthChecks(engine, project) : undefined;
  const down = async (): Promise<void> => {
    await endHealthChecks?.();
    await compose(['down', '-v', '-t', '1']);
    await rm(home, { recursive: true, force: true });
    giveBack?.();
  };
  try {
    await compose(['up', '-d']);
  } catch (error) {
    await down().catch(() => undefined);
    throw error;
  }
  return { id, project, engine, folder, ports, variables, compose, down };
}

/** Without a test of its own a service keeps that of its image. */
function oftenChecked(text: string): string {
  const compose = parseDocument(text);
  const { services } = compose.toJS() as { services: Record<string, { healthcheck?: object }> };
  for (const name of Object.keys(services)) compose.setIn(['services', name, 'healthcheck', 'interval'], '1s');
  return String(compose);
}

async function findComponent(id: string): Promise<string> {
  for await (const path of glob(`*/${id}/compose.yaml`, { cwd: catalogFolder })) return join(catalogFolder, path, '..');
  throw new Error(`the catalog has no ${id} with a compose.yaml`);
}

let nextPort = 0;

/**
 * A TCP port that nothing listens on, on any address. Each worker has a range of its own, below the ports that the kernel hands out, and
 * goes on to the next with each call: nobody gets it between now and its use.
 */
export async function findFreePort(): Promise<number> {
  const [from, count] = [10_000 + (Number(process.env.VITEST_POOL_ID ?? 1) % 10) * 1_000, 1_000];
  nextPort ||= process.pid;
  for (let tried = 0; tried < count; tried++) {
    const port = from + (nextPort++ % count);
    if (await isFree(port)) return port;
  }
  throw new Error(`no port from ${from} to ${from + count - 1} is free`);
}

async function isFree(port: number): Promise<boolean> {
  return await new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '0.0.0.0', () => server.close(() => resolve(true)));
  });
}

/** What a component on the host's own network takes, whatever the variables say; the reverse proxy is the only one. */
const hostPorts = [80, 2019];

async function needFreePorts(wanted: readonly number[]): Promise<void> {
  for (const port of wanted)
    if (!(await isFree(port))) throw new Error(`port ${port} of this machine is taken, so that the test would meet another program`);
}

async function giveTo(path: string, owner: { uid: number; gid: number }): Promise<void> {
  await chown(path, owner.uid, owner.gid);
  if ((await stat(path)).isDirectory()) for (const name of await readdir(path)) await giveTo(join(path, name), owner);
}

export async function prepareComposer(
  composer: Composer,
  engine: RealEngine,
  home: string,
): Promise<{ argv: string[]; env: Record<string, string | undefined> }> {
  const env = { DOCKER_HOST: engine.url };
  const tools = inject('composeFolder');
  switch (composer) {
    case 'compose-2':
      return { argv: [join(tools, 'docker-compose')], env };
    case 'compose-1':
      return { argv: ['/usr/bin/docker-compose', '--no-ansi'], env };
    case 'podman-compose': {
      // It calls `podman` by name, which would work on the storage of whoever runs the tests.
      const shim = join(home, 'bin', 'podman');
      await runOrThrow(['mkdir', '-p', join(home, 'bin')]);
      await writeFile(shim, `#!/bin/sh\nexec /usr/bin/podman --remote --url '${engine.url}' "$@"\n`, { mode: 0o755 });
      return {
        argv: ['/usr/bin/python3', join(tools, 'podman-compose')],
        env: { ...env, PATH: `${join(home, 'bin')}:${process.env.PATH}` },
      };
    }
  }
}
