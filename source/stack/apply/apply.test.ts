import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { besideRuns, type ComposeContext, createComposeContext, theLock, treeOf } from '../../../test/doubles/compose-double.ts';
import { planOf, transactionOf } from '../../../test/doubles/deployed-stack.ts';
import { EngineDouble } from '../../../test/doubles/engine-double.ts';
import type { Fault } from '../../faults/fault.ts';
import { mintGrant } from '../../grants/mint.ts';
import type { Plan } from '../model.ts';
import { applyTransaction } from './apply.ts';
import { readLock } from './lock.ts';
import { readRun, readRuns } from './run-journal.ts';
import { scriptOf } from './script.ts';
import type { ApplyEvent } from './transaction.ts';

const signal = AbortSignal.timeout(600_000);
const grant = mintGrant('apply', 'operate', signal);
const compose = (image: string) =>
  `services:\n  main:\n    image: ${image}\n    ports: ["\${WEB_PORT:-8180}:80"]\n    environment:\n      ADMIN_TOKEN: "\${ADMIN_TOKEN:?kept by Quarterdeck, use quarterdeck compose}"\n`;
const marked = 'marked-secret-7f3a';

const worlds: { base: string; context: ComposeContext }[] = [];
async function createContext(options?: { shell?: readonly string[] }): Promise<ComposeContext & { base: string }> {
  const base = await mkdtemp(join(tmpdir(), 'qd-apply-'));
  const context = await createComposeContext(base, options);
  worlds.push({ base, context });
  return { ...context, base };
}
afterEach(async () => {
  for (const { base, context } of worlds.splice(0)) {
    await context.killAll();
    await rm(base, { recursive: true, force: true });
  }
});

const vault = (context: ComposeContext, image = 'vault:1', overrides: Partial<Plan> = {}): Plan =>
  planOf(
    'vault',
    context.stackFolder,
    [
      { path: 'vault/compose.yaml', after: compose(image) },
      { path: 'vault/.env', after: 'WEB_PORT=8180\n', mode: 0o600 },
      { path: 'vault/files/sites/main.conf', after: "it's $HOME and `date`\n" },
    ],
    overrides,
  );

/** Returns the plan as it would be for the existing files. */
const over = (context: ComposeContext, plan: Plan): Plan => ({
  ...plan,
  files: plan.files.map((file) => {
    const path = join(context.stackFolder, file.path);
    return existsSync(path) ? { ...file, before: readFileSync(path, 'utf8') } : file;
  }),
});

const apply = (
  context: ComposeContext,
  run: string,
  plans: readonly Plan[],
  token = marked,
  tell: (event: ApplyEvent) => void = () => {},
) =>
  applyTransaction(
    grant,
    context.host,
    { transaction: transactionOf(run, plans), tool: context.tool, secrets: { vault: { ADMIN_TOKEN: token } }, engine: new EngineDouble() },
    tell,
  );
const faultOf = async (promise: Promise<unknown>): Promise<Fault> => {
  try {
    await promise;
  } catch (thrown) {
    return thrown as Fault;
  }
  throw new Error('it should have failed');
};
const checksum = (text: string) => spawnSync('cksum', { input: text, encoding: 'utf8' }).stdout.trim();

const busybox = process.env.QUARTERDECK_TEST_BUSYBOX ?? '/bin/busybox';
const shells = [['/bin/dash'], ['/bin/bash'], [busybox, 'sh']].filter(([program = '']) => existsSync(program));

