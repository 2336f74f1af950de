import type { Host } from '../../hosts/host.ts';
import { shellWord } from '../apply/shell.ts';
import { type UnitFiles, type UnitLocation, unitLocation, unitWord } from '../systemd-unit.ts';

export const scheduleFiles: UnitFiles = {
  mark: '# Written by quarterdeck backup schedule; remove it with: quarterdeck backup unschedule',
  endings: ['service', 'timer'],
  started: 'timer',
  removedBy: 'quarterdeck backup unschedule',
};

export interface Schedule {
  engineName: string;
  argv: readonly string[];
  /** `03:15`, local time of the host. */
  at: string;
}

export async function scheduleUnit(host: Host, engineName: string, signal: AbortSignal): Promise<UnitLocation> {
  return unitLocation(host, `quarterdeck-backup-${engineName.replaceAll(/[^a-zA-Z0-9_-]/g, '-')}`, signal);
}

export function unitTexts({ engineName, argv, at }: Schedule): { service: string; timer: string } {
  const service = `${scheduleFiles.mark}
[Unit]
Description=Back up the stack on ${engineName}

[Service]
Type=oneshot
ExecStart=${argv.map(unitWord).join(' ')}
Nice=10
IOSchedulingClass=idle
`;
  // Persistent: a machine that was off at that time runs it after the next boot.
  const timer = `${scheduleFiles.mark}
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

/** For a machine without systemd, to be added with `crontab -e`. */
export function cronLine({ argv, at }: Schedule): string {
  const [hours, minutes] = at.split(':').map(Number);
  const command = argv.map((word) => (/^[\w@+=:,./-]+$/.test(word) ? word : shellWord(word))).join(' ');
  return `${minutes} ${hours} * * * ${command.replaceAll('%', '\\%')}`;
}
