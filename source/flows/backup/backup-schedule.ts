import { posix } from 'node:path';
import { Fault } from '../../faults/fault.ts';
import { cronLine, type Schedule, scheduleFiles, scheduleUnit, unitTexts } from '../../stack/backup/schedule.ts';
import { hasSystemd, removeUnit, writeUnit } from '../../stack/systemd-unit.ts';
import { cleanLine } from '../../text/clean.ts';
import { type EngineScope, onEngine } from '../engine-scope.ts';
import type { FlowInput, Procedure } from '../flow.ts';
import { optionOf, optionsOf } from '../flow-options.ts';
import { backupLocation, backupTarget } from './backup-target.ts';

export const backupSchedule = onEngine(async (scope, input, session) => {
  const { host } = scope;
  if (host.kind !== 'local') {
    const remedy = `Use a cron entry on this machine instead: quarterdeck backup all --host ${input.engineName} --to FOLDER --yes`;
    throw new Fault('refused.schedule', `A timer can back up only this machine, but ${input.engineName} is a remote host.`, remedy);
  }
  const schedule = await scheduleOf(scope, input);
  const unit = await scheduleUnit(host, input.engineName, session.signal);
  const file = optionOf(input, 'password-file');
  const exposed = `The repository password is stored in plaintext in ${cleanLine(file ?? '')}: anyone who can read that file can read the backups.`;
  if (file !== undefined) session.show({ kind: 'text', text: exposed });
  const omission =
    'If the stored secrets cannot be read when the backup runs, it omits the secrets and lists those that a restore requires.';
  session.show({ kind: 'text', text: omission });
  if (input.options.cron === true || !(await hasSystemd(host, unit, session.signal)))
    return { message: `Add this line to the crontab (crontab -e): ${cronLine(schedule)}`, data: { cron: cronLine(schedule) } };
  const texts = unitTexts(schedule);
  session.show({ kind: 'text', text: `${texts.service}\n${texts.timer}` });
  await session.act({
    id: 'schedule',
    right: 'operate',
    request: `write ${posix.join(unit.folder, unit.name)}.service and .timer, systemctl ${[...unit.scope, 'enable'].join(' ')} --now ${unit.name}.timer`,
    run: (grant) => writeUnit(grant, host, unit, scheduleFiles, texts),
  });
  if (session.dryRun) return { message: 'Dry run: nothing was written.' };
  const lingers = unit.scope.length > 0 ? ` The timer runs only while you are logged in, unless you run "loginctl enable-linger".` : '';
  return {
    message: `${input.engineName} is backed up every day at ${schedule.at}.${lingers} To stop the backups: quarterdeck backup unschedule`,
    data: { unit: unit.name },
  };
});

export const backupUnschedule: Procedure = async (session, input, context) => {
  const host = context.hostOf(input.engineName);
  const unit = await scheduleUnit(host, input.engineName, session.signal);
  const gone = await session.act({
    id: 'unschedule',
    right: 'operate',
    request: `systemctl ${[...unit.scope, 'disable'].join(' ')} --now ${unit.name}.timer, remove ${posix.join(unit.folder, unit.name)}.service and .timer`,
    run: (grant) => removeUnit(grant, host, unit, scheduleFiles),
  });
  if (session.dryRun) return { message: 'Dry run: nothing was removed.' };
  return { message: gone ? `${input.engineName} is no longer backed up by a timer.` : 'No timer found.' };
};

async function scheduleOf(scope: EngineScope, input: FlowInput): Promise<Schedule> {
  const { context, engineName } = scope;
  const at = optionOf(input, 'at') ?? '03:15';
  if (!/^(?:[01]\d|2[0-3]):[0-5]\d$/.test(at))
    throw new Fault('usage.time', `--at must be a time of day, not "${cleanLine(at)}".`, 'Use hours and minutes: --at 03:15');
  const target = await scheduledTarget(scope, input);
  const recipients = optionsOf(input, 'recipient') ?? [];
  const file = optionOf(input, 'password-file');
  const argv = [
    ...(context.program ?? ['quarterdeck']),
    ...['backup', 'all', '--host', engineName, '--to', target, '--yes'],
    ...(file === undefined ? [] : ['--password-file', file]),
    ...recipients.flatMap((key) => ['--recipient', key]),
  ];
  return { engineName, argv, at };
}

/** A repository's address with a password would be visible in the unit's command line. */
async function scheduledTarget(scope: EngineScope, input: FlowInput): Promise<string> {
  const written = backupLocation(input, scope.context);
  if (!written?.startsWith('restic:')) {
    const target = await backupTarget(scope, input);
    return target.kind === 'folder' ? target.folder : (written ?? '');
  }
  if (/\/\/[^/@]*:[^/@]*@/.test(written)) {
    const message = 'The repository address contains a password, which any user could read in the command line of the timer.';
    const remedy =
      'Use an address without a password, and set RESTIC_REST_USERNAME and RESTIC_REST_PASSWORD in an EnvironmentFile of the unit.';
    throw new Fault('refused.schedule', message, remedy);
  }
  if (optionOf(input, 'password-file') === undefined) {
    const remedy = 'Write the password to a file that only its owner can read (chmod 600), and pass --password-file FILE.';
    throw new Fault('usage.passwordFile', 'A scheduled backup cannot prompt for the repository password.', remedy);
  }
  return written;
}