describe.each(shells.map((shell) => ({ name: shell.join(' '), shell })))('applying under $name', ({ shell }) => {
  const made = () => createContext({ shell });

  test('writes the files with their modes, brings the project up and writes down what it did', async () => {
    const context = await made();
    const events: ApplyEvent[] = [];
    const run = await apply(context, 'run1', [vault(context)], marked, (event) => events.push(event));
    expect(run.state).toBe('applied');
    const tree = await treeOf(context.stackFolder, besideRuns);
    expect(
      Object.fromEntries(Object.entries(tree).map(([path, text]) => [path, text.split(/[ \n]/)[text.startsWith('folder') ? 1 : 0]])),
    ).toEqual({
      '.quarterdeck': '700',
      '.quarterdeck/components': '700',
      '.quarterdeck/components/vault.json': '600',
      vault: '700',
      'vault/.env': '600',
      'vault/compose.yaml': '644',
      'vault/files': '755',
      'vault/files/sites': '755',
      'vault/files/sites/main.conf': '644',
    });
    expect(tree['vault/files/sites/main.conf']).toBe("644 it's $HOME and `date`\n");
    const container = await readFile(join(context.containers, 'vault'), 'utf8');
    expect(container).toContain(`ADMIN_TOKEN ${checksum(marked)}`);
    // The operator's own shell has another value.
    expect(container).toContain('WEB_PORT from outside: \n');
    expect(run.entries.map(({ step, state }) => `${step} ${state}`)).toEqual(
      ['stage', 'place:vault', 'up:vault', 'record:vault', 'all'].flatMap((step) => [`${step} begun`, `${step} done`]),
    );
    expect(events).toContainEqual({ kind: 'output', text: ' Container vault-main  Started' });
    expect(JSON.parse(await readFile(join(context.stackFolder, '.quarterdeck/components/vault.json'), 'utf8'))).toMatchObject({
      run: 'run1',
      by: 'ann@nas',
    });
  });

  test('gives a secret to compose whatever is in it', async () => {
    const context = await made();
    const bytes = Array.from({ length: 0x24f }, (_, index) => String.fromCodePoint(index + 1)).join('');
    const token = `'"\\$(touch /tmp/never)\`id\`\n\n'\\''${bytes}😀\n`;
    await apply(context, 'run1', [vault(context)], token);
    expect(await readFile(join(context.containers, 'vault'), 'utf8')).toContain(`ADMIN_TOKEN ${checksum(token)}`);
  });

  test('tries once more when a container that still stops has the name, and only once', async () => {
    const context = await made();
    await writeFile(join(context.containers, 'stops'), '.');
    expect((await apply(context, 'run1', [vault(context)])).state).toBe('applied');
    expect(existsSync(join(context.containers, 'vault'))).toBe(true);
    await writeFile(join(context.containers, 'stops'), '...');
    const fault = await faultOf(
      apply(context, 'run2', [planOf('chat', context.stackFolder, [{ path: 'chat/compose.yaml', after: 'services: {}\n' }])]),
    );
    expect(fault).toMatchObject({ code: 'failed.apply', message: expect.stringContaining('is already in use by container') });
    expect(await readFile(join(context.containers, 'calls.log'), 'utf8')).toBe('up\n'.repeat(4));
  });

  test('does nothing when its input breaks off, wherever that is', async () => {
    const context = await made();
    const script = scriptOf(transactionOf('run1', [vault(context)]), context.tool, {
      mode: 'apply',
      secrets: { vault: { ADMIN_TOKEN: marked } },
      composeTexts: {},
      records: {},
      seenLines: 0,
    });
    const end = script.length - 1;
    for (const length of [0, 1, 20, 500, Math.floor(end / 2), Math.floor(end * 0.8), end - 12, end - 9, end - 5, end - 1]) {
      await context.host.run(grant, ['sh', '-s'], { signal, limitMs: 20_000, stdin: script.slice(0, length) });
      await context.settled();
      expect(existsSync(context.stackFolder), `after ${length} of ${script.length} characters`).toBe(false);
    }
  });

  test('of two at once one is told who the other is', async () => {
    const context = await made();
    const both = await Promise.allSettled([apply(context, 'run1', [vault(context, 'hanging')]), started(context, 'run2')]);
    expect(both[1].status).toBe('fulfilled');
    expect(both[0].status).toBe('fulfilled');

    async function started(there: ComposeContext, run: string) {
      await until(async () => (await readLock(there.host, there.stackFolder, signal))?.alive === true);
      const fault = await faultOf(apply(there, run, [vault(there)]));
      expect(fault.code).toBe('refused.locked');
      expect(fault.message).toMatch(/^ann@nas has been changing this stack since 20\d\d-.* \(run run1\)\.$/);
      await writeFile(join(there.containers, 'go'), '');
    }
  });
});

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 10));
}

test('many that start in the same moment get the lock one after the other, never two at once', async () => {
  const context = await createContext();
  const plan = vault(context);
  const outcomes = await Promise.all(
    Array.from({ length: 8 }, (_, index) =>
      context.host.run(grant, ['sh', '-s'], {
        signal,
        limitMs: 60_000,
        stdin: scriptOf(transactionOf(`run${index}`, [plan]), context.tool, {
          mode: 'apply',
          secrets: { vault: { ADMIN_TOKEN: marked } },
          composeTexts: {},
          records: {},
          seenLines: 0,
        }),
      }),
    ),
  );
  const answers = outcomes.map(({ stdout }) => Buffer.from(stdout).toString().trim());
  await context.settled();
  const winners = answers.filter((answer) => answer === 'started').length;
  expect(winners).toBeGreaterThan(0);
  // Who gets the lock after the first has ended finds other files than planned.
  const others = answers.filter((answer) => answer !== 'started' && answer !== 'failed stale vault/compose.yaml');
  expect(others).toEqual(Array(others.length).fill('locked'));
  expect((await readRuns(context.host, context.stackFolder, signal)).map(({ state }) => state)).toEqual(Array(winners).fill('applied'));
  expect(existsSync(join(context.stackFolder, '.quarterdeck/lock'))).toBe(false);
});

