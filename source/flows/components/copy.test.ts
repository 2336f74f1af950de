import { mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { extract, type Headers, pack } from 'tar-stream';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { componentOf } from '../../../test/doubles/fleet-double.ts';
import { FlowFixture } from '../../../test/doubles/flow-fixture.ts';
import { Fault } from '../../faults/fault.ts';
import { copy } from './copy.ts';

let fixture: FlowFixture;
beforeEach(async () => {
  fixture = await FlowFixture.open();
});
afterEach(() => fixture.close());
const box = () => componentOf('box', [fixture.engine.add('box')]);
const here = (...parts: string[]) => join(fixture.folder, ...parts);

async function archiveOf(entries: readonly (Headers & { content?: string })[]): Promise<Buffer> {
  const archive = pack();
  for (const { content, ...header } of entries) {
    if (content === undefined) archive.entry(header);
    else archive.entry(header, content);
  }
  archive.finalize();
  return buffer(archive.pipe(new PassThrough()));
}

async function namesIn(archive: Buffer): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  const reader = extract();
  reader.on('entry', (header, content, next) => {
    buffer(content).then((bytes) => {
      found[header.name] = header.type === 'file' ? bytes.toString() : `${header.type} ${header.linkname ?? ''}`.trim();
      next();
    }, next);
  });
  await new Promise((resolve, reject) => {
    reader.on('finish', resolve).on('error', reject);
    Readable.from([archive]).pipe(reader);
  });
  return found;
}

describe('cp out of a container', () => {
  test('a folder, with its links and modes, and without owners or setuid', async () => {
    fixture.engine.archives.set(
      '/etc/app',
      await archiveOf([
        { name: 'app/', type: 'directory', mode: 0o755 },
        { name: 'app/run.sh', mode: 0o4755, content: 'go' },
        { name: 'app/sub/', type: 'directory', mode: 0o700 },
        { name: 'app/sub/deep', mode: 0o600, content: 'deep' },
        { name: 'app/link', type: 'symlink', linkname: 'run.sh' },
        { name: 'app/dev', type: 'character-device' },
      ]),
    );
    const outcome = await fixture.run(copy, box(), { words: [':/etc/app', here('out')] });
    expect(await readFile(here('out', 'sub', 'deep'), 'utf8')).toBe('deep');
    expect(await readFile(here('out', 'link'), 'utf8')).toBe('go');
    expect((await stat(here('out', 'run.sh'))).mode & 0o7777).toBe(0o755);
    expect((await stat(here('out', 'sub'))).mode & 0o777).toBe(0o700);
    expect(outcome.message).toBe(
      `Copied 2 files (6 B) from box:/etc/app to ${here('out')}. Skipped devices, sockets or hard links: app/dev.`,
    );
  });

  test('into a folder that exists it keeps its name; a file is not replaced, unless forced', async () => {
    fixture.engine.archives.set('/etc/hosts', await archiveOf([{ name: 'hosts', content: 'new' }]));
    await mkdir(here('target'));
    await fixture.run(copy, box(), { words: [':/etc/hosts', here('target')] });
    expect(await readFile(here('target', 'hosts'), 'utf8')).toBe('new');
    await writeFile(here('target', 'hosts'), 'mine');
    await expect(fixture.run(copy, box(), { words: [':/etc/hosts', here('target')] })).rejects.toMatchObject({ code: 'refused.exists' });
    expect(await readFile(here('target', 'hosts'), 'utf8')).toBe('mine');
    await fixture.run(copy, box(), { words: [':/etc/hosts', here('target')], options: { force: true } });
    expect(await readFile(here('target', 'hosts'), 'utf8')).toBe('new');
  });

  test.each([
    ['a name that climbs', { name: 'app/../../evil', content: 'x' }],
    ['an absolute name', { name: '/tmp/evil', content: 'x' }],
    ['a second top entry', { name: 'other', content: 'x' }],
  ])('%s is refused and leaves nothing behind', async (_, entry) => {
    fixture.engine.archives.set('/app', await archiveOf([{ name: 'app/', type: 'directory' }, { name: 'app/ok', content: 'ok' }, entry]));
    await mkdir(here('target'));
    await expect(fixture.run(copy, box(), { words: [':/app', here('target', 'app')] })).rejects.toMatchObject({
      code: 'refused.archivePath',
    });
    expect(await readdir(here('target'))).toEqual([]);
  });

  test('a folder that is not there is named, in words', async () => {
    fixture.engine.archives.set('/etc/hosts', await archiveOf([{ name: 'hosts', content: 'new' }]));
    await expect(fixture.run(copy, box(), { words: [':/etc/hosts', here('nowhere', 'hosts')] })).rejects.toMatchObject({
      code: 'failed.file',
      message: `${here('nowhere')} cannot be used: folder not found.`,
    });
  });

  test('nothing is written through a link that the archive brings', async () => {
    await mkdir(here('victim'));
    await mkdir(here('target'));
    fixture.engine.archives.set(
      '/app',
      await archiveOf([
        { name: 'app/', type: 'directory' },
        { name: 'app/door', type: 'symlink', linkname: here('victim') },
        { name: 'app/door/evil', content: 'x' },
      ]),
    );
    await fixture.run(copy, box(), { words: [':/app', here('target', 'app')] }).catch(() => {});
    expect(await readdir(here('victim'))).toEqual([]);
  });

  test('no link is made through a link that the archive brings', async () => {
    await mkdir(here('victim'));
    await mkdir(here('target'));
    fixture.engine.archives.set(
      '/app',
      await archiveOf([
        { name: 'app/', type: 'directory' },
        { name: 'app/door', type: 'symlink', linkname: here('victim') },
        { name: 'app/door/authorized_keys', type: 'symlink', linkname: '/tmp/evil' },
      ]),
    );
    await expect(fixture.run(copy, box(), { words: [':/app', here('target', 'app')] })).rejects.toMatchObject({
      code: 'refused.archivePath',
    });
    expect(await readdir(here('victim'))).toEqual([]);
    expect(await readdir(here('target'))).toEqual([]);
  });

  test('an archive that breaks off leaves nothing behind', async () => {
    const whole = await archiveOf([{ name: 'big', content: 'x'.repeat(10_000) }]);
    fixture.engine.archives.set('/big', whole.subarray(0, 2_000));
    await mkdir(here('target'));
    await expect(fixture.run(copy, box(), { words: [':/big', here('target')] })).rejects.toMatchObject({ code: 'failed.file' });
    expect(await readdir(here('target'))).toEqual([]);
  });
});

