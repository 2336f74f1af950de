import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Machine } from '../engine/machine.ts';
import { runCompose } from './compose.ts';

let folder: string;
let machine: Machine;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'compose-'));
  machine = new Machine({ portsFolder: join(folder, 'ports'), bootMs: Date.now(), mountable: folder });
  await writeFile(join(folder, 'compose.yaml'), 'services:\n  a: {image: x, command: [sleep, "600"]}\n  b: {image: y, profiles: [off]}\n');
});
afterEach(async () => {
  await machine.close();
  await rm(folder, { recursive: true, force: true });
});

async function compose(...words: string[]): Promise<{ exitCode: number; stdout: string; stderr: string }> {
  const said = { stdout: '', stderr: '' };
  const exitCode = await runCompose({
    argv: ['-f', 'compose.yaml', '-p', 'shop', ...words],
    folder,
    environment: {},
    machine,
    signal: AbortSignal.timeout(10_000),
    write: (text, stream) => {
      said[stream] += text;
    },
  });
  return { exitCode, ...said };
}

test('what was stopped is started again', async () => {
  expect(await compose('up', '-d')).toMatchObject({ exitCode: 0 });
  await machine.stop(machine.container('shop-a-1'), { graceSeconds: 0 });
  expect(await compose('start')).toMatchObject({ exitCode: 0, stderr: ' Container shop-a-1  Started\n' });
  expect(machine.find('shop-a-1')?.isUp).toBe(true);
});

test('config checks the file, lists its services or prints it', async () => {
  expect(await compose('config', '-q')).toEqual({ exitCode: 0, stdout: '', stderr: '' });
  expect(await compose('config', '--services')).toMatchObject({ exitCode: 0, stdout: 'a\n' });
  expect(JSON.parse((await compose('config')).stdout)).toMatchObject({ name: 'shop', services: { a: { request: { image: 'x' } } } });
});

test('exec runs a program with its own options and ends with its exit code', async () => {
  expect(await compose('exec', 'a', 'true')).toMatchObject({ exitCode: 1, stderr: 'service "a" is not running\n' });
  await compose('up', '-d');
  expect(await compose('exec', '-T', 'a', 'sh', '-c', 'echo -f; exit 3')).toEqual({ exitCode: 3, stdout: '-f\n', stderr: '' });
});
