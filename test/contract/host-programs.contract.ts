import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { mintGrant } from '../../source/grants/mint.ts';
import type { ExecOptions, Host } from '../../source/hosts/host.ts';

export interface HostUnderTest {
  host: Host;
  /** An empty folder on that host, which this process can look into as well. */
  folder: string;
}

const soon = (limitMs = 20_000) => AbortSignal.timeout(limitMs);
const allBytes = Uint8Array.from({ length: 256 }, (_, byte) => byte);

/** Is there a process with this word among its arguments? */
async function isRunning(host: Host, word: string): Promise<boolean> {
  const { stdout } = await host.exec(['ps', '-eo', 'args='], { signal: soon(), limitMs: 10_000 });
  return Buffer.from(stdout)
    .toString()
    .split('\n')
    .some((line) => line.includes(word) && !line.includes('ps -eo'));
}

/** What running programs on a host means, whether it is this machine or another one. */
export function programContract(subject: () => HostUnderTest): void {
  const exec = async (argv: readonly string[], options: Partial<ExecOptions> = {}) => {
    const outcome = await subject().host.exec(argv, { signal: soon(), limitMs: 15_000, ...options });
    return { ...outcome, stdout: Buffer.from(outcome.stdout).toString(), stderr: Buffer.from(outcome.stderr).toString() };
  };

  describe('a program', () => {
    test('answers on both streams and with its exit code', async () => {
      expect(await exec(['sh', '-c', 'echo out; echo err >&2; exit 3'])).toEqual({
        exitCode: 3,
        stdout: 'out\n',
        stderr: 'err\n',
        cut: false,
      });
      expect(await exec(['true'])).toMatchObject({ exitCode: 0, stdout: '', stderr: '' });
      expect((await exec(['printf', 'no newline'])).stdout).toBe('no newline');
    });

    test('that is ended by a signal answers 128 and its number', async () => {
      expect((await exec(['sh', '-c', 'kill -9 $$'])).exitCode).toBe(137);
      expect((await exec(['sh', '-c', 'kill -TERM $$'])).exitCode).toBe(143);
    });

    test('gets its arguments as they are', async () => {
      const odd = [
        '',
        ' two  spaces ',
        "it's",
        '"quoted"',
        '$HOME',
        '`id`',
        '$(id)',
        '*',
        'back\\slash\\n',
        'a\nb',
        '-n',
        '--',
        'é€😀',
        '!x',
        '%s',
        '\t',
        ';|&<>',
      ];
      const { stdout } = await exec(['sh', '-c', `for a; do printf '%s\\000' "$a"; done`, 'sh', ...odd]);
      expect(stdout.split('\0').slice(0, -1)).toEqual(odd);
    });

    test('gets its environment as it is, on top of what a login has', async () => {
      const env = { ODD: 'a\nb\n', QUOTED: `'"$HOME\`\\ é`, EMPTY: '' };
      const { stdout } = await exec(['sh', '-c', `printf '%s|' "$ODD" "$QUOTED" "\${EMPTY-none}" "\${HOME:+home}"`], { env });
      expect(stdout).toBe(`a\nb\n|'"$HOME\`\\ é||home|`);
    });

    test('runs in the folder that is given', async () => {
      const cwd = join(subject().folder, `-od d'\n"é`);
      await mkdir(cwd, { recursive: true });
      expect((await exec(['sh', '-c', 'printf %s "$PWD"'], { cwd })).stdout).toBe(cwd);
    });

    test('reads all bytes from its input, few and many, and none where there are none', async () => {
      expect((await exec(['wc', '-c'])).stdout.trim()).toBe('0');
      for (const input of [allBytes, Uint8Array.from(randomBytes(30_000)), Uint8Array.from(randomBytes(3_000_000))]) {
        const { stdout } = await exec(['sha256sum'], { stdin: input });
        expect(stdout.split(' ')[0]).toBe(createHash('sha256').update(input).digest('hex'));
      }
    });

    test('may leave its input unread', async () => {
      expect((await exec(['sh', '-c', 'exec 0<&-; echo done'], { stdin: 'x'.repeat(20_000) })).stdout).toBe('done\n');
      expect((await exec(['sh', '-c', 'exec 0<&-; echo done'], { stdin: new Uint8Array(2_000_000) })).stdout).toBe('done\n');
    });

    test('may say any bytes, and more than is kept', async () => {
      const script = 'i=0; while [ $i -lt 256 ]; do printf "\\\\$(printf %03o $i)"; i=$((i+1)); done';
      const { stdout } = await subject().host.exec(['sh', '-c', script], { signal: soon(), limitMs: 10_000 });
      expect(Buffer.from(stdout).equals(Buffer.from(allBytes))).toBe(true);
      const many = await exec(['sh', '-c', 'head -c 5000000 /dev/zero | tr "\\000" x'], { limitBytes: 1000 });
      expect(many).toMatchObject({ exitCode: 0, stdout: 'x'.repeat(1000), cut: true });
      expect(await exec(['echo', 'the next one'])).toMatchObject({ stdout: 'the next one\n' });
    });

    test('that is not there, or whose folder is not, is told as such', async () => {
      await expect(exec(['no-such-program-anywhere'])).rejects.toMatchObject({
        code: 'unreachable.program',
        message: expect.stringContaining('program not found'),
      });
      await expect(exec(['true'], { cwd: join(subject().folder, 'none') })).rejects.toMatchObject({ code: 'unreachable.program' });
    });

    test('that takes too long is ended with its children', async () => {
      const word = `3${randomBytes(3).readUIntBE(0, 3)}`;
      await expect(exec(['sh', '-c', `sleep ${word} & sleep ${word}; :`], { limitMs: 700 })).rejects.toMatchObject({
        code: 'failed.limit',
      });
      await expect.poll(() => isRunning(subject().host, word), { timeout: 10_000, interval: 100 }).toBe(false);
    });

    test('that is called off is ended with its children, also when it does not want to', async () => {
      const word = `3${randomBytes(3).readUIntBE(0, 3)}`;
      const ending = new AbortController();
      const running = exec(['sh', '-c', `trap '' TERM; sleep ${word} & sleep ${word}; sleep ${word}`], { signal: ending.signal });
      await expect.poll(() => isRunning(subject().host, word), { timeout: 10_000, interval: 100 }).toBe(true);
      ending.abort(new Error('no more'));
      await expect(running).rejects.toThrow('no more');
      await expect.poll(() => isRunning(subject().host, word), { timeout: 10_000, interval: 100 }).toBe(false);
      expect((await exec(['echo', 'next'])).stdout).toBe('next\n');
    });

    test('that leaves something running in the background does not hold us, nor speak into the next answer', async () => {
      await exec(['sh', '-c', '(sleep 0.2; echo late; echo late; echo late) & echo done']);
      const answers = await Promise.all(Array.from({ length: 8 }, (_, index) => exec(['sh', '-c', `sleep 0.4; echo ${index}`])));
      expect(answers.map(({ stdout }) => stdout)).toEqual(Array.from({ length: 8 }, (_, index) => `${index}\n`));
    });

    test('ends with the grant under which it runs', async () => {
      const word = `3${randomBytes(3).readUIntBE(0, 3)}`;
      const ending = new AbortController();
      const grant = mintGrant('test', 'destroy', ending.signal);
      const running = subject().host.run(grant, ['sleep', word], { signal: soon(), limitMs: 15_000 });
      await expect.poll(() => isRunning(subject().host, word), { timeout: 10_000, interval: 100 }).toBe(true);
      ending.abort(new Error('it is over'));
      await expect(running).rejects.toThrow('it is over');
      await expect.poll(() => isRunning(subject().host, word), { timeout: 10_000, interval: 100 }).toBe(false);
    });

    test('shows its secrets in no list of processes (R33)', async () => {
      const secret = `s3cr3t-${randomBytes(6).toString('hex')}`;
      const file = join(subject().folder, 'seen');
      await exec(['sh', '-c', `ps -eo args= >'${file}'; cat >/dev/null`], { env: { TOKEN: secret }, stdin: secret });
      expect(await readFile(file, 'utf8')).not.toContain(secret);
    });
  });

  describe('a program whose streams flow', () => {
    const open = (argv: readonly string[], signal = soon(60_000)) => subject().host.pipe(mintGrant('test', 'destroy', signal), argv);

    test('takes and gives 50 MB', async () => {
      const sizeBytes = 50 * 1024 * 1024;
      const block = randomBytes(1024 * 1024);
      const there = createHash('sha256');
      const back = createHash('sha256');
      const piped = await open(['cat']);
      const read = (async () => {
        let length = 0;
        for await (const chunk of piped.stdout) {
          back.update(chunk as Buffer);
          length += (chunk as Buffer).length;
        }
        return length;
      })();
      for (let sent = 0; sent < sizeBytes; sent += block.length) {
        there.update(block);
        if (!piped.stdin.write(block)) await once(piped.stdin, 'drain');
      }
      piped.stdin.end();
      expect(await read).toBe(sizeBytes);
      expect(back.digest('hex')).toBe(there.digest('hex'));
      expect(await piped.ended).toMatchObject({ exitCode: 0 });
    });

    test('says its exit code and the end of what it complained about', async () => {
      const piped = await open(['sh', '-c', 'echo out; yes complaint | head -c 100000 >&2; echo last >&2; exit 7']);
      piped.stdin.end();
      let said = '';
      for await (const chunk of piped.stdout) said += chunk;
      const { exitCode, stderr } = await piped.ended;
      expect({ said, exitCode }).toEqual({ said: 'out\n', exitCode: 7 });
      expect(stderr).toMatch(/complaint\nlast\n$/);
      expect(stderr.length).toBeLessThanOrEqual(16 * 1024);
    });

    test('waits while nobody reads', async () => {
      const piped = await open([
        'sh',
        '-c',
        `i=0; while [ $i -lt 300 ]; do head -c 100000 /dev/zero; i=$((i+1)); echo $i >'${subject().folder}/count'; done`,
      ]);
      piped.stdin.end();
      const counted = async () => Number(await readFile(join(subject().folder, 'count'), 'utf8').catch(() => '0'));
      let before = -1;
      await vi.waitUntil(
        async () => {
          const now = await counted();
          const isStill = now === before && now > 0;
          before = now;
          return isStill;
        },
        { timeout: 15_000, interval: 500 },
      );
      expect(before).toBeLessThan(290);
      let length = 0;
      for await (const chunk of piped.stdout) length += (chunk as Buffer).length;
      expect(length).toBe(30_000_000);
    });

    test('ends there when it is called off', async () => {
      const word = `3${randomBytes(3).readUIntBE(0, 3)}`;
      const ending = new AbortController();
      const piped = await open(['sh', '-c', `echo go; sleep ${word} & sleep ${word}`], ending.signal);
      await once(piped.stdout, 'data');
      ending.abort(new Error('no more'));
      await expect(piped.ended).rejects.toThrow('no more');
      await expect.poll(() => isRunning(subject().host, word), { timeout: 10_000, interval: 100 }).toBe(false);
    });

    test('that is not there is told as such', async () => {
      await expect(open(['no-such-program-anywhere'])).rejects.toMatchObject({ code: 'unreachable.program' });
    });
  });
}
