import { chmod, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { OperatorDouble } from '../../../test/doubles/operator-double.ts';
import { PracticeFixture } from '../../../test/doubles/practice-fixture.ts';
import { Fault, type FaultCode } from '../../faults/fault.ts';
import type { Act } from '../../session/session.ts';
import type { Flow } from '../flow.ts';

/** Operations on a deployed component: edit, update, rollback, rotate, compose, remove, and resuming an interrupted change. */
// Components need some time to start, in practice too.
vi.setConfig({ testTimeout: 60_000 });
let fixture: PracticeFixture;
beforeAll(async () => {
  fixture = await PracticeFixture.open();
});
afterAll(() => fixture?.close());

const set = (...words: string[]) => ({ options: { set: words } });
const imageOf = async (id: string, service: string) => {
  const container = (await fixture.containers(id))[service] ?? '';
  return (await fixture.app.context.engineOf('practice').inspect(container, AbortSignal.timeout(5_000)))?.imageId;
};

describe('update and rollback', () => {
  test('what the registry has newer is fetched and runs; going back brings the image of before by its digest', async () => {
    const before = await imageOf('reverse-proxy', 'caddy');
    const current = await fixture.run('update', 'reverse-proxy');
    expect(current.message).toBe('reverse-proxy: up to date.');
    await fixture.run('incident', 'calm', { words: ['newer-images'] });

    const outcome = await fixture.run('update', 'reverse-proxy');
    expect(outcome.message).toMatch(/^Updated reverse-proxy\./);
    const after = await imageOf('reverse-proxy', 'caddy');
    expect(after).not.toBe(before);
    expect((await fixture.record('reverse-proxy')).images['caddy']?.id).toBe(after);

    const back = await fixture.run('rollback', 'reverse-proxy');
    expect(back.message).toMatch(/^Rolled back the change of .*: reverse-proxy/);
    expect(fixture.operator.reviews[0]?.sections[0]?.lines.map(({ text }) => text).join('\n')).toContain('caddy is rolled back from');
    expect(await imageOf('reverse-proxy', 'caddy')).toBe(before);
  });

  describe('what could not be checked is not called up to date', () => {
    afterEach(() => vi.restoreAllMocks());
    const engine = () => fixture.app.context.engineOf('practice');
    const update = async (id: string, dryRun: boolean) => {
      const outcome = await fixture.run('update', id, {}, { dryRun });
      return { ...outcome, data: outcome.data as { unchecked?: unknown; current: string[] } };
    };
    const fault = (code: FaultCode, message: string) => new Fault(code, message, 'Look.');

    test.each([
      ['the registry is unreachable', fault('unreachable.registry', 'No such host.'), /could not be checked \(No such host\)\.$/],
      ['the registry does not have the tag', fault('engine.registry', 'Manifest unknown.'), /could not be checked \(Manifest unknown\)\.$/],
    ])('%s', async (_, thrown, message) => {
      for (const dryRun of [false, true]) {
        vi.spyOn((await fixture.appFor({ dryRun })).context.engineOf('practice'), 'registryDigest').mockRejectedValue(thrown);
        const outcome = await update('media-server', dryRun);
        expect(outcome).toMatchObject({ message: expect.stringMatching(message), exitCode: 5 });
        expect(outcome.message).toMatch(/^Cannot determine whether media-server is up to date: /);
        expect(outcome.data.current).toEqual([]);
        expect(outcome.data.unchecked).toMatchObject([{ component: 'media-server', service: 'jellyfin' }]);
      }
    });

    test('the image was built on the host', async () => {
      const known = engine().image.bind(engine());
      vi.spyOn(engine(), 'image').mockImplementation(async (reference, signal) => {
        const found = await known(reference, signal);
        return found && { ...found, digests: [] };
      });
      const outcome = await update('media-server', false);
      expect(outcome).toMatchObject({ message: expect.stringContaining('has no registry digest'), exitCode: 5 });
    });

    test('what is fetched to find out and is the same is not called updated', async () => {
      vi.spyOn(engine(), 'registryDigest').mockResolvedValue(undefined);
      const outcome = await update('media-server', false);
      expect(fixture.operator.reviews[0]?.sections.flatMap(({ lines }) => lines.map(({ text }) => text)).join('\n')).toMatch(
        /is pulled to check for a newer image/,
      );
      expect(outcome.message).toBe('media-server: up to date.');
      expect(outcome.data).toMatchObject({ updated: [], current: ['media-server'] });
      expect(outcome.exitCode).toBeUndefined();
    });

    test('a dry run does not predict what only fetching tells', async () => {
      vi.spyOn((await fixture.appFor({ dryRun: true })).context.engineOf('practice'), 'registryDigest').mockResolvedValue(undefined);
      expect(await update('media-server', true)).toMatchObject({
        message: expect.stringMatching(/Cannot determine whether media-server is up to date: .* a dry run does not pull images\)\.$/),
        exitCode: 5,
      });
    });

    test('the image is that of the compose file as it was edited, not that of the catalog', async () => {
      const before = await fixture.text('media-server/compose.yaml');
      const image = before.match(/image: (.*)/)?.[1] ?? '';
      const pinned = `${image.split(':')[0]}:edited`;
      const file = join(fixture.stackFolder, 'media-server', 'compose.yaml');
      await writeFile(file, before.replace(image, pinned));
      const asked = vi
        .spyOn((await fixture.appFor({ dryRun: true })).context.engineOf('practice'), 'registryDigest')
        .mockRejectedValue(fault('engine.registry', 'Manifest unknown.'));
      const outcome = await update('media-server', true).finally(() => writeFile(file, before));
      expect(asked.mock.calls.map(([reference]) => reference)).toEqual([pinned]);
      expect(outcome).toMatchObject({ data: { unchecked: [{ image: pinned }] }, exitCode: 5 });
    });
  });

  test('there is nothing to go back to where nothing was changed from here', async () => {
    await expect(fixture.run('rollback', 'file-sync')).rejects.toMatchObject({ code: 'refused.nothingToRollBack' });
  });
});

