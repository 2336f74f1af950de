import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type AskpassSocket, openAskpassSocket, type SshQuestion } from './askpass-socket.ts';

const program = join(import.meta.dirname, '../../../bin/askpass');
let folder: string;
let socket: AskpassSocket;
let asked: SshQuestion[];
let answers: (string | undefined)[];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'qd-ask-'));
  asked = [];
  answers = [];
  socket = await openAskpassSocket(folder, program, async (question, signal) => {
    asked.push(question);
    if (question.kind !== 'touch') return answers.shift();
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    return undefined;
  });
});
afterEach(async () => {
  socket.close();
  await rm(folder, { recursive: true, force: true });
});

/** Sends the prompt as ssh does. */
function ask(prompt: string, hint?: string) {
  const env = {
    ...process.env,
    ...socket.env,
    QUARTERDECK_NODE: process.execPath,
    ...(hint !== undefined && { SSH_ASKPASS_PROMPT: hint }),
  };
  const child = spawn(program, [prompt], { env, stdio: ['ignore', 'pipe', 'ignore'] });
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
  });
  const ended = new Promise<{ code: number | null; printed: string }>((resolve) =>
    child.once('close', (code) => resolve({ code, printed })),
  );
  return { child, ended };
}

it('hands a secret over as it was typed, and ends with 1 where there is none', async () => {
  answers = ['a "b" \\ é', undefined];
  expect(await ask("op@nas's password: ").ended).toEqual({ code: 0, printed: 'a "b" \\ é\n' });
  expect(await ask('Enter PIN for ED25519-SK key /home/op/.ssh/id_ed25519_sk: ').ended).toEqual({ code: 1, printed: '' });
  expect(asked).toEqual([
    { kind: 'secret', lines: ["op@nas's password:"] },
    { kind: 'secret', lines: ['Enter PIN for ED25519-SK key /home/op/.ssh/id_ed25519_sk:'] },
  ]);
});

it('says that an answer was wrong where ssh only asks again', async () => {
  answers = ['one', 'two', 'yes'];
  const prompt = "Enter passphrase for key '/home/op/.ssh/id': ";
  await ask(prompt).ended;
  await ask(prompt).ended;
  expect(asked[1]).toEqual({ kind: 'secret', lines: ['The answer was not accepted.', "Enter passphrase for key '/home/op/.ssh/id':"] });
});

it('keeps the key in sight when a fingerprint was another one', async () => {
  answers = ['SHA256:other', 'no'];
  const key = "The authenticity of host 'nas' can't be established.\nED25519 key fingerprint is SHA256:abc.\n";
  await ask(`${key}Are you sure you want to continue connecting (yes/no/[fingerprint])? `).ended;
  await ask("Please type 'yes', 'no' or the fingerprint: ").ended;
  expect(asked.map(({ kind }) => kind)).toEqual(['hostKey', 'hostKey']);
  expect(asked[1]?.lines).toEqual(['The fingerprint does not match the host key.', ...(asked[0]?.lines ?? [])]);
  expect(asked[1]?.lines.join(' ')).toContain('SHA256:abc');
});

it('tells a key that may be used from one that waits to be touched, until ssh no longer waits', async () => {
  answers = ['yes'];
  expect(await ask('Allow use of key id_ed25519?', 'confirm').ended).toEqual({ code: 0, printed: 'yes\n' });
  const { child, ended } = ask('Confirm user presence for key ED25519-SK SHA256:abc', 'none');
  await expect.poll(() => asked.length, { timeout: 15_000 }).toBe(2);
  expect(asked.map(({ kind }) => kind)).toEqual(['confirm', 'touch']);
  child.kill();
  await ended;
});

it('ends with 1 when nobody listens any more', async () => {
  socket.close();
  expect((await ask('password: ').ended).code).toBe(1);
});
