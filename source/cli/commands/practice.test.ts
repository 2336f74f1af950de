import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { PracticeFacts } from '../../practice/practice.ts';

const root = resolve(import.meta.dirname, '../../..');

let home: string;
const running: ChildProcess[] = [];
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'qd-practice-'));
});
afterEach(async () => {
  for (const child of running.splice(0)) child.kill('SIGKILL');
  await rm(home, { recursive: true, force: true });
});

interface Ran {
  code: number | null;
  out: string;
  err: string;
}

function launch(words: readonly string[]): { child: ChildProcess; ended: Promise<Ran>; out: () => string } {
  const { PATH, LANG = 'C.UTF-8' } = process.env;
  const child = spawn(join(root, 'bin/quarterdeck'), words, {
    cwd: root,
    env: { PATH, LANG, HOME: home, QUARTERDECK_HOME: join(home, 'own'), QUARTERDECK_KEYCHAIN: 'off', NO_COLOR: '1' },
  });
  running.push(child);
  let out = '';
  let err = '';
  child.stdout.on('data', (chunk: Buffer) => {
    out += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    err += chunk.toString();
  });
  const ended = new Promise<Ran>((fulfil) => child.on('close', (code) => fulfil({ code, out, err })));
  return { child, ended, out: () => out };
}

const run = (...words: string[]): Promise<Ran> => launch(words).ended;

async function serve(): Promise<{ child: ChildProcess; ended: Promise<Ran>; facts: PracticeFacts }> {
  const { child, ended, out } = launch(['practice', 'serve', '--json']);
  await expect.poll(() => out().includes('\n'), { timeout: 20_000 }).toBe(true);
  return { child, ended, facts: JSON.parse(out()) as PracticeFacts };
}

const runFolder = () => readdir(join(home, 'own', 'run'));

describe('practice serve', () => {
  test('prints where it is as one line, readable only by its owner, until a signal ends it', async () => {
    const { child, ended, facts } = await serve();
    const socket = facts.engine.replace('unix://', '');
    expect(facts).toMatchObject({
      schema: 1,
      threshold: 3,
      incidents: expect.arrayContaining([expect.objectContaining({ name: 'sealed' })]),
    });
    expect(facts.shares).toHaveLength(5);
    expect(facts.products['secrets-manager-path']).toEqual({
      address: expect.stringMatching(/^unix:\/\/.*\/8200\.sock$/),
      published: 'http://127.0.0.1:8200',
    });
    expect((await stat(resolve(socket, '..'))).mode & 0o777).toBe(0o700);
    expect((await stat(join(home, 'own', 'run', `practice-${child.pid}`, 'facts.json'))).mode & 0o777).toBe(0o600);
    child.kill('SIGTERM');
    expect(await ended).toMatchObject({ code: 0, err: '' });
    expect(await runFolder()).toEqual([]);
  });

  test('is used by every verb with --practice, which sees what happens there', async () => {
    const { child, ended } = await serve();
    expect((await run('--practice', 'stop', 'media-server')).code).toBe(0);
    const { hosts } = JSON.parse((await run('--practice', 'status', 'media-server', '--json')).out);
    expect(hosts[0].host).toBe('practice');
    expect(hosts[0].components[0]).toMatchObject({ id: 'media-server', state: { id: 'stopped' } });

    expect((await run('practice', 'incident')).out).toMatch(/^restart-loop +\S/m);
    expect(await run('practice', 'incident', 'no-such')).toMatchObject({ code: 2, err: expect.stringContaining('no-such') });
    expect(await run('practice', 'incident', 'restart-loop')).toMatchObject({ code: 0, out: expect.stringContaining('Incident started') });
    const dying = JSON.parse((await run('--practice', 'status', 'password-vault', '--json')).out);
    expect(dying.hosts[0].components[0].restarts).toBeGreaterThan(0);

    // The practice stack has an audit of its own, which is complete and contains all of this.
    const audit = await run('--practice', 'audit');
    expect(audit.out).toContain('media-server');
    expect(audit.out).toContain('restart-loop');
    expect(await run('--practice', 'audit', 'verify')).toMatchObject({ code: 0 });
    expect((await run('audit')).out).not.toContain('media-server');

    expect(await run('practice', 'serve')).toMatchObject({ code: 1, err: expect.stringContaining('already running') });
    child.kill('SIGINT');
    expect((await ended).code).toBe(0);
    expect(await run('practice', 'incident', 'sealed')).toMatchObject({ code: 3, err: expect.stringContaining('practice serve') });
  }, 90_000);

  test('that was killed is swept away', async () => {
    const { child, ended } = await serve();
    child.kill('SIGKILL');
    await ended;
    expect(await runFolder()).toHaveLength(1);
    expect((await run('--practice', 'status', 'rss-reader')).out).toContain('healthy');
    expect(await runFolder()).toEqual([]);
  }, 60_000);
});

