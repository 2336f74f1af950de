import { randomInt } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ask } from './ask.ts';
import { type DeployStage, setStage, until, webFiles } from './deploy-stage.ts';
import { describeReal } from './real-engines.ts';
import { findFreePort } from './stack.ts';

/** One of its own for each run. */
const id = `kept-${randomInt(1_000_000)}`;
/** Each way gets this many kills; more of them with QUARTERDECK_TEST_MOMENTS. */
const moments = Math.max(1, Math.round(Number(process.env.QUARTERDECK_TEST_MOMENTS ?? 20) / 4));

describeReal('docker', 'a process that is killed while it has stopped something for its own purposes', (engine) => {
  let stage: DeployStage;
  let folder: string;

  beforeAll(async () => {
    stage = await setStage(engine);
    folder = await mkdtemp(join(tmpdir(), 'qd-killed-'));
    const port = await findFreePort();
    await stage.catalog(webFiles(id, { port, more: 'backup: [{id: data, volume: data, way: stop}]\n' }));
    const { code, stdout, stderr } = await stage.operator.run(['deploy', id, '--yes']);
    expect(code, stdout + stderr).toBe(0);
    await backUp();
  });
  afterAll(async () => {
    await stage?.leave();
    await rm(folder, { recursive: true, force: true });
  });

  const to = () => ['--to', join(folder, 'backups'), '--yes'];
  const backUp = async () => {
    const { code, stdout, stderr } = await stage.operator.run(['backup', id, ...to()]);
    expect(code, stdout + stderr).toBe(0);
  };
  const isRunning = async () => (await stage.container(id, 'web'))?.State.Running ?? false;
  const helpers = async () => {
    const filters = encodeURIComponent(JSON.stringify({ label: ['quarterdeck.helper'], volume: [`${id}_data`] }));
    return JSON.parse((await ask(engine, `/containers/json?all=1&filters=${filters}`)).body) as unknown[];
  };
  /** What the volume holds, as its container sees it. */
  const content = async () => (await stage.operator.run(['exec', id, '--', 'cat', '/data/first'])).stdout.trim();

  async function duration(args: readonly string[]): Promise<number> {
    const began = performance.now();
    const { code, stdout, stderr } = await stage.begin(args).ended;
    expect(code, stdout + stderr).toBe(0);
    return performance.now() - began;
  }

  describe.each([
    ['backup', (): string[] => ['backup', id, ...to()]],
    ['restore', (): string[] => ['restore', id, '--yes', '--to', join(folder, 'backups')]],
  ])('%s', (flow, args) => {
    it(`at ${moments} random moments: status says it, recover or up repairs it, and the data are whole`, { timeout: 300_000 }, async () => {
      const first = await content();
      expect(first).not.toBe('');
      const fullMs = await duration(args());
      for (let moment = 0; moment < moments; moment++) {
        // Most of it is over before the first container stops.
        const waitMs = randomInt(Math.round(fullMs * 0.3), Math.round(fullMs));
        const said = `${flow} killed after ${waitMs} ms of ${Math.round(fullMs)}`;
        await stage.killAfter(args(), waitMs);
        if (!(await isRunning())) {
          const { stdout, stderr } = await stage.operator.run(['status']);
          expect((stdout + stderr).replaceAll(/\s+/g, ' '), said).toMatch(
            new RegExp(`The (?:change to ${id} broke off\\. The )?${flow}.* (?:was interrupted|is complete, but)`),
          );
          expect(stdout, said).toContain('quarterdeck recover');
          expect(stdout, said).not.toContain('stopped by an operator');
        }
        const repair = flow === 'backup' && moment % 2 === 1 ? ['up', '--yes'] : ['recover', '--undo', '--yes'];
        const repaired = await stage.operator.run(repair);
        expect(repaired.code, said + repaired.stdout + repaired.stderr).toBe(0);
        expect(await isRunning(), said + repaired.stdout).toBe(true);
        expect(await content(), said).toBe(first);
        expect((await stage.operator.run(['recover'])).stdout, said).toContain('Nothing broke off');
      }
      // The one that is always in the middle: the process ends as soon as the container is down.
      const begun = stage.begin(args());
      const filters = encodeURIComponent(JSON.stringify({ label: [`com.docker.compose.project=${id}`] }));
      for (let running = true; running; ) {
        running = (JSON.parse((await ask(engine, `/containers/json?filters=${filters}`)).body) as unknown[]).length > 0;
      }
      begun.kill();
      await begun.ended;
      expect(await isRunning()).toBe(false);
      const { stdout } = await stage.operator.run(['status', id]);
      expect(stdout).not.toContain('stopped by an operator');
      expect((await stage.operator.run(['status'])).stdout.replaceAll(/\s+/g, ' ')).toMatch(/was interrupted/);
      const repaired = await stage.operator.run(['recover', '--undo', '--yes']);
      expect(repaired.code, repaired.stdout + repaired.stderr).toBe(0);
      expect([await isRunning(), await content()]).toEqual([true, first]);
      await until(async () => (await helpers()).length === 0, 'the container that a killed process reads a volume with stayed');
      await backUp();
      expect((await readdir(join(folder, 'backups', id))).filter((name) => name.endsWith('.partial'))).toEqual([]);
    });
  });

  it(`rotate, at ${moments} random moments: recover settles it, and the container has the secret that is kept`, {
    timeout: 300_000,
  }, async () => {
    const args = ['secrets', 'rotate', id, 'TOKEN', '--yes'];
    const token = async () => (await stage.container(id, 'web'))?.Config.Env.find((line) => line.startsWith('TOKEN='));
    const fullMs = await duration(args);
    for (let moment = 0; moment < moments; moment++) {
      const before = await token();
      const waitMs = randomInt(Math.round(fullMs * 0.3), Math.round(fullMs));
      await stage.killAfter(args, waitMs);
      const way = moment % 2 === 0 ? '--finish' : '--undo';
      const said = `rotate killed after ${waitMs} ms of ${Math.round(fullMs)}, ${way}`;
      const wasOpen = !(await stage.operator.run(['recover', '--dry-run'])).stdout.includes('Nothing broke off');
      const settled = await stage.operator.run(['recover', way, '--yes']);
      expect(settled.code, said + settled.stdout + settled.stderr).toBe(0);
      expect(await isRunning(), said).toBe(true);
      if (wasOpen) expect((await token()) === before, said).toBe(way === '--undo');
      expect((await stage.operator.run(['recover'])).stdout, said).toContain('Nothing broke off');
      // The secret that is kept is the one that the container has.
      expect((await stage.operator.run(['deploy', id, '--dry-run'])).stdout, said).toContain('nothing to change');
    }
  });
});
