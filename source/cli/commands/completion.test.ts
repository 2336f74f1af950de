import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { flows } from '../../app/flow-registry.ts';
import { keepSeenComponents } from '../../app/seen-components.ts';
import { ownPaths } from '../../config/paths.ts';
import type { VerbContext } from '../command.ts';
import { parseCommandLine } from '../command-line.ts';

let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'qd-completion-'));
});
afterEach(async () => await rm(home, { recursive: true, force: true }));

const pathsOf = () => ownPaths({ QUARTERDECK_HOME: join(home, 'own') }, home);

/** Returns the lines that the shell receives. The context has nothing that could open an engine or query a host. */
async function reported(argv: readonly string[]): Promise<string[]> {
  const lines: string[] = [];
  const parsed = await parseCommandLine(argv, { flows, version: '0', columns: 80 });
  if (!('run' in parsed) || !parsed.run) throw new Error('no verb');
  const context = { output: { line: (text: string) => lines.push(...text.split('\n')) }, paths: pathsOf(), env: { HOME: home } };
  expect(await parsed.run(context as unknown as VerbContext)).toBe(0);
  return lines;
}
const complete = (...words: string[]) => reported(['complete', '--', ...words]);
const wordsOf = (lines: readonly string[]) => lines.map((line) => line.split('\t')[0]);

async function write(path: string, text: string): Promise<void> {
  await mkdir(join(home, path, '..'), { recursive: true });
  await writeFile(join(home, path), text);
}

describe('verbs and options', () => {
  test('every verb of the help, and what it means', async () => {
    const lines = await complete('');
    expect(wordsOf(lines)).toEqual(expect.arrayContaining(['status', 'deploy', 'hosts', 'completion', 'help']));
    expect(wordsOf(lines)).not.toContain('complete');
    expect(lines).toContain('ports\tlist open ports, their owners and who can reach them');
    expect(wordsOf(await complete('hosts', ''))).toEqual(['list', 'add', 'check', 'remove', 'trust']);
    expect(wordsOf(await complete('--json', '--host', 'nas', 'sta'))).toEqual(['status', 'start']);
  });

  test('options of the verb first, then those of every verb', async () => {
    const options = wordsOf(await complete('hosts', 'add', 'nas', '--'));
    expect(options.slice(0, 3)).toEqual(['--sudo', '--stack-folder', '--unchecked']);
    expect(options).toEqual(expect.arrayContaining(['--host', '--json', '--read-only']));
    expect(wordsOf(await complete('logs', 'x', '--fol'))).toEqual(['--follow']);
    expect(wordsOf(await complete('status', '--fol'))).toEqual([]);
  });

  test('words of a verb that are written down in it', async () => {
    expect(await complete('completion', '')).toEqual(['bash', 'zsh', 'fish']);
    expect(wordsOf(await complete('catalog', ''))).toEqual(['new', 'list', 'show', 'check', 'schema']);
    expect(wordsOf(await complete('help', 'tunn'))).toEqual(['tunnel']);
    expect(wordsOf(await complete('help', 'hosts', 'tr'))).toEqual(['trust']);
    expect(await complete('help', 'tunnel', '')).toEqual([]);
    expect(wordsOf(await complete('help', 'exit'))).toEqual(['exit-codes']);
  });

  test('nothing for a program that runs elsewhere, nor for a verb that there is not', async () => {
    expect(await complete('exec', 'db', '--', 'ps')).toEqual([]);
    expect(await complete('exec', 'db', '--', '--he')).toEqual([]);
    expect(await complete('hosts', 'add', 'nas', 'op@nas', '')).toEqual([]);
  });
});

