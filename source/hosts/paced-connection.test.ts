import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { openLocalHost } from './local-host.ts';

let folder: string;
let server: Server;
/** The remote end. */
let remote: Promise<Socket>;
let near: Duplex;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'qd-paced-'));
  const connected = Promise.withResolvers<Socket>();
  remote = connected.promise;
  server = createServer((socket) => connected.resolve(socket));
  await new Promise<void>((resolve) => server.listen(join(folder, 's'), resolve));
  near = await openLocalHost().dial({ socket: join(folder, 's') }, AbortSignal.timeout(10_000), { paced: true });
});
afterEach(async () => {
  near.destroy();
  (await remote).destroy();
  server.close();
  await rm(folder, { recursive: true, force: true });
});

test('many small pieces come as few, whole and in order, and the end behind them', async () => {
  const socket = await remote;
  const count = 5000;
  let pieces = 0;
  let text = '';
  near.on('data', (piece: Buffer) => {
    pieces++;
    text += piece.toString('latin1');
  });
  for (let number = 0; number < count; number++) {
    // As an engine does: one write per line.
    if (!socket.write(`${String(number).padStart(8, '0')}\n`)) await new Promise((resolve) => socket.once('drain', resolve));
  }
  socket.end();
  await new Promise((resolve) => near.once('end', resolve));
  expect(text.split('\n').slice(0, -1).map(Number)).toEqual(Array.from({ length: count }, (_, number) => number));
  expect(pieces).toBeLessThan(count / 10);
});

test('what nobody takes is not read: the far end is held up', async () => {
  const socket = await remote;
  const piece = Buffer.alloc(16 * 1024, 'x');
  let writtenBytes = 0;
  while (writtenBytes < 8 * 1024 * 1024 && socket.write(piece)) writtenBytes += piece.length;
  await vi.waitFor(() => expect(near.readableLength).toBeGreaterThan(0));
  expect(near.readableLength).toBeLessThan(1024 * 1024);
  expect(socket.writableLength).toBeGreaterThan(0);
  let readBytes = 0;
  near.on('data', (taken: Buffer) => {
    readBytes += taken.length;
  });
  socket.end();
  await new Promise((resolve) => near.once('end', resolve));
  expect(readBytes).toBe(socket.bytesWritten);
});

test('what was sent before the end is there for whoever comes later', async () => {
  const socket = await remote;
  socket.end(Buffer.alloc(40_000, 'x'));
  await vi.waitFor(() => expect(near.readableLength).toBe(40_000));
  await new Promise((resolve) => server.close(resolve));
  let readBytes = 0;
  near.on('data', (taken: Buffer) => {
    readBytes += taken.length;
  });
  await new Promise((resolve) => near.once('end', resolve));
  expect(readBytes).toBe(40_000);
});

test('what is asked arrives, and a far end that breaks off ends it', async () => {
  const socket = await remote;
  near.write('question');
  const [asked] = await new Promise<Buffer[]>((resolve) => socket.once('data', (data: Buffer) => resolve([data])));
  expect(String(asked)).toBe('question');
  near.resume();
  const closed = new Promise((resolve) => near.once('close', resolve));
  socket.destroy();
  await closed;
});

test('whoever leaves leaves the far end too', async () => {
  const socket = await remote;
  socket.resume();
  const closed = new Promise((resolve) => socket.once('close', resolve));
  near.destroy();
  await closed;
});
