import { expect, test } from 'vitest';
import { createFakeApp } from '../../../../test/doubles/console/fake-app.ts';
import { openHarness } from '../../../../test/doubles/console/harness.tsx';
import { HostQuestions } from '../../../app/host-questions.ts';
import type { SshQuestion } from '../../../hosts/ssh/askpass-socket.ts';

const password: SshQuestion = { kind: 'secret', lines: ["op@192.168.1.20's password:"] };
const key: SshQuestion = {
  kind: 'hostKey',
  lines: [
    "The authenticity of host 'vps' can't be established.",
    'ED25519 key fingerprint is SHA256:oJ2Nq.',
    'Are you sure you want to continue connecting (yes/no/[fingerprint])?',
  ],
};
const signal = new AbortController().signal;

async function harnessWithQuestions() {
  const questions = new HostQuestions();
  const screen = await openHarness({ app: { ...createFakeApp({}), questions } });
  return { questions, screen };
}

test('asks at once while nothing was pressed yet, masks what is typed, and then asks for the next host', async () => {
  const { questions, screen } = await harnessWithQuestions();
  const secret = questions.ask('nas', password, signal);
  const trusted = questions.ask('vps', key, signal);
  await screen.sees('Connect to nas', "op@192.168.1.20's password:");
  await screen.type('geheim');
  await screen.sees('••••••');
  expect(screen.frame()).not.toContain('geheim');
  await screen.press('enter');
  expect(await secret).toBe('geheim');
  await screen.sees('Connect to vps', 'Is this the host key of vps?', 'SHA256:oJ2Nq');
  await screen.type('y');
  await screen.press('enter');
  expect(await trusted).toBe('yes');
  await screen.misses('Connect to');
});

test('takes no keys away from who is doing something else: a line says who asks, and its key opens the question', async () => {
  const { questions, screen } = await harnessWithQuestions();
  await screen.press('/');
  await screen.type('va');
  const asked = questions.ask('nas', password, signal);
  await screen.sees('nas requests a password or a code.', 'a answers');
  await screen.type('ult');
  await screen.sees('vault');
  await screen.press('enter', 'a');
  await screen.sees('Connect to nas');
  await screen.misses('nas requests a password');
  await screen.type('geheim');
  await screen.press('enter');
  expect(await asked).toBe('geheim');
});

test('declines with Esc, and answers no to a host key with n', async () => {
  const { questions, screen } = await harnessWithQuestions();
  const asked = questions.ask('nas', password, signal);
  asked.catch(() => undefined);
  await screen.sees('Connect to nas');
  await screen.press('esc');
  await expect(asked).rejects.toMatchObject({ code: 'refused.login' });
  const trusted = questions.ask('vps', key, signal);
  await screen.sees('vps presents an unknown host key.');
  await screen.press('a');
  await screen.sees('Is this the host key of vps?');
  await screen.type('perhaps');
  await screen.press('enter');
  await screen.sees('Answer yes or no, or paste the fingerprint');
  await screen.press('ctrl+u');
  await screen.type('no');
  await screen.press('enter');
  expect(await trusted).toBe('no');
});

test('takes the question away when ssh no longer asks, and says that a key waits to be touched', async () => {
  const { questions, screen } = await harnessWithQuestions();
  const ending = new AbortController();
  void questions.ask('nas', password, ending.signal);
  await screen.sees('Connect to nas');
  ending.abort();
  await screen.misses('Connect to nas');
  const touching = new AbortController();
  void questions.ask('nas', { kind: 'touch', lines: ['Confirm user presence for key ED25519-SK'] }, touching.signal);
  await screen.sees('nas is waiting for you to touch the security key: Confirm user presence');
  touching.abort();
  await screen.misses('to be touched');
});

test('hands on the fingerprint that the key should have: ssh compares it', async () => {
  const { questions, screen } = await harnessWithQuestions();
  const trusted = questions.ask('vps', key, signal);
  await screen.sees('Is this the host key of vps?');
  await screen.paste('SHA256:oJ2Nq');
  await screen.press('enter');
  expect(await trusted).toBe('SHA256:oJ2Nq');
});

test('puts the next question of a host that was just answered at once, until another key is pressed', async () => {
  const { questions, screen } = await harnessWithQuestions();
  await screen.press('j');
  const first = questions.ask('nas', password, signal);
  await screen.press('a');
  await screen.sees('Connect to nas');
  await screen.type('wrong');
  await screen.press('enter');
  expect(await first).toBe('wrong');
  const again = questions.ask('nas', { kind: 'secret', lines: ['The answer was not accepted.', ...password.lines] }, signal);
  await screen.sees('Connect to nas', 'The answer was not accepted.');
  await screen.type('geheim');
  await screen.press('enter');
  expect(await again).toBe('geheim');
  await screen.press('j');
  const later = questions.ask('nas', password, signal);
  later.catch(() => undefined);
  await screen.sees('nas requests a password or a code.');
  await screen.misses('Connect to nas');
});
