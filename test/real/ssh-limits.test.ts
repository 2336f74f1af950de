import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { rm, symlink } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { openEngine } from '../../source/engine/dockerode-engine.ts';
import type { Engine } from '../../source/engine/engine.ts';
import { mintGrant } from '../../source/grants/mint.ts';
import { makeShortFolder } from '../short-folder.ts';
import { describeBeside } from './real-engines.ts';
import { openRemote, type RemoteHost } from './remote-host.ts';
import { runOrThrow } from './scripts.ts';
import { describeSshd, type Sshd, type SshdOptions, startSshd } from './sshd.ts';

const soon = (limitMs = 60_000) => AbortSignal.timeout(limitMs);
const grant = () => mintGrant('test', 'operate', soon());

/** An sshd that is set so, and a host at its end; both end with the test. */
async function reach(
  config: readonly string[],
  client: Parameters<typeof openRemote>[1] = {},
  options: SshdOptions = {},
): Promise<{ sshd: Sshd; remote: RemoteHost }> {
  const sshd = await startSshd({ ...options, config });
  const remote = await openRemote(sshd, client);
  onTestFinished(async () => {
    await remote.leave();
    await sshd.leave();
  });
  return { sshd, remote };
}

async function says(remote: RemoteHost, words: string): Promise<string> {
  const { stdout } = await remote.host.exec(['echo', words], { signal: soon(), limitMs: 30_000 });
  return Buffer.from(stdout).toString();
}

/** As a deploy does: a script over its input, larger than what a shell is told in passing. */
async function appliesScript(remote: RemoteHost, folder: string, name: string): Promise<void> {
  const script = `${'# line of a script\n'.repeat(4_000)}echo applied >"$1"\n`;
  const { exitCode, stderr } = await remote.host.run(grant(), ['sh', '-s', 'sh', join(folder, name)], {
    signal: soon(),
    limitMs: 60_000,
    stdin: script,
  });
  expect(Buffer.from(stderr).toString()).toBe('');
  expect(exitCode).toBe(0);
}

describeBeside('docker', 'an engine behind an sshd with limits', (engine) => {
  describeSshd('and many who look at it', () => {
    const names = Array.from({ length: 30 }, (_, index) => `qd-limits-${String(index + 1).padStart(2, '0')}`);
    const linesEach = 60;
    let folder: string;
    const docker = (...args: string[]) => runOrThrow(['docker', '--host', engine.url, ...args], { limitMs: 120_000 });
    const remove = () => docker('rm', '--force', ...names);
    /** They write when they are told to, and end. */
    const tell = () => docker('kill', '--signal', 'USR1', ...names).catch(() => undefined);
    let made: Promise<unknown> | undefined;

    async function make(): Promise<void> {
      await remove();
      const script = `trap 'go=1' USR1; while [ -z "$go" ]; do sleep 5 & wait $!; done
i=0; while [ $i -lt ${linesEach} ]; do i=$((i+1)); echo "$0 $i"; sleep 0.1; done`;
      const waiting = [...names];
      const next = async (): Promise<void> => {
        for (let name = waiting.shift(); name !== undefined; name = waiting.shift())
          await docker('run', '--detach', '--network', 'none', '--name', name, 'busybox', 'sh', '-c', script, name);
      };
      await Promise.all([next(), next(), next()]);
    }

    beforeAll(async () => {
      folder = await makeShortFolder('qd-limits-');
    });
    afterAll(async () => {
      await remove();
      await rm(folder, { recursive: true, force: true });
    });

    /** Every line that a log brings, in order. */
    async function linesOf(remote: Engine, name: string): Promise<string[]> {
      const lines: string[] = [];
      for await (const batch of remote.logs(name, { signal: soon(120_000), follow: true, tty: false }))
        for (const { text } of batch) lines.push(text);
      return lines;
    }
    const expected = (name: string) => Array.from({ length: linesEach }, (_, index) => `${name} ${index + 1}`);

    /** What a console does besides. */
    async function works(remote: RemoteHost, there: Engine, name: string): Promise<void> {
      const listed = await there.list(soon());
      expect(listed.filter((one) => names.includes(one.name))).toHaveLength(names.length);
      expect(await says(remote, name)).toBe(`${name}\n`);
      await appliesScript(remote, folder, name);
      const piped = await remote.host.pipe(grant(), ['cat']);
      piped.stdin.end(name);
      const [chunk] = (await once(piped.stdout, 'data')) as [Buffer];
      expect(chunk.toString()).toBe(name);
      expect((await piped.ended).exitCode).toBe(0);
    }

    it('follows 30 logs under MaxSessions 10, each line once, while it lists, runs programs and applies a script', {
      timeout: 180_000,
    }, async () => {
      const { remote } = await reach(['MaxSessions 10']);
      const there = openEngine({ url: engine.url, origin: 'test' }, remote.host);
      // A second try begins with none of the lines.
      made = make();
      await made;
      let followed = 0;
      const following = names.map((name) => linesOf(there, name).finally(() => followed++));
      await tell();
      let turns = 0;
      for (; followed < names.length || turns < 3; turns++) {
        await Promise.all([works(remote, there, `one-${turns}`), works(remote, there, `two-${turns}`)]);
      }
      const logs = await Promise.all(following);
      expect(logs).toEqual(names.map(expected));
      expect(remote.states).toEqual(['connecting', 'connected']);
    });

    it.each([2, 1])('has all of it under MaxSessions %i where a second login needs no answer', { timeout: 180_000 }, async (most) => {
      const { remote } = await reach([`MaxSessions ${most}`]);
      const there = openEngine({ url: engine.url, origin: 'test' }, remote.host);
      made ??= make();
      await made;
      const following = Promise.all(names.map((name) => linesOf(there, name)));
      following.catch(() => undefined);
      await tell();
      await Promise.all([works(remote, there, `few-${most}`), works(remote, there, `least-${most}`)]);
      expect(await following).toEqual(names.map(expected));
      expect(await remote.host.limits(soon())).toMatchObject({ sockets: true, ports: true });
      expect(remote.states).toEqual(['connecting', 'connected']);
    });

    it('follows several logs and works where sshd leads no connections', { timeout: 180_000 }, async () => {
      const { remote } = await reach(['DisableForwarding yes']);
      const there = openEngine({ url: engine.url, origin: 'test' }, remote.host);
      made ??= make();
      await made;
      const some = names.slice(0, 4);
      const following = Promise.all(some.map((name) => linesOf(there, name)));
      following.catch(() => undefined);
      await tell();
      await works(remote, there, 'forbidden');
      expect(await following).toEqual(some.map(expected));
      expect(remote.states).toEqual(['connecting', 'connected']);
    });

    it('looks around under MaxSessions 1 behind a password, and says what a program would need', { timeout: 180_000 }, async () => {
      const sshd = await startSshd({ config: ['MaxSessions 1', 'PasswordAuthentication yes'], withoutKey: true });
      const user = await sshd.user({ password: 'of the user', groups: [] });
      const remote = await openRemote(sshd, {
        user: user.name,
        answer: async (question) => (question.kind === 'secret' ? 'of the user' : 'yes'),
      });
      onTestFinished(async () => {
        await remote.leave();
        await sshd.leave();
      });
      expect((await remote.host.facts(soon())).uid).toBe(user.uid);
      expect(await remote.host.files.list(user.home, soon())).toEqual([]);
      for (const attempt of [() => says(remote, 'here'), () => remote.host.pipe(grant(), ['cat'])]) {
        await expect(attempt()).rejects.toMatchObject({
          code: 'unreachable.session',
          message: 'The sshd on far allows no more sessions, and a second connection without a prompt failed.',
          remedy: expect.stringContaining('MaxSessions to 10'),
        });
      }
      // And stays, with what it can do.
      expect((await remote.host.facts(soon())).uid).toBe(user.uid);
      expect(remote.host.link.view.state).toBe('connected');
    });
  });
});

