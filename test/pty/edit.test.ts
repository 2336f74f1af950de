import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { environmentIn, Terminal } from './terminal.ts';

const root = join(import.meta.dirname, '../..');

/** What an editor needs of a terminal: lines and echo as a shell has them, and the size as it is at any time. */
const editor = `#!/bin/sh
stty -a | tr ';' '\\n' | sed 's/^ //' > "$SEEN"
echo "EDITING $(basename "$1") $(stty size)"
read answer
echo "RESIZED $(stty size), typed $answer"
read answer
sed -i 's/^services:/# by hand\\nservices:/; s/unless-stopped/always/' "$1"
`;

let home: string;
let terminal: Terminal | undefined;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'qd-edit-'));
});
afterEach(async () => {
  await terminal?.close();
  terminal = undefined;
  await rm(home, { recursive: true, force: true });
});

test('a file is edited in the operator’s own editor: it has the whole terminal, and the plan follows at the size of then', async () => {
  const program = join(home, 'editor');
  const seen = join(home, 'seen');
  await writeFile(program, editor);
  await chmod(program, 0o755);
  const shown = Terminal.start([join(root, 'bin/quarterdeck'), 'practice'], {
    cwd: root,
    columns: 80,
    rows: 24,
    env: {
      ...environmentIn(home),
      VISUAL: undefined,
      EDITOR: program,
      SEEN: seen,
    },
  });
  terminal = shown;
  await shown.sees('PRACTICE', 60_000);
  await shown.sees('ldap-directory', 20_000);
  shown.press(':');
  shown.type('edit ldap');
  await shown.sees('Edit the files of a component: ldap-directory');
  shown.press('enter');
  await shown.sees('File', 60_000);
  shown.press('enter');

  await shown.sees('EDITING compose.yaml 24 80', 20_000);
  expect(shown.onAlternateScreen).toBe(false);
  expect(shown.cursor.visible).toBe(true);
  expect((await readFile(seen, 'utf8')).split(/\s+/)).toEqual(expect.arrayContaining(['icanon', 'echo', 'isig', 'icrnl']));
  shown.resize(120, 36);
  shown.type('jq');
  shown.press('enter');
  await shown.sees('RESIZED 36 120, typed jq');
  shown.press('enter');

  await shown.sees('Change ldap-directory on practice', 60_000);
  await shown.sees(/\+ # by hand/);
  expect(shown.onAlternateScreen).toBe(true);
  expect(shown.screen()).toHaveLength(36);
  await shown.sees(/^.{119}[╮┓]$/m);
  // What was typed into the editor was not heard here.
  expect(shown.text()).not.toContain('jq');
  shown.press('enter');
  await shown.sees('Applied ldap-directory/compose.yaml.', 60_000);
  shown.press('enter');
  shown.press('q');
  expect((await shown.exit()).code).toBe(0);
}, 240_000);
