import type { Host } from '../hosts/host.ts';
import type { WayView } from './model.ts';
import { wayView } from './way-view.ts';

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
    this.#ways.set(host, wayView(link.view, undefined));
    const stop = link.subscribe(() => {
      const before = this.#ways.get(host);
      const way = wayView(link.view, before);
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
