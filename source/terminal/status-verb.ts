import { Fault } from '../faults/fault.ts';
import type { FleetSnapshot } from '../fleet/model.ts';
import { findComponent } from './find-component.ts';
import { whileWaiting } from './slow-waits.ts';
import { statusJson } from './status-json.ts';
import { componentLines, statusLines } from './status-text.ts';
import type { VerbContext } from './verb.ts';

/** No place answers. Throws what is in the way of the first; with several, all are named. */
export function throwIfNothingAnswers({ places }: FleetSnapshot): void {
  if (places.some(({ engine }) => engine.reachable)) return;
  const [first] = places;
  // Engines of one machine that is away say the same.
  const messages = [...new Set(places.map(({ link }) => link.message).filter((message) => message !== undefined))];
  throw new Fault({
    code: 'unreachable.engine',
    message: messages.length > 0 ? messages.join(' ') : 'No container engine was found on this machine.',
    ...(first?.link.cause !== undefined && { cause: first.link.cause }),
    remedy: first?.link.remedy ?? 'Start Docker or Podman, or set DOCKER_HOST to where the engine listens.',
  });
}

/** `status [COMPONENT]`. */
export async function runStatusVerb({ output, options, signal, deck }: VerbContext, name?: string): Promise<number> {
  const opened = await deck();
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
    else for (const line of componentLines(component, snapshot, output, Date.now())) output.line(line);
    return 0;
  }
  const answering = snapshot.places.some(({ engine }) => engine.reachable);
  if (options.json) output.json(statusJson(snapshot, { unfinished }));
  // The fault says the same in its place.
  else if (answering) for (const line of statusLines(snapshot, output, Date.now(), unfinished)) output.line(line);
  throwIfNothingAnswers(snapshot);
  return 0;
}
