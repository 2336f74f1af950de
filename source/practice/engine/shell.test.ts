import { describe, expect, test } from 'vitest';
import { ContainerFiles } from './container-files.ts';
import { runScript, type ShellContext } from './shell.ts';

const context = (more: Partial<ShellContext>): ShellContext => ({
  write: () => {},
  stdin: async () => '',
  environment: { NAME: 'a b' },
  files: new ContainerFiles(),
  processes: ['init'],
  size: { rows: 24, columns: 80 },
  signal: AbortSignal.timeout(5_000),
  exec: async () => undefined,
  ...more,
});

async function run(script: string, stdin = ''): Promise<{ code: number; out: string; err: string }> {
  const said = { stdout: '', stderr: '' };
  const files = new ContainerFiles();
  files.write('/etc/motd', 'one\ntwo\nthree\n', 0);
  const running = context({
    write: (text, stream) => {
      said[stream] += text;
    },
    stdin: async () => stdin,
    files,
    exec: async (argv) => (argv[0] === 'own' ? { exitCode: 9, stdout: `${argv.length}\n`, stderr: 'ü\n' } : undefined),
  });
  const { code } = await runScript(script, running);
  return { code, out: said.stdout, err: said.stderr };
}

describe('the shell of practice containers', () => {
  test.each([
    ['echo one; echo two', 'one\ntwo\n'],
    ['echo "$NAME \'x\'" \'$NAME\' "" $NONE.', "a b 'x' $NAME  .\n"],
    ['cat /etc/motd', 'one\ntwo\nthree\n'],
    ["printf 'é%s\\n' x", 'éx\n'],
    ['ls /etc', 'motd\n'],
    ['cat; echo done', 'typed\ndone\n'],
  ])('%s', async (script, out) => {
    expect(await run(script, 'typed\n')).toMatchObject({ out, err: '' });
  });

  test('keeps the streams apart and the exit code', async () => {
    expect(await run('echo out; echo err >&2; exit 4; echo never')).toEqual({ code: 4, out: 'out\n', err: 'err\n' });
    expect(await run('ls /nowhere')).toEqual({ code: 1, out: '', err: 'ls: /nowhere: No such file or directory\n' });
  });

  test('runs programs of the image, and says which it does not have', async () => {
    expect(await run('own a "b c"')).toEqual({ code: 9, out: '3\n', err: 'ü\n' });
    expect(await run('nothing here')).toEqual({ code: 127, out: '', err: 'sh: nothing: not found\n' });
  });

  test.each(['echo "open', 'ls | cat', 'echo x > /etc/motd', 'true && echo x'])(
    'what it does not understand is a sentence: %s',
    async (script) => {
      const { code, err } = await run(script);
      expect(code).toBe(2);
      expect(err).toMatch(/^sh: syntax error/);
    },
  );

  test('ends with its container, in the middle of a list', async () => {
    const ending = new AbortController();
    const stopped = context({ write: () => ending.abort(), signal: ending.signal });
    await expect(runScript('echo once; sleep 60; echo again', stopped)).rejects.toMatchObject({ name: 'AbortError' });
  });
});
