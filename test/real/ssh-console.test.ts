import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { Terminal } from '../pty/terminal.ts';
import { requiredProgram } from '../required.ts';

// The line that the documentation gives for authorized_keys, on a real sshd that lets through as much of the environment as it can.

const sshdProgram = '/usr/sbin/sshd';
const missing = requiredProgram(sshdProgram, 'openssh-server');
const root = join(import.meta.dirname, '../..');
const startLimitMs = 40_000;

let folder: string;
let sshd: ChildProcess;
let port: number;
let terminal: Terminal | undefined;

const at = (name: string) => join(folder, name);
/** What somebody who was given the key has: an ssh client, and imagination. */
const client = (...words: string[]) => ['-F', at('client'), ...words];
const ssh = (...words: string[]) => spawnSync('ssh', client(...words), { encoding: 'utf8', timeout: 60_000, input: '' });

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port: free } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return free;
}

beforeAll(async () => {
  if (missing) return;
  folder = await mkdtemp(join(tmpdir(), 'qd-ssh-'));
  port = await freePort();
  await mkdir('/run/sshd', { recursive: true }).catch(() => undefined);
  for (const name of ['host', 'key']) execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', at(name)]);
  // Own settings that would do much if they were followed.
  await mkdir(at('home/config'), { recursive: true });
  await mkdir(at('catalog/evil/evil'), { recursive: true });
  await writeFile(at('catalog/evil/evil/component.yaml'), 'this: is no component\n');
  await writeFile(at('home/config/config.yaml'), `catalogFolder: ${at('catalog')}\nhosts:\n  other:\n    ssh: other\n`);
  await writeFile(at('evil.cjs'), `require('node:fs').writeFileSync(${JSON.stringify(at('loaded'))}, '');\n`);
  await writeFile(at('evil'), `#!/bin/sh\n: >${at('ran')}\n`);
  await chmod(at('evil'), 0o755);
  // As documented: restrict,pty,command="quarterdeck --read-only".
  const command = `env QUARTERDECK_HOME=${at('home')} QUARTERDECK_KEYCHAIN=off ${join(root, 'bin/quarterdeck')} --practice --read-only`;
  await writeFile(at('authorized'), `restrict,pty,command="${command}" ${await readFile(at('key.pub'), 'utf8')}`);
  await writeFile(
    at('sshd'),
    `Port ${port}\nListenAddress 127.0.0.1\nHostKey ${at('host')}\nAuthorizedKeysFile ${at('authorized')}\nPidFile none\nStrictModes no\nUsePAM no
PermitRootLogin yes\nAcceptEnv *\nPermitUserEnvironment yes\nAllowTcpForwarding yes\nAllowStreamLocalForwarding yes\nAllowAgentForwarding yes
Subsystem sftp internal-sftp\n`,
  );
  await writeFile(
    at('client'),
    `Host console\n  HostName 127.0.0.1\n  Port ${port}\n  User ${userInfo().username}\n  IdentityFile ${at('key')}\n  IdentitiesOnly yes
  UserKnownHostsFile ${at('known')}\n  StrictHostKeyChecking accept-new\n  BatchMode yes\n  LogLevel ERROR\n`,
  );
  sshd = spawn(sshdProgram, ['-D', '-e', '-f', at('sshd')], { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  sshd.stderr?.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  await vi.waitFor(() => expect(said).toContain('Server listening'), { timeout: 20_000, interval: 20 });
});

afterEach(async () => {
  await terminal?.close();
  terminal = undefined;
});

afterAll(async () => {
  if (missing) return;
  sshd.kill();
  await once(sshd, 'exit');
  await rm(folder, { recursive: true, force: true });
});

/** Processes that this console has started or that stand in for it. */
async function environmentOf(words: string): Promise<string> {
  for (const pid of await readdir('/proc')) {
    if (!/^\d+$/.test(pid)) continue;
    const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '');
    if (line.includes(words) && line.includes('node') && environment.includes(`QUARTERDECK_HOME=${at('home')}`)) return environment;
  }
  return '';
}

/** What the keys of a component would do. */
const titles = {
  s: 'Stop a component',
  r: 'Restart a component',
  e: 'Open a shell in a container',
  E: 'Run a program in a container',
  x: 'Remove a component',
  U: 'Update to the newest images',
  d: 'Deploy or change a component',
  B: 'Back up a component',
  c: 'Copy files in or out',
};

describe.skipIf(missing)('a key that may only look', () => {
  test('shows the console, and changes nothing with any key (R32)', { timeout: 120_000 }, async () => {
    const evil = [
      `NODE_OPTIONS=--require=${at('evil.cjs')}`,
      ...['EDITOR', 'VISUAL', 'PAGER', 'BROWSER', 'QUARTERDECK_SSH', 'SSH_ASKPASS'].map((name) => `${name}=${at('evil')}`),
    ];
    terminal = Terminal.start(['ssh', ...client('-tt', '-A', '-o', `SetEnv=${evil.join(' ')}`, 'console')], { columns: 120, rows: 36 });
    await terminal.sees('READ-ONLY', startLimitMs);
    await terminal.sees(/password-vault/, startLimitMs);
    // Nothing but this machine.
    expect(terminal.text()).not.toContain('other');
    const environment = await environmentOf('main.js');
    expect(environment).toContain('EDITOR=');
    expect(environment).not.toContain('SSH_AUTH_SOCK=');
    expect(environment).not.toContain('NODE_OPTIONS=');

    terminal.press('down', 'down', 'down');
    await terminal.sees(/▸\S? ?password-vault/);
    for (const [key, title] of Object.entries(titles)) {
      terminal.press(key as 's');
      await terminal.sees(`This session is read-only, so "${title}`);
    }
    terminal.press('q');
    expect((await terminal.exit()).code).toBe(0);
    expect(existsSync(at('loaded'))).toBe(false);
    expect(existsSync(at('ran'))).toBe(false);
  });

  test('runs no command of whoever logs in', { timeout: 90_000 }, () => {
    const answer = ssh('console', `touch ${at('touched')}; sh`);
    expect(answer.stdout).toContain('password-vault');
    expect(existsSync(at('touched'))).toBe(false);
  });

  test('gives no files away and takes none', { timeout: 90_000 }, async () => {
    await writeFile(at('batch'), `get ${at('sshd')} ${at('got')}\nput ${at('client')} ${at('put')}\n`);
    const sftp = spawnSync('sftp', ['-F', at('client'), '-b', at('batch'), 'console'], { encoding: 'utf8', timeout: 30_000 });
    expect(sftp.status).not.toBe(0);
    for (const old of [['-O'], []]) {
      const scp = spawnSync('scp', ['-F', at('client'), ...old, at('client'), `console:${at('put')}`], {
        encoding: 'utf8',
        timeout: 30_000,
      });
      expect(scp.status).not.toBe(0);
    }
    expect(existsSync(at('got'))).toBe(false);
    expect(existsSync(at('put'))).toBe(false);
  });

  test('leads no connection anywhere', { timeout: 120_000 }, async () => {
    // Something on the far side that would answer.
    const server = createServer((socket) => socket.end('inside')).listen(0, '127.0.0.1');
    await once(server, 'listening');
    server.unref();
    const inside = (server.address() as AddressInfo).port;
    const heard = async (where: { port: number } | { path: string }): Promise<string> => {
      const socket = connect({ ...where } as { port: number });
      let text = '';
      socket.setEncoding('utf8').on('data', (part) => {
        text += part;
      });
      // A forward that leads nowhere ends in a reset as often as in an end: nothing was heard either way.
      socket.on('error', () => undefined);
      await new Promise((closed) => socket.on('close', closed));
      return text;
    };
    expect(await heard({ port: inside })).toBe('inside');

    const direct = ssh('-W', `127.0.0.1:${inside}`, 'console');
    expect(direct.stdout).not.toContain('inside');
    expect(direct.stderr).toContain('stdio forwarding failed');

    const back = ssh('-o', 'ExitOnForwardFailure=yes', '-N', '-R', `0:127.0.0.1:${inside}`, 'console');
    expect(back.stderr).toMatch(/remote port forwarding failed/i);

    // A forward and a proxy open here, and lead nowhere there.
    const socks = await freePort();
    const child = spawn('ssh', client('-N', '-L', `${at('forward')}:127.0.0.1:${inside}`, '-D', `127.0.0.1:${socks}`, 'console'), {
      stdio: 'ignore',
    });
    try {
      await vi.waitFor(() => expect(existsSync(at('forward'))).toBe(true), { timeout: 20_000, interval: 20 });
      expect(await heard({ path: at('forward') })).toBe('');
      const proxied = spawnSync('curl', ['-sS', '--max-time', '10', '--socks5', `127.0.0.1:${socks}`, `http://127.0.0.1:${inside}/`], {
        encoding: 'utf8',
      });
      expect(proxied.status).not.toBe(0);
      expect(proxied.stdout).not.toContain('inside');
    } finally {
      child.kill();
      await once(child, 'exit');
      server.close();
    }
  });
});
