import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { Fault } from '../faults/fault.ts';
import type { Grant } from '../grants/grant.ts';
import type { Host } from './host.ts';
import { addressOf, Tunnels } from './tunnel.ts';

const grant = { signal: new AbortController().signal } as Grant;

/** A machine whose ports are those of a server here; `away` is unreachable. */
async function fixture() {
  const server = createServer({ allowHalfOpen: true }, async (socket) => socket.end(`heard ${await text(socket)}`));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  let away: Fault | undefined;
  const host = {
    name: 'nas',
    async dial() {
      if (away) throw away;
      const socket = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' });
      await once(socket, 'connect');
      return socket;
    },
  } as unknown as Host;
  const tunnels = new Tunnels();
  onTestFinished(() => tunnels.close());
  const wanted = { host, address: { host: '127.0.0.1', port: 80 }, engineName: 'nas', component: 'nas/web/web', name: 'web' };
  return { tunnels, wanted, goAway: (fault: Fault | undefined) => (away = fault) };
}

async function ask(port: number, words: string): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1' });
  socket.on('error', () => undefined);
  socket.end(words);
  return text(socket).catch(() => '');
}

test('leads what is said here to the port there, and the answer back, also when the asking end is closed already', async () => {
  const { tunnels, wanted } = await fixture();
  const tunnel = await tunnels.open(grant, { ...wanted, scheme: 'http' });
  expect(tunnel.url).toBe(`http://127.0.0.1:${tunnel.port}`);
  expect(await Promise.all([ask(tunnel.port, 'one'), ask(tunnel.port, 'two')])).toEqual(['heard one', 'heard two']);
  expect(tunnels.find('nas/web/web', 80)).toBe(tunnel);
});

test('listens on the loopback alone, and no longer once it is closed', async () => {
  const { tunnels, wanted } = await fixture();
  const reported: number[] = [];
  tunnels.subscribe(() => reported.push(tunnels.all.length));
  const tunnel = await tunnels.open(grant, wanted);
  const outside = connect({ port: tunnel.port, host: '127.0.0.2' });
  const [refusal] = await once(outside, 'error');
  expect(refusal.code).toBe('ECONNREFUSED');
  tunnel.close();
  expect(await ask(tunnel.port, 'anybody')).toBe('');
  expect(reported).toEqual([1, 0]);
});

test('says that a wanted port is taken, and takes any other where none was wanted', async () => {
  const { tunnels, wanted } = await fixture();
  const first = await tunnels.open(grant, wanted);
  await expect(tunnels.open(grant, { ...wanted, port: first.port })).rejects.toMatchObject({ code: 'refused.port' });
  const second = await tunnels.open(grant, { ...wanted, address: { host: '127.0.0.1', port: first.port } });
  expect(second.port).not.toBe(first.port);
});

test('a machine that is away closes the connection and says why; when it is back, so is the tunnel', async () => {
  const { tunnels, wanted, goAway } = await fixture();
  const tunnel = await tunnels.open(grant, wanted);
  goAway(new Fault('unreachable.link', 'nas is away.', 'Wait.'));
  expect(await ask(tunnel.port, 'anybody')).toBe('');
  expect(tunnel.trouble?.message).toBe('nas is away.');
  goAway(undefined);
  expect(await ask(tunnel.port, 'again')).toBe('heard again');
  expect(tunnel.trouble).toBeUndefined();
});

test('opens nothing with a grant that is over', async () => {
  const { tunnels, wanted } = await fixture();
  const over = { signal: AbortSignal.abort(new Error('over')) } as Grant;
  await expect(tunnels.open(over, wanted)).rejects.toThrow('over');
  expect(tunnels.all).toEqual([]);
});

test('finds host and port in the address of a page', () => {
  expect(addressOf('http://127.0.0.1:8180')).toEqual({ scheme: 'http', address: { host: '127.0.0.1', port: 8180 } });
  expect(addressOf('https://[::1]')).toEqual({ scheme: 'https', address: { host: '::1', port: 443 } });
  expect(addressOf('ftp://x')).toBeUndefined();
});
