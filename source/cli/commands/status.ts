import { Fault } from '../../faults/fault.ts';
import type { Fleet, FleetSnapshot } from '../../fleet/model.ts';
import type { VerbContext } from '../command.ts';
import { findComponent } from '../find-component.ts';
import { whileWaiting } from '../slow-waits.ts';
import { statusJson } from '../status-json.ts';
import { componentLines, statusLines } from '../status-text.ts';

/** Throws when no engine answers: the fault of the first engine. With several, all are named. */
export function throwIfNothingAnswers({ engines }: FleetSnapshot): void {
  if (engines.some(({ engine }) => engine.reachable)) return;
  const [first] = engines;
  // Engines of one unreachable machine have the same message.
  const messages = [...new Set(engines.map(({ link }) => link.message).filter((message) => message !== undefined))];
  throw new Fault(
    'unreachable.engine',
    messages.length > 0 ? messages.join(' ') : 'No container engine was found on this machine.',
    first?.link.remedy ?? 'Start Docker or Podman, or set DOCKER_HOST to where the engine listens.',
    { cause: first?.link.cause },
  );
}

/** Waits until the engines have answered, or are known not to. */
export function settleFleet({ output, signal }: VerbContext, fleet: Fleet, complete = false): Promise<FleetSnapshot> {
  return whileWaiting(
    output,
    () => 'Waiting for the engine',
    () => fleet.settle(signal, { complete }),
  );
}

export async function runStatusVerb({ output, options, signal, app }: VerbContext, name?: string): Promise<number> {
  const opened = await app();
  const { fleet } = opened;
  const [snapshot, unfinished] = await whileWaiting(
    output,
    () => 'Waiting for the engine',
    () => Promise.all([fleet.settle(signal, { complete: true }), opened.unfinished(signal)]),
  );
  if (name !== undefined) {
    throwIfNothingAnswers(snapshot);
    const { component } = findComponent(name, snapshot, options.host);
    if (options.json) output.json(statusJson(snapshot, { keys: new Set([component.key]), unfinished }));
    else output.lines(componentLines(component, snapshot, output, Date.now()));
    return 0;
  }
  const answering = snapshot.engines.some(({ engine }) => engine.reachable);
  if (options.json) output.json(statusJson(snapshot, { unfinished }));
  // Otherwise the fault below reports the same.
  else if (answering) output.lines(statusLines(snapshot, output, Date.now(), unfinished));
  throwIfNothingAnswers(snapshot);
  return 0;
}