describe('edit', () => {
  test('a text that is piped in is looked at like any other change, put in force, and kept as the operator’s own', async () => {
    const before = await fixture.text('ldap-directory/compose.yaml');
    const text = before.replace('restart: unless-stopped', 'restart: always');
    const outcome = await fixture.run('edit', 'ldap-directory', { words: ['compose.yaml'], stdin: Buffer.from(text) });
    expect(outcome.message).toMatch(/^Applied ldap-directory\/compose.yaml\. State: /);
    expect(fixture.operator.reviews[0]?.actions.map(({ id }) => id)).toEqual(['apply', 'cancel']);
    expect(await fixture.text('ldap-directory/compose.yaml')).toBe(text);
    expect((await fixture.record('ldap-directory')).edited).toEqual(['ldap-directory/compose.yaml']);
    const again = await fixture.run('deploy', 'ldap-directory', {}, { dryRun: true });
    expect(again.message).toContain('is up to date');
  });

  test('a text that is no YAML is refused with the line, and nothing is written', async () => {
    const before = await fixture.text('ldap-directory/compose.yaml');
    const broken = fixture.run('edit', 'ldap-directory', { words: ['compose.yaml'], stdin: Buffer.from('services:\n  lldap: [\n') });
    await expect(broken).rejects.toMatchObject({
      code: 'config.compose',
      message: expect.stringContaining('stack/ldap-directory/compose.yaml'),
      where: { line: expect.any(Number) },
    });
    expect(await fixture.text('ldap-directory/compose.yaml')).toBe(before);
  });

  test.each([
    ['WEB_PORT', 'WEB_PORT in .env: no value is set.', 2],
    ['WEB_PORT=many', 'WEB_PORT in .env: Use a port between 1 and 65535.', 2],
  ])('a slip in .env, %s, is refused with its line, and nothing is written', async (slip, message, line) => {
    const before = await fixture.text('ldap-directory/compose.yaml');
    const broken = fixture.run('edit', 'ldap-directory', { words: ['.env'], stdin: Buffer.from(`# by hand\n${slip}\n`) });
    await expect(broken).rejects.toMatchObject({ code: 'config.env', message, where: { line } });
    expect(await fixture.text('ldap-directory/compose.yaml')).toBe(before);
  });

  test('a file in another encoding is refused with its line by whatever would write it back, and stays as it is', async () => {
    const piped = Buffer.from('# by hand\n# für alle\n', 'latin1');
    await expect(fixture.run('edit', 'ldap-directory', { words: ['.env'], stdin: piped })).rejects.toMatchObject({
      code: 'usage.input',
      message: 'the input cannot be read: line 2 is not valid UTF-8.',
    });
    const env = join(fixture.stackFolder, 'ldap-directory/.env');
    const before = await readFile(env);
    const byHand = Buffer.concat([before, Buffer.from('# für alle\n', 'latin1')]);
    await writeFile(env, byHand);
    await expect(fixture.run('deploy', 'ldap-directory')).rejects.toMatchObject({
      code: 'config.unreadable',
      where: { line: before.toString().split('\n').length },
    });
    expect(await readFile(env)).toEqual(byHand);
    await writeFile(env, before);
  });

  test('an image that does not exist is told before anything is changed', async () => {
    const before = await fixture.text('ldap-directory/compose.yaml');
    const text = before.replace(/image: .*/, 'image: no-such-image');
    const refused = fixture.run('edit', 'ldap-directory', { words: ['compose.yaml'], stdin: Buffer.from(text) });
    await expect(refused).rejects.toMatchObject({
      message: expect.stringMatching(/^no-such-image:latest cannot be pulled: .* Nothing was changed\.$/),
    });
    expect(await fixture.text('ldap-directory/compose.yaml')).toBe(before);
  });
});

