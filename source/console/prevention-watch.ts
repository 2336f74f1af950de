import { Fault, messageOf } from '../faults/fault.ts';
import { pauseFor } from '../faults/waits.ts';
import type { Alert, Decision } from '../products/crowdsec-records.ts';
import type { Deck } from '../terminal/deck.ts';

/** What is known of the CrowdSec that is looked at. Replaced as a whole, so that what is made of it can be kept with it. */
export interface PreventionView {
  place: string;
  state: 'asking' | 'here' | 'failed';
  decisions: readonly Decision[];
  alerts: readonly Alert[];
  /** Decisions of shared lists; undefined before they were asked for. */
  shared: readonly Decision[] | undefined;
  trouble: { message: string; remedy: string } | undefined;
}

/** Asks while somebody looks, and not otherwise. */
export interface PreventionWatch {
  view(): PreventionView | undefined;
  /** Looks at the CrowdSec of a place until the returned function is called. */
  look(place: string): () => void;
  /** Asks now, shared lists too where they were asked for. */
  refresh(): void;
  /** From now on with the shared lists, which may have very many. */
  wantShared(): void;
  subscribe(listener: () => void): () => void;
}

/** What only the watch asks of a CrowdSec. */
export interface PreventionSource {
  decisions(how: { shared: boolean }, signal: AbortSignal): Promise<readonly Decision[]>;
  alerts(limit: number, signal: AbortSignal): Promise<readonly Alert[]>;
}

const alertsAtMost = 500;
const pollMs = 3_000;
/** They change with a pull of the engine's, every two hours. */
const sharedMs = 10 * 60_000;
const againMs = 10_000;
const limitMs = 60_000;

/** @param open the CrowdSec of a place; asked again after trouble, for it may be another container by then */
export function watchPrevention(open: (place: string, signal: AbortSignal) => Promise<PreventionSource>): PreventionWatch {
  const listeners = new Set<() => void>();
  let view: PreventionView | undefined;
  let looking: { stop: AbortController; wake: AbortController } | undefined;
  let wantsShared = false;
  let sharedAtMs = Number.NEGATIVE_INFINITY;

  const change = (by: Partial<PreventionView>) => {
    if (!view) return;
    view = { ...view, ...by };
    for (const listener of [...listeners]) listener();
  };

  async function follow(place: string, stop: AbortSignal): Promise<void> {
    let source: PreventionSource | undefined;
    while (!stop.aborted) {
      const began = performance.now();
      let nextMs = pollMs;
      try {
        const signal = AbortSignal.any([stop, AbortSignal.timeout(limitMs)]);
        source ??= await open(place, signal);
        const [decisions, alerts] = await Promise.all([source.decisions({ shared: false }, signal), source.alerts(alertsAtMost, signal)]);
        if (stop.aborted) return;
        change({ state: 'here', decisions, alerts, trouble: undefined });
        if (wantsShared && performance.now() - sharedAtMs > sharedMs) {
          const all = await source.decisions({ shared: true }, AbortSignal.any([stop, AbortSignal.timeout(limitMs)]));
          if (stop.aborted) return;
          sharedAtMs = performance.now();
          change({ shared: all.filter(({ origin }) => origin === 'CAPI' || origin === 'lists') });
        }
        // Whoever takes long to answer is not asked all the time.
        nextMs = Math.max(pollMs, 4 * (performance.now() - began));
      } catch (thrown) {
        if (stop.aborted) return;
        source = undefined;
        nextMs = againMs;
        change({ state: 'failed', trouble: troubleOf(thrown) });
      }
      const wake = new AbortController();
      if (looking) looking.wake = wake;
      await pauseFor(Math.min(nextMs, 60_000), AbortSignal.any([stop, wake.signal])).catch(() => {});
    }
  }

  const wake = () => looking?.wake.abort();

  return {
    view: () => view,
    look(place) {
      looking?.stop.abort();
      const stop = new AbortController();
      const mine = { stop, wake: new AbortController() };
      looking = mine;
      sharedAtMs = Number.NEGATIVE_INFINITY;
      if (view?.place !== place) view = { place, state: 'asking', decisions: [], alerts: [], shared: undefined, trouble: undefined };
      void follow(place, stop.signal);
      return () => {
        stop.abort();
        if (looking === mine) looking = undefined;
      };
    },
    refresh() {
      sharedAtMs = Number.NEGATIVE_INFINITY;
      wake();
    },
    wantShared() {
      wantsShared = true;
      wake();
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** The CrowdSec that flows speak to. */
export function openPrevention(deck: Deck): (place: string, signal: AbortSignal) => Promise<PreventionSource> {
  return async (place, signal) => {
    const { preventionOf } = await import('../flows/prevention-target.ts');
    const looking = { signal, readOnly: deck.options.readOnly, hide: () => {} };
    return (await preventionOf(deck.world, { place, options: {} }, looking)).crowdsec;
  };
}

function troubleOf(thrown: unknown): { message: string; remedy: string } {
  if (thrown instanceof Fault) return { message: thrown.message, remedy: thrown.remedy };
  return { message: `CrowdSec could not be asked: ${messageOf(thrown)}.`, remedy: 'It is asked again in a moment.' };
}
