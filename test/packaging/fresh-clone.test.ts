import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { copyCheckout, makeFolder, runProgram, startProgram } from './fresh-copy.ts';

let folder: Awaited<ReturnType<typeof makeFolder>>;
const clone = (): string => join(folder.path, 'clone');
/** Where the product keeps its own files, so that those of whoever runs the tests are neither read nor written. */
const home = (): Record<string, string> => ({ QUARTERDECK_HOME: join(folder.path, 'home') });

const until = async (holds: () => boolean, limitMs: number): Promise<void> => {
  for (const end = Date.now() + limitMs; !holds(); ) {
    if (Date.now() > end) throw new Error(`waited ${limitMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
};

describe('a fresh clone', () => {
  beforeAll(async () => {
    folder = await makeFolder();
    await copyCheckout(clone());
  });
  afterAll(async () => await folder.remove());

  it('says how to get it running, before it is built', async () => {
    const { code, stderr } = await runProgram(['bin/quarterdeck', '--version'], { cwd: clone() });
    expect(code).toBe(1);
    expect(stderr).toContain('npm start');
  });

  it('is repaired by the next set-up when one was killed in the middle of installing; of two at once one works, the other waits', async () => {
    const killed = startProgram(['bin/setup'], { cwd: clone() });
    const modules = join(clone(), 'node_modules');
    await until(() => existsSync(modules) && readdirSync(modules).length > 20, 120_000);
    process.kill(-killed.pid, 'SIGKILL');
    expect((await killed.ended).signal).toBe('SIGKILL');
    expect(existsSync(join(clone(), '.setup-lock'))).toBe(true);
    expect(existsSync(join(clone(), 'dist/.built'))).toBe(false);

    const both = await Promise.all([runProgram(['bin/setup'], { cwd: clone() }), runProgram(['bin/setup'], { cwd: clone() })]);
    expect(
      both.map(({ code, stderr }) => ({ code, worked: stderr.includes('installing') })).sort((a, b) => Number(a.worked) - Number(b.worked)),
    ).toEqual([
      { code: 0, worked: false },
      { code: 0, worked: true },
    ]);
    expect(both.some(({ stderr }) => stderr.includes('waiting for another set-up'))).toBe(true);
    expect(existsSync(join(clone(), '.setup-lock'))).toBe(false);
    expect(await runProgram(['bin/quarterdeck', '--version'], { cwd: clone(), env: home() })).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^\d+\.\d+\.\d+/),
    });
  });

  it('has nothing to do, and says nothing, when all is there', async () => {
    expect(await runProgram(['bin/setup'], { cwd: clone() })).toMatchObject({ code: 0, stdout: '', stderr: '' });
  });

  it('starts with npm start without a terminal: what is wrong once, and 3 without an engine', async () => {
    const env = { ...home(), DOCKER_HOST: 'unix:///nowhere/engine.sock' };
    const started = await runProgram(['npm', 'start'], { cwd: clone(), env });
    expect(started).toMatchObject({ code: 3 });
    expect(started.stdout + started.stderr).toContain('/nowhere/engine.sock');
    // Neither a stack trace nor anything that only a terminal understands.
    expect(started.stdout + started.stderr).not.toMatch(/\n\s+at .*[(:]\d+/);
    expect(started.stdout).not.toContain('\x1b');
  });
});
