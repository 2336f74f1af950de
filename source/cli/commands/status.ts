import { throwIfNothingAnswers } from '../../fleet/engine-view.ts';
import type { Fleet, FleetSnapshot } from '../../fleet/model.ts';
import type { VerbContext } from '../command.ts';
import { findComponent } from '../find-component.ts';
import { whileWaiting } from '../slow-waits.ts';
import { statusJson } from '../status-json.ts';
import { componentLines, statusLines } from '../status-text.ts';

const waiting = () => 'Waiting for the engine';

/** Waits until the engines have answered, or are known not to. */
export function settleFleet({ output, signal }: VerbContext, fleet: Fleet, complete = false): Promise<FleetSnapshot> {
  return whileWaiting(output, waiting, () => fleet.settle(signal, complete ? 'complete' : 'settled'));
}

export async function runStatusVerb({ output, options, signal, app }: VerbContext, name?: string): Promise<number> {
  const opened = await app();
  const { fleet } = opened;
  // The table shows less than an inspect of every container tells, which takes many times as long as its list.
  const stage = options.json || name !== undefined ? 'complete' : 'states';
  const [snapshot, unfinished] = await whileWaiting(output, waiting, () =>
    Promise.all([fleet.settle(signal, stage), opened.unfinished(signal)]),
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
