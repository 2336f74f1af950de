import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { backupKeysDouble } from '../../../test/doubles/backup-keys-double.ts';
import { mintGrant } from '../../grants/mint.ts';
import { openLocalHost } from '../../hosts/local-host.ts';
import { FolderStore } from './folder-store.ts';
import type { BackupManifest } from './manifest.ts';
import type { BackupFacts } from './model.ts';
import { projectIn, restoreProject } from './project.ts';

const grant = mintGrant('test', 'destroy', new AbortController().signal);
const host = openLocalHost();
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'quarterdeck-project-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test('a record that is none is refused before the folder is touched', async () => {
  const where = join(folder, 'backups', 'notes', '20200101T000000Z');
  await mkdir(where, { recursive: true });
  const files = [];
  for (const [file, text] of [
    ['project.tar', 'x'],
    ['record.json', '{"secrets": null}'],
  ] as const) {
    await writeFile(join(where, file), text);
    files.push({ file, sizeBytes: text.length, sha256: createHash('sha256').update(text).digest('hex') });
  }
  const backup: BackupFacts = {
    ...{ component: 'notes', stamp: '20200101T000000Z', atMs: 0, sizeBytes: 0, where },
    manifest: { files } as Partial<BackupManifest> as BackupManifest,
  };
  const store = new FolderStore(host, join(folder, 'backups'), backupKeysDouble());
  await expect(restoreProject(grant, { store, backup, host, stackFolder: join(folder, 'stack'), stamp: 'now' })).rejects.toMatchObject({
    code: 'refused.damaged',
    message: expect.stringContaining('record.json cannot be read'),
  });
  expect(await readdir(folder)).toEqual(['backups']);
});

test('files that were replaced after the backup was verified are refused, and the folder that is there stays', async () => {
  const where = join(folder, 'backups', 'notes', '20200101T000000Z');
  const stackFolder = join(folder, 'stack');
  for (const one of [where, join(stackFolder, 'notes'), join(folder, 'forged')]) await mkdir(one, { recursive: true });
  await writeFile(join(stackFolder, 'notes', 'compose.yaml'), 'mine');
  await writeFile(join(folder, 'forged', 'compose.yaml'), 'forged');
  execFileSync('tar', ['-cf', join(where, 'project.tar'), '-C', join(folder, 'forged'), 'compose.yaml']);
  await writeFile(join(where, 'record.json'), '{}');
  const signed = createHash('sha256').update('what was signed').digest('hex');
  const backup: BackupFacts = {
    ...{ component: 'notes', stamp: '20200101T000000Z', atMs: 0, sizeBytes: 0, where },
    manifest: {
      files: ['project.tar', 'record.json'].map((file) => ({ file, sizeBytes: 0, sha256: signed })),
    } as Partial<BackupManifest> as BackupManifest,
  };
  const store = new FolderStore(host, join(folder, 'backups'), backupKeysDouble());
  await expect(restoreProject(grant, { store, backup, host, stackFolder, stamp: 'now' })).rejects.toMatchObject({
    code: 'refused.damaged',
  });
  await expect(projectIn(grant, store, backup)).rejects.toMatchObject({ code: 'refused.damaged' });
  expect(await readdir(stackFolder)).toEqual(['notes']);
  expect(await readFile(join(stackFolder, 'notes', 'compose.yaml'), 'utf8')).toBe('mine');
});
