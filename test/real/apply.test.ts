import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { openEngine } from '../../source/engine/dockerode-engine.ts';
import type { Engine } from '../../source/engine/engine.ts';
import { findComposeTool } from '../../source/engine/find-compose.ts';
import { mintGrant } from '../../source/grants/mint.ts';
import type { Host } from '../../source/hosts/host.ts';
import { openLocalHost } from '../../source/hosts/local-host.ts';
import { type ApplyOptions, applyOptionsOf, applyTransaction } from '../../source/stack/apply/apply.ts';
import { readLock } from '../../source/stack/apply/lock.ts';
import { finishRun, undoRun } from '../../source/stack/apply/recover.ts';
import { readRun } from '../../source/stack/apply/run-journal.ts';
import { scriptOf } from '../../source/stack/apply/script.ts';
import type { Plan } from '../../source/stack/model.ts';
import { ComposeEditor } from '../../source/stack/plan/compose-editor.ts';
import { treeOf } from '../doubles/compose-double.ts';
import { planOf, transactionOf } from '../doubles/deployed-stack.ts';
import { describeBeside, itAgain, type RealEngineKind } from './real-engines.ts';

const signal = AbortSignal.timeout(1_800_000);
const grant = mintGrant('test', 'operate', signal);
const local = openLocalHost();

type Machine = 'compose 2' | 'the Python compose' | 'podman-compose' | 'podman-compose 1.0';
/** Long tests run the others as well: `deploy.test.ts` deploys with each of them. */
const ways: readonly { kind: RealEngineKind; machines: readonly Machine[]; usual: Machine }[] = [
  { kind: 'docker', machines: ['compose 2', 'the Python compose'], usual: 'compose 2' },
  { kind: 'podman', machines: ['compose 2', 'podman-compose', 'podman-compose 1.0'], usual: 'podman-compose' },
];

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'qd-real-apply-'));
  await mkdir(join(root, 'config'));
  await writeFile(join(root, 'config', 'config.json'), '{}');
});
afterAll(() => rm(root, { recursive: true, force: true }));

/** This machine, with one compose program before all others in its PATH. */
async function hostWith(machine: Machine): Promise<Host & { argumentsOfPodman(): Promise<string> }> {
  const folder = await mkdtemp(join(root, 'bin-'));
  const put = (name: string, target: string) => symlink(target, join(folder, name));
  const script = (name: string, text: string) => writeFile(join(folder, name), text, { mode: 0o755 });
  const absent = '#!/bin/sh\nexit 127\n';
  if (machine === 'compose 2') await put('docker-compose', join(inject('composeFolder'), 'docker-compose'));
  else if (machine === 'the Python compose') await put('docker-compose', '/usr/bin/docker-compose');
  else await script('docker-compose', absent);
  if (machine === 'podman-compose')
    await script('podman-compose', `#!/bin/sh\nexec /usr/bin/python3 '${join(inject('composeFolder'), 'podman-compose')}' "$@"\n`);
  else if (machine === 'podman-compose 1.0') await put('podman-compose', '/usr/bin/podman-compose');
  else await script('podman-compose', absent);
  // podman-compose passes on what it interpolates, to a program whose arguments everybody on the machine can read.
  const seen = join(folder, 'arguments');
  await script('podman', `#!/bin/sh\nprintf '%s\\n' "$*" >>'${seen}'\nPATH='${process.env.PATH}' exec podman "$@"\n`);
  const env = { PATH: `${folder}:${process.env.PATH}`, DOCKER_CONFIG: join(root, 'config'), WORD: 'of the operator’s own shell' };
  return {
    ...local,
    argumentsOfPodman: () => readFile(seen, 'utf8'),
    exec: (argv, options) => local.exec(argv, { ...options, env: { ...env, ...options.env } }),
    run: (given, argv, options) => local.run(given, argv, { ...options, env: { ...env, ...options.env } }),
  };
}

const composeText = (project: string) => `services:
  main:
    image: busybox:latest
    restart: unless-stopped
    command: ["sh", "-c", "trap 'exit 0' TERM; echo started; sleep 600 & wait"]
    environment:
      WORD: "\${WORD:-none}"
      TOKEN: "\${TOKEN:?kept by Quarterdeck, use quarterdeck compose}"
    volumes:
      - data:/data
volumes:
  data: {name: ${project}-data}
`;

