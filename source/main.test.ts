import { spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from 'vitest';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'quarterdeck-program-'));
});
afterEach(() => rm(folder, { recursive: true }));

test('what goes wrong behind the back of a verb is one sentence and a report, never a stack', async () => {
  const secret = 'hvs.CAESIJ5VxkS0mP1hQ9wYt7';
  // Throws out of a timer as soon as the program listens for it; otherwise the verb ends well.
  const saboteur = `const wait = () => process.listenerCount('uncaughtException') > 0 ? setTimeout(() => { throw new TypeError('bad token=${secret}'); }) : setImmediate(wait); wait();`;
  await writeFile(join(folder, 'saboteur.mjs'), saboteur);
  const child = spawn(process.execPath, ['--import', 'tsx', '--import', join(folder, 'saboteur.mjs'), 'source/main.ts', 'flows'], {
    env: { ...process.env, QUARTERDECK_HOME: folder, QUARTERDECK_KEYCHAIN: 'off', NODE_OPTIONS: '' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const [stderr, exitCode] = await Promise.all([text(child.stderr), new Promise((resolve) => child.on('exit', resolve))]);
  expect(exitCode).toBe(1);
  expect(stderr).toContain('Internal error');
  expect(stderr).not.toMatch(/\n\s+at /);
  expect(stderr).not.toContain(secret);
  const [name = ''] = await readdir(join(folder, 'state', 'reports'));
  const report = await readFile(join(folder, 'state', 'reports', name), 'utf8');
  expect(report).toContain('TypeError');
  expect(report).not.toContain(secret);
});
