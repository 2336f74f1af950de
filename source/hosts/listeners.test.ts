import { spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { endianness, platform, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ExecOutcome } from './host.ts';
import { containerIn, ListenerWatch, processName } from './listeners.ts';
import { runProgram } from './program.ts';

const signal = () => AbortSignal.timeout(10_000);

describe.runIf(platform() === 'linux')('on this machine', () => {
  const watch = new ListenerWatch({ platform: 'linux', exec: runProgram });

  test('finds sockets of TCP and UDP, and whose they are', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const udp = createSocket('udp6');
    await new Promise<void>((resolve) => udp.bind(0, '::1', resolve));
    const listeners = await watch.read(signal());
    expect(listeners).toContainEqual({
      address: '127.0.0.1',
      port,
      protocol: 'tcp',
      process: expect.objectContaining({ pid: process.pid, name: expect.any(String) }),
    });
    expect(listeners).toContainEqual({
      address: '::1',
      port: udp.address().port,
      protocol: 'udp',
      process: expect.objectContaining({ pid: process.pid, name: expect.any(String) }),
    });
    await new Promise((resolve) => server.close(resolve));
    udp.close();
    expect((await watch.read(signal())).some((one) => one.port === port && one.protocol === 'tcp')).toBe(false);
  });

  test('a socket that goes from one process to another is told of the one that has it', async () => {
    // The child inherits the socket; then the parent of both, this process, closes its own.
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const owner = async () => (await watch.read(signal())).find((one) => one.port === port && one.protocol === 'tcp')?.process?.pid;
    expect(await owner()).toBe(process.pid);
    const handle = (server as unknown as { _handle: { fd: number } })._handle;
    const child = spawn('sleep', ['30'], { stdio: ['ignore', 'ignore', 'ignore', handle.fd] });
    await new Promise((resolve) => child.once('spawn', resolve));
    await new Promise((resolve) => server.close(resolve));
    await expect.poll(owner, { timeout: 5_000 }).toBe(child.pid);
    child.kill();
  });
});

describe.runIf(endianness() === 'LE')('reading the kernel', () => {
  let proc: string;
  beforeEach(async () => {
    proc = await mkdtemp(join(tmpdir(), 'qd-proc-'));
    await mkdir(join(proc, 'net'));
    for (const file of ['tcp', 'udp']) await writeFile(join(proc, 'net', file), 'header\n');
  });
  afterEach(() => rm(proc, { recursive: true, force: true }));

  const line = (port: number, inode: number) =>
    `  0: 00000000:${port.toString(16).padStart(4, '0')} 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 ${inode} 1`;
  async function running(pid: number, name: string, inodes: readonly number[]): Promise<void> {
    await mkdir(join(proc, `${pid}/fd`), { recursive: true });
    await writeFile(join(proc, `${pid}/comm`), `${name}\n`);
    await writeFile(join(proc, `${pid}/cmdline`), `/usr/bin/${name}\0`);
    for (const [index, inode] of inodes.entries()) await symlink(`socket:[${inode}]`, join(proc, `${pid}/fd/${index}`));
  }
  const watched = () => new ListenerWatch({ platform: 'linux', procFolder: proc, exec: async () => expect.fail('lsof is not asked') });

  test('a kernel without IPv6; several sockets on one port are one listener; an owner that may not be seen is left out', async () => {
    await writeFile(join(proc, 'net/tcp'), ['header', line(80, 1), line(80, 2), line(22, 3), ''].join('\n'));
    await running(20, 'nginx', [2]);
    await running(10, 'nginx', [1, 99]);
    expect(await watched().read(signal())).toEqual([
      { address: '0.0.0.0', port: 22, protocol: 'tcp' },
      { address: '0.0.0.0', port: 80, protocol: 'tcp', process: { pid: 10, name: 'nginx' } },
    ]);
  });

  test('is answered without another walk while nothing new listens', async () => {
    await writeFile(join(proc, 'net/tcp'), ['header', line(80, 1), line(22, 3), ''].join('\n'));
    await running(10, 'nginx', [1]);
    const watch = watched();
    await watch.read(signal());
    // A second scan would find the owner of 22 now.
    await running(30, 'sshd', [3]);
    expect((await watch.read(signal())).find(({ port }) => port === 22)?.process).toBeUndefined();
    await writeFile(join(proc, 'net/tcp'), ['header', line(80, 1), line(22, 3), line(443, 4), ''].join('\n'));
    await running(40, 'caddy', [4]);
    expect((await watch.read(signal())).find(({ port }) => port === 443)?.process).toEqual({ pid: 40, name: 'caddy' });
  });

  test('a program in a container is told with it, a child like its parent', async () => {
    const id = 'a'.repeat(64);
    await writeFile(join(proc, 'net/tcp'), ['header', line(80, 1), line(81, 2), ''].join('\n'));
    await running(10, 'nginx', [1]);
    await writeFile(join(proc, '10/cgroup'), `0::/system.slice/docker-${id}.scope/workers\n`);
    await running(11, 'sshd', [2]);
    await writeFile(join(proc, '11/cgroup'), '0::/system.slice/ssh.service\n');
    expect((await watched().read(signal())).map((one) => one.process)).toEqual([
      { pid: 10, name: 'nginx', container: id },
      { pid: 11, name: 'sshd' },
    ]);
  });

  test('no /proc at all is said', async () => {
    await rm(join(proc, 'net'), { recursive: true });
    await expect(watched().read(signal())).rejects.toMatchObject({ code: 'failed.listeners' });
  });
});

