import { chmod, lstat, mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isInAnothersHome } from '../../config/own-files.ts';
import { Fault } from '../../faults/fault.ts';

/** `sun_path` holds 108 bytes with its NUL; ssh binds a control socket under its name with 17 characters more, then renames it. */
const longestPathBytes = 107;
const controlSuffixBytes = 17;
/** The longest name that we give a socket in here. */
const longestNameBytes = 12;

/**
 * A folder for the sockets of this process, which nobody else may enter. Named by process id, so that a later start can tell what was left behind.
 * @param folder of all processes of this operator: `run` of the own paths; where its path is too long for sockets, one below /tmp takes its place
 * @throws Fault `refused.socketFolder` when somebody else owns it
 */
export async function makeSocketFolder(folder: string, { pid = process.pid }: { pid?: number } = {}): Promise<string> {
  const uid = process.getuid?.() ?? 0;
  const room = longestPathBytes - controlSuffixBytes - longestNameBytes - 2 - String(pid).length;
  // Root leaves nothing in another user's home that this user could not remove.
  const fits = Buffer.byteLength(folder) <= room && !(await isInAnothersHome(folder));
  const base = fits ? folder : join('/tmp', `quarterdeck-${uid}`);
  await mkdir(base, { recursive: true, mode: 0o700 });
  const facts = await lstat(base);
  // Anybody may make a folder in /tmp under our name.
  if (!facts.isDirectory() || facts.uid !== uid) {
    throw new Fault({
      code: 'refused.socketFolder',
      message: `${base} belongs to somebody else, so sockets in it would not be private.`,
      remedy: 'Remove it, or set XDG_RUNTIME_DIR to a folder of your own.',
      where: { file: base },
    });
  }
  if ((facts.mode & 0o077) !== 0) await chmod(base, 0o700);
  await sweep(base, pid);
  const own = join(base, String(pid));
  await rm(own, { recursive: true, force: true });
  await mkdir(own, { mode: 0o700 });
  return own;
}

/** What processes left that are gone: killed, or the machine lost power. */
async function sweep(base: string, ownPid: number): Promise<void> {
  const names = await readdir(base).catch(() => []);
  await Promise.all(
    names
      .filter((name) => /^\d+$/.test(name) && Number(name) !== ownPid && !lives(Number(name)))
      .map((name) => rm(join(base, name), { recursive: true, force: true }).catch(() => undefined)),
  );
}

function lives(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (cause) {
    return (cause as NodeJS.ErrnoException).code === 'EPERM';
  }
}
