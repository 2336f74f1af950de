import { beforeEach, expect, test, vi } from 'vitest';
import { inputStream, OutputStream, type TypingStream } from '../../test/doubles/streams.ts';
import { HostQuestions } from '../app/host-questions.ts';
import type { Operator } from '../session/session.ts';
import { answerOnTerminal } from './answer-hosts.ts';
import { Output } from './output.ts';
import { TextSink } from './shown-text.ts';
import { createTerminalOperator } from './terminal-operator.ts';

const password = { kind: 'secret', lines: ["op@nas's password:"] } as const;
const never = new AbortController().signal;
let input: TypingStream;
let stderr: OutputStream;
let questions: HostQuestions;
let operator: Operator;
beforeEach(() => {
  input = inputStream({ terminal: true });
  const stdout = new OutputStream({ columns: 80 });
  stderr = new OutputStream({ columns: 80 });
  const output = new Output({ stdout: stdout as never, stderr: stderr as never, env: { NO_COLOR: '1', LANG: 'C.UTF-8' } });
  const streams = { stdin: input as never, stdout: stdout as never, stderr: stderr as never, output };
  questions = new HostQuestions();
  operator = createTerminalOperator({ ...streams, sink: new TextSink(output), yes: false });
  answerOnTerminal(questions, streams, never);
});
const sees = (text: string) => vi.waitFor(() => expect(stderr.text).toContain(text));

test('a connection that is made anew asks when the flow has its answer, and takes none of it', async () => {
  const confirmed = operator.confirm({ id: 'delete', title: 'Delete all of it?', consequences: [] }, never);
  await sees('Continue? [y/N]');
  const given = questions.ask('nas', password, never);
  input.write('n');
  expect(stderr.text).not.toContain('password');
  input.write('\r');
  expect(await confirmed).toBe(false);
  await sees("op@nas's password:");
  input.write('geheim\r');
  expect(await given).toBe('geheim');
  expect(stderr.text).not.toContain('geheim');
});

test('a flow waits with its question, and with how far it is, while a password is typed', async () => {
  const given = questions.ask('nas', password, never);
  await sees("op@nas's password:");
  const asked = operator.ask({ kind: 'text', id: 'name', label: 'What do you call it' }, never);
  operator.progress({ id: 'pull', label: 'pulling', fraction: 0.5 });
  input.write('geheim');
  expect(stderr.text).not.toMatch(/What do you call it|pulling/);
  input.write('\r');
  expect(await given).toBe('geheim');
  await sees('What do you call it: ');
  input.write('cupboard\r');
  expect(await asked).toBe('cupboard');
});

test('fields of a form are asked one by one, and a password comes between two of them', async () => {
  const field = (id: string) => ({ id, label: `The ${id}`, kind: 'text' as const, value: '', required: true });
  const filled = operator.fill({ title: 'A form', fields: [field('first'), field('second')] } as never, never);
  await sees('The first');
  const given = questions.ask('nas', password, never);
  input.write('one\r');
  await sees("op@nas's password:");
  expect(stderr.text).not.toContain('The second');
  input.write('geheim\r');
  expect(await given).toBe('geheim');
  await sees('The second');
  input.write('two\r');
  expect(await filled).toEqual({ first: 'one', second: 'two' });
});

test('a question that ssh withdraws while it waits for its turn is never put', async () => {
  const confirmed = operator.confirm({ id: 'delete', title: 'Delete all of it?', consequences: [] }, never);
  await sees('Continue? [y/N]');
  const leaving = new AbortController();
  const given = questions.ask('nas', password, leaving.signal);
  leaving.abort();
  expect(await given).toBeUndefined();
  input.write('y\r');
  expect(await confirmed).toBe(true);
  expect(stderr.text).not.toContain('password');
});

test('a question that ssh withdraws while it is answered says so', async () => {
  const leaving = new AbortController();
  const given = questions.ask('nas', password, leaving.signal);
  await sees("op@nas's password:");
  input.write('geh');
  leaving.abort();
  expect(await given).toBeUndefined();
  await sees('nas: ssh is no longer waiting for this answer.');
  const next = questions.ask('nas', password, never);
  await vi.waitFor(() => expect(stderr.text.match(/op@nas's password:/g)).toHaveLength(2));
  input.write('geheim\r');
  expect(await next).toBe('geheim');
  expect(stderr.text.match(/no longer waiting/g)).toHaveLength(1);
});

test('a question that was declined with Ctrl-C writes nothing more when its connection ends', async () => {
  const ending = new AbortController();
  const given = questions.ask('nas', { kind: 'hostKey', lines: ['ED25519 key fingerprint is SHA256:abc.'] }, ending.signal);
  given.catch(() => {});
  await sees('Is this the host key?');
  input.write('\x03');
  await expect(given).rejects.toMatchObject({ code: 'refused.hostKey' });
  const before = stderr.text;
  ending.abort();
  expect(stderr.text).toBe(before);
});
