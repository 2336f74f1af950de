import { chmod, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { OperatorDouble } from '../../test/doubles/operator-double.ts';
import { PracticeStage } from '../../test/doubles/practice-stage.ts';
import { Fault, type FaultInit } from '../faults/fault.ts';
import type { Act } from '../session/session.ts';
import type { Flow } from './flow.ts';

/** What is done to a component that stands: edit, update, rollback, rotate, compose, remove, and going on with what broke off. */
// Components take their time to start, in practice too.
vi.setConfig({ testTimeout: 60_000 });
let stage: PracticeStage;
beforeAll(async () => {
  stage = await PracticeStage.open();
});
afterAll(() => stage?.close());

const set = (...words: string[]) => ({ options: { set: words } });
const imageOf = async (id: string, service: string) => {
  const container = (await stage.containers(id))[service] ?? '';
  return (await stage.deck.world.engineOf('practice').inspect(container, AbortSignal.timeout(5_000)))?.imageId;
};

describe('update and rollback', () => {
  test('what the registry has newer is fetched and runs; going back brings the image of before by its digest', async () => {
    const before = await imageOf('reverse-proxy', 'caddy');
    const current = await stage.run('update', 'reverse-proxy');
    expect(current.message).toBe('reverse-proxy: up to date.');
    await stage.run('incident', 'calm', { words: ['newer-images'] });

    const outcome = await stage.run('update', 'reverse-proxy');
    expect(outcome.message).toMatch(/^reverse-proxy was updated\./);
    const after = await imageOf('reverse-proxy', 'caddy');
    expect(after).not.toBe(before);
    expect((await stage.record('reverse-proxy')).images['caddy']?.id).toBe(after);

    const back = await stage.run('rollback', 'reverse-proxy');
    expect(back.message).toMatch(/^reverse-proxy: as before/);
    expect(stage.operator.reviews[0]?.sections[0]?.lines.map(({ text }) => text).join('\n')).toContain('caddy goes back from');
    expect(await imageOf('reverse-proxy', 'caddy')).toBe(before);
  });

  describe('what could not be checked is not called up to date', () => {
    afterEach(() => vi.restoreAllMocks());
    const engine = () => stage.deck.world.engineOf('practice');
    const update = async (id: string, rehearse: boolean) => {
      const outcome = await stage.run('update', id, {}, { rehearse });
      return { ...outcome, data: outcome.data as { unchecked?: unknown; current: string[] } };
    };
    const fault = (code: FaultInit['code'], message: string) => new Fault({ code, message, remedy: 'Look.' });

    test.each([
      ['the registry is unreachable', fault('unreachable.registry', 'No such host.'), /could not be checked \(No such host\)\.$/],
      ['the registry does not have the tag', fault('engine.registry', 'Manifest unknown.'), /could not be checked \(Manifest unknown\)\.$/],
    ])('%s', async (_, thrown, message) => {
      for (const rehearse of [false, true]) {
        vi.spyOn((await stage.deckFor(rehearse)).world.engineOf('practice'), 'registryDigest').mockRejectedValue(thrown);
        const outcome = await update('media-server', rehearse);
        expect(outcome).toMatchObject({ message: expect.stringMatching(message), exitCode: 5 });
        expect(outcome.message).toMatch(/^Cannot tell whether media-server is up to date: /);
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
      expect(stage.operator.reviews[0]?.sections.flatMap(({ lines }) => lines.map(({ text }) => text)).join('\n')).toMatch(
        /can only be checked by fetching it/,
      );
      expect(outcome.message).toBe('media-server: up to date.');
      expect(outcome.data).toMatchObject({ updated: [], current: ['media-server'] });
      expect(outcome.exitCode).toBeUndefined();
    });

    test('a dry run does not predict what only fetching tells', async () => {
      vi.spyOn((await stage.deckFor(true)).world.engineOf('practice'), 'registryDigest').mockResolvedValue(undefined);
      expect(await update('media-server', true)).toMatchObject({
        message: expect.stringMatching(/Cannot tell whether media-server is up to date: .* a dry run does not fetch it\)\.$/),
        exitCode: 5,
      });
    });

    test('the image is that of the compose file as it was edited, not that of the catalog', async () => {
      const before = await stage.text('media-server/compose.yaml');
      const image = before.match(/image: (.*)/)?.[1] ?? '';
      const pinned = `${image.split(':')[0]}:edited`;
      const file = join(stage.stackFolder, 'media-server', 'compose.yaml');
      await writeFile(file, before.replace(image, pinned));
      const asked = vi
        .spyOn((await stage.deckFor(true)).world.engineOf('practice'), 'registryDigest')
        .mockRejectedValue(fault('engine.registry', 'Manifest unknown.'));
      const outcome = await update('media-server', true).finally(() => writeFile(file, before));
      expect(asked.mock.calls.map(([reference]) => reference)).toEqual([pinned]);
      expect(outcome).toMatchObject({ data: { unchecked: [{ image: pinned }] }, exitCode: 5 });
    });
  });

  test('there is nothing to go back to where nothing was changed from here', async () => {
    await expect(stage.run('rollback', 'file-sync')).rejects.toMatchObject({ code: 'refused.nothingToRollBack' });
  });
});

describe('edit', () => {
  test('a text that is piped in is looked at like any other change, put in force, and kept as the operator’s own', async () => {
    const before = await stage.text('ldap-directory/compose.yaml');
    const text = before.replace('restart: unless-stopped', 'restart: always');
    const outcome = await stage.run('edit', 'ldap-directory', { words: ['compose.yaml'], stdin: Buffer.from(text) });
    expect(outcome.message).toMatch(/^ldap-directory\/compose.yaml is in force: /);
    expect(stage.operator.reviews[0]?.actions.map(({ id }) => id)).toEqual(['apply', 'cancel']);
    expect(await stage.text('ldap-directory/compose.yaml')).toBe(text);
    expect((await stage.record('ldap-directory')).edited).toEqual(['ldap-directory/compose.yaml']);
    const again = await stage.run('deploy', 'ldap-directory', {}, { rehearse: true });
    expect(again.message).toContain('nothing to change');
  });

  test('a text that is no YAML is refused with the line, and nothing is written', async () => {
    const before = await stage.text('ldap-directory/compose.yaml');
    const broken = stage.run('edit', 'ldap-directory', { words: ['compose.yaml'], stdin: Buffer.from('services:\n  lldap: [\n') });
    await expect(broken).rejects.toMatchObject({
      code: 'config.compose',
      message: expect.stringContaining('stack/ldap-directory/compose.yaml'),
      where: { line: expect.any(Number) },
    });
    expect(await stage.text('ldap-directory/compose.yaml')).toBe(before);
  });

  test.each([
    ['WEB_PORT', 'WEB_PORT in .env: it has no value.', 2],
    ['WEB_PORT=many', 'WEB_PORT in .env: A port is a whole number from 1 to 65535.', 2],
  ])('a slip in .env, %s, is refused with its line, and nothing is written', async (slip, message, line) => {
    const before = await stage.text('ldap-directory/compose.yaml');
    const broken = stage.run('edit', 'ldap-directory', { words: ['.env'], stdin: Buffer.from(`# by hand\n${slip}\n`) });
    await expect(broken).rejects.toMatchObject({ code: 'config.env', message, where: { line } });
    expect(await stage.text('ldap-directory/compose.yaml')).toBe(before);
  });

  test('a file in another encoding is refused with its line by whatever would write it back, and stays as it is', async () => {
    const piped = Buffer.from('# by hand\n# für alle\n', 'latin1');
    await expect(stage.run('edit', 'ldap-directory', { words: ['.env'], stdin: piped })).rejects.toMatchObject({
      code: 'usage.input',
      message: 'the input cannot be read: line 2 is not UTF-8.',
    });
    const env = join(stage.stackFolder, 'ldap-directory/.env');
    const before = await readFile(env);
    const byHand = Buffer.concat([before, Buffer.from('# für alle\n', 'latin1')]);
    await writeFile(env, byHand);
    await expect(stage.run('deploy', 'ldap-directory')).rejects.toMatchObject({
      code: 'config.unreadable',
      where: { line: before.toString().split('\n').length },
    });
    expect(await readFile(env)).toEqual(byHand);
    await writeFile(env, before);
  });

  test('an image that does not exist is told before anything is changed', async () => {
    const before = await stage.text('ldap-directory/compose.yaml');
    const text = before.replace(/image: .*/, 'image: no-such-image');
    const refused = stage.run('edit', 'ldap-directory', { words: ['compose.yaml'], stdin: Buffer.from(text) });
    await expect(refused).rejects.toMatchObject({
      message: expect.stringMatching(/^no-such-image:latest cannot be pulled: .* Nothing was changed\.$/),
    });
    expect(await stage.text('ldap-directory/compose.yaml')).toBe(before);
  });
});

describe('secrets', () => {
  test('a new version is put in force: the service is made anew with it, and the record names it', async () => {
    const before = await stage.record('llm-proxy');
    const outcome = await stage.run('secrets-rotate', 'llm-proxy', { words: ['llm-proxy', 'LITELLM_MASTER_KEY'] });
    expect(outcome.message).toContain('Restarted: llm-proxy/litellm.');
    expect(outcome.message).toContain('Proved: the new one works, and the old one does not.');
    const after = await stage.record('llm-proxy');
    expect(after.secrets['LITELLM_MASTER_KEY']).not.toBe(before.secrets['LITELLM_MASTER_KEY']);
  });
});

describe('compose', () => {
  test('runs in the component’s folder with its secrets, and ends with its exit code', async () => {
    const ps = await stage.run('compose', 'llm-proxy', { words: ['ps'] });
    expect(ps.exitCode).toBe(0);
    const shown = stage.operator.shown.flatMap((one) => (one.kind === 'output' ? [Buffer.from(one.bytes).toString()] : [])).join('');
    expect(shown).toContain('llm-proxy-litellm-1');
    const wrong = await stage.run('compose', 'llm-proxy', { words: ['nonsense'] });
    expect(wrong.exitCode).not.toBe(0);
  });

  test('what removes is confirmed with what is lost', async () => {
    const containers = await stage.containers('llm-proxy');
    const operator = new OperatorDouble();
    operator.confirms = false;
    await expect(stage.run('compose', 'llm-proxy', { words: ['down', '-v'] }, { operator })).rejects.toMatchObject({
      code: 'refused.notConfirmed',
    });
    expect(operator.confirmations[0]?.consequences.join('\n')).toMatch(/llm-proxy-litellm-1.*\n.*llm-proxy_\w+.* with everything in them/);
    expect(await stage.containers('llm-proxy')).toEqual(containers);
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
      run: (session, input, world) => flow.run({ ...session, act: async (act) => void acts.push(act as Act<unknown>) }, input, world),
    });
    await stage.run('compose', 'llm-proxy', { words }, { as });
    expect(acts).toMatchObject([{ right, request: expect.stringContaining(` ${shown} in `) }]);
    expect(acts[0]?.confirmOnProduction).toBe(confirmOnProduction);
  });
});

