import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { asOrdinaryUser } from '../../test/doubles/ordinary-user.ts';
import type { ExecOptions } from './host.ts';
import { runProgram } from './program.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'qd-program-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const options = (over: Partial<ExecOptions> = {}): ExecOptions => ({ signal: new AbortController().signal, limitMs: 10_000, ...over });
const run = (script: string, over?: Partial<ExecOptions>) => runProgram(['sh', '-c', script], options(over));
const text = (bytes: Uint8Array) => Buffer.from(bytes).toString();
const alive = (pid: number) => existsSync(`/proc/${pid}`);

test('output of both streams, exit code, input', async () => {
  const { stdout, stderr, exitCode, cut } = await run('cat; echo err >&2; exit 3', { stdin: 'in' });
  expect([text(stdout), text(stderr), exitCode, cut]).toEqual(['in', 'err\n', 3, false]);
});

test('arguments are a list: nothing in them is a command', async () => {
  const { stdout } = await runProgram(['printf', '%s|', '$(id)', 'a b', '; exit 9', '*'], options());
  expect(text(stdout)).toBe('$(id)|a b|; exit 9|*|');
});

test('the environment is for that one process, beside what was there', async () => {
  const { stdout } = await run('echo "$SECRET $HOME"', { env: { SECRET: 's3cret' } });
  expect(text(stdout).trim()).toBe(`s3cret ${process.env.HOME ?? ''}`.trim());
  expect(process.env.SECRET).toBeUndefined();
});

test('a folder to run in', async () => {
  expect(text((await run('pwd -P', { cwd: folder })).stdout)).toMatch(new RegExp(`${folder}\n$`));
});

test('output beyond the limit is dropped and said, and does not block the program', async () => {
  const { stdout, cut, exitCode } = await run('head -c 3000000 /dev/zero; exit 4', { limitBytes: 1000 });
  expect([stdout.length, cut, exitCode]).toEqual([1000, true, 4]);
});

test('a program that does not read its input', async () => {
  expect((await run('exec 0<&-; exit 5', { stdin: Buffer.alloc(4_000_000) })).exitCode).toBe(5);
});

test('ended by a signal counts as shells have it', async () => expect((await run('kill -9 $$')).exitCode).toBe(137));

test('no such program, with a folder in PATH that may not be read', async () => {
  await mkdir(join(folder, 'closed'), { mode: 0 });
  await chmod(folder, 0o755);
  const before = process.env.PATH;
  process.env.PATH = `${join(folder, 'closed')}:${before}`;
  try {
    await asOrdinaryUser(() =>
      expect(runProgram(['quarterdeck-no-such-program'], options())).rejects.toMatchObject({ remedy: expect.stringContaining('PATH') }),
    );
  } finally {
    process.env.PATH = before;
  }
});

test('no such program, no such folder', async () => {
  await expect(runProgram(['quarterdeck-no-such-program'], options())).rejects.toMatchObject({
    code: 'unreachable.program',
    remedy: expect.stringContaining('PATH'),
  });
  await expect(run('true', { cwd: join(folder, 'none') })).rejects.toMatchObject({
    code: 'unreachable.program',
    message: `sh cannot be started in ${join(folder, 'none')}: folder not found.`,
  });
});

// A child of the program writes its pid where the test can read it, and then ignores SIGTERM.
const stubborn = (file: string) =>
  `(trap '' TERM; echo $$ >/dev/null; sh -c 'trap "" TERM; echo $$ > ${file}; while :; do sleep 0.05; done') & wait`;

test('the limit ends the program and its children, also those that do not want to', async () => {
  const file = join(folder, 'pid');
  await expect(run(stubborn(file), { limitMs: 700 })).rejects.toMatchObject({
    code: 'failed.limit',
    message: expect.stringContaining('0.7 s'),
  });
  const pid = Number(await readFile(file, 'utf8'));
  expect(pid).toBeGreaterThan(1);
  await expect.poll(() => alive(pid), { timeout: 5_000 }).toBe(false);
});

test('leaving does too', async () => {
  const file = join(folder, 'pid');
  const leaving = new AbortController();
  const running = run(stubborn(file), { signal: leaving.signal });
  running.catch(() => undefined);
  await expect.poll(() => existsSync(file), { timeout: 5_000 }).toBe(true);
  await expect.poll(async () => Number(await readFile(file, 'utf8'))).toBeGreaterThan(1);
  const pid = Number(await readFile(file, 'utf8'));
  leaving.abort();
  await expect(running).rejects.toBe(leaving.signal.reason);
  await expect.poll(() => alive(pid), { timeout: 5_000 }).toBe(false);
});

test('already left: nothing is started', async () => {
  await expect(run(`touch ${join(folder, 'ran')}`, { signal: AbortSignal.abort() })).rejects.toMatchObject({ name: 'AbortError' });
  expect(existsSync(join(folder, 'ran'))).toBe(false);
});

test('a child that keeps the output open is not waited for', async () => {
  const started = performance.now();
  const { stdout, exitCode } = await run('sleep 5 & echo done');
  expect([text(stdout), exitCode]).toEqual(['done\n', 0]);
  expect(performance.now() - started).toBeLessThan(4_000);
});
