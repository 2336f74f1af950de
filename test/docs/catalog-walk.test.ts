import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { withoutWaits } from '../without-waits.ts';
import { fencedBlocks } from './fenced-blocks.ts';

const root = resolve(import.meta.dirname, '../..');

interface Ran {
  command: string;
  exitCode: number;
  stdout: string;
  stderr: string;
}

let home: string;
let ran: Ran[];
let written: Record<string, string>;

/** Runs a documented line as typed, by someone who has neither settings nor an engine. */
function run(command: string): Promise<Ran> {
  const env = {
    HOME: home,
    QUARTERDECK_HOME: join(home, 'quarterdeck'),
    PATH: `${join(root, 'bin')}:${process.env.PATH}`,
    LANG: 'C.UTF-8',
    QUARTERDECK_KEYCHAIN: 'off',
  };
  return new Promise((done) => {
    const child = execFile('sh', ['-c', command], { env, cwd: home }, (error, stdout, stderr) =>
      done({ command, exitCode: error ? Number(error.code ?? 1) : 0, stdout, stderr }),
    );
    child.stdin?.end();
  });
}

/** Puts each section of the second text in place of the one with its key. */
function withSections(text: string, sections: string): string {
  return sections.split(/^(?=\w)/m).reduce((before, section) => {
    const [key = ''] = /^\w+:/.exec(section) ?? [];
    const replaced = before.replace(new RegExp(`^${key}[^]*?\n(?=\\S|\n|$(?![^]))`, 'm'), () => `${section.trimEnd()}\n`);
    expect(replaced, `the entry that catalog new writes has ${key}`).not.toBe(before);
    return replaced;
  }, text);
}

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'catalog-walk-'));
  const [, text = ''] = /^## Add a component\n([\s\S]*?)^## /m.exec(await readFile(join(root, 'docs/catalog.md'), 'utf8')) ?? [];
  ran = [];
  written = {};
  for (const { language, name, lines, content } of fencedBlocks(text)) {
    if (language === 'sh') {
      for (const line of lines) ran.push(await run(line));
      continue;
    }
    const [, settings = ''] = /catalogFolder to \S+ in ~\/(\S+\/config\.yaml)\./.exec(ran.at(-1)?.stdout ?? '') ?? [];
    const file = join(home, name === 'config.yaml' ? settings : `my-catalog/${name}`);
    const before = await readFile(file, 'utf8').catch(() => '');
    written[name] = before;
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, name.endsWith('/component.yaml') ? withSections(before, content) : content);
  }
}, 240_000);
afterAll(() => rm(home, { recursive: true }));

const ranOf = (words: string): Ran =>
  ran.find(({ command }) => command.includes(words)) ?? expect.fail(`docs/catalog.md does not run ${words}`);

test('each documented command succeeds', () => {
  expect(ran.filter(({ exitCode }) => exitCode !== 0)).toEqual([]);
  expect(ran.map(({ stderr }) => withoutWaits(stderr)).join('')).not.toMatch(/rror|quarterdeck: /);
});

test('catalog new writes the documented compose.yaml, without the settings that are added to it', async () => {
  const after = await readFile(join(home, 'my-catalog/gotify/compose.yaml'), 'utf8');
  expect(written['gotify/compose.yaml']).toBe(after.replace(/^ *GOTIFY_.*\n/gm, ''));
});

test('the entry is checked without a mistake, shown and planned', () => {
  expect(ranOf('catalog check').stdout).toContain('1 component can be used; no problems found.');
  const { stdout } = ranOf('catalog show gotify');
  for (const text of ['Gotify', 'Push notifications', 'GOTIFY_DEFAULTUSER_PASS', '/app/data', '/health', '8770'])
    expect(stdout).toContain(text);
  const plan = ranOf('deploy gotify --dry-run');
  const shown = plan.stdout + plan.stderr;
  for (const text of ['gotify/server:latest', '127.0.0.1', '8770', 'Dry run']) expect(shown).toContain(text);
});