describe('secrets', () => {
  test('a new version is put in force: the service is made anew with it, and the record names it', async () => {
    const before = await fixture.record('llm-proxy');
    const outcome = await fixture.run('secrets-rotate', 'llm-proxy', { words: ['llm-proxy', 'LITELLM_MASTER_KEY'] });
    expect(outcome.message).toContain('Restarted: llm-proxy/litellm.');
    expect(outcome.message).toContain('Verified: the new value works, and the old one does not.');
    const after = await fixture.record('llm-proxy');
    expect(after.secrets['LITELLM_MASTER_KEY']).not.toBe(before.secrets['LITELLM_MASTER_KEY']);
  });
});

describe('compose', () => {
  test('runs in the component’s folder with its secrets, and ends with its exit code', async () => {
    const ps = await fixture.run('compose', 'llm-proxy', { words: ['ps'] });
    expect(ps.exitCode).toBe(0);
    const shown = fixture.operator.shown.flatMap((one) => (one.kind === 'output' ? [Buffer.from(one.bytes).toString()] : [])).join('');
    expect(shown).toContain('llm-proxy-litellm-1');
    const wrong = await fixture.run('compose', 'llm-proxy', { words: ['nonsense'] });
    expect(wrong.exitCode).not.toBe(0);
  });

  test('what removes is confirmed with what is lost', async () => {
    const containers = await fixture.containers('llm-proxy');
    const operator = new OperatorDouble();
    operator.confirms = false;
    await expect(fixture.run('compose', 'llm-proxy', { words: ['down', '-v'] }, { operator })).rejects.toMatchObject({
      code: 'refused.notConfirmed',
    });
    expect(operator.confirmations[0]?.consequences.join('\n')).toMatch(/llm-proxy-litellm-1.*\n.*llm-proxy_\w+.* with all of their data/);
    expect(await fixture.containers('llm-proxy')).toEqual(containers);
  });

  test.each([
    [['ps'], 'operate', undefined, 'ps'],
    [['config', '--services'], 'reveal', undefined, 'config --services'],
    [['--profile', 'x', 'restart', 'litellm'], 'operate', true, '--profile x restart litellm'],
    [['exec', '-T', 'litellm', 'login', 'geheim1'], 'operate', true, 'exec, with 4 arguments'],
  ])('%j has the right %s; confirmed on a production host: %s', async (words, right, confirmOnProduction, shown) => {
    const acts: Act<unknown>[] = [];
    const as = (flow: Flow): Flow => ({
      ...flow,
      run: (session, input, context) => flow.run({ ...session, act: async (act) => void acts.push(act as Act<unknown>) }, input, context),
    });
    await fixture.run('compose', 'llm-proxy', { words }, { as });
    expect(acts).toMatchObject([{ right, request: expect.stringContaining(` ${shown} in `) }]);
    expect(acts[0]?.confirmOnProduction).toBe(confirmOnProduction);
  });
});

