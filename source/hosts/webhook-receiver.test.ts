import { createHmac } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { Worker } from 'node:worker_threads';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Grant } from '../grants/grant.ts';
import { checkSignature, type Delivery, type RejectedRequest, WebhookReceiver } from './webhook-receiver.ts';

const secret = 'shared-by-both-4711';
const signatureOf = (body: string | Buffer, key = secret) => createHmac('sha256', key).update(body).digest('hex');
const grant = { signal: new AbortController().signal } as Grant;

let receiver: WebhookReceiver;
let delivered: Delivery[];
let repeated: [path: string, firstMs: number][];
let turnedAway: RejectedRequest[];
beforeEach(async () => {
  receiver = await WebhookReceiver.open(grant, { address: '127.0.0.1', secret });
  [delivered, repeated, turnedAway] = [[], [], []];
  receiver.listen({
    delivered: (one) => delivered.push(one),
    repeated: (one, firstMs) => repeated.push([one.path, firstMs]),
    turnedAway: (one) => turnedAway.push(one),
  });
});
afterEach(() => receiver.close());

const send = (body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}, path = 'hook') =>
  fetch(`${receiver.url}${path}`, { method: 'POST', headers, body });

describe('a signature comes before everything (R46)', () => {
  test.each([
    ['X-Hub-Signature-256', (hex: string) => `sha256=${hex}`],
    ['X-Gitea-Signature', (hex: string) => hex],
    ['X-Any-Vendor-Signature', (hex: string) => hex.toUpperCase()],
  ])('%s with the right digest is taken (R46)', async (header, value) => {
    expect((await send('{"a":1}', { [header]: value(signatureOf('{"a":1}')) })).status).toBe(200);
    await vi.waitFor(() => expect(delivered).toHaveLength(1));
    expect(delivered[0]).toMatchObject({ path: '/hook', from: '127.0.0.1' });
    expect(delivered[0]?.body.toString()).toBe('{"a":1}');
  });

  test.each<[string, Record<string, string>, RejectedRequest['reason']]>([
    ['none', {}, 'no signature'],
    ['of another secret', { 'X-Hub-Signature-256': `sha256=${signatureOf('body', 'guessed')}` }, 'wrong signature'],
    ['of another body', { 'X-Hub-Signature-256': `sha256=${signatureOf('body ')}` }, 'wrong signature'],
    ['cut', { 'X-Hub-Signature-256': `sha256=${signatureOf('body').slice(0, 62)}` }, 'wrong signature'],
    ['empty', { 'X-Hub-Signature-256': '' }, 'wrong signature'],
    ['of an older kind', { 'X-Hub-Signature': `sha1=${createHmac('sha1', secret).update('body').digest('hex')}` }, 'wrong signature'],
    ['under another name', { 'X-Signature': signatureOf('body'), Signature: signatureOf('body') }, 'no signature'],
  ])('a signature that is %s is answered 401, and no handler hears of the body (R46)', async (_, headers, reason) => {
    expect((await send('body', headers)).status).toBe(401);
    expect(turnedAway).toEqual([{ from: '127.0.0.1', path: '/hook', reason }]);
    expect(delivered).toEqual([]);
  });

  test('an older kind beside the right one does not matter', async () => {
    const headers = { 'X-Hub-Signature': 'sha1=00', 'X-Hub-Signature-256': `sha256=${signatureOf('body')}` };
    expect((await send('body', headers)).status).toBe(200);
  });

  test('holds for these very bytes alone, whatever they are', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.uint8Array({ maxLength: 300 }), fc.string({ minLength: 1 }), (one, other, key) => {
        const headers = { 'x-hub-signature-256': `sha256=${signatureOf(Buffer.from(one), key)}` };
        expect(checkSignature(headers, Buffer.from(one), key)).toBe('right');
        if (Buffer.compare(one, other) !== 0) expect(checkSignature(headers, Buffer.from(other), key)).toBe('wrong');
      }),
    );
  });

  test('any value of the header is refused, and throws nothing', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom(...'0123456789abcdef') }), fc.array(fc.string())), (value) => {
        expect(checkSignature({ 'x-hub-signature-256': value as string }, Buffer.from('body'), secret)).toBe('wrong');
      }),
    );
  });
});

test('the 200 is there before the handler runs (R52)', async () => {
  // A client in another thread reports when it has its response; the handler in this thread blocks until then, and with it everything
  // here.
  const answered = new Int32Array(new SharedArrayBuffer(4));
  const seen: string[] = [];
  receiver.listen({
    delivered() {
      seen.push(Atomics.wait(answered, 0, 0, 10_000));
    },
    repeated() {},
    turnedAway() {},
  });
  const client = new Worker(
    `const { workerData: { answered, url, signature } } = require('node:worker_threads');
     const request = require('node:http').request(url, { method: 'POST', headers: { 'X-Hub-Signature-256': signature } }, ({ statusCode }) => {
       Atomics.store(answered, 0, statusCode);
       Atomics.notify(answered, 0);
     });
     request.end('body');`,
    { eval: true, workerData: { answered, url: receiver.url, signature: signatureOf('body') } },
  );
  await vi.waitFor(() => expect(seen).toHaveLength(1), { timeout: 15_000 });
  await client.terminate();
  expect(seen).not.toContain('timed-out');
  expect(Atomics.load(answered, 0)).toBe(200);
});

