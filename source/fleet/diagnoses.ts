import { authority } from '../text/authority.ts';
import { cleanLine } from '../text/clean.ts';
import { clockDifferenceText } from '../text/quantities.ts';
import type { ComponentView, EngineView, FindingView, PortView } from './model.ts';
import { backupText, isBackupDue, setupTasksLeft } from './setup-tasks.ts';

export type Level = FindingView['level'];

/** What is wrong, and what to do. `doctor` lists them, and rules notify about them. */
export interface Diagnosis {
  level: Level;
  /** Component, or host. */
  about: string;
  check: string;
  message: string;
  remedy: string;
  operation?: string;
}

/** Worst first. */
export const levels: readonly Level[] = ['error', 'warning', 'notice'];

export function engineDiagnoses({ name, link, engine, clockAheadMs }: EngineView): Diagnosis[] {
  const about = cleanLine(name);
  return [
    ...(engine.reachable
      ? []
      : [
          {
            ...{ level: 'error' as const, about, check: 'engine-unreachable' },
            message: cleanLine(link.message ?? 'The engine does not respond.'),
            remedy: cleanLine(link.remedy ?? ''),
          },
        ]),
    ...(clockAheadMs === undefined
      ? []
      : [
          {
            ...{ level: 'warning' as const, about, check: 'clock-off' },
            message: `Its clock is ${clockDifferenceText(clockAheadMs)} ${clockAheadMs > 0 ? 'fast' : 'slow'}.`,
            remedy: 'Synchronise the clocks, for example with systemd-timesyncd or chrony.',
          },
        ]),
  ];
}

export function componentDiagnoses(component: ComponentView, isMissing: boolean, nowMs: number): Diagnosis[] {
  const { id: about, state, detail, findings } = component;
  const log = `Show its log: quarterdeck logs ${about}`;
  const isBad = state.severity === 'error' || state.severity === 'warning';
  const due = isBackupDue(component, nowMs);
  return [
    ...(isBad
      ? [
          {
            ...{ level: state.severity as Level, about, check: `state-${state.id}` },
            message: cleanLine(`${state.label}. ${detail}`).trim(),
            remedy: isMissing ? `Start it: quarterdeck up ${about}` : log,
          },
        ]
      : []),
    ...findings.map(({ message, remedy, ...finding }) => ({
      ...finding,
      ...{ about, message: cleanLine(message), remedy: cleanLine(remedy) },
    })),
    ...setupTasksLeft(component).map(({ id, title, urgent }) => ({
      ...{ level: urgent ? ('error' as const) : ('notice' as const), about, check: `task-${id}` },
      message: `To do: ${title.replace(/\.$/, '')}.`,
      remedy: urgent ? 'Until this is done, anyone with access to the port can log in.' : '',
    })),
    ...(due
      ? [
          {
            ...{ level: 'warning' as const, about, check: 'backup-due', message: `Backup: ${backupText(component, nowMs)}.` },
            remedy: component.backup?.noDestination
              ? `Add "backups: {${component.host}: /srv/backups}" to config.yaml, or back up: quarterdeck backup ${about} --to /srv/backups`
              : `Back up: quarterdeck backup ${about}`,
          },
        ]
      : []),
  ];
}

export function portDiagnoses({ component = '', address, port, protocol, conflictWith }: PortView): Diagnosis[] {
  if (conflictWith.length === 0) return [];
  const others = conflictWith.map(cleanLine).join(', ');
  return [
    {
      ...{ level: 'error', about: component, check: 'port-conflict' },
      message: `${authority({ host: cleanLine(address), port })}/${protocol} is also used by ${others}.`,
      remedy: 'Show all ports: quarterdeck ports',
    },
  ];
}
