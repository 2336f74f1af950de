import type { Host, HostLinkView } from '../hosts/host.ts';
import type { ConnectionView } from './model.ts';

/** The median is reported: a single delayed one says nothing about the connection. */
const roundTrips = 7;
/** Round trips that differ by less count as equal: small fluctuations would redraw the screen every few seconds for no information. */
const tremble = { ms: 3, share: 0.35 };

export class ConnectionWatch {
  readonly #connections = new Map<Host, { view: ConnectionView; stop: () => void }>();

  constructor(private readonly changed: () => void) {}

  of(host: Host): ConnectionView | undefined {
    return this.#connections.get(host)?.view;
  }

  follow(host: Host): void {
    const { link } = host;
    if (!link || this.#connections.has(host)) return;
    const calm = calmly();
    const stop = link.subscribe(() => {
      const view = connectionView(calm(link.view), connection.view);
      if (view === connection.view) return;
      connection.view = view;
      this.changed();
    });
    const connection = { view: connectionView(calm(link.view), undefined), stop };
    this.#connections.set(host, connection);
  }

  forget(host: Host): void {
    this.#connections.get(host)?.stop();
    this.#connections.delete(host);
  }

  close(): void {
    for (const { stop } of this.#connections.values()) stop();
  }
}

/** The previous view is kept, as the same object, for as long as it is about right. */
export function connectionView(link: HostLinkView, before: ConnectionView | undefined): ConnectionView {
  const view: ConnectionView = {
    // A machine that does not respond at all is off or asleep; one that refuses is awake.
    state: link.state === 'away' && link.fault?.code === 'unreachable.silent' ? 'asleep' : link.state,
    sinceMs: link.sinceMs,
    roundTripMs: roundTrip(link.roundTripMs, before?.roundTripMs),
    message: link.fault?.message,
    remedy: link.fault?.remedy,
    retryAtMs: link.retryAtMs,
  };
  const same = before !== undefined && (Object.keys(view) as (keyof ConnectionView)[]).every((name) => view[name] === before[name]);
  return same ? before : view;
}

function roundTrip(ms: number | undefined, reported: number | undefined): number | undefined {
  if (ms === undefined) return undefined;
  if (reported !== undefined && Math.abs(ms - reported) <= Math.max(tremble.ms, reported * tremble.share)) return reported;
  return Math.max(1, Math.round(ms));
}

function calmly(): (view: HostLinkView) => HostLinkView {
  let measured: number[] = [];
  let last: HostLinkView | undefined;
  return (view) => {
    if (view.roundTripMs === undefined) measured = [];
    // Each measurement produces a new view.
    else if (view !== last) measured = [...measured.slice(1 - roundTrips), view.roundTripMs];
    last = view;
    const middle = measured.toSorted((one, other) => one - other)[Math.floor(measured.length / 2)];
    return middle === undefined ? view : { ...view, roundTripMs: middle };
  };
}