describe('a lock', () => {
  const owner = async (context: ComposeContext, changes: Readonly<Record<string, string>>) => {
    const folder = join(context.stackFolder, '.quarterdeck/lock');
    await mkdir(folder, { recursive: true });
    const boot = (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
    const fields = (await readFile('/proc/self/stat', 'utf8')).replace(/^.*\) /s, '').split(' ');
    const values = {
      run: 'other',
      by: 'bob@desk',
      since: '2026-11-21T20:00:00Z',
      pid: String(process.pid),
      start: fields[19] ?? '',
      boot,
      ...changes,
    };
    await writeFile(
      join(folder, 'owner-other.1'),
      Object.entries(values)
        .map(([name, value]) => `${name}=${value}\n`)
        .join(''),
    );
  };

  test('of somebody who lives is respected', async () => {
    const context = await createContext();
    await owner(context, {});
    expect(await readLock(context.host, context.stackFolder, signal)).toEqual({
      run: 'other',
      by: 'bob@desk',
      since: '2026-11-21T20:00:00Z',
      alive: true,
    });
    const script = scriptOf(transactionOf('run1', [vault(context)]), context.tool, {
      mode: 'apply',
      secrets: {},
      composeTexts: {},
      records: {},
      seenLines: 0,
    });
    const { stdout } = await context.host.run(grant, ['sh', '-s'], { signal, limitMs: 20_000, stdin: script });
    expect(Buffer.from(stdout).toString()).toBe('locked\n');
    expect(await faultOf(apply(context, 'run1', [vault(context)]))).toMatchObject({ code: 'refused.locked' });
    expect(await treeOf(join(context.stackFolder, '.quarterdeck/runs'))).toEqual({});
  });

  test.each([
    ['before a reboot', { boot: 'another-boot' }],
    ['whose process id is somebody else’s now', { start: '17' }],
    ['whose process is gone', { pid: '4194303', start: '17' }],
    ['whose file was cut', { pid: '', start: '', boot: '' }],
  ])('of somebody %s is taken over', async (_, changes) => {
    const context = await createContext();
    await owner(context, changes);
    expect((await apply(context, 'run1', [vault(context)])).state).toBe('applied');
    // The lock is free as soon as it has no owner's file; the empty folder is removed a moment later.
    await until(async () => !existsSync(join(context.stackFolder, '.quarterdeck/lock')));
  });

  test('stays taken while the compose program lives on that a killed script has left behind', async () => {
    const context = await createContext();
    const first = apply(context, 'run1', [vault(context, 'hanging')]);
    const failed = faultOf(first);
    const child = join(context.stackFolder, '.quarterdeck/runs/run1/child');
    await until(async () => existsSync(child) && (await readFile(child, 'utf8')).includes('\n'));
    const { pid } = await lockOwner(context);
    process.kill(pid, 'SIGKILL');
    expect(await faultOf(apply(context, 'run2', [vault(context)]))).toMatchObject({ code: 'refused.locked' });
    await writeFile(join(context.containers, 'go'), '');
    await context.settled();
    expect((await failed).code).toBe('failed.applyStopped');
    expect((await apply(context, 'run3', [over(context, vault(context))])).state).toBe('applied');
  });
});

async function lockOwner(context: ComposeContext): Promise<{ pid: number }> {
  const tree = await treeOf(join(context.stackFolder, '.quarterdeck/lock'));
  return { pid: Number(/^pid=(\d+)$/m.exec(Object.values(tree).join('\n'))?.[1]) };
}

