import { chmod, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openSshHost, type SshHost } from '../../source/hosts/ssh/ssh-host.ts';
import { requiredProgram } from '../required.ts';
import { makeShortFolder } from '../short-folder.ts';
import type { RemoteUser } from './remote-users.ts';
import { describeSshd, type Sshd, startSshd } from './sshd.ts';

const hasSudo = requiredProgram('sudo') === undefined;

describeSshd('an engine that only sudo may use', () => {
  let sshd: Sshd;
  let folder: string;
  let user: RemoteUser;
  let rules: string;
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    let heard = '';
    // A connection that was opened in advance may be gone before it is answered.
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      heard += chunk.toString();
    });
    socket.on('end', () => socket.end(`heard ${heard}`));
  });
  const hosts: SshHost[] = [];
  const signal = AbortSignal.timeout(110_000);

  beforeAll(async () => {
    folder = await makeShortFolder('qd-sudo-');
    const socket = join(folder, 'engine.sock');
    await new Promise<void>((resolve) => server.listen(socket, resolve));
    await chmod(folder, 0o700);
    sshd = await startSshd({ env: { DOCKER_HOST: `unix://${socket}` } });
    user = await sshd.user({ password: 'geheim-1' });
    rules = `/etc/sudoers.d/${user.name}`;
  }, 60_000);

  afterAll(async () => {
    await Promise.all(hosts.map((host) => host.close()));
    server.close();
    if (rules) await rm(rules, { force: true });
    await sshd?.leave();
    await rm(folder, { recursive: true, force: true });
  });

  async function open(answers: readonly string[]): Promise<{ host: SshHost; asked: string[]; socket: string }> {
    const { program } = await sshd.client({ remote: { user: user.name } });
    const asked: string[] = [];
    const left = [...answers];
    const host = openSshHost({
      name: 'remote',
      destination: { target: 'remote' },
      runFolder: join(folder, 'run'),
      askpass: join(import.meta.dirname, '../../bin/askpass'),
      env: { ...process.env, QUARTERDECK_SSH: program },
      answer: async ({ lines }) => {
        asked.push(lines.join(' '));
        return left.shift();
      },
      sudo: true,
    });
    hosts.push(host);
    return { host, asked, socket: join(folder, 'engine.sock') };
  }

  async function talk(host: SshHost, socket: string, words: string): Promise<string> {
    const stream = await host.dial({ socket }, signal);
    let heard = '';
    stream.on('data', (chunk: Buffer) => {
      heard += chunk.toString();
    });
    stream.end(words);
    await new Promise((resolve) => stream.once('close', resolve));
    return heard;
  }

  it.runIf(hasSudo)(
    'is reached by 30 connections at once, after a wrong password and the right one',
    async () => {
      await writeFile(rules, `${user.name} ALL=(ALL) ALL\n`, { mode: 0o440 });
      const { host, asked, socket } = await open(['wrong', 'geheim-1']);
      await host.openSockets(signal);
      expect(asked).toEqual(['Password of this user for sudo on remote:', 'Wrong password. Password of this user for sudo on remote:']);
      expect(await host.files.facts(socket, signal)).toMatchObject({ kind: 'socket' });
      const heard = await Promise.all(Array.from({ length: 30 }, (_, index) => talk(host, socket, `number ${index}`)));
      expect(heard).toEqual(Array.from({ length: 30 }, (_, index) => `heard number ${index}`));
    },
    120_000,
  );

  it.runIf(hasSudo)(
    'is refused in a sentence to who may not use sudo',
    async () => {
      await rm(rules, { force: true });
      const { host } = await open(['geheim-1']);
      await expect(host.openSockets(signal)).rejects.toMatchObject({ code: 'refused.sudo' });
    },
    120_000,
  );
});
