import { cp, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { ask } from './ask.ts';
import { type DeployFixture, pageAt, setFixture, until, webFiles } from './deploy-fixture.ts';
import { describeReal, type RealEngineKind } from './real-engines.ts';
import { runOrThrow, runProgram, type ScriptOutcome } from './scripts.ts';
import { type Composer, findFreePort } from './stack.ts';

const ways: readonly { kind: RealEngineKind; composer: Composer }[] = [
  { kind: 'podman-rootless', composer: 'podman-compose' },
  { kind: 'docker-rootless', composer: 'compose-2' },
];
const checkout = fileURLToPath(new URL('../..', import.meta.url));

for (const { kind, composer } of ways) {
  describeReal(kind, `an operator who is not root, with ${composer}`, (engine) => {
    const id = `own-${composer}`;
    let fixture: DeployFixture;
    let product: string;
    let owner: { uid: number; gid: number };
    let port: number;

    beforeAll(async () => {
      owner = await stat(engine.socket);
      fixture = await setFixture(engine, composer);
      port = await findFreePort();
      await fixture.catalog(webFiles(id, { port }));
      product = await install();
      if (composer === 'compose-2') await bringCompose(fixture, product);
      for (const folder of [product, dirname(dirname(fixture.stack)), dirname(fixture.operator.home)])
        await runOrThrow(['chown', '-R', `${owner.uid}:${owner.gid}`, folder]);
    });
    afterAll(async () => {
      await fixture?.leave();
      if (product) await rm(product, { recursive: true, force: true });
    });

    const as = async (...args: string[]): Promise<ScriptOutcome> => {
      const become = ['setpriv', `--reuid=${owner.uid}`, `--regid=${owner.gid}`, '--clear-groups'];
      const env = { ...fixture.operator.env, XDG_RUNTIME_DIR: `/run/user/${owner.uid}` };
      return await runProgram([...become, join(product, 'bin', 'quarterdeck'), ...args], { env, bare: true, cwd: '/' });
    };
    const yes = async (...args: string[]) => {
      const outcome = await as(...args, '--yes');
      expect(outcome.code, outcome.stdout + outcome.stderr).toBe(0);
      return outcome.stdout;
    };
    const token = async () => (await fixture.container(id, 'web'))?.Config.Env.find((line) => line.startsWith('TOKEN='));

    it('deploys with a secret, changes a field, goes back, and removes all of it', async () => {
      // Of an earlier try: Podman may fail while it lists the network interfaces of a machine where other tests remove some.
      await as('recover', '--undo', '--yes');
      await yes('deploy', id);
      // What a rootless engine publishes comes up a moment later than the container.
      await until(async () => (await pageAt(port)) === 'good morning', 'the page never came');
      const first = await token();
      expect(first).toMatch(/^TOKEN=[A-Za-z0-9]{32}$/);
      for (const file of await fixture.files()) expect(await fixture.file(file), file).not.toContain(first?.slice(6));
      expect((await stat(join(fixture.stack, id, 'compose.yaml'))).uid).toBe(owner.uid);

      await yes('deploy', id, '--set', 'GREETING=good evening');
      await until(async () => (await pageAt(port)) === 'good evening', 'the change is not in force');
      expect(await token()).toBe(first);
      await yes('rollback', id);
      await until(async () => (await pageAt(port)) === 'good morning', 'it was not put back');

      await yes('remove', id, '--data', id);
      expect(await fixture.container(id, 'web')).toBeUndefined();
      expect(await fixture.files()).toEqual([]);
      expect((await ask(engine, `/volumes/${id}_data`)).status).toBe(404);
    });
  });
}

/** The same of the compose program, which lies in a cache of root's. */
async function bringCompose({ operator }: DeployFixture, folder: string): Promise<void> {
  const [bin = ''] = operator.env['PATH']?.split(':') ?? [];
  await cp(join(inject('composeFolder'), 'docker-compose'), join(folder, 'docker-compose'));
  await writeFile(join(bin, 'docker-compose'), `#!/bin/sh\nexec '${join(folder, 'docker-compose')}' "$@"\n`, { mode: 0o755 });
}

/** What a user who may not look into this checkout can start: the built program, the node that it brings, and the one module that is not bundled. */
async function install(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'qd-product-'));
  const modules = (await readdir(join(checkout, 'node_modules'))).filter((name) => name.startsWith('node-linux-') || name === 'keytar');
  for (const path of ['bin', 'dist', 'catalog', 'package.json', ...modules.map((name) => `node_modules/${name}`)])
    await cp(join(checkout, path), join(folder, path), { recursive: true, dereference: true });
  return folder;
}
