import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { appendFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pLimit from 'p-limit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { momentsOf } from '../../../test/doubles/break-offs.ts';
import { besideRuns, type ComposeContext, createComposeContext, treeOf } from '../../../test/doubles/compose-double.ts';
import { containerDetail } from '../../../test/doubles/container-facts.ts';
import { planOf, transactionOf } from '../../../test/doubles/deployed-stack.ts';
import { EngineDouble } from '../../../test/doubles/engine-double.ts';
import { isLong } from '../../../test/required.ts';
import type { Fault } from '../../faults/fault.ts';
import { mintGrant } from '../../grants/mint.ts';
import { type ApplyOptions, applyOptionsOf, applyTransaction } from './apply.ts';
import { readLock } from './lock.ts';
import { finishRun, markVerified, recordBefore, undoRun } from './recover.ts';
import { findDamagedRuns, readRun, readRuns } from './run-journal.ts';
import { scriptOf } from './script.ts';
import type { RunState, Transaction } from './transaction.ts';

const signal = AbortSignal.timeout(900_000);
const grant = mintGrant('apply', 'operate', signal);
const oldToken = 'marked-secret-old';
const newToken = 'marked-secret-new';
const compose = (image: string) =>
  `services:\n  main:\n    image: ${image}\n    environment:\n      ADMIN_TOKEN: "\${ADMIN_TOKEN:?kept by Quarterdeck, use quarterdeck compose}"\n`;
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** A stack with a proxy and a vault; the change updates the vault to another version, with another secret, and adds a chat. */
class Scene {
  readonly base: string;
  readonly context: ComposeContext;
  constructor(base: string, context: ComposeContext) {
    this.base = base;
    this.context = context;
  }

  static async make(): Promise<Scene> {
    const base = await mkdtemp(join(folder, 'qd-recover-'));
    const scene = new Scene(base, await createComposeContext(base));
    const { stackFolder } = scene.context;
    const first = transactionOf('20261101-first', [
      planOf('proxy', stackFolder, [{ path: 'proxy/compose.yaml', after: 'services: {main: {image: "proxy:1"}}\n' }]),
      planOf('vault', stackFolder, [
        { path: 'vault/compose.yaml', after: compose('vault:1') },
        { path: 'vault/.env', after: 'A=1\n', mode: 0o600 },
        { path: 'vault/files/old.conf', after: 'old\n' },
      ]),
    ]);
    await applyTransaction(grant, scene.context.host, scene.options(first, oldToken), () => {});
    spawnSync('rm', ['-rf', join(stackFolder, '.quarterdeck/runs')]);
    scene.#copy('', join(base, 'kept'));
    return scene;
  }

  get change(): Transaction {
    const { stackFolder } = this.context;
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
    return { transaction, tool: this.context.tool, secrets, engine: new EngineDouble() };
  }

  /** Resets to the previous stack, or to the one that `keepKilled` saved. */
  async reset(kept = join(this.base, 'kept')): Promise<void> {
    await this.context.killAt(undefined);
    this.#copy(kept, '');
  }

  /**
   * Saves the stack as a killed script left it, to be recovered in two ways. Not below `base`, which is searched for secrets and leftovers.
   */
  keepKilled(): string {
    const kept = `${this.base}-killed`;
    this.#copy('', kept);
    return kept;
  }

  #copy(from: string, to: string): void {
    const { stackFolder, containers } = this.context;
    for (const [name, folder] of Object.entries({ stack: stackFolder, containers })) {
      const [source, target] = [from && `${from}.${name}`, to && `${to}.${name}`].map((path) => path || folder) as [string, string];
      spawnSync('rm', ['-rf', target]);
      spawnSync('cp', ['-a', source, target]);
    }
  }

  /** Starts the change and waits until all its processes have ended, for whatever reason. */
  async start(killAt?: string): Promise<void> {
    const options = await applyOptionsOf(grant, this.context.host, this.options(this.change, newToken), 0);
    await this.context.killAt(killAt);
    const stdin = scriptOf(this.change, this.context.tool, options);
    await this.context.host.run(grant, ['sh', '-s'], { signal, limitMs: 60_000, stdin });
    await this.context.settled();
    if (killAt !== undefined) expect(this.context.wasKilled()).toBe(true);
    await this.context.killAt(undefined);
  }

  async startAndKillAfter(ms: number): Promise<void> {
    const started = this.start();
    await pause(ms);
    await this.context.killAll();
    await started;
  }

  /**
   * Returns the state that an operator would find, without its history: programs that ran in the proxy leave no trace that could be undone.
   */
  async seen(): Promise<Record<string, string>> {
    return {
      ...(await treeOf(this.context.stackFolder, besideRuns)),
      ...Object.fromEntries(
        Object.entries(await treeOf(this.context.containers, /^(?:calls\.log|exec-.*|\..*)$/)).map(([name, text]) => [
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

  run = () => readRun(this.context.host, this.context.stackFolder, this.change.run, signal);
  recover = (token: string) => {
    const { transaction: _, ...options } = this.options(this.change, token);
    return options;
  };

  async finish(): Promise<void> {
    const run = await this.run();
    if (run) await finishRun(grant, this.context.host, run.transaction, this.recover(newToken), () => {});
    // No part of it had reached the host.
    else await applyTransaction(grant, this.context.host, this.options(this.change, newToken), () => {});
  }

  async undo(): Promise<void> {
    const run = await this.run();
    if (run) await undoRun(grant, this.context.host, run.transaction, this.recover(oldToken), () => {});
  }
}

/** In memory if possible: every entry is synced to the disk, which happens some thousand times here. */
const folder = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

/** Not more than there are spare processors. */
const atOnce = 3;
const scenes: Scene[] = [];
let before: Record<string, string>;
let after: Record<string, string>;
let journal: string[];
beforeAll(async () => {
  for (let index = 0; index < atOnce; index++) scenes.push(await Scene.make());
  const scene = scenes[0] as Scene;
  before = await scene.seen();
  await scene.start();
  after = await scene.seen();
  journal = (await readFile(join(scene.context.stackFolder, '.quarterdeck/runs', scene.change.run, 'journal'), 'utf8')).trim().split('\n');
});
afterAll(async () => {
  for (const { base, context } of scenes) {
    await context.killAll();
    for (const path of [base, `${base}-killed.stack`, `${base}-killed.containers`]) await rm(path, { recursive: true, force: true });
  }
});

const statesOf: Readonly<Record<'stopped' | 'ended', readonly (RunState | undefined)[]>> = {
  stopped: [undefined, 'staged', 'stopped', 'applied'],
  ended: ['applied'],
};

/** Runs each check on a scene of its own, and reports which of them failed. */
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
    expect(run.summary).toMatch(
      /^(?:Stopped (?:before anything was changed|while .*|after .*; some steps remain)|Applied, but not confirmed healthy yet)\.?$/,
    );
  const lock = await readLock(scene.context.host, scene.context.stackFolder, signal);
  expect(lock?.alive ?? false).toBe(false);
  // Only staged files may differ at this point.
  if (run === undefined || run.state === 'staged') expect(withoutLock(await scene.seen())).toEqual(before);
  return run?.state;
}
const withoutLock = (tree: Record<string, string>) =>
  Object.fromEntries(Object.entries(tree).filter(([path]) => !path.startsWith('.quarterdeck/lock')));

async function expectClean(scene: Scene, expected: Record<string, string>): Promise<void> {
  // A follower is done when the script's lock is released, a moment before the lock's folder is removed; an empty folder counts as free,
  // and stays if the script is killed at that moment.
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
    // The lock requests the time first.
    'before:1',
    ...Array.from({ length: journal.length }, (_, index) =>
      momentsOf(index).map((moment) => (moment === 'before' ? `before:${index + 2}` : `after:${index + 1}`)),
    ).flat(),
  ];

  test('there are as many entries as there are steps', () => {
    expect(journal.length).toBe(18);
    expect(after).not.toEqual(before);
  });

  test('the next start names the state; finished it is as if nothing had happened, undone as it was before', {
    timeout: 400_000,
  }, async () => {
    await each(moments(), async (scene, moment) => {
      await scene.start(moment);
      await expectNamed(scene);
      const killed = scene.keepKilled();
      await scene.finish();
      expect((await scene.run())?.state).toBe('applied');
      await expectClean(scene, after);
      await scene.reset(killed);
      await scene.undo();
      expect(['undone', undefined]).toContain((await scene.run())?.state);
      // The lock and the half-staged run of a dead script are removed by the next script, and there was no run to undo.
      if ((await scene.run()) === undefined) expect(withoutLock(await scene.seen())).toEqual(before);
      else await expectClean(scene, before);
    });
  });
});

// Different moments in every run; QUARTERDECK_TEST_MOMENTS sets their number.
const momentCount = Number(process.env.QUARTERDECK_TEST_MOMENTS ?? (isLong ? 40 : 8));

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

  test('removes folders that were created before the script was killed, also where the innermost was not yet', async () => {
    await scene().reset();
    const place = journal.findIndex((entry) => entry.includes('"place:chat","state":"begun"'));
    await scene().start(`after:${place + 1}`);
    await mkdir(join(scene().context.stackFolder, 'chat/files'), { recursive: true, mode: 0o755 });
    await scene().undo();
    await expectClean(scene(), before);
  });

  test('is itself finished when it was killed', async () => {
    await scene().reset();
    await scene().start();
    await scene().context.killAt('before:4');
    await expect(undoRun(grant, scene().context.host, scene().change, scene().recover(oldToken), () => {})).rejects.toMatchObject({
      code: 'failed.applyStopped',
    });
    await scene().context.settled();
    await scene().context.killAt(undefined);
    const run = await scene().run();
    expect(run).toMatchObject({ state: 'stopped', summary: expect.stringMatching(/^Stopped while|^Stopped after/) });
    await expect(scene().finish()).rejects.toMatchObject({ code: 'refused.undoBegun' });
    await scene().undo();
    await expectClean(scene(), before);
    expect(await scene().run()).toMatchObject({ state: 'undone', summary: 'Undone.' });
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
      labels: {},
    });
    const options = { ...scene().options(unsafe, newToken), engine };
    await applyTransaction(grant, scene().context.host, options, () => {});
    const labels = { 'com.docker.compose.project': 'vault', 'com.docker.compose.service': 'main' };
    engine.containers.set(
      'c1',
      containerDetail({ id: 'c1', name: 'vault-main', image: 'vault:2', imageId: 'sha256:new', labels, startedMs: Date.UTC(2026, 10, 21) }),
    );
    const undo = () =>
      undoRun(grant, scene().context.host, unsafe, { ...options, secrets: { vault: { ADMIN_TOKEN: oldToken } } }, () => {});
    const fault = (await undo().catch((thrown: unknown) => thrown)) as Fault;
    expect(fault).toMatchObject({ code: 'refused.rollbackUnsafe' });
    expect(fault.message).toContain('main of vault was started with vault:2 (new) at 2026-11-21T00:00:00.000Z');
    // The container never started: the data are untouched.
    engine.containers.set(
      'c1',
      containerDetail({ id: 'c1', name: 'vault-main', image: 'vault:2', imageId: 'sha256:new', labels, startedMs: undefined }),
    );
    expect((await undo()).state).toBe('undone');
  });

  test('pins the image that ran where its tag has moved on, and keeps what the file says otherwise', async () => {
    await scene().reset();
    const { stackFolder, host } = scene().context;
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
    const image = { architecture: 'amd64', sizeBytes: 1, labels: {} };
    engine.localImages.push(
      { ...image, id: 'sha256:new', tags: ['docker.io/library/vault:1'], digests: [] },
      { ...image, id: 'sha256:old', tags: [], digests: [`docker.io/library/${digest}`] },
    );
    const options = { ...scene().options(update, newToken), engine };
    const run = await applyTransaction(grant, host, options, () => {});
    expect((await recordBefore(host, update, 'vault', signal))?.run).toBe('20261101-first');
    await undoRun(grant, host, run.transaction, { ...options, secrets: { vault: { ADMIN_TOKEN: oldToken } } }, () => {});
    expect(await readFile(join(stackFolder, 'vault/compose.yaml'), 'utf8')).toBe(commented.replace('vault:1', digest));
    expect(await readFile(join(scene().context.containers, 'vault'), 'utf8')).toContain(`image: ${digest}`);
  });

  test('is refused once another change stands on it', async () => {
    await scene().reset();
    await scene().start();
    const { stackFolder, host } = scene().context;
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
    const journal = join(scene().context.stackFolder, '.quarterdeck/runs', scene().change.run, 'journal');
    const whole = await readFile(journal, 'utf8');
    await writeFile(journal, `\u0000\u0001\n${whole.slice(0, whole.indexOf('record:chat') + 3)}`);
    expect((await scene().run())?.summary).toBe('Stopped after creating the containers of chat; some steps remain.');
    await scene().finish();
    await expectClean(scene(), after);
    await appendFile(journal, '{"at":1}\nnonsense');
    expect((await scene().run())?.state).toBe('applied');
  });

  test('knows when everything was seen healthy', async () => {
    await scene().reset();
    await scene().start();
    await markVerified(grant, scene().context.host, scene().change);
    expect((await scene().run())?.state).toBe('verified');
    await expect(markVerified(grant, scene().context.host, { ...scene().change, run: 'none' })).rejects.toMatchObject({
      code: 'failed.journal',
    });
  });

  test('of a run that cannot be read is left out, and swept by the next', async () => {
    await scene().reset();
    const runs = join(scene().context.stackFolder, '.quarterdeck/runs');
    spawnSync('mkdir', ['-p', join(runs, 'half'), join(runs, 'garbled')]);
    await writeFile(join(runs, 'garbled/transaction.json'), '{"schema":1');
    spawnSync('mkdir', [join(runs, 'foreign')]);
    const head = { schema: 1, by: 'a\u001b[2Jb', startedAt: 'c' };
    await writeFile(join(runs, 'foreign/transaction.json'), JSON.stringify({ ...head, run: 'foreign', plans: [null] }));
    expect(await readRuns(scene().context.host, scene().context.stackFolder, signal)).toEqual([]);
    // Nothing had changed.
    const damaged = () => findDamagedRuns(scene().context.host, scene().context.stackFolder, signal);
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
    const { host, stackFolder } = scene().context;
    const folder = join(stackFolder, '.quarterdeck/runs/20260101T000000000-abcdef');
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'transaction.json'), 'null');
    await writeFile(join(folder, 'journal'), journal);
    expect(await findDamagedRuns(host, stackFolder, signal)).toEqual(isNamed ? [folder] : []);
  });
});
