import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { accessSync, constants } from 'node:fs';
import { chmod, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describeUnless, requiredInCi } from '../required.ts';
import { makeShortFolder } from '../short-folder.ts';
import { descendants, end, makeUser, type RemoteUser } from './remote-users.ts';
import { runOrThrow, runProgram } from './scripts.ts';

const program = '/usr/sbin/sshd';

function missing(): string | undefined {
  if (process.platform !== 'linux') return 'an sshd of its own needs Linux';
  if (process.getuid?.() !== 0) return 'an sshd of its own needs root';
  try {
    accessSync(program, constants.X_OK);
    return undefined;
  } catch {
    return `there is no ${program}`;
  }
}

/** A group of tests with a real sshd. Where none can run it is skipped with the reason in its title; under QUARTERDECK_REQUIRE_REAL=1 it fails instead. */
export function describeSshd(name: string, tests: () => void): void {
  describeUnless(requiredInCi(missing()), name, tests);
}

export interface SshdOptions {
  /** Lines of its configuration; they go before ours, and the first one counts. */
  config?: readonly string[];
  /** What programs there find in their environment: DOCKER_HOST, CONTAINER_HOST. */
  env?: Readonly<Record<string, string>>;
  /** The client's key is not let in. */
  withoutKey?: boolean;
  address?: string;
  /** Default a free one of this machine. */
  port?: number;
  /** The network namespace that it runs in. */
  within?: string;
  /** Lines of a PAM service of its own, whose modules ask for passwords and one-time codes. */
  pam?: readonly string[];
}

/** A real sshd with keys, users and a client of its own. */
export interface Sshd {
  folder: string;
  address: string;
  port: number;
  /** The public key by which it is known, as it stands in known_hosts behind the host. */
  hostKey: string;
  /** Private key of the client; root and all users take it, unless the stage is `withoutKey`. */
  clientKey: string;
  /** All that it has logged. */
  readonly log: string;
  /** Processes of its sessions, and what they run. */
  sessions(): Promise<number[]>;
  /** As a power cut: the server, its sessions and what they run. */
  kill(): Promise<void>;
  /** Connections that stand end; new ones are taken. */
  killSessions(): Promise<void>;
  start(): Promise<void>;
  /** Another key from the next start on, as a machine that was set up anew. */
  changeHostKey(): Promise<void>;
  /** A further user of this machine, gone with the server. The home is below the folder of the stage, unless one is given. */
  user(options?: { shell?: string; password?: string; home?: string; groups?: readonly string[] }): Promise<RemoteUser>;
  /**
   * An ssh client: QUARTERDECK_SSH and the names it knows. `Host NAME` sections come from `hosts`; `HostName`, `Port`, the key and known_hosts are filled in.
   */
  client(hosts: Readonly<Record<string, ClientHost>>): Promise<SshClient>;
  leave(): Promise<void>;
}

export interface ClientHost {
  /** Default root. */
  user?: string;
  /** Default that of the server: the port of a relay, for example. */
  port?: number;
  address?: string;
  /** Further lines of its section; they go before ours. */
  config?: readonly string[];
  /** Its key is not in known_hosts. */
  unknown?: boolean;
}

export interface SshClient {
  /** For QUARTERDECK_SSH: one program. */
  program: string;
  config: string;
  knownHosts: string;
}

const stages = new Set<{ kill: () => void }>();
process.once('exit', () => {
  for (const fixture of stages) fixture.kill();
});

/** Below the range out of which the kernel gives ports away, so that it is still ours after a restart. */
async function freePort(address: string): Promise<number> {
  for (;;) {
    const port = randomInt(15_000, 32_000);
    const isFree = await new Promise<boolean>((resolve) => {
      const server = createServer();
      server.once('error', () => resolve(false));
      server.listen(port, address, () => server.close(() => resolve(true)));
    });
    if (isFree) return port;
  }
}

