import { missingComponents } from '../../fleet/missing-components.ts';
import type { ComponentView, EngineView, FindingView, PortView } from '../../fleet/model.ts';
import { backupText, isBackupDue, setupTasksLeft } from '../../fleet/setup-tasks.ts';
import { authority } from '../../text/authority.ts';
import { cleanLine } from '../../text/clean.ts';
import { clockDifferenceText, countText } from '../../text/quantities.ts';
import type { Procedure } from '../flow.ts';

type Level = FindingView['level'];

interface Diagnosis {
  level: Level;
  /** Component, or host. */
  about: string;
  check: string;
  message: string;
  remedy: string;
  operation?: string;
}

const levels: readonly Level[] = ['error', 'warning', 'notice'];

/** Everything that the fleet knows to be wrong, worst first. Ends with 1 if something is an error or a warning. */
export const doctor: Procedure = async (session, input, { fleet }) => {
  session.progress({ id: 'doctor', label: 'Querying the components' });
  const snapshot = await fleet.settle(session.signal, { complete: true });
  session.progress({ id: 'doctor', label: 'Queried the components', done: true });
  const only = input.component?.key;
  const here = snapshot.components.filter(({ host, key }) => host === input.engineName && (only === undefined || key === only));
  const missing = new Set(missingComponents(snapshot.components));
  const engine = snapshot.engines.find(({ name }) => name === input.engineName);
  const found = [
    ...(engine && only === undefined ? ofEngine(engine) : []),
    ...here.flatMap((component) => ofComponent(component, missing.has(component), Date.now())),
    ...snapshot.ports.filter(({ host, component }) => host === input.engineName && here.some(({ id }) => id === component)).flatMap(ofPort),
  ].sort((one, other) => levels.indexOf(one.level) - levels.indexOf(other.level));
  for (const { level, about, message, remedy } of found)
    session.show({ kind: 'text', text: `${level}: ${about}: ${message} ${remedy}`.trim() });
  const counts = levels.flatMap((level) => {
    const count = found.filter((one) => one.level === level).length;
    return count > 0 ? [countText(count, level)] : [];
  });
  const asked = `Checked ${countText(here.length, 'component')}`;
  return {
    message: counts.length > 0 ? `${asked}: ${counts.join(', ')}.` : `${asked}: no problems found.`,
    data: { findings: found },
    exitCode: found.some(({ level }) => level !== 'notice') ? 1 : 0,
  };
};

function ofEngine({ name, link, engine, clockAheadMs }: EngineView): Diagnosis[] {
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

function ofComponent(component: ComponentView, isMissing: boolean, nowMs: number): Diagnosis[] {
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

function ofPort({ component = '', address, port, protocol, conflictWith }: PortView): Diagnosis[] {
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
