import { componentDiagnoses, type Diagnosis, engineDiagnoses, levels, portDiagnoses } from '../../fleet/diagnoses.ts';
import { missingComponents } from '../../fleet/missing-components.ts';
import type { DeliveryFailure } from '../../notifications/state-file.ts';
import { cleanLine } from '../../text/clean.ts';
import { countText } from '../../text/quantities.ts';
import type { Procedure } from '../flow.ts';

/** Everything that the fleet knows to be wrong, worst first. Ends with 1 if something is an error or a warning. */
export const doctor: Procedure = async (session, input, { fleet, notifications }) => {
  session.progress({ id: 'doctor', label: 'Querying the components' });
  const snapshot = await fleet.settle(session.signal, 'complete');
  session.progress({ id: 'doctor', label: 'Queried the components', done: true });
  const only = input.component?.key;
  const here = snapshot.components.filter(({ host, key }) => host === input.engineName && (only === undefined || key === only));
  const missing = new Set(missingComponents(snapshot.components));
  const engine = snapshot.engines.find(({ name }) => name === input.engineName);
  // Targets belong to no host: with several, the first one lists them.
  const failures = only === undefined && engine === snapshot.engines[0] ? ((await notifications?.failures()) ?? {}) : {};
  const found = [
    ...deliveryDiagnoses(failures),
    ...(engine && only === undefined ? engineDiagnoses(engine) : []),
    ...here.flatMap((component) => componentDiagnoses(component, missing.has(component), Date.now())),
    ...snapshot.ports.filter(({ component }) => here.some(({ key }) => key === component)).flatMap(portDiagnoses),
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

function deliveryDiagnoses(failures: Readonly<Record<string, DeliveryFailure>>): Diagnosis[] {
  return Object.entries(failures).map(([target, { message, remedy, dropped }]) => ({
    ...{ level: 'warning', about: `notifications/${cleanLine(target)}`, check: 'notification-failed' },
    message: cleanLine(`${message} ${dropped > 0 ? `${countText(dropped, 'message was', 'messages were')} dropped.` : ''}`).trim(),
    remedy: cleanLine(remedy),
  }));
}