describe('cp into a container', () => {
  test('a folder goes into a folder under its own name, with links as links', async () => {
    fixture.engine.archives.set('/srv', await archiveOf([{ name: 'srv/', type: 'directory' }]));
    await mkdir(here('conf', 'sub'), { recursive: true });
    await writeFile(here('conf', 'a'), 'A');
    await writeFile(here('conf', 'empty'), '');
    await writeFile(here('conf', 'sub', 'b'), 'B'.repeat(100_000));
    await symlink('a', here('conf', 'link'));
    await fixture.run(copy, box(), { words: [here('conf'), ':/srv'] });
    expect(fixture.engine.put.map(({ folder }) => folder)).toEqual(['/srv']);
    expect(await namesIn(fixture.engine.put[0]?.archive ?? Buffer.alloc(0))).toEqual({
      'conf/': 'directory',
      'conf/a': 'A',
      'conf/empty': '',
      'conf/link': 'symlink a',
      'conf/sub/': 'directory',
      'conf/sub/b': 'B'.repeat(100_000),
    });
  });

  test('a file takes the name it is given', async () => {
    fixture.engine.archives.set('/srv', await archiveOf([{ name: 'srv/', type: 'directory' }]));
    await writeFile(here('a'), 'A');
    await fixture.run(copy, box(), { words: [here('a'), ':/srv/renamed'] });
    expect(fixture.engine.requests).toEqual(['put box /srv']);
    expect(await namesIn(fixture.engine.put[0]?.archive ?? Buffer.alloc(0))).toEqual({ renamed: 'A' });
  });

  test('a link to a folder inside is a folder', async () => {
    fixture.engine.archives.set('/current', await archiveOf([{ name: 'current', type: 'symlink', linkname: 'v2' }]));
    fixture.engine.archives.set('/current/.', await archiveOf([{ name: './', type: 'directory' }]));
    await writeFile(here('a'), 'A');
    await fixture.run(copy, box(), { words: [here('a'), ':/current'] });
    expect(fixture.engine.requests).toEqual(['put box /current']);
  });

  test('a folder that is not there, and a source that is not there', async () => {
    await writeFile(here('a'), 'A');
    await expect(fixture.run(copy, box(), { words: [here('a'), ':/nope/a'] })).rejects.toMatchObject({ code: 'usage.target' });
    await expect(fixture.run(copy, box(), { words: [here('nope'), ':/srv'] })).rejects.toMatchObject({ code: 'usage.copy' });
    expect(fixture.engine.requests).toEqual([]);
  });
});