describeSshd('an sshd that forbids', () => {
  /** Speaks first, as what listens behind a port or a socket of a machine may. */
  async function greeter(where: { port: number; host: string } | { path: string }): Promise<{ port: number }> {
    const server = createServer((socket) => socket.end('good morning'));
    server.listen(where);
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    return server.address() as { port: number };
  }

  async function greeting(remote: RemoteHost, address: Parameters<RemoteHost['host']['dial']>[0]): Promise<string> {
    const socket = await remote.host.dial(address, soon());
    let text = '';
    for await (const chunk of socket) text += String(chunk);
    return text;
  }

  describe('to lead connections', () => {
    const forbidding = [
      { config: 'AllowStreamLocalForwarding no', sockets: false, ports: true },
      // Of sockets too, whatever its name.
      { config: 'AllowTcpForwarding no', sockets: false, ports: false },
      { config: 'DisableForwarding yes', sockets: false, ports: false },
      { config: 'PermitOpen none', sockets: false, ports: false },
    ];

    // What stands before it may be scripts that need more.
    const systemPath = '/usr/bin:/bin';
    /** A machine that has these programs alone. */
    async function programsOnly(...names: readonly string[]): Promise<Record<string, string>> {
      const folder = await makeShortFolder('qd-programs-');
      onTestFinished(() => rm(folder, { recursive: true, force: true }));
      for (const name of names)
        await symlink((await runOrThrow(['which', name], { env: { PATH: systemPath } })).trim(), join(folder, name));
      return { PATH: folder };
    }

    const needed = ['sh', 'sed', 'cat', 'grep', 'ls', 'stat', 'setsid', 'echo'];

    it.each(forbidding)(
      'says so where $config and nothing there could do it instead, and does what is left',
      async ({ config, sockets, ports }) => {
        const { sshd, remote } = await reach([config], {}, { env: await programsOnly(...needed) });
        const path = join(sshd.folder, 'greeter');
        await greeter({ path });
        const { port } = await greeter({ port: 0, host: '127.0.0.1' });
        const [bySocket, byPort] = await Promise.allSettled([
          greeting(remote, { socket: path }),
          greeting(remote, { host: '127.0.0.1', port }),
        ]);
        expect(bySocket).toMatchObject({
          reason: {
            code: 'refused.forwarding',
            message: `The sshd configuration on far forbids forwarding to ${path}.`,
            remedy: expect.stringContaining('AllowStreamLocalForwarding'),
          },
        });
        if (ports) expect(byPort).toMatchObject({ value: 'good morning' });
        else {
          expect(byPort).toMatchObject({
            reason: {
              code: 'refused.forwarding',
              message: `The sshd configuration on far forbids forwarding to 127.0.0.1:${port}.`,
              remedy: expect.stringContaining('AllowTcpForwarding'),
            },
          });
        }
        expect(await remote.host.limits(soon())).toMatchObject({ sockets, ports });
        expect(await says(remote, 'here')).toBe('here\n');
        expect(remote.states).toEqual(['connecting', 'connected']);
      },
    );

    it.each(['perl', 'python3'])('goes through %s there, several at once and both ways', async (carrier) => {
      const { sshd, remote } = await reach(['DisableForwarding yes'], {}, { env: await programsOnly(...needed, carrier) });
      const path = join(sshd.folder, 'greeter');
      await greeter({ path });
      const { port } = await greeter({ port: 0, host: '127.0.0.1' });
      const content = randomBytes(300_000);
      const echo = createServer({ allowHalfOpen: true }, (socket) => void socket.pipe(socket));
      echo.listen(join(sshd.folder, 'echo'));
      await once(echo, 'listening');
      onTestFinished(() => void echo.close());
      const echoed = async () => {
        const socket = await remote.host.dial({ socket: join(sshd.folder, 'echo') }, soon());
        socket.end(content);
        const chunks: Buffer[] = [];
        for await (const chunk of socket) chunks.push(chunk as Buffer);
        return Buffer.concat(chunks).equals(content);
      };
      expect(
        await Promise.all([greeting(remote, { socket: path }), greeting(remote, { host: '127.0.0.1', port }), echoed(), echoed()]),
      ).toEqual(['good morning', 'good morning', true, true]);
      expect(await says(remote, 'here')).toBe('here\n');
      await expect(greeting(remote, { host: '127.0.0.1', port: 1 })).rejects.toMatchObject({ code: 'unreachable.port' });
      expect(remote.states).toEqual(['connecting', 'connected']);
    });
  });

  it('terminals, which are not needed', async () => {
    const { remote } = await reach(['PermitTTY no']);
    expect(await says(remote, 'here')).toBe('here\n');
  });

  it('commands of our own: says what came instead, and does not try again by itself', async () => {
    const { remote } = await reach(['ForceCommand echo "only backups here"']);
    await expect(remote.host.link.ready(soon())).rejects.toMatchObject({
      code: 'refused.shell',
      message: 'far does not start a shell for this user: the login ended with exit code 0: only backups here.',
      remedy: expect.stringContaining('forced command'),
    });
    expect(remote.host.link.view.state).toBe('refused');
  });

  it('nothing, but runs its own command around ours', async () => {
    const { remote } = await reach(['ForceCommand exec sh -c "$SSH_ORIGINAL_COMMAND"']);
    expect(await says(remote, 'here')).toBe('here\n');
  });

  it('to try many keys', async () => {
    const sshd = await startSshd({ config: ['MaxAuthTries 1'] });
    onTestFinished(() => sshd.leave());
    const other = join(sshd.folder, 'other-key');
    await runOrThrow(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f', other]);
    const remote = await openRemote(sshd, { config: [`IdentityFile ${other}`] });
    onTestFinished(() => remote.leave());
    await expect(remote.host.link.ready(soon())).rejects.toMatchObject({
      code: 'refused.login',
      message: 'far refused the login: too many keys were tried.',
      remedy: expect.stringContaining('IdentitiesOnly'),
    });
    expect(remote.host.link.view.state).toBe('refused');
    // One that it takes is enough.
    const right = await openRemote(sshd);
    onTestFinished(() => right.leave());
    expect(await says(right, 'here')).toBe('here\n');
  });

  it('more than one login at a time: says why, and is let in when the other one is through', async () => {
    const sshd = await startSshd({ config: ['MaxStartups 1:100:1', 'LoginGraceTime 600'] });
    onTestFinished(() => sshd.leave());
    const other = connect(sshd.port, sshd.address);
    onTestFinished(() => void other.destroy());
    await once(other, 'data');
    const remote = await openRemote(sshd);
    onTestFinished(() => remote.leave());
    await expect(remote.host.link.ready(soon())).rejects.toMatchObject({
      code: 'unreachable.link',
      message: 'far closed the connection.',
      remedy: expect.stringContaining('too many logins'),
    });
    expect(remote.host.link.view.state).toBe('away');
    other.destroy();
    await remote.link('connected', 40_000);
    expect(await says(remote, 'here')).toBe('here\n');
  });
});
