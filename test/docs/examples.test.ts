import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeShortFolder } from '../short-folder.ts';
import { fencedBlocks } from './fenced-blocks.ts';

/** Runs the examples of the documents: lines of `console` blocks that begin with `$ quarterdeck --practice`. They read, or are dry runs. */
const root = resolve(import.meta.dirname, '../..');
const launcher = join(root, 'bin/quarterdeck');
const prompt = '$ quarterdeck --practice ';
const pages = ['README.md', ...readdirSync(join(root, 'docs')).flatMap((name) => (name.endsWith('.md') ? [`docs/${name}`] : []))];
const examples = pages.flatMap((page) =>
  fencedBlocks(readFileSync(join(root, page), 'utf8'))
    .filter(({ language }) => language === 'console')
    .flatMap(({ lines }) => lines.flatMap((line) => (line.startsWith(prompt) ? [[line.slice(prompt.length), page] as const] : []))),
);

let home: string;
let served: ChildProcess;

beforeAll(async () => {
  home = await makeShortFolder('qd-docs-');
  const env = { ...process.env, QUARTERDECK_HOME: home, FORCE_COLOR: '0' };
  served = spawn(launcher, ['practice', 'serve', '--json'], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  if (served.stdout) await once(served.stdout, 'data');
  served.stdout?.resume();
}, 120_000);

afterAll(async () => {
  served.kill('SIGTERM');
  if (served.exitCode === null) await once(served, 'exit');
  await rm(home, { recursive: true, force: true });
});

function run(command: string): Promise<{ code: number; stdout: string; stderr: string }> {
  const env = { ...process.env, QUARTERDECK_HOME: home, FORCE_COLOR: '0' };
  return new Promise((done) => {
    const child = execFile(launcher, ['--practice', ...command.split(' ')], { env }, (_, stdout, stderr) => {
      done({ code: child.exitCode ?? -1, stdout, stderr });
    });
    child.stdin?.end();
  });
}

test('the documents have examples, and no line of a console block is skipped', () => {
  expect(examples.length).toBeGreaterThan(20);
  const lines = pages.flatMap((page) =>
    fencedBlocks(readFileSync(join(root, page), 'utf8')).flatMap(({ language, lines }) => (language === 'console' ? lines : [])),
  );
  expect(lines.filter((line) => line.startsWith('$') && !line.startsWith(prompt))).toEqual([]);
});

const commands = new Map(examples);
/** What the README shows below its commands. */
const outputs = new Map(
  fencedBlocks(readFileSync(join(root, 'README.md'), 'utf8')).flatMap(({ language, lines: [first = '', ...rest] }) =>
    language === 'console' ? [[first.slice(prompt.length), rest] as const] : [],
  ),
);
test.each([...commands])('quarterdeck --practice %s (%s)', { timeout: 120_000 }, async (command) => {
  const { stdout, ...outcome } = await run(command);
  expect(outcome).toMatchObject({ code: 0 });
  const shown = outputs.get(command);
  if (shown) expect(stdout.split('\n').map((line) => line.trimEnd())).toEqual([...shown, '']);
});
