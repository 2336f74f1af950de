import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cp, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pack } from 'tar-stream';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { flowOf } from '../../../test/contract/flows/registry.ts';
import { backupKeysDouble } from '../../../test/doubles/backup-keys-double.ts';
import { type Ground, tracesInTurn } from '../../../test/doubles/break-offs.ts';
import { catalogEntry } from '../../../test/doubles/container-facts.ts';
import { componentView, FleetDouble, serviceView } from '../../../test/doubles/fleet-double.ts';
import { FlowFixture } from '../../../test/doubles/flow-fixture.ts';
import { OperatorDouble } from '../../../test/doubles/operator-double.ts';
import { answering } from '../../../test/doubles/practice-ground.ts';
import { tracesBelow } from '../../../test/doubles/secret-traces.ts';
import type { CatalogEntry } from '../../catalog/catalog.ts';
import { Fault } from '../../faults/fault.ts';
import { mintGrant } from '../../grants/mint.ts';
import type { Host } from '../../hosts/host.ts';
import { openLocalHost } from '../../hosts/local-host.ts';
import type { Session } from '../../session/session.ts';
import { BackupAges } from '../../stack/backup/age.ts';
import { FolderStore } from '../../stack/backup/folder-store.ts';
import { msOfStamp, stampOf } from '../../stack/backup/model.ts';
import { planBackup } from '../../stack/backup/plan.ts';
import { refuseDuringRestore } from '../../stack/backup/restore.ts';
import { cronLine, scheduleFiles, unitTexts } from '../../stack/backup/schedule.ts';
import { removeUnit, writeUnit } from '../../stack/systemd-unit.ts';
import { EngineScope } from '../engine-scope.ts';
import type { Flow, FlowContext } from '../flow.ts';
import { backupTarget, openStore } from './backup-target.ts';
import { restoreData } from './restore-data.ts';

const backup = flowOf('backup');
const backupList = flowOf('backup-list');
const backupVerify = flowOf('backup-verify');
const restore = flowOf('restore');

