import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import type { ComposeTool } from '../../source/engine/compose-tool.ts';
import { openEngine } from '../../source/engine/dockerode-engine.ts';
import { findComposeTool } from '../../source/engine/find-compose.ts';
import { mintGrant } from '../../source/grants/mint.ts';
import type { Host } from '../../source/hosts/host.ts';
import { openLocalHost } from '../../source/hosts/local-host.ts';
import { engineKinds } from './engine-offer.ts';
import { describeBeside, type RealEngineKind, realEngine } from './real-engines.ts';

const signal = (limitMs = 120_000) => AbortSignal.timeout(limitMs);
const local = openLocalHost();

/** Which compose programs a machine has. */
const machines = ['the plugin', 'a current one', 'the Python one', 'podman-compose', 'an older podman-compose'] as const;
let root: string;
const paths = new Map<(typeof machines)[number], string>();

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'qd-compose-'));
  const current = join(inject('composeFolder'), 'docker-compose');
  const newPodman = join(inject('composeFolder'), 'podman-compose');
  for (const machine of machines) {
    const folder = join(root, machine.replaceAll(' ', '-'));
    await mkdir(folder, { recursive: true });
    // Nothing but what the programs themselves call; `docker` is there in all of them.
    for (const program of ['sh', 'env', 'podman', 'docker']) await symlink(await which(program), join(folder, program));
    paths.set(machine, folder);
  }
  const at = (machine: (typeof machines)[number], name: string) => join(paths.get(machine) ?? '', name);
  await mkdir(join(root, 'config', 'cli-plugins'), { recursive: true });
  await mkdir(join(root, 'none'));
  // Podman reads it too, and stops where the variable names a folder without one.
  for (const folder of ['config', 'none']) await writeFile(join(root, folder, 'config.json'), '{}');
  await symlink(current, join(root, 'config', 'cli-plugins', 'docker-compose'));
  await symlink(current, at('a current one', 'docker-compose'));
  await symlink('/usr/bin/docker-compose', at('the Python one', 'docker-compose'));
  await writeFile(at('podman-compose', 'podman-compose'), `#!/bin/sh\nexec /usr/bin/python3 '${newPodman}' "$@"\n`, { mode: 0o755 });
  await symlink('/usr/bin/podman-compose', at('an older podman-compose', 'podman-compose'));
});
afterAll(() => rm(root, { recursive: true, force: true }));

async function which(program: string): Promise<string> {
  const { stdout } = await local.exec(['sh', '-c', `command -v ${program}`], { signal: signal(), limitMs: 5_000 });
  return new TextDecoder().decode(stdout).trim();
}

/** This machine with those programs alone, and an operator whose environment points elsewhere. */
function machineWith(machine: (typeof machines)[number]): Host {
  const env = {
    PATH: paths.get(machine) ?? '',
    DOCKER_CONFIG: machine === 'the plugin' ? join(root, 'config') : join(root, 'none'),
    DOCKER_HOST: 'tcp://127.0.0.1:1',
    DOCKER_CONTEXT: 'elsewhere',
    DOCKER_TLS_VERIFY: '1',
    DOCKER_CERT_PATH: '/nonexistent',
    CONTAINER_HOST: 'unix:///nonexistent.sock',
  };
  return {
    ...local,
    exec: (argv, options) => local.exec(argv, { ...options, env: { ...env, ...options.env } }),
    run: (grant, argv, options) => local.run(grant, argv, { ...options, env: { ...env, ...options.env } }),
  };
}

/** Each kind of engine meets each kind of program; what differs between root and not is whose the engine is. */
function machinesFor(kind: RealEngineKind): readonly (typeof machines)[number][] {
  if (kind === 'docker') return ['the plugin', 'a current one', 'the Python one'];
  return kind === 'podman' ? machines : ['a current one', ...(kind === 'podman-rootless' ? (['an older podman-compose'] as const) : [])];
}

for (const kind of engineKinds) {
  describeBeside(kind, 'the compose command that is found', (real) => {
    test.each(machinesFor(kind))('with %s: brings a project up at this engine and no other (R13)', async (machine) => {
      const engine = openEngine({ url: real.url, origin: 'test' }, local);
      const host = machineWith(machine);
      const found = await findComposeTool(host, { facts: await engine.connect(signal()), address: engine.address }, signal());
      const expected: Record<(typeof machines)[number], Partial<ComposeTool>> = {
        'the plugin': { argv: ['docker', 'compose'], generation: 2 },
        'a current one': { argv: ['docker-compose'], generation: 2, version: expect.stringMatching(/^2\.\d\d/) },
        'the Python one': { argv: ['docker-compose'], generation: 1, version: '1.29.2' },
        'podman-compose': { kind: 'podman-compose', argv: ['podman-compose'], version: '1.3.0' },
        'an older podman-compose': { kind: 'podman-compose', argv: ['podman-compose'], version: '1.0.3' },
      };
      expect(found).toMatchObject(expected[machine]);
      const tool = found as ComposeTool;

      const project = `qd-compose-${randomBytes(3).toString('hex')}`;
      const folder = join(root, project);
      await mkdir(folder);
      await writeFile(
        join(folder, 'compose.yaml'),
        'services:\n  one:\n    image: busybox:latest\n    command: ["sleep", "600"]\n    environment:\n      WORD: "${WORD:?is needed}"\n',
      );
      const compose = async (...args: string[]) => {
        const argv = [...tool.argv, '-f', 'compose.yaml', '-p', project, ...args];
        const outcome = await host.run(mintGrant('test', 'operate', signal()), argv, {
          signal: signal(),
          limitMs: 100_000,
          cwd: folder,
          env: { ...tool.env, WORD: 'hello' },
        });
        expect(outcome.exitCode, new TextDecoder().decode(outcome.stderr)).toBe(0);
        return new TextDecoder().decode(Buffer.concat([outcome.stdout, outcome.stderr]));
      };
      const here = async () => (await engine.list(signal())).filter(({ labels }) => labels['com.docker.compose.project'] === project);
      try {
        if (tool.version !== '1.0.3') expect(await compose('config')).toContain('hello');
        const reported = await compose('up', '-d');
        const [container] = await here();
        expect(container, reported).toBeDefined();
        expect(container).toMatchObject({ state: 'running', labels: { 'com.docker.compose.service': 'one' } });
        expect((await engine.inspect(container?.id ?? '', signal()))?.env).toContainEqual(['WORD', 'hello']);
        for (const other of engineKinds.filter((one) => one !== kind)) {
          const elsewhere = engineOf(other);
          if (elsewhere) expect((await elsewhere.list(signal())).map(({ name }) => name)).not.toContain(container?.name);
          elsewhere?.close();
        }
      } finally {
        await compose('down', '-t', '0');
        // podman-compose 1.0 leaves it.
        const left = (await engine.networks(signal())).filter(({ name }) => name === `${project}_default`);
        for (const { name } of left) await engine.writer(mintGrant('test', 'operate', signal())).removeNetwork(name);
      }
      expect(await here()).toEqual([]);
      engine.close();
    });
  });
}

function engineOf(kind: (typeof engineKinds)[number]) {
  const offer = inject('engineOffers')[kind];
  return 'url' in offer ? openEngine({ url: realEngine(kind).url, origin: 'test' }, local) : undefined;
}
