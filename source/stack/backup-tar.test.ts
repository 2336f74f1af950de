import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { extract, pack } from 'tar-stream';
import { expect, test, vi } from 'vitest';
import { volumeArchive } from './backup-tar.ts';

// The program is built with node's own streams in the place of the library's, which end a moment later.
vi.hoisted(() => {
  const modules = process.getBuiltinModule('node:module') as unknown as { _load: (name: string, ...more: unknown[]) => unknown };
  const load = modules._load;
  modules._load = (name, ...more) => load(name === 'readable-stream' ? 'node:stream' : name, ...more);
});

async function contents(archive: Readable): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  const reader = extract();
  reader.on('entry', (header, content, next) => {
    void buffer(content as unknown as Readable).then((bytes) => {
      found[header.name] = bytes.toString();
      next();
    });
  });
  const ended = new Promise((resolve, reject) => reader.on('finish', resolve).on('error', reject));
  archive.pipe(reader);
  await ended;
  return found;
}

test('an archive that comes in one piece keeps its files apart, empty ones too', async () => {
  const writer = pack();
  const wanted: Record<string, string> = { './': '' };
  writer.entry({ name: 'data/', type: 'directory' });
  for (let number = 0; number < 40; number++) {
    const text = number % 2 === 0 ? '' : `content of ${number}`;
    writer.entry({ name: `data/file-${number}` }, text);
    wanted[`file-${number}`] = text;
  }
  writer.finalize();
  const whole = await buffer(writer as unknown as Readable);
  const { archive, count } = volumeArchive(Readable.from([whole]), '/data', [], AbortSignal.timeout(10_000));
  expect(await contents(archive)).toEqual(wanted);
  expect(count.files).toBe(40);
});
