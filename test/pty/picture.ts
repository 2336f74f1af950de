import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Key } from './keys.ts';
import { Terminal } from './terminal.ts';

// `npm run picture [FILE [KEY...]]`: the README's picture, of the practice stack: whoever takes it sees the same. Keys lead to what is to be seen; without
// any it is the media server, which has something to say.
const root = resolve(import.meta.dirname, '../..');
const [file = 'docs/console.png', ...keys] = process.argv.slice(2);
const home = await mkdtemp(join(tmpdir(), 'quarterdeck-picture-'));
const terminal = Terminal.start([resolve(root, 'bin/quarterdeck'), 'practice'], {
  columns: 120,
  rows: 34,
  env: { QUARTERDECK_HOME: home, QUARTERDECK_KEYCHAIN: 'off', LANG: 'C.UTF-8' },
});
try {
  // When every probe has answered: the last ones are the slowest.
  await terminal.sees(/sealed 0\/3[\s\S]*loading \d+\/30 min/, 30_000);
  for (const key of keys.length > 0 ? keys : Array<Key>(9).fill('j')) terminal.press(key as Key);
  // A sparkline of some length shows that it lives.
  await terminal.sees(/cpu\s+[▁▂▃▄▅▆▇█]{24}/, 60_000);
  await terminal.screenshot(resolve(root, file));
} finally {
  await terminal.close();
  await rm(home, { recursive: true, force: true });
}