describe('the words of cp', () => {
  test('one side names the component', () => {
    expect(copy.subject?.(['web:/etc', './x'])).toEqual({ name: 'web', words: [':/etc', './x'] });
    expect(copy.subject?.(['./a:b', 'stack/web:/etc'])).toEqual({ name: 'stack/web', words: ['./a:b', ':/etc'] });
  });
  test.each([[['a', 'b']], [['a:/x', 'b:/y']], [['a:/x']], [[]]])('%j is wrong usage', (words) => {
    expect(() => copy.subject?.(words)).toThrow('A source and a target are required');
  });
  test('on a production host nothing is written into a container before the host was typed; out of it needs no word', async () => {
    fixture.policy = { ...fixture.policy, productionHosts: new Set(['local']) };
    fixture.operator.confirms = false;
    await writeFile(here('a'), 'A');
    fixture.engine.archives.set('/srv', await archiveOf([{ name: 'srv/', type: 'directory' }]));
    await expect(fixture.run(copy, box(), { words: [here('a'), ':/srv/x'] })).rejects.toMatchObject({ code: 'refused.notConfirmed' });
    expect(fixture.operator.confirmations).toMatchObject([
      { typed: 'local', consequences: ['Existing files at /srv/x in box are overwritten.'] },
    ]);
    expect(fixture.engine.put).toEqual([]);
    fixture.engine.archives.set('/x', await archiveOf([{ name: 'x', content: 'x' }]));
    await fixture.run(copy, box(), { words: [':/x', here('out')] });
    expect(await readFile(here('out'), 'utf8')).toBe('x');
  });

  test('both ways are refused in read-only mode', async () => {
    fixture.policy = { ...fixture.policy, readOnly: true };
    fixture.engine.archives.set('/x', await archiveOf([{ name: 'x', content: 'x' }]));
    await writeFile(here('a'), 'A');
    for (const words of [
      [':/x', here('out')],
      [here('a'), ':/x'],
    ]) {
      await expect(fixture.run(copy, box(), { words })).rejects.toMatchObject({ code: 'refused.readOnly' });
    }
    expect(fixture.engine.requests).toEqual([]);
  });
});

describe('cp into a container whose disk is full', () => {
  const full = () => {
    const before = fixture.engine.writer.bind(fixture.engine);
    fixture.engine.writer = (grant) => ({
      ...before(grant),
      putArchive: async (_id, _folder, archive) => {
        (archive as Readable).destroy();
        throw new Fault('engine.failed', 'The engine failed: write /data/big: no space left on device.', 'Look.');
      },
    });
  };
  beforeEach(async () => {
    await writeFile(here('big'), 'x'.repeat(1_000));
    fixture.engine.archives.set('/data', await archiveOf([{ name: 'data/', type: 'directory' }]));
  });

  test('leaves nothing half written, and says where there is no room', async () => {
    full();
    await expect(fixture.run(copy, box(), { words: [here('big'), ':/data/big'] })).rejects.toMatchObject({
      code: 'failed.noRoom',
      message: 'No space left in box:/data on local. The partial copy was removed.',
    });
    expect(fixture.engine.requests.at(-1)).toBe('exec box rm -rf -- /data/big');
  });

  test('takes nothing away that was there before, and says that it is not whole', async () => {
    fixture.engine.archives.set('/data/big', await archiveOf([{ name: 'big', content: 'old' }]));
    full();
    for (const target of [':/data/big', ':/data']) {
      await expect(fixture.run(copy, box(), { words: [here('big'), target] })).rejects.toMatchObject({
        message: 'No space left in box:/data on local. The content of /data/big may be incomplete.',
      });
    }
    expect(fixture.engine.requests.filter((line) => line.startsWith('exec'))).toEqual([]);
  });
});
