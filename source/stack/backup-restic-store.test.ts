import { expect, test } from 'vitest';
import { backupKeysDouble } from '../../test/doubles/backup-keys-double.ts';
import type { ExecResult } from '../engine/engine.ts';
import type { Host } from '../hosts/host.ts';
import { ResticStore } from './backup-restic-store.ts';

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

test('an old backup that was added again is no newer: its own date counts', async () => {
  const manifest = (startedAt: string) => ({
    ...{ schema: 1, component: 'notes', place: 'nas', project: 'notes', startedAt, endedAt: startedAt, by: 'ada@nas' },
    stamp: `${startedAt.slice(0, 19).replaceAll(/[-:]/g, '')}Z`,
    ...{ items: [], files: [], skipped: [], images: {}, secrets: { names: [], sealed: false } },
  });
  const tags = ['quarterdeck', 'component=notes'];
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