const hasTools = (() => {
  try {
    execFileSync('flock', ['--version'], { stdio: 'ignore' });
    execFileSync('sha256sum', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();

async function tarOf(content: string): Promise<Buffer> {
  const archive = pack();
  archive.entry({ name: 'data/', type: 'directory' });
  archive.entry({ name: 'data/notes.txt' }, content);
  archive.finalize();
  const chunks: Buffer[] = [];
  for await (const chunk of archive) chunks.push(Buffer.from(chunk as Buffer));
  return Buffer.concat(chunks);
}

describe.skipIf(!hasTools)('backup and restore', () => {
  let fixture: FlowFixture;
  let context: FlowContext;
  let to: string;

  const entry: CatalogEntry = {
    ...catalogEntry('notes', { app: { image: 'notes/notes', main: true } }),
    backup: [
      { id: 'data', volume: 'data', method: 'stop', with: [], exclude: [] },
      { id: 'cache', volume: 'cache', method: 'skip', with: [], exclude: [], why: 'made anew' },
    ],
    fields: [{ name: 'APP_SECRET', type: 'secret-string', secret: true, required: true, target: 'environment', excludes: [] }],
  };
  const withMounts: CatalogEntry = {
    ...entry,
    services: entry.services.map((service) => ({ ...service, mounts: [{ source: 'data', target: '/data', readOnly: false }] })),
  };
  const view = () => {
    const [detail] = [...fixture.engine.containers.values()];
    return componentView('notes', {
      id: 'notes',
      project: 'notes',
      services: [serviceView('app', { containerId: detail?.id, main: true })],
    });
  };

  beforeEach(async () => {
    fixture = await FlowFixture.open();
    to = join(fixture.folder, 'backups');
    await mkdir(join(fixture.folder, 'stack', 'notes'), { recursive: true });
    await writeFile(join(fixture.folder, 'stack', 'notes', 'compose.yaml'), 'services: {}\n');
    fixture.engine.add('app', { state: 'running', mounts: [{ kind: 'volume', source: 'notes_data', target: '/data', readOnly: false }] });
    fixture.engine.archives.set('/data', await tarOf('what was written'));
    const host = openLocalHost();
    context = {
      ...fixture.context,
      hostOf: () => host,
      catalog: { entries: [withMounts], get: (id: string) => (id === 'notes' ? withMounts : undefined), problems: [] },
      vault: async () => ({ list: async () => [{ name: 'local/notes/APP_SECRET', versions: [] }], read: async () => undefined }) as never,
      stackFolderOf: async () => join(fixture.folder, 'stack'),
    };
    Object.defineProperty(fixture, 'context', { get: () => context });
    fixture.fleet.current = { ...fixture.fleet.current, components: [view()] };
  });
  afterEach(() => fixture.close());

  it('saves what is declared, with the files of the component, and says what a restore would lack', async () => {
    fixture.operator.answers['backup-passphrase'] = [''];
    const outcome = await fixture.run(backup, view(), { options: { to } });
    expect(outcome.message).toMatch(/Backed up notes.*A restore requires these secrets, which are not in the backup: APP_SECRET/);
    const [stamp = ''] = await readdir(join(to, 'notes'));
    expect(await readdir(join(to, 'notes', stamp))).toEqual(['SHA256SUMS', 'data.tar.gz', 'manifest.json', 'project.tar']);
    expect(JSON.parse(await readFile(join(to, 'notes', stamp, 'manifest.json'), 'utf8'))).toMatchObject({
      skipped: [{ volume: 'cache', why: 'made anew' }],
      secrets: { names: ['APP_SECRET'], sealed: false },
    });
    expect(fixture.engine.requests).toEqual(['stop app', 'start app']);
    expect((await fixture.run(backupList, undefined, { options: { to } })).message).toBe(`1 backup in ${to} on local.`);
    for (const [name, says] of [
      ['notes', '1 backup of notes'],
      ['vault', 'No backups of vault'],
    ] as const)
      expect((await fixture.run(backupList, undefined, { options: { to }, words: [name] })).message).toBe(`${says} in ${to} on local.`);
    expect((await fixture.run(backupVerify, undefined, { options: { to }, words: ['notes'] })).message).toMatch(/no damage found\.$/);
    // At a terminal the operator can choose the component instead of typing its name.
    fixture.operator.answers['component'] = ['notes'];
    expect((await fixture.run(backupVerify, undefined, { options: { to } })).message).toBe('Verified 1 backup of notes: no damage found.');
  });

  it('the passphrase and the secrets are nowhere, also where the program crashes with them in hand', { timeout: 120_000 }, async () => {
    const passphrase = 'a long passphrase of mine';
    const secret = 'the-secret-of-the-app-77';
    await fixture.vault.write({}, 'local/notes/APP_SECRET', secret, 'given');
    context = { ...context, vault: async () => fixture.vault };
    const ground = (flow: Flow): Ground => ({
      flow,
      operator: () => answering({ 'backup-passphrase': passphrase }),
      run: (watched, operator) => {
        fixture.operator = operator as OperatorDouble;
        return fixture.run(watched, view(), { options: { to } });
      },
      journal: fixture.journal,
      end: async () => undefined,
      folders: [fixture.folder],
      close: async () => {},
    });
    const saved = await tracesInTurn(ground(backup));
    expect(saved.found).toEqual([]);
    expect(saved.secrets).toBeGreaterThan(0);
    expect(saved.crashes).toBeGreaterThan(0);
    const back = await tracesInTurn(ground(restore));
    expect(back.found).toEqual([]);
    const all = [passphrase, secret];
    expect(await tracesBelow([fixture.folder], all)).toEqual([]);
    expect(await fixture.vault.read('local/backup/BACKUP_PASSPHRASE')).toBe(passphrase);
  });

  it.each([
    ['backup', /^Backed up notes to .* Not all old backups could be deleted: The folder is read-only\. Remount it\.$/],
    ['backup-all', /^Backed up 1 component to .*\. Not all old backups could be deleted: notes\.$/],
  ])('%s whose old backups cannot be deleted is reported as done, with exit code 1', async (id, message) => {
    fixture.operator.answers['backup-passphrase'] = [''];
    const thin = vi
      .spyOn(FolderStore.prototype, 'thin')
      .mockRejectedValue(new Fault('failed.backup', 'The folder is read-only.', 'Remount it.'));
    try {
      const outcome = await fixture.run(flowOf(id), id === 'backup' ? view() : undefined, { options: { to } });
      expect(outcome).toMatchObject({ message: expect.stringMatching(message), exitCode: 1, data: expect.any(Object) });
    } finally {
      thin.mockRestore();
    }
    expect(await readdir(join(to, 'notes'))).toEqual([expect.stringMatching(/^\d{8}T\d{6}Z$/)]);
  });

  it('a restore is confirmed with what is lost, unpacks beside the present data, swaps them, and starts what ran', async () => {
    fixture.operator.answers['backup-passphrase'] = [''];
    await fixture.run(backup, view(), { options: { to } });
    fixture.engine.requests.length = 0;
    const outcome = await fixture.run(restore, view(), { options: { to } });
    expect(outcome.message).toMatch(/Restored notes as of/);
    const [confirmation] = fixture.operator.confirmations;
    expect(confirmation?.consequences.join('\n')).toMatch(/Everything in notes_data .* is deleted/);
    expect(fixture.engine.requests.map((request) => request.split(' ').slice(0, 2).join(' '))).toEqual([
      'beside notes_data',
      'exec beside',
      'exec beside',
      'stop app',
      'exec beside',
      'put beside',
      'exec beside',
      'exec beside',
      'start app',
    ]);
    expect(await readdir(join(fixture.folder, 'stack', '.quarterdeck', 'restores'))).toEqual([]);
    expect(fixture.engine.put[0]?.archive.toString()).toContain('what was written');
  });

  it('a component that was stopped before a restore stays stopped, and is not waited for', async () => {
    fixture.operator.answers['backup-passphrase'] = [''];
    await fixture.run(backup, view(), { options: { to } });
    fixture.engine.change('app', { state: 'exited' });
    const { message } = await fixture.run(restore, view(), { options: { to } });
    expect(message).toMatch(/^Restored notes as of \S+Z\. To start it: quarterdeck start notes$/);
  });

  it('where every backup is damaged, that is said, and not that there is none', async () => {
    fixture.operator.answers['backup-passphrase'] = [''];
    await fixture.run(backup, view(), { options: { to } });
    const [stamp = ''] = await readdir(join(to, 'notes'));
    await writeFile(join(to, 'notes', stamp, 'manifest.json'), '{');
    await expect(fixture.run(restore, view(), { options: { to } })).rejects.toMatchObject({
      message: `No intact backup of notes in ${to} on local.`,
      remedy: 'List the backups: quarterdeck backup list notes',
    });
  });

  it('a backup whose volumes no container here has is refused with their names, and nothing is stopped', async () => {
    fixture.operator.answers['backup-passphrase'] = [''];
    await fixture.run(backup, view(), { options: { to } });
    fixture.engine.requests.length = 0;
    const [stamp = ''] = await readdir(join(to, 'notes'));
    // The current catalog entry uses another name than the entry at the time of the backup.
    const mounts = [{ source: 'papers', target: '/data', readOnly: false }];
    const renamed = {
      ...withMounts,
      services: withMounts.services.map((service) => ({ ...service, mounts })),
      backup: withMounts.backup.map((item) => (item.id === 'data' ? { ...item, id: 'papers', volume: 'papers' } : item)),
    };
    context = { ...context, catalog: { entries: [renamed], get: () => renamed, problems: [] } };
    await expect(fixture.run(restore, view(), { options: { to } })).rejects.toMatchObject({
      code: 'refused.nothingToRestore',
      message: `Nothing in the backup ${stamp} can be restored into notes. data: no container on this host uses this volume.`,
    });
    expect(fixture.engine.requests).toEqual([]);
  });

  describe('covers what is mounted now, or fails', () => {
    const immich: CatalogEntry = {
      ...entry,
      fields: [],
      services: entry.services.map((service) => ({
        ...service,
        mounts: [{ source: 'upload', target: '/usr/src/app/upload', readOnly: false }],
      })),
      backup: [{ id: 'photos', volume: 'upload', method: 'copy', with: [], exclude: [] }],
    };
    const photos = { kind: 'bind', source: '/srv/photos', target: '/data', readOnly: false };
    const mount = (...mounts: (typeof photos)[]) => fixture.engine.change('app', { mounts });
    const manifests = async () => {
      const stamps = await readdir(join(to, 'notes'));
      return Promise.all(stamps.map(async (stamp) => JSON.parse(await readFile(join(to, 'notes', stamp, 'manifest.json'), 'utf8'))));
    };
    beforeEach(() => {
      context = { ...context, catalog: { entries: [immich], get: () => immich, problems: [] } };
      fixture.engine.archives.set('/usr/src/app/upload', Buffer.alloc(0));
    });

    it('a folder that the entry does not know and a volume that no container mounts are named, before anything is stopped', async () => {
      mount(photos);
      await expect(fixture.run(backup, view(), { options: { to } })).rejects.toMatchObject({
        code: 'refused.backupIncomplete',
        message: expect.stringMatching(/upload \(not mounted by any container\); app:\/data \(\/srv\/photos is mounted at this path/),
        remedy: expect.stringContaining('quarterdeck backup notes --exclude upload --include app:/data'),
      });
      expect(fixture.engine.requests).toEqual([]);
      await expect(readdir(join(to, 'notes'))).rejects.toMatchObject({ code: 'ENOENT' });
    });

    it('what the operator included and excluded is saved, recorded, kept to by the next backup, and restored', async () => {
      mount(photos);
      await fixture.run(backup, view(), { options: { to, include: ['app:/data'], exclude: ['upload'] } });
      expect(fixture.engine.requests).toEqual(['stop app', 'start app']);
      const [first] = await manifests();
      expect(first).toMatchObject({
        items: [{ volume: 'app:/data', method: 'stop', target: '/data' }],
        skipped: [{ volume: 'upload', why: 'excluded by the operator' }],
        choices: { include: ['app:/data'], exclude: ['upload'] },
      });
      vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 60_000 });
      const { data } = await fixture.run(backup, view(), { options: { to, 'keep-all': true } });
      vi.useRealTimers();
      expect((data as { backup: object }).backup).toMatchObject({ items: [{ volume: 'app:/data' }], choices: { exclude: ['upload'] } });
      expect(fixture.operator.texts().join('\n')).toContain('--include app:/data --exclude upload');
      const [stamp = ''] = await readdir(join(to, 'notes'));
      expect((await fixture.run(restore, view(), { options: { to }, words: [stamp] })).message).toMatch(/Restored notes as of/);
      expect(fixture.engine.put[0]?.archive.toString()).toContain('what was written');
    });

    it('an unnamed volume is saved with its container stopped; sockets and files of the system are not, with the reason', async () => {
      mount(
        { kind: 'volume', source: 'notes_upload', target: '/usr/src/app/upload', readOnly: false },
        { kind: 'volume', source: 'f'.repeat(64), target: '/data', readOnly: false },
        { kind: 'bind', source: '/var/run/docker.sock', target: '/var/run/docker.sock', readOnly: true },
        { kind: 'bind', source: '/etc/localtime', target: '/etc/localtime', readOnly: true },
        { kind: 'tmpfs', source: '', target: '/tmp', readOnly: false },
      );
      fixture.engine.archives.set('/usr/src/app/upload', await tarOf('a photo'));
      await fixture.run(backup, view(), { options: { to } });
      const [saved] = await manifests();
      expect(saved.items.map(({ volume, method }: { volume: string; method: string }) => `${volume} ${method}`)).toEqual([
        'upload copy',
        'app:/data stop',
      ]);
      expect(saved.skipped).toEqual([
        { volume: 'app:/var/run/docker.sock', why: 'a socket or device' },
        { volume: 'app:/etc/localtime', why: 'belongs to the host system' },
      ]);
    });

    it('verify names what was mounted since, and a backup that omits data is no last backup', async () => {
      mount({ kind: 'volume', source: 'notes_upload', target: '/usr/src/app/upload', readOnly: false });
      fixture.engine.archives.set('/usr/src/app/upload', await tarOf('a photo'));
      await fixture.run(backup, view(), { options: { to } });
      const seen = view();
      context = { ...context, fleet: new FleetDouble({ components: [{ ...seen, host: 'local' }] }) };
      const verify = () => fixture.run(backupVerify, undefined, { options: { to }, words: ['notes'] });
      expect((await verify()).message).toMatch(/no damage found\.$/);
      mount({ kind: 'volume', source: 'notes_upload', target: '/usr/src/app/upload', readOnly: false }, photos);
      await expect(verify()).rejects.toMatchObject({
        code: 'failed.backupIncomplete',
        message: expect.stringMatching(/is intact, but omits 1 mount: app:\/data\.$/),
      });

      // The age in the list follows the same rule.
      const now = () =>
        planBackup({
          entry: immich,
          component: view(),
          engine: fixture.engine,
          host: openLocalHost(),
          stackFolder: to,
          signal: AbortSignal.timeout(5_000),
        });
      const ages = () => new BackupAges(openLocalHost(), to, now).read(AbortSignal.timeout(5_000));
      expect([...(await ages())]).toEqual([['notes', undefined]]);
      mount({ kind: 'volume', source: 'notes_upload', target: '/usr/src/app/upload', readOnly: false });
      expect([...(await ages())]).toEqual([['notes', expect.any(Number)]]);
      const [stamp = ''] = await readdir(join(to, 'notes'));
      const file = join(to, 'notes', stamp, 'manifest.json');
      const [manifest] = await manifests();
      await writeFile(file, JSON.stringify({ ...manifest, skipped: [{ volume: 'upload', why: 'not mounted by any container' }] }));
      expect([...(await ages())]).toEqual([['notes', undefined]]);
    });

    it('a volume of another service at the same target is saved too, whatever the services are called (R69)', async () => {
      const upload = { kind: 'volume', source: 'cache_volume', target: '/usr/src/app/upload', readOnly: false };
      mount({ kind: 'volume', source: 'photos_volume', target: '/usr/src/app/upload', readOnly: false });
      const second = fixture.engine.add('cache', { state: 'running', mounts: [upload] });
      fixture.engine.archives.set('/usr/src/app/upload', await tarOf('a photo'));
      const [first] = [...fixture.engine.containers.values()];
      const services = [
        serviceView('cache-by-hand', { containerId: second.id }),
        serviceView('front-by-hand', { containerId: first?.id, main: true, declared: 'app' }),
      ];
      await fixture.run(backup, { ...view(), services }, { options: { to } });
      const [saved] = await manifests();
      expect(saved.items.map(({ volume, service }: { volume: string; service: string }) => `${volume} of ${service}`)).toEqual([
        'upload of front-by-hand',
        'cache-by-hand:/usr/src/app/upload of cache-by-hand',
      ]);
      // If the entry knows neither, it is ambiguous which one is meant.
      const unknown = services.map(({ declared: _, ...service }) => service);
      await expect(fixture.run(backup, { ...view(), services: unknown }, { options: { to } })).rejects.toMatchObject({
        message: expect.stringMatching(/^The backup of notes would omit data: upload \(not mounted by any container\)\.$/),
      });
    });

    it('mounts whose names differ in marks alone are files of their own', async () => {
      const volume = (source: string, target: string) => ({ kind: 'volume', source, target, readOnly: false });
      mount(volume('notes_upload', '/usr/src/app/upload'), volume('one', '/a-b'), volume('two', '/a/b'));
      for (const target of ['/usr/src/app/upload', '/a-b', '/a/b']) fixture.engine.archives.set(target, await tarOf(target));
      await fixture.run(backup, view(), { options: { to } });
      const [saved] = await manifests();
      expect(new Set(saved.items.map(({ file }: { file: string }) => file)).size).toBe(3);
    });

    it('a name that nothing is mounted under is refused, not ignored', async () => {
      mount({ kind: 'volume', source: 'notes_upload', target: '/usr/src/app/upload', readOnly: false }, photos);
      for (const option of ['exclude', 'include'])
        await expect(fixture.run(backup, view(), { options: { to, [option]: ['app:/dta'] } })).rejects.toMatchObject({
          code: 'usage.mount',
          message: 'notes has no volume or mount named "app:/dta".',
        });
    });

    it('what the entry skips is saved where the operator wants it', async () => {
      const skipping = {
        ...immich,
        backup: [{ id: 'photos', volume: 'upload', method: 'skip' as const, with: [], exclude: [], why: 'big' }],
      };
      context = { ...context, catalog: { entries: [skipping], get: () => skipping, problems: [] } };
      mount({ kind: 'volume', source: 'notes_upload', target: '/usr/src/app/upload', readOnly: false });
      fixture.engine.archives.set('/usr/src/app/upload', await tarOf('a photo'));
      await fixture.run(backup, view(), { options: { to, include: ['upload'] } });
      const [saved] = await manifests();
      expect(saved).toMatchObject({ items: [{ volume: 'app:/usr/src/app/upload', method: 'stop' }], skipped: [] });
    });

    it('a service that the entry does not know, and whose container is gone, is named', async () => {
      mount({ kind: 'volume', source: 'notes_upload', target: '/usr/src/app/upload', readOnly: false });
      fixture.engine.archives.set('/usr/src/app/upload', await tarOf('a photo'));
      const seen = { ...view(), services: [...view().services, serviceView('sidecar', { containerId: undefined })] };
      await expect(fixture.run(backup, seen, { options: { to } })).rejects.toMatchObject({
        code: 'refused.backupIncomplete',
        message: expect.stringContaining('sidecar (its container is missing, so its mounts are unknown)'),
        remedy:
          'Create the missing containers or mounts, then back up again. To back up without them: quarterdeck backup notes --exclude sidecar',
      });
      await fixture.run(backup, seen, { options: { to, exclude: ['sidecar'] } });
      expect((await manifests())[0]).toMatchObject({ skipped: [{ volume: 'sidecar', why: 'excluded by the operator' }] });
    });
  });

  describe('of several instances of a product', () => {
    const instance = (project: string) => {
      const container = fixture.engine.add(`${project}-app`, {
        state: 'running',
        mounts: [{ kind: 'volume', source: `${project}_data`, target: '/data', readOnly: false }],
      });
      return componentView('notes', {
        key: `local/${project}/notes`,
        id: project === 'notes' ? 'notes' : `notes@${project}`,
        entry: 'notes',
        project,
        services: [serviceView('app', { containerId: container.id, main: true })],
      });
    };

    it('each has backups of its own, and none of the files of the one that was deployed from here', async () => {
      fixture.operator.answers['backup-passphrase'] = ['', ''];
      const lab = instance('lab');
      fixture.fleet.current = { ...fixture.fleet.current, components: [view(), lab] };
      const { data } = await fixture.run(backup, lab, { options: { to } });
      expect((data as { backup: object }).backup).toMatchObject({ component: 'notes@lab', project: 'lab', files: [] });
      expect(await readdir(to)).toContain('notes@lab');
      await expect(readdir(join(to, 'notes'))).rejects.toMatchObject({ code: 'ENOENT' });
      expect((await fixture.run(backupVerify, undefined, { options: { to }, words: ['notes@lab'] })).message).toMatch(/no damage found\.$/);
      expect((await fixture.run(restore, lab, { options: { to } })).message).toMatch(/^Restored notes@lab as of/);
      await expect(fixture.run(restore, view(), { options: { to } })).rejects.toMatchObject({
        message: `No backup of notes in ${to} on local.`,
      });
    });

    it('a backup from before there was a second one stays that of its project, and never goes into another', async () => {
      fixture.operator.answers['backup-passphrase'] = ['', ''];
      const alone = { ...instance('lab'), id: 'notes' };
      fixture.fleet.current = { ...fixture.fleet.current, components: [alone] };
      await fixture.run(backup, alone, { options: { to } });
      const lab = { ...alone, id: 'notes@lab' };
      fixture.fleet.current = { ...fixture.fleet.current, components: [view(), lab] };
      await expect(fixture.run(restore, view(), { options: { to } })).rejects.toMatchObject({
        message: `No backup of notes in ${to} on local.`,
      });
      expect((await fixture.run(backupVerify, undefined, { options: { to }, words: ['notes@lab'] })).message).toMatch(/no damage found\.$/);
      expect((await fixture.run(restore, lab, { options: { to } })).message).toMatch(/^Restored notes@lab as of/);
    });

    it('what was filed under the name before there was a second one is not thinned out by the backups of the other', async () => {
      fixture.operator.answers['backup-passphrase'] = ['', ''];
      const alone = { ...instance('lab'), id: 'notes' };
      fixture.fleet.current = { ...fixture.fleet.current, components: [alone] };
      const { data } = await fixture.run(backup, alone, { options: { to } });
      const { stamp } = (data as { backup: { stamp: string } }).backup;
      fixture.fleet.current = { ...fixture.fleet.current, components: [view(), { ...alone, id: 'notes@lab' }] };
      await vi.waitFor(() => expect(stampOf(new Date())).not.toBe(stamp), { timeout: 5_000 });
      await fixture.run(backup, view(), { options: { to } });
      expect(await readdir(join(to, 'notes'))).toHaveLength(2);
      expect(await readdir(join(to, 'notes'))).toContain(stamp);
    });

    it('an interrupted restore is known under the name that the component has now, whatever its backup is filed under', async () => {
      fixture.operator.answers['backup-passphrase'] = [''];
      const alone = { ...instance('lab'), id: 'notes' };
      fixture.fleet.current = { ...fixture.fleet.current, components: [alone] };
      await fixture.run(backup, alone, { options: { to } });
      const lab = { ...alone, id: 'notes@lab' };
      fixture.fleet.current = { ...fixture.fleet.current, components: [view(), lab] };
      const host = openLocalHost();
      const seen = new Set<string>();
      const write: typeof host.files.write = async (grant, path, content, options) => {
        await host.files.write(grant, path, content, options);
        if (!path.endsWith('/restore.json')) return;
        seen.add(
          path
            .split('/')
            .at(-2)
            ?.replace(/^[^-]*-/, '') ?? '',
        );
        for (const component of ['notes', 'notes@lab'])
          await refuseDuringRestore(host, join(fixture.folder, 'stack'), { component, project: 'lab' }, grant.signal).catch(
            ({ message }: Error) => seen.add(message.replace(/^.*restoring (\S+) since.*$|:.*$/, '$1')),
          );
      };
      context = { ...context, hostOf: () => ({ ...host, files: { ...host.files, write } }) };
      await fixture.run(restore, lab, { options: { to } });
      expect([...seen]).toEqual(['notes@lab']);
    });
  });

  describe('signed with a key of the operator', () => {
    const files = async () => {
      const [stamp = ''] = await readdir(join(to, 'notes'));
      return (name: string) => join(to, 'notes', stamp, name);
    };
    /** Forges a backup as an attacker with write access would: every checksum is correct. */
    const forge = async (changes: (manifest: Record<string, unknown>) => object) => {
      const path = await files();
      const text = JSON.stringify(changes(JSON.parse(await readFile(path('manifest.json'), 'utf8'))));
      await writeFile(path('manifest.json'), text);
      const sums = (await readFile(path('SHA256SUMS'), 'utf8')).replace(/^.*manifest\.json\n/m, '');
      await writeFile(path('SHA256SUMS'), `${sums}${createHash('sha256').update(text).digest('hex')}  manifest.json\n`);
    };
    const tryRestore = (options: object = {}) => fixture.run(restore, view(), { options: { to, ...options } });
    const verify = () => fixture.run(backupVerify, undefined, { options: { to }, words: ['notes'] });
    beforeEach(async () => {
      fixture.operator.answers['backup-passphrase'] = [''];
      await fixture.run(backup, view(), { options: { to } });
      fixture.engine.requests.length = 0;
    });

    it('a manifest that was changed, with right checksums, is refused before anything is touched; no flag helps', async () => {
      await forge((manifest) => ({ ...manifest, by: 'mallory@nas' }));
      for (const unsigned of [false, true])
        await expect(tryRestore({ unsigned })).rejects.toMatchObject({ message: expect.stringMatching(/damaged|No intact backup/) });
      expect(fixture.engine.requests).toEqual([]);
      await expect(verify()).rejects.toMatchObject({ code: 'failed.damaged' });
    });

    it.each<[string, () => Promise<void>, RegExp]>([
      ['whose signature was taken off', () => forge(({ signature: _, ...rest }) => rest), /cannot be authenticated: it is not signed/],
      [
        'of another operator',
        async () => {
          fixture.backupKeys = backupKeysDouble();
        },
        /cannot be authenticated: it was signed with an unknown key/,
      ],
    ])('one %s is restored only on purpose, and verify reports it', async (_, forged, why) => {
      await forged();
      context = { ...context, backupKeys: async () => fixture.backupKeys };
      const attending = fixture.operator;
      fixture.operator = new OperatorDouble('unattended');
      await expect(tryRestore()).rejects.toMatchObject({ code: 'refused.unsigned', message: expect.stringMatching(why) });
      expect(fixture.engine.requests).toEqual([]);
      fixture.operator = attending;
      fixture.operator.answers['unsigned'] = ['cancel'];
      await expect(tryRestore()).rejects.toMatchObject({ code: 'refused.unsigned' });
      expect(await verify()).toMatchObject({
        exitCode: 5,
        message: expect.stringMatching(/1 backup of notes matches its checksums, but \d+T\d+Z cannot be authenticated/),
      });
      fixture.operator.answers['unsigned'] = ['restore'];
      expect((await tryRestore()).message).toMatch(/Restored notes as of/);
      expect((await tryRestore({ unsigned: true })).message).toMatch(/Restored notes as of/);
    });
  });

  describe('planted by someone who can write to the folder', () => {
    const plant = async (stamp: string, changes: object) => {
      const [own = ''] = await readdir(join(to, 'notes'));
      const read = (name: string) => readFile(join(to, 'notes', own, name), 'utf8');
      const { signature: _, ...manifest } = JSON.parse(await read('manifest.json'));
      const atMs = Date.UTC(+stamp.slice(0, 4), +stamp.slice(4, 6) - 1, +stamp.slice(6, 8));
      const text = JSON.stringify({ ...manifest, stamp, startedAt: new Date(atMs).toISOString(), ...changes });
      const folder = join(to, 'notes', stamp);
      await cp(join(to, 'notes', own), folder, { recursive: true });
      await writeFile(join(folder, 'manifest.json'), text);
      const sums = (await read('SHA256SUMS')).replace(/^.*manifest\.json\n/m, '');
      await writeFile(join(folder, 'SHA256SUMS'), `${sums}${createHash('sha256').update(text).digest('hex')}  manifest.json\n`);
      return { folder, items: manifest.items as { file: string }[] };
    };
    beforeEach(async () => {
      fixture.operator.answers['backup-passphrase'] = [''];
      await fixture.run(backup, view(), { options: { to, 'keep-all': true } });
    });

    it('one that excludes data does not decide what the next backup omits', async () => {
      const [own = ''] = await readdir(join(to, 'notes'));
      await plant('20200101T000000Z', { choices: { include: [], exclude: ['data', 'app:/data'] } });
      await rm(join(to, 'notes', own), { recursive: true });
      fixture.operator.answers['backup-passphrase'] = [''];
      const { data } = await fixture.run(backup, view(), { options: { to, 'keep-all': true } });
      expect(data).toMatchObject({ backup: { items: [{ id: 'data' }], choices: { exclude: [] } } });
    });

    it('one with an impossible date does not make the last backup look recent', async () => {
      await plant('20990101T000000Z', {});
      const [own] = (await readdir(join(to, 'notes'))).filter((stamp) => !stamp.startsWith('2099'));
      const ages = await new BackupAges(openLocalHost(), to).read(AbortSignal.timeout(5_000));
      expect(new Date(ages.get('notes') ?? 0).toISOString().replaceAll(/[-:]|\.000/g, '')).toBe(own);
    });

    it('one that is a copy of an old one under a newer date does not make the last backup look recent', async () => {
      const [own = ''] = await readdir(join(to, 'notes'));
      await rename(join(to, 'notes', own), join(to, 'notes', '20200101T000000Z'));
      expect([...(await new BackupAges(openLocalHost(), to).read(AbortSignal.timeout(5_000)))]).toEqual([['notes', undefined]]);
    });

    it('one with a named pipe for a manifest does not hide the ages of all others', async () => {
      const [own = ''] = await readdir(join(to, 'notes'));
      await mkdir(join(to, 'chat', '20200101T000000Z'), { recursive: true });
      execFileSync('mkfifo', [join(to, 'chat', '20200101T000000Z', 'manifest.json')]);
      const ages = await new BackupAges(openLocalHost(), to).read(AbortSignal.timeout(5_000));
      expect([...ages]).toEqual([
        ['chat', undefined],
        ['notes', msOfStamp(own)],
      ]);
    });

    it('what a backup would save now is looked up once for all that were made with the same choices', async () => {
      await plant('20200101T000000Z', {});
      await plant('20200102T000000Z', {});
      const asked: unknown[] = [];
      const ages = new BackupAges(openLocalHost(), to, async (_, choices) => {
        asked.push(choices);
        return { project: 'other' } as never;
      });
      expect([...(await ages.read(AbortSignal.timeout(5_000)))]).toEqual([['notes', undefined]]);
      expect(asked).toHaveLength(1);
    });

    it('ones with dates in the future do not push real ones out of the folder', async () => {
      const [own = ''] = await readdir(join(to, 'notes'));
      const future = [...Array(12).keys()].map((month) => `2099${String(month + 1).padStart(2, '0')}01T000000Z`);
      for (const stamp of [...future, '20991202T000000Z', '20991203T000000Z']) await plant(stamp, {});
      await rename(join(to, 'notes', own), join(to, 'notes', '20200101T000000Z'));
      fixture.operator.answers['backup-passphrase'] = [''];
      const { data } = await fixture.run(backup, view(), { options: { to } });
      const { stamp } = (data as { backup: { stamp: string } }).backup;
      expect(await readdir(join(to, 'notes'))).toContain(stamp);
    });

    it('one of another instance is restored with a word about that', async () => {
      await plant('20200101T000000Z', { project: 'other', engineName: 'nas' });
      await fixture.run(restore, view(), { options: { to, unsigned: true }, words: ['20200101T000000Z'] });
      expect(fixture.operator.confirmations.at(-1)?.consequences[0]).toBe('The backup is from another instance: the project other on nas.');
    });

    it('for a whole snapshot, one with an item that has no place is refused before anything is stopped', async () => {
      const [own = ''] = await readdir(join(to, 'notes'));
      const { items } = JSON.parse(await readFile(join(to, 'notes', own, 'manifest.json'), 'utf8'));
      await plant('20200101T000000Z', { items: [{ ...items[0], volume: 'elsewhere' }] });
      fixture.engine.requests.length = 0;
      const whole: Flow = {
        ...restore,
        run: async (session, input, context) => {
          const store = await openStore(new EngineScope(session, context, input.engineName), input);
          const backup = (await store.list(session.signal, 'notes')).find(({ stamp }) => stamp === '20200101T000000Z');
          if (!backup || !input.component) throw new Error('no backup');
          await restoreData(new EngineScope(session, context, input.engineName), {
            component: input.component,
            store,
            backup,
            whole: true,
          });
          return { message: 'restored' };
        },
      };
      await expect(fixture.run(whole, view(), { options: { to } })).rejects.toMatchObject({
        code: 'refused.nothingToRestore',
        message: expect.stringContaining('elsewhere: no container on this host uses this volume.'),
      });
      expect(fixture.engine.requests).toEqual([]);
    });

    it.each(['manifest.json', 'SHA256SUMS'])('one with a named pipe as %s is damaged, and does not hide the others', async (file) => {
      const { folder } = await plant('20200101T000000Z', {});
      await rm(join(folder, file));
      execFileSync('mkfifo', [join(folder, file)]);
      const { data } = await fixture.run(backupList, undefined, { options: { to } });
      expect(data).toMatchObject({ backups: [{ good: true }, { stamp: '20200101T000000Z', good: false }] });
    });

    it('one with an impossible date is listed as damaged, and is not the newest', async () => {
      await plant('20990101T000000Z', {});
      const { data } = await fixture.run(backupList, undefined, { options: { to } });
      expect(data).toMatchObject({ backups: [{ stamp: '20990101T000000Z', good: false }, { good: true }] });
      expect(JSON.stringify(fixture.operator.shown)).toContain('damaged: its date is not plausible');
      fixture.operator = new OperatorDouble('unattended');
      fixture.operator.confirms = true;
      expect((await fixture.run(restore, view(), { options: { to } })).message).not.toContain('2099');
    });

    it('one with two items for one volume is refused before anything is stopped', async () => {
      const [own] = await readdir(join(to, 'notes'));
      const { items } = JSON.parse(await readFile(join(to, 'notes', own ?? '', 'manifest.json'), 'utf8'));
      await plant('20200101T000000Z', { items: [...items, ...items] });
      fixture.engine.requests.length = 0;
      await expect(fixture.run(restore, view(), { options: { to, unsigned: true }, words: ['20200101T000000Z'] })).rejects.toMatchObject({
        code: 'refused.damaged',
        message: expect.stringMatching(/it has two items for data/),
      });
      expect(fixture.engine.requests).toEqual([]);
    });
  });

  it('practice says that it has nothing to back up', async () => {
    const practising = { ...context, practice: { incidents: [], play: async () => undefined } };
    const scope = new EngineScope({} as Session, practising, 'local');
    await expect(backupTarget(scope, { engineName: 'local', words: [], options: { to } })).rejects.toMatchObject({
      code: 'refused.practice',
    });
  });

  it('a cancel in the middle starts what was stopped, and leaves no backup', async () => {
    const ending = new AbortController();
    const getArchive = fixture.engine.getArchive.bind(fixture.engine);
    fixture.engine.getArchive = async (id, path) => {
      ending.abort(new Error('enough'));
      return getArchive(id, path);
    };
    fixture.operator.answers['backup-passphrase'] = [''];
    await expect(fixture.run(backup, view(), { options: { to } }, ending.signal)).rejects.toMatchObject({ code: 'interrupted.act' });
    expect(fixture.engine.requests).toEqual(['stop app', 'start app']);
    expect((await fixture.run(backupList, undefined, { options: { to } })).message).toMatch(/No backup/);
  });

  it('read-only and a dry run change nothing', async () => {
    fixture.policy = { ...fixture.policy, dryRun: true };
    expect((await fixture.run(backup, view(), { options: { to } })).message).toMatch(/Dry run/);
    fixture.policy = { ...fixture.policy, dryRun: false, readOnly: true };
    fixture.operator.answers['backup-passphrase'] = [''];
    await expect(fixture.run(backup, view(), { options: { to } })).rejects.toMatchObject({ code: 'refused.readOnly' });
    expect(fixture.engine.requests).toEqual([]);
    await expect(readdir(to)).rejects.toThrow();
  });

  it('a place that is no path is refused, and one that nobody named', async () => {
    await expect(fixture.run(backupList, undefined, { options: { to: 'somewhere' } })).rejects.toMatchObject({ code: 'usage.backup' });
  });
});

describe('the timer', () => {
  const schedule = { engineName: 'local', argv: ['/opt/my tools/quarterdeck', 'backup', 'all', '--to', '/srv/100%'], at: '03:15' };

  it('runs the command that was shown, whatever is in its words', () => {
    const { service, timer } = unitTexts(schedule);
    expect(service).toContain('ExecStart="/opt/my tools/quarterdeck" backup all --to /srv/100%%');
    expect(timer).toContain('OnCalendar=*-*-* 03:15:00');
  });

  it.each([
    ['enable', writeUnit, 'The unit files were written. Check "systemctl status", or remove the files: quarterdeck backup unschedule'],
    ['disable', removeUnit, 'Nothing was removed. Check the timer: systemctl status quarterdeck-backup-local.timer'],
  ])('if systemctl %s fails, the remedy says whether the files were written or are still there', async (verb, change, remedy) => {
    const host = {
      files: { read: async () => Buffer.from(unitTexts(schedule).timer), makeFolder: async () => {}, write: async () => {} },
      exec: async () => ({ exitCode: 0 }),
      run: async (_: unknown, argv: readonly string[]) => ({ exitCode: argv.includes(verb) ? 1 : 0, stderr: '' }),
    } as unknown as Host;
    const grant = mintGrant('timer', 'operate', AbortSignal.timeout(5_000));
    const unit = { name: 'quarterdeck-backup-local', folder: '/etc/systemd/system', scope: [] };
    await expect(change(grant, host, unit, scheduleFiles, unitTexts(schedule))).rejects.toMatchObject({ code: 'failed.systemd', remedy });
  });

  it('has a line for cron, where a percent sign would end the command', () => {
    expect(cronLine(schedule)).toBe("15 3 * * * '/opt/my tools/quarterdeck' backup all --to '/srv/100\\%'");
  });
});
