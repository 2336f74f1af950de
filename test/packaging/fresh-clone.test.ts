import { existsSync, readdirSync } from 'node:fs';
import { copyFile, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkout, copyCheckout, makeFolder, runProgram, startProgram } from './fresh-copy.ts';

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
    expect(readdirSync(clone())).toContain('.setup-pid');
    expect(existsSync(join(clone(), 'dist/.built'))).toBe(false);

    const both = await Promise.all([runProgram(['bin/setup'], { cwd: clone() }), runProgram(['bin/setup'], { cwd: clone() })]);
    expect(
      both.map(({ code, stderr }) => ({ code, worked: stderr.includes('installing') })).sort((a, b) => Number(a.worked) - Number(b.worked)),
    ).toEqual([
      { code: 0, worked: false },
      { code: 0, worked: true },
    ]);
    expect(both.some(({ stderr }) => stderr.includes('waiting for another set-up'))).toBe(true);
    expect(readdirSync(clone())).not.toContain('.setup-pid');
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

describe('set-ups that find the lock of one that was killed', () => {
  it('work one after another, however many begin at once', async () => {
    const { path, remove } = await makeFolder();
    try {
      // `busy` is there while one of them installs, which takes a moment.
      const programs = join(path, 'programs');
      await Promise.all([mkdir(join(path, 'bin')), mkdir(programs), mkdir(join(path, 'node_modules'))]);
      await copyFile(join(checkout, 'bin/setup'), join(path, 'bin/setup'));
      const install = 'mkdir busy || echo "two at once" >> overlaps; sleep 0.05; rmdir busy';
      await writeFile(join(programs, 'npm'), `#!/bin/sh\n${install}\n`, { mode: 0o755 });
      await Promise.all(['package-lock.json', 'overlaps'].map(async (name) => await writeFile(join(path, name), '')));
      await Promise.all(['bundle', 'source', 'catalog', 'dist'].map(async (name) => await mkdir(join(path, name))));
      await writeFile(join(path, 'package.json'), '{}');
      await writeFile(join(path, 'build.mjs'), "import { writeFileSync } from 'node:fs';\nwriteFileSync('dist/.built', '');\n");
      const env = { PATH: `${programs}:${process.env.PATH ?? ''}` };
      const ended = await runProgram(['sh', '-c', 'echo $$'], { cwd: path });
      for (let round = 1; round <= 5; round++) {
        await rm(join(path, '.setup-pid'), { recursive: true, force: true });
        await symlink(ended.stdout.trim(), join(path, '.setup-pid'));
        await rm(join(path, 'node_modules/.installed-lock'), { force: true });
        const all = await Promise.all(Array.from({ length: 8 }, async () => await runProgram(['bin/setup'], { cwd: path, env })));
        expect(all.map(({ code }) => code)).toEqual(Array(8).fill(0));
        expect(await readFile(join(path, 'overlaps'), 'utf8')).toBe('');
      }
    } finally {
      await remove();
    }
  });
});
