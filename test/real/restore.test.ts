import { execFile, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { gunzipSync, gzipSync } from 'node:zlib';
import { pack } from 'tar-stream';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { openEngine } from '../../source/engine/dockerode-engine.ts';
import type { Engine } from '../../source/engine/engine.ts';
import type { Grant } from '../../source/grants/grant.ts';
import { mintGrant } from '../../source/grants/mint.ts';
import { openLocalHost } from '../../source/hosts/local-host.ts';
import type { BackupKeys } from '../../source/secrets/backup-keys.ts';
import { noChoices } from '../../source/stack/backup/coverage.ts';
import type { BackupManifest } from '../../source/stack/backup/manifest.ts';
import { signManifest } from '../../source/stack/backup/manifest.ts';
import type { BackupPlan, PlannedItem } from '../../source/stack/backup/model.ts';
import { planRestore, type RestoreRun, refuseDuringRestore, runRestore, undoRestore } from '../../source/stack/backup/restore.ts';
import { readOpenRestores } from '../../source/stack/backup/restore-journal.ts';
import { runBackup } from '../../source/stack/backup/run.ts';
import { StillContainers } from '../../source/stack/backup/stopped-containers.ts';
import { type BackupStore, openBackupStore } from '../../source/stack/backup/store.ts';
import { verifyBackup } from '../../source/stack/backup/verify.ts';
import { backupKeysDouble } from '../doubles/backup-keys-double.ts';
import { ask } from './ask.ts';
import { describeBeside, describeOnce } from './real-engines.ts';

const run = promisify(execFile);
const host = openLocalHost();
const signal = () => AbortSignal.timeout(60_000);
const grant = (own = signal()): Grant => mintGrant('test', 'destroy', own);
const old = Buffer.alloc(4 * 1024 * 1024, 'old ');

for (const kind of ['docker', 'podman'] as const) {
  const group = describeOnce(kind === 'podman', describeBeside);
  group(kind, 'a restore that fails loses nothing', (real) => {
    let engine: Engine;
    let folder: string;
    /** A small filesystem of its own, mounted into the container at /data; a single file, at /etc/app.conf. */
    let disk: string;
    let conf: string;
    let id: string;
    let store: BackupStore;
    let keys: BackupKeys;
    const name = `qd-restore-${process.pid}`;

    beforeAll(() => {
      engine = openEngine({ url: real.url, origin: 'test' }, host);
    });
    afterAll(() => engine.close());
    beforeEach(async () => {
      folder = await mkdtemp(join(tmpdir(), 'qd-restore-'));
      disk = join(folder, 'disk');
      conf = join(folder, 'etc', 'own.conf');
      await mkdir(disk);
      await mkdir(join(folder, 'etc'));
      await run('mount', ['-t', 'tmpfs', '-o', 'size=16m,mode=0750', 'tmpfs', disk]);
      await writeFile(join(disk, 'photos'), old);
      await run('chown', ['1234:2345', disk, join(disk, 'photos')]);
      await writeFile(conf, 'old');
      const { body } = await ask(real, `/containers/create?name=${name}`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({
          Image: 'docker.io/library/busybox:latest',
          Entrypoint: ['sh', '-c', 'trap exit TERM; while :; do sleep 0.1; done'],
          HostConfig: { Binds: [`${disk}:/data`, `${conf}:/etc/app.conf`] },
        }),
      });
      id = (JSON.parse(body) as { Id: string }).Id;
      await engine.writer(grant()).start(id);
      keys = backupKeysDouble();
      store = await openBackupStore({ kind: 'folder', folder: join(folder, 'backups') }, host, keys);
      await runBackup(grant(), {
        ...{ plan: await plan(), store, engine, host, stackFolder: join(folder, 'stack'), still: new StillContainers(engine) },
        ...{ secrets: { names: [] }, by: 'ada@nas', now: new Date(Date.UTC(2025, 10, 21, 3, 15)), reported: () => {} },
      });
      await writeFile(join(disk, 'photos'), 'newer');
      await writeFile(join(disk, 'more'), 'newer');
      await writeFile(conf, 'newer');
    });
    afterEach(async () => {
      await engine.writer(grant()).remove(id, { force: true, volumes: false });
      await run('umount', [disk]);
      await rm(folder, { recursive: true, force: true });
    });

    async function plan(): Promise<BackupPlan> {
      const detail = await engine.inspect(id, signal());
      const container = { id, name, service: 'app', imageId: detail?.imageId ?? '', image: detail?.image ?? '', running: true };
      const item = {
        container,
        method: 'stop' as const,
        exclude: [],
        mountedBelow: [],
        dump: undefined,
        restore: undefined,
        why: undefined,
      };
      const items: PlannedItem[] = [
        { ...item, id: 'data', volume: 'data', target: '/data', source: disk, isFile: false, still: [container] },
        { ...item, id: 'conf', volume: 'app:/etc/app.conf', target: '/etc/app.conf', source: conf, isFile: true, still: [container] },
      ];
      return {
        ...{ component: 'notes', engineName: 'local', project: 'notes', folder: undefined, record: undefined },
        ...{ containers: [container], items, skipped: [], uncovered: [], unmatched: [], choices: noChoices },
      };
    }
    const context = (more: Partial<RestoreRun> = {}): RestoreRun => ({
      ...{ store, engine, host, stackFolder: join(folder, 'stack'), by: 'ada@nas' },
      still: new StillContainers(engine),
      reported: () => {},
      ...more,
    });
    const restore = async (more: Partial<RestoreRun> = {}, own = grant()) => {
      const [backup] = await store.list(signal(), 'notes');
      if (!backup) throw new Error('no backup is listed');
      await runRestore(own, planRestore(backup, await plan()), context(more));
    };
    const expectNewer = async () => {
      expect((await readdir(disk)).sort()).toEqual(['more', 'photos']);
      expect(await readFile(join(disk, 'photos'), 'utf8')).toBe('newer');
      expect(await readFile(conf, 'utf8')).toBe('newer');
      expect(await readdir(join(folder, 'etc'))).toEqual(['own.conf']);
      expect((await engine.inspect(id, signal()))?.state).toBe('running');
      expect(await readOpenRestores(host, join(folder, 'stack'), signal())).toEqual([]);
    };

    it('a whole one replaces folders and single files, with their owners, and leaves nothing of its own', async () => {
      await restore();
      expect(await readdir(disk)).toEqual(['photos']);
      expect((await readFile(join(disk, 'photos'))).equals(old)).toBe(true);
      const { uid, gid, mode } = await stat(disk);
      expect([uid, gid, mode & 0o777, (await stat(join(disk, 'photos'))).uid]).toEqual([1234, 2345, 0o750, 1234]);
      expect(await readFile(conf, 'utf8')).toBe('old');
      expect(await readdir(join(folder, 'etc'))).toEqual(['own.conf']);
      expect((await engine.inspect(id, signal()))?.state).toBe('running');
      expect(await readOpenRestores(host, join(folder, 'stack'), signal())).toEqual([]);
    });

    // What is refused before the engine changes anything is refused for both.
    const once = kind === 'docker' ? it : it.skip;

    once('onto a disk that is too small: refused before anything is stopped', async () => {
      await writeFile(join(disk, 'more'), Buffer.alloc(13 * 1024 * 1024));
      const { startedMs } = (await engine.inspect(id, signal())) ?? {};
      await expect(restore()).rejects.toMatchObject({
        code: 'refused.diskFull',
        message: expect.stringMatching(
          /^Not enough free space to restore data: 4\.\d+ MB is required in addition to the current data, but only /,
        ),
      });
      expect((await engine.inspect(id, signal()))?.startedMs).toBe(startedMs);
      await writeFile(join(disk, 'more'), 'newer');
      await expectNewer();
    });

    it('onto a disk that becomes full meanwhile: the data from before are back', async () => {
      const reported = ({ label }: { label: string }) => {
        if (label.startsWith('Stopping')) spawnSync('dd', ['if=/dev/zero', `of=${join(disk, 'filler')}`, 'bs=1M'], { stdio: 'ignore' });
      };
      await expect(restore({ reported })).rejects.toMatchObject({
        code: 'failed.diskFull',
        message: expect.stringMatching(/^The disk that stores the volume data ran out of space.*The previous data was restored/s),
        remedy: expect.stringContaining('Free some space'),
      });
      await rm(join(disk, 'filler'));
      await expectNewer();
    });

    it('whose process was killed in the middle: reported, not started, and undone', async () => {
      const ending = new AbortController();
      const reported = ({ label }: { label: string }) => {
        if (label.startsWith('Replacing')) ending.abort(new Error('killed'));
      };
      await expect(restore({ reported }, grant(ending.signal))).rejects.toThrow('killed');
      const stack = join(folder, 'stack');
      const [record] = await readOpenRestores(host, stack, signal());
      expect(record).toMatchObject({
        component: 'notes',
        backup: '20251121T031500Z',
        state: 'replacing',
        halted: [{ id, how: 'stopped' }],
      });
      expect((await engine.inspect(id, signal()))?.state).toBe('exited');
      const refused = { code: 'refused.unfinished', message: expect.stringContaining('was interrupted') };
      await expect(refuseDuringRestore(host, stack, { component: 'notes', project: 'notes' }, signal())).rejects.toMatchObject(refused);
      await expect(restore()).rejects.toMatchObject(refused);
      if (record) await undoRestore(grant(), record, context());
      await expectNewer();
    });

    once(
      'from an archive that is cut off, garbage, empty, or leads out of the volume: named, with valid checksums, and nothing is touched',
      async () => {
        const canary = join(folder, 'canary');
        await writeFile(canary, 'canary');
        const at = join(folder, 'backups', 'notes', '20251121T031500Z');
        const good = await readFile(join(at, 'data.tar.gz'));
        const members = async (...all: Parameters<ReturnType<typeof pack>['entry']>[0][]) => {
          const writer = pack();
          writer.entry({ name: './', type: 'directory' });
          for (const member of all) writer.entry(member, member.type === undefined ? 'written' : undefined);
          writer.finalize();
          return gzipSync(await buffer(writer as unknown as Readable));
        };
        const bad: [string, Buffer, RegExp][] = [
          ['cut off', good.subarray(0, good.length - 20), /data\.tar\.gz: its compressed data is truncated/],
          ['cut off inside', gzipSync(gunzipSync(good).subarray(0, 1024 * 1024)), /data\.tar\.gz: it is truncated/],
          ['garbage', Buffer.from('garbage '.repeat(1000)), /data\.tar\.gz: it cannot be decompressed/],
          ['garbage inside', gzipSync(Buffer.from('garbage '.repeat(1000))), /data\.tar\.gz: it is not a tar archive/],
          ['empty', gzipSync(Buffer.alloc(1024)), /data\.tar\.gz: it is empty/],
          ['a link', await members({ name: 'esc', type: 'symlink', linkname: folder }, { name: 'esc/canary' }), /through the link esc/],
          ['a path', await members({ name: '../../../../..'.concat(canary) }), /outside of the volume/],
          ['an absolute path', await members({ name: canary }), /outside of the volume/],
          ['a hard link', await members({ name: 'x', type: 'link', linkname: canary }), /outside of the volume/],
        ];
        for (const [what, content, message] of bad) {
          await replaceArchive(at, content);
          const [backup] = await store.list(signal(), 'notes');
          const refused = { code: 'refused.damaged', message: expect.stringMatching(message) };
          await expect(backup && verifyBackup(store, backup, signal()), what).rejects.toMatchObject(refused);
          await expect(restore(), what).rejects.toMatchObject(refused);
        }
        expect(await readFile(canary, 'utf8')).toBe('canary');
        await expectNewer();
      },
    );

    /** As if the archive had been like that from the start: checksums and signature are right. */
    async function replaceArchive(at: string, content: Buffer): Promise<void> {
      const sum = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
      await writeFile(join(at, 'data.tar.gz'), content);
      const manifest = JSON.parse(await readFile(join(at, 'manifest.json'), 'utf8')) as BackupManifest;
      let contentBytes = 0;
      try {
        contentBytes = gunzipSync(content).length;
      } catch {}
      const items = manifest.items.map((item) =>
        item.file === 'data.tar.gz' ? { ...item, sha256: sum(content), sizeBytes: content.length, contentBytes } : item,
      );
      const { signature: _, ...unsigned } = { ...manifest, items };
      const text = Buffer.from(JSON.stringify(signManifest(unsigned, await keys.signing())));
      await writeFile(join(at, 'manifest.json'), text);
      const sums = [...items.map(({ file, sha256 }) => `${sha256}  ${file}\n`), `${sum(text)}  manifest.json\n`];
      await writeFile(join(at, 'SHA256SUMS'), sums.join(''));
    }
  });
}