describe('the same signed body again', () => {
  const hook = (body: string, path?: string) => send(body, { 'X-Hub-Signature-256': `sha256=${signatureOf(body)}` }, path);

  test('is acknowledged, reported as a repeat under any path, and handled once', async () => {
    for (const path of ['hook', 'hook', 'other']) expect((await hook('{"a":1}', path)).status).toBe(200);
    expect((await hook('{"a":2}')).status).toBe(200);
    await vi.waitFor(() => expect([delivered.length, repeated.length]).toEqual([2, 2]));
    expect(delivered.map(({ body }) => body.toString())).toEqual(['{"a":1}', '{"a":2}']);
    expect(repeated).toEqual([
      ['/hook', delivered[0]?.receivedMs],
      ['/other', delivered[0]?.receivedMs],
    ]);
  });

  test('with both copies under way at once', async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => hook('body')));
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200));
    await vi.waitFor(() => expect([delivered.length, repeated.length]).toEqual([1, 9]));
  });

  test('a body that was refused is no first delivery', async () => {
    expect((await send('body', { 'X-Hub-Signature-256': signatureOf('body', 'guessed') })).status).toBe(401);
    expect((await hook('body')).status).toBe(200);
    await vi.waitFor(() => expect([delivered.length, repeated.length]).toEqual([1, 0]));
  });
});

describe('slow senders without a signature do not keep out the others', () => {
  const half = (body: string) =>
    `POST /hook HTTP/1.1\r\nHost: x\r\nX-Hub-Signature-256: ${signatureOf(body)}\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 2)}`;
  let sockets: Socket[];
  beforeEach(() => {
    sockets = [];
  });
  afterEach(() => {
    for (const socket of sockets) socket.destroy();
  });
  const slow = async (text: string, localAddress = '127.0.0.1') => {
    const socket = connect({ port: Number(new URL(receiver.url).port), host: '127.0.0.1', localAddress }).on('error', () => undefined);
    sockets.push(socket);
    await new Promise((resolve) => socket.once('connect', resolve));
    socket.write(text);
    return socket;
  };
  const slowPosts = async (count: number) => {
    for (let each = 0; each < count; each++)
      await slow(each % 2 === 0 ? 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nha' : 'POST / HTTP/1.1\r\nHo');
  };

  test('300 of them are open, and a signed delivery gets through; few of them stay', async () => {
    await slowPosts(300);
    expect((await send('body', { 'X-Hub-Signature-256': signatureOf('body') })).status).toBe(200);
    await vi.waitFor(() => expect(delivered).toHaveLength(1));
    await vi.waitFor(() => expect(sockets.filter((socket) => !socket.closed).length).toBeLessThanOrEqual(64));
    expect(sockets.filter((socket) => !socket.closed).length).toBeGreaterThan(0);
  });

  // On other systems the loopback interface has one address.
  test.runIf(process.platform === 'linux')('300 from one address do not push out a slow one from another', async () => {
    const honest = await slow(half('body'), '127.0.0.2');
    const answer = new Promise<string>((resolve) => honest.once('data', (bytes) => resolve(bytes.toString())));
    await slowPosts(300);
    honest.write('dy');
    expect(await answer).toMatch(/^HTTP\/1\.1 200 /);
    await vi.waitFor(() => expect(delivered.map(({ from }) => from)).toEqual(['127.0.0.2']));
  });
});

describe('what is no webhook', () => {
  test('is told what it should be', async () => {
    const answer = await fetch(receiver.url);
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST']);
    expect(turnedAway).toMatchObject([{ reason: 'no POST' }]);
  });

  test('larger than a mebibyte is refused, announced or not', async () => {
    const large = 'x'.repeat(1_048_577);
    expect((await send(large, { 'X-Hub-Signature-256': signatureOf(large) })).status).toBe(413);
    // No length, and no end.
    const socket = connect(Number(new URL(receiver.url).port), '127.0.0.1').on('error', () => undefined);
    socket.write('POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n');
    const piece = `10000\r\n${'x'.repeat(0x10000)}\r\n`;
    for (let time = 0; time < 20; time++) socket.write(piece);
    await vi.waitFor(() => expect(turnedAway).toHaveLength(2));
    socket.destroy();
    expect(turnedAway.map(({ reason }) => reason)).toEqual(['too large', 'too large']);
    expect(delivered).toEqual([]);
  });

  test('and who hangs up in the middle leaves nothing behind', async () => {
    const socket = connect(Number(new URL(receiver.url).port), '127.0.0.1').on('error', () => undefined);
    await new Promise<void>((resolve) => socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf', () => resolve()));
    socket.destroy();
    expect((await send('body', { 'X-Hub-Signature-256': signatureOf('body') })).status).toBe(200);
    await vi.waitFor(() => expect(delivered).toHaveLength(1));
    expect(turnedAway).toEqual([]);
  });
});

test('a port that is taken, and an address that this machine has not, are refused', async () => {
  const port = Number(new URL(receiver.url).port);
  await expect(WebhookReceiver.open(grant, { address: '127.0.0.1', port, secret })).rejects.toThrow(
    `Cannot listen on 127.0.0.1, port ${port}: the port is already in use.`,
  );
  await expect(WebhookReceiver.open(grant, { address: '203.0.113.7', secret })).rejects.toThrow('this machine does not have this address');
});

test('closed it is gone, with those who are still sending', async () => {
  const port = Number(new URL(receiver.url).port);
  const socket = connect(port, '127.0.0.1').on('error', () => undefined);
  await new Promise((resolve) => socket.once('connect', resolve));
  const gone = new Promise((resolve) => socket.once('close', resolve));
  socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf');
  receiver.close();
  await gone;
  expect(receiver.closed.aborted).toBe(true);
  await expect(send('body')).rejects.toThrow('fetch failed');
});
