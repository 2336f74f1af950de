import { readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { OperatorDouble } from '../../../test/doubles/operator-double.ts';
import { PracticeFixture } from '../../../test/doubles/practice-fixture.ts';
import { wholeCatalog } from '../../../test/doubles/whole-catalog.ts';
import { requiredProgram } from '../../../test/required.ts';
import { flows } from '../../app/flow-registry.ts';
import { JsonSink, UnattendedOperator } from '../../app/unattended-operator.ts';
import { openSession } from '../../session/open-session.ts';
import { waitUntilHealthy } from '../components/wait-until-healthy.ts';
import { EngineScope } from '../engine-scope.ts';

// Components need some time to start, in practice too.
vi.setConfig({ testTimeout: 60_000 });
let fixture: PracticeFixture;
beforeAll(async () => {
  fixture = await PracticeFixture.open();
});
afterAll(() => fixture?.close());

interface Reported {
  empty: boolean;
  files: { path: string; change: string; diff: string }[];
  findings: { level: string; message: string }[];
  services: { name: string; change: string }[];
}
const set = (...words: string[]) => ({ options: { set: words } });
const nobody = (yes: boolean) => new UnattendedOperator({ sink: new JsonSink(), yes }) as unknown as OperatorDouble;
/** Reads all files in the stack's folder, by path. */
async function texts(): Promise<Record<string, string>> {
  const found = await readdir(fixture.stackFolder, { recursive: true, withFileTypes: true });
  const files = found.filter((one) => one.isFile()).map((one) => join(one.parentPath, one.name).slice(fixture.stackFolder.length + 1));
  return Object.fromEntries(await Promise.all(files.map(async (path) => [path, await fixture.text(path)] as const)));
}

describe('what is asked', () => {
  test('a dry run shows what would be done, and changes nothing', async () => {
    await fixture.run('deploy', 'media-server', {}, { dryRun: true });
    const [files, containers] = [await texts(), await fixture.containers('media-server')];
    const outcome = await fixture.run('deploy', 'media-server', set('TZ=Europe/Berlin'), { dryRun: true });
    expect(outcome.message).toBe('Dry run: nothing was changed.');
    const reported = outcome.data as Reported;
    expect(reported.empty).toBe(false);
    expect(reported.services).toMatchObject([{ name: 'jellyfin', change: 'recreate' }]);
    expect(reported.files.find(({ path }) => path === 'media-server/.env')?.diff).toMatch(/^ PUBLISHED_URL=.*\n\+TZ=Europe\/Berlin$/m);
    expect(await texts()).toEqual(files);
    expect(await fixture.containers('media-server')).toEqual(containers);
  });

  test.each([
    ['COLOUR=red', 'usage.set', /no setting named "COLOUR"/],
    ['WEB_PORT=eighty', 'usage.set', /Use a port between/],
    ['ADMIN_TOKEN=hunter2', 'usage.secretOnCommandLine', /is a secret/],
    ['WEB_BIND=0.0.0.0', 'refused.exposure', /must be a loopback address/],
    ['WEB_PORT', 'usage.set', /NAME=VALUE/],
  ])('--set %s is refused before anything is looked at', async (word, code, message) => {
    await expect(fixture.run('deploy', 'password-vault', set(word))).rejects.toMatchObject({
      code,
      message: expect.stringMatching(message),
    });
  });

  test('a port that clients look for stays where it is (R88)', async () => {
    await expect(fixture.run('deploy', 'dns-filter-second', set('DNS_PORT=5353'))).rejects.toMatchObject({ code: 'refused.port' });
  });

  test('where nobody is there, what stands against it is said, and nothing is done without --yes', async () => {
    await expect(fixture.run('deploy', 'dns-filter-second', {}, { operator: nobody(true) })).rejects.toMatchObject({
      code: 'refused.preflight',
      message: expect.stringContaining('Port 53/udp (dns-udp) is in use by adguardhome.'),
    });
    const before = await fixture.containers('media-server');
    await expect(fixture.run('deploy', 'media-server', set('TZ=Europe/Rome'), { operator: nobody(false) })).rejects.toMatchObject({
      code: 'refused.notConfirmed',
    });
    expect(await fixture.containers('media-server')).toEqual(before);
  });
});

describe('an instance that was not deployed from here', () => {
  const refusal = {
    code: 'refused.preflight',
    message: expect.stringMatching(
      /dns-filter-second already exists on this host .*container adguardhome \(running; image .*no compose project/,
    ),
    remedy: expect.stringContaining('Manage the component with the tool that deployed it'),
  };

  test.each([
    ['with --yes', { operator: nobody(true) }],
    ['as a dry run', { operator: nobody(false), dryRun: true }],
  ])('is refused %s, and stays the only one', async (_, how) => {
    await expect(fixture.run('deploy', 'dns-filter-second', set('DNS_PORT=53'), how)).rejects.toMatchObject(refusal);
    expect(await fixture.containers('dns-filter-second')).toEqual({});
  });

  test('is a warning for an operator who wants a second one', async () => {
    const options = { ...set('DNS_PORT=53').options, 'second-instance': true };
    const { data } = await fixture.run('deploy', 'dns-filter-second', { options }, { operator: nobody(false), dryRun: true });
    const { findings } = data as { findings: { id: string; level: string; advice: string }[] };
    expect(findings.find(({ id }) => id === 'instance:adguardhome')).toMatchObject({
      level: 'warning',
      advice: 'The new instance starts without data.',
    });
  });
});

describe('what is done', () => {
  test('a change of a value makes the service anew, and is on record', async () => {
    const before = await fixture.containers('media-server');
    const outcome = await fixture.run('deploy', 'media-server', set('TZ=Europe/Berlin'));
    expect(outcome.message).toMatch(/^Deployed media-server: healthy/);
    expect(fixture.operator.forms[0]?.title).toBe('Change media-server (Jellyfin)');
    expect(fixture.operator.reviews[0]?.title).toBe('Change media-server on practice');
    expect(await fixture.text('media-server/.env')).toContain('TZ=Europe/Berlin');
    expect((await fixture.containers('media-server')).jellyfin).not.toBe(before.jellyfin);
    expect((await fixture.record('media-server')).run).toBe((outcome.data as { run: string }).run);
  });

  test('from nothing: secrets are made up, kept in the vault and nowhere else', async () => {
    await fixture.run('remove', 'rss-reader', { options: { data: 'rss-reader' } });
    for (const variable of ['ADMIN_PASSWORD', 'DB_PASSWORD'])
      await fixture.run('secrets-remove', 'rss-reader', { words: ['rss-reader', variable] });
    const outcome = await fixture.run('deploy', 'rss-reader', set('ADMIN_USERNAME=ada'));
    expect(outcome.message).toMatch(/^Deployed rss-reader: healthy, at http/);
    const { secrets } = await fixture.record('rss-reader');
    expect(Object.keys(secrets).sort()).toEqual(['ADMIN_PASSWORD', 'DB_PASSWORD']);
    const revealing = new OperatorDouble();
    await fixture.run('secrets-reveal', 'rss-reader', { words: ['rss-reader', 'DB_PASSWORD'] }, { operator: revealing });
    const [shown] = revealing.shown.flatMap((one) => (one.kind === 'secret' ? [one.value] : []));
    expect(shown).toMatch(/^\S{20,}$/);
    // It is not even in the run's own files and output.
    for (const [path, text] of Object.entries(await texts())) expect(text, path).not.toContain(shown);
    const { db = '' } = await fixture.containers('rss-reader');
    const detail = await fixture.app.context.engineOf('practice').inspect(db, AbortSignal.timeout(5_000));
    expect(Object.fromEntries(detail?.env ?? [])).toMatchObject({ POSTGRES_PASSWORD: shown });
  });

  test('a port that is taken is answered with a free one, which can be taken at once (R88)', async () => {
    const operator = new OperatorDouble();
    operator.takes = { 'plan-1': ['remedy:port-taken:web'] };
    const outcome = await fixture.run('deploy', 'rss-reader', set('WEB_PORT=8384'), { operator });
    const [first, second] = operator.reviews;
    expect(first?.findings.find(({ id }) => id === 'port-taken:web')).toMatchObject({
      level: 'blocking',
      message: 'Port 8384/tcp (web) is in use by file-sync.',
      remedy: expect.stringMatching(/^Use port \d+$/),
    });
    expect(second?.findings.filter(({ level }) => level === 'blocking')).toEqual([]);
    expect(outcome.message).toContain('Deployed rss-reader');
    const port = /^WEB_PORT=(\d+)$/m.exec(await fixture.text('rss-reader/.env'))?.[1];
    expect(port).toBe(/\d+/.exec(first?.findings.find(({ id }) => id === 'port-taken:web')?.remedy ?? '')?.[0]);
  });

  test('a site is a file of the reverse proxy, which takes it over at once', async () => {
    const outcome = await fixture.run('deploy', 'password-vault', set('site=vault.home.example.org'));
    expect(outcome.message).toContain('https://vault.home.example.org');
    expect(await fixture.text('reverse-proxy/files/sites/vault.home.example.org.caddy')).toContain('reverse_proxy localhost:8180');
    expect((await fixture.record('password-vault')).site).toBe('vault.home.example.org');
    // The answer of this machine's name server, and its speed, are not under test.
    expect(fixture.operator.reviews[0]?.findings.filter(({ id }) => !/^(?:unknown:)?dns/.test(id)).map(({ message }) => message)).toEqual(
      [],
    );
  });

  test('a port that moves is carried into who names it, in one run (R89)', async () => {
    // Uses an editor, as an operator may.
    await writeFile(join(fixture.stackFolder, 'llm-proxy/.env'), 'MODEL_RUNTIME_URL=http://host.docker.internal:11434\n');
    const operator = new OperatorDouble();
    const outcome = await fixture.run('deploy', 'model-runtime', set('API_PORT=11500'), { operator });
    expect(operator.reviews.at(-1)?.title).toBe('Change model-runtime on practice, and change llm-proxy');
    expect(outcome.message).toContain('Also changed: llm-proxy.');
    expect(await fixture.text('llm-proxy/.env')).toContain('http://host.docker.internal:11500');
    expect((await fixture.record('llm-proxy')).run).toBe((await fixture.record('model-runtime')).run);
  });
});

const noNebula = requiredProgram('nebula-cert', 'nebula');

test.skipIf(noNebula)(
  `what it cannot start without is made on the way, or nothing is started${noNebula ? ` (skipped: ${noNebula})` : ''}`,
  async () => {
    await expect(fixture.run('deploy', 'overlay-mesh', {}, { operator: nobody(true) })).rejects.toMatchObject({
      code: 'refused.preflight',
      message: expect.stringMatching(/certificates of this node are missing/),
    });
    expect(await fixture.containers('overlay-mesh')).toEqual({});
    const operator = new OperatorDouble();
    // Practice mode does not emulate that program: the rest is tested with the real one.
    operator.takes = { 'plan-1': ['remedy:before-start:certificates'], 'plan-2': ['cancel'] };
    operator.answers = { mesh: ['home mesh'], name: ['lighthouse'], ip: ['10.231.0.1/24'], groups: [''] };
    await expect(fixture.run('deploy', 'overlay-mesh', {}, { operator })).rejects.toMatchObject({ code: 'interrupted.cancelled' });
    expect(operator.reviews.map(({ findings }) => findings.filter(({ level }) => level === 'blocking').map(({ id }) => id))).toEqual([
      ['before-start:certificates'],
      [],
    ]);
    expect(await fixture.text('overlay-mesh/files/host.crt')).toMatch(/^-----BEGIN NEBULA CERTIFICATE/);
    const { mode } = await stat(join(fixture.stackFolder, 'overlay-mesh/files/host.key'));
    expect(mode & 0o777).toBe(0o600);
    expect((await stat(join(fixture.stackFolder, 'overlay-mesh'))).mode & 0o777).toBe(0o700);
  },
);

test('every procedure that the catalog names for what has to be there first is one', async () => {
  const { entries } = await wholeCatalog();
  for (const { flow } of entries.flatMap(({ beforeStart }) => beforeStart)) {
    if (!flow) continue;
    const found = flows.find((one) => one.id === flow.id);
    expect(found?.about, flow.id).toBe('host');
    for (const option of Object.keys(flow.options)) expect(Object.keys(found?.flags ?? {}), flow.id).toContain(option);
  }
});

test('one that did not become healthy is told with the end of its log', async () => {
  await fixture.run('incident', 'calm', { words: ['restart-loop'] });
  const operator = new OperatorDouble();
  const { session } = openSession({
    flow: 'deploy',
    operator,
    policy: { readOnly: false, dryRun: false, productionHosts: new Set() },
    journal: undefined as never,
    audit: undefined as never,
    signal: AbortSignal.timeout(15_000),
  });
  await expect(
    waitUntilHealthy(new EngineScope(session, fixture.app.context, 'practice'), 'password-vault', { limitMs: 1_500, changed: true }),
  ).rejects.toMatchObject({
    code: 'failed.unhealthy',
    message: expect.stringMatching(/^password-vault did not become healthy within/),
    remedy: expect.stringContaining('quarterdeck rollback password-vault'),
  });
  const evidence = operator.shown.flatMap((one) => (one.kind === 'table' ? [one] : []));
  expect(evidence[0]?.title).toBe('Last lines of password-vault-vault-1');
  expect(evidence[0]?.rows.flat().join('\n')).toMatch(/database/);
});
