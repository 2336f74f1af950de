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
  const found: Omit<Diagnosis, 'about'>[] = [];
  if (!engine.reachable) {
    const message = cleanLine(link.message ?? 'The engine does not respond.');
    found.push({ level: 'error', check: 'engine-unreachable', message, remedy: cleanLine(link.remedy ?? '') });
  }
  if (clockAheadMs !== undefined) {
    const message = `Its clock is ${clockDifferenceText(clockAheadMs)} ${clockAheadMs > 0 ? 'fast' : 'slow'}.`;
    const remedy = 'Synchronise the clocks, for example with systemd-timesyncd or chrony.';
    found.push({ level: 'warning', check: 'clock-off', message, remedy });
  }
  return aboutEach(cleanLine(name), found);
}

export function componentDiagnoses(component: ComponentView, isMissing: boolean, nowMs: number): Diagnosis[] {
  const { id, state, detail, findings, host, backup } = component;
  const found: Omit<Diagnosis, 'about'>[] = [];
  if (state.severity === 'error' || state.severity === 'warning') {
    const remedy = isMissing ? `Start it: quarterdeck up ${id}` : `Show its log: quarterdeck logs ${id}`;
    found.push({ level: state.severity, check: `state-${state.id}`, message: cleanLine(`${state.label}. ${detail}`).trim(), remedy });
  }
  for (const finding of findings) found.push({ ...finding, message: cleanLine(finding.message), remedy: cleanLine(finding.remedy) });
  for (const { id: task, title, urgent } of setupTasksLeft(component)) {
    const remedy = urgent ? 'Until this is done, anyone who can reach the component may be able to take control of it.' : '';
    found.push({ level: urgent ? 'error' : 'notice', check: `task-${task}`, message: `To do: ${title.replace(/\.$/, '')}.`, remedy });
  }
  if (isBackupDue(component, nowMs)) {
    const remedy = backup?.noDestination
      ? `Add "backups: {${host}: /srv/backups}" to config.yaml, or back up: quarterdeck backup ${id} --to /srv/backups`
      : `Back up: quarterdeck backup ${id}`;
    found.push({ level: 'warning', check: 'backup-due', message: `Backup: ${backupText(component, nowMs)}.`, remedy });
  }
  return aboutEach(id, found);
}

export function portDiagnoses({ owner, address, port, protocol, conflictWith }: PortView): Diagnosis[] {
  if (conflictWith.length === 0) return [];
  const used = `${authority({ host: cleanLine(address), port })}/${protocol}`;
  const message = `${used} is also used by ${conflictWith.map(cleanLine).join(', ')}.`;
  return [{ level: 'error', about: owner, check: 'port-conflict', message, remedy: 'Show all ports: quarterdeck ports' }];
}

const aboutEach = (about: string, found: readonly Omit<Diagnosis, 'about'>[]) =>
  found.map(({ level, ...rest }): Diagnosis => ({ level, about, ...rest }));
