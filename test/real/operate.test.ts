import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { Terminal } from '../pty/terminal.ts';
import { ask, askUntil } from './ask.ts';
import { componentsOf, makeOperator, type Operator, type StatusAnswer, statusUntil } from './operator.ts';
import { describeAgain, describeReal, type RealEngine, type RealEngineKind } from './real-engines.ts';
import { runProgram } from './scripts.ts';
import { bringUp, type Composer, type RunningComponent } from './stack.ts';
import { inTurn } from './turns.ts';

/** Health checks answer when their interval is over, half a minute later. */
const healthyLimitMs = 90_000;

interface InventoryEntry {
  id: string;
  group: string;
  product: string;
  image: string;
  services?: { name: string; image: string }[];
  ports?: { container: number; protocol: string }[];
}
const inventory = parse(await readFile(new URL('../spec/components.yaml', import.meta.url), 'utf8')) as
  | InventoryEntry[]
  | { components: InventoryEntry[] };
const inventoryOf = (id: string): InventoryEntry => {
  const found = (Array.isArray(inventory) ? inventory : inventory.components).find((entry) => entry.id === id);
  if (!found) throw new Error(`the inventory has no ${id}`);
  return found;
};

/** Every engine with another program that brings projects up, since each leaves other labels. The reverse proxy wants port 80: root only. */
const ways: readonly { kind: RealEngineKind; composer: Composer; ids: readonly string[]; again?: true }[] = [
  { kind: 'docker', composer: 'compose-2', ids: ['intrusion-prevention', 'file-sync', 'reverse-proxy', 'rss-reader'] },
  { kind: 'podman', composer: 'compose-2', ids: ['intrusion-prevention', 'file-sync', 'reverse-proxy', 'rss-reader'], again: true },
  { kind: 'docker-rootless', composer: 'compose-1', ids: ['file-sync', 'rss-reader'], again: true },
  { kind: 'podman-rootless', composer: 'podman-compose', ids: ['intrusion-prevention', 'file-sync'] },
];

/** What the engine itself says of a service's container. */
async function containerOf(engine: RealEngine, project: string, service: string): Promise<{ Id: string; State: string } | undefined> {
  const filters = encodeURIComponent(
    JSON.stringify({ label: [`com.docker.compose.project=${project}`, `com.docker.compose.service=${service}`] }),
  );
  const { body } = await ask(engine, `/containers/json?all=1&filters=${filters}`);
  return (JSON.parse(body) as { Id: string; State: string }[])[0];
}

