import { useEffect, useState } from 'react';
import type { ContainerDetail } from '../../engine/engine.ts';
import { Fault, messageOf } from '../../faults/fault.ts';
import type { ComponentView, ServiceView } from '../../fleet/model.ts';
import { useParts } from '../context.ts';

const limitMs = 10_000;

export type Inspection =
  | { state: 'none' }
  | { state: 'asking' }
  | { state: 'here'; detail: ContainerDetail }
  | { state: 'failed'; message: string; remedy: string };

/** What the engine tells of the container behind a service; asked again when its state changes, given up when nobody looks any more. */
export function useInspect(component: ComponentView | undefined, service: ServiceView | undefined): Inspection {
  const { deck } = useParts();
  const [inspection, setInspection] = useState<{ of: string; value: Inspection }>({ of: '', value: { state: 'none' } });
  const id = service?.containerId;
  const place = component?.host;
  const of = id === undefined ? '' : `${place}/${id}`;
  const revision = `${of}/${service?.state}/${service?.sinceMs}/${service?.restarts}`;

  // biome-ignore lint/correctness/useExhaustiveDependencies: a new state of the container is a reason to ask again
  useEffect(() => {
    if (id === undefined || place === undefined) return;
    const stop = new AbortController();
    const show = (value: Inspection) => {
      if (!stop.signal.aborted) setInspection({ of, value });
    };
    void (async () => {
      try {
        const detail = await deck.world.engineOf(place).inspect(id, AbortSignal.any([stop.signal, AbortSignal.timeout(limitMs)]));
        show(detail ? { state: 'here', detail } : { state: 'none' });
      } catch (thrown) {
        show(
          thrown instanceof Fault
            ? { state: 'failed', message: thrown.message, remedy: thrown.remedy }
            : {
                state: 'failed',
                message: `The engine did not answer: ${messageOf(thrown)}`,
                remedy: 'It is asked again when the component changes.',
              },
        );
      }
    })();
    return () => stop.abort();
  }, [deck, of, revision]);

  if (id === undefined) return { state: 'none' };
  return inspection.of === of ? inspection.value : { state: 'asking' };
}
