import { posix } from 'node:path';
import { Fault } from '../../faults/fault.ts';
import { unlessCode } from '../../faults/unless-fault.ts';
import type { Grant } from '../../grants/grant.ts';
import type { Host } from '../../hosts/host.ts';
import { shellWord } from '../apply/shell.ts';
import { failureOf } from './files.ts';

const limitMs = 30_000;
/** First line of both files: only files with this line are ever removed. */
const mark = '# Written by quarterdeck backup schedule; remove it with: quarterdeck backup unschedule';

export interface Schedule {
  engineName: string;
  argv: readonly string[];
  /** `03:15`, local time of the host. */
  at: string;
}

/** The location of the timer: the system's for root, otherwise the operator's own. */
export interface ScheduleUnit {
  name: string;
  folder: string;
  scope: readonly string[];
}

export async function scheduleUnit(host: Host, engineName: string, signal: AbortSignal): Promise<ScheduleUnit> {
  const { uid, home } = await host.facts(signal);
  const name = `quarterdeck-backup-${engineName.replaceAll(/[^a-zA-Z0-9_-]/g, '-')}`;
  return uid === 0
    ? { name, folder: '/etc/systemd/system', scope: [] }
    : { name, folder: posix.join(home, '.config', 'systemd', 'user'), scope: ['--user'] };
}

export function unitTexts({ engineName, argv, at }: Schedule): { service: string; timer: string } {
  const service = `${mark}
[Unit]
Description=Back up the stack on ${engineName}

[Service]
Type=oneshot
ExecStart=${argv.map(unitWord).join(' ')}
Nice=10
IOSchedulingClass=idle
`;
  // Persistent: a machine that was off at that time runs it after the next boot.
  const timer = `${mark}
[Unit]
Description=Back up the stack on ${engineName} every day

[Timer]
OnCalendar=*-*-* ${at}:00
Persistent=true
RandomizedDelaySec=10min

[Install]
WantedBy=timers.target
`;
  return { service, timer };
}

/** Quotes one word of ExecStart, where percent signs, dollars, quotes and spaces have a special meaning. */
function unitWord(word: string): string {
  const plain = word.replaceAll('%', '%%').replaceAll('$', '$$$$');
  return /^[\w@%+=:,./$-]+$/.test(plain) ? plain : `"${plain.replaceAll(/["\\]/g, '\\$&')}"`;
}

/** For a machine without systemd, to be added with `crontab -e`. */
export function cronLine({ argv, at }: Schedule): string {
  const [hours, minutes] = at.split(':').map(Number);
  const command = argv.map((word) => (/^[\w@+=:,./-]+$/.test(word) ? word : shellWord(word))).join(' ');
  return `${minutes} ${hours} * * * ${command.replaceAll('%', '\\%')}`;
}

/** Returns whether systemd runs there: without it a timer never elapses. */
export async function hasSystemd(host: Host, { scope }: ScheduleUnit, signal: AbortSignal): Promise<boolean> {
  const asking = host.exec(['systemctl', ...scope, 'show-environment'], { signal, limitMs });
  const { exitCode } = await unlessCode(asking, ['unreachable.program'], { exitCode: undefined });
  return exitCode === 0;
}

/** Writes both files and starts the timer. Throws `refused.unit` if files of these names were not created by this program. */
export async function writeSchedule(grant: Grant, host: Host, unit: ScheduleUnit, schedule: Schedule): Promise<void> {
  await refuseOthers(host, unit, grant.signal);
  const { service, timer } = unitTexts(schedule);
  await host.files.makeFolder(grant, unit.folder, { mode: 0o755 });
  await host.files.write(grant, posix.join(unit.folder, `${unit.name}.service`), Buffer.from(service), { mode: 0o644 });
  await host.files.write(grant, posix.join(unit.folder, `${unit.name}.timer`), Buffer.from(timer), { mode: 0o644 });
  const check = systemctlText(unit, 'status');
  const remedy = `The unit files were written. Check "${check}", or remove the files: quarterdeck backup unschedule`;
  await systemctl(grant, host, unit, ['daemon-reload'], remedy);
  await systemctl(grant, host, unit, ['enable', '--now', `${unit.name}.timer`], remedy);
}

/** Removes exactly the files that `writeSchedule` wrote. Returns whether there were any. */
export async function removeSchedule(grant: Grant, host: Host, unit: ScheduleUnit): Promise<boolean> {
  const files = await refuseOthers(host, unit, grant.signal);
  if (files.length === 0) return false;
  const kept = `Nothing was removed. Check the timer: ${systemctlText(unit, 'status')} ${unit.name}.timer`;
  if (await hasSystemd(host, unit, grant.signal)) await systemctl(grant, host, unit, ['disable', '--now', `${unit.name}.timer`], kept);
  for (const file of files) await host.files.remove(grant, file);
  const removed = `The unit files were removed. Run: ${systemctlText(unit, 'daemon-reload')}`;
  if (await hasSystemd(host, unit, grant.signal)) await systemctl(grant, host, unit, ['daemon-reload'], removed);
  return true;
}

async function refuseOthers(host: Host, { folder, name }: ScheduleUnit, signal: AbortSignal): Promise<string[]> {
  const files: string[] = [];
  for (const ending of ['service', 'timer']) {
    const file = posix.join(folder, `${name}.${ending}`);
    const content = await host.files.read(file, { signal, limitBytes: 64 * 1024 });
    if (!content) continue;
    if (!Buffer.from(content).toString('utf8').startsWith(mark))
      throw new Fault('refused.unit', `${file} was not written by Quarterdeck.`, 'Nothing was changed. Move the file first.');
    files.push(file);
  }
  return files;
}

const systemctlText = ({ scope }: ScheduleUnit, verb: string) => ['systemctl', ...scope, verb].join(' ');

async function systemctl(grant: Grant, host: Host, { scope }: ScheduleUnit, args: readonly string[], remedy: string): Promise<void> {
  const { exitCode, stderr } = await host.run(grant, ['systemctl', ...scope, ...args], { signal: grant.signal, limitMs });
  if (exitCode === 0) return;
  const message = `systemctl ${args.join(' ')} failed: ${failureOf({ exitCode, stderr })}.`;
  throw new Fault('failed.systemd', message, remedy);
}