for (const { kind, composer, ids, again } of ways) {
  (again ? describeAgain : describeReal)(kind, `operating components that ${composer} brought up`, (engine) => {
    const up: Record<string, RunningComponent> = {};
    let operator: Operator;
    let terminal: Terminal | undefined;
    // Only one component has secrets; where it is not brought up there are no such tests, rather than skipped ones.
    const withSecrets = (title: string, test: () => Promise<void>): void => {
      if (ids.includes('rss-reader')) it(title, test);
    };

    if (ids.includes('reverse-proxy')) inTurn('port 80');
    beforeAll(async () => {
      operator = await makeOperator(engine);
      for (const id of ids) up[id] = await bringUp(engine, id, { composer });
    });
    afterEach(async () => {
      await terminal?.close();
      terminal = undefined;
    });
    afterAll(async () => {
      for (const component of Object.values(up)) await component.down();
      await operator.leave();
    });

    const port = (id: string, name: string): string => `http://127.0.0.1:${up[id]?.ports[name]}`;
    const answers: Record<string, () => Promise<void>> = {
      'intrusion-prevention': async () => {
        const health = await askUntil(port('intrusion-prevention', 'API_PORT'), '/health', ({ status }) => status === 200);
        expect(JSON.parse(health.body)).toEqual({ status: 'up' });
        // A bouncer's door: closed without a key.
        expect((await ask(port('intrusion-prevention', 'API_PORT'), '/v1/decisions')).status).toBe(403);
      },
      'file-sync': async () => {
        const health = await askUntil(port('file-sync', 'WEB_PORT'), '/rest/noauth/health', ({ status }) => status === 200);
        expect(JSON.parse(health.body)).toEqual({ status: 'OK' });
        expect((await ask(port('file-sync', 'WEB_PORT'), '/rest/system/version')).status).toBe(403);
      },
      'reverse-proxy': async () => {
        const page = await askUntil('http://127.0.0.1:80', '/', ({ status }) => status === 404);
        expect(page.body).toBe('No site is configured for this host name.');
      },
      // Its database is there, and an administrator in it.
      'rss-reader': async () => {
        const base = port('rss-reader', 'WEB_PORT');
        await askUntil(base, '/healthcheck', ({ status }) => status === 200);
        const basic = Buffer.from(`admin:${up['rss-reader']?.variables.ADMIN_PASSWORD}`).toString('base64');
        const me = await ask(base, '/v1/me', { headers: { authorization: `Basic ${basic}` } });
        expect(JSON.parse(me.body)).toMatchObject({ username: 'admin', is_admin: true });
      },
    };
    it.each(ids)('%s, from the catalog’s own compose file, answers as its product does', async (id) => await answers[id]?.());

    it('status shows each component as the inventory knows it', async () => {
      const answer = await operator.json<StatusAnswer>(['status']);
      expect(answer.schema).toBe(1);
      expect(answer.hosts).toHaveLength(1);
      expect(answer.hosts[0]?.engine).toMatchObject({
        kind: kind.startsWith('podman') ? 'podman' : 'docker',
        reachable: true,
        rootless: kind.endsWith('-rootless'),
      });
      // Podman's checks are run by us, once a second: a program that starts slowly fails the first ones.
      const isFine = ({ services }: { services: readonly { state: { id: string } }[] }) =>
        services.every(({ state }) => ['healthy', 'running', 'starting'].includes(state.id));
      for (const id of ids) await statusUntil(operator, id, isFine, healthyLimitMs);
      const components = await componentsOf(operator);
      expect(Object.keys(components).sort()).toEqual([...ids].sort());
      for (const id of ids) {
        const known = inventoryOf(id);
        const component = components[id];
        expect(component, id).toMatchObject({ known: true, project: id, group: known.group, product: known.product });
        // Podman tells the full name of an image.
        const images = component?.services.map(({ image }) => image.replace(/^docker\.io\/(library\/)?/, ''));
        expect(images?.sort(), id).toEqual((known.services?.map(({ image }) => image) ?? [known.image]).sort());
      }
    });

    it('status and ports show where each component is published, and to whom', async () => {
      const components = await componentsOf(operator);
      const { ports } = await operator.json<{ ports: { address: string; port: number; exposure: string; component?: string }[] }>([
        'ports',
      ]);
      for (const id of ids) {
        for (const port of Object.values(up[id]?.ports ?? {})) {
          expect(
            components[id]?.services.flatMap((service) => service.ports.map(({ host }) => host)),
            `${id} ${port}`,
          ).toContain(port);
          expect(
            ports.filter((row) => row.port === port),
            `${id} ${port}`,
          ).toMatchObject([{ component: id }]);
        }
      }
      const web = ports.find(({ port }) => port === up['file-sync']?.ports.WEB_PORT);
      const sync = ports.find(({ port }) => port === up['file-sync']?.ports.SYNC_PORT);
      expect(web).toMatchObject({ address: '127.0.0.1', exposure: 'loopback' });
      expect(sync?.exposure).not.toBe('loopback');
    });

    it('says more than the engine knows: what the probe was told', async () => {
      for (const id of ids) {
        // A component's own detail is otherwise that of one of its containers.
        await statusUntil(operator, id, ({ detail, services }) => detail !== '' && !services.some((service) => service.detail === detail));
      }
    });

    it('stop stops, start starts: said, seen by the engine, seen live on the console', async () => {
      terminal = operator.open();
      await terminal.sees(/● file-sync +\S/, healthyLimitMs);

      expect(await operator.run(['stop', 'file-sync'])).toMatchObject({ code: 0 });
      expect((await containerOf(engine, 'file-sync', 'syncthing'))?.State).toBe('exited');
      await terminal.sees(/file-sync +stopped/);
      expect((await componentsOf(operator))['file-sync']).toMatchObject({ state: { id: 'stopped' } });
      // A second time changes nothing, and is no failure.
      expect(await operator.run(['stop', 'file-sync'])).toMatchObject({ code: 0, stdout: expect.stringMatching(/already/) });

      expect(await operator.run(['start', 'file-sync'])).toMatchObject({ code: 0 });
      expect((await containerOf(engine, 'file-sync', 'syncthing'))?.State).toBe('running');
      await terminal.seesNot(/file-sync +stopped/);
      await terminal.sees(/● file-sync +\S/, healthyLimitMs);
    });

    it('the console shows what others do to a container as it happens', async () => {
      terminal = operator.open();
      await terminal.sees(/● file-sync +\S/, healthyLimitMs);
      const container = await containerOf(engine, 'file-sync', 'syncthing');
      await ask(engine, `/containers/${container?.Id}/stop?t=1`, { method: 'POST' });
      await terminal.sees(/file-sync +(stopped|failed)/);
      await ask(engine, `/containers/${container?.Id}/start`, { method: 'POST' });
      await terminal.sees(/● file-sync +\S/, healthyLimitMs);
    });

    it('the console stops and starts by a key, and leaves the terminal as it was', async () => {
      terminal = operator.open();
      await terminal.sees(/● file-sync +\S/, healthyLimitMs);
      terminal.press('/');
      terminal.type('file-sync');
      terminal.press('enter');
      await terminal.sees(/▸● file-sync/);
      terminal.press('s');
      await terminal.sees(/Stop file-sync on /);
      terminal.press('enter');
      await terminal.sees(/▸\S file-sync +stopped/, healthyLimitMs);
      expect((await containerOf(engine, 'file-sync', 'syncthing'))?.State).toBe('exited');
      terminal.press('S');
      await terminal.sees(/▸● file-sync/, healthyLimitMs);
      terminal.press('q');
      expect(await terminal.exit()).toEqual({ code: 0, signal: 0 });
      expect(terminal.onAlternateScreen).toBe(false);
      expect(terminal.cursor.visible).toBe(true);
      expect(terminal.modes).toEqual({ bracketedPaste: false, mouse: false, applicationCursor: false, wrap: true });
    });

    it('read-only refuses, and changes nothing', async () => {
      expect(await operator.run(['--read-only', 'stop', 'file-sync'])).toMatchObject({
        code: 4,
        stderr: expect.stringMatching(/[Rr]ead-only/),
      });
      expect((await containerOf(engine, 'file-sync', 'syncthing'))?.State).toBe('running');
    });

    it('exec hands on output and exit code, byte for byte', async () => {
      const ended = await operator.run(['exec', 'file-sync', '--', 'sh', '-c', 'printf "a\\tb\\n"; echo wrong >&2; exit 7']);
      expect(ended).toMatchObject({ code: 7, stdout: 'a\tb\n', stderr: 'wrong\n' });
    });

    it('shell is a real terminal inside, from the command line and from the console', async () => {
      terminal = operator.open(['shell', 'file-sync'], { columns: 90, rows: 20 });
      await terminal.sees('# ');
      terminal.type('stty size; hostname | wc -l; echo seen-$((40 + 2))\r');
      await terminal.sees('seen-42');
      expect(terminal.text()).toContain('20 90');
      terminal.type('exit\r');
      expect((await terminal.exit()).code).toBe(0);
      await terminal.close();

      terminal = operator.open();
      await terminal.sees(/● file-sync +\S/, healthyLimitMs);
      terminal.press('/');
      terminal.type('file-sync');
      terminal.press('enter');
      await terminal.sees(/▸● file-sync/);
      terminal.press('e');
      await terminal.sees('# ', 20_000);
      terminal.type('echo inside-$((20 + 3))\r');
      await terminal.sees('inside-23');
      terminal.type('exit\r');
      await terminal.sees(/▸● file-sync/, 20_000);
      expect(terminal.onAlternateScreen).toBe(true);
      terminal.press('q');
      expect((await terminal.exit()).code).toBe(0);
    });

    it('cp carries files both ways, unchanged', async () => {
      const folder = await mkdtemp(join(tmpdir(), 'qd-cp-'));
      try {
        const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, index) => (index * 7) % 256));
        await writeFile(join(folder, 'sent.bin'), bytes);
        expect(await operator.run(['cp', join(folder, 'sent.bin'), 'file-sync:/tmp/sent.bin'])).toMatchObject({ code: 0 });
        expect(await operator.run(['cp', 'file-sync:/tmp/sent.bin', join(folder, 'back.bin')])).toMatchObject({ code: 0 });
        expect((await readFile(join(folder, 'back.bin'))).equals(bytes)).toBe(true);
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    });

    it('df knows the images that are in use', async () => {
      const outcome = await operator.run(['df', '--all']);
      expect(outcome).toMatchObject({ code: 0, stdout: expect.stringContaining('syncthing/syncthing:latest') });
    });

    it('restart leaves a new start time', async () => {
      const inspect = async (): Promise<string> => {
        const container = await containerOf(engine, 'file-sync', 'syncthing');
        return (JSON.parse((await ask(engine, `/containers/${container?.Id}/json`)).body) as { State: { StartedAt: string } }).State
          .StartedAt;
      };
      const before = await inspect();
      expect(await operator.run(['restart', 'file-sync'])).toMatchObject({ code: 0 });
      expect(Date.parse(await inspect())).toBeGreaterThan(Date.parse(before));
    });

    it('writes down what it did, and can prove that the log is whole', async () => {
      const { stdout } = await operator.run(['audit']);
      expect(stdout).toMatch(/stop/);
      expect(stdout).toMatch(/restart/);
      expect(await operator.run(['audit', 'verify'])).toMatchObject({ code: 0 });
    });

    withSecrets('no secret of a container is in an argv, an output or an own file', async () => {
      const secrets = Object.values(up['rss-reader']?.variables ?? {});
      expect(secrets).toHaveLength(2);
      // That such a trace would show one.
      const control = await runProgram([
        'strace',
        '-f',
        '-qq',
        '-e',
        'trace=execve',
        '-s',
        '65536',
        'sh',
        '-c',
        'env true "$0"',
        secrets[0] ?? '',
      ]);
      expect(control.stderr).toContain(secrets[0]);

      for (const args of [
        ['status'],
        ['status', 'rss-reader', '--json'],
        ['restart', 'rss-reader'],
        ['exec', 'rss-reader', '--service', 'db', '--', 'true'],
        ['ports'],
        ['df', '--all'],
      ]) {
        const { outcome, execs } = await operator.traceExec(args);
        expect(outcome.code, `${args.join(' ')}: ${outcome.stderr}`).toBe(0);
        expect(execs.length, args.join(' ')).toBeGreaterThan(0);
        for (const secret of secrets) {
          expect(
            execs.filter((line) => line.includes(secret)),
            args.join(' '),
          ).toEqual([]);
          expect(outcome.stdout + outcome.stderr, args.join(' ')).not.toContain(secret);
        }
      }
      const own = await operator.ownFiles();
      expect(own).toContain('restart');
      for (const secret of secrets) expect(own).not.toContain(secret);
    });

    withSecrets('inspect on the console masks the secrets', async () => {
      terminal = operator.open([], { columns: 200, rows: 60 });
      await terminal.sees(/● rss-reader +\S/, 30_000);
      terminal.press('/');
      terminal.type('rss-reader');
      terminal.press('enter');
      await terminal.sees(/▸● rss-reader/);
      terminal.press('i');
      terminal.press('2', 'z', '/');
      terminal.type('ADMIN_PASSWORD');
      terminal.press('enter');
      await terminal.sees('ADMIN_PASSWORD');
      for (const secret of Object.values(up['rss-reader']?.variables ?? {})) expect(terminal.raw).not.toContain(secret);
    });
  });
}
