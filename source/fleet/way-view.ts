import type { HostLinkView } from '../hosts/host.ts';
import type { WayView } from './model.ts';

/** A round trip that differs by less is the same one: figures that tremble would draw the screen anew every few seconds, and tell nothing. */
const tremble = { ms: 3, share: 0.35 };

/** How the way to a machine is told: what was told before stands for as long as it is about right, and is the same object then. */
export function wayView(link: HostLinkView, before: WayView | undefined): WayView {
  const view: WayView = {
    // A machine that says nothing at all is switched off or sleeps; one that says no is awake.
    state: link.state === 'away' && link.fault?.code === 'unreachable.silent' ? 'asleep' : link.state,
    sinceMs: link.sinceMs,
    roundTripMs: roundTrip(link.roundTripMs, before?.roundTripMs),
    message: link.fault?.message,
    remedy: link.fault?.remedy,
    retryAtMs: link.retryAtMs,
  };
  const same = before !== undefined && (Object.keys(view) as (keyof WayView)[]).every((name) => view[name] === before[name]);
  return same ? before : view;
}

function roundTrip(ms: number | undefined, told: number | undefined): number | undefined {
  if (ms === undefined) return undefined;
  if (told !== undefined && Math.abs(ms - told) <= Math.max(tremble.ms, told * tremble.share)) return told;
  return Math.max(1, Math.round(ms));
}
