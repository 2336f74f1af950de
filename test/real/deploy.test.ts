import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ask } from './ask.ts';
import { type DeployFixture, pageAt, setFixture, until, webFiles } from './deploy-fixture.ts';
import { describeReal, itAgain, type RealEngineKind } from './real-engines.ts';
import { runOrThrow } from './scripts.ts';
import { type Composer, findFreePort } from './stack.ts';

/** Each engine with each of its compose programs, and one for each engine for a whole life. */
const ways: readonly { kind: RealEngineKind; composer: Composer; whole?: true }[] = [
  { kind: 'docker', composer: 'compose-2', whole: true },
  { kind: 'docker', composer: 'compose-1' },
  { kind: 'podman', composer: 'compose-2' },
  { kind: 'podman', composer: 'podman-compose', whole: true },
];

for (const { kind, composer, whole } of ways) {
  const inWholeLife = whole ? it : itAgain;
  // Alone: by its image, another test's component would be one of this operator's catalog too, and its name mean several.
  describeReal(kind, `the life of a component with ${composer}`, (engine) => {
    const id = `life-${composer}`;
    let fixture: DeployFixture;
    let ports: [first: number, second: number];
    let token: string | undefined;

    beforeAll(async () => {
      fixture = await setFixture(engine, composer);
      ports = [await findFreePort(), await findFreePort()];
      await fixture.catalog(webFiles(id, { port: ports[0] }));
    });
    afterAll(() => fixture.leave());
    const hasVolume = async () => (await ask(engine, `/volumes/${id}_data`)).status === 200;

    it('is deployed in one go, with a secret that is nowhere in its folder', async () => {
      const dryRunResult = await fixture.operator.run(['deploy', id, '--dry-run']);
      expect(dryRunResult.stdout).toContain('+ web is created');
      expect(await fixture.container(id, 'web')).toBeUndefined();

      const { code, stdout, stderr } = await fixture.operator.run(['deploy', id, '--yes']);
      expect(stderr).toBe('');
      expect(code, stdout).toBe(0);
      expect(await pageAt(ports[0])).toBe('good morning');
      const { Env = [] } = (await fixture.container(id, 'web'))?.Config ?? {};
      token = Env.find((line) => line.startsWith('TOKEN='));
      expect(token).toMatch(/^TOKEN=[A-Za-z0-9]{32}$/);
      for (const file of await fixture.files()) expect(await fixture.file(file), file).not.toContain(token?.slice(6));
    });

    it('changes nothing the second time', async () => {
      const before = await fixture.container(id, 'web');
      expect((await fixture.operator.run(['deploy', id, '--yes'])).stdout).toContain('is up to date');
      expect((await fixture.container(id, 'web'))?.Id).toBe(before?.Id);
    });

    inWholeLife('moves to another port and another greeting, keeps its secret and its data, and goes back (R88)', async () => {
      const values = ['--set', `WEB_PORT=${ports[1]}`, '--set', 'GREETING=it costs $5 # "really"'];
      const changed = await fixture.operator.run(['deploy', id, ...values, '--yes']);
      expect(changed.code, changed.stdout + changed.stderr).toBe(0);
      expect(await pageAt(ports[1])).toBe('it costs $5 # "really"');
      expect(await pageAt(ports[0])).toBe('');
      expect((await fixture.container(id, 'web'))?.Config.Env).toContain(token);

      const back = await fixture.operator.run(['rollback', id, '--yes']);
      expect(back.code, back.stdout + back.stderr).toBe(0);
      expect(await pageAt(ports[0])).toBe('good morning');
      expect((await fixture.container(id, 'web'))?.Config.Env).toContain(token);
    });

    it('is removed with its data kept, and comes back to them with the same secret', async () => {
      await writeFile(join(fixture.stack, id, 'mine.txt'), 'not yours');
      const removed = await fixture.operator.run(['remove', id, '--yes']);
      expect(removed.code, removed.stdout + removed.stderr).toBe(0);
      expect(await fixture.container(id, 'web')).toBeUndefined();
      expect(await fixture.files()).toEqual([`${id}/mine.txt`]);
      expect(await hasVolume()).toBe(true);

      const again = await fixture.operator.run(['deploy', id, '--yes']);
      expect(again.code, again.stdout + again.stderr).toBe(0);
      expect((await fixture.container(id, 'web'))?.Config.Env).toContain(token);
    });

    inWholeLife('loses its data only where its name is said once more', async () => {
      const wrong = await fixture.operator.run(['remove', id, '--data', 'another', '--yes']);
      expect(wrong.code).not.toBe(0);
      expect(await fixture.container(id, 'web')).toBeDefined();

      const removed = await fixture.operator.run(['remove', id, '--data', id, '--yes']);
      expect(removed.code, removed.stdout + removed.stderr).toBe(0);
      expect(await hasVolume()).toBe(false);
      expect(await fixture.files()).toEqual([`${id}/mine.txt`]);
    });

    inWholeLife('takes over what somebody made by hand, with its secret and its data', async () => {
      const theirs = `theirs-${composer}`;
      const port = await findFreePort();
      const files = webFiles(theirs, { port, image: fixture.image });
      await fixture.catalog(files);
      const folder = join(fixture.stack, theirs);
      await mkdir(folder, { recursive: true });
      await writeFile(join(folder, 'compose.yaml'), files[`${theirs}/compose.yaml`] ?? '');
      await writeFile(join(folder, '.env'), `TOKEN=chosen-long-ago-by-hand\nGREETING=hello\nWEB_PORT=${port}\nWEB_BIND=127.0.0.1\n`);
      const env = { ...fixture.operator.env, ...(kind === 'podman' && { CONTAINER_HOST: engine.url }) };
      const program = composer === 'podman-compose' ? ['podman-compose'] : ['docker-compose'];
      await runOrThrow([...program, '-p', theirs, 'up', '-d'], { cwd: folder, env, bare: true });
      await until(async () => (await pageAt(port)) === 'hello', 'what was made by hand never answered');

      const { code, stdout, stderr } = await fixture.operator.run(['deploy', theirs, '--set', 'GREETING=taken over', '--yes']);
      expect(code, stdout + stderr).toBe(0);
      expect(await pageAt(port)).toBe('taken over');
      expect((await fixture.container(theirs, 'web'))?.Config.Env).toContain('TOKEN=chosen-long-ago-by-hand');
      expect(await fixture.file(`${theirs}/.env`)).not.toContain('chosen-long-ago');
      expect(`${stdout}${stderr}${await fixture.operator.ownFiles()}`).not.toContain('chosen-long-ago');
    });
  });
}
