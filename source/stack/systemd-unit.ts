import { posix } from 'node:path';
import { Fault } from '../faults/fault.ts';
import { unlessCode } from '../faults/unless-fault.ts';
import type { Grant } from '../grants/grant.ts';
import type { Host } from '../hosts/host.ts';
import { failureOf } from './backup/files.ts';

const limitMs = 30_000;

/** Location of unit files: the system's for root, otherwise the operator's own. */
export interface UnitLocation {
  name: string;
  folder: string;
  scope: readonly string[];
}

/** The files of one unit. `mark`: their first line; only files with this line are ever replaced or removed. */
export interface UnitFiles {
  mark: string;
  endings: readonly string[];
  /** The one that is enabled. */
  started: string;
  /** The command that removes them. */
  removedBy: string;
}

export async function unitLocation(host: Host, name: string, signal: AbortSignal): Promise<UnitLocation> {
  const { uid, home } = await host.facts(signal);
  return uid === 0
    ? { name, folder: '/etc/systemd/system', scope: [] }
    : { name, folder: posix.join(home, '.config', 'systemd', 'user'), scope: ['--user'] };
}

/** Quotes one word of ExecStart, where percent signs, dollars, quotes and spaces have a special meaning. */
export function unitWord(word: string): string {
  const plain = word.replaceAll('%', '%%').replaceAll('$', '$$$$');
  return /^[\w@%+=:,./$-]+$/.test(plain) ? plain : `"${plain.replaceAll(/["\\]/g, '\\$&')}"`;
}

/** Returns whether systemd runs there: without it no unit is ever started. */
export async function hasSystemd(host: Host, { scope }: UnitLocation, signal: AbortSignal): Promise<boolean> {
  const asking = host.exec(['systemctl', ...scope, 'show-environment'], { signal, limitMs });
  const { exitCode } = await unlessCode(asking, ['unreachable.program'], { exitCode: undefined });
  return exitCode === 0;
}

/** Writes the files, by ending, and starts the unit. Throws `refused.unit` if files of these names were not created by this program. */
export async function writeUnit(
  grant: Grant,
  host: Host,
  location: UnitLocation,
  files: UnitFiles,
  texts: Readonly<Record<string, string>>,
): Promise<void> {
  await refuseOthers(host, location, files, grant.signal);
  await host.files.makeFolder(grant, location.folder, { mode: 0o755 });
  for (const ending of files.endings)
    await host.files.write(grant, posix.join(location.folder, `${location.name}.${ending}`), Buffer.from(texts[ending] ?? ''), {
      mode: 0o644,
    });
  const check = systemctlText(location, 'status');
  const remedy = `The unit files were written. Check "${check}", or remove the files: ${files.removedBy}`;
  await systemctl(grant, host, location, ['daemon-reload'], remedy);
  await systemctl(grant, host, location, ['enable', '--now', `${location.name}.${files.started}`], remedy);
}

/** Removes exactly the files that `writeUnit` wrote. Returns whether there were any. */
export async function removeUnit(grant: Grant, host: Host, location: UnitLocation, files: UnitFiles): Promise<boolean> {
  const found = await refuseOthers(host, location, files, grant.signal);
  if (found.length === 0) return false;
  const unit = `${location.name}.${files.started}`;
  const kept = `Nothing was removed. Check the ${files.started}: ${systemctlText(location, 'status')} ${unit}`;
  if (await hasSystemd(host, location, grant.signal)) await systemctl(grant, host, location, ['disable', '--now', unit], kept);
  for (const file of found) await host.files.remove(grant, file);
  const removed = `The unit files were removed. Run: ${systemctlText(location, 'daemon-reload')}`;
  if (await hasSystemd(host, location, grant.signal)) await systemctl(grant, host, location, ['daemon-reload'], removed);
  return true;
}

async function refuseOthers(host: Host, { folder, name }: UnitLocation, { mark, endings }: UnitFiles, signal: AbortSignal) {
  const files: string[] = [];
  for (const ending of endings) {
    const file = posix.join(folder, `${name}.${ending}`);
    const content = await host.files.read(file, { signal, limitBytes: 64 * 1024 });
    if (!content) continue;
    if (!Buffer.from(content).toString('utf8').startsWith(mark))
      throw new Fault('refused.unit', `${file} was not written by Quarterdeck.`, 'Nothing was changed. Move the file first.');
    files.push(file);
  }
  return files;
}

const systemctlText = ({ scope }: UnitLocation, verb: string) => ['systemctl', ...scope, verb].join(' ');

async function systemctl(grant: Grant, host: Host, { scope }: UnitLocation, args: readonly string[], remedy: string): Promise<void> {
  const { exitCode, stderr } = await host.run(grant, ['systemctl', ...scope, ...args], { signal: grant.signal, limitMs });
  if (exitCode === 0) return;
  const message = `systemctl ${args.join(' ')} failed: ${failureOf({ exitCode, stderr })}.`;
  throw new Fault('failed.systemd', message, remedy);
}
