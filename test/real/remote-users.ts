import { randomBytes } from 'node:crypto';
import { chmod, chown, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { runOrThrow, runProgram, type ScriptOutcome } from './scripts.ts';

/** A user of this machine that was made for a test. */
export interface RemoteUser {
  name: string;
  uid: number;
  gid: number;
  home: string;
  /** Puts a file into the home, owned by the user. */
  file(path: string, text: string, mode?: number): Promise<void>;
  /** Ends all that the user runs, and the user. */
  leave(): Promise<void>;
}

/** Somebody else may be changing the list of users at the same moment. */
async function withLock(argv: readonly string[], input = ''): Promise<ScriptOutcome> {
  for (const end = Date.now() + 20_000; ; await pause(100)) {
    const outcome = await runProgram(argv, { input });
    if (outcome.code === 0) return outcome;
    if (!/lock/i.test(outcome.stderr) || Date.now() > end)
      throw new Error(`${argv.join(' ')} ended with ${outcome.code}\n${outcome.stderr}`);
  }
}

export async function makeUser(
  home: string,
  { shell = '/bin/sh', password, groups = [] }: { shell?: string; password?: string; groups?: readonly string[] } = {},
): Promise<RemoteUser> {
  const name = `qdfar${randomBytes(4).toString('hex')}`;
  const more = groups.length > 0 ? ['--groups', groups.join(',')] : [];
  await mkdir(dirname(home), { recursive: true });
  await withLock(['useradd', '--no-create-home', '--no-log-init', '--home-dir', home, '--shell', shell, ...more, name]);
  // What useradd leaves counts as a locked account, which may not come in with a key either.
  await withLock(['usermod', '--password', '*', name]);
  if (password !== undefined) await withLock(['chpasswd'], `${name}:${password}\n`);
  const uid = Number(await runOrThrow(['id', '-u', name]));
  const gid = Number(await runOrThrow(['id', '-g', name]));
  await mkdir(home);
  await chown(home, uid, gid);
  return {
    name,
    uid,
    gid,
    home,
    async file(path, text, mode = 0o644) {
      const full = join(home, path);
      await mkdir(dirname(full), { recursive: true });
      await writeFile(full, text);
      await chmod(full, mode);
      for (let at = full; at !== home; at = dirname(at)) await chown(at, uid, gid);
    },
    async leave() {
      for (const pid of await processesOf(uid)) end(pid);
      await withLock(['userdel', '--force', name]).catch(() => undefined);
    },
  };
}

/** Processes that run as this user. */
export async function processesOf(uid: number): Promise<number[]> {
  return (await processes()).filter((one) => one.uid === uid).map(({ pid }) => pid);
}

export interface RunningProcess {
  pid: number;
  parent: number;
  uid: number;
  /** Its arguments, with spaces between them. */
  command: string;
}

export async function processes(): Promise<RunningProcess[]> {
  const { stdout } = await runProgram(['ps', '-eo', 'pid=,ppid=,uid=,args=', '-ww']);
  return stdout.split('\n').flatMap((line) => {
    const [, pid, parent, uid, command] = /^\s*(\d+)\s+(\d+)\s+(\d+)\s(.*)$/.exec(line) ?? [];
    return pid === undefined ? [] : [{ pid: Number(pid), parent: Number(parent), uid: Number(uid), command: command ?? '' }];
  });
}

/** All that descend from a process, however deep. */
export async function descendants(pid: number): Promise<RunningProcess[]> {
  const all = await processes();
  const found: RunningProcess[] = [];
  for (const parents = new Set([pid]); ; ) {
    const next = all.filter((one) => parents.has(one.parent) && !parents.has(one.pid));
    if (next.length === 0) return found;
    for (const one of next) {
      parents.add(one.pid);
      found.push(one);
    }
  }
}

export function end(pid: number, name: NodeJS.Signals = 'SIGKILL'): void {
  try {
    process.kill(pid, name);
  } catch {
    // Gone already.
  }
}

/** The environment that a process was started with. */
export async function environmentOf(pid: number): Promise<string> {
  return await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '');
}
