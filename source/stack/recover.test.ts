import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { appendFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pLimit from 'p-limit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { besideRuns, type ComposeWorld, makeComposeWorld, treeOf } from '../../test/doubles/compose-double.ts';
import { containerDetail } from '../../test/doubles/container-facts.ts';
import { planOf, transactionOf } from '../../test/doubles/deployed-stack.ts';
import { EngineDouble } from '../../test/doubles/engine-double.ts';
import type { Fault } from '../faults/fault.ts';
import { mintGrant } from '../grants/mint.ts';
import { type ApplyOptions, applyOptionsOf, applyTransaction } from './apply.ts';
import { scriptOf } from './apply-script.ts';
import { finishRun, markVerified, recordBefore, undoRun } from './recover.ts';
import { findDamagedRuns, readRun, readRuns } from './run-journal.ts';
import { readLock } from './stack-lock.ts';
import type { RunState, Transaction } from './transaction.ts';

const signal = AbortSignal.timeout(900_000);
const grant = mintGrant('apply', 'operate', signal);
const oldToken = 'marked-secret-old';
const newToken = 'marked-secret-new';
const compose = (image: string) =>
  `services:\n  main:\n    image: ${image}\n    environment:\n      ADMIN_TOKEN: "\${ADMIN_TOKEN:?kept by Quarterdeck, use quarterdeck compose}"\n`;
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** A stack with a proxy and a vault; the change brings the vault to another version, with another secret, and adds a chat. */
class Scene {
  readonly base: string;
  readonly world: ComposeWorld;
  constructor(base: string, world: ComposeWorld) {
    this.base = base;
    this.world = world;
  }

  static async make(): Promise<Scene> {
    const base = await mkdtemp(join(folder, 'qd-recover-'));
    const scene = new Scene(base, await makeComposeWorld(base));
    const { stackFolder } = scene.world;
    const first = transactionOf('20261101-first', [
      planOf('proxy', stackFolder, [{ path: 'proxy/compose.yaml', after: 'services: {main: {image: "proxy:1"}}\n' }]),
      planOf('vault', stackFolder, [
        { path: 'vault/compose.yaml', after: compose('vault:1') },
        { path: 'vault/.env', after: 'A=1\n', mode: 0o600 },
        { path: 'vault/files/old.conf', after: 'old\n' },
      ]),
    ]);
    await applyTransaction(grant, scene.world.host, scene.options(first, oldToken), () => {});
    spawnSync('rm', ['-rf', join(stackFolder, '.quarterdeck/runs')]);
    spawnSync('cp', ['-a', stackFolder, join(base, 'stack.kept')]);
    spawnSync('cp', ['-a', scene.world.containers, join(base, 'containers.kept')]);
    return scene;
  }

  get change(): Transaction {
    const { stackFolder } = this.world;
    return transactionOf('20261121-change', [
      planOf(
        'vault',
        stackFolder,
        [
          { path: 'vault/compose.yaml', before: compose('vault:1'), after: compose('vault:2') },
          { path: 'vault/.env', before: 'A=1\n', after: 'A=2\n', mode: 0o600 },
          { path: 'vault/files/old.conf', before: 'old\n', after: undefined },
          { path: 'proxy/files/sites/vault.caddy', after: 'vault.lan\n' },
        ],
        { kind: 'change', after: [{ component: 'proxy', service: 'main', argv: ['reload'], why: 'its rules change' }] },
      ),
      planOf('chat', stackFolder, [
        { path: 'chat/compose.yaml', after: compose('chat:1') },
        { path: 'chat/files/a/b.conf', after: 'b\n' },
      ]),
    ]);
  }

  options(transaction: Transaction, token: string): ApplyOptions {
    const secrets = { vault: { ADMIN_TOKEN: token }, chat: { ADMIN_TOKEN: token } };
    return { transaction, tool: this.world.tool, secrets, engine: new EngineDouble() };
  }

  async reset(): Promise<void> {
    await this.world.killAt(undefined);
    spawnSync('rm', ['-rf', this.world.stackFolder, this.world.containers]);
    spawnSync('cp', ['-a', join(this.base, 'stack.kept'), this.world.stackFolder]);
    spawnSync('cp', ['-a', join(this.base, 'containers.kept'), this.world.containers]);
  }

  /** Starts the change and waits until nothing of it lives, however it ended. */
  async start(killAt?: string): Promise<void> {
    const options = await applyOptionsOf(grant, this.world.host, this.options(this.change, newToken), 0);
    await this.world.killAt(killAt);
    const stdin = scriptOf(this.change, this.world.tool, options);
    await this.world.host.run(grant, ['sh', '-s'], { signal, limitMs: 60_000, stdin });
    await this.world.settled();
    if (killAt !== undefined) expect(this.world.wasKilled()).toBe(true);
    await this.world.killAt(undefined);
  }

  async startAndKillAfter(ms: number): Promise<void> {
    const started = this.start();
    await pause(ms);
    await this.world.killAll();
    await started;
  }

  /** What an operator would find, and nothing of how it came about: programs that ran in the proxy leave no trace that could be taken back. */
  async seen(): Promise<Record<string, string>> {
    return {
      ...(await treeOf(this.world.stackFolder, besideRuns)),
      ...Object.fromEntries(
        Object.entries(await treeOf(this.world.containers, /^(?:calls\.log|exec-.*|\..*)$/)).map(([name, text]) => [
          `container ${name}`,
          text,
        ]),
      ),
    };
  }

  async secretsOnDisk(): Promise<string[]> {
    const found = Object.entries(await treeOf(this.base)).filter(([path, text]) =>
      /marked-secret|\.quarterdeck-new/.test(`${path}\n${text}`),
    );
    return found.map(([path]) => path);
  }

  run = () => readRun(this.world.host, this.world.stackFolder, this.change.run, signal);
  recover = (token: string) => {
    const { transaction: _, ...options } = this.options(this.change, token);
    return options;
  };

  async finish(): Promise<void> {
    const run = await this.run();
    if (run) await finishRun(grant, this.world.host, run, this.recover(newToken), () => {});
    // Nothing of it had reached the host.
    else await applyTransaction(grant, this.world.host, this.options(this.change, newToken), () => {});
  }

  async undo(): Promise<void> {
    const run = await this.run();
    if (run) await undoRun(grant, this.world.host, run, this.recover(oldToken), () => {});
  }
}

/** In memory where there is such a place: every entry is brought to the disk, some thousand times here. */
const folder = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

/** As many as there are processors to spare. */
const atOnce = 3;
const scenes: Scene[] = [];
let before: Record<string, string>;
let after: Record<string, string>;
let entryCount: number;
beforeAll(async () => {
  for (let index = 0; index < atOnce; index++) scenes.push(await Scene.make());
  const scene = scenes[0] as Scene;
  before = await scene.seen();
  await scene.start();
  after = await scene.seen();
  entryCount = (await readFile(join(scene.world.stackFolder, '.quarterdeck/runs', scene.change.run, 'journal'), 'utf8'))
    .trim()
    .split('\n').length;
});
afterAll(async () => {
  for (const { base, world } of scenes) {
    await world.killAll();
    await rm(base, { recursive: true, force: true });
  }
});

const statesOf: Readonly<Record<'stopped' | 'ended', readonly (RunState | undefined)[]>> = {
  stopped: [undefined, 'staged', 'stopped', 'applied'],
  ended: ['applied'],
};

/** Runs each on a scene of its own, and says which of them failed. */
async function each(names: readonly string[], check: (scene: Scene, name: string) => Promise<void>): Promise<void> {
  const limit = pLimit(atOnce);
  const free = [...scenes];
  const failures: string[] = [];
  await Promise.all(
    names.map((name) =>
      limit(async () => {
        const scene = free.pop() as Scene;
        try {
          await scene.reset();
          await check(scene, name);
        } catch (thrown) {
          failures.push(`${name}: ${(thrown as Error).message} ${JSON.stringify((thrown as { actual?: unknown }).actual ?? '')}`);
        } finally {
          free.push(scene);
        }
      }),
    ),
  );
  expect(failures).toEqual([]);
}

async function expectNamed(scene: Scene): Promise<RunState | undefined> {
  const run = await scene.run();
  expect(statesOf.stopped).toContain(run?.state);
  if (run)
    expect(run.sentence).toMatch(
      /^(?:Stopped (?:before anything was changed|while .*|after .*, with more to do)|Everything is applied.*)\.?$/,
    );
  const lock = await readLock(scene.world.host, scene.world.stackFolder, signal);
  expect(lock?.alive ?? false).toBe(false);
  // Only what was placed may differ yet.
  if (run === undefined || run.state === 'staged') expect(withoutLock(await scene.seen())).toEqual(before);
  return run?.state;
}
const withoutLock = (tree: Record<string, string>) =>
  Object.fromEntries(Object.entries(tree).filter(([path]) => !path.startsWith('.quarterdeck/lock')));

async function expectClean(scene: Scene, expected: Record<string, string>): Promise<void> {
  // Whoever follows a script is through when its lock is let go, a moment before the lock's folder goes; empty it is free, and stays when that moment is the last.
  await expect
    .poll(
      async () => {
        const seen = await scene.seen();
        const paths = new Set([...Object.keys(seen), ...Object.keys(expected)]);
        return [...paths]
          .filter((path) => path !== '.quarterdeck/lock' && seen[path] !== expected[path])
          .map((path) => `${path}: ${seen[path]} is not ${expected[path]}`);
      },
      { timeout: 10_000 },
    )
    .toEqual([]);
  expect(await scene.secretsOnDisk()).toEqual([]);
}

describe('killed before or after any entry of its journal', () => {
  const moments = () => [
    // The first time is asked for by the lock.
    'before:1',
    ...Array.from({ length: entryCount }, (_, index) => [`before:${index + 2}`, `after:${index + 1}`]).flat(),
  ];

  test('there are as many entries as there are steps', () => {
    expect(entryCount).toBe(18);
    expect(after).not.toEqual(before);
  });

  test('the next start names the state, and finishing makes it as if nothing had happened', { timeout: 400_000 }, async () => {
    await each(moments(), async (scene, moment) => {
      await scene.start(moment);
      await expectNamed(scene);
      await scene.finish();
      expect((await scene.run())?.state).toBe('applied');
      await expectClean(scene, after);
    });
  });

  test('taking it back makes it as it was before', { timeout: 400_000 }, async () => {
    await each(moments(), async (scene, moment) => {
      await scene.start(moment);
      await scene.undo();
      expect(['undone', undefined]).toContain((await scene.run())?.state);
      // A lock and a half-made run of somebody who died are swept by the next script, and there was none to take back.
      if ((await scene.run()) === undefined) expect(withoutLock(await scene.seen())).toEqual(before);
      else await expectClean(scene, before);
    });
  });
});

// Others in every run; QUARTERDECK_TEST_MOMENTS asks for more of them.
const momentCount = Number(process.env.QUARTERDECK_TEST_MOMENTS ?? 16);

test('killed at random moments it can be finished and taken back', { timeout: Math.max(600_000, momentCount * 12_000) }, async () => {
  const seed = Number(process.env.QUARTERDECK_TEST_SEED ?? Date.now() % 1_000_000);
  let state = seed;
  const random = () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
  const began = performance.now();
  await (scenes[0] as Scene).reset();
  await (scenes[0] as Scene).start();
  const wholeMs = performance.now() - began;
  const moments = Array.from(
    { length: momentCount },
    (_, index) => `${index % 2 === 0 ? 'finish' : 'undo'} ${Math.round(random() * wholeMs)} ms (seed ${seed})`,
  );
  await each(moments, async (scene, moment) => {
    const [way, ms] = moment.split(' ');
    await scene.startAndKillAfter(Number(ms));
    await expectNamed(scene);
    if (way === 'finish') {
      await scene.finish();
      await expectClean(scene, after);
    } else if (await scene.run()) {
      await scene.undo();
      await expectClean(scene, before);
    }
  });
});

describe('taking back', () => {
  const scene = () => scenes[0] as Scene;

  test('is itself finished when it was killed', async () => {
    await scene().reset();
    await scene().start();
    await scene().world.killAt('before:4');
    await expect(
      undoRun(grant, scene().world.host, { transaction: scene().change }, scene().recover(oldToken), () => {}),
    ).rejects.toMatchObject({
      code: 'failed.applyStopped',
    });
    await scene().world.settled();
    await scene().world.killAt(undefined);
    const run = await scene().run();
    expect(run).toMatchObject({ state: 'stopped', sentence: expect.stringMatching(/^Stopped while|^Stopped after/) });
    await expect(scene().finish()).rejects.toMatchObject({ code: 'refused.undoBegun' });
    await scene().undo();
    await expectClean(scene(), before);
    expect(await scene().run()).toMatchObject({ state: 'undone', sentence: 'Was taken back.' });
  });

  test('is refused, with the evidence, where a new image has run and the data may not go back', async () => {
    await scene().reset();
    const { change } = scene();
    const [vault] = change.plans;
    const unsafe = {
      ...change,
      plans: [
        {
          ...(vault as Transaction['plans'][number]),
          rollback: 'unsafe' as const,
          services: [
            {
              name: 'main',
              image: 'vault:2',
              before: { reference: 'vault:1', id: 'sha256:old' },
              change: 'recreate' as const,
              why: 'its image changes',
              present: true,
            },
          ],
        },
      ],
    };
    const engine = new EngineDouble();
    engine.localImages.push({
      id: 'sha256:old',
      tags: ['vault:1', 'docker.io/library/vault:1'],
      digests: [],
      architecture: 'amd64',
      sizeBytes: 1,
      createdMs: 1,
      labels: {},
    });
    const options = { ...scene().options(unsafe, newToken), engine };
    await applyTransaction(grant, scene().world.host, options, () => {});
    const labels = { 'com.docker.compose.project': 'vault', 'com.docker.compose.service': 'main' };
    engine.containers.set(
      'c1',
      containerDetail({ id: 'c1', name: 'vault-main', image: 'vault:2', imageId: 'sha256:new', labels, startedMs: Date.UTC(2026, 10, 21) }),
    );
    const undo = () =>
      undoRun(grant, scene().world.host, { transaction: unsafe }, { ...options, secrets: { vault: { ADMIN_TOKEN: oldToken } } }, () => {});
    const fault = (await undo().catch((thrown: unknown) => thrown)) as Fault;
    expect(fault).toMatchObject({ code: 'refused.rollbackUnsafe' });
    expect(fault.message).toContain('main of vault has run on vault:2 (new) since 2026-11-21T00:00:00.000Z');
    // It never started: nothing has touched the data.
    engine.containers.set(
      'c1',
      containerDetail({ id: 'c1', name: 'vault-main', image: 'vault:2', imageId: 'sha256:new', labels, startedMs: undefined }),
    );
    expect((await undo()).state).toBe('undone');
  });

  test('pins the image that ran where its tag has moved on, and keeps what the file says otherwise', async () => {
    await scene().reset();
    const { stackFolder, host } = scene().world;
    const commented = `# mine\n${compose('vault:1')}`;
    await writeFile(join(stackFolder, 'vault/compose.yaml'), commented);
    const digest = `vault@sha256:${'a'.repeat(64)}`;
    const update = transactionOf('20261122-update', [
      planOf('vault', stackFolder, [{ path: 'vault/.env', before: 'A=1\n', after: 'A=3\n', mode: 0o600 }], {
        kind: 'change',
        services: [
          {
            name: 'main',
            image: 'vault:1',
            before: { reference: 'vault:1', id: 'sha256:old', digest },
            change: 'recreate',
            why: 'new',
            present: true,
          },
        ],
      }),
    ]);
    const engine = new EngineDouble();
    const image = { architecture: 'amd64', sizeBytes: 1, createdMs: 1, labels: {} };
    engine.localImages.push(
      { ...image, id: 'sha256:new', tags: ['docker.io/library/vault:1'], digests: [] },
      { ...image, id: 'sha256:old', tags: [], digests: [`docker.io/library/${digest}`] },
    );
    const options = { ...scene().options(update, newToken), engine };
    const run = await applyTransaction(grant, host, options, () => {});
    expect((await recordBefore(host, update, 'vault', signal))?.run).toBe('20261101-first');
    await undoRun(grant, host, run, { ...options, secrets: { vault: { ADMIN_TOKEN: oldToken } } }, () => {});
    expect(await readFile(join(stackFolder, 'vault/compose.yaml'), 'utf8')).toBe(commented.replace('vault:1', digest));
    expect(await readFile(join(scene().world.containers, 'vault'), 'utf8')).toContain(`image: ${digest}`);
  });

  test('is refused once another change stands on it', async () => {
    await scene().reset();
    await scene().start();
    const { stackFolder, host } = scene().world;
    const later = transactionOf('20261122-later', [
      planOf('vault', stackFolder, [{ path: 'vault/.env', before: 'A=2\n', after: 'A=3\n', mode: 0o600 }]),
    ]);
    await applyTransaction(grant, host, scene().options(later, newToken), () => {});
    await expect(scene().undo()).rejects.toMatchObject({ code: 'refused.superseded' });
  });
});

describe('the journal', () => {
  const scene = () => scenes[0] as Scene;

  test('with damaged and cut lines still tells how the run stands', async () => {
    await scene().reset();
    await scene().start();
    const journal = join(scene().world.stackFolder, '.quarterdeck/runs', scene().change.run, 'journal');
    const whole = await readFile(journal, 'utf8');
    await writeFile(journal, `\u0000\u0001\n${whole.slice(0, whole.indexOf('record:chat') + 3)}`);
    expect((await scene().run())?.sentence).toBe('Stopped after the containers of chat were made, with more to do.');
    await scene().finish();
    await expectClean(scene(), after);
    await appendFile(journal, '{"at":1}\nnonsense');
    expect((await scene().run())?.state).toBe('applied');
  });

  test('knows when everything was seen healthy', async () => {
    await scene().reset();
    await scene().start();
    await markVerified(grant, scene().world.host, scene().change);
    expect((await scene().run())?.state).toBe('verified');
    await expect(markVerified(grant, scene().world.host, { ...scene().change, run: 'none' })).rejects.toMatchObject({
      code: 'failed.journal',
    });
  });

  test('of a run that cannot be read is left out, and swept by the next', async () => {
    await scene().reset();
    const runs = join(scene().world.stackFolder, '.quarterdeck/runs');
    spawnSync('mkdir', ['-p', join(runs, 'half'), join(runs, 'garbled')]);
    await writeFile(join(runs, 'garbled/transaction.json'), '{"schema":1');
    spawnSync('mkdir', [join(runs, 'foreign')]);
    const head = { schema: 1, by: 'a\u001b[2Jb', startedAt: 'c' };
    await writeFile(join(runs, 'foreign/transaction.json'), JSON.stringify({ ...head, run: 'foreign', plans: [null] }));
    expect(await readRuns(scene().world.host, scene().world.stackFolder, signal)).toEqual([]);
    // Nothing had changed.
    const damaged = () => findDamagedRuns(scene().world.host, scene().world.stackFolder, signal);
    expect(await damaged()).toEqual([]);
    await scene().start();
    expect(existsSync(join(runs, 'half'))).toBe(false);
  });

  const begun = JSON.stringify({ at: 'x', step: 'up:chat', state: 'begun' });
  const done = JSON.stringify({ at: 'x', step: 'all', state: 'done' });
  test.each<[string, string, boolean]>([
    ['a step that was begun', `${begun}\n`, true],
    ['garbage', 'null\n\u0000\u0001\n[]\n', true],
    ['a torn first line', begun.slice(0, 9), false],
    ['its end', `${begun}\n${done}\n`, false],
    ['nothing', '', false],
  ])('of a run whose plan is damaged: with %s in it the run is named, or had changed nothing, or ended', async (_, journal, isNamed) => {
    await scene().reset();
    const { host, stackFolder } = scene().world;
    const folder = join(stackFolder, '.quarterdeck/runs/20260101T000000000-abcdef');
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'transaction.json'), 'null');
    await writeFile(join(folder, 'journal'), journal);
    expect(await findDamagedRuns(host, stackFolder, signal)).toEqual(isNamed ? [folder] : []);
  });
});
