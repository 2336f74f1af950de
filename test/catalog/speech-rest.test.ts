import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

// The REST server of tts-light before a protocol server that speaks Wyoming: a line of JSON, then the bytes that it announces.

const missing = spawnSync('python3', ['--version']).status !== 0;

const event = (type: string, data: object, payload = Buffer.alloc(0)) => {
  const body = Buffer.from(JSON.stringify(data));
  const line = JSON.stringify({ type, version: '1.8.0', data_length: body.length, payload_length: payload.length });
  return Buffer.concat([Buffer.from(`${line}\n`), body, payload]);
};
const format = { rate: 22_050, width: 2, channels: 1 };
const asked: { type: string; data: { text?: string; voice?: object } }[] = [];

function answer(socket: Socket, line: string) {
  const question = JSON.parse(line) as (typeof asked)[number];
  asked.push(question);
  if (question.type === 'describe') socket.write(event('info', { tts: [{ name: 'piper', voices: [{ name: 'en_US-lessac-medium' }] }] }));
  else if (question.data.text === 'refuse') socket.write(event('error', { text: 'no such voice' }));
  else if (question.data.text === 'break') socket.destroy();
  else {
    socket.write(event('audio-start', format));
    for (const byte of [1, 2]) socket.write(event('audio-chunk', format, Buffer.alloc(2048, byte)));
    socket.write(event('audio-stop', {}));
  }
}

const portOf = (server: Server) => (server.address() as AddressInfo).port;

async function listening(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return portOf(server);
}

describe.skipIf(missing)(`POST /api/tts${missing ? ' (no python3)' : ''}`, () => {
  const protocol = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', (bytes) => answer(socket, bytes.toString('utf8').split('\n')[0] ?? ''));
  });
  let rest: ChildProcess;
  let base: string;
  const post = (body: string, query = '') =>
    fetch(`${base}/api/tts${query}`, { method: 'POST', headers: { 'Content-Type': 'text/plain' }, body });

  beforeAll(async () => {
    const spare = createServer();
    const port = await listening(spare);
    spare.close();
    rest = spawn('python3', ['catalog/ai/tts-light/files/rest.py'], {
      env: { ...process.env, WYOMING_HOST: '127.0.0.1', WYOMING_PORT: String(await listening(protocol)), REST_PORT: String(port) },
      stdio: 'ignore',
    });
    base = `http://127.0.0.1:${port}`;
    await vi.waitFor(async () => expect((await fetch(`${base}/health`)).status).toBe(200), { timeout: 15_000, interval: 100 });
  });
  afterAll(() => {
    rest.kill();
    protocol.close();
  });

  it('answers a WAV file of what the protocol server says', async () => {
    const response = await post('Grüß dich.');
    expect(response.headers.get('content-type')).toBe('audio/wav');
    const sound = Buffer.from(await response.arrayBuffer());
    expect(sound.subarray(0, 4).toString()).toBe('RIFF');
    expect(sound.readUInt32LE(24)).toBe(22_050);
    expect(sound.length).toBe(44 + 4096);
    expect(asked.at(-1)).toEqual({ type: 'synthesize', data: { text: 'Grüß dich.' } });
  });

  it('hands on the voice that is wanted', async () => {
    await post('Hello', '?voice=de_DE-thorsten-medium&speaker=2');
    expect(asked.at(-1)?.data.voice).toEqual({ name: 'de_DE-thorsten-medium', speaker: '2' });
  });

  it('says what is wrong', async () => {
    expect(await (await post('refuse')).json()).toEqual({ error: 'no such voice' });
    expect((await post('refuse')).status).toBe(400);
    expect((await post('')).status).toBe(400);
    expect((await post('x'.repeat(100_001))).status).toBe(413);
    expect((await post('break')).status).toBe(503);
    expect((await fetch(`${base}/other`)).status).toBe(404);
  });

  it('tells its health and the voices', async () => {
    expect(await (await fetch(`${base}/health`)).json()).toEqual({ status: 'ok', voices: 1 });
    expect(await (await fetch(`${base}/api/voices`)).json()).toEqual([{ name: 'en_US-lessac-medium' }]);
  });
});
