import { describe, expect, test } from 'vitest';
import { ContainerFiles } from './container-files.ts';
import { Shell } from './shell.ts';

async function run(script: string, stdin = ''): Promise<{ code: number; out: string; err: string }> {
  let out = '';
  let err = '';
  const files = new ContainerFiles();
  files.write('/etc/motd', 'one\ntwo\nthree\n', 0);
  const shell = new Shell({
    write: (text, stream) => {
      if (stream === 'stdout') out += text;
      else err += text;
    },
    stdin: async () => stdin,
    environment: new Map([['NAME', 'a b']]),
    files,
    hostname: 'box',
    processes: ['init'],
    size: { rows: 24, columns: 80 },
    signal: AbortSignal.timeout(5_000),
    now: () => 0,
    exec: (argv) => (argv[0] === 'own' ? Promise.resolve({ exitCode: 9, stdout: `${argv.length}\n`, stderr: 'ü\n' }) : undefined),
  });
  const code = await shell.run(script);
  return { code, out, err };
}

describe('the shell of practice containers', () => {
  test.each([
    ['echo one; echo two', 'one\ntwo\n'],
    ['echo "$NAME" $NAME \'$NAME\'', 'a b a b $NAME\n'],
    ['i=3; i=$((i+4)); echo $i ${i}', '7 7\n'],
    ['false || echo other; true && echo both', 'other\nboth\n'],
    ['false && echo never; echo $?', '1\n'],
    ['cat /etc/motd | head -n 2', 'one\ntwo\n'],
    ['cat /etc/motd | grep t | wc -l', '2\n'],
    ['echo $(hostname)-x', 'box-x\n'],
    ['if [ -f /etc/motd ]; then echo there; else echo away; fi', 'there\n'],
    ['i=0; while [ $i -lt 3 ]; do i=$((i+1)); echo $i; done', '1\n2\n3\n'],
    ["printf '\\303\\251%s\\n' x", '\u00c3\u00a9x\n'],
    ['echo kept > /tmp/f; echo more >> /tmp/f; cat /tmp/f; echo lost > /dev/null', 'kept\nmore\n'],
    ['cd /etc && pwd && ls | head -n 1', '/etc\nhosts\n'.replace('hosts', 'motd')],
    ['cat; echo done', 'typed\ndone\n'],
  ])('%s', async (script, out) => {
    expect(await run(script, 'typed\n')).toMatchObject({ out, err: '' });
  });

  test('keeps the streams apart and the exit code', async () => {
    expect(await run('echo out; echo err >&2; exit 4; echo never')).toEqual({ code: 4, out: 'out\n', err: 'err\n' });
    expect(await run('ls /nowhere 2>&1')).toEqual({ code: 1, out: 'ls: /nowhere: No such file or directory\n', err: '' });
  });

  test('runs programs of the image, and says which it does not have', async () => {
    expect(await run('own a "b c"')).toEqual({ code: 9, out: '3\n', err: Buffer.from('ü\n').toString('latin1') });
    expect(await run('nothing here')).toEqual({ code: 127, out: '', err: 'sh: nothing: not found\n' });
  });

  test.each(['echo "open', 'while true; do', 'if true; fi', '| cat', 'echo $('])(
    'a mistake is a sentence, and no endless loop: %s',
    async (script) => {
      const { code, err } = await run(script);
      expect(code).toBe(2);
      expect(err).toMatch(/^sh: syntax error/);
    },
  );

  test('ends with its container, in the middle of a loop', async () => {
    const ending = new AbortController();
    const shell = new Shell({
      write: () => ending.abort(),
      stdin: async () => '',
      environment: new Map(),
      files: new ContainerFiles(),
      hostname: '',
      processes: [],
      size: { rows: 1, columns: 1 },
      signal: ending.signal,
      now: () => 0,
      exec: () => undefined,
    });
    await expect(shell.run('while :; do echo again; sleep 60; done')).rejects.toMatchObject({ name: 'AbortError' });
  });
});
