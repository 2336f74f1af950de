import { posix } from 'node:path';
import { Fault } from '../faults/fault.ts';
import type { Grant } from '../grants/grant.ts';
import type { Host } from '../hosts/host.ts';
import { lastLine } from './backup-files.ts';

const limitMs = 30_000;
/** First line of both files: only what says so is ever taken away. */
const mark = '# Written by quarterdeck backup schedule; quarterdeck backup unschedule takes it away.';

export interface Schedule {
  place: string;
  /** Absolute path of the program, and what it is called with. */
  argv: readonly string[];
  /** `03:15`, local time of the host. */
  at: string;
}

/** Where the timer goes: the system's for root, the operator's own otherwise. */
export interface ScheduleUnit {
  name: string;
  folder: string;
  scope: readonly string[];
}

export async function scheduleUnit(host: Host, place: string, signal: AbortSignal): Promise<ScheduleUnit> {
  const { uid, home } = await host.facts(signal);
  const name = `quarterdeck-backup-${place.replaceAll(/[^a-zA-Z0-9_-]/g, '-')}`;
  return uid === 0
    ? { name, folder: '/etc/systemd/system', scope: [] }
    : { name, folder: posix.join(home, '.config', 'systemd', 'user'), scope: ['--user'] };
}

export function unitTexts({ place, argv, at }: Schedule): { service: string; timer: string } {
  const service = [
    mark,
    '[Unit]',
    `Description=Back up the stack on ${place}`,
    '',
    '[Service]',
    'Type=oneshot',
    `ExecStart=${argv.map(unitWord).join(' ')}`,
    'Nice=10',
    'IOSchedulingClass=idle',
    '',
  ].join('\n');
  const timer = [
    mark,
    '[Unit]',
    `Description=Back up the stack on ${place} every day`,
    '',
    '[Timer]',
    `OnCalendar=*-*-* ${at}:00`,
    // A machine that was off at that time does it when it is on again.
    'Persistent=true',
    'RandomizedDelaySec=10min',
    '',
    '[Install]',
    'WantedBy=timers.target',
    '',
  ].join('\n');
  return { service, timer };
}

/** One word of ExecStart: percent signs and dollars mean something there, quotes and spaces too. */
function unitWord(word: string): string {
  const plain = word.replaceAll('%', '%%').replaceAll('$', '$$$$');
  return /^[\w@%+=:,./$-]+$/.test(plain) ? plain : `"${plain.replaceAll(/["\\]/g, '\\$&')}"`;
}

/** For a machine without systemd: to be put in with `crontab -e`. */
export function cronLine({ argv, at }: Schedule): string {
  const [hours, minutes] = at.split(':').map(Number);
  const command = argv.map((word) => (/^[\w@+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(' ');
  return `${minutes} ${hours} * * * ${command.replaceAll('%', '\\%')}`;
}

/** Does systemd run there, so that a timer would ever ring? */
export async function hasSystemd(host: Host, { scope }: ScheduleUnit, signal: AbortSignal): Promise<boolean> {
  try {
    const { exitCode } = await host.exec(['systemctl', ...scope, 'show-environment'], { signal, limitMs });
    return exitCode === 0;
  } catch (thrown) {
    if (thrown instanceof Fault && thrown.code === 'unreachable.program') return false;
    throw thrown;
  }
}

/** Writes both files and starts the timer. Throws `refused.unit` where files of these names are somebody else's. */
export async function writeSchedule(grant: Grant, host: Host, unit: ScheduleUnit, schedule: Schedule): Promise<void> {
  await refuseOthers(host, unit, grant.signal);
  const { service, timer } = unitTexts(schedule);
  await host.files.makeFolder(grant, unit.folder, { mode: 0o755 });
  await host.files.write(grant, posix.join(unit.folder, `${unit.name}.service`), Buffer.from(service), { mode: 0o644 });
  await host.files.write(grant, posix.join(unit.folder, `${unit.name}.timer`), Buffer.from(timer), { mode: 0o644 });
  await systemctl(grant, host, unit, ['daemon-reload']);
  await systemctl(grant, host, unit, ['enable', '--now', `${unit.name}.timer`]);
}

/** Takes away exactly what `writeSchedule` made. Answers whether there was anything. */
export async function removeSchedule(grant: Grant, host: Host, unit: ScheduleUnit): Promise<boolean> {
  const files = await refuseOthers(host, unit, grant.signal);
  if (files.length === 0) return false;
  if (await hasSystemd(host, unit, grant.signal)) await systemctl(grant, host, unit, ['disable', '--now', `${unit.name}.timer`]);
  for (const file of files) await host.files.remove(grant, file);
  if (await hasSystemd(host, unit, grant.signal)) await systemctl(grant, host, unit, ['daemon-reload']);
  return true;
}

/** Those of the two files that are there. */
async function refuseOthers(host: Host, { folder, name }: ScheduleUnit, signal: AbortSignal): Promise<string[]> {
  const files: string[] = [];
  for (const ending of ['service', 'timer']) {
    const file = posix.join(folder, `${name}.${ending}`);
    const content = await host.files.read(file, { signal, limitBytes: 64 * 1024 });
    if (!content) continue;
    if (!Buffer.from(content).toString('utf8').startsWith(mark)) {
      throw new Fault({
        code: 'refused.unit',
        message: `${file} was written by somebody else.`,
        remedy: 'Move it away first; nothing was changed.',
      });
    }
    files.push(file);
  }
  return files;
}

async function systemctl(grant: Grant, host: Host, { scope }: ScheduleUnit, args: readonly string[]): Promise<void> {
  const { exitCode, stderr } = await host.run(grant, ['systemctl', ...scope, ...args], { signal: grant.signal, limitMs });
  if (exitCode === 0) return;
  throw new Fault({
    code: 'failed.systemd',
    message: `systemctl ${args.join(' ')} failed: ${lastLine(Buffer.from(stderr).toString('utf8')) || `exit code ${exitCode}`}.`,
    remedy: 'The files are written. Look at "systemctl status", or take them away: quarterdeck backup unschedule.',
  });
}
