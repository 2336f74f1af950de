import { expect, test } from 'vitest';
import { backupKeysDouble } from '../../../test/doubles/backup-keys-double.ts';
import type { ExecResult } from '../../engine/engine.ts';
import { mintGrant } from '../../grants/mint.ts';
import type { Host } from '../../hosts/host.ts';
import { ResticStore } from './restic-store.ts';

const answering = (answers: (words: string) => string): Host =>
  ({
    name: 'nas',
    exec: async (argv: readonly string[]): Promise<ExecResult> => ({
      exitCode: 0,
      stdout: Buffer.from(answers(argv.join(' '))),
      stderr: new Uint8Array(),
      cut: false,
    }),
  }) as Partial<Host> as Host;
const list = (answers: (words: string) => string) =>
  new ResticStore(
    answering(answers),
    { kind: 'restic', repository: '/srv/restic', staging: '/srv/staging', password: { value: 'x' } },
    backupKeysDouble(),
  ).list(AbortSignal.timeout(5_000));

test.each(['', '\0\0\0\0', '{"not": "a list"}', '[[[[[['.repeat(50_000), '"x"'])(
  'what is no list of snapshots is a failure of restic, in words (%#)',
  async (text) => {
    await expect(list(() => text)).rejects.toMatchObject({
      code: 'failed.restic',
      message: 'restic on nas did not print a list of snapshots.',
    });
  },
);

test('snapshots of the wrong shape are not backups', async () => {
  expect(await list(() => '[null, 1, {"id": 7, "time": [], "tags": "x"}]')).toEqual([]);
});

const manifest = (startedAt: string, project = 'notes') => ({
  ...{ schema: 1, component: 'notes', engineName: 'nas', project, startedAt, endedAt: startedAt, by: 'ada@nas' },
  stamp: `${startedAt.slice(0, 19).replaceAll(/[-:]/g, '')}Z`,
  ...{ items: [], files: [], skipped: [], images: {}, secrets: { names: [], sealed: false } },
});
const tags = ['quarterdeck', 'component=notes'];

test('backups of another project under the same name are not thinned out by those of this one', async () => {
  const saved = ['2026-03-03 notes', '2026-03-02 notes', '2026-03-01 lab'].map((words) => words.split(' ') as [string, string]);
  const changes: string[] = [];
  const host = answering((words) => {
    const snapshots = saved.map(([day], at) => ({ id: `snapshot${at}`, time: `${day}T00:00:00Z`, tags }));
    const [day, project] = saved[Number(/snapshot(\d)/.exec(words)?.[1])] ?? [];
    return JSON.stringify(day === undefined ? snapshots : manifest(`${day}T00:00:00.000Z`, project));
  });
  const run: Host['run'] = async (_, argv) => {
    changes.push(argv.join(' '));
    return { exitCode: 0, stdout: new Uint8Array(), stderr: new Uint8Array(), cut: false };
  };
  const store = new ResticStore(
    { ...host, run },
    { kind: 'restic', repository: '/srv/restic', staging: '/srv/staging', password: { value: 'x' } },
    backupKeysDouble(),
  );
  const grant = mintGrant('thin', 'operate', AbortSignal.timeout(5_000));
  expect(await store.thin(grant, 'notes', { daily: 1, weekly: 0, monthly: 0 })).toBe(1);
  expect(changes).toEqual(['restic forget --prune snapshot1']);
});

test('an old backup that was added again is no newer: its own date counts', async () => {
  const found = await list((words) =>
    words.includes('snapshots')
      ? JSON.stringify([
          { id: 'again', time: '2026-03-01T00:00:00Z', tags },
          { id: 'newest', time: '2026-02-01T00:00:00Z', tags },
        ])
      : JSON.stringify(manifest(words.includes('again') ? '2026-01-01T00:00:00.000Z' : '2026-02-01T00:00:00.000Z')),
  );
  expect(found.map(({ where }) => where)).toEqual(['newest', 'again']);
});
