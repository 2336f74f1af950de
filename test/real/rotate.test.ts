import { createHash } from 'node:crypto';
import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ask } from './ask.ts';
import { type DeployFixture, setFixture } from './deploy-fixture.ts';
import { describeAgain, describeReal, type RealEngineKind } from './real-engines.ts';
import { type Composer, findFreePort } from './stack.ts';
import { asInTheCatalog, llmProxy, makeStandIn, modelRuntime } from './stand-ins.ts';

const ways: readonly { kind: RealEngineKind; composer: Composer; whole: boolean }[] = [
  { kind: 'docker', composer: 'compose-2', whole: true },
  { kind: 'podman', composer: 'podman-compose', whole: false },
];
const ids = ['model-runtime', 'llm-proxy'] as const;

for (const { kind, composer, whole } of ways) {
  (whole ? describeReal : describeAgain)(kind, `the LLM proxy and the model runtime with ${composer}`, (engine) => {
    let fixture: DeployFixture;
    let port: number;

    beforeAll(async () => {
      await Promise.all([makeStandIn(engine, modelRuntime), makeStandIn(engine, llmProxy)]);
      fixture = await setFixture(engine, composer);
      for (const id of ids) await fixture.catalog(await asInTheCatalog('ai', id));
      port = await findFreePort();
    });
    afterAll(async () => {
      await fixture?.leave();
      await ask(engine, '/networks/quarterdeck-model-runtime', { method: 'DELETE' });
    });

    const run = (...args: string[]) => fixture.operator.run(args);
    const yes = async (...args: string[]) => {
      const outcome = await run(...args, '--yes');
      expect(outcome.code, outcome.stdout + outcome.stderr).toBe(0);
      return outcome;
    };
    const container = async (service: string) => (await fixture.container('llm-proxy', service)) ?? expect.fail(`no ${service}`);
    const environment = async (service: string, name: string) =>
      (await container(service)).Config.Env.find((line) => line.startsWith(`${name}=`))?.slice(name.length + 1) ?? '';
    const key = () => environment('litellm', 'LITELLM_MASTER_KEY');
    const asked = async (path: string, bearer: string, body?: string) =>
      await ask(`http://127.0.0.1:${port}`, path, {
        headers: { Authorization: `Bearer ${bearer}`, ...(body !== undefined && { 'Content-Length': String(body.length) }) },
        ...(body !== undefined && { method: 'POST', body }),
      });
    /** Does the database let in who has this password, by its own address? */
    const letsIn = async (password: string) => {
      const login = `PGPASSWORD=${password} psql -h "$(hostname)" -U litellm -d litellm --no-password -tAc 'select 1'`;
      const { code, stdout, stderr } = await run('exec', 'llm-proxy', '--service', 'db', '--', 'sh', '-c', login);
      if (code !== 0) expect(stdout + stderr).toContain('password authentication failed');
      return code === 0;
    };

    /** Kills the rotation of the database's password, and its script, when the database has been told and no container has changed. */
    const breakOff = async () => {
      const hold = await fixture.holdCompose();
      const rotating = fixture.begin(['secrets', 'rotate', 'llm-proxy', 'DB_PASSWORD', '--yes']);
      await hold.reached();
      rotating.kill();
      await fixture.killScript();
      await hold.release();
      await rotating.ended;
    };

    it('are deployed, and a chat reaches the runtime by its name and the database with its password (R14)', async () => {
      await yes('deploy', 'model-runtime', '--set', `API_PORT=${await findFreePort()}`, '--set', 'DRI_DEVICE=/dev/null');
      await yes('deploy', 'llm-proxy', '--set', `API_PORT=${port}`);
      expect(await asked('/health/readiness', '')).toMatchObject({ status: 200, body: expect.stringContaining('connected') });
      const answer = await asked('/v1/chat/completions', await key(), '{"model":"llama3.2"}');
      expect(answer).toMatchObject({ status: 200, body: expect.stringContaining('llama3.2:latest') });
      expect((await asked('/v1/chat/completions', 'sk-wrong', '{}')).status).toBe(401);
    });

    it('get a new database password: the database is told, both services are made anew, the old one is refused (R26)', async () => {
      const old = await environment('db', 'POSTGRES_PASSWORD');
      const { stdout } = await yes('secrets', 'rotate', 'llm-proxy', 'DB_PASSWORD');
      expect(stdout).toContain('Verified: the new value works, and the old one does not.');
      const now = await environment('db', 'POSTGRES_PASSWORD');
      expect(now).not.toBe(old);
      expect(await environment('litellm', 'DATABASE_URL')).toContain(`:${now}@`);
      expect([await letsIn(now), await letsIn(old)]).toEqual([true, false]);
      expect((await asked('/health/readiness', '')).status).toBe(200);
    });

    it('a key that it does not start with is taken back: the old one is in force, and nothing is left to settle', {
      timeout: 400_000,
    }, async () => {
      const old = await key();
      const config = join(fixture.stack, 'llm-proxy', 'files', 'config.yaml');
      await appendFile(config, `# only-key: ${createHash('sha256').update(old).digest('hex')}\n`);
      const { code, stderr } = await fixture.begin(['secrets', 'rotate', 'llm-proxy', 'LITELLM_MASTER_KEY', '--yes']).ended;
      expect(code).toBe(1);
      const words = stderr.replaceAll(/\s+/g, ' ');
      expect(words).toContain('The new value was not applied');
      expect(words).toContain('The old value is in effect again.');
      expect(words).not.toContain('rollback');
      expect(await key()).toBe(old);
      expect((await asked('/v1/models', old)).status).toBe(200);
      expect((await run('recover')).stdout).toContain('No interrupted changes');
      expect((await run('deploy', 'llm-proxy', '--dry-run')).stdout).toContain('is up to date');
    });

    it('a rotation that was killed half way is finished: the new password is in force everywhere, and tried (R26)', async () => {
      const old = await environment('db', 'POSTGRES_PASSWORD');
      await breakOff();
      expect(await environment('db', 'POSTGRES_PASSWORD')).toBe(old);
      await yes('recover', '--finish');
      const now = await environment('db', 'POSTGRES_PASSWORD');
      expect(now).not.toBe(old);
      expect(await environment('litellm', 'DATABASE_URL')).toContain(`:${now}@`);
      expect([await letsIn(now), await letsIn(old)]).toEqual([true, false]);
      expect((await asked('/health/readiness', '')).status).toBe(200);
      expect((await run('recover')).stdout).toContain('No interrupted changes');
      expect((await run('deploy', 'llm-proxy', '--dry-run')).stdout).toContain('is up to date');
    });

    if (!whole) return;

    it('go back to the old password with a rollback, in the database too', async () => {
      const old = await environment('db', 'POSTGRES_PASSWORD');
      await yes('rollback', 'llm-proxy');
      const now = await environment('db', 'POSTGRES_PASSWORD');
      expect([await letsIn(now), await letsIn(old)]).toEqual([true, false]);
      expect((await asked('/health/readiness', '')).status).toBe(200);
      expect((await run('deploy', 'llm-proxy', '--dry-run')).stdout).toContain('is up to date');
      const { Id } = await container('litellm');
      // What was put back is what counts from now on.
      await yes('deploy', 'llm-proxy', '--set', 'NUM_WORKERS=2');
      expect((await container('litellm')).Id).not.toBe(Id);
      expect(await environment('db', 'POSTGRES_PASSWORD')).toBe(now);
      expect((await asked('/health/readiness', '')).status).toBe(200);
    });

    it('a rotation that was killed half way says what each choice means, and is taken back in the database too', async () => {
      const old = await environment('db', 'POSTGRES_PASSWORD');
      await breakOff();
      expect(await letsIn(old)).toBe(false);

      const words = (await run('recover')).stderr.replaceAll(/\s+/g, ' ');
      expect(words).toContain('sets a new value for llm-proxy/DB_PASSWORD, which is not verified yet');
      expect(words).toContain('quarterdeck recover --undo');
      await yes('recover', '--undo');
      expect(await environment('db', 'POSTGRES_PASSWORD')).toBe(old);
      expect(await letsIn(old)).toBe(true);
      expect((await asked('/health/readiness', '')).status).toBe(200);
    });
  });
}
