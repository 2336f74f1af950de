import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fencedBlocks } from '../docs/fenced-blocks.ts';
import { Terminal } from '../pty/terminal.ts';
import { isLong, requiredProgram } from '../required.ts';
import { withoutWaits } from '../without-waits.ts';
import { checkout, copyCheckout, type Ended, makeFolder, runProgram } from './fresh-copy.ts';

// A stranger on a bare machine, who has the README and nothing else. The machines are roots for chroot: they have no engine, no compiler
// and no settings.
const reason = !isLong
  ? 'it builds whole machines, which takes minutes; QUARTERDECK_TEST_LONG=1 runs it'
  : process.getuid?.() === 0
    ? requiredProgram('debootstrap', 'debootstrap')
    : 'chroot requires root';

const readme = readFileSync(join(checkout, 'README.md'), 'utf8');
const blocks = (language: string): string[] =>
  fencedBlocks(readme).flatMap((block) => (block.language === language ? [block.content] : []));
const firstCommands = (blocks('')[0] ?? '').split('\n').map((line) => line.replace(/\s+#.*/, ''));
const installCommands = blocks('sh').join('\n');
const shown = blocks('console').map((block) => {
  const [command = '', ...output] = block.trim().split('\n');
  return { command: command.replace(/^\$ /, ''), output };
});

const env = {
  TERM: 'xterm-256color',
  HOME: '/root',
  LANG: 'C.UTF-8',
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  ...(process.env.NODE_EXTRA_CA_CERTS === undefined ? {} : { NODE_EXTRA_CA_CERTS: '/etc/ssl/certs/ca-certificates.crt' }),
};

describe.each(['debian', 'musl'])(`the README on a bare %s${reason === undefined ? '' : ` (skipped: ${reason})`}`, (kind) => {
  let folder: Awaited<ReturnType<typeof makeFolder>>;
  const within = (script: string): string[] => {
    const inside =
      'root=$1; mount -t proc proc "$root/proc"; mount --rbind /dev "$root/dev"; exec chroot "$root" /bin/sh -c "cd /quarterdeck && $2"';
    const settings = Object.entries(env).map(([name, value]) => `${name}=${value}`);
    return ['env', '-i', ...settings, 'unshare', '--mount', '--pid', '--fork', 'sh', '-c', inside, 'sh', join(folder.path, 'root'), script];
  };
  const run = async (script: string): Promise<Ended> => await runProgram(within(script), { cwd: '/' });

  beforeAll(async () => {
    if (reason !== undefined) return;
    folder = await makeFolder();
    execFileSync(join(checkout, 'test/packaging/bare-root'), [kind, join(folder.path, 'root')], { stdio: ['ignore', 'ignore', 'inherit'] });
    await copyCheckout(join(folder.path, 'root/quarterdeck'));
  }, 900_000);
  afterAll(async () => await folder?.remove());

  test.skipIf(reason !== undefined)('one command leads to a screen that shows what runs', { timeout: 900_000 }, async () => {
    expect(firstCommands[0]).toBe('npm start');
    await using terminal = Terminal.start(within('npm start'), { columns: 80, rows: 24 });
    await terminal.sees('Open the practice stack?', 800_000);
    terminal.press('enter');
    await terminal.sees(/media-server +healthy/, 60_000);
    terminal.press('q');
    expect(await terminal.exit()).toMatchObject({ code: 0 });
  });

  test.skipIf(reason !== undefined)('the second command runs tests', { timeout: 900_000 }, async () => {
    expect(firstCommands[1]).toBe('npm test');
    const { code, stdout } = await run('npm test -- source/text');
    expect({ code, closing: stdout.trim().split('\n').at(-1) }).toEqual({
      code: 0,
      closing: expect.stringMatching(/^\d+ passed, 0 failed/),
    });
  });

  test.skipIf(reason !== undefined)('it is installed, and prints what the README shows', { timeout: 900_000 }, async () => {
    expect(await run(installCommands)).toMatchObject({ code: 0 });
    expect(shown.length).toBeGreaterThan(1);
    for (const { command, output } of shown) {
      const { code, stdout, stderr } = await run(command);
      expect({ command, code, stderr: withoutWaits(stderr) }).toEqual({ command, code: 0, stderr: '' });
      // Ages change from run to run.
      const ageless = (lines: readonly string[]) => lines.map((line) => line.replace(/\d+/g, '0').trimEnd());
      expect(ageless(stdout.trim().split('\n'))).toEqual(ageless(output));
    }
  });
});