test('elsewhere lsof is asked', async () => {
  const asked: (readonly string[])[] = [];
  const exec = async (argv: readonly string[]): Promise<ExecOutcome> => {
    asked.push(argv);
    return { exitCode: 1, stdout: Buffer.from('p1\nclaunchd\nf3\ntIPv4\nPTCP\nn*:22\n'), stderr: Buffer.from(''), cut: false };
  };
  expect(await new ListenerWatch({ platform: 'darwin', exec }).read(signal())).toEqual([
    { address: '0.0.0.0', port: 22, protocol: 'tcp', process: { pid: 1, name: 'launchd' } },
  ]);
  expect(asked[0]?.slice(0, 2)).toEqual(['lsof', '-nP']);
});

const one = '1'.repeat(64);
const two = '2'.repeat(64);
test.each([
  [`0::/system.slice/docker-${one}.scope\n`, one, 'Docker, version 2, systemd'],
  [`0::/docker/${one}\n`, one, 'Docker, version 2, cgroupfs'],
  [`12:memory:/docker/${one}\n11:cpu,cpuacct:/docker/${one}\n0::/\n`, one, 'Docker, version 1'],
  [`0::/machine.slice/libpod-${one}.scope/container\n`, one, 'Podman, version 2'],
  [`9:pids:/libpod_parent/libpod-${one}\n`, one, 'Podman, version 1, cgroupfs'],
  [`0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-${one}.scope/container\n`, one, 'Podman, rootless'],
  [`0::/user.slice/user-1000.slice/user@1000.service/user.slice/docker-${one}.scope\n`, one, 'Docker, rootless'],
  [`0::/machine.slice/libpod-conmon-${one}.scope\n`, one, 'what holds the ports of a container open'],
  [`0::/docker/${one}/docker/${two}\n`, two, 'a container in a container: the inner one'],
  ['0::/system.slice/ssh.service\n', undefined, 'a service'],
  [`0::/system.slice/backup-${one}.service\n`, undefined, 'another number'],
  ['', undefined, 'not readable'],
])('%s is in %s: %s', (groups, id, _) => {
  expect(containerIn(groups)).toBe(id);
});

test.each([
  ['docker-proxy', '/usr/sbin/docker-proxy\0-proto\0tcp\0', 'docker-proxy'],
  ['MainThread', '/usr/bin/node\0server.js\0', 'node'],
  ['nginx', 'nginx: master process /usr/sbin/nginx -g daemon off;\0', 'nginx'],
  ['exe', 'rootlessport\0', 'rootlessport'],
  ['systemd-resolve', '/lib/systemd/systemd-resolved\0', 'systemd-resolved'],
  ['fail2ban-server', '/usr/bin/python3\0/usr/bin/fail2ban-server\0', 'fail2ban-server'],
  ['kworker/0:1', '', 'kworker/0:1'],
  ['', '-bash\0', 'bash'],
])('the process %s with %j is called %s', (short, command, name) => expect(processName(short, command)).toBe(name));
