import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Terminal } from './terminal.ts';

const root = join(import.meta.dirname, '../..');

let home: string;
let terminal: Terminal | undefined;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'qd-catalog-'));
  await mkdir(join(home, 'own', 'config'), { recursive: true });
  await writeFile(join(home, 'own', 'config', 'config.yaml'), 'catalogFolder: ~/my-catalog\n', { mode: 0o600 });
});
afterEach(async () => {
  await terminal?.close();
  terminal = undefined;
  await rm(home, { recursive: true, force: true });
});

async function start(...words: string[]): Promise<Terminal> {
  await terminal?.close();
  terminal = Terminal.start([join(root, 'bin/quarterdeck'), ...words], {
    columns: 100,
    rows: 30,
    env: { NODE_ENV: 'production', LANG: 'C.UTF-8', HOME: home, QUARTERDECK_HOME: join(home, 'own'), QUARTERDECK_KEYCHAIN: 'off' },
  });
  return terminal;
}

test('an entry of one’s own is begun by answering, is sound, and is in the list; a broken one beside it is named', async () => {
  const asking = await start('catalog', 'new');
  await asking.sees('Entry ID', 60_000);
  asking.type('Bread Book');
  asking.press('enter');
  await asking.sees('use lowercase letters');
  // The line is emptied before the next answer, as a person would.
  for (let count = 0; count < 10; count++) asking.press('backspace');
  asking.type('bread-book');
  asking.press('enter');
  const answers = [
    ['Product name (name):', 'Bread Book'],
    ['Kind (kind):', 'Recipe manager'],
    ['Group (group):', 'productivity'],
    ['Image (image):', 'baker/bread:1.4'],
    ['Container port (port):', '8000'],
    ['Host port (host-port):', '8123'],
    ['Health path (health):', '/health'],
    ['Data folders (volume):', '/var/bread'],
    ['Time zone (time-zone):', 'no'],
  ] as const;
  for (const [prompt, answer] of answers) {
    await asking.sees(prompt);
    asking.type(answer);
    asking.press('enter');
  }
  await asking.sees('bread-book is a new entry', 20_000);
  expect((await asking.exit()).code).toBe(0);

  const compose = await readFile(join(home, 'my-catalog', 'bread-book', 'compose.yaml'), 'utf8');
  expect(compose).toContain('image: baker/bread:1.4\n');
  expect(compose).toContain('${WEB_PORT:-8123}:8000/tcp');
  const checking = await start('catalog', 'check');
  await checking.sees('1 component can be used; no problems found.', 60_000);

  await mkdir(join(home, 'my-catalog', 'rss-reader'));
  await writeFile(join(home, 'my-catalog', 'rss-reader', 'component.yaml'), 'id: rss-reader\nkindd: x\n');
  const listing = await start('catalog', 'list', 'bread');
  await listing.sees('bread-book *', 60_000);
  await listing.sees('Your own catalog has');
  const shown = await start('catalog', 'show', 'rss-reader');
  await shown.sees('Commands in the container', 60_000);
});
