import type { QuarterdeckApp } from '../../../app/app.ts';
import { createListeners } from '../../../faults/listeners.ts';
import { pauseFor } from '../../../faults/waits.ts';
import type { Alert, Decision } from '../../../products/crowdsec/client/crowdsec-records.ts';
import { type Trouble, troubleFrom } from '../../trouble.ts';

/** The state of the CrowdSec on the screen. It is replaced as a whole, so that derived values can be cached with it. */
export interface PreventionView {
  engineName: string;
  state: 'asking' | 'here' | 'failed';
  decisions: readonly Decision[];
  alerts: readonly Alert[];
  shared: readonly Decision[] | undefined;
  trouble: Trouble | undefined;
}

export interface PreventionSource {
  decisions(how: { shared: boolean }, signal: AbortSignal): Promise<readonly Decision[]>;
  alerts(limit: number, signal: AbortSignal): Promise<readonly Alert[]>;
}

const alertsAtMost = 500;
const pollMs = 3_000;
/** Shared lists change when the engine pulls them, every two hours. */
const sharedMs = 10 * 60_000;
const againMs = 10_000;
const limitMs = 60_000;

/** `open` is called again after an error, because the container may have been replaced. */
export function watchPrevention(open: (engineName: string, signal: AbortSignal) => Promise<PreventionSource>) {
  const { subscribe, notify } = createListeners();
  let view: PreventionView | undefined;
  let wake: AbortController | undefined;
  let wantsShared = false;
  let sharedAtMs = Number.NEGATIVE_INFINITY;

  const change = (by: Partial<PreventionView>) => {
    if (!view) return;
    view = { ...view, ...by };
    notify();
  };

  async function follow(engineName: string, stop: AbortSignal): Promise<void> {
    let source: PreventionSource | undefined;
    while (!stop.aborted) {
      const began = performance.now();
      let nextMs = pollMs;
      try {
        const signal = AbortSignal.any([stop, AbortSignal.timeout(limitMs)]);
        source ??= await open(engineName, signal);
        const [decisions, alerts] = await Promise.all([source.decisions({ shared: false }, signal), source.alerts(alertsAtMost, signal)]);
        if (stop.aborted) return;
        change({ state: 'here', decisions, alerts, trouble: undefined });
        if (wantsShared && performance.now() - sharedAtMs > sharedMs) {
          const all = await source.decisions({ shared: true }, AbortSignal.any([stop, AbortSignal.timeout(limitMs)]));
          if (stop.aborted) return;
          sharedAtMs = performance.now();
          change({ shared: all.filter(({ origin }) => origin === 'CAPI' || origin === 'lists') });
        }
        // A slow CrowdSec is queried less often.
        nextMs = Math.max(pollMs, 4 * (performance.now() - began));
      } catch (thrown) {
        if (stop.aborted) return;
        source = undefined;
        nextMs = againMs;
        change({ state: 'failed', trouble: troubleFrom(thrown, 'CrowdSec could not be queried', 'The query is repeated shortly.') });
      }
      wake = new AbortController();
      await pauseFor(Math.min(nextMs, 60_000), AbortSignal.any([stop, wake.signal])).catch(() => {});
    }
  }

  return {
    view: () => view,
    look(engineName: string) {
      const stop = new AbortController();
      sharedAtMs = Number.NEGATIVE_INFINITY;
      if (view?.engineName !== engineName)
        view = { engineName, state: 'asking', decisions: [], alerts: [], shared: undefined, trouble: undefined };
      void follow(engineName, stop.signal);
      return () => stop.abort();
    },
    refresh() {
      sharedAtMs = Number.NEGATIVE_INFINITY;
      wake?.abort();
    },
    wantShared() {
      wantsShared = true;
      wake?.abort();
    },
    subscribe,
  };
}

export function openPrevention(app: QuarterdeckApp): (engineName: string, signal: AbortSignal) => Promise<PreventionSource> {
  return async (engineName, signal) => {
    const { preventionOf } = await import('../../../products/crowdsec/prevention-target.ts');
    const looking = { signal, readOnly: app.options.readOnly, hide: () => {} };
    return (await preventionOf(app.context, { engineName, options: {} }, looking)).crowdsec;
  };
}