describe('what broke off', () => {
  test('is told, stands in the way of the next change, and can be finished', async () => {
    const compose = join(stage.access.folder, 'bin', 'docker-compose');
    const real = await readFile(compose, 'utf8');
    const failing = '#!/bin/sh\ncase " $* " in *" up "*) echo "no more pids" >&2; exit 1;; esac\n';
    await writeFile(compose, failing + real.replace('#!/bin/sh\n', ''));
    await chmod(compose, 0o700);
    await expect(stage.run('deploy', 'media-server', set('TZ=Europe/Oslo'))).rejects.toMatchObject({
      code: 'failed.apply',
      message: expect.stringContaining('no more pids'),
    });
    const blocked = await stage.run('deploy', 'media-server', {}, { rehearse: true });
    expect((blocked.data as { findings: object[] }).findings).toContainEqual(
      expect.objectContaining({ id: expect.stringMatching(/^unfinished:/), level: 'blocking' }),
    );
    await writeFile(compose, real);
    const outcome = await stage.run('recover', '', { options: { finish: true } });
    expect(outcome.message).toMatch(/: finished\.$/);
    expect(await stage.text('media-server/.env')).toContain('TZ=Europe/Oslo');
    expect(await stage.run('recover', '')).toMatchObject({ message: expect.stringMatching(/^Nothing broke off/) });
    const next = await stage.run('deploy', 'media-server', {}, { rehearse: true });
    expect(next.message).toContain('nothing to change');
    // One that was damaged in the middle: nobody can say that nothing broke off.
    const folder = join(stage.stackFolder, '.quarterdeck/runs/20991231T000000000-abcdef');
    await mkdir(folder);
    await writeFile(join(folder, 'transaction.json'), 'null\n');
    await writeFile(join(folder, 'journal'), `${JSON.stringify({ at: 'x', step: 'up:media-server', state: 'begun' })}\n`);
    await expect(stage.run('recover', '')).rejects.toMatchObject({ code: 'failed.journal', message: expect.stringContaining(folder) });
    await rm(folder, { recursive: true });
    for (const file of ['halted/backup-20260101T000000Z-media-server.json', 'restores/20260101T000000Z/restore.json']) {
      const path = join(stage.stackFolder, '.quarterdeck', file);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, '{"schema":1,');
      const named = { code: 'failed.journal', message: expect.stringContaining(path.replace('/restore.json', '')) };
      await expect(stage.run('recover', '')).rejects.toMatchObject(named);
      await rm(path);
    }
  });
});

