import { randomInt } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isLong } from '../required.ts';
import { ask } from './ask.ts';
import { type DeployFixture, pageAt, setFixture, until, webFiles } from './deploy-fixture.ts';
import { gatewayFiles } from './gateway-files.ts';
import { describeReal } from './real-engines.ts';
import { runOrThrow } from './scripts.ts';
import { findFreePort } from './stack.ts';
import { makeStandIn } from './stand-ins.ts';

/** Names that no other run on the same engine has. */
const id = `kept-${randomInt(1_000_000)}`;
const gateway = `gateway-of-${id}`;
/** Random kills of each flow, beside one in its middle. Without a number, every repair of the flow has its turn once. */
const askedMoments = Math.round(Number(process.env.QUARTERDECK_TEST_MOMENTS ?? (isLong ? 40 : 0)) / 4);

/** The data keep the secret, as those of a database do: the new value is told to them, and proved by asking them. */
function keeperFiles(port: number): Record<string, string> {
  const files = webFiles(id, { port, more: 'backup: [{id: data, volume: data, method: stop}]\n' });
  const [component = '', compose = ''] = [`${id}/component.yaml`, `${id}/compose.yaml`].map((path) => files[path]);
  const tells = `rotate: {service: web, argv: [sh, -c, "IFS= read -r new; printf %s \\"$new\\" >/data/token"]}`;
  const proves = `verify: {service: web, argv: [sh, -c, "IFS= read -r new; [ \\"$new\\" = \\"$(cat /data/token)\\" ]"]}`;
  return {
    [`${id}/component.yaml`]: component.replace('generator: "alphanumeric:32"', (found) => `${found}, ${tells}, ${proves}`),
    [`${id}/compose.yaml`]: compose.replace('mkdir -p /data /www;', (found) =>
      `${found} [ -f /data/token ] || printf %s "$$TOKEN" >/data/token;`.replaceAll('"', '\\"'),
    ),
  };
}

