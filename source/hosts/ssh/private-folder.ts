import { chmod, lstat, mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isInAnothersHome } from '../../config/own-files.ts';
import { Fault } from '../../faults/fault.ts';
import { isAlive } from '../job-control.ts';

/** `sun_path` holds 108 bytes with its NUL; ssh binds a control socket under its name with 17 characters more, then renames it. */
const longestPathBytes = 107;
const controlSuffixBytes = 17;
/** The longest socket name that we use in this folder. */
const longestNameBytes = 12;

/**
 * Creates a folder for the sockets of this process that other users cannot enter. Named by process id, so that a later start can find
 * leftovers.
 * @param folder `run` of our own paths; if its path is too long for sockets, a folder below /tmp is used
 * @throws Fault `refused.socketFolder` when another user owns it
 */
export async function createSocketFolder(folder: string, { pid = process.pid }: { pid?: number } = {}): Promise<string> {
  const uid = process.getuid?.() ?? 0;
  const room = longestPathBytes - controlSuffixBytes - longestNameBytes - 2 - String(pid).length;
  // Root must leave nothing in another user's home that this user could not remove.
  const fits = Buffer.byteLength(folder) <= room && !(await isInAnothersHome(folder));
  const base = fits ? folder : join('/tmp', `quarterdeck-${uid}`);
  await mkdir(base, { recursive: true, mode: 0o700 });
  const facts = await lstat(base);
  // Any user may create a folder in /tmp under our name.
  if (!facts.isDirectory() || facts.uid !== uid) {
    const message = `${base} is not a folder owned by this user, so its sockets would not be private.`;
    const remedy = `Remove ${base}, or set XDG_RUNTIME_DIR (or QUARTERDECK_HOME, if it is set) to a short path that you own.`;
    throw new Fault('refused.socketFolder', message, remedy, { where: { file: base } });
  }
  if ((facts.mode & 0o077) !== 0) await chmod(base, 0o700);
  await sweep(base, pid);
  const own = join(base, String(pid));
  await rm(own, { recursive: true, force: true });
  await mkdir(own, { mode: 0o700 });
  return own;
}

/** Leftovers of processes that were killed, or ended by a power loss. */
async function sweep(base: string, ownPid: number): Promise<void> {
  const names = await readdir(base).catch(() => []);
  await Promise.all(
    names
      .filter((name) => /^\d+$/.test(name) && Number(name) !== ownPid && !isAlive(Number(name)))
      .map((name) => rm(join(base, name), { recursive: true, force: true }).catch(() => undefined)),
  );
}
