import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, it } from 'vitest';
import { describeUnless } from '../required.ts';
import { ask } from './ask.ts';
import { layGround } from './deployed-rows.ts';
import { etcdPrograms, missingEtcd } from './etcd-programs.ts';
import { statusUntil } from './operator.ts';
import { describeReal } from './real-engines.ts';
import { runOrThrow } from './scripts.ts';
import { findFreePort } from './stack.ts';
import { makeStandIn } from './stand-ins.ts';

/** As somebody writes them after docs/catalog.md: calls, probes with words of their own, volumes that are backed up. */
const ownCatalog = fileURLToPath(new URL('own-catalog', import.meta.url));

const event = (summary: string) =>
  ['BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:quarterdeck', 'BEGIN:VEVENT', 'UID:1', 'DTSTAMP:20260101T000000Z']
    .concat(['DTSTART:20260101T080000Z', `SUMMARY:${summary}`, 'END:VEVENT', 'END:VCALENDAR', ''])
    .join('\r\n');

describeReal('docker', "entries of one's own, with real programs", (engine) => {
  const ground = layGround(engine);
  const { run } = ground.deployed('key-store');
  beforeAll(async () => {
    const found = await readdir(ownCatalog, { recursive: true, withFileTypes: true });
    for (const { parentPath, name } of found.filter((entry) => entry.isFile())) {
      const path = join(parentPath, name);
      await ground.fixture.catalog({ [relative(ownCatalog, path)]: await readFile(path, 'utf8') });
    }
  });

  const word = (id: string, expected: string) =>
    statusUntil(ground.fixture.operator, id, (component) => component.state.label === expected);

  it('are checked, and found like the others', async () => {
    expect(await run('catalog', 'check', ownCatalog)).toContain('3 components can be used; no problems found.');
    expect(await run('catalog', 'list', 'caldav')).toContain('Calendars and address books');
    expect(await run('catalog', 'show', 'key-store')).toContain('Key-value store of a cluster');
  });

  describeUnless(missingEtcd(), 'etcd', () => {
    it('is deployed, asked in its own words, backed up, restored and removed', { timeout: 300_000 }, async () => {
      await makeStandIn(engine, {
        ...{ name: 'quay.io/coreos/etcd', tag: 'v3.4.23', from: 'busybox:latest', changes: [] },
        files: await etcdPrograms(),
      });
      const etcdctl = async (...words: string[]) => (await run('exec', 'key-store', '--', 'etcdctl', ...words)).trim();
      await ground.cleared(['key-store'], async () => {
        await run('deploy', 'key-store', '--set', `CLIENT_PORT=${await findFreePort()}`, '--yes');
        await word('key-store', 'answering');

        expect(await etcdctl('put', 'lamp', 'on')).toBe('OK');
        const backups = join(ground.folder, 'backups');
        await run('backup', 'key-store', '--to', backups, '--yes');
        await word('key-store', 'answering');
        expect(await etcdctl('put', 'lamp', 'off')).toBe('OK');
        await run('restore', 'key-store', '--to', backups, '--yes');
        await word('key-store', 'answering');
        expect(await etcdctl('get', 'lamp', '--print-value-only')).toBe('on');

        // Full, it says so itself, and only its own word tells.
        await run('deploy', 'key-store', '--set', 'QUOTA_BYTES=16384', '--yes');
        await etcdctl('put', 'large', 'x'.repeat(60_000)).catch(() => '');
        await word('key-store', 'no leader or no room');
      });
      expect(await ground.fixture.container('key-store', 'etcd')).toBeUndefined();
    });
  });

  it("a calendar is saved in the repository of a backup server, without that one's password on any screen", {
    timeout: 300_000,
  }, async () => {
    await ground.cleared(['calendar', 'backup-server'], async () => {
      const [web, api] = [await findFreePort(), await findFreePort()];
      await run('deploy', 'calendar', '--set', `WEB_PORT=${web}`, '--yes');
      await run('deploy', 'backup-server', '--set', `API_PORT=${api}`, '--yes');
      await word('calendar', 'needs a user');
      await word('backup-server', 'needs a user');

      const secret = 'marked-repository-password';
      await runOrThrow([
        'docker',
        '-H',
        engine.url,
        'exec',
        (await ground.fixture.container('backup-server', 'rest-server'))?.Id ?? '',
        'create_user',
        'ada',
        secret,
      ]);
      // It reads who may come in anew every half minute, or at its start.
      await run('restart', 'backup-server', '--yes');
      await word('backup-server', 'guarded');
      const hash = (await runOrThrow(['openssl', 'passwd', '-6', 'rust and salt'])).trim();
      await writeFile(join(ground.fixture.stack, 'calendar/files/users'), `ada:${hash}\n`);
      await word('calendar', 'serving');

      const headers = { Authorization: `Basic ${Buffer.from('ada:rust and salt').toString('base64')}` };
      const dav = (method: string, path: string, body = '') =>
        ask(`http://127.0.0.1:${web}`, path, { method, headers: { ...headers, 'Content-Type': 'text/calendar' }, body });
      expect((await dav('MKCALENDAR', '/ada/home/')).status).toBe(201);
      expect((await dav('PUT', '/ada/home/1.ics', event('Launch'))).status).toBe(201);

      const password = join(ground.folder, 'restic-password');
      await writeFile(password, 'of the repository\n', { mode: 0o600 });
      const to = ['--to', `restic:rest:http://ada:${secret}@127.0.0.1:${api}/ada/`, '--password-file', password];
      const shown = [await run('backup', 'calendar', ...to, '--yes')];
      await word('calendar', 'serving');
      expect((await dav('DELETE', '/ada/home/1.ics')).status).toBe(200);
      shown.push(await run('restore', 'calendar', ...to, '--yes'));
      await word('calendar', 'serving');
      expect((await dav('GET', '/ada/home/1.ics')).body).toContain('SUMMARY:Launch');

      const refused = await ground.fixture.operator.run(['backup', 'calendar', ...to.map((part) => part.replace('ada:', 'eve:')), '--yes']);
      expect(refused.code).toBe(1);
      expect(refused.stderr).toContain('401');
      expect([...shown, refused.stdout, refused.stderr, await ground.fixture.operator.ownFiles()].join('\n')).not.toContain(secret);
    });
  });
});
