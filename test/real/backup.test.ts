import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import type { BackupTarget } from '../../source/stack/backup/model.ts';
import { BackupFixture } from './backup-fixture.ts';
import { describeAgain, describeReal, type RealEngineKind } from './real-engines.ts';
import { bringUp, type Composer, type RunningComponent } from './stack.ts';

const ways: readonly { kind: RealEngineKind; composer: Composer }[] = [
  { kind: 'docker', composer: 'compose-2' },
  { kind: 'podman', composer: 'compose-2' },
];

/** Two rows for each number, in one transaction: one without the other is a torn one. */
const ledger = (rows: string) => {
  const found = rows
    .split('\n')
    .filter(Boolean)
    .map((row) => row.split('|').map(Number) as [number, number]);
  const sums = new Map<number, number[]>();
  for (const [number, side] of found) sums.set(number, [...(sums.get(number) ?? []), side]);
  return {
    numbers: [...sums.keys()].sort((one, other) => one - other),
    whole: [...sums.values()].every((sides) => sides.length === 2 && sides.includes(1) && sides.includes(-1)),
  };
};

const sql = (statement: string) => ['psql', '-U', 'miniflux', '-d', 'miniflux', '-qAtc', statement];
const writePostgres = [
  'sh',
  '-c',
  'n=0; while :; do n=$((n+1)); echo "begin; insert into ledger values ($n, 1); insert into ledger values ($n, -1); commit;"; done | psql -U miniflux -d miniflux -q',
];
const python = (text: string) => ['python3', '-c', text];
const openSqlite = 'import sqlite3; db = sqlite3.connect("/data/db.sqlite3", isolation_level=None, timeout=30)';
const writeSqlite = python(`${openSqlite}
n = 0
while True:
  n += 1
  db.execute("begin"); db.execute("insert into ledger values (?, 1)", (n,)); db.execute("insert into ledger values (?, -1)", (n,)); db.execute("commit")
`);