describe('what broke off', () => {
  test('is told, stands in the way of the next change, and can be finished', async () => {
    const compose = join(fixture.access.folder, 'bin', 'docker-compose');
    const real = await readFile(compose, 'utf8');
    const failing = '#!/bin/sh\ncase " $* " in *" up "*) echo "no more pids" >&2; exit 1;; esac\n';
    await writeFile(compose, failing + real.replace('#!/bin/sh\n', ''));
    await chmod(compose, 0o700);
    await expect(fixture.run('deploy', 'media-server', set('TZ=Europe/Oslo'))).rejects.toMatchObject({
      code: 'failed.apply',
      message: expect.stringContaining('no more pids'),
    });
    const blocked = await fixture.run('deploy', 'media-server', {}, { dryRun: true });
    expect((blocked.data as { findings: object[] }).findings).toContainEqual(
      expect.objectContaining({ id: expect.stringMatching(/^unfinished:/), level: 'blocking' }),
    );
    await writeFile(compose, real);
    const outcome = await fixture.run('recover', '', { options: { finish: true } });
    expect(outcome.message).toMatch(/: finished\.$/);
    expect(await fixture.text('media-server/.env')).toContain('TZ=Europe/Oslo');
    expect(await fixture.run('recover', '')).toMatchObject({ message: expect.stringMatching(/^No interrupted changes/) });
    const next = await fixture.run('deploy', 'media-server', {}, { dryRun: true });
    expect(next.message).toContain('is up to date');
    // The journal of a damaged run does not show whether it was interrupted.
    const folder = join(fixture.stackFolder, '.quarterdeck/runs/20991231T000000000-abcdef');
    await mkdir(folder);
    await writeFile(join(folder, 'transaction.json'), 'null\n');
    await writeFile(join(folder, 'journal'), `${JSON.stringify({ at: 'x', step: 'up:media-server', state: 'begun' })}\n`);
    await expect(fixture.run('recover', '')).rejects.toMatchObject({ code: 'failed.journal', message: expect.stringContaining(folder) });
    await rm(folder, { recursive: true });
    for (const file of ['halted/backup-20260101T000000Z-media-server.json', 'restores/20260101T000000Z/restore.json']) {
      const path = join(fixture.stackFolder, '.quarterdeck', file);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, '{"schema":1,');
      const named = { code: 'failed.journal', message: expect.stringContaining(path.replace('/restore.json', '')) };
      await expect(fixture.run('recover', '')).rejects.toMatchObject(named);
      await rm(path);
    }
  });
});

test.each([
  ['replacing', 'Undo the restore, or run it again: quarterdeck recover'],
  ['replaced', 'Finish the restore: quarterdeck recover'],
])('a deployment after a restore that was interrupted while %s is blocked, with what is still possible', async (state, advice) => {
  const folder = join(fixture.stackFolder, '.quarterdeck/restores/x-media-server');
  await mkdir(folder, { recursive: true });
  const record = {
    ...{ schema: 1, run: 'x-media-server', component: 'media-server', project: 'media-server', backup: '20260101T000000Z', where: '/srv' },
    ...{ by: 'ada@nas', startedAt: '2026-01-01T00:00:00.000Z', state, volumes: [], dumps: [], halted: [] },
  };
  await writeFile(join(folder, 'restore.json'), JSON.stringify(record));
  const { data } = await fixture.run('deploy', 'media-server', {}, { dryRun: true }).finally(() => rm(folder, { recursive: true }));
  expect((data as { findings: object[] }).findings).toContainEqual(expect.objectContaining({ id: 'unfinished:x-media-server', advice }));
});

