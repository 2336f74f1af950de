import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type DeployFixture, setFixture } from './deploy-fixture.ts';
import { statusUntil } from './operator.ts';
import { describeAgain, describeReal, type RealEngineKind } from './real-engines.ts';
import { type Composer, findFreePort } from './stack.ts';
import { asInTheCatalog, makeStandIn, recipeManager } from './stand-ins.ts';

const ways: readonly { kind: RealEngineKind; composer: Composer }[] = [
  { kind: 'docker', composer: 'compose-1' },
  { kind: 'podman', composer: 'podman-compose' },
];
const id = 'recipe-manager';

// The product's own image is in no registry that a test can reach: what runs is a stand-in that answers as its source says.
for (const { kind, composer } of ways) {
  (kind === 'podman' ? describeAgain : describeReal)(kind, `the recipe manager with ${composer}`, (engine) => {
    let fixture: DeployFixture;
    let backups: string;

    beforeAll(async () => {
      await makeStandIn(engine, recipeManager);
      fixture = await setFixture(engine, composer);
      backups = await mkdtemp(join(tmpdir(), 'qd-recipes-'));
      await fixture.catalog(await asInTheCatalog('productivity', id));
    });
    afterAll(async () => {
      await fixture?.leave();
      await rm(backups, { recursive: true, force: true });
    });

    /** Podman does one thing after the other: on a busy machine it may not answer in time at all, before anything was begun. */
    const run = async (...args: string[]): Promise<string> => {
      for (let left = 4; ; left--) {
        const { code, stdout, stderr } = await fixture.operator.run(args);
        if (code === 3 && left > 0) continue;
        expect(code, stdout + stderr).toBe(0);
        return stdout;
      }
    };
    const yes = (...args: string[]) => run(...args, '--yes');
    const inside = async (service: string, ...argv: string[]) => (await run('exec', id, '--service', service, '--', ...argv)).trim();
    const sql = (statement: string) => inside('db', 'psql', '-U', 'mealie', '-d', 'mealie', '-Atc', statement);
    const password = async () =>
      (await fixture.container(id, 'mealie'))?.Config.Env.find((line) => line.startsWith('POSTGRES_PASSWORD='))?.split('=')[1] ?? '';

    it('is deployed, and says that its account still has the password that everybody knows, until that is changed (R47)', async () => {
      await yes('deploy', id, '--set', `WEB_PORT=${await findFreePort()}`);
      const { state } = await statusUntil(fixture.operator, id, (component) => component.state.label !== 'starting');
      expect(state.label).toBe('default account');
      expect(await run('status', id)).toContain('Log in as changeme@example.com');
      await sql("update users set email = 'ada@example.org'");
      await statusUntil(fixture.operator, id, (component) => component.state.label === 'healthy');
      expect(await run('status', id)).not.toContain('Log in as changeme@example.com');
    });

    it('its recipes and pictures are backed up together, and come back', async () => {
      await sql("insert into recipes values ('soup')");
      await inside('mealie', 'sh', '-c', 'echo picture >/app/data/soup.webp');
      await yes('backup', id, '--to', backups);
      await sql('delete from recipes');
      await inside('mealie', 'rm', '/app/data/soup.webp');
      await yes('restore', id, '--to', backups);
      expect(await sql('select name from recipes')).toBe('soup');
      expect(await inside('mealie', 'cat', '/app/data/soup.webp')).toBe('picture');
      await statusUntil(fixture.operator, id, (component) => component.state.label === 'healthy');
    });

    // On Podman another component with the same database shows it: `rotate.test.ts`.
    it.runIf(kind === 'docker')('gets a new database password, which is proved (R26)', async () => {
      const old = await password();
      expect(await yes('secrets', 'rotate', id, 'DB_PASSWORD')).toContain('Verified: the new value works, and the old one does not.');
      expect(await password()).not.toBe(old);
      await statusUntil(fixture.operator, id, (component) => component.state.label === 'healthy');
    });
  });
}
