import { expect, test } from 'vitest';
import { dialledHost, isLoopback, isOwnAddress, namesLoopback, replaceLoopback } from './loopback.ts';

test.each([
  ['localhost', true],
  ['LOCALHOST', true],
  ['127.0.0.1', true],
  ['127.255.0.9', true],
  ['::1', true],
  ['[::1]', true],
  ['0:0:0:0:0:0:0:1', true],
  ['localhost.evil', false],
  ['evil.localhost.example.org', false],
  ['notlocalhost', false],
  ['127.evil', false],
  ['127.0.0.1.evil', false],
  ['127.1', false],
  ['128.0.0.1', false],
  ['::1.evil', false],
  ['::11', false],
  ['0.0.0.0', false],
  ['', false],
])('the host %j is loopback: %s', (host, expected) => {
  expect(isLoopback(host)).toBe(expected);
  for (const address of [`https://${host}`, `http://${host}:8080/x`, `postgres://me:pw@${host}/db`, `${host}:80`])
    expect([address, namesLoopback(address)]).toEqual([address, expected]);
});

test('an address leaves the loopback and keeps the rest', () => {
  expect(replaceLoopback('http://localhost:80/localhost', 'host-gateway')).toBe('http://host-gateway:80/localhost');
  expect(replaceLoopback('http://localhost.evil:80', 'host-gateway')).toBe('http://localhost.evil:80');
});

test('all addresses are the own ones, and are dialled on loopback', () => {
  for (const address of ['', '*', '0.0.0.0', '::', '[::]', '127.0.0.1', 'localhost']) expect(isOwnAddress(address)).toBe(true);
  for (const address of ['192.168.1.2', 'localhost.evil', '::2']) expect(isOwnAddress(address)).toBe(false);
  expect(['', '0.0.0.0', '::', '10.0.0.1', '127.0.0.2'].map(dialledHost)).toEqual([
    '127.0.0.1',
    '127.0.0.1',
    '::1',
    '10.0.0.1',
    '127.0.0.2',
  ]);
});