for (const { kind, composer } of ways) {
  (kind === 'podman' ? describeAgain : describeReal)(kind, 'a backup of what is written to', (real) => {
    let fixture: BackupFixture;
    let folder: string;
    const up: RunningComponent[] = [];
    const targets: Record<'folder' | 'restic', () => BackupTarget> = {
      folder: () => ({ kind: 'folder', folder: join(folder, 'backups') }),
      restic: () => ({
        kind: 'restic',
        repository: join(folder, 'restic'),
        staging: join(folder, 'staging'),
        password: { value: 'marked-restic-password' },
      }),
    };
    const start = async (id: string) => {
      const running = await bringUp(real, id, { composer });
      up.push(running);
      return running;
    };

    beforeAll(async () => {
      fixture = new BackupFixture(real);
      folder = await mkdtemp(join(tmpdir(), 'qd-backup-'));
    });
    afterEach(async () => {
      for (const running of up.splice(0)) await running.down().catch(() => undefined);
    });
    afterAll(async () => {
      fixture.engine.close();
      await rm(folder, { recursive: true, force: true });
    });

    it('what must not be stopped is paused for its copy, and goes on', async () => {
      const store = await fixture.store(targets.folder());
      const running = await start('intrusion-prevention');
      const before = await fixture.containerOf(running.project, 'crowdsec');
      await fixture.until(
        'its database is there',
        async () => (await fixture.ask(before.id, ['test', '-s', '/var/lib/crowdsec/data/crowdsec.db'])) === '',
      );
      const { startedMs } = (await fixture.engine.inspect(before.id, fixture.signal)) ?? {};
      const manifest = await fixture.backUp(running, store);
      expect(manifest.items.map(({ id, method }) => `${id} ${method}`)).toEqual(['config copy', 'data pause']);
      const after = await fixture.engine.inspect(before.id, fixture.signal);
      // The same process: it was never stopped.
      expect(after).toMatchObject({ state: 'running', startedMs });
      const [backup] = await store.list(fixture.signal, 'intrusion-prevention');
      expect(backup && (await store.verify(backup, fixture.signal))).toEqual([]);
    });

    // Where to and out of which engine have nothing to do with each other: every pair of kind and target once, and both engines.
    for (const to of kind === 'docker' ? (['folder', 'restic'] as const) : (['folder'] as const)) {
      it(`PostgreSQL, to a ${to}: every row from before it began, none torn, back in an empty volume`, async () => {
        const store = await fixture.store(targets[to]());
        let running = await start('rss-reader');
        let db = await fixture.containerOf(running.project, 'db');
        await fixture.until('the database takes connections', async () => (await fixture.ask(db.id, sql('select 1'))) === '1');
        await fixture.ask(db.id, sql('create table ledger (number int, side int)'));
        const writing = await fixture.busy(db.id, writePostgres);
        const count = async () => Number(await fixture.ask(db.id, sql('select coalesce(max(number), 0) from ledger')));
        await fixture.until('rows are written', async () => (await count()) > 200);
        const before = await count();
        const manifest = await fixture.backUp(running, store);
        expect(await count()).toBeGreaterThan(before);
        await writing.end();
        expect(manifest.items.map(({ id, method }) => `${id} ${method}`)).toEqual(['database dump']);
        expect(manifest.files.map(({ file }) => file)).toEqual(['project.tar']);
        expect(manifest.images.db).toMatchObject({ reference: expect.stringContaining('postgres') });

        await running.down();
        up.pop();
        running = await start('rss-reader');
        db = await fixture.containerOf(running.project, 'db');
        await fixture.until('the new database takes connections', async () => (await fixture.ask(db.id, sql('select 1'))) === '1');
        // What a later release made must not be in the way of the older data.
        await fixture.ask(db.id, sql('create table from_a_newer_release (a int)'));
        const [backup] = await store.list(fixture.signal, 'rss-reader');
        if (!backup) throw new Error('no backup is listed');
        await fixture.restore(running, store, backup);

        const { numbers, whole } = ledger(await fixture.ask(db.id, sql('select number, side from ledger')));
        expect(whole).toBe(true);
        expect(numbers).toEqual(Array.from({ length: numbers.length }, (_, index) => index + 1));
        expect(numbers.length).toBeGreaterThanOrEqual(before);
        await expect(fixture.ask(db.id, sql('select * from from_a_newer_release'))).rejects.toThrow(/does not exist/);
        for (const { state } of await fixture.containers(running.project)) expect(state).toBe('running');
        await running.down();
        up.pop();
      });
    }

    for (const to of kind === 'docker' ? (['folder', 'restic'] as const) : (['restic'] as const)) {
      it(`SQLite, to a ${to}: every row from before it began, none torn, back over newer data`, async () => {
        const store = await fixture.store(targets[to]());
        const running = await start('password-vault');
        let vault = await fixture.containerOf(running.project, 'vault');
        await fixture.until('it runs', async () => (await fixture.ask(vault.id, ['test', '-e', '/data/db.sqlite3'])) === '');
        await fixture.ask(vault.id, python(`${openSqlite}; db.execute("create table ledger (number int, side int)")`));
        await fixture.ask(vault.id, [
          'sh',
          '-c',
          'echo kept >/data/attachments/a.txt; chown 1234:2345 /data/attachments/a.txt; chmod 640 /data/attachments/a.txt; echo cached >/data/icon_cache/b',
        ]);
        const writing = await fixture.busy(vault.id, writeSqlite);
        const count = async () =>
          Number(
            await fixture.ask(
              vault.id,
              python(`${openSqlite}; print(db.execute("select coalesce(max(number), 0) from ledger").fetchone()[0])`),
            ),
          );
        await fixture.until('rows are written', async () => (await count()) > 100);
        const before = await count();
        const manifest = await fixture.backUp(running, store);
        await writing.end();
        expect(manifest.items).toMatchObject([{ id: 'data', method: 'stop', target: '/data' }]);
        vault = await fixture.containerOf(running.project, 'vault');
        expect(vault.state).toBe('running');

        await fixture.ask(
          vault.id,
          python(`${openSqlite}; db.execute("delete from ledger"); db.execute("insert into ledger values (7, 7)")`),
        );
        await fixture.ask(vault.id, ['sh', '-c', 'rm /data/attachments/a.txt; echo new >/data/attachments/newer']);
        const [backup] = await store.list(fixture.signal, 'password-vault');
        if (!backup) throw new Error('no backup is listed');
        await fixture.restore(running, store, backup);

        vault = await fixture.containerOf(running.project, 'vault');
        expect(vault.state).toBe('running');
        const { numbers, whole } = ledger(
          await fixture.ask(vault.id, python(`${openSqlite}; [print(a, b, sep="|") for a, b in db.execute("select * from ledger")]`)),
        );
        expect(whole).toBe(true);
        expect(numbers).toEqual(Array.from({ length: numbers.length }, (_, index) => index + 1));
        expect(numbers.length).toBeGreaterThanOrEqual(before);
        expect(await fixture.ask(vault.id, python(`${openSqlite}; print(db.execute("pragma integrity_check").fetchone()[0])`))).toBe('ok');
        expect(await fixture.ask(vault.id, ['stat', '-c', '%u %g %a', '/data/attachments/a.txt'])).toBe('1234 2345 640');
        expect(await fixture.ask(vault.id, ['ls', '/data/attachments'])).toBe('a.txt');
        await running.down();
        up.pop();
      });
    }
  });
}
