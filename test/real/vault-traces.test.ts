import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { PracticeFacts } from '../../source/practice/practice.ts';
import { Terminal } from '../pty/terminal.ts';
import { describeUnless, requiredProgram } from '../required.ts';
import { launcher } from './operator.ts';
import { runProgram } from './scripts.ts';

const id = 'secrets-manager-path';
const limitMs = 60_000;

/** What goes through the program may be in its memory, and nowhere that outlives it: seen from outside, with the console and the verbs as they are installed. */
describeUnless(requiredProgram('strace'), 'where key shares and tokens are left', () => {
  let folder: string;
  let served: ChildProcess;
  let facts: PracticeFacts;
  let terminal: Terminal | undefined;
  let made = '';
  const screens: string[] = [];
  const env = () => ({ QUARTERDECK_HOME: join(folder, 'home'), QUARTERDECK_KEYCHAIN: 'off', XDG_RUNTIME_DIR: join(folder, 'run') });
  let runs = 0;
  const traced = (...words: string[]) => {
    const trace = join(folder, `trace-${++runs}`);
    return ['strace', '-f', '-qq', '-v', '-e', 'trace=execve,execveat', '-s', '65536', '-o', trace, launcher, '--practice', ...words];
  };
  const verb = async (words: string[], answers: object = {}) => {
    const input = JSON.stringify(answers);
    const outcome = await runProgram(traced(...words, '--answers', '-'), { env: env(), bare: true, input, limitMs: 2 * limitMs });
    expect(outcome.code, `${words.join(' ')}: ${outcome.stdout}${outcome.stderr}`).toBe(0);
    screens.push(outcome.stderr);
    return outcome.stdout;
  };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'qd-traces-'));
    served = spawn(launcher, ['practice', 'serve', '--json'], {
      env: { HOME: process.env.HOME, PATH: process.env.PATH, ...env() },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const lines = createInterface({ input: served.stdout ?? process.stdin });
    facts = await new Promise((resolve, reject) => {
      lines.once('line', (line) => resolve(JSON.parse(line) as PracticeFacts));
      served.once('exit', () => reject(new Error('practice ended')));
    });
    lines.close();
    served.stdout?.resume();
  });
  afterAll(async () => {
    await terminal?.close();
    if (served && served.exitCode === null) {
      const ended = once(served, 'exit');
      served.kill('SIGTERM');
      await ended;
    }
    await rm(folder, { recursive: true, force: true });
  });

  test('three shares are typed into the console', { timeout: 3 * limitMs }, async () => {
    terminal = Terminal.start(traced(), { env: env() });
    await terminal.sees(/secrets-manager-path +\S* *sealed 0\/3/, limitMs);
    terminal.press('/');
    terminal.type(id);
    terminal.press('enter');
    await terminal.sees(/▸▲ secrets-manager-path/, limitMs);
    terminal.press('u');
    for (const [at, share] of facts.shares.slice(0, 3).entries()) {
      await terminal.sees(`Key share ${at + 1} of 3`, limitMs);
      terminal.type(share);
      await terminal.sees('•'.repeat(share.length), limitMs);
      terminal.press('enter');
    }
    await terminal.sees(`${id} is unsealed.`, limitMs);
    // Once to close what ran, once to leave.
    terminal.press('esc', 'q');
    expect(await terminal.exit(limitMs)).toMatchObject({ code: 0 });
    screens.push(terminal.raw, terminal.scrollback().join('\n'));
  });

  test('a token is typed in, kept, and used; a value is written and read', { timeout: 5 * limitMs }, async () => {
    await verb(['vault', 'login', id, '--method', 'token'], { token: facts.rootToken, keep: 'yes' });
    screens.push(await verb(['vault', 'token', id]));
    screens.push(await verb(['vault', 'write', id, 'secret/apps/marked', 'password'], { 'value-password': 'marked-with-a-value' }));
    expect(await verb(['vault', 'read', id, 'secret/apps/marked', '--field', 'password', '--plain'])).toBe('marked-with-a-value\n');
    screens.push(await verb(['vault', 'snapshot', id, join(folder, 'home', 'one.snap')]));
    made = (await verb(['vault', 'approle', id, 'backup', '--plain'])).trim();
    expect(made).toMatch(/^[0-9a-f-]{36}$/);
    await verb(['seal', id, '--yes']);
    screens.push(await verb(['unseal', id], { share: facts.shares.slice(2, 5) }));
  });

  test('nothing of it is in an argument or the environment of a program, in a file, on a screen, or in the audit', async () => {
    const traces = (await readdir(folder)).filter((name) => name.startsWith('trace-'));
    expect(traces).toHaveLength(runs);
    const files = await readdir(join(folder, 'home'), { recursive: true, withFileTypes: true });
    const texts: [string, string][] = await Promise.all(
      [
        ...traces.map((name) => join(folder, name)),
        // The practice stack hands its shares out in a file of its own.
        ...files.filter((file) => file.isFile() && file.name !== 'facts.json').map((file) => join(file.parentPath, file.name)),
      ].map(async (path): Promise<[string, string]> => [path, await readFile(path, 'latin1')]),
    );
    texts.push(...screens.map((text, at): [string, string] => [`screen ${at}`, text]));
    // That they were looked at where something would be.
    expect(texts.filter(([path]) => path.includes('trace-')).every(([, text]) => text.includes('execve('))).toBe(true);
    expect(texts.some(([path, text]) => path.includes('audit') && text.includes('PUT /v1/sys/unseal with a key share'))).toBe(true);
    const secrets = [
      ...facts.shares,
      ...facts.shares.map((share) => Buffer.from(share, 'hex').toString('base64')),
      facts.rootToken,
      made,
      'marked-with-a-value',
    ];
    for (const [where, text] of texts) for (const secret of secrets) expect(text.includes(secret), where).toBe(false);
  });
});
