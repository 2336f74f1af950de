import { posix } from 'node:path';
import { Fault } from '../faults/fault.ts';
import type { Session } from '../session/session.ts';
import { cronLine, hasSystemd, removeSchedule, type Schedule, scheduleUnit, unitTexts, writeSchedule } from '../stack/backup-schedule.ts';
import { cleanLine } from '../text/clean.ts';
import { backupScheduleAbout, backupUnscheduleAbout } from './about-backups.ts';
import { backupTarget } from './backup-target.ts';
import type { Flow, FlowInput, FlowWorld } from './flow.ts';

export const backupSchedule: Flow = {
  ...backupScheduleAbout,
  async run(session, input, world) {
    const host = world.hostOf(input.place);
    if (host.kind !== 'local') {
      throw new Fault({
        code: 'refused.schedule',
        message: `A timer has to be on a machine that has quarterdeck, and ${input.place} needs none.`,
        remedy: `Write a cron line here instead: quarterdeck backup all --host ${input.place} --to PLACE --yes`,
      });
    }
    const schedule = await scheduleOf(session, input, world);
    const unit = await scheduleUnit(host, input.place, session.signal);
    for (const line of remarks(input)) session.show({ kind: 'text', text: line });
    if (input.options.cron === true || !(await hasSystemd(host, unit, session.signal))) {
      return { message: `Put this into the crontab (crontab -e): ${cronLine(schedule)}`, data: { cron: cronLine(schedule) } };
    }
    const { service, timer } = unitTexts(schedule);
    session.show({ kind: 'text', text: `${service}\n${timer}` });
    await session.act({
      id: 'schedule',
      right: 'operate',
      request: `write ${posix.join(unit.folder, unit.name)}.service and .timer, systemctl enable --now ${unit.name}.timer`,
      target: { host: input.place },
      run: (grant) => writeSchedule(grant, host, unit, schedule),
    });
    if (session.rehearsing) return { message: 'Rehearsed: nothing was written.' };
    const lingers = unit.scope.length > 0 ? ` It runs while you are logged in; "loginctl enable-linger" makes it run always.` : '';
    return {
      message: `${input.place} is backed up every day at ${schedule.at}.${lingers} Take it away: quarterdeck backup unschedule`,
      data: { unit: unit.name },
    };
  },
};

export const backupUnschedule: Flow = {
  ...backupUnscheduleAbout,
  async run(session, input, world) {
    const host = world.hostOf(input.place);
    const unit = await scheduleUnit(host, input.place, session.signal);
    const gone = await session.act({
      id: 'unschedule',
      right: 'operate',
      request: `systemctl disable --now ${unit.name}.timer, remove ${posix.join(unit.folder, unit.name)}.service and .timer`,
      target: { host: input.place },
      run: (grant) => removeSchedule(grant, host, unit),
    });
    if (session.rehearsing) return { message: 'Rehearsed: nothing was taken away.' };
    return { message: gone ? `${input.place} is no longer backed up by a timer.` : 'There was no timer of ours.' };
  },
};

async function scheduleOf(session: Session, input: FlowInput, world: FlowWorld): Promise<Schedule> {
  const at = typeof input.options.at === 'string' ? input.options.at : '03:15';
  if (!/^(?:[01]\d|2[0-3]):[0-5]\d$/.test(at))
    throw new Fault({
      code: 'usage.time',
      message: `"${cleanLine(at)}" is no time of day.`,
      remedy: 'Write hours and minutes: --at 03:15',
    });
  const target = await scheduledTarget(session, input, world);
  const { recipient } = input.options;
  const recipients = typeof recipient === 'string' ? [recipient] : Array.isArray(recipient) ? (recipient as readonly string[]) : [];
  const program = world.program ?? ['quarterdeck'];
  const file = input.options['password-file'];
  const argv = [
    ...program,
    ...['backup', 'all', '--host', input.place, '--to', target, '--yes'],
    ...(typeof file === 'string' ? ['--password-file', file] : []),
    ...recipients.flatMap((key) => ['--recipient', key]),
  ];
  return { place: input.place, argv, at };
}

/** A repository's address may hold a password, and stands in the unit's command line: then it has to come from the settings. */
async function scheduledTarget(session: Session, input: FlowInput, world: FlowWorld): Promise<string> {
  const written = typeof input.options.to === 'string' ? input.options.to : world.backupTargetOf?.(input.place);
  if (!written?.startsWith('restic:')) {
    const target = await backupTarget(session, input, world);
    return target.kind === 'folder' ? target.folder : (written ?? '');
  }
  if (/\/\/[^/@]*:[^/@]*@/.test(written)) {
    throw new Fault({
      code: 'refused.schedule',
      message: "The repository's address holds a password, which everybody could read in the timer's command.",
      remedy: 'Use an address without it; restic takes RESTIC_REST_USERNAME and RESTIC_REST_PASSWORD from a file of the unit.',
    });
  }
  if (typeof input.options['password-file'] !== 'string') {
    throw new Fault({
      code: 'usage.passwordFile',
      message: 'Nobody is there at night to open the keychain for the password of the repository.',
      remedy: 'Put it into a file that only its owner can read (chmod 600), and say --password-file FILE.',
    });
  }
  return written;
}

function remarks(input: FlowInput): string[] {
  const lines: string[] = [];
  if (typeof input.options['password-file'] === 'string')
    lines.push(
      `The password of the repository rests in clear in ${cleanLine(input.options['password-file'])}: whoever reads that file reads the backups.`,
    );
  lines.push('Where the keychain is closed at that time, the secrets stay out of the backup, and it says which a restore needs.');
  return lines;
}
