import { createServer, type Server } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { isLong } from '../required.ts';
import { componentFiles, type DeployFixture, pageAt, setFixture, until, webFiles } from './deploy-fixture.ts';
import { realEngine } from './real-engines.ts';
import { describeWithRegistry } from './registry.ts';
import { findFreePort } from './stack.ts';
import { inTurn } from './turns.ts';

/** With five the same is seen. */
const count = isLong ? 20 : 3;
const many = Array.from({ length: count }, (_, index) => `many-${String(index + 1).padStart(2, '0')}`);
const idle = (image: string) => `services:
  main:
    image: ${image}
    restart: unless-stopped
    command: ["sh", "-c", "trap 'exit 0' TERM; sleep 3600 & wait"]
`;

/** A probe vouches for it, so that nobody has to see it run for a while. */
const asked = `calls: {there: {title: Is it there?, reads: true, exec: {service: main, argv: ["true"]}}}
probe: {call: there, states: [{when: ok, state: healthy, severity: ok}, {when: 'true', state: away, severity: error}]}
`;

describeWithRegistry('deploying when something goes wrong', (registry) => {
  inTurn('docker', 'beside');
  let fixture: DeployFixture;
  let port: number;
  let squatter: Server | undefined;

  beforeAll(async () => {
    fixture = await setFixture(realEngine('docker'));
    port = await findFreePort();
    await fixture.catalog(webFiles('web', { port }));
    const { code, stdout, stderr } = await fixture.operator.run(['deploy', 'web', '--yes']);
    expect(code, stdout + stderr).toBe(0);
  });
  afterEach(async () => {
    await new Promise<void>((resolve) => (squatter ? squatter.close(() => resolve()) : resolve()));
    squatter = undefined;
  });
  afterAll(() => fixture.leave());
  const yes = (...args: string[]) => fixture.operator.run([...args, '--yes']);
  const stateOf = async () => ({
    files: Object.fromEntries(await Promise.all((await fixture.files()).map(async (path) => [path, await fixture.file(path)]))),
    web: (await fixture.container('web', 'web'))?.Config.Env.toSorted(),
    page: await pageAt(port),
  });

  it('changes nothing where the registry has no such image', async () => {
    await fixture.catalog(componentFiles('nowhere', idle('quarterdeck/never-pushed:latest')));
    const before = await fixture.files();
    const { code, stderr } = await yes('deploy', 'nowhere');
    expect(code).toBe(1);
    expect(stderr).toContain('quarterdeck/never-pushed:latest');
    expect(await fixture.files()).toEqual(before);
    expect(await fixture.container('nowhere', 'main')).toBeUndefined();
    expect((await fixture.operator.run(['recover'])).stdout).toContain('No interrupted changes');
  });

  it('says who has a port that was taken after preflight, and takes the change back', async () => {
    const before = await stateOf();
    const wanted = await findFreePort();
    const hold = await fixture.holdCompose();
    const deploying = fixture.begin(['deploy', 'web', '--set', `WEB_PORT=${wanted}`, '--yes']);
    await hold.reached();
    squatter = createServer().listen(wanted, '127.0.0.1');
    await hold.release();
    const { code, stdout, stderr } = await deploying.ended;
    expect(code).toBe(1);
    expect(stdout + stderr).toContain(String(wanted));
    expect(stdout + stderr).toMatch(/already in use|already allocated/);

    expect((await fixture.operator.run(['recover'])).stderr).toContain('--undo');
    const undone = await yes('recover', '--undo');
    expect(undone.code, undone.stdout + undone.stderr).toBe(0);
    expect(await stateOf()).toEqual(before);
  });

  it('shows the last lines of what never becomes healthy', async () => {
    await fixture.catalog(
      componentFiles(
        'broken',
        idle('busybox:latest').replace(/command: .*/, 'command: ["sh", "-c", "echo the disk of the moon is missing; exit 3"]'),
      ),
    );
    const { code, stdout, stderr } = await yes('deploy', 'broken');
    expect(code).toBe(1);
    expect(stderr).toContain('broken did not become healthy');
    expect(stdout + stderr).toContain('the disk of the moon is missing');
    expect((await yes('rollback', 'broken')).code).toBe(0);
    expect(await fixture.container('broken', 'main')).toBeUndefined();
  });

  it('is not deployed while its own health check fails, though its probe sees nothing wrong', async () => {
    const compose = `${idle('busybox:latest')}    healthcheck: {test: ["CMD", "false"], interval: 2s, timeout: 1s, retries: 2}\n`;
    await fixture.catalog(componentFiles('ailing', compose, asked));
    const { code, stdout, stderr } = await yes('deploy', 'ailing');
    expect(code, stdout + stderr).toBe(1);
    expect(stderr).toContain('ailing did not become healthy');
    expect(stdout).not.toContain('Deployed ');
    expect((await fixture.operator.run(['audit'])).stdout).not.toContain('ailing is healthy');
    expect((await yes('rollback', 'ailing')).code).toBe(0);
  });

  it('tells a second operator who is at work, and names what a killed console left, until it is finished', async () => {
    const hold = await fixture.holdCompose();
    const console = fixture.begin(['deploy', 'web', '--set', 'GREETING=good evening', '--yes']);
    await hold.reached();
    const second = await fixture.another();
    const refused = await second.run(['deploy', 'web', '--set', 'GREETING=mine', '--yes']);
    expect(refused.code).toBe(4);
    expect(refused.stderr).toMatch(/\S+@\S+ has been changing this stack/);

    console.kill();
    await console.ended;
    const working = await fixture.operator.run(['recover']);
    expect(working.stdout).toMatch(/\S+@\S+ has been changing this stack/);
    // The script on the host needs no console.
    await hold.release();
    await until(async () => (await pageAt(port)) === 'good evening', 'the script did not go on by itself');
  });

  it('finishes what the host itself broke off', async () => {
    const hold = await fixture.holdCompose();
    const console = fixture.begin(['deploy', 'web', '--set', 'GREETING=good night', '--yes']);
    await hold.reached();
    console.kill();
    await console.ended;
    await fixture.killScript();
    await hold.release();

    const named = await fixture.operator.run(['recover']);
    expect(named.code).toBe(4);
    expect(named.stdout + named.stderr).toContain('web');
    const finished = await yes('recover', '--finish');
    expect(finished.code, finished.stdout + finished.stderr).toBe(0);
    expect(await pageAt(port)).toBe('good night');
  });

  describe('newer images', () => {
    const release = async (service: string) =>
      (await fixture.container(service, 'main'))?.Config.Env.find((line) => line.startsWith('RELEASE='))?.slice(8);

    it('updates to them, and goes back to the exact image where that is safe only', async () => {
      for (const [id, rollback] of [
        ['careful', 'unsafe'],
        ['easy', 'safe'],
      ] as const) {
        const name = `quarterdeck/${id}:latest`;
        await registry.push(name, { from: 'busybox:latest', env: { RELEASE: 'first' } });
        await fixture.catalog(componentFiles(id, idle(name), `${asked}upgrade: {rollback: ${rollback}}\n`));
        expect((await yes('deploy', id)).code).toBe(0);
        expect((await yes('update', id)).stdout).toContain('up to date');
        await registry.push(name, { from: 'busybox:latest', env: { RELEASE: 'second' } });
        const updated = await yes('update', id);
        expect(updated.code, updated.stdout + updated.stderr).toBe(0);
        expect(await release(id)).toBe('second');
      }
      const refused = await yes('rollback', 'careful');
      expect(refused.code).toBe(4);
      expect(refused.stderr).toContain('not safe');
      expect(await release('careful')).toBe('second');

      const back = await yes('rollback', 'easy');
      expect(back.code, back.stdout + back.stderr).toBe(0);
      expect(await release('easy')).toBe('first');
      expect(await fixture.file('easy/compose.yaml')).toMatch(/image: "?quarterdeck\/easy@sha256:[0-9a-f]{64}/);
    });

    it(`updates ${count} components in one go, and says of the one with a local image that it cannot tell`, {
      timeout: 300_000,
    }, async () => {
      const name = 'quarterdeck/many:latest';
      await registry.push(name, { from: 'busybox:latest', env: { RELEASE: 'first' } });
      for (const id of many) {
        await fixture.catalog(componentFiles(id, idle(name), asked));
        const deployed = await yes('deploy', id);
        expect(deployed.code, deployed.stdout + deployed.stderr).toBe(0);
      }
      await registry.push(name, { from: 'busybox:latest', env: { RELEASE: 'second' } });
      const updated = await yes('update', 'all');
      expect(updated.code, updated.stdout + updated.stderr).toBe(5);
      expect((updated.stdout + updated.stderr).replaceAll(/\s+/g, ' ')).toContain(
        `Cannot determine whether web is up to date: ${fixture.image} could not be checked (the image has no registry digest`,
      );
      for (const id of many) expect(await release(id), id).toBe('second');
    });
  });
});
