import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { extract, pack } from 'tar-stream';
import { describe, expect, test, vi } from 'vitest';
import { ArchiveProblem, checkedArchive, volumeArchive } from './tar.ts';

// The program is bundled with Node's own streams instead of the library's, which end a moment later.
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
  expect(count.members).toBe(41);
});

describe('an archive of a backup is refused, not unpacked', () => {
  type Member = Parameters<ReturnType<typeof pack>['entry']>[0];
  const tarOf = async (...members: Member[]): Promise<Buffer> => {
    const writer = pack();
    for (const member of members) writer.entry(member, member.type === undefined ? 'content' : undefined);
    writer.finalize();
    return buffer(writer as unknown as Readable);
  };
  const read = (archive: Buffer) => buffer(checkedArchive(Readable.from([archive]), AbortSignal.timeout(10_000)).archive);
  const top = { name: './', type: 'directory' } as const;

  for (const [what, members] of Object.entries<Member[]>({
    'an absolute path': [{ name: '/etc/canary' }],
    'a path with ..': [{ name: 'a/../../canary' }],
    'a path through its own link': [{ name: 'esc', type: 'symlink', linkname: '/etc' }, { name: 'esc/canary' }],
    'a path through a link below': [
      { name: 'a/', type: 'directory' },
      { name: 'a/esc', type: 'symlink', linkname: '/' },
      { name: './a//esc/etc/canary' },
    ],
    'a hard link to the outside': [{ name: 'x', type: 'link', linkname: '../../etc/shadow' }],
    'an absolute hard link': [{ name: 'x', type: 'link', linkname: '/etc/shadow' }],
    'a hard link through a link': [
      { name: 'esc', type: 'symlink', linkname: '/etc' },
      { name: 'x', type: 'link', linkname: 'esc/shadow' },
    ],
    'a folder in the place of a link': [
      { name: 'esc', type: 'symlink', linkname: '/etc' },
      { name: 'esc/', type: 'directory' },
    ],
  }))
    test(what, async () => {
      await expect(read(await tarOf(top, ...members))).rejects.toThrow(ArchiveProblem);
    });

  test('one that is cut off, also between two members; garbage; one with nothing in it', async () => {
    const whole = await tarOf(top, { name: 'a' }, { name: 'b' });
    for (let bytes = 512; bytes < whole.length - 512; bytes += 512)
      await expect(read(whole.subarray(0, bytes)), `${bytes} bytes`).rejects.toThrow('it is truncated');
    await expect(read(whole.subarray(0, 700))).rejects.toThrow('it is truncated');
    await expect(read(Buffer.alloc(2048, 7))).rejects.toThrow('it is not a tar archive');
    await expect(read(Buffer.alloc(0))).rejects.toThrow('it is empty');
    await expect(read(Buffer.alloc(1024))).rejects.toThrow('it is empty');
  });

  test('not one with links that stay links', async () => {
    const members = [
      top,
      { name: 'abs', type: 'symlink', linkname: '/opt/x' },
      { name: 'a' },
      { name: 'b', type: 'link', linkname: 'a' },
    ] as Member[];
    expect(Object.keys(await contents(Readable.from([await read(await tarOf(...members))])))).toEqual(['./', 'abs', 'a', 'b']);
  });
});
