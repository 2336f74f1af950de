import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFile, rm } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { mintGrant } from '../../source/grants/mint.ts';
import { makeShortFolder } from '../short-folder.ts';
import { openRelay, type Relay } from './relay.ts';
import { openRemote, type RemoteHost } from './remote-host.ts';
import { describeSshd, type Sshd, startSshd } from './sshd.ts';

const soon = (limitMs = 120_000) => AbortSignal.timeout(limitMs);
const grant = () => mintGrant('test', 'operate', soon());

describeSshd('a line that is slow and stumbles', () => {
  let sshd: Sshd;
  let folder: string;
  beforeAll(async () => {
    sshd = await startSshd();
    folder = await makeShortFolder('qd-slow-');
  });
  afterAll(async () => {
    await sshd.leave();
    await rm(folder, { recursive: true, force: true });
  });

  async function connect(bytesPerSecond: number): Promise<{ remote: RemoteHost; relay: Relay; says: (words: string) => Promise<string> }> {
    const relay = await openRelay(sshd);
    relay.delay(50);
    relay.pace(bytesPerSecond);
    const remote = await openRemote(sshd, { port: relay.port });
    onTestFinished(async () => {
      await remote.leave();
      await relay.close();
    });
    const says = async (words: string) => {
      const { stdout } = await remote.host.exec(['echo', words], { signal: soon(), limitMs: 60_000 });
      return Buffer.from(stdout).toString();
    };
    expect(await says('here')).toBe('here\n');
    return { remote, relay, says };
  }

  const content = randomBytes(400_000);

  /** What takes everything at the other end of a socket, and says how much it was. */
  async function openSink(): Promise<string> {
    const path = join(folder, 'sink');
    const server = createServer({ allowHalfOpen: true }, async (socket) => {
      socket.on('error', () => undefined);
      const chunks: Buffer[] = [];
      for await (const chunk of socket) chunks.push(chunk as Buffer);
      socket.end(Buffer.concat(chunks).equals(content) ? 'whole' : 'other');
    });
    server.listen(path);
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    return path;
  }

  const uploads = {
    async 'into a file'(remote: RemoteHost): Promise<string> {
      await remote.host.files.write(grant(), join(folder, 'file'), content, { mode: 0o600 });
      return (await readFile(join(folder, 'file'))).equals(content) ? 'whole' : 'other';
    },
    // As a copy into a container, or an image.
    async 'into a socket'(remote: RemoteHost): Promise<string> {
      const socket = await remote.host.dial({ socket: await openSink() }, soon());
      socket.end(content);
      let answer = '';
      for await (const chunk of socket) answer += String(chunk);
      return answer;
    },
  };

  it.each(Object.keys(uploads) as (keyof typeof uploads)[])(
    'is not taken for a dead one during an upload %s, and other things go on beside it',
    { timeout: 120_000 },
    async (where) => {
      const { remote, relay, says } = await connect(50_000);
      let isOver = false;
      const uploading = uploads[where](remote).finally(() => {
        isOver = true;
      });
      let answers = 0;
      for (; !isOver; answers++) {
        expect(await says(`number ${answers}`)).toBe(`number ${answers}\n`);
        if (answers === 1) relay.stall(3_000);
      }
      expect(await uploading).toBe('whole');
      // ssh by itself would take all of the upload at once, and whatever is asked would wait behind it to its end.
      expect(answers).toBeGreaterThan(3);
      expect(remote.states).toEqual(['connecting', 'connected']);
    },
  );

  it('is not taken for a dead one while a log comes as fast as it can', { timeout: 180_000 }, async () => {
    const { remote, relay, says } = await connect(200_000);
    const sessions = () => sshd.log.match(/Starting session/g)?.length;
    const flood = await remote.host.pipe(grant(), ['yes', 'a line of a log, as long as the lines of logs are']);
    flood.ended.catch(() => undefined);
    let receivedBytes = 0;
    flood.stdout.on('data', (chunk: Buffer) => {
      receivedBytes += chunk.length;
    });
    const before = sessions();
    // Waits behind what sshd has taken already: longer than a shell that is silent is waited for.
    const asked = says('behind all that');
    await expect.poll(() => receivedBytes, { timeout: 60_000 }).toBeGreaterThan(1_000_000);
    relay.stall(3_000);
    expect(await asked).toBe('behind all that\n');
    await expect.poll(() => receivedBytes, { timeout: 60_000 }).toBeGreaterThan(3_000_000);
    expect(remote.states).toEqual(['connecting', 'connected']);
    expect(sessions()).toBe(before);
  });

  it('is not taken for a dead one when nothing comes through for 3 s', { timeout: 60_000 }, async () => {
    const { remote, relay, says } = await connect(50_000);
    for (let turn = 0; turn < 3; turn++) {
      relay.stall(3_000);
      expect(await says('behind it')).toBe('behind it\n');
    }
    expect(remote.states).toEqual(['connecting', 'connected']);
  });

  it('has the next connections to an engine ready, and does without where those were closed meanwhile', async () => {
    const { remote, says } = await connect(1_000_000);
    const path = join(folder, 'engine');
    const connections: Socket[] = [];
    const server = createServer((socket) => {
      const number = connections.push(socket);
      socket.on('error', () => undefined);
      socket.once('data', () => socket.end(`answer ${number}`));
    });
    server.listen(path);
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const ask = async () => {
      const socket = await remote.host.dial({ socket: path }, soon());
      socket.write('question');
      let answer = '';
      for await (const chunk of socket) answer += String(chunk);
      return answer;
    };
    expect(await ask()).toBe('answer 1');
    await expect.poll(() => connections.length, { timeout: 15_000 }).toBe(3);
    expect(await ask()).toBe('answer 2');
    await expect.poll(() => connections.length, { timeout: 15_000 }).toBe(4);
    for (const spare of connections.slice(2)) spare.destroy();
    // Their end is on the way before this is asked.
    for (const words of ['one', 'two']) await says(words);
    expect(await ask()).toBe('answer 5');
  });
});
