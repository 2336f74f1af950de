import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants } from 'node:fs';
import { chmod, chown, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { mintGrant } from '../../source/grants/mint.ts';
import { makeShortFolder } from '../short-folder.ts';
import { openRemote, type RemoteHost } from './remote-host.ts';
import { text, works } from './remote-systems.ts';
import { end, processesOf, type RemoteUser } from './remote-users.ts';
import { runOrThrow } from './scripts.ts';
import { describeSshd, type Sshd, startSshd } from './sshd.ts';
import { findFreePort } from './stack.ts';

// One sshd, and users of all kinds: whatever a login shell, its profile, a configuration here or a disk there does to us.

const soon = (limitMs = 60_000) => AbortSignal.timeout(limitMs);
const shells = ['/bin/bash', '/bin/dash', '/bin/zsh', '/usr/bin/fish', '/bin/tcsh', '/bin/csh', '/bin/busybox'] as const;
/** Misleading on purpose: ssh's own sentences, said by somebody else. */
const banner = 'Permission denied (publickey). Connection refused\nHost key verification failed.\n';

const faketime = '/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1';

/** Under QUARTERDECK_REQUIRE_REAL=1 what is missing makes a test fail. */
function isThere(file: string): boolean {
  try {
    accessSync(file, constants.R_OK);
    return true;
  } catch {
    return process.env.QUARTERDECK_REQUIRE_REAL === '1';
  }
}

const without = (file: string) => (isThere(file) ? '' : ` (skipped: there is no ${file})`);

describeSshd('the far side', () => {
  let sshd: Sshd;
  let folder: string;
  beforeAll(async () => {
    folder = await makeShortFolder('qd-sides-');
    await chmod(folder, 0o755);
    await writeFile(join(folder, 'banner'), banner);
    sshd = await startSshd({ config: [`Banner ${join(folder, 'banner')}`, 'AcceptEnv LC_*', 'MaxStartups 100'] });
  });
  afterAll(async () => {
    await sshd.leave();
    await rm(folder, { recursive: true, force: true });
  });

  async function enter(user: RemoteUser, how: Parameters<typeof openRemote>[1] = {}): Promise<RemoteHost> {
    const remote = await openRemote(sshd, { user: user.name, ...how });
    onTestFinished(async () => await remote.leave());
    return remote;
  }

  /** A login shell that is a script of ours: it sets things up, and then is a `sh`. */
  async function shellThat(name: string, lines: string): Promise<string> {
    const path = join(folder, name);
    await writeFile(path, `#!/bin/sh\n${lines}\nexec /bin/sh "$@"\n`, { mode: 0o755 });
    return path;
  }

  describe('has a login shell', () => {
    it.each(shells.filter(isThere))('%s, and all works', async (shell) => {
      // busybox is told by its name what it is.
      const own = shell === '/bin/busybox' ? await shellThat('ash', 'exec /bin/busybox sh "$@"') : shell;
      const user = await sshd.user({ shell: own });
      await works(await enter(user), user.home);
    });

    it.each([
      [
        '/usr/sbin/nologin',
        /^far does not start a shell for this user: the login ended with exit code 1: This account is currently not available\.$/,
      ],
      ['/bin/false', /^far does not start a shell for this user: the login ended with exit code 1\b/],
      ['/bin/true', /^far does not start a shell for this user: the login ended with exit code 0\b/],
      ['/usr/lib/openssh/sftp-server', /does not start a shell|its shell does not respond/],
    ])('that is none: %s', async (shell, message) => {
      const remote = await enter(await sshd.user({ shell }));
      await expect(remote.host.link.ready(soon())).rejects.toMatchObject({
        code: 'refused.shell',
        message: expect.stringMatching(message),
      });
      expect(remote.host.link.view.state).toBe('refused');
    });

    it('with a locale that is not UTF-8, whatever ssh sends along', async () => {
      const user = await sshd.user({ shell: await shellThat('latin', 'LC_ALL=C LANG=de_DE.ISO-8859-1; export LC_ALL LANG') });
      await works(await enter(user, { env: { LC_ALL: 'ja_JP.SJIS' }, config: ['SendEnv LC_*'] }), user.home);
    });

    it.runIf(isThere(faketime))(`with a clock that is an hour off, which is noticed${without(faketime)}`, async () => {
      const fake = await shellThat('late', `LD_PRELOAD=${faketime} FAKETIME=-1h FAKETIME_DONT_RESET=1; export LD_PRELOAD FAKETIME`);
      const remote = await enter(await sshd.user({ shell: fake }));
      expect((await remote.host.facts(soon())).clockAheadMs).toBeCloseTo(-3_600_000, -4);
    });
  });

  describe('has a profile', () => {
    const bash = async (bashrc: string) => {
      const user = await sshd.user({ shell: '/bin/bash' });
      await user.file('.bashrc', bashrc);
      return user;
    };

    it('that says megabytes on both streams, and all works', async () => {
      const user = await bash(
        'yes "Permission denied (publickey)" | head -c 3000000\nyes noise | head -c 2000000 >&2\nprintf "no end of line"\n',
      );
      await works(await enter(user), user.home);
    });

    it.each([
      ['asks something', 'echo "Continue? [y/n]"\nread answer\n', 'last output: Continue? [y/n].'],
      ['never ends', 'while :; do sleep 3600; done\n', 'but its shell does not respond'],
    ])('that %s is given up in a sentence, and not tried again', async (_, bashrc, message) => {
      const user = await bash(bashrc);
      const remote = await enter(user, { shellLimitMs: 3_000 });
      const reported = new Set<string>();
      remote.host.link.subscribe(() => {
        const { state, fault } = remote.host.link.view;
        if (state === 'connecting' && fault) reported.add(fault.code);
      });
      await expect(remote.host.link.ready(soon())).rejects.toMatchObject({
        code: 'refused.shell',
        message: expect.stringContaining(message),
        remedy: expect.stringContaining('.bashrc'),
      });
      expect(remote.host.link.view.state).toBe('refused');
      expect([...reported]).toEqual(['unreachable.shell']);
      for (const pid of await processesOf(user.uid)) end(pid);
    });

    it.each([
      // Where there is no tmux the shell says so, and ends as well.
      [
        'starts tmux instead',
        'exec tmux new -A -s main\n',
        isThere('/usr/bin/tmux') ? 'open terminal failed: not a terminal' : 'tmux: not found',
      ],
      ['ends the login', 'echo "closed for repairs"; exit 7\n', 'exit code 7: closed for repairs'],
    ])('that %s', async (_, bashrc, message) => {
      const remote = await enter(await bash(bashrc));
      await expect(remote.host.link.ready(soon())).rejects.toMatchObject({
        code: 'refused.shell',
        message: expect.stringContaining(message),
      });
    });
  });

  it('is reached whatever the own configuration says, and nothing of that is done', async () => {
    const user = await sshd.user({ shell: '/bin/bash' });
    const port = await findFreePort();
    const ran = join(folder, 'ran');
    const remote = await enter(user, {
      env: { LC_QUARTERDECK: 'sent', SSH_AUTH_SOCK: join(folder, 'no-agent') },
      config: [
        'RequestTTY force',
        'RemoteCommand echo no',
        'ControlMaster auto',
        `ControlPath ${join(folder, 'own-%C')}`,
        'ControlPersist yes',
        'LogLevel DEBUG3',
        'ForwardAgent yes',
        'ForwardX11 yes',
        `LocalForward 127.0.0.1:${port} 127.0.0.1:${sshd.port}`,
        `RemoteForward 127.0.0.1:${port + 1} 127.0.0.1:${sshd.port}`,
        'PermitLocalCommand yes',
        `LocalCommand echo ran >>${ran}`,
        'SendEnv LC_*',
        'StdinNull yes',
        'SessionType none',
        'ForkAfterAuthentication yes',
      ],
    });
    await works(remote, user.home);
    expect(await text(remote.host, ['sh', '-c', 'echo "$LC_QUARTERDECK:${SSH_AUTH_SOCK-}:${SSH_TTY-}"'])).toBe('sent::\n');
    // A forward that a session or a word to the connection asks for stays until the connection ends.
    const stream = await remote.host.dial({ host: '127.0.0.1', port: sshd.port }, soon());
    stream.destroy();
    const listening = await runOrThrow(['ss', '-Hltn']);
    expect(listening).not.toMatch(new RegExp(`127\\.0\\.0\\.1:(?:${port}|${port + 1})\\b`));
    await expect(readFile(ran)).rejects.toMatchObject({ code: 'ENOENT' });
    expect((await readdir(folder)).filter((name) => name.startsWith('own-'))).toEqual([]);
  });

  it('is quiet about nothing where ssh is told to be quiet', async () => {
    const remote = await enter(await sshd.user({ shell: '/usr/sbin/nologin' }), { config: ['LogLevel QUIET'] });
    await expect(remote.host.link.ready(soon())).rejects.toMatchObject({ code: 'refused.shell' });
    const nobody = await openRemote(sshd, { user: 'nobody-of-this-name', config: ['LogLevel QUIET'] });
    onTestFinished(async () => await nobody.leave());
    await expect(nobody.host.link.ready(soon())).rejects.toMatchObject({ code: 'refused.login' });
  });

  it('has an address instead of a name, and our own folder a path too long for sockets', async () => {
    const user = await sshd.user();
    const remote = await enter(user, { destination: `ssh://127.0.0.1:${sshd.port}`, runFolder: 'a'.repeat(90) });
    expect(await text(remote.host, ['id', '-un'])).toBe(`${user.name}\n`);
    const six = await startSshd({ address: '::1' }).catch(() => undefined);
    if (!six) return;
    const literal = await openRemote(six, { destination: `root@[::1]:${six.port}` });
    onTestFinished(async () => {
      await literal.leave();
      await six.leave();
    });
    expect(await text(literal.host, ['id', '-u'])).toBe('0\n');
  });

  describe('has a socket', () => {
    it('of somebody else: the sentence names the group, and sudo', async () => {
      const user = await sshd.user();
      const group = (await runOrThrow(['getent', 'group', 'daemon'])).split(':');
      const path = join(folder, 'theirs.sock');
      const server = createServer().listen(path);
      onTestFinished(() => void server.close());
      await once(server, 'listening');
      await chown(path, 0, Number(group[2]));
      await chmod(path, 0o660);
      const remote = await enter(user);
      await expect(remote.host.dial({ socket: path }, soon())).rejects.toMatchObject({
        code: 'unreachable.socket',
        message: `${path} on far cannot be reached: permission denied. The socket belongs to user root and group daemon.`,
        remedy: expect.stringMatching(/usermod -aG daemon .*sudo: true/),
      });
    });

    it('whose path is longer than a socket can have', async () => {
      const user = await sshd.user();
      const deep = join(user.home, 'x'.repeat(100));
      await mkdir(deep);
      await chown(deep, user.uid, user.gid);
      const child = spawn(process.execPath, ['-e', "require('net').createServer().listen('long.sock', () => console.log('on'))"], {
        cwd: deep,
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      onTestFinished(() => void child.kill('SIGKILL'));
      await once(child.stdout, 'data');
      await chmod(join(deep, 'long.sock'), 0o666);
      const remote = await enter(user);
      await expect(remote.host.dial({ socket: join(deep, 'long.sock') }, soon())).rejects.toMatchObject({
        code: 'unreachable.socketPath',
        message: expect.stringContaining('too long'),
      });
    });
  });

  describe('has a disk', () => {
    it.each([
      ['that is full', 'size=64k', 'the filesystem is full', 'Free up space on the host'],
      ['that is read-only', 'ro', 'the filesystem is read-only', 'as writable'],
    ])('%s: the sentence names folder and host, and nothing is half written', async (_, option, reason, remedy) => {
      const user = await sshd.user();
      const disk = join(user.home, 'disk');
      await mkdir(disk);
      await runOrThrow(['mount', '-t', 'tmpfs', '-o', `${option},mode=777`, 'qd-sides', disk]);
      onTestFinished(async () => void (await runOrThrow(['umount', '-l', disk])));
      const remote = await enter(user);
      const grant = mintGrant('test', 'destroy', soon());
      const small = new Uint8Array(3);
      if (option !== 'ro') await remote.host.files.write(grant, join(disk, 'file'), small, { mode: 0o600 });
      for (const sizeBytes of [25_000, 300_000]) {
        if (sizeBytes < 64_000 && option !== 'ro') continue;
        await expect(remote.host.files.write(grant, join(disk, 'file'), new Uint8Array(sizeBytes), { mode: 0o600 })).rejects.toMatchObject({
          code: 'failed.file',
          message: `${join(disk, 'file')} on far cannot be written: ${reason}.`,
          remedy: expect.stringContaining(remedy),
        });
      }
      expect(await readdir(disk)).toEqual(option === 'ro' ? [] : ['file']);
      if (option === 'ro') {
        await expect(remote.host.files.makeFolder(grant, join(disk, 'new'), { mode: 0o700 })).rejects.toMatchObject({
          message: `The folder ${join(disk, 'new')} cannot be created on far: ${reason}.`,
        });
      } else expect(await readFile(join(disk, 'file'))).toEqual(Buffer.from(small));
    });
  });
});
