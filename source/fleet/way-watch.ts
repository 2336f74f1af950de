import type { Host, HostLinkView } from '../hosts/host.ts';
import type { WayView } from './model.ts';
import { wayView } from './way-view.ts';

/** Of so many round trips the middle one is told: one that was held up says nothing about the way. */
const roundTrips = 7;

/** How hosts over ssh are reached, as it changes. This machine has no way to it. */
export class WayWatch {
  readonly #changed: () => void;
  readonly #ways = new Map<Host, WayView>();
  readonly #stops = new Map<Host, () => void>();

  constructor(changed: () => void) {
    this.#changed = changed;
  }

  of(host: Host): WayView | undefined {
    return this.#ways.get(host);
  }

  follow(host: Host): void {
    const { link } = host;
    if (!link || this.#stops.has(host)) return;
    const calm = calmly();
    this.#ways.set(host, wayView(calm(link.view), undefined));
    const stop = link.subscribe(() => {
      const before = this.#ways.get(host);
      const way = wayView(calm(link.view), before);
      if (way === before) return;
      this.#ways.set(host, way);
      this.#changed();
    });
    this.#stops.set(host, stop);
  }

  forget(host: Host): void {
    this.#stops.get(host)?.();
    this.#stops.delete(host);
    this.#ways.delete(host);
  }

  close(): void {
    for (const stop of this.#stops.values()) stop();
  }
}

function calmly(): (view: HostLinkView) => HostLinkView {
  let measured: number[] = [];
  let last: HostLinkView | undefined;
  return (view) => {
    if (view.roundTripMs === undefined) measured = [];
    // Each measurement is a view of its own.
    else if (view !== last) measured = [...measured.slice(1 - roundTrips), view.roundTripMs];
    last = view;
    const middle = measured.toSorted((one, other) => one - other)[Math.floor(measured.length / 2)];
    return middle === undefined ? view : { ...view, roundTripMs: middle };
  };
}
