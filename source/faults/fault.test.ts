import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { messageOf } from './fault.ts';

const thrownBy = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );

test('what the system refuses is said in words, without its error code', async () => {
  const missing = await thrownBy(readFile('/nonexistent/file'));
  expect(missing).toMatchObject({ message: expect.stringContaining('ENOENT') });
  expect(messageOf(missing)).toBe('no such file or directory');
  const refused = await new Promise((resolve) => connect(1, '127.0.0.1').on('error', resolve));
  expect(refused).toMatchObject({ message: expect.stringContaining('ECONNREFUSED') });
  expect(messageOf(refused)).toBe('connection refused');
});

test('several attempts that failed say why the last one did', async () => {
  const refused = await new Promise((resolve) => connect({ host: 'localhost', port: 1, autoSelectFamily: true }).on('error', resolve));
  expect(messageOf(new AggregateError([refused, refused], ''))).toBe('connection refused');
});

test('other messages are left as they are, but for their first line', () => {
  expect(messageOf(new Error('one\ntwo'))).toBe('one');
  expect(messageOf(Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' }))).toBe('socket hang up');
  expect(messageOf('text')).toBe('text');
});