test('a record of what was stopped goes when its containers were replaced and the component is healthy', async () => {
  const folder = join(stage.stackFolder, '.quarterdeck/halted');
  await mkdir(folder, { recursive: true });
  const write = (run: string, component: string, container: string, more: object = {}) => {
    const containers = [{ id: container, name: `${component}-1`, how: 'stopped' }];
    const record = { schema: 1, run, flow: 'route', component, by: 'ada@nas', startedAt: '2026-01-01T00:00:00.000Z', containers, ...more };
    return writeFile(join(folder, `${run}.json`), JSON.stringify(record));
  };
  const gone = 'f'.repeat(64);
  await write('replaced', 'media-server', gone);
  await write('of-another', 'rss-reader', gone);
  await write('still-there', 'media-server', Object.values(await stage.containers('reverse-proxy')).at(0) ?? 'none');
  await write('rotation', 'media-server', gone, { secrets: [{ component: 'media-server', variable: 'TOKEN' }] });
  await stage.run('deploy', 'media-server', set('TZ=Europe/Lisbon'));
  expect((await readdir(folder)).sort()).toEqual(['of-another.json', 'rotation.json', 'still-there.json']);
  await rm(folder, { recursive: true });
});

describe('remove', () => {
  test('another name does not delete data', async () => {
    await expect(stage.run('remove', 'media-server', { options: { data: 'mediaserver' } })).rejects.toMatchObject({ code: 'usage.data' });
    expect(Object.keys(await stage.containers('media-server'))).toEqual(['jellyfin']);
  });

  test('keeps data, and files that somebody changed', async () => {
    await writeFile(join(stage.stackFolder, 'media-server/notes.txt'), 'mine');
    const operator = new OperatorDouble();
    operator.answers = { data: [''] };
    const outcome = await stage.run('remove', 'media-server', {}, { operator });
    expect(outcome.message).toMatch(/^media-server is removed\. Its data stay: media-server_/);
    expect(await stage.containers('media-server')).toEqual({});
    expect(await stage.text('media-server/notes.txt')).toBe('mine');
    await expect(stage.text('media-server/compose.yaml')).rejects.toMatchObject({ code: 'ENOENT' });
    await expect(stage.record('media-server')).rejects.toMatchObject({ code: 'ENOENT' });
    const volumes = await stage.deck.world.engineOf('practice').volumes(AbortSignal.timeout(5_000));
    expect(volumes.map(({ name }) => name)).toContain('media-server_config');
  });

  test('and what was removed with its data is deployed anew, services that only prepare something included', async () => {
    await stage.run('remove', 'secrets-manager-path', { options: { data: 'secrets-manager-path' } });
    expect(await stage.containers('secrets-manager-path')).toEqual({});
    const outcome = await stage.run('deploy', 'secrets-manager-path');
    expect(outcome.message).toMatch(/^secrets-manager-path is deployed/);
    expect(Object.keys(await stage.containers('secrets-manager-path')).sort()).toEqual(['openbao', 'storage']);
  });

  test('of what is behind the VPN gateway says what stays there, and not that the gateway uses it (R15)', async () => {
    await stage.run('deploy', 'vpn-client-gateway', set('VPN_SERVICE_PROVIDER=mullvad'));
    await vi.waitUntil(() => ['running', 'healthy'].includes(stage.component('vpn-client-gateway')?.state ?? ''), { timeout: 30_000 });
    await stage.run('route', 'file-sync');
    const operator = new OperatorDouble();
    operator.answers = { data: [''] };
    operator.confirms = false;
    await expect(stage.run('remove', 'file-sync', {}, { operator })).rejects.toThrow();
    const said = JSON.stringify(operator.confirmations);
    expect(said).toContain('vpn-client-gateway keeps its ports and names: quarterdeck route file-sync --direct takes them away first.');
    expect(said).not.toContain('uses it');
  });

  test('route --direct frees the ports of the gateway before the fleet has read which components were deployed from here', async () => {
    const early = (flow: Flow): Flow => ({
      ...flow,
      run: (session, input, world) => {
        const { components, ...snapshot } = world.fleet.snapshot();
        const unread = { ...snapshot, components: components.map((one) => ({ ...one, deployed: false })) };
        return flow.run(session, input, { ...world, fleet: { ...world.fleet, snapshot: () => unread } });
      },
    });
    const { data } = await stage.run('route', 'file-sync', { options: { direct: true } }, { rehearse: true, as: early });
    expect(data).toMatchObject({ gateway: 'vpn-client-gateway', plans: [{ component: 'vpn-client-gateway' }, { component: 'file-sync' }] });
  });
});
