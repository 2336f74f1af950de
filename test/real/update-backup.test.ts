import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { componentFiles, type DeployFixture, setFixture } from './deploy-fixture.ts';
import { realEngine } from './real-engines.ts';
import { describeWithRegistry } from './registry.ts';
import { runOrThrow } from './scripts.ts';
import { inTurn } from './turns.ts';

const id = 'careful-notes';
/** An engine keeps the images of an earlier run. */
const repository = `quarterdeck/${id}-${Date.now()}`;
const image = `${repository}:latest`;

/** Keeps a note of every release that has worked on its data. The release named `broken` changes them, and ends. */
const compose = `services:
  main:
    image: ${image}
    restart: unless-stopped
    command:
      - sh
      - -c
      - 'echo "$$RELEASE" >>/data/releases; [ "$$RELEASE" != broken ] || { echo the new format is unreadable; exit 3; }; trap "exit 0" TERM; sleep 3600 & wait'
    environment:
      GREETING: "\${GREETING:-good morning}"
      TOKEN: "\${TOKEN:?kept by Quarterdeck, use quarterdeck compose}"
    volumes:
      - data:/data
volumes:
  data: {}
`;
const more = `fields:
  - {name: greeting, type: string, target: environment, env: GREETING, default: good morning}
  - {name: token, type: secret-string, secret: true, required: true, target: environment, env: TOKEN, generator: "alphanumeric:32"}
volumes:
  /data: {description: what it keeps}
backup: [{id: data, volume: data, method: stop, why: it is one file}]
upgrade: {rollback: unsafe}
calls: {there: {title: Is it there?, reads: true, exec: {service: main, argv: ["true"]}}}
probe: {call: there, states: [{when: ok, state: healthy, severity: ok}, {when: 'true', state: away, severity: error}]}
`;

describeWithRegistry('an update takes a backup first', (registry) => {
  // Images of other tests may come and go meanwhile: these have a name of their own.
  inTurn('docker', 'beside');
  let fixture: DeployFixture;
  let backups: string;

  beforeAll(async () => {
    fixture = await setFixture(realEngine('docker'));
    backups = join(dirname(fixture.stack), 'backups');
    await fixture.catalog(componentFiles(id, compose, more));
    await push('first');
    const { code, stdout, stderr } = await yes('deploy', id);
    expect(code, stdout + stderr).toBe(0);
  });
  afterAll(() => fixture.leave());
  const push = (release: string) => registry.push(image, { from: 'busybox:latest', env: { RELEASE: release } });
  const yes = (...args: string[]) => fixture.operator.run([...args, '--yes', '--confirm', id]);
  const env = async (name: string) =>
    (await fixture.container(id, 'main'))?.Config.Env.find((line) => line.startsWith(`${name}=`))?.slice(name.length + 1);
  const releases = async () => {
    const { Mounts = [] } = ((await fixture.container(id, 'main')) ?? {}) as { Mounts?: { Source: string }[] };
    return (await runOrThrow(['cat', `${Mounts[0]?.Source}/releases`])).trim().split('\n');
  };
  /** As it was before the lines were cut. */
  const plain = (text: string) => text.replaceAll(/\s+/g, ' ');
  const taken = () =>
    readdir(join(backups, id)).then(
      (names) => names.filter((name) => /^\d{8}T/.test(name)),
      () => [],
    );

  it('says so where nobody has said where backups go, and updates all the same', async () => {
    await push('second');
    const { code, stdout, stderr } = await yes('update', id);
    expect(code, stdout + stderr).toBe(0);
    expect(stdout + stderr).toContain('no backup destination is configured');
    expect(stdout + stderr).toContain('--to /srv/backups');
    expect(await releases()).toEqual(['first', 'second']);
  });

  it('leaves it out when told to', async () => {
    await mkdir(join(fixture.operator.home, 'config'), { recursive: true });
    const settings = join(fixture.operator.home, 'config', 'config.yaml');
    await writeFile(settings, `catalogFolder: ${join(dirname(dirname(fixture.stack)), 'catalog')}\nbackups: {local: ${backups}}\n`);
    await push('third');
    const { code, stdout, stderr } = await yes('update', id, '--no-backup');
    expect(code, stdout + stderr).toBe(0);
    expect(await taken()).toEqual([]);
    expect(await releases()).toEqual(['first', 'second', 'third']);
  });

  it('goes back to it after an update that failed: data, image, files and secrets', { timeout: 240_000 }, async () => {
    const before = {
      image: (await fixture.container(id, 'main'))?.Image,
      token: await env('TOKEN'),
      text: await fixture.file(`${id}/.env`),
    };
    await push('broken');
    const failed = await yes('update', id);
    expect(failed.code).toBe(1);
    const [stamp = ''] = await taken();
    expect(stamp).not.toBe('');
    expect(failed.stdout).toContain('the new format is unreadable');
    expect(plain(failed.stderr)).toContain(`Backup of ${id} before the update: ${stamp}`);
    expect(plain(failed.stderr)).toContain(`quarterdeck restore ${id} --snapshot ${stamp}`);
    expect(await releases()).toContain('broken');
    const refused = await yes('rollback', id);
    expect(refused.code).toBe(4);
    expect(plain(refused.stderr)).toContain(`quarterdeck restore ${id} --snapshot ${stamp}`);

    const back = await yes('restore', id, '--snapshot', stamp);
    expect(back.code, back.stdout + back.stderr).toBe(0);
    expect(back.stdout).toContain('data, images, files and secrets');
    expect(await releases()).toEqual(['first', 'second', 'third', 'third']);
    expect((await fixture.container(id, 'main'))?.Image).toBe(before.image);
    expect(await fixture.file(`${id}/.env`)).toBe(before.text);
    expect(await env('TOKEN')).toBe(before.token);
    expect(await fixture.file(`${id}/compose.yaml`)).toContain(`${repository}@sha256:`);
    expect((await fixture.container(id, 'main'))?.State.Running).toBe(true);
  });

  it('updates again afterwards, from the exact image back to the name', { timeout: 240_000 }, async () => {
    await push('fourth');
    const { code, stdout, stderr } = await yes('update', id);
    expect(code, stdout + stderr).toBe(0);
    expect((await releases()).at(-1)).toBe('fourth');
    expect(await taken()).toHaveLength(2);
    expect(await fixture.file(`${id}/compose.yaml`)).toContain(`image: ${image}`);
  });
});
