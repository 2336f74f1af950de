import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { catalogFolder, soundComponent, soundCompose } from '../../test/doubles/catalog-folder.ts';
import { readComponentSource } from './component-source.ts';

test.each(['compose.yaml', 'files/motd.txt', 'config.schema.json'])(
  '%s that is not UTF-8 is refused with its place, and never delivered with other signs',
  async (name) => {
    const { folder, remove } = await catalogFolder({
      'notes/component.yaml': soundComponent,
      'notes/compose.yaml': soundCompose,
      'notes/files/motd.txt': 'hello',
      'notes/config.schema.json': '{}',
    });
    onTestFinished(remove);
    const entry = {
      id: 'notes',
      folder: join(folder, 'notes'),
      configFile: { path: 'files/motd.txt', form: 'text', schema: 'config.schema.json', rules: [] },
    };
    await expect(readComponentSource(entry, folder)).resolves.toMatchObject({ files: { 'files/motd.txt': 'hello' } });
    const file = join(folder, 'notes', name);
    await writeFile(file, Buffer.from('one\ntwo\nkan\xe9l\n', 'latin1'));
    await expect(readComponentSource(entry, folder)).rejects.toMatchObject({
      code: 'config.unreadable',
      where: { file, line: 3, column: 4 },
    });
  },
);
