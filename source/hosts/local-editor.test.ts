import { chmod, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { editorCommand, editText } from './local-editor.ts';

let folder: string;
const signal = () => AbortSignal.timeout(10_000);
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'quarterdeck-editor-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function editor(script: string): Promise<string> {
  const path = join(folder, 'editor');
  await writeFile(path, `#!/bin/sh\n${script}\n`);
  await chmod(path, 0o700);
  return path;
}

describe('editing a text in an editor', () => {
  test('answers what was saved, and leaves no copy behind', async () => {
    const path = await editor(`stat -c %a "$2" >"${folder}/mode"; dirname "$2" >"${folder}/where"; echo "$1 added" >>"$2"`);
    expect(await editText('first\n', { name: 'files/x/compose.yaml', env: { EDITOR: `${path} --wait` }, signal: signal() })).toBe(
      'first\n--wait added\n',
    );
    const { readFile } = await import('node:fs/promises');
    expect((await readFile(join(folder, 'mode'), 'utf8')).trim()).toBe('600');
    await expect(readdir((await readFile(join(folder, 'where'), 'utf8')).trim())).rejects.toMatchObject({ code: 'ENOENT' });
  });

  test('an editor that fails means that nothing is to be changed; one that is missing is named', async () => {
    const path = await editor('echo lost >>"$1"; exit 1');
    await expect(editText('first\n', { name: '.env', env: { VISUAL: path, EDITOR: 'other' }, signal: signal() })).rejects.toMatchObject({
      code: 'interrupted.editor',
    });
    await expect(editText('first\n', { name: '.env', env: { EDITOR: join(folder, 'none') }, signal: signal() })).rejects.toMatchObject({
      code: 'unreachable.editor',
      remedy: 'Set VISUAL, or EDITOR if VISUAL is not set, to an installed editor.',
    });
  });

  test('VISUAL comes before EDITOR, vi where neither says anything', () => {
    expect(editorCommand({ VISUAL: 'code --wait', EDITOR: 'ed' })).toEqual(['code', '--wait']);
    expect(editorCommand({ VISUAL: ' ', EDITOR: 'ed' })).toEqual(['ed']);
    expect(editorCommand({})).toEqual(['vi']);
  });
});
