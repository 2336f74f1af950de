import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { appendFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { pack } from 'tar-stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { mintGrant } from '../../source/grants/mint.ts';
import { openLocalHost } from '../../source/hosts/local-host.ts';
import { noChoices } from '../../source/stack/backup/coverage.ts';
import type { BackupPlan, BackupTarget } from '../../source/stack/backup/model.ts';
import { openSecrets } from '../../source/stack/backup/project.ts';
import { planRestore, runRestore } from '../../source/stack/backup/restore.ts';
import { type BackupRun, runBackup } from '../../source/stack/backup/run.ts';
import { listHalted, StillContainers, writeHalted } from '../../source/stack/backup/stopped-containers.ts';
import { openBackupStore } from '../../source/stack/backup/store.ts';
import { verifyBackup } from '../../source/stack/backup/verify.ts';
import { backupKeysDouble } from '../doubles/backup-keys-double.ts';
import { EngineDouble } from '../doubles/engine-double.ts';
import { describeUnless, requiredInCi, requiredProgram } from '../required.ts';

const run = promisify(execFile);
const host = openLocalHost();
const signal = () => AbortSignal.timeout(60_000);
/** Node itself reads only a part of TypeScript. */
const tsx = import.meta.resolve('tsx');
const grant = (own = signal()) => mintGrant('test', 'destroy', own);

async function tarOf(files: Record<string, Buffer>): Promise<Buffer> {
  const archive = pack();
  archive.entry({ name: 'data/', type: 'directory', uid: 33, gid: 44 });
  for (const [name, content] of Object.entries(files)) archive.entry({ name: `data/${name}` }, content);
  archive.finalize();
  const chunks: Buffer[] = [];
  for await (const chunk of archive) chunks.push(Buffer.from(chunk as Buffer));
  return Buffer.concat(chunks);
}

describe('a backup in trouble', () => {
  let folder: string;
  let engine: EngineDouble;
  let clock = Date.UTC(2025, 10, 21, 3, 15);
  const archive = randomBytes(6 * 1024 * 1024);

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'qd-trouble-'));
    engine = new EngineDouble();
    engine.add('vault', { state: 'running', mounts: [{ kind: 'volume', source: 'vault_data', target: '/data', readOnly: false }] });
    engine.archives.set('/data', await tarOf({ 'db.sqlite3': archive, 'icon_cache/x': Buffer.from('cached') }));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  const plan = (method: 'stop' | 'pause' | 'copy' = 'stop'): BackupPlan => {
    const [detail] = [...engine.containers.values()];
    const container = {
      id: detail?.id ?? '',
      name: 'vault',
      service: 'vault',
      imageId: detail?.imageId ?? '',
      image: 'vaultwarden/server:latest',
      running: true,
    };
    return {
      component: 'password-vault',
      engineName: 'local',
      project: 'password-vault',
      folder: undefined,
      record: undefined,
      containers: [container],
      items: [
        {
          id: 'data',
          volume: 'data',
          method,
          container,
          target: '/data',
          source: 'vault_data',
          exclude: ['icon_cache'],
          mountedBelow: [],
          isFile: false,
          dump: undefined,
          restore: undefined,
          still: method === 'copy' ? [] : [container],
          why: undefined,
        },
      ],
      skipped: [],
      uncovered: [],
      unmatched: [],
      choices: noChoices,
    };
  };
  const keys = backupKeysDouble();
  const target = (): BackupTarget => ({ kind: 'folder', folder: join(folder, 'backups') });
  const restic = (): BackupTarget => ({
    kind: 'restic',
    repository: join(folder, 'restic'),
    staging: join(folder, 'staging'),
    password: { value: 'marked-restic-password' },
  });
  const backUp = async (to: BackupTarget, more: Partial<BackupRun> = {}, own = grant()) => {
    const store = await openBackupStore(to, host, keys);
    clock += 3_600_000;
    const still = more.still ?? new StillContainers(engine);
    const manifest = await runBackup(own, {
      plan: plan(),
      store,
      engine,
      host,
      stackFolder: join(folder, 'stack'),
      still,
      secrets: { names: [] },
      by: 'ada@nas',
      now: new Date(clock),
      reported: () => {},
      ...more,
    });
    return { store, manifest };
  };
  const newest = async (to: BackupTarget) => {
    const store = await openBackupStore(to, host, keys);
    const [backup] = await store.list(signal());
    if (!backup) throw new Error('no backup is listed');
    return { store, backup };
  };
  const dataFile = (stamp: string) => join(folder, 'backups', 'password-vault', stamp, 'data.tar.gz');

  it('anybody can check and unpack it without this program', async () => {
    const { manifest } = await backUp(target());
    const at = join(folder, 'backups', 'password-vault', manifest.stamp);
    await run('sha256sum', ['-c', 'SHA256SUMS'], { cwd: at });
    const { stdout } = await run('tar', ['-tvzf', 'data.tar.gz', '--numeric-owner'], { cwd: at });
    expect(stdout).toContain('33/44');
    expect(stdout).toContain('db.sqlite3');
    expect(stdout).not.toContain('icon_cache');
    expect(engine.requests).toEqual(['stop vault', 'start vault']);
  });

  for (const damage of ['changed', 'cut', 'gone'] as const) {
    it(`one with a file that is ${damage} is refused before anything is stopped or emptied`, async () => {
      const { manifest } = await backUp(target());
      const file = dataFile(manifest.stamp);
      const content = await readFile(file);
      if (damage === 'changed') {
        content[content.length >> 1] = (content[content.length >> 1] ?? 0) ^ 1;
        await writeFile(file, content);
      } else if (damage === 'cut') await writeFile(file, content.subarray(0, 1000));
      else await rm(file);
      engine.requests.length = 0;
      const { store, backup } = await newest(target());
      await expect(verifyBackup(store, backup, signal())).rejects.toMatchObject({
        code: 'refused.damaged',
        message: expect.stringContaining('data.tar.gz'),
      });
      await expect(
        runRestore(grant(), planRestore(backup, plan()), {
          ...{ store, engine, host, stackFolder: join(folder, 'stack'), by: 'ada@nas' },
          still: new StillContainers(engine),
          reported: () => {},
        }),
      ).rejects.toMatchObject({ code: 'refused.damaged' });
      expect(engine.requests).toEqual([]);
    });
  }

  it('a manifest that was changed makes it a damaged one, in the list and for a restore', async () => {
    const { manifest } = await backUp(target());
    await appendFile(join(folder, 'backups', 'password-vault', manifest.stamp, 'manifest.json'), ' ');
    const { backup } = await newest(target());
    expect(backup.manifest).toBeUndefined();
    expect(() => planRestore(backup, plan())).toThrow(/damaged/);
  });

  it('a cancelled one leaves no backup, starts what it stopped, and is cleared by the next', async () => {
    const ending = new AbortController();
    const still = new StillContainers(engine);
    const reported = ({ bytes }: { bytes?: number }) => {
      if ((bytes ?? 0) > 1_000_000) ending.abort(new Error('enough'));
    };
    await expect(backUp(target(), { still, reported }, grant(ending.signal))).rejects.toThrow('enough');
    // What the session does after an act, cancelled or not.
    await still.release(grant());
    expect([...engine.containers.values()].map(({ state }) => state)).toEqual(['running']);
    const store = await openBackupStore(target(), host, keys);
    expect(await store.list(signal())).toEqual([]);
    expect(await store.interrupted(signal())).toHaveLength(1);
    await backUp(target());
    expect(await store.interrupted(signal())).toEqual([]);
    expect(await store.list(signal())).toHaveLength(1);
  });

  it('one whose process was killed is recognised; what it had stopped goes on when the next begins', async () => {
    const [vault] = [...engine.containers.values()];
    const left = join(folder, 'backups', 'password-vault', '20261120T031500Z.partial');
    await mkdir(left, { recursive: true });
    await writeFile(join(left, 'data.tar.gz'), 'half');
    await writeHalted(grant(), host, join(folder, 'stack'), {
      ...{ schema: 1, run: 'backup-1', flow: 'backup', component: 'password-vault', by: 'ada@nas', startedAt: '2026-11-20T03:15:00Z' },
      containers: [{ id: vault?.id ?? '', name: 'vault', how: 'stopped' }],
    });
    engine.change('vault', { state: 'exited' });
    await backUp(target(), { plan: plan('copy') });
    expect([...engine.containers.values()].map(({ state }) => state)).toEqual(['running']);
    expect(await readdir(join(folder, 'backups', 'password-vault'))).toHaveLength(1);
    expect(await listHalted(host, join(folder, 'stack'), signal())).toEqual([]);
  });

  it('two at once: the second is told, and nothing of the first is swept', async () => {
    const store = await openBackupStore(target(), host, keys);
    const held = await store.lock(grant());
    await expect(backUp(target())).rejects.toMatchObject({ code: 'refused.backupRuns' });
    await held.release();
    await backUp(target());
  });

  it('a full disk is a sentence; what was stopped goes on, and the earlier backups stay as they were', async () => {
    const small = join(folder, 'backups');
    await mkdir(small);
    const mounted = await run('mount', ['-t', 'tmpfs', '-o', 'size=9m', 'tmpfs', small]).then(
      () => true,
      () => false,
    );
    if (requiredInCi(mounted ? undefined : 'cannot mount a tmpfs')) return;
    try {
      await backUp(target());
      await expect(backUp(target())).rejects.toMatchObject({ code: 'failed.diskFull', message: expect.stringContaining('No space left') });
      expect([...engine.containers.values()].map(({ state }) => state)).toEqual(['running']);
      const { store, backup } = await newest(target());
      await verifyBackup(store, backup, signal());
      expect(await store.interrupted(signal())).toEqual([]);
    } finally {
      await run('umount', [small]);
    }
  });

  it('a paused container goes on when its copy cannot be made', async () => {
    engine.archives.clear();
    await expect(backUp(target(), { plan: plan('pause') })).rejects.toMatchObject({ code: 'engine.missing' });
    expect(engine.requests).toEqual(['pause vault', 'unpause vault']);
  });

  it('secrets are in it sealed, and open with the passphrase alone', async () => {
    const vault = { read: async () => 'marked-secret-value' } as never;
    const { manifest } = await backUp(target(), {
      secrets: { names: ['ADMIN_TOKEN'], seal: { vault, sealWith: { passphrase: 'a long passphrase' } } },
    });
    expect(manifest.secrets).toEqual({ names: ['ADMIN_TOKEN'], sealed: true });
    const at = join(folder, 'backups', 'password-vault', manifest.stamp);
    for (const file of await readdir(at)) expect((await readFile(join(at, file))).includes('marked-secret-value')).toBe(false);
    const sealed = await readFile(join(at, 'secrets.age'));
    await expect(openSecrets(sealed, 'another passphrase')).rejects.toMatchObject({ code: 'refused.sealed' });
    expect(await openSecrets(sealed, 'a long passphrase')).toEqual({ ADMIN_TOKEN: 'marked-secret-value' });
  });

  it('older ones go by the policy, and never the last (R69)', async () => {
    for (let day = 0; day < 10; day++) {
      clock += 23 * 3_600_000;
      const { store } = await backUp(target(), { plan: plan('copy') });
      await store.thin(grant(), 'password-vault', { daily: 2, weekly: 0, monthly: 0 });
    }
    const store = await openBackupStore(target(), host, keys);
    const [, older] = await store.list(signal());
    // The way back from an update stays beside them.
    await store.thin(grant(), 'password-vault', { daily: 0, weekly: 0, monthly: 0 }, new Set([older?.stamp ?? '']));
    expect(await store.list(signal())).toHaveLength(2);
    await store.thin(grant(), 'password-vault', { daily: 0, weekly: 0, monthly: 0 });
    expect(await store.list(signal())).toHaveLength(1);
  });

  describeUnless(requiredProgram('restic'), 'in a restic repository', () => {
    it('its snapshots hold the backup at their top, go by the policy (R69), and are read again', async () => {
      for (let day = 0; day < 3; day++) {
        clock += 23 * 3_600_000;
        const { store } = await backUp(restic(), { plan: plan('copy') });
        await store.thin(grant(), 'password-vault', { daily: 2, weekly: 0, monthly: 0 });
      }
      const { store, backup } = await newest(restic());
      expect(await store.list(signal(), 'password-vault')).toHaveLength(2);
      expect(backup).toMatchObject({ component: 'password-vault', stamp: backup.manifest?.stamp });
      expect(await store.verify(backup, signal())).toEqual([]);
      const env = { ...process.env, RESTIC_PASSWORD: 'marked-restic-password' };
      const { stdout } = await run('restic', ['-r', join(folder, 'restic'), 'ls', backup.where], { env });
      expect(stdout.trim().split('\n').slice(1).sort()).toEqual(['/SHA256SUMS', '/data.tar', '/manifest.json']);
      expect(await readdir(join(folder, 'staging', 'password-vault'))).toEqual([]);
      const [, older] = await store.list(signal(), 'password-vault');
      clock += 60_000;
      await backUp(restic(), { plan: plan('copy') });
      await store.thin(grant(), 'password-vault', { daily: 1, weekly: 0, monthly: 0 }, new Set([older?.stamp ?? '']));
      expect((await store.list(signal(), 'password-vault')).map(({ stamp }) => stamp)).toEqual([expect.any(String), older?.stamp]);
    });

    it('a wrong password is a sentence', async () => {
      await backUp(restic(), { plan: plan('copy') });
      const wrong = { ...restic(), password: { value: 'wrong' } } as BackupTarget;
      await expect(backUp(wrong)).rejects.toMatchObject({ code: 'refused.restic' });
      expect([...engine.containers.values()].map(({ state }) => state)).toEqual(['running']);
    });

    it('a damaged pack is refused', async () => {
      await backUp(restic(), { plan: plan('copy') });
      const data = join(folder, 'restic', 'data');
      let largest = { path: '', size: 0 };
      for (const name of await readdir(data, { recursive: true, withFileTypes: true })) {
        if (!name.isFile()) continue;
        const path = join(name.parentPath, name.name);
        const { length } = await readFile(path);
        if (length > largest.size) largest = { path, size: length };
      }
      const content = await readFile(largest.path);
      content[content.length >> 1] = (content[content.length >> 1] ?? 0) ^ 1;
      await rm(largest.path);
      await writeFile(largest.path, content);
      const { store, backup } = await newest(restic());
      await expect(verifyBackup(store, backup, signal())).rejects.toMatchObject({ code: 'refused.damaged' });
    });

    it('the password is in no argument of any program', async () => {
      const script = `
        const { openLocalHost } = await import(${JSON.stringify(new URL('../../source/hosts/local-host.ts', import.meta.url).href)});
        const { openBackupStore } = await import(${JSON.stringify(new URL('../../source/stack/backup/store.ts', import.meta.url).href)});
        const store = await openBackupStore(${JSON.stringify({ ...restic(), password: { value: 'PASSWORD' } })}.kind && { ...${JSON.stringify(restic())}, password: { value: process.env.MARKED } }, openLocalHost());
        await store.list(AbortSignal.timeout(30000));
      `;
      const file = join(folder, 'list.mts');
      await backUp(restic(), { plan: plan('copy') });
      await writeFile(file, script.replaceAll('marked-restic-password', 'not-here'));
      const child = spawn('strace', ['-f', '-qq', '-e', 'trace=execve', '-s', '65536', process.execPath, '--import', tsx, file], {
        env: { ...process.env, MARKED: 'marked-restic-password' },
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      let trace = '';
      child.stderr.setEncoding('utf8').on('data', (text: string) => {
        trace += text;
      });
      const started = await new Promise<boolean>((resolve) => {
        child.once('error', () => resolve(false));
        child.once('close', () => resolve(true));
      });
      if (requiredInCi(started ? undefined : 'cannot start strace')) return;
      expect(trace).toMatch(/execve\("[^"]*restic"/);
      expect(trace).not.toContain('marked-restic-password');
    });
  });
});