/** Ends what the script itself started, as a crash does; containers and the engine are others' processes. */
async function killSession(pid: number): Promise<void> {
  // First the script, or it would see what it waits for fail.
  process.kill(pid, 'SIGKILL');
  // Until none is left: one that has just forked leaves a child that was not there yet.
  for (let found = true; found; ) {
    found = false;
    for (const name of await readdir('/proc')) {
      const fields = (await readFile(`/proc/${name}/stat`, 'utf8').catch(() => '')).replace(/^.*\) /s, '').split(' ');
      if (Number(fields[3]) !== pid || ['Z', 'X'].includes(fields[0] ?? '')) continue;
      found = true;
      try {
        process.kill(Number(name), 'SIGKILL');
      } catch {
        // It ended by itself.
      }
    }
  }
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) {
    signal.throwIfAborted();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

for (const { kind, machines, usual } of ways) {
  describeBeside(kind, 'a transaction', (real) => {
    for (const machine of machines) {
      (machine === usual ? test : itAgain)(
        `with ${machine} is applied, changed, killed in the middle, finished and taken back (R13)`,
        async () => {
          const engine = openEngine({ url: real.url, origin: 'test' }, local);
          const host = await hostWith(machine);
          const tool = await findComposeTool(host, { facts: await engine.connect(signal), address: engine.address }, signal);
          expect(tool).toBeDefined();
          if (!tool) return;
          expect(tool.kind).toBe(machine.startsWith('podman-compose') ? 'podman-compose' : 'docker-compose');

          const project = `qd-apply-${randomBytes(3).toString('hex')}`;
          const stackFolder = join(root, `stack-${project}`);
          const editor = new ComposeEditor(composeText(project), 'compose.yaml');
          if (tool.kind === 'podman-compose') editor.moveSecrets(new Set(['TOKEN']), {});
          const compose = editor.text();
          const secrets = (token: string) => ({ [project]: { TOKEN: token } });
          const options = (run: string, plan: Plan, token: string): ApplyOptions => ({
            transaction: transactionOf(run, [plan]),
            tool,
            engine,
            secrets: secrets(token),
            stepLimitSeconds: 120,
          });
          const [image] = await engine
            .images(signal)
            .then((all) => all.filter(({ tags }) => tags.some((tag) => /(?:^|\/)busybox:latest$/.test(tag))));
          const before = { reference: 'busybox:latest', id: image?.id ?? '' };
          const service = { name: 'main', image: 'busybox:latest', why: 'test', present: true };
          const first = planOf(
            project,
            stackFolder,
            [
              { path: `${project}/compose.yaml`, after: compose },
              { path: `${project}/.env`, after: 'WORD=one\n', mode: 0o600 },
            ],
            { services: [{ ...service, before: undefined, change: 'create' }] },
          );
          const change = planOf(
            project,
            stackFolder,
            [{ path: `${project}/.env`, before: 'WORD=one\n', after: 'WORD=two\n', mode: 0o600 }],
            {
              kind: 'change',
              services: [{ ...service, before, change: 'recreate' }],
              after: [
                { component: project, service: 'main', argv: ['sh', '-c', 'echo "it\'s $WORD" >/data/after'], why: 'its rules change' },
              ],
            },
          );
          const old = 'marked-old-secret';
          const fresh = `marked-new ' " $x \\ secret`;
          try {
            await applyTransaction(grant, host, options('run1', first, old), () => {});
            expect(await environmentOf(engine, project)).toMatchObject({ WORD: 'one', TOKEN: old });

            // Killed while compose runs.
            const changing = options('run2', change, fresh);
            const script = scriptOf(changing.transaction, tool, await applyOptionsOf(grant, host, changing, 0));
            await host.run(grant, ['sh', '-s'], { signal, limitMs: 60_000, stdin: script });
            const child = join(stackFolder, '.quarterdeck/runs/run2/child');
            await until(async () => existsSync(child) && /\n/.test(await readFile(child, 'utf8')));
            const pid = Number(/^pid=(\d+)$/m.exec(Object.values(await treeOf(join(stackFolder, '.quarterdeck/lock'))).join('\n'))?.[1]);
            await killSession(pid);
            await until(async () => !(await readLock(host, stackFolder, signal))?.alive);
            const stopped = await readRun(host, stackFolder, 'run2', signal);
            expect(stopped).toMatchObject({ state: 'stopped', summary: `Stopped while starting the containers of ${project}.` });
            if (!stopped) return;

            const { transaction: _, ...recovering } = changing;
            expect((await finishRun(grant, host, stopped.transaction, recovering, () => {})).state).toBe('applied');
            expect(await environmentOf(engine, project)).toMatchObject({ WORD: 'two', TOKEN: fresh });
            expect(await fileIn(engine, project, '/data/after')).toBe("it's two\n");

            const undone = await undoRun(grant, host, stopped.transaction, { ...recovering, secrets: secrets(old) }, () => {});
            expect(undone.state).toBe('undone');
            expect(await environmentOf(engine, project)).toMatchObject({ WORD: 'one', TOKEN: old });
            expect(await readFile(join(stackFolder, project, '.env'), 'utf8')).toBe('WORD=one\n');

            const left = Object.entries(await treeOf(stackFolder)).filter(([path, text]) =>
              /marked-|quarterdeck-new|\.quarterdeck\/lock/.test(`${path}\n${text}`),
            );
            expect(left).toEqual([]);
            // Other stacks of this machine have such a folder too while they are changed.
            const [inMemory = ''] = /quarterdeck-[0-9a-f]{16}/.exec(script) ?? [];
            expect(inMemory).not.toBe('');
            for (const folder of [process.env.XDG_RUNTIME_DIR, '/dev/shm'])
              expect(existsSync(join(folder ?? '/nonexistent', inMemory))).toBe(false);

            if (tool.kind === 'podman-compose') {
              const passed = await host.argumentsOfPodman();
              expect(passed).toMatch(machine === 'podman-compose' ? / -e TOKEN / : / --env-file /);
              expect(passed).not.toContain('marked-');
            }

            // A program that cannot be had: the step fails, and says what compose said.
            const broken = planOf(project, stackFolder, [
              { path: `${project}/compose.yaml`, before: compose, after: compose.replace('"sh", "-c"', '"/no/such/program"') },
            ]);
            await expect(
              applyTransaction(
                grant,
                host,
                options('run3', { ...broken, kind: 'change', services: [{ ...service, before, change: 'recreate' }] }, old),
                () => {},
              ),
            ).rejects.toMatchObject({
              code: 'failed.apply',
              message: expect.stringMatching(/no such file or directory|not found|was not started/),
            });
            await undoRun(grant, host, transactionOf('run3', [broken]), { ...recovering, secrets: secrets(old) }, () => {});
            expect(await environmentOf(engine, project)).toMatchObject({ WORD: 'one' });

            const removal = planOf(
              project,
              stackFolder,
              [
                { path: `${project}/compose.yaml`, before: compose },
                { path: `${project}/.env`, before: 'WORD=one\n' },
              ],
              { kind: 'remove', services: [{ ...service, before, change: 'remove' }] },
            );
            await applyTransaction(grant, host, options('run4', removal, old), () => {});
            expect((await containersOf(engine, project)).length).toBe(0);
            expect(existsSync(join(stackFolder, project))).toBe(false);
          } finally {
            for (const { id } of await containersOf(engine, project)) await engine.writer(grant).remove(id, { force: true, volumes: true });
            for (const { name } of await engine.volumes(signal))
              if (name === `${project}-data`) await engine.writer(grant).removeVolume(name);
            for (const { name } of await engine.networks(signal))
              if (name.startsWith(project)) await engine.writer(grant).removeNetwork(name);
            engine.close();
          }
        },
      );

      (machine === usual ? test : itAgain)(`with ${machine} gives what it recreates and removes the time to end`, async () => {
        const engine = openEngine({ url: real.url, origin: 'test' }, local);
        const host = await hostWith(machine);
        const tool = await findComposeTool(host, { facts: await engine.connect(signal), address: engine.address }, signal);
        if (!tool) throw new Error(`no ${machine}`);
        const project = `qd-ends-${randomBytes(3).toString('hex')}`;
        const stackFolder = join(root, `stack-${project}`);
        const folder = join(stackFolder, 'seen');
        await mkdir(folder, { recursive: true });
        const textOf = (word: string) => `services:
  main:
    image: busybox:latest
    command: ["sh", "-c", "trap 'sleep 1; echo ${word} ended >>/seen/ends; exit 0' TERM; touch /seen/${word}; while :; do sleep 0.1; done"]
    volumes: ["${folder}:/seen"]
`;
        const apply = (name: string, before: string | undefined, after: string | undefined, overrides: Partial<Plan>) => {
          const plan = planOf(project, stackFolder, [{ path: `${project}/compose.yaml`, before, after }], overrides);
          const options = { transaction: transactionOf(name, [plan]), tool, engine, secrets: { [project]: {} }, stepLimitSeconds: 120 };
          return applyTransaction(grant, host, options, () => {});
        };
        const [one, two] = [textOf('one'), textOf('two')];
        const service = { name: 'main', image: 'busybox:latest', before: undefined, why: 'test', present: true };
        try {
          await apply('run1', undefined, one, { services: [{ ...service, change: 'create' }] });
          await until(async () => existsSync(join(folder, 'one')));
          await apply('run2', one, two, { kind: 'change', services: [{ ...service, change: 'recreate' }] });
          await until(async () => existsSync(join(folder, 'two')));
          expect(await readFile(join(folder, 'ends'), 'utf8')).toBe('one ended\n');
          await apply('run3', two, undefined, { kind: 'remove', services: [] });
          expect(await readFile(join(folder, 'ends'), 'utf8')).toBe('one ended\ntwo ended\n');
        } finally {
          for (const { id } of await containersOf(engine, project)) await engine.writer(grant).remove(id, { force: true, volumes: true });
          for (const { name } of await engine.networks(signal))
            if (name.startsWith(project)) await engine.writer(grant).removeNetwork(name);
          engine.close();
        }
      });

      (machine === usual ? test : itAgain)(
        `with ${machine} takes away what a profile had, brings it back, and takes that back too`,
        async () => {
          const engine = openEngine({ url: real.url, origin: 'test' }, local);
          const host = await hostWith(machine);
          const tool = await findComposeTool(host, { facts: await engine.connect(signal), address: engine.address }, signal);
          if (!tool) throw new Error(`no ${machine}`);
          const project = `qd-profile-${randomBytes(3).toString('hex')}`;
          const stackFolder = join(root, `stack-${project}`);
          // What stands there is edited on and on, as one that an operator changed by hand.
          const composeOf = (text: string, active: readonly string[]) => {
            const editor = new ComposeEditor(text, 'compose.yaml');
            if (tool.kind === 'podman-compose') editor.keepProfiles(active);
            return editor.text();
          };
          const texts = [composeOf(profileText, ['more'])];
          for (const active of [[], ['more']]) texts.push(composeOf(texts.at(-1) ?? '', active));
          const env = (active: boolean) => `COMPOSE_PROFILES=${active ? 'more' : ''}\n`;
          const service = (name: string, change: 'create' | 'keep' | 'remove') =>
            ({ name, image: 'busybox:latest', before: undefined, change, why: 'test', present: true }) as const;
          const step = (index: number, extra: 'create' | 'keep' | 'remove') =>
            planOf(
              project,
              stackFolder,
              [
                { path: `${project}/compose.yaml`, ...(index > 0 && { before: texts[index - 1] }), after: texts[index] },
                { path: `${project}/.env`, ...(index > 0 && { before: env(index % 2 === 1) }), after: env(index % 2 === 0), mode: 0o600 },
              ],
              {
                kind: index === 0 ? 'deploy' : 'change',
                services: [service('main', index === 0 ? 'create' : 'keep'), service('extra', extra)],
              },
            );
          const run = (plan: Plan, name: string): ApplyOptions => ({
            transaction: transactionOf(name, [plan]),
            tool,
            engine,
            secrets: { [project]: {} },
            stepLimitSeconds: 120,
          });
          const apply = (plan: Plan, name: string) => applyTransaction(grant, host, run(plan, name), () => {});
          const undo = async (name: string) => {
            const done = await readRun(host, stackFolder, name, signal);
            if (!done) throw new Error(`no run ${name}`);
            const { transaction: _, ...options } = run(step(0, 'create'), name);
            await undoRun(grant, host, done.transaction, options, () => {});
          };
          const running = async () =>
            (await containersOf(engine, project)).map(({ labels, state }) => `${labels['com.docker.compose.service']} ${state}`).sort();
          try {
            await apply(step(0, 'create'), 'run1');
            expect(await running()).toEqual(['extra running', 'main running']);
            await apply(step(1, 'remove'), 'run2');
            expect(await running()).toEqual(['main running']);
            await undo('run2');
            expect(await running()).toEqual(['extra running', 'main running']);
            await apply(step(1, 'remove'), 'run3');
            await apply(step(2, 'create'), 'run4');
            expect(await running()).toEqual(['extra running', 'main running']);
            await undo('run4');
            expect(await running()).toEqual(['main running']);
          } finally {
            for (const { id } of await containersOf(engine, project)) await engine.writer(grant).remove(id, { force: true, volumes: true });
            for (const { name } of await engine.networks(signal))
              if (name.startsWith(project)) await engine.writer(grant).removeNetwork(name);
            engine.close();
          }
        },
      );
    }
  });
}

const profileText = `services:
  main:
    image: busybox:latest
    restart: unless-stopped
    command: ["sh", "-c", "trap 'exit 0' TERM; sleep 600 & wait"]
  # The operator's own words.
  extra:
    image: busybox:latest
    restart: unless-stopped
    profiles: [more]
    command: ["sh", "-c", "trap 'exit 0' TERM; sleep 601 & wait"]
    environment:
      WORD: "\${WORD:-none}"
`;

const containersOf = async (engine: Engine, project: string) =>
  (await engine.list(signal)).filter(({ labels }) => labels['com.docker.compose.project'] === project);

async function environmentOf(engine: Engine, project: string): Promise<Record<string, string>> {
  const containers = await containersOf(engine, project);
  expect(containers.map(({ state }) => state)).toEqual(['running']);
  return Object.fromEntries((await engine.inspect(containers[0]?.id ?? '', signal))?.env ?? []);
}

async function fileIn(engine: Engine, project: string, path: string): Promise<string> {
  const [container] = await containersOf(engine, project);
  return Buffer.from((await engine.readFile(container?.id ?? '', path, { signal })) ?? []).toString();
}
