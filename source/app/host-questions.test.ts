import { expect, it } from 'vitest';
import { HostQuestions } from './host-questions.ts';

const password = { kind: 'secret', lines: ["op@nas's password:"] } as const;
const key = {
  kind: 'hostKey',
  lines: ['The key is unknown.', 'ED25519 key fingerprint is SHA256:abc.', 'Go on (yes/no/[fingerprint])?'],
} as const;
const signal = new AbortController().signal;

it('refuses what Cannot prompt without a terminal, and says what was asked and how to answer it', async () => {
  const questions = new HostQuestions();
  await expect(questions.ask('nas', key, signal)).rejects.toMatchObject({
    code: 'refused.hostKey',
    message: expect.stringContaining('ED25519 key fingerprint is SHA256:abc.'),
    remedy: 'Answer the prompt once in a terminal: quarterdeck hosts check nas',
  });
  await expect(questions.ask('nas', password, signal)).rejects.toMatchObject({
    code: 'refused.login',
    message: expect.stringContaining("op@nas's password"),
  });
});

it('puts one question after the other, and refuses the one that is declined', async () => {
  const questions = new HostQuestions();
  const stop = questions.subscribe(() => {});
  const first = questions.ask('nas', password, signal);
  const second = questions.ask('vps', key, signal);
  expect(questions.first).toMatchObject({ host: 'nas' });
  questions.first?.answer('geheim');
  expect(await first).toBe('geheim');
  expect(questions.first).toMatchObject({ host: 'vps' });
  questions.first?.answer(undefined);
  await expect(second).rejects.toMatchObject({ code: 'refused.hostKey', message: expect.stringContaining('the prompt was declined') });
  const third = questions.ask('nas', password, signal);
  stop();
  await expect(third).rejects.toMatchObject({ code: 'refused.login' });
});

it('takes a question away that ssh no longer asks', async () => {
  const questions = new HostQuestions();
  questions.subscribe(() => {});
  const ending = new AbortController();
  const asked = questions.ask('nas', password, ending.signal);
  ending.abort();
  expect(await asked).toBeUndefined();
  expect(questions.first).toBeUndefined();
});

it('keeps no other question waiting for a key that is to be touched, and refuses none because nobody is there', async () => {
  const questions = new HostQuestions();
  const ending = new AbortController();
  const touch = questions.ask('nas', { kind: 'touch', lines: ['Confirm user presence for key'] }, ending.signal);
  questions.subscribe(() => {});
  const second = questions.ask('vps', password, signal);
  expect(questions.first).toMatchObject({ host: 'vps' });
  questions.first?.answer('geheim');
  expect(await second).toBe('geheim');
  ending.abort();
  expect(await touch).toBeUndefined();
});
