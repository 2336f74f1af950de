import { chmod, copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runProgram } from '../../source/hosts/program.ts';

// Without a bundled node (macOS, musl), the launcher uses the one in PATH.
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'quarterdeck-launcher-'));
  await mkdir(join(folder, 'bin'));
  await mkdir(join(folder, 'dist'));
  await mkdir(join(folder, 'path'));
  await copyFile('bin/quarterdeck', join(folder, 'bin/quarterdeck'));
  await writeFile(join(folder, 'dist/main.js'), '');
});
afterEach(() => rm(folder, { recursive: true }));

async function withNode(script: string) {
  await writeFile(join(folder, 'path/node'), `#!/bin/sh\n${script}\n`);
  await chmod(join(folder, 'path/node'), 0o755);
  const { exitCode, stdout, stderr } = await runProgram(['/bin/sh', join(folder, 'bin/quarterdeck'), 'status'], {
    signal: AbortSignal.timeout(10_000),
    limitMs: 10_000,
    env: { PATH: `${join(folder, 'path')}:/usr/bin:/bin` },
  });
  return { exitCode, stdout: String(Buffer.from(stdout)), stderr: String(Buffer.from(stderr)) };
}

test('names an older node, not an option that it does not know', async () => {
  const node20 = 'case "$*" in *--disable-sigusr1*) echo "node: bad option: --disable-sigusr1" >&2; exit 9;; *) echo v20.19.0;; esac';
  expect(await withNode(node20)).toEqual({
    exitCode: 1,
    stdout: '',
    stderr: 'quarterdeck: Node.js 22.14+ or 24+ is required, but the node in PATH is v20.19.0.\n',
  });
});

test('runs the program with its arguments on a newer one', async () => {
  expect(await withNode('echo "$*"')).toMatchObject({
    exitCode: 0,
    stdout: expect.stringMatching(/--disable-sigusr1 .*dist\/main\.js status\n$/),
  });
});
