import { componentDiagnoses, engineDiagnoses, portDiagnoses } from '../fleet/diagnoses.ts';
import { missingComponents } from '../fleet/missing-components.ts';
import type { ComponentView, EngineView, FleetSnapshot } from '../fleet/model.ts';
import { backupText } from '../fleet/setup-tasks.ts';
import { cleanLine } from '../text/clean.ts';
import type { Fact } from './evaluate.ts';

/** The facts of the fleet, and the hosts and components of which nothing is known now. What `doctor` lists is among them. */
export function fleetFacts({ engines, components, ports }: FleetSnapshot, nowMs: number): { facts: Fact[]; unknown: Set<string> } {
  const unknown = new Set<string>();
  const facts = engines.flatMap((engine) => {
    if (!engine.engine.reachable) unknown.add(engine.name);
    return engineFacts(engine);
  });
  const missing = new Set(missingComponents(components));
  for (const component of components) {
    const { key, host, id, state } = component;
    if (unknown.has(host)) continue;
    // Its next state is not known yet, and may be the same as before.
    if (state.severity === 'busy' || state.severity === 'unknown') unknown.add(key);
    const conflicts = ports.filter((port) => port.component === key).flatMap(portDiagnoses);
    const diagnoses = [...componentDiagnoses(component, missing.has(component), nowMs), ...conflicts];
    const subject = { host, about: id, component: key };
    facts.push(
      stateFact(component),
      ...backupFacts(component, nowMs),
      ...diagnoses.map(
        ({ level, check, message, remedy }): Fact => ({ kind: 'doctor', key: `${key} ${check}`, ...subject, level, message, remedy }),
      ),
    );
  }
  return { facts, unknown };
}

function engineFacts(engine: EngineView): Fact[] {
  const { name, link } = engine;
  const subject = { host: name, about: name };
  return engineDiagnoses(engine).flatMap(({ level, check, message, remedy }): Fact[] => {
    const isAway = check === 'engine-unreachable';
    // While it connects for the first time.
    if (isAway && link.state !== 'away') return [];
    return [
      { kind: 'doctor', key: `${name} ${check}`, ...subject, level, message, remedy },
      ...(isAway ? [{ kind: 'unreachable' as const, key: name, ...subject, message, remedy }] : []),
    ];
  });
}

function stateFact({ key, host, id, state, detail }: ComponentView): Fact {
  const message = cleanLine(`${state.label}. ${detail}`).trim();
  return { kind: 'state', key, host, about: id, component: key, state: state.id, message, remedy: `Show its log: quarterdeck logs ${id}` };
}

function backupFacts(component: ComponentView, nowMs: number): Fact[] {
  const { key, host, id, backup } = component;
  if (!backup || backup.pretended) return [];
  const ageMs = backup.atMs === undefined ? Number.POSITIVE_INFINITY : nowMs - backup.atMs;
  const message = `Backup: ${backupText(component, nowMs)}.`;
  return [{ kind: 'backup', key, host, about: id, component: key, ageMs, message, remedy: `Back up: quarterdeck backup ${id}` }];
}