describe('--practice', () => {
  test('keeps away from the machine: no connection to its ports, no file of its own beside the practice', async () => {
    // Listens on the ports that are free here, in place of a real secrets manager, a real resolver and a real page.
    const servers: Server[] = [];
    let connections = 0;
    for (const port of [8200, 8180, 9091, 3000, 8096, 11434]) {
      const server = createServer((socket) => {
        connections++;
        socket.destroy();
      });
      await new Promise<void>((fulfil) => server.once('error', () => fulfil()).listen(port, '127.0.0.1', () => fulfil()));
      if (server.listening) servers.push(server);
    }
    try {
      expect(servers.length).toBeGreaterThan(0);
      const { code, out } = await run('--practice', 'status', '--json');
      expect(code).toBe(0);
      const { components } = JSON.parse(out).hosts[0] as { components: { id: string; state: string; detail: string }[] };
      expect(components.find(({ id }) => id === 'secrets-manager-path')?.detail).toContain('0 of 3 key shares entered');
      expect(connections).toBe(0);
      await run('--practice', 'restart', 'rss-reader');
      expect(connections).toBe(0);
      // Only the cache and the run folder remain, and the run folder is empty again.
      expect((await readdir(join(home, 'own'))).filter((name) => name !== 'cache')).toEqual(['run']);
      expect(await runFolder()).toEqual([]);
    } finally {
      for (const server of servers) server.close();
    }
  }, 60_000);

  test('refuses incidents that nobody serves, and knows no other host', async () => {
    expect(await run('practice', 'incident', 'attack')).toMatchObject({ code: 3 });
    expect(await run('--practice', '--host', 'nas', 'status')).toMatchObject({ code: 2, err: expect.stringContaining('nas') });
    expect(await run('practice', 'bogus')).toMatchObject({ code: 2, err: expect.stringContaining('bogus') });
  });

  test('without a terminal "practice" says what it is', async () => {
    const { code, out } = await run('practice');
    expect(code).toBe(0);
    expect(out).toContain('practice serve');
    expect(out).toContain('--practice');
    // The bare command prints the status as always, and never that of the machine.
    expect((await run('--practice')).out).toMatch(/^practice /);
  });
});

test('who does not practise loads nothing of it', async () => {
  const { metafile } = await build({
    entryPoints: {
      run: 'source/cli/run-command-line.ts',
      app: 'source/app/create-app.ts',
      console: 'source/console/run-console.ts',
    },
    absWorkingDir: root,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    packages: 'external',
    write: false,
    metafile: true,
    outdir: 'out',
  });
  const reached = new Set<string>();
  const visit = (output: string) => {
    if (reached.has(output)) return;
    reached.add(output);
    for (const { path, kind } of metafile.outputs[output]?.imports ?? []) if (kind === 'import-statement') visit(path);
  };
  for (const entry of ['run', 'app', 'console']) visit(`out/${entry}.js`);
  const inputs = [...reached].flatMap((output) => Object.keys(metafile.outputs[output]?.inputs ?? {}));
  expect(inputs).toContain('source/app/create-app.ts');
  expect(
    inputs.filter((input) =>
      /source\/practice\/|\/simulator\/|practice-(?:host|access|offer)|commands\/practice|components\/incident/.test(input),
    ),
  ).toEqual([]);
});
