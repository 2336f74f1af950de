import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { containerDetail } from '../../../../test/doubles/container-facts.ts';
import { EngineDouble } from '../../../../test/doubles/engine-double.ts';
import { mintGrant } from '../../../grants/mint.ts';
import { openLocalHost } from '../../../hosts/local-host.ts';
import { locate, MountedFile } from './mounted-file.ts';

const host = openLocalHost();
const signal = AbortSignal.timeout(60_000);
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'qd-mounted-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const bind = (source: string, target: string) => ({ kind: 'bind', source, target, readOnly: false });
const opened = (mounts: ReturnType<typeof bind>[], path: string) =>
  new MountedFile({ host, engine: new EngineDouble(), container: containerDetail({ mounts }) }, path);
const grant = () => mintGrant('write', 'operate', signal);

describe('where a file of a container is', () => {
  test('the deepest mount decides', () => {
    const mounts = [bind('/srv/config', '/config'), bind('/srv/users', '/config/users'), { ...bind('v', '/data'), kind: 'volume' }];
    expect(locate({ mounts }, '/config/users/u.yml')).toEqual({ kind: 'folder', path: '/srv/users/u.yml' });
    expect(locate({ mounts }, '/config/u.yml')).toEqual({ kind: 'folder', path: '/srv/config/u.yml' });
    expect(locate({ mounts }, '/data/u.yml')).toEqual({ kind: 'inside', path: '/data/u.yml' });
    expect(locate({ mounts }, '/configuration')).toEqual({ kind: 'inside', path: '/configuration' });
  });
});

describe('writing it', () => {
  test('in a mounted folder it is replaced as a whole, and opened to nobody else than before', async () => {
    const path = join(folder, 'u.yml');
    await writeFile(path, 'old');
    await chmod(path, 0o600);
    const { ino } = await stat(path);
    await opened([bind(folder, '/config')], '/config/u.yml').write(grant(), 'new');
    const after = await stat(path);
    expect([await readFile(path, 'utf8'), after.mode & 0o777, after.ino === ino]).toEqual(['new', 0o600, false]);
  });

  test('mounted by itself it is written in place: the container would not see another file', async () => {
    const path = join(folder, 'u.yml');
    await writeFile(path, 'old and longer');
    const { ino } = await stat(path);
    await opened([bind(path, '/config/u.yml')], '/config/u.yml').write(grant(), 'new');
    expect([await readFile(path, 'utf8'), (await stat(path)).ino]).toEqual(['new', ino]);
  });

  test('of what is kept the last ten stay', async () => {
    const kept = join(folder, 'kept');
    const file = opened([bind(folder, '/config')], '/config/u.yml');
    for (let time = 10; time < 22; time++) {
      await file.keep(grant(), kept, 'x');
      const [newest = ''] = (await readdir(kept)).sort().slice(-1);
      await rm(join(kept, newest));
      await writeFile(join(kept, `u.yml.20200101T0000${time}Z`), 'x');
    }
    await file.keep(grant(), kept, 'last');
    const names = (await readdir(kept)).sort();
    expect(names).toHaveLength(10);
    expect(await readFile(join(kept, names.at(-1) ?? ''), 'utf8')).toBe('last');
  });
});
