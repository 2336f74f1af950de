import { getEventListeners } from 'node:events';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { expect, it } from 'vitest';
import { mintGrant } from '../grants/mint.ts';
import { pipeProgram } from './piped-program.ts';

const grant = (signal = AbortSignal.timeout(10_000)) => mintGrant('test', 'operate', signal);

it('keeps what a program wrote until somebody reads it, also when the program is long gone', async () => {
  const program = await pipeProgram(grant(), ['sh', '-c', 'printf here; exit 3']);
  await expect(program.ended).resolves.toMatchObject({ exitCode: 3 });
  expect(await text(program.stdout)).toBe('here');
});

it('passes on more than memory should hold, at the pace of its reader', async () => {
  const program = await pipeProgram(grant(), ['cat']);
  const block = Buffer.alloc(1024 * 1024, 'x');
  const writing = pipeline(Readable.from(Array.from({ length: 64 }, () => block)), program.stdin);
  let bytes = 0;
  for await (const chunk of program.stdout) bytes += (chunk as Buffer).length;
  await writing;
  expect(bytes).toBe(64 * 1024 * 1024);
  expect((await program.ended).exitCode).toBe(0);
});

it('ends with its grant', async () => {
  const ending = new AbortController();
  const program = await pipeProgram(grant(ending.signal), ['sh', '-c', 'sleep 60 & wait']);
  ending.abort(new Error('enough'));
  await expect(program.ended).rejects.toThrow('enough');
});

it('says why a program that stopped reading did so', async () => {
  const program = await pipeProgram(grant(), ['sh', '-c', 'echo "no space left" >&2; exit 1']);
  program.stdout.resume();
  await pipeline(Readable.from([Buffer.alloc(4 * 1024 * 1024)]), program.stdin).catch(() => undefined);
  expect(await program.ended).toEqual({ exitCode: 1, stderr: 'no space left\n' });
});

it('names a program that is not there', async () => {
  await expect(pipeProgram(grant(), ['no-such-program-here'])).rejects.toMatchObject({ code: 'unreachable.program' });
});

it('blames the folder where that is what is missing', async () => {
  const grant = mintGrant('test', 'operate', AbortSignal.timeout(10_000));
  await expect(pipeProgram(grant, ['true'], { cwd: '/nonexistent/stack' })).rejects.toMatchObject({
    code: 'unreachable.program',
    message: 'true cannot be started in /nonexistent/stack: folder not found.',
  });
  await expect(pipeProgram(grant, ['quarterdeck-no-such-program'], { cwd: '/' })).rejects.toMatchObject({
    message: 'quarterdeck-no-such-program cannot be started: program not found.',
    remedy: expect.stringContaining('PATH'),
  });
});

it('leaves nothing on the signal of a program that cannot be started', async () => {
  const { signal } = new AbortController();
  await expect(pipeProgram({ signal }, ['quarterdeck-no-such-program'])).rejects.toMatchObject({ code: 'unreachable.program' });
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});