describe('components', () => {
  test('that were seen when an engine was last asked, of the place that is meant', async () => {
    const engines = ['local', 'nas'].map((name) => ({ name, engine: { reachable: true } }));
    const components = [
      { id: 'rss-reader', host: 'local' },
      { id: 'password-vault', host: 'nas' },
      { id: '$(reboot)', host: 'nas' },
    ];
    await keepSeenComponents(pathsOf(), { engines, components } as never);
    expect(await complete('stop', '')).toEqual(['rss-reader']);
    expect(await complete('--host', 'nas', 'stop', '')).toEqual(['password-vault']);
    expect(await complete('logs', '--host=all', 'rss-reader', 'pass')).toEqual(['password-vault']);
    expect(await complete('stop', 'rss-reader', '')).toEqual([]);
    expect(await complete('cp', 'rss')).toEqual(['rss-reader', ':file']);
    expect(await complete('secrets', 'list', 'rss')).toEqual(['rss-reader']);
    expect(await complete('secrets', 'export', '--component', '')).toEqual(['rss-reader']);
  });

  test('of the catalog where nothing was ever seen, and for a deployment', async () => {
    expect(wordsOf(await complete('stop', 'password-v'))).toEqual(['password-vault']);
    expect(wordsOf(await complete('deploy', 'password-v'))).toEqual(['password-vault']);
    expect(wordsOf(await complete('catalog', 'show', 'password-v'))).toEqual(['password-vault']);
  });
});

describe('hosts', () => {
  test('of the configuration, with engines that are known there', async () => {
    await write('own/config/config.yaml', 'hosts:\n  nas: {ssh: op@nas.lan}\n  vps: {ssh: vps}\n');
    await write('own/state/engines/nas.json', '["unix:///var/run/docker.sock", "unix:///run/podman/podman.sock"]');
    expect(await complete('--host', '')).toEqual([
      'local\tthis machine',
      'all\tall hosts',
      'nas\top@nas.lan',
      'nas/podman\top@nas.lan',
      'vps\tvps',
    ]);
    expect(await complete('status', '--host=n')).toEqual(['--host=nas\top@nas.lan', '--host=nas/podman\top@nas.lan']);
    expect(wordsOf(await complete('hosts', 'check', 'v'))).toEqual(['vps']);
    expect(await complete('hosts', 'trust', '')).toEqual(['nas\top@nas.lan', 'vps\tvps']);
    await write('own/config/config.yaml', 'hosts: [broken\n');
    expect(await complete('hosts', 'check', 'na')).toEqual([]);
  });

  test('that ssh knows, to be added: with what is included, without patterns, and without those that are listed', async () => {
    await write(
      '.ssh/config',
      'Include conf.d/*\nHost *\n  User op\nHost nas *.lan !bad web?\n  Port 22\nHost=vps\nhost -oProxyCommand=x\n',
    );
    await write('.ssh/conf.d/work', 'Host office printer\n');
    await write('own/config/config.yaml', 'hosts:\n  vps: {ssh: vps}\n');
    expect(await complete('hosts', 'add', '')).toEqual(['office', 'printer', 'nas']);
    expect(await complete('hosts', 'add', 'nas', 'of')).toEqual(['office']);
  });
});

test('files are completed by the shell', async () => {
  expect(await complete('secrets', 'import', '--identity', '')).toEqual([':file']);
  expect(await complete('hosts', 'add', 'nas', '--stack-folder', '~/')).toEqual([':folder']);
  expect(await complete('catalog', 'check', '')).toEqual([':folder']);
});

test('a script for each shell, and a sentence for any other', async () => {
  for (const shell of ['bash', 'zsh', 'fish']) {
    const script = (await reported(['completion', shell])).join('\n');
    expect(script).toContain('complete -- ');
    expect(script).toMatch(/\/bin\/quarterdeck'/);
  }
  await expect(reported(['completion', 'tcsh'])).rejects.toMatchObject({
    code: 'usage.shell',
    remedy: expect.stringContaining('completion fish'),
  });
  await expect(reported(['completion'])).rejects.toMatchObject({ code: 'usage.shell' });
});