test('a record of what was stopped goes when its containers were replaced and the component is healthy', async () => {
  const folder = join(fixture.stackFolder, '.quarterdeck/halted');
  await mkdir(folder, { recursive: true });
  const write = (run: string, component: string, container: string, more: object = {}) => {
    const containers = [{ id: container, name: `${component}-1`, how: 'stopped' }];
    const record = { schema: 1, run, flow: 'route', component, by: 'ada@nas', startedAt: '2026-01-01T00:00:00.000Z', containers, ...more };
    return writeFile(join(folder, `${run}.json`), JSON.stringify(record));
  };
  const gone = 'f'.repeat(64);
  await write('replaced', 'media-server', gone);
  await write('of-another', 'rss-reader', gone);
  await write('still-there', 'media-server', Object.values(await fixture.containers('reverse-proxy')).at(0) ?? 'none');
  await write('rotation', 'media-server', gone, { secrets: [{ component: 'media-server', variable: 'TOKEN' }] });
  await fixture.run('deploy', 'media-server', set('TZ=Europe/Lisbon'));
  expect((await readdir(folder)).sort()).toEqual(['of-another.json', 'rotation.json', 'still-there.json']);
  await rm(folder, { recursive: true });
});

describe('remove', () => {
  test('another name does not delete data', async () => {
    await expect(fixture.run('remove', 'media-server', { options: { data: 'mediaserver' } })).rejects.toMatchObject({ code: 'usage.data' });
    expect(Object.keys(await fixture.containers('media-server'))).toEqual(['jellyfin']);
  });

  test('keeps data, and files that somebody changed', async () => {
    await writeFile(join(fixture.stackFolder, 'media-server/notes.txt'), 'mine');
    const operator = new OperatorDouble();
    operator.answers = { data: [''] };
    const outcome = await fixture.run('remove', 'media-server', {}, { operator });
    expect(outcome.message).toMatch(/^Removed media-server\. Data kept: media-server_/);
    expect(await fixture.containers('media-server')).toEqual({});
    expect(await fixture.text('media-server/notes.txt')).toBe('mine');
    await expect(fixture.text('media-server/compose.yaml')).rejects.toMatchObject({ code: 'ENOENT' });
    await expect(fixture.record('media-server')).rejects.toMatchObject({ code: 'ENOENT' });
    const volumes = await fixture.app.context.engineOf('practice').volumes(AbortSignal.timeout(5_000));
    expect(volumes.map(({ name }) => name)).toContain('media-server_config');
  });

  test('and what was removed with its data is deployed anew, services that only prepare something included', async () => {
    await fixture.run('remove', 'secrets-manager-path', { options: { data: 'secrets-manager-path' } });
    expect(await fixture.containers('secrets-manager-path')).toEqual({});
    const outcome = await fixture.run('deploy', 'secrets-manager-path');
    expect(outcome.message).toMatch(/^Deployed secrets-manager-path/);
    expect(Object.keys(await fixture.containers('secrets-manager-path')).sort()).toEqual(['openbao', 'storage']);
  });

  test('of what is behind the VPN gateway says what stays there, and not that the gateway uses it (R15)', async () => {
    await fixture.run('deploy', 'vpn-client-gateway', set('VPN_SERVICE_PROVIDER=mullvad'));
    await vi.waitUntil(() => ['running', 'healthy'].includes(fixture.component('vpn-client-gateway')?.serviceState ?? ''), {
      timeout: 30_000,
    });
    await fixture.run('route', 'file-sync');
    const operator = new OperatorDouble();
    operator.answers = { data: [''] };
    operator.confirms = false;
    await expect(fixture.run('remove', 'file-sync', {}, { operator })).rejects.toThrow();
    const said = JSON.stringify(operator.confirmations);
    expect(said).toContain(
      'vpn-client-gateway continues to publish the ports of file-sync. To avoid this, first run: quarterdeck route file-sync --direct',
    );
    expect(said).not.toContain('uses it');
  });

  test('route --direct frees the ports of the gateway before the fleet has read which components were deployed from here', async () => {
    const early = (flow: Flow): Flow => ({
      ...flow,
      run: (session, input, context) => {
        const { components, ...snapshot } = context.fleet.snapshot();
        const unread = { ...snapshot, components: components.map((one) => ({ ...one, deployed: false })) };
        return flow.run(session, input, { ...context, fleet: { ...context.fleet, snapshot: () => unread } });
      },
    });
    const { data } = await fixture.run('route', 'file-sync', { options: { direct: true } }, { dryRun: true, as: early });
    expect(data).toMatchObject({ gateway: 'vpn-client-gateway', plans: [{ component: 'vpn-client-gateway' }, { component: 'file-sync' }] });
  });
});
