import { resolve } from 'node:path';
import type { Key } from './keys.ts';
import { Terminal } from './terminal.ts';

// `npm run picture`: the README's picture, of the console on whatever engine this machine has. Wants containers that are worth seeing.
const root = resolve(import.meta.dirname, '../..');
const terminal = Terminal.start([resolve(root, 'bin/quarterdeck')], { columns: 120, rows: 34, env: process.env });
try {
  await terminal.sees(/\d up/);
  for (const key of process.argv.slice(2)) terminal.press(key as Key);
  // A sparkline of some length shows that it lives.
  await terminal.sees(/cpu\s+[▁▂▃▄▅▆▇█]{12}/, 30_000);
  await terminal.screenshot(resolve(root, 'docs/console.png'));
} finally {
  await terminal.close();
}