describe('a step that fails', () => {
  test('stops there, with the end of the output and no secret in it', async () => {
    const context = await createContext();
    const chat = planOf('chat', context.stackFolder, [{ path: 'chat/compose.yaml', after: 'services: {}\n' }]);
    const fault = await faultOf(apply(context, 'run1', [vault(context, 'broken'), chat]));
    expect(fault.code).toBe('failed.apply');
    expect(fault.message).toContain('Failed while creating the containers of vault (exit code 18).');
    expect(fault.message).toContain('manifest for broken not found, token was <ADMIN_TOKEN>');
    expect(existsSync(join(context.stackFolder, 'chat'))).toBe(false);
    const run = await readRun(context.host, context.stackFolder, 'run1', signal);
    expect(run).toMatchObject({ state: 'failed', summary: 'Failed while creating the containers of vault (exit code 18).' });
    expect(await readLock(context.host, context.stackFolder, signal)).toBeUndefined();
  });

  test('shows the reason of a traceback of compose, and ids of twelve digits, while it runs and afterwards', async () => {
    const context = await createContext();
    const events: ApplyEvent[] = [];
    const fault = await faultOf(apply(context, 'run1', [vault(context, 'crashing')], marked, (event) => events.push(event)));
    const reason =
      'Error while fetching server API version: Permission denied\nCannot start service main: endpoint main_1 (30a2efd88927): port is already allocated';
    expect(fault.message.endsWith(`\n${reason}`)).toBe(true);
    const shown = events.flatMap((event) => (event.kind === 'output' ? [event.text] : [])).join('\n');
    for (const text of [shown, fault.message]) {
      expect(text).not.toMatch(/Traceback|File "|sys\.exit|[0-9a-f]{64}/);
    }
    expect(shown).toContain(reason);
  });

  test('leaves what is wrong with a path to its sentence', async () => {
    const context = await createContext();
    await mkdir(join(context.stackFolder, 'vault/.env'), { recursive: true });
    const fault = await faultOf(apply(context, 'run1', [vault(context)]));
    expect(fault.message).toContain(`${context.stackFolder}/vault/.env`);
    expect(existsSync(join(context.stackFolder, 'vault/compose.yaml'))).toBe(false);
  });
});

test('a file behind a link is changed where it is, and the link stays', async () => {
  const context = await createContext();
  await mkdir(join(context.stackFolder, 'vault'), { recursive: true });
  await writeFile(join(context.base, 'mine.yaml'), 'old');
  await symlink(join(context.base, 'mine.yaml'), join(context.stackFolder, 'vault/compose.yaml'));
  await apply(context, 'run1', [over(context, vault(context))]);
  expect(await readFile(join(context.base, 'mine.yaml'), 'utf8')).toBe(compose('vault:1'));
});

test('a file that somebody changed or made since it was planned is left alone, and nothing is changed', async () => {
  const context = await createContext();
  await apply(context, 'run1', [vault(context)]);
  const env = join(context.stackFolder, 'vault/.env');
  // As an editor of another system saves it: the byte order mark is not part of the text.
  await writeFile(env, '\uFEFFWEB_PORT=8180\n\n');
  const planned = over(context, vault(context, 'vault:2'));
  const files = planned.files.map((file) => (file.path === 'vault/.env' ? { ...file, before: 'WEB_PORT=8180\n\n' } : file));
  await apply(context, 'run2', [{ ...planned, files }]);
  const change = over(context, vault(context, 'vault:3'));
  await writeFile(env, 'WEB_PORT=9999\n');
  const before = await treeOf(context.stackFolder, theLock);
  expect(await faultOf(apply(context, 'run3', [change]))).toMatchObject({
    code: 'refused.planStale',
    message: expect.stringMatching(/^vault\/\.env has been changed since the plan was created/),
  });
  expect(await faultOf(apply(context, 'run4', [vault(context, 'vault:3')]))).toMatchObject({ code: 'refused.planStale' });
  expect(await treeOf(context.stackFolder, theLock)).toEqual(before);
});

test('twenty components go in one transaction', async () => {
  const context = await createContext();
  const plans = Array.from({ length: 20 }, (_, index) =>
    planOf(
      `app${index}`,
      context.stackFolder,
      [{ path: `app${index}/compose.yaml`, after: `services: {main: {image: "app:${index}"}}\n` }],
      {
        after: [{ component: 'app0', service: 'main', argv: ['reload', 'it now'], why: 'new rules' }],
      },
    ),
  );
  const run = await apply(context, 'run1', plans);
  expect(run.entries.filter(({ step, state }) => step.startsWith('up:') && state === 'done')).toHaveLength(20);
  expect(run.entries.filter(({ step }) => step.startsWith('after:'))).toHaveLength(2);
  expect(await readFile(join(context.containers, 'exec-app0'), 'utf8')).toBe('main reload it now\n');
});

test('a removed component is brought down before its files go, and what is not ours stays', async () => {
  const context = await createContext();
  await apply(context, 'run1', [vault(context)]);
  await writeFile(join(context.stackFolder, 'vault/notes.txt'), 'mine');
  const removal = vault(context, 'vault:1', { kind: 'remove' });
  const files = removal.files.map((file) => ({ ...file, before: file.after, after: undefined }));
  await apply(context, 'run2', [{ ...removal, files }]);
  expect(existsSync(join(context.containers, 'vault'))).toBe(false);
  expect(Object.keys(await treeOf(join(context.stackFolder, 'vault')))).toEqual(['notes.txt']);
  expect(existsSync(join(context.stackFolder, '.quarterdeck/components/vault.json'))).toBe(false);
});

test('a console that goes away leaves the change running, and says so', async () => {
  const context = await createContext();
  const leaving = new AbortController();
  const applying = applyTransaction(
    mintGrant('apply', 'operate', leaving.signal),
    context.host,
    {
      transaction: transactionOf('run1', [vault(context, 'hanging')]),
      tool: context.tool,
      secrets: { vault: { ADMIN_TOKEN: marked } },
      engine: new EngineDouble(),
    },
    (event) => event.kind === 'step' && event.step === 'up:vault' && leaving.abort(new Error('walked away')),
  );
  expect(await faultOf(applying)).toMatchObject({ code: 'interrupted.applying' });
  expect((await readRun(context.host, context.stackFolder, 'run1', signal))?.state).toBe('running');
  await writeFile(join(context.containers, 'go'), '');
  await context.settled();
  expect((await readRun(context.host, context.stackFolder, 'run1', signal))?.state).toBe('applied');
});

test('no secret is an argument of any program, nor in any file', async () => {
  const context = await createContext();
  const strace = spawnSync('strace', ['-V']).status === 0;
  const script = scriptOf(transactionOf('run1', [vault(context)]), context.tool, {
    mode: 'apply',
    secrets: { vault: { ADMIN_TOKEN: marked } },
    composeTexts: {},
    records: {},
    seenLines: 0,
  });
  const trace = join(context.base, '..', `${context.base.split('/').at(-1)}.trace`);
  const program = strace ? ['strace', '-f', '-qq', '-s', '100000', '-v', '-e', 'trace=execve', '-o', trace, 'sh', '-s'] : ['sh', '-s'];
  await context.host.run(grant, program, { signal, limitMs: 60_000, stdin: script });
  await context.settled();
  expect((await readRun(context.host, context.stackFolder, 'run1', signal))?.state).toBe('applied');
  const found = Object.entries(await treeOf(context.base)).filter(([, text]) => text.includes(marked));
  expect(found).toEqual([]);
  if (!strace) return;
  const calls = (await readFile(trace, 'utf8')).split('\n').filter((line) => line.includes('execve('));
  await rm(trace);
  expect(calls.length).toBeGreaterThan(20);
  // Compose reads it from its environment; it is not in the environment of other programs, or in any arguments.
  const holding = calls.filter((line) => line.includes(marked));
  expect(holding.every((line) => /compose-double|\btimeout\b|\/(?:tr|sed|cat|cksum|mv|grep)"/.test(line))).toBe(true);
  for (const line of holding) expect(/execve\("[^"]*", (\[.*?\]), \[/s.exec(line)?.[1]).not.toContain(marked);
});

test.skipIf(process.getuid?.() !== 0)('a full disk is said, and everything stays as it was', async () => {
  const context = await createContext();
  await mkdir(context.stackFolder, { recursive: true });
  expect(spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=256k,mode=0755', 'tmpfs', context.stackFolder]).status).toBe(0);
  try {
    await apply(context, 'run1', [vault(context)]);
    const before = await treeOf(context.stackFolder, besideRuns);
    // The first does not fit at all; the second fits in the run's folder but not beside its target.
    for (const [run, sizeBytes] of [
      ['run2', 400_000],
      ['run3', 75_000],
    ] as const) {
      const plan = over(context, vault(context, 'vault:2'));
      const fault = await faultOf(
        apply(context, run, [
          {
            ...plan,
            files: [...plan.files, { ...plan.files[0], path: 'vault/files/big', before: undefined, after: 'x'.repeat(sizeBytes) } as never],
          },
        ]),
      );
      expect(fault.code).toBe('failed.noRoom');
      expect(fault.message).toContain(`No space left on the filesystem of ${context.stackFolder}`);
      expect(await treeOf(context.stackFolder, besideRuns)).toEqual(before);
    }
    // A run that did not even fit beside the old files leaves no record; the other one can be undone.
    expect(
      (await readRuns(context.host, context.stackFolder, signal)).map(({ transaction, state }) => `${transaction.run} ${state}`),
    ).toEqual(['run1 applied', 'run3 failed']);
  } finally {
    spawnSync('umount', ['-l', context.stackFolder]);
  }
});