describeReal('docker', 'a process that is killed while it has stopped or changed something for its own purposes', (engine) => {
  let fixture: DeployFixture;
  let folder: string;
  let port: number;

  const run = (...args: string[]) => fixture.operator.run(args);
  const done = async (...args: string[]) => {
    const { code, stdout, stderr } = await run(...args);
    expect(code, `${args.join(' ')}: ${stdout}${stderr}`).toBe(0);
    return stdout;
  };

  beforeAll(async () => {
    fixture = await setFixture(engine);
    folder = await mkdtemp(join(tmpdir(), 'qd-killed-'));
    port = await findFreePort();
    await makeStandIn(engine, { name: `local/${gateway}`, tag: 'latest', from: 'busybox:latest', files: {}, changes: [] });
    await fixture.catalog({ ...keeperFiles(port), ...gatewayFiles(gateway, await findFreePort()) });
    for (const each of [id, gateway]) await done('deploy', each, '--yes');
    await done(...backup());
  });
  afterAll(async () => {
    await fixture?.leave();
    await ask(engine, `/images/local/${gateway}:latest?force=true`, { method: 'DELETE' });
    await rm(folder, { recursive: true, force: true });
  });

  const to = () => ['--to', join(folder, 'backups'), '--yes'];
  const backup = () => ['backup', id, ...to()];
  const inside = async (...argv: string[]) =>
    (await runOrThrow(['docker', '-H', engine.url, 'exec', (await fixture.container(id, 'web'))?.Id ?? '', ...argv])).trim();
  const isRunning = async () => (await fixture.container(id, 'web'))?.State.Running ?? false;
  const environment = async () =>
    (await fixture.container(id, 'web'))?.Config.Env.find((line) => line.startsWith('TOKEN='))?.slice('TOKEN='.length);
  const helpers = async () => {
    const filters = encodeURIComponent(JSON.stringify({ label: ['quarterdeck.helper'], volume: [`${id}_data`] }));
    return JSON.parse((await ask(engine, `/containers/json?all=1&filters=${filters}`)).body) as unknown[];
  };
  const listRunning = async () => {
    const filters = encodeURIComponent(JSON.stringify({ label: [`com.docker.compose.project=${id}`] }));
    return JSON.parse((await ask(engine, `/containers/json?filters=${filters}`)).body) as unknown[];
  };
  /** The token that the data keep, read from outside: the container may be down. */
  const tokenInData = async () => {
    const { Mountpoint } = JSON.parse((await ask(engine, `/volumes/${id}_data`)).body) as { Mountpoint: string };
    return readFile(join(Mountpoint, 'token'), 'utf8');
  };
  const isBehind = async () =>
    ((await fixture.container(id, 'web')) as unknown as { HostConfig: { NetworkMode: string } }).HostConfig.NetworkMode.startsWith(
      'container:',
    );

  interface Killed {
    flow: string;
    args(): Promise<string[]>;
    /** Turn about; each has to repair whatever the kill left. */
    repairs: readonly (() => Promise<string[]>)[];
    /** What `status` says while something is left. */
    says: RegExp;
    /** May the data be those of the backup afterwards? */
    replaces?: true;
    /** Resolves in the middle, where it must not be left alone. */
    middle(): Promise<() => Promise<boolean>>;
  }

  const isDown = async () => async () => (await listRunning()).length === 0;
  const restore = async () => ['restore', id, ...to()];
  const rotate = async () => ['secrets', 'rotate', id, 'TOKEN', '--yes'];
  const route = async () => ['route', id, ...((await isBehind()) ? ['--direct'] : ['--through', gateway]), '--yes'];
  const recover =
    (...flags: string[]) =>
    async () => ['recover', ...flags, '--yes'];
  const up = async () => ['up', '--yes'];

  const flows: readonly Killed[] = [
    {
      flow: 'backup',
      args: async () => backup(),
      repairs: [recover(), up, async () => backup()],
      says: /The backup was interrupted/,
      middle: isDown,
    },
    {
      flow: 'restore',
      args: restore,
      repairs: [recover('--undo'), recover('--finish')],
      says: /The (?:restore of the backup \w+ was interrupted|data of the backup \w+ is restored, but)/,
      replaces: true,
      middle: isDown,
    },
    {
      flow: 'rotate',
      args: rotate,
      repairs: [recover('--finish'), recover('--undo'), up, rotate],
      says: new RegExp(`The rotation of ${id}/TOKEN was interrupted`),
      middle: async () => {
        const before = await tokenInData();
        return async () => (await tokenInData()) !== before;
      },
    },
    {
      flow: 'route',
      args: route,
      repairs: [recover('--finish'), up, route, recover('--undo')],
      says: /The route was interrupted/,
      middle: isDown,
    },
  ];

  /** All is as before or as afterwards, and nothing in between; the container runs with the data that it had. */
  async function expectWhole(said: string, first: string, { replaces }: Killed): Promise<void> {
    expect(await isRunning(), said).toBe(true);
    expect(await inside('cat', '/data/first'), said).toBe(first);
    const names = (await inside('ls', '-A', '/data')).split(/\s+/).sort();
    if (names.includes('newer') || !replaces) expect(names, said).toEqual(['first', 'newer', 'token']);
    else expect(names, said).toEqual(['first', 'token']);
    expect(await pageAt(port), said).toBe('good morning');
    expect(await done('recover'), said).toContain('No interrupted changes');
    expect(await readdir(join(fixture.stack, '.quarterdeck', 'restores')).catch(() => []), said).toEqual([]);
    await until(async () => (await helpers()).length === 0, `${said}: the container that a killed process sees a volume with stayed`);
  }

  describe.each(flows)('$flow', (killed) => {
    const { flow, args, repairs, says, middle } = killed;
    const moments = askedMoments || repairs.length - 1;
    const isRotated = async () => (await inside('cat', '/data/token')) === (await environment());
    const writeNewer = () => inside('touch', '/data/newer');
    const status = async () => (await run('status')).stdout.replaceAll(/\s+/g, ' ');

    it(`at ${moments} random moments and in the middle: status says it, and recover, up or the next run repairs it`, {
      timeout: 600_000,
    }, async () => {
      const first = await inside('cat', '/data/first');
      const began = performance.now();
      await done(...(await args()));
      const fullMs = performance.now() - began;
      for (let moment = 0; moment <= moments; moment++) {
        await writeNewer();
        const isMiddle = moment === moments;
        // The first part is the start of the program.
        const waitMs = randomInt(Math.round(fullMs * 0.3), Math.round(fullMs));
        const repair = (await repairs[moment % repairs.length]?.()) ?? [];
        const said = `${flow} killed ${isMiddle ? 'in the middle' : `after ${waitMs} ms of ${Math.round(fullMs)}`}, then ${repair.join(' ')}`;
        const words = await args();
        if (isMiddle) {
          const reached = await middle();
          const begun = fixture.begin(words);
          let hasEnded = false;
          void begun.ended.then(() => {
            hasEnded = true;
          });
          while (!hasEnded && !(await reached()));
          begun.kill();
          await begun.ended;
        } else await fixture.killAfter(words, waitMs);

        const isLeft = !(await isRunning()) || (flow === 'rotate' && !(await isRotated()));
        if (isMiddle) expect(isLeft, said).toBe(true);
        let seen = '';
        if (isLeft) {
          // The script that it left at work on the stack may not have ended yet; back from the gateway it needs nobody to come to its end.
          const isSaid = async () => {
            seen = await status();
            return says.test(seen) || (words.includes('--direct') && (await isRunning()));
          };
          await until(isSaid, `${said}: status never says so`);
          if (says.test(seen)) expect(seen, said).toContain('quarterdeck recover');
          expect(seen, said).not.toContain('stopped by an operator');
        }
        await done(...repair);
        if (flow === 'rotate') expect(await isRotated(), said).toBe(true);
        await expectWhole(said, first, killed);
        // What the keychain has is what the container has.
        if (flow === 'rotate') expect(await done('deploy', id, '--dry-run'), said).toContain('is up to date');
        if (repair.includes('--undo') && seen.includes('the data may be inconsistent'))
          expect(await inside('ls', '/data'), said).toContain('newer');
      }
      if (flow === 'backup' || flow === 'restore') {
        await done(...backup());
        expect((await readdir(join(folder, 'backups', id))).filter((name) => name.endsWith('.partial'))).toEqual([]);
      }
    });
  });
});