async function makeKey(path: string): Promise<string> {
  await rm(path, { force: true });
  await rm(`${path}.pub`, { force: true });
  await runOrThrow(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-C', '', '-f', path]);
  return (await readFile(`${path}.pub`, 'utf8')).trim();
}

/** An sshd takes the PAM service of the name that it was started by; from 9.8 on its configuration names it. */
async function pamService(
  folder: string,
  lines: readonly string[],
): Promise<{ program: string; config: string[]; leave(): Promise<void> }> {
  const service = `qd${randomBytes(4).toString('hex')}`;
  const file = `/etc/pam.d/${service}`;
  await writeFile(file, `${lines.join('\n')}\n`, { mode: 0o644 });
  await symlink(program, join(folder, service));
  const { stdout, stderr } = await runProgram([program, '-V']);
  const [, major = '0', minor = '0'] = /OpenSSH_(\d+)\.(\d+)/.exec(`${stdout}${stderr}`) ?? [];
  const named = Number(major) > 9 || (Number(major) === 9 && Number(minor) >= 8);
  return {
    program: join(folder, service),
    config: ['UsePAM yes', ...(named ? [`PAMServiceName ${service}`] : [])],
    leave: async () => await rm(file, { force: true }),
  };
}

export async function startSshd({
  config = [],
  env = {},
  withoutKey = false,
  address = '127.0.0.1',
  port: wantedPort,
  within,
  pam,
}: SshdOptions = {}): Promise<Sshd> {
  // Everybody may enter it: users read their keys in it, and have their homes there.
  const folder = await makeShortFolder('qd-sshd-');
  await chmod(folder, 0o755);
  // Where it says so, sshd does not start without this folder.
  await mkdir('/run/sshd', { recursive: true, mode: 0o755 });
  const port = wantedPort ?? (await freePort(address));
  let hostKey = await makeKey(join(folder, 'host-key'));
  const clientKey = join(folder, 'client-key');
  const publicKey = await makeKey(clientKey);
  await writeFile(join(folder, 'authorized'), withoutKey ? '' : `${publicKey}\n`, { mode: 0o644 });
  const settings = Object.entries(env).map(([name, value]) => `"${name}=${value}"`);
  const file = join(folder, 'sshd_config');
  const service = pam && (await pamService(folder, pam));
  await writeFile(
    file,
    [
      ...config,
      ...(service?.config ?? []),
      `Port ${port}`,
      `ListenAddress ${address}`,
      `HostKey ${join(folder, 'host-key')}`,
      `PidFile ${join(folder, 'pid')}`,
      `AuthorizedKeysFile ${join(folder, 'authorized')}`,
      'StrictModes no',
      'UsePAM no',
      'PermitRootLogin yes',
      'PasswordAuthentication no',
      'KbdInteractiveAuthentication no',
      'MaxSessions 10',
      'Subsystem sftp internal-sftp',
      'LogLevel VERBOSE',
      ...(settings.length > 0 ? [`SetEnv ${settings.join(' ')}`] : []),
      // What this machine's root has in its home is neither run nor, when sessions are killed, left half done.
      'Match User root',
      `SetEnv ${[...settings, `"HOME=${folder}"`].join(' ')}`,
      '',
    ].join('\n'),
  );
  let child: ChildProcess | undefined;
  let log = '';
  const users: RemoteUser[] = [];
  const fixture = { kill: () => child?.kill('SIGKILL') };
  stages.add(fixture);

  async function start(): Promise<void> {
    const [first = program, ...rest] = [
      ...(within === undefined ? [] : ['ip', 'netns', 'exec', within]),
      service?.program ?? program,
      '-D',
      '-e',
      '-f',
      file,
    ];
    const started = spawn(first, rest, { stdio: ['ignore', 'ignore', 'pipe'] });
    child = started;
    await new Promise<void>((resolve, reject) => {
      let said = '';
      started.stderr.setEncoding('utf8').on('data', (text: string) => {
        said += text;
        log += text;
        if (said.includes('Server listening on')) resolve();
      });
      started.once('error', reject);
      started.once('close', (code) => reject(new Error(`sshd ended with ${code}:\n${said}`)));
    });
  }

  async function sessions(): Promise<number[]> {
    return child?.pid === undefined ? [] : (await descendants(child.pid)).map(({ pid }) => pid);
  }

  async function killSessions(): Promise<void> {
    for (const pid of await sessions()) end(pid);
  }

  async function kill(): Promise<void> {
    const found = await sessions();
    const killed = child;
    child = undefined;
    if (killed?.exitCode === null && killed.signalCode === null) {
      const gone = new Promise((resolve) => killed.once('exit', resolve));
      killed.kill('SIGKILL');
      await gone;
    }
    for (const pid of found) end(pid);
  }

  let clients = 0;
  const ofHost = (name: string, host: ClientHost, knownHosts: string) => [
    `Host ${name}`,
    ...(host.config ?? []).map((line) => `  ${line}`),
    `  HostName ${host.address ?? address}`,
    `  Port ${host.port ?? port}`,
    `  User ${host.user ?? 'root'}`,
    `  IdentityFile ${clientKey}`,
    '  IdentitiesOnly yes',
    `  UserKnownHostsFile ${knownHosts}`,
    '  GlobalKnownHostsFile /dev/null',
  ];

  await start();
  return {
    folder,
    address,
    port,
    get hostKey() {
      return hostKey;
    },
    clientKey,
    get log() {
      return log;
    },
    sessions,
    kill,
    killSessions,
    start,
    changeHostKey: async () => {
      hostKey = await makeKey(join(folder, 'host-key'));
    },
    async user({ home, ...options } = {}) {
      const user = await makeUser(home ?? join(folder, `home${users.length + 1}`), options);
      users.push(user);
      return user;
    },
    async client(hosts) {
      clients += 1;
      const own = join(folder, `client${clients}`);
      await mkdir(own);
      const knownHosts = join(own, 'known_hosts');
      const known = Object.values(hosts)
        .filter(({ unknown }) => !unknown)
        .map((host) => `[${host.address ?? address}]:${host.port ?? port} ${hostKey}\n`);
      await writeFile(knownHosts, [...new Set(known)].join(''));
      const configFile = join(own, 'config');
      await writeFile(
        configFile,
        `${Object.entries(hosts)
          .flatMap(([name, host]) => ofHost(name, host, knownHosts))
          .join('\n')}\n`,
      );
      const script = join(own, 'ssh');
      await writeFile(script, `#!/bin/sh\nexec ssh -F '${configFile}' "$@"\n`, { mode: 0o755 });
      return { program: script, config: configFile, knownHosts };
    },
    async leave() {
      await kill();
      stages.delete(fixture);
      for (const user of users) await user.leave();
      await service?.leave();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
